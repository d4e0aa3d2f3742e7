//! Servers that cannot be reached: what clients are told, and when.

use std::time::{Duration, Instant};

use crate::kit::*;

#[tokio::test]
async fn a_server_that_is_not_there_yet_is_error_1429_instead_of_a_greeting() {
    for flavor in Flavor::BOTH {
        let mut server = Server::start(flavor).unwrap();
        server.stop().unwrap();
        let weir = weir(&server);
        for tls in [Tls::Off, Tls::Unverified] {
            let refused = refused(app(weir.addr()).tls(tls).connect().await);
            assert!(refused.before_greeting, "{refused:?}");
            assert_eq!(refused.error.code, 1429);
            assert!(refused.error.message.contains("db1"), "{}", refused.error);
            assert!(!refused.error.message.contains(&server.addr().port().to_string()), "{}", refused.error);
        }
        assert_eq!(http(&weir, "/readyz").await.0, 503);
        assert_eq!(http(&weir, "/healthz").await.0, 200);
        server.restart().unwrap();
        // A failure answers clients for a second, and then the server is tried again.
        until("a client gets in", async || app(weir.addr()).connect().await.ok()).await;
        until("Weir is ready", async || (http(&weir, "/readyz").await.0 == 200).then_some(())).await;
    }
}

#[tokio::test]
async fn a_server_that_has_gone_is_error_1429_at_the_login() {
    for flavor in Flavor::BOTH {
        let mut server = Server::start(flavor).unwrap();
        let weir = weir(&server);
        app(weir.addr()).connect().await.unwrap();
        server.kill9().unwrap();
        let refused = refused(app(weir.addr()).connect().await);
        assert!(!refused.before_greeting, "{refused:?}");
        assert_eq!(refused.error.code, 1429);
        until("Weir is not ready", async || (http(&weir, "/readyz").await.0 == 503).then_some(())).await;
        server.restart().unwrap();
        app(weir.addr()).connect().await.unwrap();
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up_in_time() {
    let mut server = Server::start(Flavor::MariaDb).unwrap();
    let mut weir = weir(&server);
    app(weir.addr()).connect().await.unwrap();
    // Too short for the first login on a busy machine.
    let short = "[limits]\nserver_connect_timeout = \"300ms\"\nauth_failure_delay = \"20ms\"\n";
    weir.reload(&config(&server.addr().to_string(), short)).unwrap();
    weir.wait_for_line("event=\"reloaded\"", PATIENCE).unwrap();
    server.sigstop().unwrap();
    let start = Instant::now();
    let err = refusal(app(weir.addr()).connect().await);
    server.sigcont().unwrap();
    assert_eq!(err.code, 1429);
    assert!(err.message.contains("0.3 s"), "{err}");
    let given_up = Duration::from_millis(300)..PATIENCE;
    assert!(given_up.contains(&start.elapsed()), "{:?}", start.elapsed());
}

#[tokio::test]
async fn limits_of_clients_and_of_server_connections_are_error_1040() {
    let server = server(Flavor::MySql);
    let text =
        config(&server.addr().to_string(), "").replace("max_connections = 1000", "max_connections = 2");
    let weir = Weir::config(text).start().unwrap();
    // The probe gives its connection back before a client is greeted.
    let (one, _two) = (app(weir.addr()).connect().await.unwrap(), app(weir.addr()).connect().await.unwrap());
    let third = refused(app(weir.addr()).connect().await);
    assert_eq!((third.error.code, third.before_greeting), (1040, false));
    one.quit().await.unwrap();
    until("the connection is given back", async || app(weir.addr()).connect().await.ok()).await;

    let weir = weir_with(&server, "[limits]\nmax_clients = 1\n");
    let _one = app(weir.addr()).connect().await.unwrap();
    let second = refused(app(weir.addr()).connect().await);
    assert_eq!((second.error.code, second.before_greeting), (1040, true));
}
