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
    let (_server, _weir, mut client) = client_with_limits("client_idle_timeout = \"1s\"").await;
    client.run("SELECT 1").await.unwrap();
    client.run("DO SLEEP(1.6)").await.unwrap();
    // Before the idle second begins, so that a test that is slow to look at its clock sees more of it, not less.
    let last = Instant::now();
    assert_eq!(client.scalar("SELECT 2").await.unwrap().as_deref(), Some("2"));
    let said = client.stream().expect_packet().await.unwrap();
    assert_eq!(said.payload[..3], [0xff, 0xbf, 0x0f], "not error 4031 but {said:?}");
    assert!(last.elapsed() > Duration::from_millis(900), "{:?}", last.elapsed());
}

#[tokio::test]
async fn p44_a_long_limit_does_not_delay_a_short_one() {
    let limits = "client_idle_timeout = \"1h\"\nserver_read_timeout = \"1s\"";
    let (_server, _weir, mut client) = client_with_limits(limits).await;
    client.run("SELECT 1").await.unwrap();
    let begun = Instant::now();
    let answer = client.query("SELECT SLEEP(20)").await.unwrap();
    assert_eq!(answer.err().map(|e| e.code), Some(1159), "{answer:?}");
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
}
