//! `/*weir: fresh*/`: the statement runs on another server connection.

use crate::kit::*;
use crate::sharing_kit::*;

const HERE: &str =
    "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE '%sh_fresh_marker%' AND DB = 'sh_fresh'";

/// The server's id of the connection that the statement runs on. CONNECTION_ID() would keep the connection, and so would the
/// warning that MySQL gives for this list, if the client did not go on.
async fn here(client: &mut Client, hint: &str) -> String {
    let id = row(client, &format!("{hint}{HERE}")).await;
    client.run("SELECT 1").await.unwrap();
    id
}

#[tokio::test]
async fn a_fresh_statement_runs_on_another_connection_and_finds_its_session_there() {
    for (flavor, server) in &both() {
        database(server, "sh_fresh", &["CREATE TABLE t (i INT PRIMARY KEY AUTO_INCREMENT)"]).await;
        // With one connection it is a new one each time.
        for connections in [1, 4] {
            let weir = sharing(server, connections, "", "");
            let [mut one, mut two] = clients(&weir, "sh_fresh").await;
            one.run("SET @a = 5, time_zone = '+03:00'").await.unwrap();
            one.run("INSERT INTO t VALUES ()").await.unwrap();
            let inserted = row(&mut one, "SELECT LAST_INSERT_ID()").await;
            let mut last = here(&mut one, "").await;
            for round in 0..6 {
                let what = format!("{flavor:?}, {connections} connections, round {round}");
                let fresh = here(&mut one, "/*weir: fresh*/ ").await;
                assert_ne!(fresh, last, "{what}");
                turn(&mut two).await;
                let state = "/* weir:fresh */ SELECT @a, @@time_zone, LAST_INSERT_ID(), DATABASE()";
                assert_eq!(row(&mut one, state).await, format!("5|+03:00|{inserted}|sh_fresh"), "{what}");
                // Without the hint it stays where it was: nobody else is there.
                last = here(&mut one, "").await;
                assert_eq!(here(&mut one, "").await, last, "{what}");
            }
            one.run("BEGIN").await.unwrap();
            let kept = here(&mut one, "").await;
            assert_eq!(here(&mut one, "/*weir: fresh*/ ").await, kept, "{flavor:?}: a transaction");
            one.run("COMMIT").await.unwrap();
            free(&mut one, "the transaction").await;
        }
    }
}
