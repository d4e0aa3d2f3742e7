use super::*;
use weir_model::ServerFamily;

fn keep(texts: &mut Texts, sql: &str, mode: LexMode) -> bool {
    let known = texts.find(sql.as_bytes(), mode).is_some();
    if !known {
        let facts = Facts::of(sql.as_bytes(), mode, true);
        let doing = Doing::of_text(sql.as_bytes(), facts.clone());
        texts.keep(&facts, &doing, mode);
    }
    known
}

#[test]
fn what_differs_in_numbers_alone_is_read_once() {
    let mode = LexMode::new(ServerFamily::MariaDb, 101_119);
    let mut texts = Texts::new(7);
    assert!(!keep(&mut texts, "SELECT c FROM sbtest1 WHERE id=5023", mode));
    assert!(keep(&mut texts, "SELECT c FROM sbtest1 WHERE id=1", mode));
    assert!(!keep(&mut texts, "SELECT c FROM sbtest2 WHERE id=1", mode));
    assert!(!keep(&mut texts, "SELECT c FROM sbtest1 WHERE id=1", LexMode { ansi_quotes: true, ..mode }));
    let text = texts.find(b"SELECT c FROM sbtest2 WHERE id=9", mode).unwrap();
    assert_eq!(text.kind, StatementKind::Read);
}

#[test]
fn what_numbers_may_change_is_read_each_time() {
    let mode = LexMode::new(ServerFamily::MariaDb, 101_119);
    let mut texts = Texts::new(7);
    for sql in [
        "SET @a = 1",
        "KILL 5",
        "SELECT GET_LOCK('a', 1)",
        "BEGIN",
        "SELECT /*!100000 SQL_CALC_FOUND_ROWS */ 1",
        "LOAD DATA LOCAL INFILE '1' INTO TABLE t",
        "CALL p(1)",
    ] {
        assert!(!keep(&mut texts, sql, mode), "{sql}");
        assert!(!keep(&mut texts, sql, mode), "{sql}");
    }
}
