//! What `/readyz` says, in front of a real server.

#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use weir_testkit::certs::Certs;
use weir_testkit::client::ConnectOptions;
use weir_testkit::{Flavor, Server, Weir};

/// How long the answer may take to become the expected one.
const PATIENCE: Duration = Duration::from_secs(60);

async fn readyz(weir: &Weir) -> String {
    let mut http = TcpStream::connect(weir.admin_addr()).await.unwrap();
    let request = b"GET /readyz HTTP/1.1\r\nHost: weir\r\nConnection: close\r\n\r\n";
    http.write_all(request).await.unwrap();
    let mut answer = String::new();
    http.read_to_string(&mut answer).await.unwrap();
    answer
}

/// Asks until the answer holds `expected`; it must not hold `never` before that.
async fn readyz_becomes(weir: &Weir, expected: &str, never: &str) {
    let begun = Instant::now();
    loop {
        let answer = readyz(weir).await;
        if answer.contains(expected) {
            return;
        }
        assert!(!answer.contains(never), "{answer}");
        assert!(begun.elapsed() < PATIENCE, "still no {expected:?}: {answer}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A server that greets and whose certificate is refused is of no use to clients.
#[tokio::test]
async fn a_server_whose_tls_is_refused_is_not_ready() {
    let server = Server::start(Flavor::MySql).unwrap();
    let strangers = tempfile::tempdir().unwrap();
    let ca = Certs::generate(strangers.path()).unwrap().ca;
    let config = |tls: &str| {
        format!(
            "[listen]\nmysql = [\"$LISTEN\"]\nadmin = \"$ADMIN\"\n[[server]]\nname = \"db1\"\naddress = \"{}\"\ntls = {tls}\n",
            server.addr()
        )
    };
    let refused = format!("{{ mode = \"verify_ca\", ca = \"{}\" }}", ca.display());
    let mut weir = Weir::config(config(&refused)).start().unwrap();
    readyz_becomes(&weir, "TLS with server db1 failed", "200 OK").await;
    let login = ConnectOptions::tcp(weir.addr(), "app", "app-pw");
    assert!(login.connect().await.is_err());
    assert!(readyz(&weir).await.contains("503"));

    weir.reload(&config("{ mode = \"required\" }")).unwrap();
    let begun = Instant::now();
    while let Err(error) = login.connect().await {
        assert!(begun.elapsed() < PATIENCE, "{error:#}");
    }
    readyz_becomes(&weir, "200 OK", "never").await;
}
