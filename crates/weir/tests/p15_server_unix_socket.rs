//! Traps P14 and P15: the server is reached over a unix socket, where sha256_password wants its password by RSA.

use weir_testkit::client::ConnectOptions;
use weir_testkit::{Flavor, Server, Weir};

#[tokio::test]
async fn p15_every_account_logs_in_at_a_server_behind_a_unix_socket() {
    let server = Server::start(Flavor::MySql).unwrap();
    let weir = Weir::backend(format!("unix:{}", server.socket().display())).start().unwrap();
    for (user, password) in
        [("app_sha256", "sha256-pw"), ("app_sha", "sha-pw"), ("app", "app-pw"), ("nopw", "")]
    {
        let login = ConnectOptions::tcp(weir.addr(), user, password).connect().await;
        let mut client = login.unwrap_or_else(|error| panic!("{user}: {error:#}"));
        let name = client.scalar("SELECT SUBSTRING_INDEX(USER(), '@', 1)").await.unwrap();
        assert_eq!(name.as_deref(), Some(user));
        let again = client.change_user(user, password, "", 45).await.unwrap();
        assert!(again.err().is_none(), "{user}: {again:?}");
    }
}
