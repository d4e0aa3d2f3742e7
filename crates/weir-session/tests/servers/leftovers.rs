use weir_session::{FoundRows, InsertId, Leftovers, Next, Outcome, PinReason, Place, Reads, Statement};
use weir_testkit::client::command;
use weir_testkit::{Flavor, Server};

use crate::peer::{Peer, borrow, outcome};

const SELECT: Statement<'static> = Statement { found_rows: FoundRows::RowsSent, ..Statement::PLAIN };
const CHANGE: Statement<'static> = Statement { insert_id: InsertId::Insert, ..Statement::PLAIN };
const WRITE: Statement<'static> =
    Statement { insert_id: InsertId::Insert, found_rows: FoundRows::Kept, ..Statement::PLAIN };

/// Leftovers of these values.
fn leftovers(insert_id: u64, found_rows: u64, row_count: i64) -> Leftovers {
    let mut left = Leftovers::FRESH;
    left.after(&Statement { insert_id: InsertId::Unknown, ..SELECT }, rows(found_rows));
    let text = insert_id.to_string();
    assert!(left.read_back(&[Some(text.as_bytes()), Some(b"0")]));
    if row_count >= 0 {
        let affected_rows = row_count.unsigned_abs();
        left.after(&WRITE, Outcome::Ok { status: 2, affected_rows, insert_id: 0, warnings: 0 });
    }
    left
}

fn rows(rows: u64) -> Outcome {
    Outcome::Rows { status: 2, rows, warnings: 0 }
}

#[tokio::test]
async fn p26_leftovers_are_made_anew() {
    let parts = [
        (Reads::LAST_INSERT_ID, "LAST_INSERT_ID()"),
        (Reads::ROW_COUNT, "ROW_COUNT()"),
        (Reads::FOUND_ROWS, "FOUND_ROWS()"),
    ];
    for flavor in Flavor::BOTH {
        let server = Server::start(flavor).unwrap();
        let mut b = Peer::connect(&server, &[]).await;
        let mut made = 0;
        for (id, found, count, bits) in every_case() {
            let chosen = parts.iter().enumerate().filter(|(i, _)| bits >> i & 1 != 0).map(|(_, part)| *part);
            let reads = chosen.clone().fold(Reads::NONE, |all, (part, _)| all.union(part));
            let clean = bits & 8 != 0;
            let reads = if clean { reads.union(Reads::DIAGNOSTICS) } else { reads };
            // What another session left there.
            for sql in ["SET @@SESSION.last_insert_id=999", "SELECT 1 UNION ALL SELECT 2", "SELECT 1+'x'"] {
                b.client.run(sql).await.unwrap();
            }
            let statement = Statement { reads, ..Statement::PLAIN };
            let left = leftovers(id, found, count);
            let Next::Anywhere(steps) = left.next(&statement, Place::Other { insert_id: None }, b.server)
            else {
                continue;
            };
            made += 1;
            for step in &steps {
                b.step(step).await;
            }
            let case = format!("{flavor:?} {id} {found} {count} {bits:04b}: {steps:?}");
            if clean {
                // It leaves everything else as it was, but ROW_COUNT(), which is looked at without it.
                let warnings = b.rows("SHOW WARNINGS").await;
                assert!(warnings.is_empty(), "{case}: {warnings:?}");
            }
            let names: Vec<_> =
                chosen.clone().map(|(_, name)| name).filter(|n| !clean || *n != "ROW_COUNT()").collect();
            if names.is_empty() {
                continue;
            }
            let row = b.rows(&format!("SELECT {}", names.join(","))).await.remove(0);
            for (name, value) in names.iter().zip(row) {
                let value = String::from_utf8(value.unwrap()).unwrap();
                let expected = match *name {
                    "LAST_INSERT_ID()" => id.to_string(),
                    "ROW_COUNT()" => count.to_string(),
                    _ => found.to_string(),
                };
                assert_eq!(value, expected, "{name} in {case}");
            }
        }
        assert!(made > 500, "{made}");
    }
}

/// Insert ids, FOUND_ROWS(), ROW_COUNT(), and what of them is read.
fn every_case() -> impl Iterator<Item = (u64, u64, i64, u8)> {
    let ids = [0, 42, u64::MAX];
    let founds = [0, 1, 2, 1000, 100_000];
    ids.into_iter().flat_map(move |id| {
        founds.into_iter().flat_map(move |found| {
            (-1..=1).flat_map(move |count| (0..16).map(move |bits| (id, found, count, bits)))
        })
    })
}

#[tokio::test]
async fn p26_what_is_believed_is_what_the_server_says() {
    for flavor in Flavor::BOTH {
        let server = Server::start(flavor).unwrap();
        let setup = [
            "CREATE DATABASE s",
            "USE s",
            "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v INT UNIQUE)",
        ];
        let mut a = Peer::connect(&server, &setup).await;
        // The base was read there.
        let mut left = Leftovers::FRESH;
        left.after(&SELECT, rows(1));
        let set = Statement { found_rows: FoundRows::Kept, ..Statement::PLAIN };
        let ddl = set;
        for (sql, statement) in [
            ("SET @x = 1", set),
            ("INSERT INTO t VALUES (500, 1)", WRITE),
            ("INSERT INTO t (v) VALUES (2)", WRITE),
            ("INSERT INTO t (v) VALUES (3), (2)", WRITE),
            ("INSERT IGNORE INTO t (v) VALUES (2)", WRITE),
            ("SELECT * FROM t", SELECT),
            ("UPDATE t SET v = v + 10 WHERE v = 1", CHANGE),
            ("UPDATE t SET v = 99 WHERE v = 98", CHANGE),
            ("SELECT * FROM t WHERE v = 1", SELECT),
            ("SELECT id FROM t GROUP BY id HAVING id > 1", SELECT),
            ("CREATE TABLE IF NOT EXISTS t (i INT)", ddl),
            ("BEGIN", set),
            ("DELETE FROM t WHERE v = 11", CHANGE),
            ("COMMIT", set),
            ("SELECT * FROM t LIMIT 1, 1", Statement::PLAIN),
            ("SELECT * FROM nowhere", SELECT),
            ("SELEC", Statement { insert_id: InsertId::Unknown, ..Statement::PLAIN }),
            ("SELECT LAST_INSERT_ID(7)", Statement { insert_id: InsertId::Unknown, ..SELECT }),
        ] {
            let response = a.client.query(sql).await.unwrap();
            left.after(&statement, outcome(&response));
            let row = a.rows(left.read_back_text()).await.remove(0);
            let before = (left.insert_id(), left.owes());
            assert!(left.read_back(&borrow(&row)));
            let truth: Vec<u64> = row
                .iter()
                .map(|v| std::str::from_utf8(v.as_deref().unwrap()).unwrap().parse().unwrap())
                .collect();
            assert_eq!(
                left.insert_id(),
                Some(truth[0]),
                "{flavor:?} LAST_INSERT_ID() after {sql}: {before:?}"
            );
            assert_eq!(left.found_rows(), Some(truth[1]), "{flavor:?} FOUND_ROWS() after {sql}: {before:?}");
            // Reading them has changed FOUND_ROWS() and the diagnostics of the connection.
            left.after(&Statement { found_rows: FoundRows::Kept, ..Statement::PLAIN }, rows(1));
            left.after(&SELECT, rows(1));
        }
    }
}

/// What a fresh and a reset connection say, and which commands leave the leftovers alone.
#[tokio::test]
async fn fresh_and_reset_sessions_and_commands_without_a_statement() {
    for flavor in Flavor::BOTH {
        let server = Server::start(flavor).unwrap();
        let options = weir_testkit::client::ConnectOptions::tcp(server.addr(), "root", "");
        let mut client = options.connect().await.unwrap();
        let sql = "SELECT CONCAT_WS(' ', LAST_INSERT_ID(), ROW_COUNT(), FOUND_ROWS())";
        assert_eq!(client.scalar(sql).await.unwrap().as_deref(), Some("0 0 0"), "{flavor:?}, fresh");
        let mut peer = Peer::connect(&server, &["SET last_insert_id=5", "SELECT 1"]).await;
        peer.reset().await;
        // FOUND_ROWS() is that of the SELECT before.
        assert_eq!(peer.rows(sql).await[0][0].as_deref(), Some(&b"0 0 1"[..]), "{flavor:?}, reset");
        let mysql = flavor == Flavor::MySql;
        for (code, body) in COMMANDS {
            let mut left = Leftovers::FRESH;
            peer.client.run("SET last_insert_id=9").await.unwrap();
            peer.client.run("SELECT 1 UNION SELECT 2 UNION SELECT 3").await.unwrap();
            peer.client.run("CREATE TEMPORARY TABLE IF NOT EXISTS mysql.temporary (i INT)").await.unwrap();
            peer.client.run("INSERT INTO mysql.temporary SELECT 1").await.unwrap();
            left.after(&Statement { insert_id: InsertId::Unknown, ..Statement::PLAIN }, INSERTED);
            assert!(left.read_back(&[Some(b"9"), Some(if mysql { b"1" } else { b"0" })]));
            let response = peer.client.command(code, body).await.unwrap();
            left.after_command(code, response.err().is_none(), peer.server);
            let seen = peer.rows(sql).await.remove(0).remove(0).unwrap();
            let expected = values(&left);
            assert_eq!(String::from_utf8(seen).unwrap(), expected, "{flavor:?}, command {code:#x}");
            peer.client.run("SELECT 1+'x' FROM (SELECT 1) t").await.unwrap();
            left.after(&SELECT, Outcome::Rows { status: 2, rows: 1, warnings: 1 });
            let response = peer.client.command(code, body).await.unwrap();
            left.after_command(code, response.err().is_none(), peer.server);
            let warnings = !peer.rows("SHOW WARNINGS").await.is_empty();
            let held = left.holds(peer.server).contains(PinReason::Warnings);
            assert_eq!(held, warnings, "{flavor:?}, warnings after command {code:#x}");
        }
    }
}

const INSERTED: Outcome = Outcome::Ok { status: 2, affected_rows: 1, insert_id: 0, warnings: 0 };

/// What is believed, as the server shows it.
fn values(left: &Leftovers) -> String {
    format!("{} {} {}", left.insert_id().unwrap(), left.row_count(), left.found_rows().unwrap())
}

const COMMANDS: [(u8, &[u8]); 9] = [
    (command::STMT_CLOSE, &[9, 0, 0, 0]),
    (command::PING, b""),
    (command::STATISTICS, b""),
    (command::SET_OPTION, &[1, 0]),
    (command::INIT_DB, b"mysql"),
    (command::STMT_PREPARE, b"SELECT 1"),
    (command::STMT_RESET, &[1, 0, 0, 0]),
    (command::RESET_CONNECTION, b""),
    (command::FIELD_LIST, b"user\0"),
];
