//! Where clients and Weir come from: unix sockets (P14), and the servers' count of failed connections (1129).

use std::net::Ipv4Addr;

use weir_testkit::Relay;
use weir_testkit::client::PacketStream;

use crate::kit::*;

#[tokio::test]
async fn p14_unix_sockets_on_both_sides() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let address = format!("unix:{}", server.socket().display());
        let text = config(&address, "").replace("tls = { mode = \"disabled\" }\n", "");
        let weir = Weir::config(text).start().unwrap();
        weir.wait_for_line("accepting clients", PATIENCE).unwrap();
        let path = weir.home().join("weir.sock");
        let mut accounts = vec![("app", "app-pw"), ("root", ""), ("nopw", "")];
        accounts.push(if flavor == Flavor::MySql { ("app_sha", "sha-pw") } else { ("app_ed", "ed-pw") });
        for (user, password) in accounts {
            for options in [
                ConnectOptions::unix(&path, user, password),
                ConnectOptions::tcp(weir.addr(), user, password),
            ] {
                let mut client = options.connect().await.unwrap();
                let seen = client.scalar("SELECT USER()").await.unwrap().unwrap();
                assert_eq!(seen, format!("{user}@localhost"), "the server sees a socket");
                assert_eq!(shown(&mut client, "server_tls").await, "none");
            }
        }
        let mut client = ConnectOptions::unix(&path, "app", "app-pw").connect().await.unwrap();
        assert_eq!(shown(&mut client, "client_host").await, "localhost");
        let err = refusal(ConnectOptions::unix(&path, "app", "wrong").connect().await);
        assert_eq!(err.message, "Access denied for user 'app'@'localhost' (using password: YES)");
        let load = client.query("LOAD DATA LOCAL INFILE 'x' INTO TABLE missing.t").await.unwrap();
        assert!(load.err().is_some());
    }
}

#[tokio::test]
async fn p14_an_account_that_a_proxy_cannot_log_in_gets_a_clear_error() {
    let server = Server::builder(Flavor::MariaDb).start().unwrap();
    let mut admin = app(server.addr()).connect().await.unwrap();
    let made = admin.query("CREATE USER by_socket@'%' IDENTIFIED VIA unix_socket").await.unwrap();
    assert_eq!(made.err(), None);
    let text = config(&format!("unix:{}", server.socket().display()), "");
    let weir = Weir::config(text).start().unwrap();
    let err = refusal(ConnectOptions::tcp(weir.addr(), "by_socket", "any").connect().await);
    assert!(matches!(err.code, 1045 | 1698 | 1251), "{err}");
}

const STARTS: usize = 12;
const REFUSED: usize = 60;

/// Both servers count, for each address that is not local, the connections that ended before a login was tried, and
/// lock the address out at max_connect_errors.
#[tokio::test]
async fn max_connect_errors_is_not_used_up_by_probes_refusals_and_aborts() {
    for flavor in Flavor::BOTH {
        let server = Server::builder(flavor)
            .arg("--skip-name-resolve=OFF")
            .arg("--max-connect-errors=10")
            .arg("--performance-schema=ON")
            .start()
            .unwrap();
        let relay = Relay::with_source(server.addr(), Some(Ipv4Addr::new(127, 0, 0, 2))).await.unwrap();
        let address = relay.addr().to_string();
        let text = config(&address, "[[user]]\nname = \"app\"\npassword = \"app-pw\"\n")
            .replace("\"20ms\"", "\"1ms\"");
        let mut admin = app(server.addr()).connect().await.unwrap();
        for _ in 0..STARTS {
            let mut weir = Weir::config(text.clone()).start().unwrap();
            weir.wait_for_line("accepting clients", PATIENCE).unwrap();
            until("the probe is over", async || (http(&weir, "/readyz").await.0 == 200).then_some(())).await;
            weir.terminate(PATIENCE).unwrap();
        }
        let weir = Weir::config(text).start().unwrap();
        weir.wait_for_line("accepting clients", PATIENCE).unwrap();
        until("the probe is over", async || (http(&weir, "/readyz").await.0 == 200).then_some(())).await;
        for i in 0..REFUSED {
            let user = ["app", "nobody", "root"][i % 3];
            assert_eq!(refusal(ConnectOptions::tcp(weir.addr(), user, "wrong").connect().await).code, 1045);
        }
        for i in 0..60 {
            // Clients that leave ahead of the login, in the middle of it, and right behind it.
            let mut stream: PacketStream = app(weir.addr()).open().await.unwrap();
            if i % 3 > 0 {
                stream.expect_packet().await.unwrap();
            }
            if i % 3 > 1 {
                stream.write_raw(b"\x40\0\0\x01half of a login").await.unwrap();
            }
        }
        for _ in 0..60 {
            drop(app(weir.addr()).connect().await.unwrap());
        }
        drop(app(weir.addr()).connect().await.unwrap());
        // Refused logins are connections that failed as well, but they are not held against the address.
        let failed = "SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Aborted_connects'";
        let failed: usize = admin.scalar(failed).await.unwrap().unwrap().parse().unwrap();
        assert!(failed <= REFUSED + STARTS + 1, "{flavor:?}: {failed} connections failed at the server");
        let sum = "SELECT SUM_CONNECT_ERRORS FROM performance_schema.host_cache WHERE IP = '127.0.0.2'";
        let counted = admin.scalar(sum).await.unwrap();
        // MySQL keeps no count for an address whose name it cannot look up.
        if flavor == Flavor::MySql && counted.is_none() {
            continue;
        }
        assert_eq!(counted.as_deref(), Some("0"), "{flavor:?}");
        // The control: connections that say nothing do lock the address out.
        for _ in 0..15 {
            ConnectOptions::tcp(relay.addr(), "app", "app-pw")
                .open()
                .await
                .unwrap()
                .expect_packet()
                .await
                .ok();
        }
        until("the control is locked out", async || {
            let refused = app(relay.addr()).connect().await.err()?;
            (refused.downcast::<LoginRefused>().ok()?.error.code == 1129).then_some(())
        })
        .await;
        // And that is what a client of Weir is then told, in the server's words.
        assert_eq!(refusal(app(weir.addr()).connect().await).code, 1129);
    }
}
