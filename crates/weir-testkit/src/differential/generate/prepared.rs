//! Prepared statements of the binary protocol, and those of SQL.

use crate::client::command::{self, Param};

use super::{Action, Class, Session, Text};

/// A statement and its number of parameters.
const STATEMENTS: &[(&str, usize)] = &[
    ("SELECT id, v, n FROM t WHERE id > ? ORDER BY id LIMIT 5", 1),
    ("SELECT ?, ? AS b, CONCAT(?, '!')", 3),
    ("SELECT * FROM types WHERE id <= ? ORDER BY id", 1),
    ("SELECT * FROM types ORDER BY id", 0),
    ("INSERT INTO t (v, n) VALUES (?, ?)", 2),
    ("UPDATE t SET v = ? WHERE id = ?", 2),
    ("DELETE FROM t WHERE id = ? AND v = ?", 2),
    ("REPLACE INTO k VALUES (?, ?)", 2),
    ("INSERT INTO k VALUES (?, ?)", 2),
    ("CALL pr_multi(?)", 1),
    ("CALL pr_out(?, ?, ?)", 3),
    ("CALL pr_err()", 0),
    ("SET @x = ?, @y = ?", 2),
    ("SELECT @x, @y, ? + 1", 1),
    ("SHOW WARNINGS", 0),
    ("BEGIN", 0),
    ("COMMIT", 0),
    ("SELECT 1/0, CAST(? AS SIGNED)", 1),
    ("SELECT a.d + 10 * b.d AS n FROM dig a, dig b ORDER BY n LIMIT ?", 1),
    ("SELECT (SELECT 1 FROM dig WHERE d >= ?)", 1),
    ("DO ?", 1),
    ("SELECT COUNT(*) FROM t WHERE v IN (?, ?, ?)", 3),
    ("USE nowhere", 0),
    ("SELECT 1; SELECT 2", 0),
    ("SELEC ?", 1),
    ("SELECT * FROM missing WHERE x = ?", 1),
    ("", 0),
];

pub(super) fn prepared(s: &mut Session) {
    s.class(Class::Prepared);
    match s.rng.below(8) {
        0 => cursor(s),
        1 => long_data(s),
        2 => altered(s),
        3 if s.bulk => bulk(s),
        _ => executions(s),
    }
}

fn new_slot(s: &mut Session) -> usize {
    s.slots += 1;
    s.slots
}

fn param(s: &mut Session) -> Param {
    match s.rng.below(10) {
        0 => Param::Null,
        1..=3 => Param::Int(s.small()),
        4 => Param::UInt(s.rng.bits() >> 1),
        5 => Param::Double(s.small() as f64 / 4.0),
        6 => Param::Text(s.word()),
        7 => Param::Bytes(s.rng.text(20)),
        8 => Param::DateTime(2024, 2, 29, 23, 59, 58, 123_456),
        _ => Param::Time(s.rng.one_in(2), 3, 4, 5, 6),
    }
}

fn params(s: &mut Session, count: usize) -> Vec<Param> {
    (0..count).map(|_| param(s)).collect()
}

fn executions(s: &mut Session) {
    let (sql, count) = STATEMENTS[s.rng.below(STATEMENTS.len())];
    let slot = new_slot(s);
    s.act(Action::Prepare { slot, sql: sql.into() });
    let mut last = params(s, count);
    s.act(Action::Execute { slot, params: last.clone(), flags: 0, types: true });
    for _ in 0..s.rng.below(4) {
        s.stray();
        match s.rng.below(6) {
            // Types stay as they were when only the values change.
            0 => s.act(Action::Execute { slot, params: last.clone(), flags: 0, types: false }),
            1 => s.act(Action::Reset { slot }),
            2 => {
                // Left out values: the body is cut short.
                s.act(Action::Execute { slot, params: Vec::new(), flags: 0, types: true });
            }
            _ => {
                last = params(s, count);
                s.act(Action::Execute { slot, params: last.clone(), flags: 0, types: true });
            }
        }
    }
    if s.rng.one_in(6) {
        // MariaDB's id -1 means the statement prepared last; MySQL knows no such statement.
        let id = u32::MAX.to_le_bytes();
        s.act(Action::Command { code: command::STMT_EXECUTE, body: [&id[..], &[0, 1, 0, 0, 0]].concat() });
    }
    if !s.rng.one_in(5) {
        s.act(Action::Close { slot });
    }
    if s.rng.one_in(5) {
        s.act(Action::Execute { slot, params: last, flags: 0, types: true });
        s.act(Action::Close { slot });
    }
}

fn cursor(s: &mut Session) {
    let slot = new_slot(s);
    let (sql, count) = *[
        ("SELECT a.d + 10 * b.d AS n, REPEAT('r', a.d) FROM dig a, dig b WHERE a.d > ? ORDER BY n", 1),
        ("SELECT * FROM types ORDER BY id", 0),
        ("SELECT id, v FROM t WHERE id < ? ORDER BY id", 1),
        ("UPDATE t SET n = 0 WHERE id = ?", 1),
        ("CALL pr_multi(?)", 1),
    ]
    .get(s.rng.below(5))
    .unwrap_or(&("SELECT 1", 0));
    s.act(Action::Prepare { slot, sql: sql.into() });
    let params = vec![Param::Int(s.rng.between(0, 8)); count];
    s.act(Action::Execute { slot, params: params.clone(), flags: command::CURSOR_READ_ONLY, types: true });
    for _ in 0..1 + s.rng.below(4) {
        let rows = s.rng.between(1, 40) as u32;
        s.act(Action::Fetch { slot, rows });
        s.stray();
    }
    match s.rng.below(4) {
        0 => s.act(Action::Reset { slot }),
        1 => {
            // Once a statement has had a cursor, MySQL 9.7 answers its execution without one by the columns and
            // an OK packet, which no client can read.
            let flags = if s.maria() { 0 } else { command::CURSOR_READ_ONLY };
            s.act(Action::Execute { slot, params, flags, types: true });
        }
        2 => s.q("COMMIT"),
        _ => {}
    }
    s.act(Action::Fetch { slot, rows: 1000 });
    s.act(Action::Close { slot });
    s.act(Action::Fetch { slot, rows: 1 });
}

fn long_data(s: &mut Session) {
    let slot = new_slot(s);
    s.act(Action::Prepare { slot, sql: "SELECT LENGTH(?), MD5(?), ?".into() });
    for param in 0..2 {
        for _ in 0..s.rng.below(3) {
            let most = if s.rng.one_in(6) { 200_000 } else { 3_000 };
            let fill = (s.rng.bits(), s.rng.below(most));
            s.act(Action::LongData { slot, param, data: Text { fill, ..Text::default() } });
        }
    }
    if s.rng.one_in(4) {
        // No such parameter: the error shows at the execution.
        s.act(Action::LongData { slot, param: 9, data: "x".into() });
    }
    if s.rng.one_in(4) {
        s.act(Action::Reset { slot });
    }
    s.stray();
    let third = param(s);
    let params = vec![Param::LongData, Param::Bytes(b"short".to_vec()), third];
    s.act(Action::Execute { slot, params: params.clone(), flags: 0, types: true });
    s.act(Action::Execute { slot, params, flags: 0, types: false });
    s.act(Action::Close { slot });
    if s.rng.one_in(3) {
        s.act(Action::LongData { slot, param: 0, data: "for a statement that is gone".into() });
        s.act(Action::Close { slot });
    }
}

/// The table changes under a prepared statement.
fn altered(s: &mut Session) {
    let (slot, n) = (new_slot(s), s.next());
    s.q(format!("CREATE TABLE al{n} (a INT, b VARCHAR(10))"));
    s.q(format!("INSERT INTO al{n} VALUES (1, 'x'), (2, 'y')"));
    s.act(Action::Prepare { slot, sql: format!("SELECT * FROM al{n} WHERE a >= ? ORDER BY a").into() });
    s.act(Action::Execute { slot, params: vec![Param::Int(0)], flags: 0, types: true });
    s.q(format!("ALTER TABLE al{n} ADD COLUMN c DOUBLE DEFAULT 1.5"));
    s.act(Action::Execute { slot, params: vec![Param::Int(1)], flags: 0, types: false });
    s.q(format!("DROP TABLE al{n}"));
    s.act(Action::Execute { slot, params: vec![Param::Int(1)], flags: 0, types: false });
    s.act(Action::Close { slot });
}

fn bulk(s: &mut Session) {
    let slot = new_slot(s);
    let sql = *["INSERT INTO k VALUES (?, ?)", "INSERT INTO t (n, v) VALUES (?, ?)", "SELECT ?, ?"]
        .get(s.rng.below(3))
        .unwrap_or(&"DO 1");
    s.act(Action::Prepare { slot, sql: sql.into() });
    let rows = (0..1 + s.rng.below(20)).map(|_| (s.rng.between(100, 400) as i32, s.word())).collect();
    s.act(Action::Bulk { slot, rows });
    s.q("SELECT COUNT(*), MAX(id) FROM k");
    s.act(Action::Close { slot });
}

pub(super) fn sql_prepare(s: &mut Session) {
    s.class(Class::SqlPrepare);
    let n = s.small();
    s.one_of(&[
        "PREPARE st FROM 'SELECT id, v FROM t WHERE id > ? ORDER BY id LIMIT 3'",
        "PREPARE st FROM 'SET @hidden = ?'",
        "PREPARE st FROM 'INSERT INTO t (n) VALUES (?)'",
        "PREPARE st FROM 'SELECT ? + @x'",
        "PREPARE st FROM 'COMMIT'",
        "PREPARE st FROM 'SELECT 1; SELECT 2'",
        "PREPARE st FROM 'SELECT FROM'",
        "PREPARE st FROM @y",
        "PREPARE st FROM 'CALL pr_multi(?)'",
    ]);
    s.q(format!("SET @arg = {n}"));
    s.stray();
    s.one_of(&[
        "EXECUTE st USING @arg",
        "EXECUTE st USING @arg",
        "EXECUTE st USING @arg, @arg",
        "EXECUTE st",
    ]);
    s.q("SELECT @hidden, ROW_COUNT()");
    s.one_of(&["DEALLOCATE PREPARE st", "DROP PREPARE st", "EXECUTE st USING @arg"]);
    if s.maria() {
        s.q("EXECUTE IMMEDIATE 'SELECT ? + 5' USING @arg");
    }
    s.one_of(&["EXECUTE st USING @arg", "DEALLOCATE PREPARE st", "EXECUTE never_prepared"]);
}
