//! P44: a session's own `wait_timeout` ends its client where connections are shared, as it does on a connection of its own.

use std::time::{Duration, Instant};

use crate::kit::*;
use crate::sharing_kit::*;

/// What comes until the end, and the status flags aside all of it.
async fn last_words(client: &mut Client) -> Vec<(u8, Vec<u8>)> {
    let mut said = Vec::new();
    while let Some(packet) = client.stream().read_packet().await.unwrap() {
        said.push((packet.seq, packet.payload));
    }
    said
}

#[tokio::test]
async fn p44_a_sessions_own_wait_timeout_ends_its_client_as_the_server_does() {
    let servers = both();
    tokio::join!(ends(&servers[0].1, servers[0].0), ends(&servers[1].1, servers[1].0));
}

async fn ends(server: &Server, flavor: Flavor) {
    let weir = sharing(server, 3, "", "");
    let (direct, through) = (app(server.addr()).connect().await, app(weir.addr()).connect().await);
    let mut twin = Twin { direct: direct.unwrap(), weir: through.unwrap() };
    let mut quiet = app(weir.addr()).connect().await.unwrap();
    // A session's interactive_timeout is of no effect, nor is what was set and taken back.
    quiet.run("SET interactive_timeout = 1, wait_timeout = 1").await.unwrap();
    quiet.run("SET wait_timeout = DEFAULT").await.unwrap();
    // A shorter one after a longer one, which has set a timer.
    twin.run("SET wait_timeout = 20").await;
    free(&mut twin.weir, "SET").await;
    twin.run("SET SESSION wait_timeout = 2").await;
    // Neither a statement that takes longer nor one in time counts as silence.
    twin.run("DO SLEEP(3)").await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let last = Instant::now();
    twin.run("SELECT @@wait_timeout").await;
    let (direct, weir_said) = tokio::join!(last_words(&mut twin.direct), async {
        let said = last_words(&mut twin.weir).await;
        assert!(last.elapsed() > Duration::from_millis(1900), "{flavor:?}: {:?}", last.elapsed());
        said
    });
    assert_eq!(direct, weir_said, "{flavor:?}");
    assert_eq!(direct.len(), usize::from(flavor == Flavor::MySql), "{flavor:?}: {direct:?}");
    assert_eq!(row(&mut quiet, "SELECT @@wait_timeout, @@interactive_timeout").await, "28800|1");
    let closed = "weir_client_closed_total{reason=\"idle_timeout\"}";
    until("the end is counted", async || (metric(&weir, closed).await == 1.0).then_some(())).await;
}

#[tokio::test]
async fn p44_a_connection_on_which_a_session_has_set_wait_timeout_does_not_end_under_the_next() {
    for (flavor, server) in &both() {
        database(server, "sh_own_wait", &["CREATE TABLE t (i INT)"]).await;
        let weir = sharing(server, 1, "", "");
        let [mut short, mut next] = clients(&weir, "sh_own_wait").await;
        short.run("SET wait_timeout = 2").await.unwrap();
        let before = opened(&weir).await;
        // On the very connection.
        next.run("BEGIN").await.unwrap();
        next.run("INSERT INTO t VALUES (1)").await.unwrap();
        // Time has to pass.
        tokio::time::sleep(Duration::from_millis(3500)).await;
        next.run("COMMIT").await.unwrap();
        assert_eq!(opened(&weir).await, before, "{flavor:?}");
        assert_eq!(row(&mut next, "SELECT COUNT(*), @@wait_timeout FROM t").await, "1|28800", "{flavor:?}");
        // It has ended meanwhile, though it had no connection.
        last_words(&mut short).await;
        // One with a connection of its own is the server's to end, with what it says then.
        let mut held = client(&weir, "sh_own_wait").await;
        held.run("SET wait_timeout = 1").await.unwrap();
        held.run("BEGIN").await.unwrap();
        held.run("INSERT INTO t VALUES (2)").await.unwrap();
        last_words(&mut held).await;
        assert_eq!(row(&mut next, "SELECT COUNT(*) FROM t").await, "1", "{flavor:?}: it was rolled back");
    }
}

#[tokio::test]
async fn p44_the_limit_of_silent_transactions_is_for_transactions_and_for_nothing_else() {
    let servers = both();
    tokio::join!(
        only_transactions_end(&servers[0].1, servers[0].0),
        only_transactions_end(&servers[1].1, servers[1].0)
    );
}

async fn only_transactions_end(server: &Server, flavor: Flavor) {
    database(server, "sh_idle_trx", &["CREATE TABLE t (i INT) ENGINE = InnoDB", "CREATE TABLE u (i INT)"])
        .await;
    let weir = sharing(server, 20, "", "[limits]\nidle_transaction_timeout = \"2s\"\n");
    let stay: [&[&str]; 5] = [
        &["LOCK TABLES u WRITE"],
        &["SELECT GET_LOCK('sh_idle_trx', 1)"],
        &["CREATE TEMPORARY TABLE x (i INT)"],
        &["SET autocommit = 0"],
        &["BEGIN", "INSERT INTO t VALUES (1)", "COMMIT"],
    ];
    let end: [&[&str]; 3] = [
        &["BEGIN"],
        &["SET autocommit = 0", "SELECT i FROM t"],
        &["START TRANSACTION READ ONLY", "SELECT GET_LOCK('sh_idle_trx2', 1)"],
    ];
    let (mut staying, mut ending) = (Vec::new(), Vec::new());
    for (sessions, all) in [(&mut staying, &stay[..]), (&mut ending, &end[..])] {
        for statements in all {
            let mut client = client(&weir, "sh_idle_trx").await;
            for sql in *statements {
                client.run(sql).await.unwrap();
            }
            sessions.push((client, format!("{flavor:?}: {statements:?}")));
        }
    }
    for (mut client, what) in ending {
        let said = last_words(&mut client).await;
        let text = String::from_utf8_lossy(&said[0].1).into_owned();
        assert!(text.contains("idle_transaction_timeout, 2 s"), "{what}: {text}");
    }
    // The others have been silent for longer than the first of these.
    for (mut client, what) in staying {
        let answer = client.query("SELECT 1 FROM u").await.map(|answer| answer.err().cloned());
        assert_eq!(answer.unwrap(), None, "{what}");
    }
}

#[tokio::test]
async fn p44_what_a_reset_makes_of_wait_timeout_is_not_the_sessions_own() {
    for flavor in Flavor::BOTH {
        // Of its own, for its global variables are changed.
        let server = Server::start(flavor).unwrap();
        let weir = sharing(&server, 3, "", "");
        let mut reset = app(weir.addr()).connect().await.unwrap();
        reset.run("SELECT 1").await.unwrap();
        let mut admin = app(server.addr()).connect().await.unwrap();
        admin.run("SET GLOBAL wait_timeout = 2").await.unwrap();
        assert_eq!(reset.command(command::RESET_CONNECTION, b"").await.unwrap().err(), None, "{flavor:?}");
        assert_eq!(row(&mut reset, "SELECT @@wait_timeout").await, "2", "{flavor:?}");
        freed(&mut reset).await;
        let mut own = app(weir.addr()).connect().await.unwrap();
        own.run("SET wait_timeout = 3").await.unwrap();
        last_words(&mut own).await;
        // It has been silent for longer, and for longer than its own.
        assert_eq!(row(&mut reset, "SELECT 'still here'").await, "still here", "{flavor:?}");
    }
}
