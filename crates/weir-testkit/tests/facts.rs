//! What `weir-sql` tells of statements, held against what real servers do with them.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use weir_model::ServerFamily;
use weir_sql::{Effect, Facts, Leftover, LexMode, Scope, Transaction, Value};
use weir_testkit::{Client, ConnectOptions, Flavor, Response, Server};

const IN_TRANSACTION: u16 = 0x0001;
const AUTOCOMMIT: u16 = 0x0002;

/// A server with the schema that the corpus is about.
struct World {
    flavor: Flavor,
    server: Server,
    mode: LexMode,
}

impl World {
    async fn start(flavor: Flavor) -> Self {
        let server = Server::start(flavor).unwrap();
        let mut root = ConnectOptions::tcp(server.addr(), "root", "").connect().await.unwrap();
        for sql in [
            "SET GLOBAL max_connections = 1000",
            "CREATE DATABASE facts",
            "USE facts",
            "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a INT, b VARCHAR(20))",
            "INSERT INTO t (a, b) VALUES (1, 'x'), (2, 'y'), (3, 'z'), (4, 'z'), (5, 'z'), (6, 'z'), (7, 'z')",
            "CREATE TABLE u (id INT PRIMARY KEY AUTO_INCREMENT, a INT, b VARCHAR(20))",
            "INSERT INTO u (a, b) VALUES (1, 'x')",
            "CREATE TABLE log (n INT)",
            "CREATE VIEW v AS SELECT id, a FROM t",
            "CREATE PROCEDURE p() BEGIN INSERT INTO log VALUES (1); SET @va = 5; END",
        ] {
            root.run(sql).await.unwrap();
        }
        let function = "BEGIN INSERT INTO log VALUES (n); RETURN n; END";
        root.run("SET GLOBAL log_bin_trust_function_creators = 1").await.unwrap();
        root.run(&format!("CREATE FUNCTION f(n INT) RETURNS INT {function}")).await.unwrap();
        if flavor == Flavor::MariaDb {
            root.run("CREATE SEQUENCE sq").await.unwrap();
        }
        let version = root.scalar("SELECT VERSION()").await.unwrap().unwrap();
        Self { flavor, server, mode: LexMode::new(family(flavor), number(&version)) }
    }

    async fn connect(&self) -> Client {
        ConnectOptions::tcp(self.server.addr(), "root", "").database("facts").connect().await.unwrap()
    }

    fn facts(&self, sql: &str) -> Facts {
        Facts::of(sql.as_bytes(), self.mode, false)
    }

    /// The corpus as this server is asked.
    fn statements(&self) -> Vec<String> {
        let mut all = Vec::new();
        for line in include_str!("facts/statements.txt").lines() {
            let (only, sql) = match line.split_once(": ") {
                Some(("mysql", sql)) => (Some(Flavor::MySql), sql),
                Some(("mariadb", sql)) => (Some(Flavor::MariaDb), sql),
                _ => (None, line),
            };
            let is_meant = only.is_none_or(|flavor| flavor == self.flavor);
            if is_meant && !sql.is_empty() && !sql.starts_with("##") {
                all.push(sql.replace("\\n", "\n"));
            }
        }
        all
    }
}

fn family(flavor: Flavor) -> ServerFamily {
    match flavor {
        Flavor::MariaDb => ServerFamily::MariaDb,
        Flavor::MySql => ServerFamily::MySql,
    }
}

/// `10.11.19-MariaDB` is 101119.
fn number(version: &str) -> u32 {
    let digits = version.split('-').next().unwrap_or_default();
    digits.split('.').fold(0, |n, part| n * 100 + part.parse::<u32>().unwrap())
}

async fn is_in_transaction(client: &mut Client) -> bool {
    client.run("DO 0").await.unwrap().status().unwrap() & IN_TRANSACTION != 0
}

fn rows(response: &Response) -> Vec<Vec<u8>> {
    response.rows().map(<[u8]>::to_vec).collect()
}

/// What a statement could change: data, names, the session's variables, and what it knows of LAST_INSERT_ID().
async fn state(client: &mut Client) -> Vec<Vec<u8>> {
    const VOLATILE: [&str; 9] = [
        "timestamp",
        "rand_seed",
        "last_insert_id",
        "identity",
        "warning_count",
        "error_count",
        "gtid",
        "statement_id",
        "in_transaction",
    ];
    let mut all = rows(&client.run("CHECKSUM TABLE t, u, log").await.unwrap());
    all.extend(rows(&client.run("SHOW TABLES").await.unwrap()));
    all.extend(rows(
        &client.run("SELECT @va, @vb, LAST_INSERT_ID(), IS_USED_LOCK('weir'), DATABASE()").await.unwrap(),
    ));
    for row in rows(&client.run("SHOW SESSION VARIABLES").await.unwrap()) {
        let name = String::from_utf8_lossy(&row[1..]).into_owned();
        if !VOLATILE.iter().any(|volatile| name.contains(volatile)) {
            all.push(row);
        }
    }
    all
}

#[tokio::test]
async fn p53_what_is_called_read_only_is_accepted_read_only_and_changes_nothing() {
    for flavor in Flavor::BOTH {
        let world = World::start(flavor).await;
        let mut watcher = world.connect().await;
        let (mut accepted, mut others) = (0, 0);
        for sql in world.statements() {
            if !world.facts(&sql).read_only {
                others += 1;
                continue;
            }
            let mut client = world.connect().await;
            client.run("SET @va = 3").await.unwrap();
            client.run("START TRANSACTION READ ONLY").await.unwrap();
            let before = state(&mut client).await;
            let response = client.query(&sql).await.unwrap();
            // What this version does not know ran no more than it would elsewhere.
            const ACCEPTABLE: [u16; 3] = [1064, 1193, 1235];
            match response.err() {
                Some(err) => assert!(ACCEPTABLE.contains(&err.code), "{flavor:?} {sql}: {err}"),
                None => accepted += 1,
            }
            assert!(is_in_transaction(&mut client).await, "{flavor:?} {sql}");
            assert_eq!(state(&mut client).await, before, "{flavor:?} {sql}");
            for table in ["t", "u", "log"] {
                watcher.run("BEGIN").await.unwrap();
                let free = watcher.run(&format!("SELECT * FROM {table} FOR UPDATE NOWAIT")).await;
                assert!(free.is_ok(), "{flavor:?} {sql} locks rows of {table}");
                watcher.run("ROLLBACK").await.unwrap();
            }
        }
        assert!(accepted >= 80 && others >= 80, "{flavor:?}: {accepted} accepted, {others} others");
    }
}

#[tokio::test]
async fn p27_a_transaction_that_ends_is_told() {
    for flavor in Flavor::BOTH {
        let world = World::start(flavor).await;
        let mut ended = 0;
        for sql in world.statements() {
            let facts = world.facts(&sql);
            let mut client = world.connect().await;
            client.run("SET lock_wait_timeout = 1").await.unwrap();
            client.run("BEGIN").await.unwrap();
            client.run("INSERT INTO log VALUES (2)").await.unwrap();
            let response = client.query(&sql).await.unwrap();
            if response.closed {
                continue;
            }
            let is_told =
                facts.transaction != Transaction::None || facts.has_effects() || !facts.pins.is_empty();
            // CALL and PREPARE may hide anything, and say so with their pins.
            if response.err().is_none() && !is_in_transaction(&mut client).await {
                assert!(is_told, "{flavor:?} {sql}");
                ended += 1;
            }
        }
        assert!(ended >= 30, "{flavor:?}: {ended}");
    }
}

/// Runs `before`, the statement and `after`; the number that `after` gives, if the statement succeeded.
async fn leftover(world: &World, before: &[&str], sql: &str, after: &str) -> Option<String> {
    let mut client = world.connect().await;
    client.run("SET lock_wait_timeout = 1").await.unwrap();
    client.run("SET sql_mode = ''").await.unwrap();
    for sql in before {
        client.run(sql).await.unwrap();
    }
    let response = client.query(sql).await.unwrap();
    if response.closed || response.err().is_some() {
        return None;
    }
    client.scalar(after).await.ok().flatten()
}

#[tokio::test]
async fn p26_what_is_kept_is_told() {
    const FIVE_WARNINGS: &str = "DO CAST('a' AS SIGNED), CAST('b' AS SIGNED), CAST('c' AS SIGNED), CAST('d' AS SIGNED), CAST('e' AS SIGNED)";
    for flavor in Flavor::BOTH {
        let world = World::start(flavor).await;
        let rows = ["UPDATE u SET b = CONCAT('n', RAND()) WHERE id < 8", "SELECT 1"];
        let checks: [(Leftover, &[&str], &str, &str); 3] = [
            (Leftover::Diagnostics, &[FIVE_WARNINGS], "SHOW COUNT(*) WARNINGS", "5"),
            (
                Leftover::FoundRows,
                &["SELECT SQL_CALC_FOUND_ROWS 1 FROM t, t x LIMIT 1"],
                "SELECT FOUND_ROWS()",
                "49",
            ),
            (Leftover::RowCount, &rows[..1], "SELECT ROW_COUNT()", "1"),
        ];
        let mut kept = [0; 3];
        for sql in world.statements().iter().map(String::as_str) {
            let facts = world.facts(sql);
            for (i, (what, before, after, value)) in checks.iter().enumerate() {
                // These leave a row count of one of their own.
                let has_own = *what == Leftover::RowCount && facts.kind() != weir_sql::StatementKind::Read;
                // Definitions are slow, and keep nothing else that others do not.
                let is_slow = facts.kind() >= weir_sql::StatementKind::Ddl && *what != Leftover::Diagnostics;
                if (has_own || is_slow) && !sql.starts_with("GET") {
                    continue;
                }
                if leftover(&world, before, sql, after).await.as_deref() == Some(*value) {
                    assert!(facts.keeps.contains(*what), "{flavor:?} {sql} keeps {what:?}");
                    kept[i] += 1;
                }
            }
        }
        assert!(kept.iter().all(|n| *n >= 1) && kept[1] > 20, "{flavor:?}: {kept:?}");
    }
}

/// The value as a literal that SET takes for it.
fn literal(value: &str) -> String {
    if value.parse::<f64>().is_ok() {
        value.to_owned()
    } else {
        format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''"))
    }
}

#[tokio::test]
async fn p30_every_session_variable_is_told_in_every_spelling() {
    for flavor in Flavor::BOTH {
        let world = World::start(flavor).await;
        let mut client = world.connect().await;
        let listed = client.run("SHOW SESSION VARIABLES").await.unwrap();
        let variables: BTreeMap<_, _> = rows(&listed)
            .iter()
            .map(|row| weir_testkit::client::bytes::text_row(row).unwrap())
            .map(|row| row.into_iter().map(|v| String::from_utf8(v.unwrap_or_default()).unwrap()))
            .map(|mut row| (row.next().unwrap(), row.next().unwrap()))
            .collect();
        let mut settable = 0;
        for (name, value) in &variables {
            let value = literal(value);
            let mut client = world.connect().await;
            if client.query(format!("SET SESSION {name} = {value}")).await.unwrap().err().is_some() {
                continue;
            }
            settable += 1;
            let spellings = [
                (format!("SET {name} = {value}"), Scope::Session),
                (format!("SET LOCAL `{}` := {value}", name.to_uppercase()), Scope::Session),
                (format!("SET @@{name}={value}"), Scope::Unnamed),
                (format!("/*!40000 SET @x = 1, @@session . {name} = {value} */"), Scope::Session),
            ];
            for (sql, expected) in spellings {
                client.run(&sql).await.unwrap();
                let facts = world.facts(&sql);
                let found = facts.effects(sql.as_bytes()).last();
                let Some(Effect::Variable { name: n, scope, value: Value::Literal(l) }) = found else {
                    panic!("{flavor:?} {sql}: {found:?}");
                };
                assert!(
                    n.is(name) && scope == expected && l.text == value.as_bytes(),
                    "{flavor:?} {sql}: {found:?}"
                );
                assert!(facts.pins.is_empty(), "{flavor:?} {sql}: {:?}", facts.pins);
            }
        }
        assert!(settable >= 150, "{flavor:?}: {settable}");
    }
}

#[tokio::test]
async fn p30_scopes_carry_over_as_on_the_servers() {
    const LISTS: [&str; 10] = [
        "SET GLOBAL sort_buffer_size = 300001, join_buffer_size = 300002",
        "SET GLOBAL sort_buffer_size = 300003, @@join_buffer_size = 300004, read_buffer_size = 304096",
        "SET GLOBAL sort_buffer_size = 300005, @@session.join_buffer_size = 300006, read_buffer_size = 308192",
        "SET @@global.sort_buffer_size = 300007, join_buffer_size = 300008",
        "SET GLOBAL sort_buffer_size = 300009, @x = 1, join_buffer_size = 300010",
        "SET GLOBAL sort_buffer_size = 300011, NAMES utf8mb4, join_buffer_size = 300012",
        "SET sort_buffer_size = 300013, GLOBAL join_buffer_size = 300014, LOCAL read_buffer_size = 312288",
        "SET SESSION sort_buffer_size = 300015, join_buffer_size = 300016",
        "SET GLOBAL sort_buffer_size = 300017, `join_buffer_size` = 300018",
        "SET @@sort_buffer_size = 300019, GLOBAL join_buffer_size := 300020, read_buffer_size = 316384",
    ];
    for flavor in Flavor::BOTH {
        let world = World::start(flavor).await;
        let mut client = world.connect().await;
        for sql in LISTS {
            client.run(sql).await.unwrap();
            for effect in world.facts(sql).effects(sql.as_bytes()) {
                let Effect::Variable { name, scope, value: Value::Literal(literal) } = effect else {
                    continue;
                };
                let scope = if scope == Scope::Global { "global" } else { "session" };
                let name = String::from_utf8_lossy(name.text);
                let found = client.scalar(&format!("SELECT @@{scope}.{name}")).await.unwrap().unwrap();
                // The server rounds buffers down to pages.
                let set = literal.integer().unwrap() / 4096;
                assert_eq!(found.parse::<i128>().unwrap() / 4096, set, "{flavor:?} {sql}: {scope} {name}");
            }
        }
    }
}

#[tokio::test]
async fn p27_begin_commit_and_chain_do_what_is_told() {
    let cases: [(&str, bool); 9] = [
        ("BEGIN", true),
        ("BEGIN WORK", true),
        ("START TRANSACTION READ ONLY", true),
        ("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", true),
        ("COMMIT", false),
        ("COMMIT WORK AND CHAIN NO RELEASE", true),
        ("ROLLBACK AND CHAIN", true),
        ("ROLLBACK WORK AND NO CHAIN", false),
        ("ROLLBACK TO s", true),
    ];
    for flavor in Flavor::BOTH {
        let world = World::start(flavor).await;
        for (sql, expected) in cases {
            let mut client = world.connect().await;
            client.run("BEGIN").await.unwrap();
            client.run("SAVEPOINT s").await.unwrap();
            let status = client.run(sql).await.unwrap().status().unwrap();
            assert_ne!(status & AUTOCOMMIT, 0, "{flavor:?} {sql}");
            assert_eq!(status & IN_TRANSACTION != 0, expected, "{flavor:?} {sql}");
            let told = match world.facts(sql).transaction {
                Transaction::Begin { .. } | Transaction::RollbackToSavepoint => true,
                Transaction::Commit(how) | Transaction::Rollback(how) => how.chain == Some(true),
                other => panic!("{sql}: {other:?}"),
            };
            assert_eq!(told, expected, "{flavor:?} {sql}");
        }
    }
}
