//! Trap P14: unix sockets on both sides.

use weir_testkit::client::{ConnectOptions, LoginRefused};
use weir_testkit::{Flavor, Server, Weir};

#[tokio::test]
async fn p14_clients_of_a_unix_socket_are_localhost_and_need_no_tls() {
    for flavor in Flavor::BOTH {
        let server = Server::start(flavor).unwrap();
        let text = format!(
            "[listen]\nmysql = [\"$LISTEN\", \"unix:$DIR/weir.sock\"]\n[tls]\nrequire = true\n\
             [[server]]\nname = \"db1\"\naddress = \"unix:{}\"\n",
            server.socket().display()
        );
        let weir = Weir::config(text).start().unwrap();
        let socket = weir.home().join("weir.sock");
        for _ in ["in full", "from memory"] {
            let mut client = ConnectOptions::unix(&socket, "app", "app-pw").connect().await.unwrap();
            assert_eq!(client.scalar("SELECT USER()").await.unwrap().as_deref(), Some("app@localhost"));
        }
        for (login, code) in [
            (ConnectOptions::unix(&socket, "app", "wrong"), 1045),
            // Over TCP this listener asks for TLS.
            (ConnectOptions::tcp(weir.addr(), "app", "app-pw"), 3159),
        ] {
            let Err(error) = login.connect().await else { panic!("{flavor:?}: logged in instead of {code}") };
            let refused: &LoginRefused = error.downcast_ref().unwrap();
            assert_eq!(refused.error.code, code, "{flavor:?}: {refused}");
        }
    }
}
