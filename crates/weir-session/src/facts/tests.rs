use weir_model::ServerFamily;
use weir_sql::LexMode;

use super::*;

/// Pins, ends, effects and the rest of a text in short.
fn told(sql: &str) -> String {
    let facts = Facts::of(sql.as_bytes(), LexMode::new(ServerFamily::MySql, 90_704), true);
    with_statement(&facts, sql.as_bytes(), |s| {
        let effects: Vec<_> = s.effects.iter().map(short).collect();
        let mut out = vec![effects.join(" ")];
        if !s.pins.is_empty() {
            out.push(format!("pins {}", s.pins));
        }
        if !s.ends.is_empty() {
            out.push(format!("ends {}", s.ends));
        }
        for (i, name) in Reads::NAMES.iter().enumerate() {
            let all = [Reads::LAST_INSERT_ID, Reads::ROW_COUNT, Reads::FOUND_ROWS, Reads::DIAGNOSTICS];
            if s.reads.contains(all[i]) {
                out.push(format!("reads {name}"));
            }
        }
        if s.insert_id != InsertId::Kept {
            out.push(format!("{:?}", s.insert_id).to_lowercase());
        }
        out.retain(|part| !part.is_empty());
        out.join("; ")
    })
}

fn short(effect: &Effect<'_>) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match effect {
        Effect::Variable { name, value: Assigned::Literal(value) } => {
            format!("{}={}", text(name), text(value))
        }
        Effect::Variable { name, value: Assigned::Computed } => format!("{}=?", text(name)),
        Effect::Names { charset, collation } => {
            let word = |w: &Option<&[u8]>| w.map_or("-".to_owned(), text);
            format!("names {} {}", word(charset), word(collation))
        }
        Effect::UserVariable { name, value } => {
            let value = match value {
                UserAssigned::Number(b) => text(b),
                UserAssigned::Text(b) => format!("'{}'", text(b)),
                UserAssigned::Binary(b) => format!("{b:?}"),
                UserAssigned::Null => "NULL".to_owned(),
                UserAssigned::Computed => "?".to_owned(),
            };
            format!("@{}={value}", text(name))
        }
        Effect::Schema(name) => format!("use {}", text(name)),
        other => format!("{other:?}").to_lowercase(),
    }
}

#[test]
fn texts_become_statements() {
    for (sql, expected) in [
        ("SELECT * FROM t", ""),
        ("SET sql_mode = 'ansi', @@SESSION.autocommit = 0", "sql_mode=ansi autocommit=0"),
        (
            "SET sql_mode = '1', time_zone = DEFAULT, foreign_key_checks = 1+1",
            "sql_mode=? time_zone=? foreign_key_checks=?",
        ),
        ("SET GLOBAL sql_mode = ''", ""),
        ("SET NAMES utf8mb4 COLLATE 'utf8mb4_bin'", "names utf8mb4 utf8mb4_bin"),
        ("SET NAMES DEFAULT", "names - -"),
        ("SET insert_id = 5", "insert_id=5; pins untracked_variable"),
        ("SET last_insert_id = 5", "unknown"),
        (
            "SET @a = 1, @B = 'it''s', @c = x'4142', @d = NULL, @e = true",
            "@a=1 @B='it's' @c=[65, 66] @d=NULL @e=1",
        ),
        ("SET @a = 1 + 1", "@a=?; pins user_variable"),
        ("SET @@transaction_isolation = 'SERIALIZABLE'", "transaction_isolation=?; pins next_transaction"),
        ("SET TRANSACTION READ ONLY", "pins next_transaction"),
        (
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE",
            "transaction_isolation=READ-COMMITTED transaction_read_only=OFF",
        ),
        ("USE shop", "use shop"),
        ("SET ROLE r", "pins role"),
        ("LOCK TABLES t READ", "pins lock_tables"),
        ("UNLOCK TABLES", "ends lock_tables"),
        ("INSERT INTO t VALUES (1)", "insert"),
        ("INSERT INTO t VALUES (1); UPDATE t SET a = 1", "unknown"),
        ("SELECT LAST_INSERT_ID(7)", "reads last_insert_id; unknown"),
        ("CALL p()", "everything; pins procedure; reads row_count; unknown"),
        ("XA START 'x'", "pins xa; unknown"),
        ("XA COMMIT 'x'", "pins xa; ends xa; unknown"),
        ("SELECT FOUND_ROWS(), ROW_COUNT()", "reads row_count; reads found_rows"),
        ("SHOW WARNINGS", "reads diagnostics"),
        ("SELECT CONNECTION_ID()", "pins connection_id"),
        ("CREATE TEMPORARY TABLE t (i INT)", "pins temporary_table"),
        ("DROP TABLE t", ""),
        ("DROP DATABASE d", "schemaunknown"),
        ("/*!50000 drop Schema d*/", "schemaunknown"),
        ("ALTER TABLE my_schema.t ADD c INT", "schemaunknown"),
    ] {
        assert_eq!(told(sql), expected, "{sql}");
    }
}

#[test]
fn p26_what_becomes_of_found_rows_and_last_insert_id() {
    use {FoundRows as F, InsertId as I};
    for (sql, found_rows, insert_id) in [
        ("SELECT c FROM sbtest1 WHERE id=5", F::RowsSent, I::Kept),
        ("SELECT c FROM t ORDER BY c LIMIT 3", F::RowsSent, I::Kept),
        ("SELECT c FROM t WHERE id=5 FOR UPDATE", F::RowsSent, I::Kept),
        ("SELECT @a := id FROM t", F::RowsSent, I::Kept),
        ("SELECT c FROM t LIMIT 3, 3", F::Unknown, I::Kept),
        ("SELECT c FROM t LIMIT 3, 3 FOR UPDATE", F::Unknown, I::Insert),
        ("SELECT SQL_CALC_FOUND_ROWS c FROM t", F::Unknown, I::Kept),
        ("SELECT f()", F::Unknown, I::Unknown),
        ("SET @a = f()", F::Unknown, I::Unknown),
        ("SELECT LAST_INSERT_ID(7)", F::Unknown, I::Unknown),
        ("SELECT 1; SELECT 2", F::Unknown, I::Kept),
        ("SHOW TABLES", F::RowsSent, I::Kept),
        ("SHOW WARNINGS", F::Kept, I::Kept),
        ("SET autocommit = 0", F::Kept, I::Kept),
        ("SET @a = (SELECT 1)", F::Unknown, I::Kept),
        ("BEGIN", F::Kept, I::Kept),
        ("COMMIT", F::Kept, I::Kept),
        ("INSERT INTO t VALUES (1), (2)", F::Kept, I::Insert),
        ("INSERT INTO t VALUES (LAST_INSERT_ID(7))", F::Kept, I::Unknown),
        ("INSERT INTO t SELECT 1", F::Unknown, I::Insert),
        ("UPDATE t SET a = 1", F::Unknown, I::Insert),
        ("DELETE FROM t", F::Unknown, I::Insert),
        ("CREATE TABLE t (i INT)", F::Kept, I::Kept),
        ("ALTER TABLE t ADD COLUMN k INT AUTO_INCREMENT PRIMARY KEY", F::Kept, I::Kept),
        ("CREATE TABLE t (i INT AUTO_INCREMENT PRIMARY KEY) SELECT 1", F::Unknown, I::Insert),
        ("INSERT INTO t VALUES (1); CREATE TABLE u (i INT)", F::Kept, I::Unknown),
        ("CALL p()", F::Unknown, I::Unknown),
        ("LOAD DATA INFILE 'x' INTO TABLE t", F::Unknown, I::Unknown),
        ("SIGNAL SQLSTATE '45000'", F::Unknown, I::Kept),
        ("SELEC", F::Unknown, I::Unknown),
    ] {
        let facts = Facts::of(sql.as_bytes(), LexMode::new(ServerFamily::MySql, 90_704), true);
        let told = with_statement(&facts, sql.as_bytes(), |s| (s.found_rows, s.insert_id));
        assert_eq!(told, (found_rows, insert_id), "{sql}");
    }
}

#[test]
fn hexadecimal_literals_are_read() {
    assert_eq!(hex(b"0x4142"), Some(b"AB".to_vec()));
    assert_eq!(hex(b"0x142"), Some(b"\x01B".to_vec()));
    assert_eq!(hex(b"X''"), Some(Vec::new()));
    assert_eq!(hex(b"_latin1 x'41'"), None);
}
