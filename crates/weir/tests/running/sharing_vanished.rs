//! P46 to P48 where connections are shared: clients that vanish, servers that go and readers that are slow leave nothing of theirs to
//! whoever has the connection next, and keep none from the others.

use crate::kit::*;
use crate::sharing_kit::*;

/// How many server connections run a statement that begins so.
async fn running(admin: &mut Client, begins: &str) -> u32 {
    let sql = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '{begins}%'");
    admin.scalar(&sql).await.unwrap().unwrap().parse().unwrap()
}

async fn until_running(admin: &mut Client, begins: &str, count: u32) {
    until(&format!("{count} times `{begins}`"), async || {
        (running(admin, begins).await == count).then_some(())
    })
    .await;
}

/// Nobody keeps a connection, and nobody waits for one.
async fn until_free(weir: &Weir) {
    until("every shared connection is free", async || {
        let pinned = metric(weir, "weir_pool_connections_pinned").await;
        let [open, idle] = [metric(weir, OPEN).await, metric(weir, "weir_pool_connections_idle").await];
        (pinned == 0.0 && open == idle && metric(weir, "weir_pool_waiting").await == 0.0).then_some(())
    })
    .await;
}

const OPEN: &str = "weir_pool_connections_open";
const WIDE: &str =
    "a.TABLE_NAME, REPEAT('x', 1000) FROM information_schema.COLUMNS a, information_schema.COLUMNS b";

#[tokio::test]
async fn p46_a_read_whose_client_vanishes_is_ended_and_the_next_client_is_served() {
    for (flavor, server) in &both() {
        let mut admin = app(server.addr()).connect().await.unwrap();
        for prepared in [false, true] {
            // There is no other connection.
            let weir = sharing(server, 1, "", "");
            let mark = format!("SELECT /* shared p46 {prepared} */ SLEEP");
            let mut client = app(weir.addr()).connect().await.unwrap();
            let sql = format!("{mark}(100)");
            if prepared {
                let id = client.prepare(&sql).await.unwrap().id;
                let body =
                    command::Execute { id, flags: 0, params: &[], types: true, attributes: false }.body();
                client.send(command::STMT_EXECUTE, &body).await.unwrap();
            } else {
                client.send(command::QUERY, sql.as_bytes()).await.unwrap();
            }
            until_running(&mut admin, &mark, 1).await;
            drop(client);
            // Well within the 100 s.
            let mut next = app(weir.addr()).connect().await.unwrap();
            assert_eq!(next.scalar("SELECT 'next'").await.unwrap().as_deref(), Some("next"), "{flavor:?}");
            assert_eq!(running(&mut admin, &mark).await, 0, "{flavor:?}, prepared: {prepared}");
            until_free(&weir).await;
        }
    }
}

#[tokio::test]
async fn p46_clients_that_vanish_amid_rows_leave_none_of_them_to_others() {
    for (flavor, server) in &both() {
        let weir = sharing(server, 3, "", "");
        let mut admin = app(server.addr()).connect().await.unwrap();
        let mark = "SELECT /* shared p46rows */";
        let mut other = app(weir.addr()).connect().await.unwrap();
        for n in 0..20 {
            let mut client = app(weir.addr()).connect().await.unwrap();
            client.send(command::QUERY, format!("{mark} {WIDE}").as_bytes()).await.unwrap();
            client.stream().read_raw(20_000).await.unwrap();
            drop(client);
            let told = other.scalar(&format!("SELECT 'other {n}'")).await.unwrap();
            assert_eq!(told.as_deref(), Some(format!("other {n}").as_str()), "{flavor:?}");
        }
        until_running(&mut admin, mark, 0).await;
        drop(other);
        until_free(&weir).await;
        until("every client is gone", async || {
            (metric(&weir, "weir_clients_connected").await == 0.0).then_some(())
        })
        .await;
        assert!(metric(&weir, OPEN).await <= 3.0, "{flavor:?}");
    }
}

#[tokio::test]
async fn p47b_what_a_vanished_client_has_begun_is_rolled_back_and_its_autocommit_write_finishes_once() {
    for (flavor, server) in &both() {
        database(server, "sh_p47b", &["CREATE TABLE t (what VARCHAR(20))"]).await;
        let weir = sharing(server, 4, "", "");
        let mut admin = app(server.addr()).connect().await.unwrap();
        admin.run("SELECT GET_LOCK('sh_p47b', 60)").await.unwrap();
        let [mut open, mut alone, mut idle] = clients(&weir, "sh_p47b").await;
        open.run("BEGIN").await.unwrap();
        open.run("INSERT INTO t VALUES ('open')").await.unwrap();
        let slow = "INSERT INTO t SELECT IF(GET_LOCK('sh_p47b', 60) IS NULL, 'killed', ";
        open.send(command::QUERY, format!("{slow}'open 2')").as_bytes()).await.unwrap();
        alone.send(command::QUERY, format!("{slow}'alone')").as_bytes()).await.unwrap();
        idle.run("BEGIN").await.unwrap();
        idle.run("INSERT INTO t VALUES ('idle')").await.unwrap();
        // PROCESSLIST is of the whole server, where another test's has another beginning.
        let mark = "INSERT INTO t SELECT IF(GET_LOCK(\\'sh_p47b";
        until_running(&mut admin, mark, 2).await;
        drop((open, alone, idle));
        until_running(&mut admin, mark, 1).await;
        admin.run("SELECT RELEASE_LOCK('sh_p47b')").await.unwrap();
        until("the autocommit write is there", async || {
            let rows = admin.run("SELECT what FROM sh_p47b.t").await.unwrap();
            (rows.rows().count() > 0).then_some(())
        })
        .await;
        until_free(&weir).await;
        // Of the vanished client's lock nothing is left, on whatever connection it was.
        until("the lock is free", async || {
            let free = admin.scalar("SELECT IS_FREE_LOCK('sh_p47b')").await.unwrap();
            (free.as_deref() == Some("1")).then_some(())
        })
        .await;
        let mut next = clients::<4>(&weir, "sh_p47b").await;
        for client in &mut next {
            let rows = client.run("SELECT what FROM t").await.unwrap();
            assert_eq!(rows.rows().collect::<Vec<_>>(), [&b"\x05alone"[..]], "{flavor:?}");
        }
    }
}

#[tokio::test]
async fn p47_a_server_killed_under_shared_statements_gives_each_one_error_and_no_end_of_rows() {
    for flavor in Flavor::BOTH {
        let mut server = Server::start(flavor).unwrap();
        let weir = sharing(&server, 4, "", "");
        let mut reading = app(weir.addr()).connect().await.unwrap();
        reading.send(command::QUERY, format!("SELECT {WIDE}").as_bytes()).await.unwrap();
        let mut waiting = app(weir.addr()).connect().await.unwrap();
        waiting.send(command::QUERY, b"SELECT SLEEP(100)").await.unwrap();
        let mut idle = app(weir.addr()).connect().await.unwrap();
        idle.run("SELECT 1").await.unwrap();
        reading.stream().expect_packet().await.unwrap();
        server.kill9().unwrap();
        let mut last = None;
        while let Ok(Some(packet)) = reading.stream().read_packet().await {
            let end = packet.payload[0] == 0xfe && packet.payload.len() < 9 && packet.seq > 10;
            assert!(!end, "{flavor:?}: an end of rows that the server never sent");
            last = Some(packet);
            if last.as_ref().is_some_and(|packet| packet.payload[0] == 0xff) {
                break;
            }
        }
        if let Some(packet) = last.filter(|packet| packet.payload[0] == 0xff) {
            assert_eq!(ErrPacket::parse(&packet.payload).unwrap().code, 1158, "{flavor:?}");
        }
        let lost = waiting.receive(command::QUERY).await.unwrap();
        assert_eq!(lost.err().map(|err| err.code), Some(1158), "{flavor:?}: {lost:?}");
        // Who had nothing under way is told when it asks, and stays.
        for _ in 0..2 {
            let told = idle.query("SELECT 1").await.unwrap();
            assert!(told.err().is_some_and(|err| err.code == 1429), "{flavor:?}: {told:?}");
        }
    }
}

#[tokio::test]
async fn p48_readers_that_stop_hold_their_connections_and_nothing_else() {
    for (flavor, server) in &both() {
        let weir = sharing(server, 4, "", "");
        let sql = "SELECT REPEAT('x', 1000000) FROM information_schema.COLUMNS LIMIT 200";
        let mut other = app(weir.addr()).connect().await.unwrap();
        other.run("SELECT REPEAT('x', 10000000)").await.unwrap();
        let before = weir.resident_bytes().unwrap();
        let mut readers = Vec::new();
        for _ in 0..3 {
            let mut client = app(weir.addr()).connect().await.unwrap();
            client.send(command::QUERY, sql.as_bytes()).await.unwrap();
            client.stream().expect_packet().await.unwrap();
            readers.push(client);
        }
        for _ in 0..20 {
            other.run("SELECT REPEAT('y', 1000000)").await.unwrap();
        }
        let grown = weir.resident_bytes().unwrap().saturating_sub(before);
        assert!(grown < 32 << 20, "{flavor:?}: Weir grew by {grown} bytes for 3 slow readers");
        let mut slow = readers.pop().unwrap();
        drop(readers);
        let mut rows = 0;
        while rows < 200 {
            let packet = slow.stream().expect_packet().await.unwrap();
            rows += usize::from(packet.payload.len() > 1_000_000);
        }
        assert_eq!(slow.stream().expect_packet().await.unwrap().payload[0], 0xfe, "{flavor:?}");
        drop(slow);
        until_free(&weir).await;
    }
}
