//! A server that falls silent while Weir asks it something of its own.

use crate::kit::*;
use crate::sharing_kit::*;
use weir_testkit::relay::{Direction, Relay};

/// What an answer that comes too late says is told to nobody: a connection that owes one serves nobody else.
#[tokio::test]
async fn an_answer_that_comes_too_late_is_nobody_elses() {
    for (flavor, server) in &both() {
        let table = "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v INT UNIQUE)";
        database(server, "sh_stalls", &[table, "INSERT INTO t VALUES (7777, 1)"]).await;
        let relay = Relay::start(server.addr()).await.unwrap();
        // With the other, a socket that is being read goes to nobody.
        let more = "io = \"epoll\"\n[limits]\nserver_connect_timeout = \"3s\"\n";
        let weir = Weir::config(sharing_config(&relay.addr().to_string(), 1, "", more)).start().unwrap();
        weir.wait_for_line("accepting clients", PATIENCE).unwrap();
        let mut one = client(&weir, "sh_stalls").await;
        let mut two = client(&weir, "sh_stalls").await;
        turn(&mut two).await;
        // What Weir asks behind the INSERT is held.
        relay.faults(Direction::ToServer, |faults| faults.stall_behind = true);
        one.run("INSERT INTO t (v) VALUES (2) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id)")
            .await
            .unwrap();
        let held = relay.bytes(Direction::ToServer);
        weir.wait_for_line("event=\"client_closed\"", PATIENCE).unwrap();
        relay.stall(Direction::ToClient);
        relay.resume(Direction::ToServer);
        until("it is at the server", async || (relay.bytes(Direction::ToServer) > held).then_some(())).await;
        let (sent, accepted) = (relay.bytes(Direction::ToServer), relay.accepted());
        let asks = async {
            let told = row(&mut two, "SELECT 42").await;
            assert_eq!(told, "42", "{flavor:?}");
        };
        let resumes = async {
            // The question is at the server, or a connection of its own is being made.
            until("a question or a connection", async || {
                (relay.bytes(Direction::ToServer) > sent || relay.accepted() > accepted).then_some(())
            })
            .await;
            relay.resume(Direction::ToClient);
        };
        tokio::join!(asks, resumes);
    }
}
