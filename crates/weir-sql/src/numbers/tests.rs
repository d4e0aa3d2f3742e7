use super::*;
use crate::{Facts, LexMode};
use proptest::prelude::*;
use weir_model::ServerFamily;

fn shown(sql: &str) -> Option<String> {
    let mut out = Vec::new();
    without_numbers(sql.as_bytes(), &mut out).then(|| String::from_utf8(out).unwrap())
}

#[test]
fn whole_numbers_that_stand_alone_are_all_alike() {
    for (sql, expected) in [
        ("SELECT c FROM sbtest1 WHERE id=5023", "SELECT c FROM sbtest1 WHERE id=0"),
        ("SELECT 1, 22,333 ,-4", "SELECT 0, 0,0 ,-0"),
        ("12", "0"),
        ("SELECT 1.5, .5, 5., 1e5, 0x1F, t.5, @1, $1, é1", "SELECT 1.5, .5, 5., 1e5, 0x1F, t.5, @1, $1, é1"),
        ("SELECT '17', `18` FROM t19", "SELECT '0', `0` FROM t19"),
        ("SELECT 5 -- 6\n", "SELECT 0 -- 0\n"),
        ("", ""),
    ] {
        assert_eq!(shown(sql).as_deref(), Some(expected));
    }
    for sql in ["SELECT 1 /*!50000 + 1 */", "/* x */ SELECT 1", &"1".repeat(LEN_MAX + 1)] {
        assert_eq!(shown(sql), None);
    }
}

#[test]
fn each_byte_is_told_from_a_digit_and_a_star_in_each_place() {
    for byte in 0..=u8::MAX {
        let wanted = byte.is_ascii_digit() || byte == b'*';
        for around in [0, b' ', b'/', b':', b')', b'+', 0x7f, 0x80, 0xb0, 0xff] {
            for place in 0..8 {
                let mut bytes = [around; 8];
                bytes[place] = byte;
                let expected = if wanted { 0x80 << (8 * place) } else { 0 };
                assert_eq!(digits_and_stars(u64::from_le_bytes(bytes)), expected, "{bytes:?}");
                // Also where it stands behind others, and in what is left of a text.
                for before in 0..20 {
                    let mut sql = vec![around; before];
                    sql.push(byte);
                    assert_eq!(digit_or_star(&sql, 0), wanted.then_some(before));
                }
            }
        }
    }
    assert_eq!(digit_or_star(b"1 2", 1), Some(2));
    assert_eq!(digit_or_star(b"1", 1), None);
}

/// Pieces that meet in every way.
fn text() -> impl Strategy<Value = Vec<&'static str>> {
    let piece = prop::sample::select(vec![
        "SELECT ",
        "7",
        "70",
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
        "WHERE ",
        "sleep(",
        "FOUND_ROWS()",
        "INTO ",
        "FOR UPDATE",
        "INSERT ",
        "UPDATE ",
        "SET ",
        "=",
        ";",
        "N'",
        "x'",
        "b'",
        "_utf8mb4'",
        "é",
        "$",
        "/",
        "*",
        "+",
        "-",
        " ",
    ]);
    prop::collection::vec(piece, 0..16)
}

proptest! {
    #[test]
    fn what_differs_in_numbers_alone_has_the_same_facts(pieces in text(), family in prop::sample::select(vec![ServerFamily::MySql, ServerFamily::MariaDb])) {
        let of = |seven: &str| {
            let sql: String = pieces.iter().map(|p| if p.starts_with('7') { seven } else { p }).collect();
            let facts = Facts::of(sql.as_bytes(), LexMode::new(family, 101_119), true);
            (shown(&sql), facts)
        };
        let ((one, facts), (two, others)) = (of("7"), of("12345"));
        if one.is_some() && one == two && facts.pins.is_empty() && !facts.has_effects() {
            prop_assert_eq!(facts, others);
        }
    }
}
