//! FOUND_ROWS() and LAST_INSERT_ID() as the text of a statement and its answer tell them, against what the server says.

use weir_model::ServerFamily;
use weir_session::{Leftovers, Outcome, with_statement};
use weir_sql::{Facts, LexMode};
use weir_testkit::client::Response;
use weir_testkit::client::command::{self, Execute};
use weir_testkit::{Flavor, Server};

use crate::peer::{Peer, borrow, outcome};

/// Some are for one of the servers; the other answers with an error, which leaves something behind too.
const STATEMENTS: &str = include_str!("found.txt");

const SETUP: [&str; 12] = [
    "CREATE DATABASE d",
    "USE d",
    "CREATE TABLE t (id INT PRIMARY KEY, v INT, s VARCHAR(9), KEY (v))",
    "CREATE TABLE e (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE w (id INT AUTO_INCREMENT PRIMARY KEY, v INT)",
    "CREATE TABLE fired (id INT AUTO_INCREMENT PRIMARY KEY, v INT)",
    "INSERT INTO t VALUES (1,1,'a'),(2,1,'b'),(3,2,'c'),(4,3,'d'),(5,3,'e'),(6,3,NULL),(7,NULL,'g')",
    "INSERT INTO w (v) VALUES (1), (2), (3)",
    "CREATE VIEW v AS SELECT * FROM t WHERE v > 1 LIMIT 3",
    "CREATE FUNCTION f() RETURNS INT READS SQL DATA RETURN (SELECT COUNT(*) FROM t)",
    "CREATE TRIGGER g AFTER INSERT ON fired FOR EACH ROW UPDATE w SET v = (SELECT COUNT(*) FROM t)",
    "SET sql_mode = ''",
];

/// What is left before each statement: no statement of the list leaves the same by itself.
const BEFORE: (u64, u64) = (4242, 97);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Text,
    Prepared,
    Cursor,
}

#[tokio::test]
async fn p26_what_the_text_tells_is_what_the_server_says() {
    for flavor in Flavor::BOTH {
        for how in [How::Text, How::Prepared, How::Cursor] {
            let server = Server::start(flavor).unwrap();
            let mut peer = Peer::connect(&server, &SETUP).await;
            let mut told = 0;
            for sql in STATEMENTS.lines() {
                let before = mark(&mut peer).await;
                let Some((response, last)) = run(&mut peer, sql, how).await else { continue };
                let left = after(&peer, before, sql, last);
                let row = peer.rows("SELECT LAST_INSERT_ID(), FOUND_ROWS() LIMIT 1").await.remove(0);
                let mut read = left;
                assert!(read.read_back(&borrow(&row)));
                let case = format!("{flavor:?} {how:?} {sql}: {:?}", response.err());
                let truth: Vec<u64> = row
                    .iter()
                    .map(|v| String::from_utf8(v.clone().unwrap()).unwrap().parse().unwrap())
                    .collect();
                assert_eq!(left.insert_id().unwrap_or(truth[0]), truth[0], "LAST_INSERT_ID() after {case}");
                assert_eq!(left.found_rows().unwrap_or(truth[1]), truth[1], "FOUND_ROWS() after {case}");
                told += usize::from(left.found_rows().is_some());
            }
            let least = if how == How::Cursor { 20 } else { 45 };
            assert!(told >= least, "{flavor:?} {how:?}: only {told} are told");
        }
    }
}

/// Leaves [`BEFORE`] on the connection.
async fn mark(peer: &mut Peer) -> Leftovers {
    let (insert_id, found_rows) = BEFORE;
    let more = found_rows - 1;
    peer.client.run(&format!("SET last_insert_id = {insert_id}")).await.unwrap();
    let sql = format!(
        "SELECT SQL_CALC_FOUND_ROWS 1 FROM JSON_TABLE(CONCAT('[0',REPEAT(',0',{more}),']'),'$[*]' COLUMNS(i FOR ORDINALITY)) j LIMIT 1"
    );
    peer.client.run(&sql).await.unwrap();
    let unknown = Leftovers::FRESH;
    let mut left = after(peer, unknown, "CALL p()", Outcome::Err { code: 1305 });
    assert!(left.read_back(&[Some(b"4242"), Some(b"97")]));
    left
}

/// `None` where the server does not prepare it.
async fn run(peer: &mut Peer, sql: &str, how: How) -> Option<(Response, Outcome)> {
    if how == How::Text {
        let response = peer.client.query(sql).await.unwrap();
        let last = outcome(&response);
        return Some((response, last));
    }
    let id = peer.client.prepare(sql).await.ok()?.id;
    let flags = if how == How::Cursor { command::CURSOR_READ_ONLY } else { 0 };
    let execute = Execute { id, flags, params: &[], types: true, attributes: false };
    let response = peer.client.command(command::STMT_EXECUTE, &execute.body()).await.unwrap();
    let last = outcome(&response);
    Some((response, last))
}

fn after(peer: &Peer, mut left: Leftovers, sql: &str, last: Outcome) -> Leftovers {
    let version = if peer.server.family == ServerFamily::MySql { 90_704 } else { 101_119 };
    let facts = Facts::of(sql.as_bytes(), LexMode::new(peer.server.family, version), false);
    with_statement(&facts, sql.as_bytes(), |statement| left.after(statement, last));
    left
}
