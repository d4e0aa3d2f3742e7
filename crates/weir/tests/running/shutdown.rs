//! SIGTERM: idle clients go at once, busy ones behind their transaction, and none beyond the limit.

use std::time::{Duration, Instant};

use weir_testkit::process::Signal;

use crate::api_kit::request;
use crate::kit::*;

async fn until_ended(weir: &mut Weir) -> bool {
    until("Weir ends", async || (!weir.is_running()).then_some(())).await;
    weir.terminate(PATIENCE).unwrap().success()
}

#[tokio::test]
async fn idle_clients_go_at_once_and_open_transactions_are_finished() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let mut weir = weir(&server);
        let mut admin = app(server.addr()).connect().await.unwrap();
        for sql in [
            "CREATE DATABASE IF NOT EXISTS it",
            "DROP TABLE IF EXISTS it.drained",
            "CREATE TABLE it.drained (i INT)",
            "SELECT GET_LOCK('drained', 60)",
        ] {
            admin.run(sql).await.unwrap();
        }
        let mut idle = app(weir.addr()).connect().await.unwrap();
        let mut open = app(weir.addr()).connect().await.unwrap();
        let mut busy = app(weir.addr()).connect().await.unwrap();
        idle.run("SELECT 1").await.unwrap();
        open.run("BEGIN").await.unwrap();
        open.run("INSERT INTO it.drained VALUES (1)").await.unwrap();
        busy.send(command::QUERY, b"SELECT GET_LOCK('drained', 60), 'done'").await.unwrap();
        let asleep = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT GET_LOCK(''drained'', 60), %'";
        until("the server waits", async || {
            (admin.scalar(asleep).await.unwrap().as_deref() == Some("1")).then_some(())
        })
        .await;
        let socket = weir.home().join("weir.sock");
        assert!(socket.exists());
        weir.signal(Signal::Term).unwrap();

        let told = idle.stream().expect_packet().await.unwrap();
        assert_eq!((told.seq, ErrPacket::parse(&told.payload).unwrap().code), (0, 1053));
        assert!(idle.stream().read_packet().await.unwrap().is_none());
        // Nobody waited for the busy ones: the server still waits.
        assert_eq!(admin.scalar(asleep).await.unwrap().as_deref(), Some("1"), "{flavor:?}");
        assert!(app(weir.addr()).connect().await.is_err(), "a new client got in");
        assert_eq!(http(&weir, "/readyz").await.0, 503);
        // Whoever asks for a reload now hears it at once, and not when all is over.
        let headers = format!("Host: {}\r\nContent-Type: application/json\r\n", weir.admin_addr());
        let asked = request(&weir, "POST /api/v1/reload", &headers, "{}");
        let (status, answer) = tokio::time::timeout(PATIENCE, asked).await.expect("the reload is answered");
        assert_eq!((status, &answer["error"]["code"]), (422, &serde_json::json!("not_reloaded")), "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("shutting down"), "{answer}");

        admin.run("SELECT RELEASE_LOCK('drained')").await.unwrap();
        let done = busy.receive(command::QUERY).await.unwrap();
        assert_eq!(done.rows().next(), Some(&b"\x011\x04done"[..]));
        assert_eq!(
            ErrPacket::parse(&busy.stream().expect_packet().await.unwrap().payload).unwrap().code,
            1053
        );

        open.run("INSERT INTO it.drained VALUES (2)").await.unwrap();
        assert!(weir.is_running());
        open.run("COMMIT").await.unwrap();
        assert_eq!(
            ErrPacket::parse(&open.stream().expect_packet().await.unwrap().payload).unwrap().code,
            1053
        );
        drop((idle, open, busy));
        assert!(until_ended(&mut weir).await, "the exit status is no success");
        assert_eq!(admin.scalar("SELECT COUNT(*) FROM it.drained").await.unwrap().as_deref(), Some("2"));
        assert!(!socket.exists(), "the socket file stays behind");
    }
}

#[tokio::test]
async fn the_limit_and_a_second_signal_end_what_still_runs() {
    let server = server(Flavor::MariaDb);
    for (limit, again) in [("500ms", false), ("60s", true)] {
        let mut weir = weir_with(&server, &format!("[limits]\ndrain_timeout = \"{limit}\"\n"));
        let mut open = app(weir.addr()).connect().await.unwrap();
        open.run("BEGIN").await.unwrap();
        open.run("SELECT 1 FROM mysql.db").await.unwrap();
        let start = Instant::now();
        weir.signal(Signal::Term).unwrap();
        if again {
            weir.wait_for_line("draining", PATIENCE).unwrap();
            weir.signal(Signal::Int).unwrap();
        }
        let told = open.stream().expect_packet().await.unwrap();
        assert_eq!(ErrPacket::parse(&told.payload).unwrap().code, 1053);
        drop(open);
        assert!(until_ended(&mut weir).await);
        assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
    }
}
