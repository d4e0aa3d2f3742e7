//! P15 to P17, P19, P20: who gets in, how, and what the others are told.

use weir_testkit::client::Outcome;

use crate::kit::*;

const LISTED: &str =
    "[[user]]\nname = \"app\"\npassword = \"app-pw\"\n[[user]]\nname = \"nopw\"\npassword = \"\"\n";

/// Accounts of a flavor with their passwords; all with all privileges.
fn accounts(flavor: Flavor) -> Vec<(&'static str, &'static str)> {
    let mut all = vec![("root", ""), ("app", "app-pw"), ("nopw", "")];
    all.extend(match flavor {
        Flavor::MariaDb => [("app_native", "native-pw"), ("app_ed", "ed-pw")],
        Flavor::MySql => [("app_sha", "sha-pw"), ("app_sha256", "sha256-pw")],
    });
    all
}

/// The links that a client may come over.
fn links(weir: &Weir, user: &str, password: &str) -> [(&'static str, ConnectOptions); 3] {
    let tcp = ConnectOptions::tcp(weir.addr(), user, password);
    let unix = ConnectOptions::unix(weir.home().join("weir.sock"), user, password);
    [("plain", tcp.clone()), ("tls", tcp.tls(Tls::Unverified)), ("unix", unix)]
}

#[tokio::test]
async fn p15_p16_every_account_logs_in_with_every_plugin_over_every_link() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        // sha256_password wants TLS or RSA towards the server; both servers offer TLS.
        for (towards, users) in [("preferred", LISTED), ("preferred", ""), ("disabled", LISTED)] {
            let weir = weir_with(&server, &format!("[server.tls]\nmode = \"{towards}\"\n{users}"));
            for (user, password) in accounts(flavor) {
                for (link, options) in links(&weir, user, password) {
                    let mut plugins =
                        vec!["caching_sha2_password", "mysql_native_password", "client_ed25519"];
                    if link != "plain" {
                        plugins.push("mysql_clear_password");
                    }
                    for plugin in plugins {
                        let what = format!("{flavor:?} {towards} {user} {link} {plugin} {users}");
                        let mut client = options.clone().plugin(plugin).connect().await;
                        let client = client.as_mut().unwrap_or_else(|error| panic!("{what}: {error:#}"));
                        let current = client.scalar("SELECT CURRENT_USER()").await.unwrap().unwrap();
                        assert!(current.starts_with(&format!("{user}@")), "{what}: {current}");
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn p15_p20_a_wrong_password_is_1045_over_every_link_and_with_every_plugin() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir_with(&server, LISTED);
        for (user, wrong) in
            [("app", "wrong"), ("app", ""), ("root", "wrong"), ("nopw", "any"), ("no_such", "x")]
        {
            for (link, options) in links(&weir, user, wrong) {
                for plugin in ["caching_sha2_password", "mysql_native_password"] {
                    let err = refusal(options.clone().plugin(plugin).connect().await);
                    assert_eq!((err.code, err.state.as_str()), (1045, "28000"), "{user} {link}: {err}");
                    // The host is the address the server sees, or the client's where Weir refuses by itself.
                    let using = if wrong.is_empty() { "NO" } else { "YES" };
                    let head = format!("Access denied for user '{user}'@'");
                    let tail = format!("' (using password: {using})");
                    assert!(err.message.starts_with(&head) && err.message.ends_with(&tail), "{link}: {err}");
                }
            }
        }
        // A password in clear over a bare link is refused before it is looked at.
        let bare = app(weir.addr()).plugin("mysql_clear_password");
        assert!(bare.connect().await.is_err());
    }
}

#[tokio::test]
async fn p16_the_second_login_takes_the_fast_path_and_the_first_asks_weirs_own_key() {
    let server = server(Flavor::MySql);
    let weir = weir(&server);
    let asked = |client: &Client| {
        let replies = client.login_reply().outcomes.iter();
        replies.filter(|outcome| matches!(outcome, Outcome::Auth(_))).count()
    };
    let options = ConnectOptions::tcp(weir.addr(), "app_sha", "sha-pw");
    // "Full authentication", then the public key.
    assert_eq!(asked(&options.connect().await.unwrap()), 2);
    // "Fast authentication succeeded".
    assert_eq!(asked(&options.connect().await.unwrap()), 1);
    // Many first logins at once.
    let logins = (0..40).map(|_| {
        let options = ConnectOptions::tcp(weir.addr(), "app", "app-pw");
        tokio::spawn(async move { options.connect().await.unwrap().scalar("SELECT 1").await.unwrap() })
    });
    for login in logins.collect::<Vec<_>>() {
        assert_eq!(login.await.unwrap().as_deref(), Some("1"));
    }
}

#[tokio::test]
async fn p15_locked_and_expired_accounts_are_refused_in_the_servers_words() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        let direct = refusal(ConnectOptions::tcp(server.addr(), "locked", "locked-pw").connect().await);
        let through = refusal(ConnectOptions::tcp(weir.addr(), "locked", "locked-pw").connect().await);
        assert_eq!(through, direct);
        if flavor == Flavor::MySql {
            let direct = refusal(ConnectOptions::tcp(server.addr(), "expired", "expired-pw").connect().await);
            let through = refusal(ConnectOptions::tcp(weir.addr(), "expired", "expired-pw").connect().await);
            assert_eq!((&through, through.code), (&direct, 1862));
        }
        // A client that can handle an expired password gets in, on MariaDB every client, and may only change it.
        let options = |addr| ConnectOptions::tcp(addr, "expired", "expired-pw").with(Caps::EXPIRED_PASSWORDS);
        let mut answers = Vec::new();
        for addr in [server.addr(), weir.addr()] {
            let mut client = options(addr).connect().await.unwrap();
            answers.push(client.query("SELECT 1").await.unwrap());
        }
        assert_eq!(answers[0], answers[1]);
        assert_eq!(answers[0].err().unwrap().code, 1820);
        let tls_only = refusal(ConnectOptions::tcp(weir.addr(), "app_tls", "tls-pw").connect().await);
        assert_eq!(tls_only.code, 1045);
        let missing = ConnectOptions::tcp(weir.addr(), "app", "app-pw").database("no_such_schema");
        assert_eq!(refusal(missing.connect().await).code, 1049);
    }
}

#[tokio::test]
async fn p17_change_user_right_and_wrong() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        for users in [LISTED, ""] {
            let weir = weir_with(&server, users);
            let mut client = ConnectOptions::tcp(weir.addr(), "root", "").connect().await.unwrap();
            client.run("SET @a = 1").await.unwrap();
            for (user, password) in accounts(flavor) {
                // This client speaks sha256_password over TLS only, and so does the server's link here.
                if user == "app_sha256" {
                    continue;
                }
                let changed = client.change_user(user, password, "mysql", 45).await.unwrap();
                assert!(changed.err().is_none() && !changed.closed, "{flavor:?} {user}: {changed:?}");
                let current =
                    client.scalar("SELECT CONCAT(CURRENT_USER(), ' ', DATABASE())").await.unwrap().unwrap();
                assert!(current.starts_with(&format!("{user}@")) && current.ends_with(" mysql"), "{current}");
                assert_eq!(client.scalar("SELECT @a").await.unwrap(), None);
                assert_eq!(shown(&mut client, "user").await, user);
            }
            for (user, password) in [("app", "wrong"), ("no_such", "x"), ("locked", "locked-pw")] {
                let mut client = ConnectOptions::tcp(weir.addr(), "root", "").connect().await.unwrap();
                client.run("SET @kept = 7").await.unwrap();
                let server_id: u32 = shown(&mut client, "server_connection_id").await.parse().unwrap();
                let refused = client.change_user(user, password, "", 45).await.unwrap();
                let code = refused.err().unwrap_or_else(|| panic!("{user} got in: {refused:?}")).code;
                assert!(matches!(code, 1045 | 3118 | 4151), "{user}: {refused:?}");
                match flavor {
                    Flavor::MariaDb => stays_root(&server, client, (user, password)).await,
                    Flavor::MySql => ends(&server, client, server_id).await,
                }
            }
        }
    }
}

/// MariaDB keeps the session after a refusal. Weir, the server and a direct session agree on whose it is.
async fn stays_root(server: &Server, mut client: Client, (user, password): (&str, &str)) {
    let mut direct = ConnectOptions::tcp(server.addr(), "root", "").connect().await.unwrap();
    direct.run("SET @kept = 7").await.unwrap();
    assert!(direct.change_user(user, password, "", 45).await.unwrap().err().is_some());
    let ask = "SELECT CURRENT_USER(), USER(), DATABASE(), @kept";
    let (wanted, got) = (direct.query(ask).await.unwrap(), client.query(ask).await.unwrap());
    let row = same(wanted, got, user).rows().next().unwrap().to_vec();
    assert!(row.windows(5).any(|w| w == b"root@"), "{user}: {row:?}");
    assert_eq!(shown(&mut client, "user").await, "root");
    // The right password still works afterwards.
    let changed = client.change_user("app", "app-pw", "", 45).await.unwrap();
    assert_eq!(changed.err(), None);
    assert!(client.scalar("SELECT CURRENT_USER()").await.unwrap().unwrap().starts_with("app@"));
}

/// MySQL closes after a refusal, and the server's side of the session ends with the client's.
async fn ends(server: &Server, mut client: Client, server_id: u32) {
    assert!(client.stream().read_packet().await.unwrap().is_none(), "the session went on");
    let mut admin = app(server.addr()).connect().await.unwrap();
    let sql = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {server_id}");
    until("the server connection ends", async || {
        (admin.scalar(&sql).await.unwrap().as_deref() == Some("0")).then_some(())
    })
    .await;
}

#[tokio::test]
async fn p19_passwords_that_change_at_the_server_while_weir_remembers() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        let mut admin = app(server.addr()).connect().await.unwrap();
        admin.run("DROP USER IF EXISTS p19").await.unwrap();
        admin.run("CREATE USER p19 IDENTIFIED BY 'first'").await.unwrap();
        let login = async |password: &str| ConnectOptions::tcp(weir.addr(), "p19", password).connect().await;
        for _ in 0..2 {
            login("first").await.unwrap();
        }
        admin.run("ALTER USER p19 IDENTIFIED BY 'second'").await.unwrap();
        assert_eq!(refusal(login("first").await).code, 1045);
        for _ in 0..2 {
            login("second").await.unwrap();
        }
        assert_eq!(refusal(login("first").await).code, 1045);
        login("second").await.unwrap();
        admin.run("ALTER USER p19 ACCOUNT LOCK").await.unwrap();
        assert!(matches!(refusal(login("second").await).code, 3118 | 4151));
        admin.run("ALTER USER p19 ACCOUNT UNLOCK").await.unwrap();
        login("second").await.unwrap();
        if flavor == Flavor::MySql {
            admin.run("ALTER USER p19 PASSWORD EXPIRE").await.unwrap();
            assert_eq!(refusal(login("second").await).code, 1862);
        }
        admin.run("DROP USER p19").await.unwrap();
        assert_eq!(refusal(login("second").await).code, 1045);
    }
}

#[tokio::test]
async fn p19_a_listed_password_and_the_previous_one_while_it_is_rotated() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let users = "[[user]]\nname = \"rotated\"\npassword = \"new-pw\"\nprevious = \"old-pw\"\n[auth]\npassthrough = false\n";
        let weir = weir_with(&server, users);
        let mut admin = app(server.addr()).connect().await.unwrap();
        admin.run("DROP USER IF EXISTS rotated").await.unwrap();
        for at_server in ["old-pw", "new-pw"] {
            admin.run("DROP USER IF EXISTS rotated").await.unwrap();
            admin.run(&format!("CREATE USER rotated IDENTIFIED BY '{at_server}'")).await.unwrap();
            // Clients may use either, whichever of the two the server has.
            for password in ["new-pw", "old-pw"] {
                for (link, options) in links(&weir, "rotated", password) {
                    let mut client = options.connect().await;
                    let client =
                        client.as_mut().unwrap_or_else(|e| panic!("{at_server} {password} {link}: {e:#}"));
                    assert_eq!(client.scalar("SELECT 1").await.unwrap().as_deref(), Some("1"));
                }
            }
            let wrong = ConnectOptions::tcp(weir.addr(), "rotated", "other").connect().await;
            assert_eq!(refusal(wrong).code, 1045);
        }
        // Without pass-through nobody else gets in, whatever the server would say.
        assert_eq!(refusal(app(weir.addr()).connect().await).code, 1045);
    }
}
