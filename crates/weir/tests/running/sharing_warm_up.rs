//! `pool.warm_up`: connections that are opened ahead of clients.

use crate::kit::*;
use crate::sharing_kit::*;

/// What libmysqlclient asks for, as far as it is for one session.
fn libmysqlclient(options: ConnectOptions) -> ConnectOptions {
    options
        .with(Caps::SESSION_TRACK | Caps::DEPRECATE_EOF | Caps::QUERY_ATTRIBUTES)
        .without(Caps::LOCAL_FILES)
}

fn warm(address: &str, user: &str, password: &str) -> Weir {
    let pool = "sharing = \"session\"\nmin_idle = 3\nwarm_up = true\n";
    let user = format!("[[user]]\nname = \"{user}\"\npassword = \"{password}\"\nsharing = \"transaction\"\n");
    Weir::config(sharing_config(address, 10, pool, &user)).start().unwrap()
}

async fn account(admin: &mut Client, user: &str) {
    for sql in [
        format!("DROP USER IF EXISTS {user}"),
        format!("CREATE USER {user} IDENTIFIED BY 'warm-pw'"),
        format!("GRANT ALL ON *.* TO {user}"),
    ] {
        admin.run(&sql).await.unwrap();
    }
}

/// The server's ids of the account's connections, when there are so many of them and none is in use.
async fn idle(admin: &mut Client, user: &str, count: usize) -> Vec<String> {
    let sql = format!(
        "SELECT COALESCE(GROUP_CONCAT(ID ORDER BY ID), ''), COALESCE(SUM(COMMAND <> 'Sleep'), 0) \
         FROM information_schema.PROCESSLIST WHERE USER = '{user}'"
    );
    until(&format!("{count} connections of {user} are idle"), async || {
        let told = row(admin, &sql).await;
        let (ids, busy) = told.split_once('|').unwrap();
        let ids: Vec<String> = ids.split(',').filter(|id| !id.is_empty()).map(str::to_owned).collect();
        (ids.len() == count && busy == "0").then_some(ids)
    })
    .await
}

#[tokio::test]
async fn connections_are_opened_ahead_and_again_when_they_have_ended() {
    for (flavor, server) in &both() {
        let mut admin = app(server.addr()).connect().await.unwrap();
        account(&mut admin, "sh_warm").await;
        let weir = warm(&server.addr().to_string(), "sh_warm", "warm-pw");
        let ids = idle(&mut admin, "sh_warm", 3).await;
        weir.wait_for_line("accepting clients", PATIENCE).unwrap();
        // The account whose clients have connections of their own gets none, and a login and a statement open none.
        assert_eq!(opened(&weir).await, 3.0, "{flavor:?}");
        let client = libmysqlclient(ConnectOptions::tcp(weir.addr(), "sh_warm", "warm-pw"));
        let mut client = client.connect().await.unwrap();
        let used = row(&mut client, "SELECT CONNECTION_ID()").await;
        assert!(ids.contains(&used), "{flavor:?}: {used} is none of {ids:?}");
        // Who asks for its connection's id keeps it to the end.
        let before = idle(&mut admin, "sh_warm", 4).await;
        drop(client);
        for id in &before {
            // The client's own may have ended already.
            admin.query(&format!("KILL {id}")).await.unwrap();
        }
        let after = idle(&mut admin, "sh_warm", 3).await;
        assert!(after.iter().all(|id| !before.contains(id)), "{flavor:?}: {after:?}");
    }
}

#[tokio::test]
async fn a_client_with_other_flags_finds_connections_for_these_from_then_on() {
    for (flavor, server) in &both() {
        let mut admin = app(server.addr()).connect().await.unwrap();
        account(&mut admin, "sh_warm_flags").await;
        let weir = warm(&server.addr().to_string(), "sh_warm_flags", "warm-pw");
        let guessed = idle(&mut admin, "sh_warm_flags", 3).await;
        let other = ConnectOptions::tcp(weir.addr(), "sh_warm_flags", "warm-pw");
        let mut other = other.connect().await.unwrap();
        let ids = idle(&mut admin, "sh_warm_flags", 6).await;
        let used = row(&mut other, "SELECT CONNECTION_ID()").await;
        assert!(ids.contains(&used) && !guessed.contains(&used), "{flavor:?}: {used} of {ids:?}");
    }
}

#[tokio::test]
async fn a_server_that_comes_late_or_again_is_warmed_up_when_it_is_there() {
    for flavor in Flavor::BOTH {
        let mut server = Server::start(flavor).unwrap();
        let mut admin = app(server.addr()).connect().await.unwrap();
        account(&mut admin, "sh_warm_late").await;
        server.stop().unwrap();
        let weir = warm(&server.addr().to_string(), "sh_warm_late", "warm-pw");
        weir.wait_for_line("accepting clients", PATIENCE).unwrap();
        for _ in 0..2 {
            weir.wait_for_line("event=\"server_down\"", PATIENCE).unwrap();
            server.restart().unwrap();
            let mut admin = app(server.addr()).connect().await.unwrap();
            idle(&mut admin, "sh_warm_late", 3).await;
            server.stop().unwrap();
        }
        let log = weir.log();
        assert!(!log.contains("warm_up_failed"), "{flavor:?}: {log}");
    }
}

#[tokio::test]
async fn an_account_that_is_refused_is_not_asked_for_again_and_again() {
    for (flavor, server) in &both() {
        let mut admin = app(server.addr()).connect().await.unwrap();
        account(&mut admin, "sh_warm_no").await;
        let weir = warm(&server.addr().to_string(), "sh_warm_no", "wrong-pw");
        weir.wait_for_line("event=\"warm_up_failed\"", PATIENCE).unwrap();
        // A client that knows the password is let in by the server, as without `warm_up`, and Weir's own is tried no more.
        let mut client = ConnectOptions::tcp(weir.addr(), "sh_warm_no", "warm-pw").connect().await.unwrap();
        client.run("DO SLEEP(2)").await.unwrap();
        let log = weir.log();
        assert!(log.matches("warm_up_failed").count() <= 2, "{flavor:?}: {log}");
    }
}
