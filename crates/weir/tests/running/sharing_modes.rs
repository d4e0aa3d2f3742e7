//! What MySQL warns of in a value of `sql_mode`: programs set such values each time they connect (WordPress), so the warning
//! keeps no connection, is no reason to ask the server again, and is there for whoever asks for it.

use crate::cache_kit::{ALL, MODES};
use crate::kit::*;
use crate::sharing_kit::*;
use weir_testkit::client::command::{self, field_list};

/// A value that WordPress makes of MySQL's default.
const MODE: &str = "SET SESSION sql_mode='NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'";

/// What a session does after it has set its mode. Each is run several times: out of the server, then out of memory.
const STORIES: &[&[&str]] = &[
    &["SHOW WARNINGS", "SHOW WARNINGS"],
    &["SHOW COUNT(*) WARNINGS", "SELECT 1", "SHOW WARNINGS"],
    &["SELECT @@warning_count", "SHOW WARNINGS"],
    &["ping", "SHOW WARNINGS", "SHOW WARNINGS", "SELECT i FROM t", "SHOW WARNINGS"],
    &["schema", "SHOW WARNINGS"],
    &["schema", "SELECT i FROM t", "SHOW WARNINGS"],
    &["no schema", "SHOW WARNINGS", "SELECT i FROM t", "SHOW WARNINGS"],
    &["schema", "no schema", "ping", "SHOW WARNINGS"],
    &["fields", "SHOW WARNINGS"],
    &["SELECT ROW_COUNT()", "SHOW WARNINGS"],
    &["SELECT @@warning_count, ROW_COUNT(), FOUND_ROWS()"],
    &["SELECT FOUND_ROWS()", "SHOW WARNINGS"],
    &["SET @@SESSION.sql_mode='NO_ZERO_DATE,PAD_CHAR_TO_FULL_LENGTH'", "SHOW WARNINGS"],
    &["SET sql_mode='TRADITIONAL'", "SHOW WARNINGS", "SELECT @@sql_mode"],
    &["GET DIAGNOSTICS @n = NUMBER", "SELECT @n", "SHOW WARNINGS"],
    &["BEGIN", "SHOW WARNINGS", "SELECT i FROM t", "COMMIT", "SHOW WARNINGS"],
    &["SELECT no_such_column FROM t", "SHOW WARNINGS", "SELECT i FROM t"],
];

async fn tell(twin: &mut Twin, story: &[&str]) {
    twin.run(MODE).await;
    for what in story {
        match *what {
            "ping" => twin.command(command::PING, b"").await,
            "schema" => twin.command(command::INIT_DB, b"sh_modes").await,
            "no schema" => twin.command(command::INIT_DB, b"sh_no_such_schema").await,
            "fields" => twin.command(command::FIELD_LIST, &field_list("t", "")).await,
            sql => twin.query(sql).await,
        };
    }
}

#[tokio::test]
async fn a_warning_of_a_mode_is_there_for_whoever_asks_for_it() {
    for (flavor, server) in &both() {
        database(server, "sh_modes", &["CREATE TABLE t (i INT)", "INSERT INTO t VALUES (1), (2)"]).await;
        for pool in MODES {
            let weir = sharing(server, 3, pool, &format!("{ALL}[auth]\nrevalidate = \"1h\"\n"));
            for story in STORIES {
                // The third is the first whose mode comes out of memory.
                for round in 0..3 {
                    eprintln!("{flavor:?}, {pool:?}, round {round}: {story:?}");
                    let mut twin = Twin::open(server, &weir, |options| options.database("sh_modes")).await;
                    twin.command(command::INIT_DB, b"sh_modes").await;
                    // What the opening has warned of is gone.
                    twin.query("SELECT i FROM t").await;
                    tell(&mut twin, story).await;
                    tell(&mut twin, story).await;
                    twin.query("SELECT @@SESSION.sql_mode").await;
                }
            }
        }
    }
}

#[tokio::test]
async fn a_warning_of_a_mode_is_not_seen_by_others() {
    for (flavor, server) in &both() {
        database(server, "sh_modes_others", &["CREATE TABLE t (i INT)"]).await;
        let weir = sharing(server, 1, "", "");
        let [mut one, mut other] = clients(&weir, "sh_modes_others").await;
        let warned = if *flavor == Flavor::MySql { 1 } else { 0 };
        for _ in 0..4 {
            assert_eq!(one.run(MODE).await.unwrap().warnings(), Some(warned), "{flavor:?}");
            free(&mut one, MODE).await;
            other.command(command::PING, b"").await.unwrap();
            assert_eq!(other.run("SHOW WARNINGS").await.unwrap().rows().count(), 0, "{flavor:?}");
            assert_eq!(
                one.run("SHOW WARNINGS").await.unwrap().rows().count(),
                usize::from(warned),
                "{flavor:?}"
            );
            one.run("DO 0").await.unwrap();
        }
    }
}
