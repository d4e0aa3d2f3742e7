//! Several results, errors, warnings, counts, column types.

use crate::client::command;

use super::{Action, Class, Session};

pub(super) fn multi_results(s: &mut Session) {
    s.class(Class::MultiResults);
    let n = s.rng.between(0, 5);
    match s.rng.below(12) {
        0 => s.q(format!("SELECT {n}; SELECT id, v FROM t ORDER BY id LIMIT 2; SELECT 'three'")),
        1 => s.q("INSERT INTO t (v) VALUES ('m1'), ('m2'); SELECT LAST_INSERT_ID(), ROW_COUNT(); UPDATE t SET n = 1 WHERE id = 1"),
        2 => s.q("SELECT 1; SELECT * FROM not_there; SELECT 3"),
        3 => s.q(format!("CALL pr_multi({n})")),
        4 => s.q(format!("CALL pr_multi({n}); SELECT 'after the call'; CALL pr_none()")),
        5 => s.q("CALL pr_err()"),
        6 => s.q("CALL pr_warn(); SHOW WARNINGS"),
        7 => s.q("SET @x = 7; SELECT @x; BEGIN; SELECT 2; COMMIT"),
        8 => s.q("SELECT 1;"),
        9 => s.q("SELECT 1; ; SELECT 2"),
        10 => s.q("DROP TABLE IF EXISTS nope; CREATE TEMPORARY TABLE IF NOT EXISTS mt (x INT); DROP TEMPORARY TABLE mt"),
        _ => {
            // MYSQL_OPTION_MULTI_STATEMENTS_OFF is 1, ..._ON is 0.
            s.act(Action::Command { code: command::SET_OPTION, body: vec![1, 0] });
            s.q("SELECT 'one'; SELECT 'two'");
            s.act(Action::Command { code: command::SET_OPTION, body: vec![0, 0] });
            s.q("SELECT 'one'; SELECT 'two'");
        }
    }
    if s.rng.one_in(4) {
        s.act(Action::Pipeline(vec![
            "SELECT 'first in line'".into(),
            "SET @x = 'set in line'".into(),
            "SELECT * FROM not_there".into(),
            "SELECT @x, id FROM t ORDER BY id LIMIT 2".into(),
        ]));
    }
}

pub(super) fn errors(s: &mut Session) {
    s.class(Class::Errors);
    let word = s.word();
    for _ in 0..1 + s.rng.below(3) {
        match s.rng.below(6) {
            0 => s.q(format!("SELECT {word} FROM t")),
            1 => s.q(format!("INSERT INTO {word} VALUES (1)")),
            2 => s.q(format!("SELEKT '{word}'")),
            _ => s.one_of(&[
                "INSERT INTO k VALUES (1, 'again')",
                "INSERT INTO k VALUES (900, 'a')",
                "INSERT INTO k (id) VALUES (901)",
                "INSERT INTO k VALUES (1)",
                "",
                ";",
                "-- only a comment",
                "SELECT 'unterminated",
                "SELECT (SELECT d FROM dig)",
                // The rows before the third come, then the error.
                "SELECT id, (SELECT x.id FROM t x WHERE x.id <= y.id AND x.id >= y.id - (y.id > 2)) FROM t y ORDER BY id",
                "SELECT d, EXP(d * 200) FROM dig ORDER BY d",
                "SELECT ~0 + 1",
                "DROP TABLE not_there",
                "CREATE TABLE t (x INT)",
                "SELECT fn()",
                "CALL no_such_procedure(1)",
                "SELECT * FROM t WHERE id = (SELECT id, v FROM t LIMIT 1)",
                "ALTER TABLE t ADD COLUMN id INT",
                "SIGNAL SQLSTATE '02000' SET MESSAGE_TEXT = 'not found, on purpose'",
                "SELECT JSON_EXTRACT('{bad', '$')",
                "GRANT NONSENSE ON t TO nobody",
                "KILL 'not a number'",
                "SELECT COUNT(*) FROM t GROUP BY GROUPING_NONSENSE(id)",
                "ROLLBACK TO SAVEPOINT never_set",
                "SELECT BENCHMARK('x', ",
            ]),
        }
        s.stray();
    }
}

pub(super) fn warnings(s: &mut Session) {
    s.class(Class::Warnings);
    s.one_of(&[
        "SELECT CAST('12abc' AS SIGNED), 1/0",
        "DROP TABLE IF EXISTS not_there_1, not_there_2",
        "INSERT IGNORE INTO k VALUES (1, 'dup'), (2, 'far-too-long-for-twenty-characters')",
        "SELECT d + 'x' FROM dig",
        "CALL pr_warn()",
        "SELECT CONVERT('x', UNSIGNED INTEGER), LOG(-1)",
        "UPDATE t SET n = 'abc' WHERE id = -1",
        "SELECT STR_TO_DATE('nonsense', '%Y')",
        "SIGNAL SQLSTATE '01234' SET MESSAGE_TEXT = 'mine'",
        "SELECT * FROM not_there",
        "CREATE TABLE IF NOT EXISTS t (x INT)",
    ]);
    for _ in 0..1 + s.rng.below(3) {
        s.one_of(&[
            "SHOW WARNINGS",
            "SHOW ERRORS",
            "SHOW WARNINGS LIMIT 1",
            "SHOW COUNT(*) WARNINGS",
            "SHOW COUNT(*) ERRORS",
            "SELECT @@warning_count, @@error_count",
            "GET DIAGNOSTICS @n = NUMBER",
            "GET DIAGNOSTICS CONDITION 1 @c = MYSQL_ERRNO, @m = MESSAGE_TEXT",
            "SELECT @n, @c, @m",
            "SELECT 1",
        ]);
    }
}

pub(super) fn last_ids(s: &mut Session) {
    s.class(Class::LastIds);
    let (n, word) = (s.rng.between(1, 12), s.word());
    match s.rng.below(9) {
        0 => s.q(format!("INSERT INTO t (v) VALUES ('{word}'), ('{word}')")),
        1 => {
            s.q(format!("INSERT INTO t (id, v) VALUES ({n}, '{word}') ON DUPLICATE KEY UPDATE v = '{word}'"))
        }
        2 => s.q(format!("REPLACE INTO t (id, v) VALUES ({n}, '{word}')")),
        3 => s.q("INSERT INTO t (v, n) SELECT v, n FROM t ORDER BY id LIMIT 3"),
        4 => s.q(format!("UPDATE t SET n = LAST_INSERT_ID({n} * 100) WHERE id = {n}")),
        5 => s.q(format!("SELECT LAST_INSERT_ID({n})")),
        6 => s.q("INSERT IGNORE INTO k VALUES (1, 'a')"),
        7 => s.q(format!("DELETE FROM t WHERE id > 40 + {n}")),
        _ => {
            s.q(format!("SELECT SQL_CALC_FOUND_ROWS id FROM t ORDER BY id LIMIT {n}"));
            s.q("SELECT FOUND_ROWS()");
        }
    }
    s.one_of(&[
        "SELECT LAST_INSERT_ID(), ROW_COUNT()",
        "SELECT ROW_COUNT()",
        "SELECT @@identity, @@last_insert_id",
        "SELECT LAST_INSERT_ID() + 0 AS l",
    ]);
    if s.rng.one_in(3) {
        s.stray();
        s.q("SELECT LAST_INSERT_ID(), @@insert_id");
    }
}

pub(super) fn types(s: &mut Session) {
    s.class(Class::Types);
    s.one_of(&[
        "SELECT * FROM types ORDER BY id",
        "SELECT id, ti, tu, si, mi, bi, bu FROM types ORDER BY id DESC",
        "SELECT f, d, de, f + d, de * 2, bt + 0 FROM types ORDER BY id",
        "SELECT dt, tm, dtm, ts, y, ADDTIME(tm, '1:00:00') FROM types ORDER BY id",
        "SELECT c, vc, bn, vb, bl, tx, e, st, e + 0, st + 0 FROM types ORDER BY id",
        "SELECT j, JSON_EXTRACT(j, '$.a') FROM types ORDER BY id",
        "SELECT NULL, TRUE, 1.10, 1e100, -0.0, 'x', x'00ff', b'101', DATE'2024-01-01', TIME'10:00:00'",
        "SELECT * FROM vw ORDER BY id LIMIT 4",
        "SELECT t.*, k.* FROM t LEFT JOIN k ON k.id = t.id ORDER BY t.id LIMIT 4",
        "SELECT COUNT(*), SUM(n), AVG(n), MIN(v), MAX(v), GROUP_CONCAT(v ORDER BY id) FROM t",
        "SELECT id AS `a b`, v AS 'quoted', n `\u{e9}` FROM t ORDER BY id LIMIT 1",
        "SELECT 1 UNION ALL SELECT 'x' UNION ALL SELECT NULL",
        "SELECT ST_AsText(ST_GeomFromText('POINT(1 2)')), ST_GeomFromText('POINT(1 2)')",
        "VALUES ROW(1, 2), ROW(3, 4)",
        "WITH RECURSIVE c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c WHERE n < 5) SELECT * FROM c",
        "TABLE dig",
        "SELECT * FROM t WHERE 1 = 0",
        "SELECT z, zz FROM (SELECT 1 AS z, 2 AS zz) AS derived",
    ]);
    s.stray();
}
