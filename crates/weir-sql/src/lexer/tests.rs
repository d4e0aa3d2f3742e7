use super::*;
use crate::CharsetClass;
use crate::testing::{all_modes, both, in_charset, mariadb, mysql};
use proptest::prelude::*;

/// Tokens without blanks, as `Kind text`.
fn tokens(sql: impl AsRef<[u8]>, mode: LexMode) -> Vec<String> {
    let sql = sql.as_ref();
    let shown = |t: Token| format!("{:?} {}", t.kind, t.text(sql).escape_ascii());
    Lexer::new(sql, mode).filter(|t| t.kind != TokenKind::Blank).map(shown).collect()
}

#[track_caller]
fn check(sql: impl AsRef<[u8]>, mode: LexMode, expected: &[&str]) {
    assert_eq!(tokens(&sql, mode), expected, "{}", sql.as_ref().escape_ascii());
}

#[test]
fn a_statement_falls_into_its_tokens() {
    let expected = [
        "Word SELECT",
        "Word a",
        "Operator .",
        "Name b",
        "Operator ,",
        "Number 1.5",
        "Operator +",
        "Number .5e-3",
        "Operator <=>",
        "Param ?",
        "Word FROM",
        "QuotedIdent `t``x`",
        "Word WHERE",
        "String \\'it\\'\\'s\\\\\\'\\'",
        "Operator !=",
        "String \\\"q\\\"",
        "Operator ||",
        "UserVar @a.b",
        "Operator :=",
        "SysVar @@global",
        "Operator .",
        "Name x",
        "Operator (",
        "HexLiteral x\\'4a\\'",
        "HexLiteral 0xFF",
        "BitLiteral b\\'01\\'",
        "BitLiteral 0b1",
        "String N\\'n\\'",
        "Word _utf8mb4",
        "String \\'x\\'",
        "Operator )",
        "Semicolon ;",
    ];
    let sql = r#"SELECT a.b,1.5+.5e-3<=>? FROM `t``x` WHERE 'it''s\'' != "q" || @a.b:=@@global.x
        (x'4a' 0xFF b'01' 0b1 N'n' _utf8mb4'x');"#;
    for mode in both() {
        check(sql, mode, &expected);
    }
}

#[test]
fn p21_comments_hide_nothing_and_show_nothing() {
    for mode in both() {
        check("1-- x\n2", mode, &["Number 1", "LineComment -- x", "Number 2"]);
        check("1--", mode, &["Number 1", "LineComment --"]);
        check("1--\x01x", mode, &["Number 1", "LineComment --\\x01x"]);
        check("5--1", mode, &["Number 5", "Operator -", "Operator -", "Number 1"]);
        check("1#x\r2\n3", mode, &["Number 1", "LineComment #x\\r2", "Number 3"]);
        check(
            "1/*a*/2/**/3",
            mode,
            &["Number 1", "BlockComment /*a*/", "Number 2", "BlockComment /**/", "Number 3"],
        );
        check("/*/ a */1", mode, &["BlockComment /*/ a */", "Number 1"]);
        check("1/*a", mode, &["Number 1", "Unterminated /*a"]);
        check("'#' `--` \"/*\"", mode, &["String \\'#\\'", "QuotedIdent `--`", "String \\\"/*\\\""]);
        check("1 */ 2", mode, &["Number 1", "Operator *", "Operator /", "Number 2"]);
    }
}

/// Each line was asked of MySQL 9.7.4 and MariaDB 10.11.19: is the content of this comment code?
#[test]
fn p21_version_comments_are_code_where_the_server_says_so() {
    let cases: [(&str, bool, bool); 27] = [
        ("/*! +1*/", true, true),
        ("/*!+1*/", true, true),
        ("/*!40000+1*/", true, true),
        ("/*!50699 +1*/", true, true),
        ("/*!50700 +1*/", true, false),
        ("/*!50701+1*/", true, false),
        ("/*!90704 +1*/", true, false),
        ("/*!90705 +1*/", false, false),
        ("/*!99997 +1*/", false, false),
        ("/*!99999 +1*/", false, false),
        ("/*!090704 +1*/", true, false),
        ("/*!090705 +1*/", false, false),
        ("/*!080000\n+1*/", true, false),
        ("/*!100000 +1*/", false, true),
        ("/*!101119 +1*/", false, true),
        ("/*!101120 +1*/", false, false),
        ("/*!507001 +1*/", false, false),
        ("/*!999999 +1*/", false, false),
        ("/*!110000+1*/", true, false),
        ("/*!080000+1*/", true, false),
        ("/*!5070+1*/", true, true),
        ("/*M!50700 +1*/", false, true),
        ("/*M!101119 +1*/", false, true),
        ("/*M!101120 +1*/", false, false),
        ("/*M!+1*/", false, true),
        ("/*m!+1*/", false, false),
        ("/* !+1*/", false, false),
    ];
    for (sql, in_mysql, in_mariadb) in cases {
        for (mode, expected) in [(mysql(), in_mysql), (mariadb(), in_mariadb)] {
            let is_code = Lexer::new(sql.as_bytes(), mode).any(|t| t.kind == TokenKind::Operator);
            assert_eq!(is_code, expected, "{sql} {:?}", mode.family);
        }
    }
}

#[test]
fn p21_the_sixth_digit_belongs_to_the_version_or_to_the_code() {
    check("/*!500001*/", mysql(), &["VersionCommentStart /*!50000", "Number 1", "VersionCommentEnd */"]);
    check("/*!050000 1*/", mysql(), &["VersionCommentStart /*!050000", "Number 1", "VersionCommentEnd */"]);
    check("/*!0500001*/", mariadb(), &["VersionCommentStart /*!050000", "Number 1", "VersionCommentEnd */"]);
    check("/*!5000*/", mysql(), &["VersionCommentStart /*!", "Number 5000", "VersionCommentEnd */"]);
}

#[test]
fn p21_comments_nest_as_the_servers_nest_them() {
    for mode in both() {
        check("/*!999999 /* a */ 5 */1", mode, &["VersionCommentSkipped /*!999999 /* a */ 5 */", "Number 1"]);
        check(
            "/*!999999 /*/ a */ 5 */1",
            mode,
            &["VersionCommentSkipped /*!999999 /*/ a */ 5 */", "Number 1"],
        );
        check(
            "/*!40000 /*a*/ 5 */ */",
            mode,
            &[
                "VersionCommentStart /*!40000",
                "BlockComment /*a*/",
                "Number 5",
                "VersionCommentEnd */",
                "Operator *",
                "Operator /",
            ],
        );
        check(
            "/*!40000 1 /*!40000 2 */ */",
            mode,
            &[
                "VersionCommentStart /*!40000",
                "Number 1",
                "VersionCommentStart /*!40000",
                "Number 2",
                "VersionCommentEnd */",
                "Operator *",
                "Operator /",
            ],
        );
        check("/*!999999 1", mode, &["Unterminated /*!999999 1"]);
        check("/*!999999 /* 1 */", mode, &["Unterminated /*!999999 /* 1 */"]);
    }
}

#[test]
fn optimizer_hints_stand_behind_a_keyword_and_end_at_the_first_end() {
    check("SELECT /*+ a */ 1", mysql(), &["Word SELECT", "BlockHint /*+ a */", "Number 1"]);
    check("SELECT /*+ `*/ 1", mysql(), &["Word SELECT", "BlockHint /*+ `*/", "Number 1"]);
    check("SELECT /*+ a */ 1", mariadb(), &["Word SELECT", "BlockComment /*+ a */", "Number 1"]);
    check("SELECT 1 /*+ a */", mysql(), &["Word SELECT", "Number 1", "BlockComment /*+ a */"]);
    check("t.select /*+ a */", mysql(), &["Word t", "Operator .", "Name select", "BlockComment /*+ a */"]);
    check("update/**/ /*+ a */", mysql(), &["Word update", "BlockComment /**/", "BlockComment /*+ a */"]);
}

#[test]
fn p31_sql_mode_changes_the_tokens() {
    let ansi = LexMode { ansi_quotes: true, ..mysql() };
    let plain = LexMode { no_backslash_escapes: true, ..mysql() };
    check("\"a;\" 'b'", ansi, &["QuotedIdent \\\"a;\\\"", "String \\'b\\'"]);
    check("@\"a\" @'a'", ansi, &["UserVar @\\\"a\\\"", "UserVar @\\'a\\'"]);
    check(r"'a\' 1", plain, &[r"String \'a\\\'", "Number 1"]);
    check(r"'a\' 1", mysql(), &[r"Unterminated \'a\\\' 1"]);
    check(r#""a\" 1"#, plain, &[r#"String \"a\\\""#, "Number 1"]);
    check(r"`a\` 1", mysql(), &[r"QuotedIdent `a\\`", "Number 1"]);
}

#[test]
fn p31_trail_bytes_are_no_quotes_and_no_escapes() {
    let gbk = in_charset(CharsetClass::Gbk);
    let sjis = in_charset(CharsetClass::Sjis);
    let wide = in_charset(CharsetClass::Gb18030);
    check(b"'\x81\\' 1", gbk, &[r"String \'\x81\\\'", "Number 1"]);
    check(b"'\x81\\' 1", mysql(), &[r"Unterminated \'\x81\\\' 1"]);
    check(b"'\xA1\\' 1", sjis, &[r"Unterminated \'\xa1\\\' 1"]);
    check(b"'\x81\x30\x81\x30\\\\' 1", wide, &[r"String \'\x810\x810\\\\\'", "Number 1"]);
    check(b"'\x81\x30\x81\\' 1", wide, &[r"String \'\x810\x81\\\'", "Number 1"]);
    check(b"`\x81`` 1", gbk, &[r"QuotedIdent `\x81``", "Number 1"]);
    check(b"a\x81`b 1", gbk, &[r"Word a\x81`b", "Number 1"]);
    // An escape takes one byte: the lead byte is gone, and the 0x5C behind it escapes the quote.
    check(b"'\\\x81\\' 1'", gbk, &[r"String \'\\\x81\\\' 1\'"]);
    // A lead byte before a quote makes no pair.
    check(b"'\x81' 1", gbk, &[r"String \'\x81\'", "Number 1"]);
}

#[test]
fn p31_names_of_variables_are_read_byte_by_byte() {
    check(
        b"@\x81`,1",
        in_charset(CharsetClass::Sjis),
        &["UserVar @", r"Word \x81`", "Operator ,", "Number 1"],
    );
    check(b"@\xA1`,1", in_charset(CharsetClass::Gbk), &[r"UserVar @\xa1", "Unterminated `,1"]);
    check(b"@\xC3\xA9,1", mysql(), &[r"UserVar @\xc3\xa9", "Operator ,", "Number 1"]);
    check("@@`a b`.c", mysql(), &["SysVar @@`a b`", "Operator .", "Name c"]);
    check("@@ a", mysql(), &["Unterminated @@ a"]);
    check("@", mysql(), &["UserVar @"]);
    check(
        "'u'@'h' u@h.x u@%",
        mysql(),
        &[r"String \'u\'", r"UserVar @\'h\'", "Word u", "UserVar @h.x", "Word u", "UserVar @", "Operator %"],
    );
}

#[test]
fn p31_some_character_sets_have_blanks_of_their_own() {
    check(b"SELECT\xA01", in_charset(CharsetClass::BlankA0), &["Word SELECT", "Number 1"]);
    check(b"SELECT\xA01", mysql(), &[r"Word SELECT\xa01"]);
    check(b"SELECT\xFF1", in_charset(CharsetClass::BlankFf), &["Word SELECT", "Number 1"]);
    check(
        b"1--\xA0x\n2",
        in_charset(CharsetClass::BlankA0),
        &["Number 1", r"LineComment --\xa0x", "Number 2"],
    );
}

#[test]
fn words_behind_a_point_are_names() {
    for mode in both() {
        check(
            "t.select t .1a `t`.into t. from",
            mode,
            &[
                "Word t",
                "Operator .",
                "Name select",
                "Word t",
                "Number .1",
                "Word a",
                "QuotedIdent `t`",
                "Operator .",
                "Name into",
                "Word t",
                "Operator .",
                "Word from",
            ],
        );
        check(
            "t.1 `t`.1 t.x'1'",
            mode,
            &[
                "Word t",
                "Operator .",
                "Name 1",
                "QuotedIdent `t`",
                "Number .1",
                "Word t",
                "Operator .",
                "Name x",
                "String \\'1\\'",
            ],
        );
        check("@@global.select", mode, &["SysVar @@global", "Operator .", "Name select"]);
    }
}

#[test]
fn numbers_and_words_that_begin_like_them() {
    for mode in both() {
        check(
            "1e5 1e 1a 0x 0xzz 0X41 0b12 1e+ .5 1.e1",
            mode,
            &[
                "Number 1e5",
                "Word 1e",
                "Word 1a",
                "Word 0x",
                "Word 0xzz",
                "Word 0X41",
                "Word 0b12",
                "Word 1e",
                "Operator +",
                "Number .5",
                "Number 1.e1",
            ],
        );
        check("x'4' 1", mode, &["Unterminated x\\'4\\' 1"]);
        check("b'2' 1", mode, &["Unterminated b\\'2\\' 1"]);
        check("?a ? ?1 ?", mode, &["Operator ?", "Word a", "Param ?", "Operator ?", "Number 1", "Param ?"]);
    }
    check("1..2", mariadb(), &["Number 1", "Operator .", "Number .2"]);
    check(r"\N", mariadb(), &[r"Operator \\N"]);
    check("a->>'$.b'->c", mysql(), &["Word a", "Operator ->>", "String \\'$.b\\'", "Operator ->", "Word c"]);
}

/// MySQL answers `SELECT 1 1.e, 2` with two columns.
#[test]
fn p53_mysql_drops_a_number_without_an_exponent() {
    check("1 1.e, 2", mysql(), &["Number 1", "Dropped 1.e", "Operator ,", "Number 2"]);
    check("1 1.5e-; 2", mysql(), &["Number 1", "Dropped 1.5e-", "Semicolon ;", "Number 2"]);
    check(
        "1 .5e/* 2 */",
        mysql(),
        &["Number 1", "Dropped .5e", "Operator /", "Operator *", "Number 2", "Operator *", "Operator /"],
    );
    check("1 1.e'x' 2", mysql(), &["Number 1", "Dropped 1.e", "Unterminated \\'x\\' 2"]);
    check("1 1.e, 2", mariadb(), &["Number 1", "Unterminated 1.e, 2"]);
}

#[test]
fn dollar_quotes_are_strings_to_mysql() {
    check("$$a;'b$$ 1", mysql(), &["String $$a;\\'b$$", "Number 1"]);
    check("$x$a$$b$x$ 1", mysql(), &["String $x$a$$b$x$", "Number 1"]);
    check("$a 1 $ a$$b$$", mysql(), &["Word $a", "Number 1", "Word $", "Word a$$b$$"]);
    check("$a$ 1", mysql(), &["Unterminated $a$ 1"]);
    check("$$a;b$$", mariadb(), &["Word $$a", "Semicolon ;", "Word b$$"]);
}

#[test]
fn a_nul_ends_what_the_servers_end_there() {
    for mode in both() {
        check("'a\0b' /*\0*/ 1", mode, &[r"String \'a\x00b\'", r"BlockComment /*\x00*/", "Number 1"]);
        check("`a\0b` 1", mode, &[r"Unterminated `a\x00b` 1"]);
        check("-- a\0b", mode, &["LineComment -- a", r"Nul \x00", "Word b"]);
    }
}

#[test]
fn p32_a_new_statement_leaves_the_version_comment() {
    let sql = b"/*!40000 1; 2 */";
    let mut lexer = Lexer::new(sql, mysql());
    assert!(lexer.by_ref().any(|t| t.kind == TokenKind::Semicolon));
    lexer.begin_statement();
    let kinds: Vec<_> = lexer.map(|t| t.kind).filter(|k| *k != TokenKind::Blank).collect();
    assert_eq!(kinds, [TokenKind::Number, TokenKind::Operator, TokenKind::Operator]);
}

/// Bytes that are likely to meet a rule.
fn sql_like() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            &b"SELECT"[..],
            b"/*",
            b"*/",
            b"/*!",
            b"/*M!",
            b"/*+",
            b"50700",
            b"999999",
            b" ",
            b"\n",
            b"--",
            b"-- ",
            b"#",
            b"'",
            b"''",
            b"\\",
            b"\"",
            b"`",
            b"@",
            b"@@",
            b"$",
            b"$$",
            b"$a$",
            b".",
            b"1",
            b"e",
            b"1.e",
            b"0x",
            b"x'",
            b"b'",
            b"N'",
            b";",
            b"\0",
            b"?",
            b"<=>",
            b":=",
            b"\x81",
            b"\xA0",
            b"\xFF",
            b"\x81\x30",
            b"\xE0",
            b"a",
            b"Z9",
            b"(",
            b")",
        ])
        .prop_map(<[u8]>::to_vec),
        prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn tokens_cover_the_input_without_gaps_or_overlaps(sql in sql_like()) {
        for mode in all_modes() {
            let mut end = 0;
            for token in Lexer::new(&sql, mode) {
                prop_assert_eq!(token.span().start, end);
                prop_assert!(token.end > token.start);
                end = token.span().end;
            }
            prop_assert_eq!(end, sql.len());
        }
    }

    /// Why the lexer is linear: a token depends on no byte further than 6 behind its end, so that each byte
    /// is looked at a bounded number of times. Only the token that reaches the end looked at everything.
    #[test]
    fn a_token_does_not_look_far_ahead(sql in sql_like()) {
        const FAR: usize = 6;
        for mode in all_modes() {
            for (i, token) in Lexer::new(&sql, mode).enumerate() {
                if token.kind == TokenKind::Unterminated || token.span().end + FAR >= sql.len() {
                    continue;
                }
                let cut = &sql[..token.span().end + FAR];
                prop_assert_eq!(Lexer::new(cut, mode).nth(i), Some(token));
            }
        }
    }
}
