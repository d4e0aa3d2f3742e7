//! A server that falls silent while Weir asks it something of its own.

use std::time::Duration;

use crate::cache_kit::ALL;
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
        let more = "io = \"epoll\"\n[limits]\nserver_read_timeout = \"3s\"\n";
        let weir = Weir::config(sharing_config(&relay.addr().to_string(), 1, "", more)).start().unwrap();
        weir.wait_for_line("accepting clients", PATIENCE).unwrap();
        let mut one = client(&weir, "sh_stalls").await;
        let mut two = client(&weir, "sh_stalls").await;
        turn(&mut two).await;
        // What Weir asks behind the INSERT is held.
        relay.stall_behind(Direction::ToServer, "INSERT INTO t");
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

/// A server may stand still between two statements (a checkpoint, a virtual machine that is being copied) as well as in one.
#[tokio::test]
async fn what_a_session_cannot_go_on_without_is_waited_for_as_a_statement_is() {
    let cases = [
        ("INSERT INTO t VALUES ()", "SELECT LAST_INSERT_ID()", ""),
        // What is asked about an answer that is to be kept, in a session with something of its own on its connection.
        ("SELECT MAX(id) FROM t", "SELECT IS_FREE_LOCK('sh_still') + 1", ALL),
    ];
    for (flavor, server) in &both() {
        for (statement, next, rules) in cases {
            let table = "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY)";
            database(server, "sh_still", &[table]).await;
            let relay = Relay::start(server.addr()).await.unwrap();
            let more = format!("[limits]\nserver_connect_timeout = \"1s\"\n{rules}");
            let config = sharing_config(&relay.addr().to_string(), 2, "", &more);
            let weir = Weir::config(config).start().unwrap();
            weir.wait_for_line("accepting clients", PATIENCE).unwrap();
            let mut one = client(&weir, "sh_still").await;
            if !rules.is_empty() {
                assert_eq!(row(&mut one, "SELECT GET_LOCK('sh_still', 30)").await, "1", "{flavor:?}");
            }
            relay.stall_behind(Direction::ToServer, statement);
            one.run(statement).await.unwrap();
            let told = {
                let mut told = std::pin::pin!(row(&mut one, next));
                let early = tokio::time::timeout(Duration::from_millis(2500), &mut told).await;
                assert!(early.is_err(), "{flavor:?} {statement}: {early:?}");
                relay.resume(Direction::ToServer);
                told.await
            };
            assert_eq!(told, "1", "{flavor:?} {statement}");
            // Whatever is read back behind that has been.
            shown(&mut one, "client_id").await;
            // One whose client has left is not waited for so long.
            let statement = statement.replace("MAX", "MIN");
            relay.stall_behind(Direction::ToServer, &statement);
            one.run(&statement).await.unwrap();
            drop(one);
            weir.wait_for_line("event=\"client_closed\"", PATIENCE).unwrap();
        }
    }
}
