//! USE, COM_INIT_DB, DDL; temporary tables.

use crate::client::command;

use super::{Action, Class, Session};

pub(super) fn schema_changes(s: &mut Session) {
    s.class(Class::SchemaChanges);
    let (a, b, n) = (s.a.clone(), s.b.clone(), s.next());
    let use_it = |s: &mut Session, schema: &str| {
        if s.rng.one_in(2) {
            s.q(format!("USE {schema}"));
        } else {
            s.act(Action::Command { code: command::INIT_DB, body: schema.as_bytes().to_vec() });
        }
    };
    match s.rng.below(7) {
        0 => {
            use_it(s, &b);
            s.stray();
            s.q("SELECT DATABASE(), SCHEMA(), COUNT(*) FROM t");
            s.q(format!("INSERT INTO t (v) SELECT v FROM {a}.t ORDER BY id LIMIT 1"));
            use_it(s, &a);
        }
        1 => {
            use_it(s, "no_such_schema_at_all");
            s.q("SELECT DATABASE()");
        }
        2 => {
            s.q(format!("CREATE TABLE d{n} (id INT PRIMARY KEY, v VARCHAR(30) DEFAULT 'x')"));
            s.stray();
            s.q(format!("INSERT INTO d{n} (id) VALUES (1), (2)"));
            s.q(format!("ALTER TABLE d{n} ADD COLUMN w INT NOT NULL DEFAULT 7, ADD KEY (w)"));
            s.q(format!("SELECT * FROM d{n} ORDER BY id"));
            s.q(format!("RENAME TABLE d{n} TO e{n}"));
            s.q(format!("SELECT * FROM d{n}"));
            s.q(format!("DROP TABLE e{n}"));
        }
        3 => {
            s.q(format!("CREATE DATABASE IF NOT EXISTS {b}"));
            s.q(format!("CREATE TABLE {b}.x{n} LIKE t"));
            s.q(format!("CREATE TABLE IF NOT EXISTS {b}.x{n} (y INT)"));
            s.q(format!("DROP TABLE IF EXISTS {b}.x{n}, {b}.never_there"));
        }
        4 => {
            s.q(format!("CREATE TABLE c{n} AS SELECT id, v FROM t ORDER BY id LIMIT 3"));
            s.q(format!("TRUNCATE TABLE c{n}"));
            s.q(format!("DROP TABLE c{n}"));
        }
        5 => {
            // The schema a session is in goes away under it.
            s.q(format!("CREATE DATABASE {a}z"));
            use_it(s, &format!("{a}z"));
            s.q("CREATE TABLE t (z INT)");
            s.q(format!("DROP DATABASE {a}z"));
            s.q("SELECT DATABASE()");
            s.q("SELECT * FROM t");
            use_it(s, &a);
        }
        _ => {
            s.q(format!("CREATE OR REPLACE VIEW w{n} AS SELECT id, UPPER(v) AS u FROM t"));
            s.q(format!("SELECT * FROM w{n} ORDER BY id LIMIT 2"));
            s.q(format!("DROP VIEW w{n}"));
        }
    }
}

pub(super) fn temporary_tables(s: &mut Session) {
    s.class(Class::TemporaryTables);
    let n = s.next();
    match s.rng.below(5) {
        0 => {
            s.q(format!("CREATE TEMPORARY TABLE tmp{n} (id INT AUTO_INCREMENT PRIMARY KEY, v TEXT)"));
            s.q(format!("INSERT INTO tmp{n} (v) VALUES ('a'), ('b')"));
            s.stray();
            s.q(format!("SELECT * FROM tmp{n} ORDER BY id"));
            s.q(format!("ALTER TABLE tmp{n} ADD COLUMN w INT"));
            s.q(format!("SELECT * FROM tmp{n} ORDER BY id"));
            s.q(format!("DROP TEMPORARY TABLE tmp{n}"));
        }
        1 => {
            s.q("CREATE TEMPORARY TABLE t (only_here INT)");
            s.q("INSERT INTO t VALUES (1)");
            s.q("SELECT * FROM t");
            s.q("DROP TEMPORARY TABLE t");
            s.q("SELECT id FROM t ORDER BY id LIMIT 1");
        }
        2 => {
            s.q(format!("CREATE TEMPORARY TABLE tas{n} AS SELECT id, v FROM t ORDER BY id LIMIT 4"));
            s.stray();
            s.q(format!("SELECT COUNT(*), MAX(id) FROM tas{n}"));
            s.q(format!("TRUNCATE tas{n}"));
            s.q(format!("DROP TABLE tas{n}"));
        }
        3 => {
            s.q("CALL pr_tmp()");
            s.stray();
            s.q("SELECT COUNT(*) > 0 FROM made");
            s.q("DROP TEMPORARY TABLE IF EXISTS made");
            s.q("SELECT * FROM made");
        }
        _ => {
            s.q(format!("PREPARE mk FROM 'CREATE TEMPORARY TABLE ps{n} (x INT) SELECT 5 AS x'"));
            s.q("EXECUTE mk");
            s.q(format!("SELECT * FROM ps{n}"));
            s.q(format!("DROP TEMPORARY TABLE ps{n}"));
            s.q(format!("DROP TEMPORARY TABLE ps{n}"));
        }
    }
}
