//! COM_STMT_SEND_LONG_DATA has no answer: what it meets is told by the execution behind it, as on a server.

use crate::kit::*;
use crate::sharing_kit::*;
use command::Param;

/// Bytes of the pieces of a value: less, and more than Weir reads at a time.
const PIECES: [usize; 4] = [1, 200_000, 1 << 20, 3];

async fn data(client: &mut Client, id: u32, bytes: &[u8]) {
    client.command(command::STMT_SEND_LONG_DATA, &command::long_data(id, 0, bytes)).await.unwrap();
}

/// An execution whose only parameter is the data that was sent.
async fn run(client: &mut Client, id: u32) -> Response {
    execute(client, id, &[Param::LongData], true).await
}

#[tokio::test]
async fn a_table_that_is_gone_is_told_by_the_execution_and_the_transaction_goes_on() {
    for (flavor, server) in &both() {
        let weir = sharing(server, 8, "", "");
        for addr in [server.addr(), weir.addr()] {
            let at = format!("{flavor:?} through Weir: {}", addr == weir.addr());
            database(server, "sh_untold", &["CREATE TABLE t (i INT)", "CREATE TABLE gone (v TEXT)"]).await;
            let mut one = app(addr).database("sh_untold").connect().await.unwrap();
            let id = one.prepare("INSERT INTO gone VALUES (?)").await.unwrap().id;
            one.run("/*weir: fresh*/ BEGIN").await.unwrap();
            one.run("INSERT INTO t VALUES (1)").await.unwrap();
            let mut admin = app(server.addr()).database("sh_untold").connect().await.unwrap();
            admin.run("DROP TABLE gone").await.unwrap();
            for bytes in PIECES {
                data(&mut one, id, &vec![b'a'; bytes]).await;
            }
            let answer = run(&mut one, id).await;
            assert_eq!(answer.err().map(|err| err.code), Some(1146), "{at}: {answer:?}");
            numbered(&answer, 1);
            one.run("INSERT INTO t VALUES (2)").await.unwrap();
            one.run("COMMIT").await.unwrap();
            assert_eq!(row(&mut admin, "SELECT COUNT(*) FROM t").await, "2", "{at}");
        }
    }
}

#[tokio::test]
async fn data_for_which_no_connection_is_free_is_refused_with_its_execution() {
    for (flavor, server) in &both() {
        database(server, "sh_untold_full", &["CREATE TABLE t (v LONGTEXT)"]).await;
        let weir = sharing(
            server,
            1,
            "queue_timeout = \"3s\"
",
            "",
        );
        let [mut one, mut holder] = clients(&weir, "sh_untold_full").await;
        let id = one.prepare("INSERT INTO t VALUES (?)").await.unwrap().id;
        for reset in [false, true] {
            holder.run("BEGIN").await.unwrap();
            holder.run("SELECT * FROM t").await.unwrap();
            for bytes in PIECES {
                data(&mut one, id, &vec![b'l'; bytes]).await;
                // Of a statement that there is not, no server says a word.
                data(&mut one, 4711, &vec![b'n'; bytes]).await;
            }
            // Answered by Weir itself, once the data was taken.
            taken(&mut one).await;
            holder.run("COMMIT").await.unwrap();
            if reset {
                one.command(command::STMT_RESET, &id.to_le_bytes()).await.unwrap();
            } else {
                let answer = run(&mut one, id).await;
                assert_eq!(answer.err().map(|err| err.code), Some(1040), "{flavor:?}: {answer:?}");
                numbered(&answer, 1);
            }
            for bytes in PIECES {
                data(&mut one, id, &vec![b'k'; bytes]).await;
            }
            let answer = run(&mut one, id).await;
            assert_eq!(answer.err(), None, "{flavor:?}: {answer:?}");
        }
        let all: usize = PIECES.iter().sum();
        let kept = row(&mut holder, &format!("SELECT SUM(v = REPEAT('k', {all})) FROM t")).await;
        assert_eq!(kept, "2", "{flavor:?}");
    }
}
