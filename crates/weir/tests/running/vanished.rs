//! P44 to P48: clients that vanish, servers that go, readers that are slow.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::fake_server::{FakeServer, Reply, packet};
use crate::kit::*;

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

/// Sends a read through Weir that begins with `mark` and would take 100 s, vanishes, and says how long the server runs it
/// after that, at most `patience`.
async fn vanish(weir: &Weir, admin: &mut Client, mark: &str, prepared: bool, patience: Duration) -> Duration {
    let mut client = app(weir.addr()).connect().await.unwrap();
    let sql = format!("{mark}(100)");
    if prepared {
        let id = client.prepare(&sql).await.unwrap().id;
        let body = command::Execute { id, flags: 0, params: &[], types: true, attributes: false }.body();
        client.send(command::STMT_EXECUTE, &body).await.unwrap();
    } else {
        client.send(command::QUERY, sql.as_bytes()).await.unwrap();
    }
    until_running(admin, mark, 1).await;
    drop(client);
    let gone = Instant::now();
    while running(admin, mark).await > 0 && gone.elapsed() < patience {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    gone.elapsed()
}

#[tokio::test]
async fn p46_a_vanished_clients_read_is_ended() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let mut admin = app(server.addr()).connect().await.unwrap();
        for prepared in [false, true] {
            let mut ended = false;
            // MySQL loses one KILL QUERY in some hundred that arrive while SLEEP starts, whoever sends it.
            for attempt in 0..3 {
                let mark = format!("SELECT /* p46 {prepared} {attempt} */ SLEEP");
                let weir = weir(&server);
                // By itself it would take 100 s.
                ended = vanish(&weir, &mut admin, &mark, prepared, PATIENCE).await < PATIENCE;
                if ended {
                    assert_eq!(metric(&weir, "weir_kills_sent_total").await, 1.0, "{flavor:?}");
                    break;
                }
            }
            assert!(ended, "{flavor:?}, prepared: {prepared}: the server goes on, three times");
        }
    }
}

#[tokio::test]
async fn p46_a_client_that_vanishes_amid_rows_leaves_nothing_behind() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        let mut admin = app(server.addr()).connect().await.unwrap();
        let mark = "SELECT /* p46rows */";
        for _ in 0..20 {
            let mut client = app(weir.addr()).connect().await.unwrap();
            let sql = format!(
                "{mark} a.TABLE_NAME, REPEAT('x', 1000) FROM information_schema.COLUMNS a, information_schema.COLUMNS b"
            );
            client.send(command::QUERY, sql.as_bytes()).await.unwrap();
            client.stream().read_raw(20_000).await.unwrap();
        }
        until_running(&mut admin, mark, 0).await;
        until("every server connection is given back", async || {
            (metric(&weir, "weir_server_connections_open").await == 0.0).then_some(())
        })
        .await;
        // The client is counted as gone behind its connection.
        until("every client is gone", async || {
            (metric(&weir, "weir_clients_connected").await == 0.0).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn p47b_a_write_in_a_transaction_is_rolled_back_and_an_autocommit_write_finishes() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        let mut admin = app(server.addr()).connect().await.unwrap();
        for sql in [
            "CREATE DATABASE IF NOT EXISTS it",
            "DROP TABLE IF EXISTS it.p47b",
            "CREATE TABLE it.p47b (what VARCHAR(20))",
            "SELECT GET_LOCK('p47b', 60)",
        ] {
            admin.run(sql).await.unwrap();
        }
        let mut open = app(weir.addr()).connect().await.unwrap();
        open.run("BEGIN").await.unwrap();
        open.run("INSERT INTO it.p47b VALUES ('open')").await.unwrap();
        let slow = "INSERT INTO it.p47b SELECT IF(GET_LOCK('p47b', 60) IS NULL, 'killed', ";
        open.send(command::QUERY, format!("{slow}'open 2')").as_bytes()).await.unwrap();
        let mut alone = app(weir.addr()).connect().await.unwrap();
        alone.send(command::QUERY, format!("{slow}'alone')").as_bytes()).await.unwrap();
        // An idle transaction goes with its client as well.
        let mut idle = app(weir.addr()).connect().await.unwrap();
        idle.run("BEGIN").await.unwrap();
        idle.run("INSERT INTO it.p47b VALUES ('idle')").await.unwrap();
        let running = slow.split('\'').next().unwrap();
        until_running(&mut admin, running, 2).await;
        drop((open, alone, idle));
        until_running(&mut admin, running, 1).await;
        admin.run("SELECT RELEASE_LOCK('p47b')").await.unwrap();
        until("the autocommit write is there", async || {
            let rows = admin.run("SELECT what FROM it.p47b").await.unwrap();
            (rows.rows().count() > 0).then_some(())
        })
        .await;
        until("the server connections end", async || {
            (metric(&weir, "weir_server_connections_open").await == 0.0).then_some(())
        })
        .await;
        let rows = admin.run("SELECT what FROM it.p47b").await.unwrap();
        assert_eq!(rows.rows().collect::<Vec<_>>(), [&b"\x05alone"[..]], "{flavor:?}");
    }
}

/// Reads an answer that ends too early: ERR 1158, an end of the connection within a packet or between two, and never
/// an end of rows.
async fn must_be_lost(client: &mut Client, what: &str) {
    let mut ends = 0;
    let mut last = None;
    // An error is an end of the connection within a packet.
    while let Ok(Some(packet)) = client.stream().read_packet().await {
        ends += usize::from(packet.payload[0] == 0xfe);
        last = Some(packet);
    }
    assert!(ends < 2, "{what}: the end of the rows came");
    if let Some(packet) = last.filter(|packet| packet.payload[0] == 0xff) {
        assert_eq!(ErrPacket::parse(&packet.payload).unwrap().code, 1158, "{what}");
    }
}

#[tokio::test]
async fn p47_an_answer_cut_at_any_byte_never_looks_like_its_end() {
    let column = b"\x03def\0\0\0\x01c\0\x0c\x21\0\0\x01\0\0\xfd\0\0\0\0\0";
    let eof = b"\xfe\0\0\x02\0";
    let answer = [&b"\x01"[..], column, eof, b"\x03abc", b"\x03def", b"\x07\0\0\0\0\0\0\0", eof];
    let answer: Vec<u8> =
        answer.iter().enumerate().flat_map(|(i, payload)| packet(i as u8 + 1, payload)).collect();
    let whole = answer.len();
    let cut = Arc::new(AtomicUsize::new(0));
    let at = Arc::clone(&cut);
    let server = FakeServer::start("8.0.99", Caps::COMMON, move |request| match request {
        [command::QUERY, ..] => Reply::Last(answer[..at.load(Ordering::SeqCst)].to_vec()),
        _ => Reply::Last(Vec::new()),
    })
    .await;
    let weir = Weir::config(config(&server.addr().to_string(), "")).start().unwrap();
    for at in 0..whole {
        cut.store(at, Ordering::SeqCst);
        let mut client = app(weir.addr()).connect().await.unwrap();
        client.send(command::QUERY, b"SELECT c FROM t").await.unwrap();
        must_be_lost(&mut client, &format!("cut at {at} of {whole}")).await;
    }
    cut.store(whole, Ordering::SeqCst);
    let mut client = app(weir.addr()).connect().await.unwrap();
    assert_eq!(client.query("SELECT c FROM t").await.unwrap().rows().count(), 3);
}

#[tokio::test]
async fn p47_a_server_killed_amid_rows_or_amid_a_statement() {
    for flavor in Flavor::BOTH {
        let mut server = Server::start(flavor).unwrap();
        let weir = weir(&server);
        let mut reading = app(weir.addr()).connect().await.unwrap();
        let sql = "SELECT a.TABLE_NAME, REPEAT('x', 1000) FROM information_schema.COLUMNS a, information_schema.COLUMNS b";
        reading.send(command::QUERY, sql.as_bytes()).await.unwrap();
        let mut waiting = app(weir.addr()).connect().await.unwrap();
        waiting.send(command::QUERY, b"SELECT SLEEP(100)").await.unwrap();
        let mut idle = app(weir.addr()).connect().await.unwrap();
        // The first row's packets have begun to arrive.
        reading.stream().expect_packet().await.unwrap();
        server.kill9().unwrap();
        while let Ok(Some(packet)) = reading.stream().read_packet().await {
            let end = packet.payload[0] == 0xfe && packet.payload.len() < 9 && packet.seq > 10;
            assert!(!end, "{flavor:?}: an end of rows that the server never sent");
        }
        let lost = waiting.receive(command::QUERY).await.unwrap();
        assert_eq!(lost.err().map(|err| err.code), Some(1158), "{lost:?}");
        assert!(idle.stream().read_packet().await.unwrap().is_none());
    }
}

#[tokio::test]
async fn p48_a_reader_that_stops_costs_no_memory() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir_with(&server, "[runtime]\nworkers = 2\n");
        let sql = "SELECT REPEAT('x', 1000000) FROM information_schema.COLUMNS LIMIT 200";
        let mut warm = app(weir.addr()).connect().await.unwrap();
        warm.run("SELECT REPEAT('x', 10000000)").await.unwrap();
        let before = weir.resident_bytes().unwrap();
        let mut readers = Vec::new();
        for _ in 0..10 {
            let mut client = app(weir.addr()).connect().await.unwrap();
            client.send(command::QUERY, sql.as_bytes()).await.unwrap();
            client.stream().expect_packet().await.unwrap();
            readers.push(client);
        }
        // Ten answers of 200 MB are under way. Others are served meanwhile.
        for _ in 0..20 {
            warm.run("SELECT REPEAT('y', 1000000)").await.unwrap();
        }
        let grown = weir.resident_bytes().unwrap().saturating_sub(before);
        // The rings of two workers have 8 MiB each, which fill once and stay.
        assert!(grown < 32 << 20, "{flavor:?}: Weir grew by {grown} bytes for 10 slow readers");
        // A slow reader gets everything in the end.
        let mut slow = readers.pop().unwrap();
        drop(readers);
        let mut rows = 0;
        while rows < 200 {
            let packet = slow.stream().expect_packet().await.unwrap();
            rows += usize::from(packet.payload.len() > 1_000_000);
        }
        assert_eq!(slow.stream().expect_packet().await.unwrap().payload[0], 0xfe);
    }
}

#[tokio::test]
async fn p44_the_session_ends_when_the_servers_wait_timeout_does() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        let mut ends = Vec::new();
        for addr in [server.addr(), weir.addr()] {
            let mut client = app(addr).connect().await.unwrap();
            // Before the second begins, so that a test that is slow to look at its clock sees more of it, not less.
            let start = Instant::now();
            client.run("SET SESSION wait_timeout = 1").await.unwrap();
            let mut packets = Vec::new();
            while let Some(packet) = client.stream().read_packet().await.unwrap() {
                packets.push(packet);
            }
            assert!(start.elapsed() > Duration::from_millis(900));
            ends.push(packets);
        }
        // MySQL says 4031 before it closes; the client gets that too.
        assert_eq!(ends[0], ends[1], "{flavor:?}");
    }
}

#[tokio::test]
async fn p44_weirs_own_idle_limit_tells_the_client_why() {
    let server = server(Flavor::MariaDb);
    let weir = weir_with(&server, "[limits]\nclient_idle_timeout = \"3s\"\n");
    let mut client = app(weir.addr()).connect().await.unwrap();
    client.run("SELECT 1").await.unwrap();
    let packet = client.stream().expect_packet().await.unwrap();
    assert_eq!((packet.seq, ErrPacket::parse(&packet.payload).unwrap().code), (0, 4031));
    assert!(client.stream().read_packet().await.unwrap().is_none());
    let closed = "weir_client_closed_total{reason=\"idle_timeout\"}";
    drop(client);
    until("the end is counted", async || (metric(&weir, closed).await == 1.0).then_some(())).await;
}
