//! What Weir answers from memory to clients that share connections.

use crate::kit::*;
use crate::sharing_kit::*;

/// Commands and logins that the server has counted, those of this question left out.
async fn asked(admin: &mut Client, before: &mut u64) -> u64 {
    let mut sum = 0;
    for counter in ["Questions", "Connections"] {
        let told = row(admin, &format!("SHOW GLOBAL STATUS LIKE '{counter}'")).await;
        sum += told.split('|').nth(1).unwrap().parse::<u64>().unwrap();
    }
    // It has asked twice for each count, and the second of it is not in the sum.
    let since = sum - *before - 2;
    *before = sum;
    since
}

#[tokio::test]
async fn what_programs_say_when_they_connect_is_asked_once() {
    // The first is warned of by MySQL, each time.
    for mode in ["NO_ZERO_DATE,ANSI_QUOTES,NO_BACKSLASH_ESCAPES", "ANSI_QUOTES,NO_BACKSLASH_ESCAPES"] {
        an_opening_is_asked_once(mode).await;
    }
}

async fn an_opening_is_asked_once(sql_mode: &str) {
    for flavor in Flavor::BOTH {
        let server = Server::start(flavor).unwrap();
        database(&server, "sh_opening", &["CREATE TABLE t (i INT)", "INSERT INTO t VALUES (7)"]).await;
        let weir = sharing(&server, 2, "", "[auth]\nrevalidate = \"1h\"\n");
        let mut admin = app(server.addr()).connect().await.unwrap();
        let mut count = 0;
        asked(&mut admin, &mut count).await;
        for round in 0..8 {
            let mut client = app(weir.addr()).connect().await.unwrap();
            for sql in ["SET NAMES utf8mb4", "SET NAMES 'utf8mb4' COLLATE 'utf8mb4_unicode_520_ci'"] {
                client.run(sql).await.unwrap();
            }
            let mode = row(&mut client, "SELECT @@SESSION.sql_mode").await;
            assert!(mode.contains("STRICT_TRANS_TABLES"), "{flavor:?}: {mode}");
            client.run(&format!("SET SESSION sql_mode='{sql_mode}'")).await.unwrap();
            assert!(row(&mut client, "SELECT @@sql_mode").await.starts_with("ANSI_QUOTES"), "{flavor:?}");
            client.command(command::INIT_DB, b"sh_opening").await.unwrap();
            if round > 4 {
                free(&mut client, "an opening").await;
            }
            // The state is there when it counts: for Weir's reading of the text, and on the server.
            let read = r#"SELECT "i", '\', @@collation_connection FROM t"#;
            assert_eq!(row(&mut client, read).await, r"7|\|utf8mb4_unicode_520_ci", "{flavor:?}");
            client.quit().await.unwrap();
            let asked = asked(&mut admin, &mut count).await;
            assert!(
                round < 5 || asked == 1,
                "{flavor:?}, opening {round}: the server was asked {asked} times"
            );
        }
    }
}

#[tokio::test]
async fn a_right_that_is_gone_is_missed_at_once_where_no_confirmation_holds() {
    for (flavor, server) in &both() {
        database(server, "sh_right", &["CREATE TABLE t (i INT)"]).await;
        let mut admin = app(server.addr()).connect().await.unwrap();
        admin.run("DROP USER IF EXISTS sh_right").await.unwrap();
        admin.run("CREATE USER sh_right IDENTIFIED BY 'right-pw'").await.unwrap();
        admin.run("GRANT SELECT ON sh_right.* TO sh_right").await.unwrap();
        let weir = sharing(server, 2, "", "[[user]]\nname = \"sh_right\"\npassword = \"right-pw\"\n");
        let mut client = ConnectOptions::tcp(weir.addr(), "sh_right", "right-pw").connect().await.unwrap();
        for _ in 0..4 {
            client.run("USE sh_right").await.unwrap();
            client.command(command::INIT_DB, b"information_schema").await.unwrap();
            free(&mut client, "USE").await;
        }
        admin.run("REVOKE ALL PRIVILEGES, GRANT OPTION FROM sh_right").await.unwrap();
        let refused = client.query("USE sh_right").await.unwrap();
        assert_eq!(refused.err().map(|err| err.code), Some(1044), "{flavor:?}: {refused:?}");
    }
}

#[tokio::test]
async fn what_a_transaction_or_a_warning_hangs_on_is_asked_each_time() {
    for (flavor, server) in &both() {
        database(server, "sh_asked", &["CREATE TABLE t (i INT)"]).await;
        let weir = sharing(server, 2, "", "");
        let [mut client] = clients(&weir, "sh_asked").await;
        for _ in 0..4 {
            client.run("SET autocommit = 0").await.unwrap();
            client.run("INSERT INTO t VALUES (1)").await.unwrap();
            // It commits.
            client.run("SET autocommit = 1").await.unwrap();
            client.run("ROLLBACK").await.unwrap();
        }
        assert_eq!(row(&mut client, "SELECT COUNT(*) FROM t").await, "4", "{flavor:?}");
        for _ in 0..4 {
            let warned = client.run("SET group_concat_max_len = 1").await.unwrap();
            assert_eq!(warned.warnings(), Some(1), "{flavor:?}");
            pinned(&mut client, "warnings", "a SET that warns").await;
            client.run("DO 0").await.unwrap();
            assert_eq!(row(&mut client, "SELECT @@SESSION.group_concat_max_len").await, "4", "{flavor:?}");
        }
    }
}
