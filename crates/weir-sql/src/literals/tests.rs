use super::*;
use crate::testing::{all_modes, mysql};
use crate::{Digest, digest_showing};
use proptest::prelude::*;

fn shown(sql: &str, mode: LexMode) -> Option<String> {
    let mut out = Vec::new();
    without_literals(sql.as_bytes(), mode, &mut out).then(|| String::from_utf8(out).unwrap())
}

#[test]
fn plain_literals_are_all_alike() {
    for (sql, expected) in [
        ("SELECT c FROM sbtest1 WHERE id=5023", "SELECT c FROM sbtest1 WHERE id=0"),
        ("SELECT 1, 22,333 ,-4, 1.5", "SELECT 0, 0,0 ,-0, 0"),
        ("INSERT INTO t VALUES ('a','b c; d',7)", "INSERT INTO t VALUES ('','',0)"),
        ("SELECT `18`, \"19\" FROM t19 LIMIT 5;", "SELECT `18`, \"19\" FROM t19 LIMIT 0;"),
        ("SELECT .5, 5., 1e5, 0x1F, t.5, @1", "SELECT .5, 5., 1e5, 0x1F, t.5, @1"),
        ("SELECT N'a', x'1F', _utf8'b', @'c'", "SELECT N'a', x'1F', _utf8'b', @'c'"),
        ("", ""),
    ] {
        assert_eq!(shown(sql, mysql()).as_deref(), Some(expected));
    }
    for sql in [
        "SELECT 1 /* 2 */",
        "SELECT 1 -- 2",
        "SELECT 1 # 2",
        "SELECT 'it''s'",
        "SELECT 'it\\'s'",
        "SELECT 'open",
        "SELECT `open",
        "SELECT $$x$$",
        &"1".repeat(LEN_MAX + 1),
    ] {
        assert_eq!(shown(sql, mysql()), None, "{sql}");
    }
    let gbk = LexMode { charset: CharsetClass::Gbk, ..mysql() };
    assert_eq!(shown("SELECT 1", gbk), None);
}

#[test]
fn numbers_that_stand_for_columns_are_shown() {
    let shows = |sql: &str| digest_showing(sql.as_bytes(), mysql(), &mut Vec::new()).1;
    for sql in [
        "SELECT a FROM t ORDER BY 0",
        "SELECT a FROM t GROUP BY a, 2",
        "SELECT a FROM t ORDER BY 1 DESC LIMIT 5",
    ] {
        assert!(shows(sql), "{sql}");
    }
    for sql in ["SELECT 0", "SELECT a FROM t ORDER BY a LIMIT 1", "SELECT a FROM t ORDER BY a + 1"] {
        assert!(!shows(sql), "{sql}");
    }
}

/// Pieces that meet in every way. `7` and `'s'` stand for other literals in the other text.
fn pieces() -> impl Strategy<Value = Vec<&'static str>> {
    let piece = prop::sample::select(vec![
        "SELECT ",
        "7",
        "7",
        "7",
        "'s'",
        "'s'",
        "1.5",
        "e5",
        "0x",
        "'",
        "\"",
        "`",
        "a",
        "t1",
        "(",
        ")",
        ", ",
        ".",
        "@",
        "@@",
        "--",
        "-- ",
        "#",
        "\n",
        "\\",
        "FROM ",
        "LIMIT ",
        "ORDER BY ",
        "GROUP BY ",
        "DESC ",
        "IN (",
        "VALUES (",
        "NULL",
        "INSERT ",
        "=",
        ";",
        "N",
        "x",
        "b",
        "_utf8mb4",
        "é",
        "$",
        "/",
        "*",
        "+",
        "-",
        " ",
        "?",
        "/*+ ",
        "/*!50000 ",
        "*/",
        "->",
    ]);
    prop::collection::vec(piece, 0..24)
}

proptest! {
    /// This is what it is for: where the same is left of two texts and no number is shown, they have one digest.
    #[test]
    fn what_differs_in_literals_alone_has_one_digest(
        pieces in pieces(), mode in prop::sample::select(all_modes()), seven in "(0|[1-9][0-9]{0,4}(\\.[0-9]{1,2})?)", string in "[a-z0-9;()é?@,# /*-]{0,6}"
    ) {
        let other: String = pieces.iter().map(|piece| match *piece {
            "7" => seven.clone(),
            "'s'" => format!("'{string}'"),
            piece => piece.to_owned(),
        }).collect();
        let sql: String = pieces.concat();
        let (one, two) = (shown(&sql, mode), shown(&other, mode));
        if let (Some(one), Some(two)) = (one, two) && one == two {
            let (_, shows) = digest_showing(one.as_bytes(), mode, &mut Vec::new());
            if !shows {
                prop_assert_eq!(Digest::of(sql.as_bytes(), mode), Digest::of(other.as_bytes(), mode));
                prop_assert_eq!(Digest::of(one.as_bytes(), mode), Digest::of(other.as_bytes(), mode));
            }
        }
    }
}
