//! Trap P44: timeouts of Weir's own, each of which must count what it says and nothing else.

#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};
use weir_testkit::client::{Client, ConnectOptions};
use weir_testkit::{Flavor, Server, Weir};

async fn client_with_limits(limits: &str) -> (Server, Weir, Client) {
    let server = Server::start(Flavor::MariaDb).unwrap();
    let text = format!(
        "[listen]\nmysql = [\"$LISTEN\"]\n[[server]]\nname = \"db1\"\naddress = \"{}\"\n\
         [[user]]\nname = \"app\"\npassword = \"app-pw\"\n[limits]\n{limits}\n",
        server.addr()
    );
    let weir = Weir::config(text).start().unwrap();
    let client = ConnectOptions::tcp(weir.addr(), "app", "app-pw").connect().await.unwrap();
    (server, weir, client)
}

#[tokio::test]
async fn p44_the_time_of_a_statement_is_no_idle_time() {
    let (_server, _weir, mut client) = client_with_limits("client_idle_timeout = \"3s\"").await;
    client.run("SELECT 1").await.unwrap();
    client.run("DO SLEEP(4)").await.unwrap();
    // Before the idle time begins, so that a test that is slow to look at its clock sees more of it, not less.
    let last = Instant::now();
    assert_eq!(client.scalar("SELECT 2").await.unwrap().as_deref(), Some("2"));
    let said = client.stream().expect_packet().await.unwrap();
    assert_eq!(said.payload[..3], [0xff, 0xbf, 0x0f], "not error 4031 but {said:?}");
    assert!(last.elapsed() > Duration::from_millis(2900), "{:?}", last.elapsed());
}

#[tokio::test]
async fn p44_a_transaction_that_is_forgotten_ends_and_gives_its_locks_back() {
    let limits = "idle_transaction_timeout = \"3s\"\n[pool]\nsharing = \"transaction\"";
    let (server, weir, mut client) = client_with_limits(limits).await;
    client.run("CREATE DATABASE p44_forgotten").await.unwrap();
    client.run("CREATE TABLE p44_forgotten.t (a INT PRIMARY KEY)").await.unwrap();
    client.run("INSERT INTO p44_forgotten.t VALUES (1)").await.unwrap();
    // Without a transaction it may be silent for longer.
    let mut quiet = ConnectOptions::tcp(weir.addr(), "app", "app-pw").connect().await.unwrap();
    quiet.run("SELECT 1").await.unwrap();
    client.run("BEGIN").await.unwrap();
    client.run("SELECT a FROM p44_forgotten.t WHERE a = 1 FOR UPDATE").await.unwrap();
    let last = Instant::now();
    client.run("INSERT INTO p44_forgotten.t VALUES (2)").await.unwrap();
    // Who waits for the lock gets it: it was rolled back.
    let mut other = ConnectOptions::tcp(server.addr(), "app", "app-pw").connect().await.unwrap();
    other.run("UPDATE p44_forgotten.t SET a = 3 WHERE a = 1").await.unwrap();
    assert!(last.elapsed() > Duration::from_millis(2900), "{:?}", last.elapsed());
    let rows = other.scalar("SELECT GROUP_CONCAT(a) FROM p44_forgotten.t").await.unwrap();
    assert_eq!(rows.as_deref(), Some("3"));
    let said = client.stream().expect_packet().await.unwrap();
    assert_eq!(said.payload[..3], [0xff, 0xbf, 0x0f], "not error 4031 but {said:?}");
    let text = String::from_utf8_lossy(&said.payload).into_owned();
    assert!(text.contains("idle_transaction_timeout, 3 s"), "{text}");
    assert_eq!(quiet.scalar("SELECT 2").await.unwrap().as_deref(), Some("2"));
}

#[tokio::test]
async fn p44_a_long_limit_does_not_delay_a_short_one() {
    let limits = "client_idle_timeout = \"1h\"\nserver_read_timeout = \"1s\"";
    let (_server, _weir, mut client) = client_with_limits(limits).await;
    client.run("SELECT 1").await.unwrap();
    let begun = Instant::now();
    let answer = client.query("SELECT SLEEP(100)").await.unwrap();
    assert_eq!(answer.err().map(|e| e.code), Some(1159), "{answer:?}");
    // The first is the limit, the second is far from the SLEEP and from the long limit.
    assert!(begun.elapsed() > Duration::from_millis(900), "{:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(50), "{:?}", begun.elapsed());
}

/// The beginning of a statement that is held until all of it is there, and its rest.
fn held_statement() -> (Vec<u8>, Vec<u8>) {
    let sql = format!("SELECT LENGTH('{}')", "x".repeat(400_000));
    let mut packet = (sql.len() as u32 + 1).to_le_bytes().to_vec();
    // The number of the packet, then COM_QUERY.
    packet[3] = 0;
    packet.push(3);
    packet.extend(sql.bytes());
    let rest = packet.split_off(200_000);
    (packet, rest)
}

#[tokio::test]
async fn p44_a_client_that_falls_silent_amid_a_statement_is_told_and_ended() {
    let limits =
        "client_idle_timeout = \"1h\"\nclient_read_timeout = \"3s\"\n[pool]\nsharing = \"transaction\"";
    let (_server, weir, mut client) = client_with_limits(limits).await;
    client.run("SELECT 1").await.unwrap();
    // Slow is not silent: no pause is as long as the limit, all of them together are longer.
    let (packet, rest) = held_statement();
    client.stream().write_raw(&packet).await.unwrap();
    for piece in rest.chunks(rest.len() / 3) {
        tokio::time::sleep(Duration::from_millis(1200)).await;
        client.stream().write_raw(piece).await.unwrap();
    }
    let answer = client.receive(3).await.unwrap();
    assert_eq!(answer.rows().next(), Some(&b"\x06400000"[..]), "{:?}", answer.err());

    let begun = Instant::now();
    client.stream().write_raw(&packet).await.unwrap();
    let said = client.stream().expect_packet().await.unwrap();
    assert_eq!((said.seq, &said.payload[..3]), (0, &[0xff, 0x87, 0x04][..]), "not error 1159 but {said:?}");
    assert!(String::from_utf8_lossy(&said.payload).contains("client_read_timeout, 3 s"), "{said:?}");
    assert!(begun.elapsed() > Duration::from_millis(2900), "{:?}", begun.elapsed());
    assert!(client.stream().read_packet().await.unwrap().is_none());
    weir.wait_for_line("reason=\"idle_timeout\"", Duration::from_secs(30)).unwrap();
    // Nothing of it has reached the server, and the connection that the others use is as good as before.
    let mut other = ConnectOptions::tcp(weir.addr(), "app", "app-pw").connect().await.unwrap();
    assert_eq!(other.scalar("SELECT 2").await.unwrap().as_deref(), Some("2"));
}
