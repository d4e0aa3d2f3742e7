//! P5, P24 on shared connections: what the server reports of a session, to Weir and to who asked; logins that need no server.

use crate::kit::*;
use crate::sharing_kit::*;

/// A trigger and a procedure that set what no statement shows.
const HIDDEN: &[&str] = &[
    "CREATE TABLE t (i INT PRIMARY KEY AUTO_INCREMENT, v INT)",
    "INSERT INTO t (v) VALUES (1), (2)",
    "CREATE TABLE told (i INT)",
    "CREATE TRIGGER tells AFTER INSERT ON told FOR EACH ROW SET @told = NEW.i",
    "CREATE PROCEDURE zone() SET time_zone = '+07:00'",
];

#[tokio::test]
async fn p5_clients_of_shared_connections_are_told_what_they_asked_for() {
    for (_, server) in &both() {
        database(server, "sh_told", HIDDEN).await;
        database(server, "sh_else", &[]).await;
        let weir = sharing(server, 4, "", "");
        for more in [
            Caps::default(),
            Caps::DEPRECATE_EOF,
            Caps::SESSION_TRACK,
            Caps::SESSION_TRACK | Caps::DEPRECATE_EOF,
        ] {
            let mut twin = Twin::open(server, &weir, |o| o.with(more).database("sh_told")).await;
            for sql in [
                "USE sh_told",
                "SET session_track_state_change = OFF",
                "SET @never = 1",
                "SET NAMES utf8mb4",
                "SET time_zone = '+03:00', autocommit = 1",
                "INSERT INTO told VALUES (5)",
                "SELECT @told",
                "UPDATE t SET v = v + 0 WHERE i < 3",
                "SELECT i FROM t",
                "SELECT @a := 1",
                "SELECT @a",
                "USE sh_else",
                "USE sh_told",
                "CALL zone()",
                "SELECT @@time_zone",
                "SET NAMES latin1",
                "CREATE TEMPORARY TABLE tmp (i INT)",
                "DROP TEMPORARY TABLE tmp",
                "SELECT 1 UNION SELECT 2",
                "SET session_track_state_change = 1",
                "INSERT INTO told VALUES (6)",
                "SET @b = 1",
                "SET session_track_state_change = 0",
                "INSERT INTO told VALUES (7)",
                "SET session_track_system_variables = 'sql_mode,time_zone'",
                "SET sql_mode = 'ANSI'",
                "SET session_track_system_variables = ''",
                "SET sql_mode = ''",
            ] {
                twin.run(sql).await;
            }
            // On a connection without tracking, MariaDB's EOF packets are as its state before was.
            if more.has(Caps::SESSION_TRACK | Caps::DEPRECATE_EOF) {
                for sql in [
                    "SET session_track_transaction_info = 'STATE'",
                    "SELECT i FROM t",
                    "BEGIN",
                    "SELECT i FROM t",
                    "INSERT INTO told VALUES (9)",
                    "COMMIT",
                    "SET session_track_transaction_info = 'CHARACTERISTICS'",
                    "SET TRANSACTION READ ONLY",
                    "SELECT i FROM t",
                    "SET session_track_transaction_info = 'OFF'",
                ] {
                    twin.run(sql).await;
                }
            }
            let changed = |client: &Client| client.capabilities().has(Caps::SESSION_TRACK);
            assert_eq!(changed(&twin.direct), more.has(Caps::SESSION_TRACK));
            twin.command(command::RESET_CONNECTION, b"").await;
            twin.run("USE sh_told").await;
            twin.run("INSERT INTO told VALUES (8)").await;
            twin.run("SELECT @told").await;
        }
    }
}

#[tokio::test]
async fn p24_what_a_trigger_sets_is_its_clients() {
    for (flavor, server) in &both() {
        database(server, "sh_trigger", HIDDEN).await;
        database(server, "sh_other", &[]).await;
        let weir = sharing(server, 6, "", "");
        let [mut one, mut two] = clients(&weir, "sh_trigger").await;
        free(&mut one, "a login").await;
        one.run("INSERT INTO t (v) VALUES (3)").await.unwrap();
        free(&mut one, "an INSERT without a trigger").await;
        // What is no trigger's keeps nobody.
        for more in [Caps::default(), Caps::DEPRECATE_EOF, Caps::SESSION_TRACK | Caps::DEPRECATE_EOF] {
            let mut other = app(weir.addr()).with(more).database("sh_trigger").connect().await.unwrap();
            for schema in ["sh_other", "sh_trigger"] {
                other.command(command::INIT_DB, schema.as_bytes()).await.unwrap();
                other.run("SELECT 1 FROM sh_trigger.t LIMIT 1").await.unwrap();
                let id = other.prepare("SELECT i FROM sh_trigger.t").await.unwrap().id;
                execute(&mut other, id, &[], true).await;
                other.run("SET sql_mode = 'ANSI'").await.unwrap();
                execute(&mut other, id, &[], false).await;
                turn(&mut one).await;
                execute(&mut other, id, &[], false).await;
                free(&mut other, "reads").await;
            }
        }
        one.run("INSERT INTO told VALUES (5)").await.unwrap();
        pinned(&mut one, "user_variable", "an INSERT with a trigger").await;
        two.run("BEGIN").await.unwrap();
        assert_eq!(row(&mut two, "SELECT @told").await, "NULL", "{flavor:?}");
        two.run("INSERT INTO told VALUES (6)").await.unwrap();
        two.run("COMMIT").await.unwrap();
        assert_eq!(
            (row(&mut one, "SELECT @told").await, row(&mut two, "SELECT @told").await),
            ("5".into(), "6".into())
        );
        one.command(command::RESET_CONNECTION, &[]).await.unwrap();
        two.quit().await.unwrap();
        let mut three = client(&weir, "sh_trigger").await;
        for client in [&mut one, &mut three] {
            assert_eq!(row(client, "SELECT @told").await, "NULL", "{flavor:?}");
        }
        free(&mut one, "a reset").await;
    }
}

#[tokio::test]
async fn a_login_that_was_confirmed_lately_asks_no_server() {
    for (flavor, server) in &both() {
        database(server, "sh_again", HIDDEN).await;
        let mut admin = app(server.addr()).connect().await.unwrap();
        admin.run("DROP USER IF EXISTS sh_again").await.unwrap();
        admin.run("CREATE USER sh_again IDENTIFIED BY 'again-pw'").await.unwrap();
        admin.run("GRANT ALL ON sh_again.* TO sh_again").await.unwrap();
        let weir = sharing(
            server,
            6,
            "",
            "[auth]\nrevalidate = \"1h\"\n[[user]]\nname = \"sh_again\"\npassword = \"again-pw\"\n",
        );
        let login = |password: &str| {
            let options = ConnectOptions::tcp(weir.addr(), "sh_again", password).database("sh_again");
            async move { options.connect().await }
        };
        let mut one = login("again-pw").await.unwrap();
        let read = "SELECT DATABASE(), CURRENT_USER(), @@collation_connection, @@time_zone, @@autocommit";
        let first = row(&mut one, read).await;
        one.run("SET time_zone = '+05:00', autocommit = 0, @a = 1").await.unwrap();
        one.quit().await.unwrap();
        let mut two = login("again-pw").await.unwrap();
        free(&mut two, "a login that was confirmed").await;
        assert_eq!(row(&mut two, read).await, first, "{flavor:?}");
        assert_eq!(row(&mut two, "SELECT @a").await, "NULL", "{flavor:?}");
        assert_eq!(refusal(login("wrong").await).code, 1045, "{flavor:?}");
        // The confirmation holds until the server refuses a connection.
        two.run("BEGIN").await.unwrap();
        admin.run("ALTER USER sh_again IDENTIFIED BY 'other-pw'").await.unwrap();
        let mut three = login("again-pw").await.unwrap();
        let begun = three.query("BEGIN").await.unwrap();
        assert_eq!(begun.err().map(|err| err.code), Some(1045), "{flavor:?}: {begun:?}");
        assert_eq!(refusal(login("again-pw").await).code, 1045, "{flavor:?}");
    }
}

/// MariaDB tracks few variables by default, has no `session_track_gtids`, and tells the GTID as the variable `last_gtid`.
#[tokio::test]
async fn p22_each_family_tracks_what_it_has_and_each_client_gets_what_it_asked_for() {
    for flavor in Flavor::BOTH {
        let builder = Server::builder(flavor).arg("--log-bin=p22").arg("--server-id=1");
        let builder = match flavor {
            Flavor::MySql => builder.arg("--gtid-mode=ON").arg("--enforce-gtid-consistency=ON"),
            Flavor::MariaDb => builder,
        };
        let server = builder.start().unwrap();
        database(&server, "sh_p22", HIDDEN).await;
        // Enough that nobody takes the one that keeps somebody's error.
        let weir = sharing(&server, 5, "", "");
        let mut other = client(&weir, "sh_p22").await;
        let caps = Caps::SESSION_TRACK | Caps::DEPRECATE_EOF;
        let mut twin = Twin::open(&server, &weir, |o| o.with(caps).database("sh_p22")).await;
        let mut plain = Twin::open(&server, &weir, |o| o.database("sh_p22")).await;
        twin.run("USE sh_p22").await;
        plain.run("USE sh_p22").await;
        // What each family tracks by itself, and what it does not know.
        for sql in [
            "SELECT @@session_track_system_variables, @@session_track_schema",
            "SELECT @@session_track_transaction_info",
            "SELECT @@session_track_gtids",
            "SET time_zone = '+01:00'",
            "SET sql_mode = 'ANSI_QUOTES'",
            "SET sql_mode = DEFAULT",
            "SET autocommit = 1",
            "SET max_statement_time = 5",
        ] {
            for twin in [&mut twin, &mut plain] {
                twin.query(sql).await;
                turn(&mut other).await;
            }
        }
        let asked: &[&str] = match flavor {
            Flavor::MySql => &[
                "SET session_track_gtids = OWN_GTID",
                "SET session_track_system_variables = 'sql_mode,time_zone'",
            ],
            Flavor::MariaDb => &["SET session_track_system_variables = 'last_gtid,time_zone'"],
        };
        for sql in asked {
            for twin in [&mut twin, &mut plain] {
                twin.run(sql).await;
            }
        }
        for i in 0..3 {
            let told = told_gtid(&mut twin, flavor, &format!("INSERT INTO told VALUES ({i})")).await;
            assert!(told, "{flavor:?} {i}: no GTID was told");
            let told = told_gtid(&mut plain, flavor, &format!("INSERT INTO told VALUES ({i})")).await;
            assert!(!told, "{flavor:?} {i}: it has not asked for it");
            // Neither is told of anything to who has not asked.
            let response = other.query("INSERT INTO t (v) VALUES (3)").await.unwrap();
            assert!(response.packets[0].payload.len() < 16, "{flavor:?}: {response:?}");
            twin.run("SET time_zone = '+02:00'").await;
            twin.run("SELECT @@time_zone").await;
        }
        twin.command(command::RESET_CONNECTION, b"").await;
        twin.run("USE sh_p22").await;
        assert!(!told_gtid(&mut twin, flavor, "INSERT INTO told VALUES (9)").await, "{flavor:?}: a reset");
    }
}

/// Whether the answers to both tell a GTID. The two servers' connections take turns to number what they write, so only its form is
/// compared.
async fn told_gtid(twin: &mut Twin, flavor: Flavor, sql: &str) -> bool {
    let mut told = Vec::new();
    for client in [&mut twin.direct, &mut twin.weir] {
        let response = client.run(sql).await.unwrap();
        let payload = &response.packets[0].payload;
        let found = match flavor {
            Flavor::MySql => payload.windows(36).any(|text| {
                text.iter().enumerate().all(|(i, b)| match i {
                    8 | 13 | 18 | 23 => *b == b'-',
                    _ => b.is_ascii_hexdigit(),
                })
            }),
            Flavor::MariaDb => payload.windows(9).any(|text| text == b"last_gtid"),
        };
        told.push((found, payload.len()));
    }
    assert_eq!(told[0].0, told[1].0, "{flavor:?} {sql}: {told:?}");
    told[0].0
}
