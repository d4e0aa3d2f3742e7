use super::*;
use crate::analytics::tests::MYSQL;
use weir_sql::Digest;

/// Whatever came before, each text gets the digest that it has by itself.
#[test]
fn each_text_gets_its_own_digest() {
    let texts = [
        "SELECT a FROM t WHERE id = 5 AND n = 'x'",
        "SELECT a FROM t WHERE id = 6 AND n = 'y'",
        "SELECT a FROM t1 WHERE id = 6 AND n = 'y'",
        "SELECT a FROM t WHERE id = 5 ORDER BY 1",
        "SELECT a FROM t WHERE id = 6 ORDER BY 2",
        "SELECT a FROM t WHERE id = 6 ORDER BY 0",
        "SELECT a FROM `0` WHERE id = 6",
        "SELECT a FROM `18` WHERE id = 7",
        "SELECT 1 /* a comment */",
        "SELECT 2 /* a comment */",
    ];
    let mut memo = Memo::new(1);
    for sql in texts.iter().chain(texts.iter().rev()) {
        let expected = Digest::of(sql.as_bytes(), MYSQL);
        let known = memo.find(sql.as_bytes(), MYSQL).unwrap();
        assert_eq!((known.spot.digest.id, &*known.spot.digest.text), (expected.id, &*expected.text), "{sql}");
    }
    let ansi = LexMode { ansi_quotes: true, ..MYSQL };
    let sql = b"SELECT \"a\"";
    memo.find(sql, MYSQL).unwrap();
    assert_eq!(memo.find(sql, ansi).unwrap().spot.digest.id, Digest::of(sql, ansi).id);
}

#[test]
fn one_digest_is_taken_for_texts_that_differ_in_literals() {
    let mut memo = Memo::new(1);
    let mut of = |sql: &str| Arc::clone(&memo.find(sql.as_bytes(), MYSQL).unwrap().spot.digest);
    let first = of("SELECT a FROM t WHERE n = 'x' LIMIT 5");
    assert!(Arc::ptr_eq(&first, &of("SELECT a FROM t WHERE n = 'yy' LIMIT 17")));
    assert!(first.is_cacheable);
    assert!(!of("SELECT a FROM t FOR UPDATE").is_cacheable);
    assert!(!of("DELETE FROM t").is_cacheable);
}

#[test]
fn a_text_that_is_too_long_is_not_kept() {
    let mut memo = Memo::new(1);
    let sql = format!("SELECT '{}'", "x".repeat(KEPT_MAX));
    assert!(memo.find(sql.as_bytes(), MYSQL).is_err());
    assert!(memo.last().is_none());
}
