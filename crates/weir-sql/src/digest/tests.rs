use super::*;
use crate::CharsetClass;
use crate::testing::{all_modes, both, in_charset, mariadb, mysql};
use proptest::prelude::*;

/// Statement and text, two lines each.
const CASES: &str = include_str!("tests/cases.txt");

fn cases() -> Vec<(&'static str, &'static str)> {
    let mut lines = CASES.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut cases = Vec::new();
    while let (Some(sql), Some(text)) = (lines.next(), lines.next()) {
        cases.push((sql, text.strip_prefix("    ").expect("a text stands below its statement")));
    }
    assert!(cases.len() > 400, "{}", cases.len());
    cases
}

fn text(sql: impl AsRef<[u8]>, mode: LexMode) -> String {
    Digest::of(sql.as_ref(), mode).text.escape_ascii().to_string().replace("\\'", "'").replace("\\\"", "\"")
}

#[track_caller]
fn check(sql: impl AsRef<[u8]>, mode: LexMode, expected: &str) {
    assert_eq!(text(&sql, mode), expected, "{}", sql.as_ref().escape_ascii());
}

#[test]
fn it_is_what_the_server_says() {
    for (sql, expected) in cases() {
        let digest = Digest::of(sql.as_bytes(), mysql());
        assert_eq!(String::from_utf8_lossy(&digest.text), expected, "{sql}");
    }
}

/// A rule may give the text that Weir shows.
#[test]
fn the_text_of_a_digest_means_itself() {
    for (sql, expected) in cases() {
        // A backtick in a name is not doubled, nor is a name without a letter shown.
        if sql.contains("``") || expected.contains(". FROM") {
            continue;
        }
        let meant = Digest::meant(expected.as_bytes(), mysql());
        assert_eq!(String::from_utf8_lossy(&meant.text), expected, "{sql}");
        assert_eq!(meant, Digest::of(sql.as_bytes(), mysql()), "{sql}");
        // In front of this parenthesis stands a blank: to the server it is another function of that name.
        if !sql.contains("group_concat (") {
            assert_eq!(meant, Digest::meant(sql.as_bytes(), mysql()), "{sql}");
        }
    }
}

#[test]
fn other_literals_are_the_same_digest() {
    for (sql, expected) in cases().into_iter().filter(|(sql, _)| !sql.contains(" by ")) {
        let mut other = Vec::new();
        for token in Lexer::new(sql.as_bytes(), mysql()) {
            match token.kind {
                TokenKind::String => other.extend_from_slice(b"'it''s \\' another -- one'"),
                TokenKind::Number => other.extend_from_slice(b"98765.4"),
                TokenKind::HexLiteral => other.extend_from_slice(b"0xAFFE"),
                _ => other.extend_from_slice(token.text(sql.as_bytes())),
            }
        }
        assert_eq!(Digest::of(&other, mysql()).text, expected.as_bytes(), "{}", other.escape_ascii());
    }
}

#[test]
fn p31_the_mode_decides_what_is_a_literal() {
    let ansi = LexMode { ansi_quotes: true, ..mysql() };
    check(r#"SELECT "a", 'b', @"c" FROM t"#, mysql(), "SELECT ?, ... , @? FROM `t`");
    check(r#"SELECT "a", 'b', @"c" FROM t"#, ansi, "SELECT `a` , ? , @`c` FROM `t`");
    check(r#"SELECT "a""b`c" FROM t"#, ansi, r#"SELECT `a"b`c` FROM `t`"#);
    let plain = LexMode { no_backslash_escapes: true, ..mysql() };
    check(r"SELECT 'a\', b -- '", mysql(), "SELECT ?");
    check(r"SELECT 'a\', b -- '", plain, "SELECT ? , `b`");
}

#[test]
fn p31_names_are_read_in_the_clients_character_set() {
    check(b"SELECT '\x95\x5c', a", in_charset(CharsetClass::Sjis), "SELECT ? , `a`");
    check(b"SELECT \x95\x60 FROM t", in_charset(CharsetClass::Sjis), r"SELECT `\x95`` FROM `t`");
    check(b"SELECT\xA0a", in_charset(CharsetClass::BlankA0), "SELECT `a`");
    check(b"SELECT\xA0a", mysql(), r"`SELECT\xa0a`");
    check(b"SELECT \xFF\xFE", mysql(), r"SELECT `\xff\xfe`");
}

#[test]
fn p21_version_comments_are_read_as_the_server_reads_them() {
    let sql = "SELECT /*!40000 1, */ /*!99999 2, */ /*M! 3, */ a /* b */ -- c";
    check(sql, mysql(), "SELECT ? , `a`");
    check(sql, mariadb(), "SELECT ?, ... , `a`");
    check(
        "/*!50003 CREATE PROCEDURE p() BEGIN SELECT 1; END */",
        mysql(),
        "CREATE PROCEDURE `p` ( ) BEGIN SELECT ? ; END",
    );
    check("SELECT /*!40000 /* nested */ a */ b */", mysql(), "SELECT `a` `b` * /");
}

/// The short cut for rows must not show: the same row is read with and without a row before it.
#[test]
fn a_row_folds_only_into_its_like() {
    for (rows, expected) in [
        ("(1),(2),( NULL ),(-3),('a')", "(?) /* , ... */"),
        ("(1,2),(2,-3),(null,'a')", "(...) /* , ... */"),
        ("(1,2),(3)", "(...) , (?)"),
        ("(1),(2,3),(4)", "(?) , (...) , (?)"),
        ("(1),(-'a')", "(?) , ( - ? )"),
        ("(1),(-NULL)", "(?) , ( - ? )"),
        ("(1),(- -1)", "(?) /* , ... */"),
        ("(1),('a' 'b')", "(?) , ( ? ? )"),
        ("(1),(a)", "(?) , ( `a` )"),
        ("(1),()", "(?) , ( )"),
        ("(1),(1,)", "(?) , ( ? , )"),
        ("(1),(null.a)", "(?) , ( `null` . `a` )"),
        ("(1),(/* c */ 2 /* d */),(?)", "(?) /* , ... */"),
        ("(1),((2))", "(?) , ( (?) )"),
        ("(1),(2", "(?) , ( ?"),
        ("(1),(@a)", "(?) , ( @? )"),
    ] {
        check(format!("VALUES {rows}"), mysql(), &format!("VALUES {expected}"));
    }
}

#[test]
fn mariadb_has_the_same_form() {
    check(r"SELECT \N, 1", mariadb(), "SELECT ?, ...");
    check(
        "INSERT INTO t VALUES (1),(2) RETURNING id",
        mariadb(),
        "INSERT INTO `t` VALUES (?) /* , ... */ RETURNING `id`",
    );
    check("SELECT /*+ BKA(t) */ a", mariadb(), "SELECT `a`");
    check("SELECT a->b", mariadb(), "SELECT `a` - > `b`");
}

#[test]
fn several_statements_are_one_text() {
    for mode in both() {
        check(
            "SELECT 1; SELECT a, 2 FROM t ORDER BY 3;",
            mode,
            "SELECT ? ; SELECT `a` , ? FROM `t` ORDER BY 3",
        );
        check("", mode, "");
        check(" /* nothing */ ", mode, "");
        check("SELECT 1\0 FROM t", mode, "SELECT ?");
    }
}

/// Nobody must read a password out of a statement that ends too early.
#[test]
fn nothing_is_shown_of_what_is_not_closed() {
    for mode in all_modes() {
        for sql in [
            "SET PASSWORD = 'secret",
            "SET PASSWORD = `secret",
            "SET PASSWORD = /* secret",
            "SET PASSWORD = x'5ecret",
        ] {
            check(sql, mode, "SET PASSWORD =");
        }
    }
}

/// The bytes that the server counts: 2 for each token, 4 and its length for a name.
#[test]
fn the_limit_cuts_between_tokens() {
    let cut = |sql: &str, limit| {
        let mut out = Vec::new();
        digest_within(sql.as_bytes(), mysql(), limit, &mut out);
        String::from_utf8(out).expect("ASCII")
    };
    assert_eq!(cut("SELECT abc, 1, 2, d", 11), "SELECT `abc` ,");
    assert_eq!(cut("SELECT abc, 1, 2, d", 10), "SELECT `abc`");
    assert_eq!(cut("SELECT abc, 1, 2, d", 8), "SELECT");
    // The list needs room for its second value before it folds.
    assert_eq!(cut("SELECT abc, 1, 2, d", 15), "SELECT `abc` , ?, ... ,");
    assert_eq!(cut("SELECT abc, 1, 2, d", 1), "");
    assert_eq!(
        cut(&format!("INSERT INTO t VALUES {}(1,2)", "(1,2),".repeat(9_999)), 1_024),
        "INSERT INTO `t` VALUES (...) /* , ... */"
    );
    assert_eq!(cut(&format!("SELECT {}1", "- ".repeat(511)), 1_024), "SELECT ?");
    assert_eq!(cut(&format!("SELECT {}1", "- ".repeat(512)), 1_024), format!("SELECT{}", " -".repeat(511)));
}

#[test]
fn nothing_is_allocated_where_there_is_room() {
    let mut out = Vec::with_capacity(64);
    let place = out.as_ptr();
    for (sql, expected) in cases().into_iter().filter(|(_, expected)| expected.len() < 32) {
        digest(sql.as_bytes(), mysql(), &mut out);
        assert_eq!(out, expected.as_bytes());
        assert_eq!((out.as_ptr(), out.capacity()), (place, 64), "{sql}");
    }
}

/// Ids are stored and shown: they must not change from one version to the next.
#[test]
fn an_id_never_changes() {
    assert_eq!(Digest::of(b"SELECT 1", mysql()).id.to_string(), "535282871f502967");
    assert_eq!(Digest::of(b"", mysql()).id.to_string(), "0338dc4be2cecdae");
}

/// Anything that is not linear takes hours for these.
#[test]
fn long_statements_take_their_time_and_no_more() {
    let pieces = [
        "1,",
        "(1),",
        "(1,2),",
        "- ",
        "(",
        ")",
        "NOT ",
        "/*",
        "/*! ",
        "/*!40000 ",
        "a.",
        "`",
        "``",
        "'",
        "x'",
        "@",
        "@@a ",
        "- - 1 ",
        "null,",
        "order by 1,",
        "now  ",
        "/*+ ",
        "select /*+ a@`b` 1,*/ ",
        ".",
        "\\",
        "$$",
        "1e",
        "in(1)",
        "\u{e4}",
        "#",
        "--",
        ";",
    ];
    for piece in pieces {
        for front in ["", "SELECT ", "INSERT INTO t VALUES ", "SELECT '"] {
            let sql = front.to_owned() + &piece.repeat(100_000 / piece.len());
            for mode in both() {
                let digest = Digest::of(sql.as_bytes(), mode);
                assert!(digest.text.len() <= 20 * MAX_DIGEST_LENGTH, "{piece}");
                Digest::meant(sql.as_bytes(), mode);
                assert!(trimmed_span(sql.as_bytes(), mode).end <= sql.len());
            }
        }
    }
}

#[test]
fn a_pattern_sees_no_comments() {
    let stripped = |sql: &str, mode| {
        let mut out = b"what was there".to_vec();
        strip_comments(sql.as_bytes(), mode, &mut out);
        String::from_utf8(out).expect("UTF-8")
    };
    for (sql, expected) in [
        ("/* a */ SELECT  1 -- b\n", "SELECT  1"),
        ("SELECT/**/1", "SELECT 1"),
        ("SELECT /* a */ '/* b */' # c", "SELECT '/* b */'"),
        ("/*nocache*/SELECT 1 /*weir: ttl=5s*/ ;", "SELECT 1 ;"),
        ("/*!40101 SET NAMES utf8 */;", "SET NAMES utf8 ;"),
        ("SELECT /*+ BKA(t) */ a\n\tFROM t", "SELECT /*+ BKA(t) */ a\n\tFROM t"),
        ("SELECT 1 /* open", "SELECT 1 /* open"),
        ("", ""),
    ] {
        assert_eq!(stripped(sql, mysql()), expected, "{sql}");
    }
    assert_eq!(stripped("SELECT /*!50701 1 */ /*M! 2 */", mysql()), "SELECT 1");
    assert_eq!(stripped("SELECT /*!50701 1 */ /*M! 2 */", mariadb()), "SELECT 2");
}

#[test]
fn only_what_stands_around_a_statement_is_trimmed() {
    for (sql, expected) in [
        ("SELECT 1", "SELECT 1"),
        (" \n SELECT 1 \t", "SELECT 1"),
        ("/* a */ -- b\nSELECT 1 /* c */ + 1 /* d */ # e", "SELECT 1 /* c */ + 1"),
        ("/*weir: ttl=5s*/SELECT 1;", "SELECT 1;"),
        ("SELECT 1 -- x", "SELECT 1"),
        ("SELECT 1--", "SELECT 1"),
        ("SELECT '/* a */ '", "SELECT '/* a */ '"),
        ("/*!40000 SELECT 1 */", "/*!40000 SELECT 1 */"),
        ("SELECT /*+ BKA(t) */ 1", "SELECT /*+ BKA(t) */ 1"),
        ("SELECT 'a ", "SELECT 'a "),
        ("SELECT /* a ", "SELECT /* a "),
        ("SELECT 1---- x", "SELECT 1---- x"),
        (" /* a */ ", ""),
        ("", ""),
    ] {
        for mode in both() {
            let span = trimmed_span(sql.as_bytes(), mode);
            assert_eq!(&sql[span], expected, "{sql}");
        }
    }
    let sql = b"\xA0SELECT 1\xA0";
    assert_eq!(trimmed_span(sql, in_charset(CharsetClass::BlankA0)), 1..9);
    assert_eq!(trimmed_span(sql, mysql()), 0..10);
}

fn sql_like() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::sample::select(CASES.split_ascii_whitespace().collect::<Vec<_>>()).prop_map(|word| [
            word.as_bytes(),
            b" "
        ]
        .concat()),
        prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_bytes_have_a_digest(sql in sql_like(), limit in 0_usize..200) {
        let mut out = Vec::new();
        for mode in all_modes() {
            let id = digest(&sql, mode, &mut out);
            prop_assert_eq!(id, Digest::of(&sql, mode).id);
            Digest::meant(&sql, mode);
            let whole = out.clone();
            digest_within(&sql, mode, limit, &mut out);
            prop_assert!(out.len() <= whole.len() + 20 * limit);
            strip_comments(&sql, mode, &mut out);
            let mut by_tokens = Vec::new();
            plain::strip_by_tokens(&sql, mode, &mut by_tokens);
            prop_assert_eq!(&out, &by_tokens);
            let span = trimmed_span(&sql, mode);
            prop_assert!(span.start <= span.end && span.end <= sql.len());
        }
    }

    /// What is trimmed means nothing: the digest stays, and trimming again finds nothing.
    #[test]
    fn trimming_keeps_the_meaning(sql in sql_like()) {
        for mode in all_modes() {
            let trimmed = &sql[trimmed_span(&sql, mode)];
            prop_assert_eq!(Digest::of(trimmed, mode), Digest::of(&sql, mode));
            prop_assert_eq!(trimmed_span(trimmed, mode), 0..trimmed.len());
        }
    }

    #[test]
    fn literals_do_not_matter(text in "[a-z\\\\' -]{0,20}", number in any::<u32>(), float in any::<f64>(), more in 2..9_usize) {
        prop_assume!(float.is_finite());
        let quoted = text.replace('\\', "\\\\").replace('\'', "''");
        let sql = format!(
            "SELECT a FROM t WHERE b = {number} AND c > {float:e} AND d IN ({}1) AND e = '{quoted}' LIMIT {number}",
            format!("{number},'{quoted}',").repeat(more)
        );
        check(&sql, mysql(), "SELECT `a` FROM `t` WHERE `b` = ? AND `c` > ? AND `d` IN (...) AND `e` = ? LIMIT ?");
        let rows = format!("INSERT INTO t VALUES {}({number},'{quoted}',-{number})", format!("(NULL,{number}, '{quoted}'),").repeat(more));
        check(&rows, mysql(), "INSERT INTO `t` VALUES (...) /* , ... */");
    }
}
