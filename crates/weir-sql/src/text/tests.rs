use super::*;
use crate::testing::{all_modes, both};
use crate::{Digest, Lexer, MAX_DIGEST_LENGTH, TokenKind, read_facts};
use proptest::prelude::*;

/// All that a text says, with room for so many of its tokens.
fn said(sql: &[u8], mode: LexMode, room: usize) -> (Vec<u8>, [Facts; 2], ReadFacts) {
    let mut room = vec![Token::NONE; room];
    let text = Text::within(sql, mode, &mut room);
    let mut digest = Vec::new();
    text.digest(&mut digest);
    (digest, [text.facts(false), text.facts(true)], text.read_facts())
}

/// However many tokens are kept, and without any, it says the same.
#[track_caller]
fn check(sql: &[u8], mode: LexMode) {
    let expected = said(sql, mode, 0);
    assert_eq!(expected.0, Digest::of(sql, mode).text);
    for room in (1..24).chain([KEPT_ONCE, KEPT]) {
        assert_eq!(said(sql, mode, room), expected, "{room} {}", sql.escape_ascii());
    }
    assert_eq!(Facts::of(sql, mode, true), expected.1[1], "{}", sql.escape_ascii());
    assert_eq!(read_facts(sql, mode), expected.2, "{}", sql.escape_ascii());
}

const ROWS: &[&str] = &[
    "INSERT INTO t VALUES (1,'a'),(2,'b'),(3,'c')",
    "INSERT INTO t VALUES (1),(2),(3),(NOW()),(4),(5),(6,7),(8,9),(10,11)",
    "insert into t (a) values (1), (2) , (3) on duplicate key update a = values(a)",
    "INSERT INTO t VALUES (-1, + 2, NULL, 0x1f, b'1', 1.5, .5, 1e5, ?, N'n', \"d\"),(1,2,3,4,5,6,7,8,9,10,11),(NULL.a),(null)",
    "INSERT INTO t VALUES (--1),(-- 1\n1),(/* c */1),(1),(2)",
    "INSERT INTO t VALUES (1),(2) AS new(a) ON DUPLICATE KEY UPDATE a = new.a",
    "INSERT INTO t SELECT * FROM u WHERE a IN (1,2),(3,4),(5,6)",
    "INSERT INTO t SELECT * FROM u WHERE (a, b) IN ((1,2),(3,4),(5,6)) LIMIT 1,(2),(3)",
    "INSERT INTO t VALUES f(1),(2),(3)",
    "REPLACE INTO t VALUES (1),(2),(3); SELECT (1),(2),(3); INSERT INTO t VALUES (1),(2),(3);",
    "INSERT INTO t VALUES (1),(2),(3); SELECT * FROM u LIMIT 1, (2),(3)",
    "/*!50000 INSERT INTO t VALUES (1),(2),(3*/),(4),(5)",
    "INSERT INTO t VALUES (1),(2),(3 /*!99999 ,4 */),(5)",
    "INSERT INTO t VALUES (1),(2),('a",
    "INSERT INTO t VALUES (1),(2),(3\0),(4)",
    "INSERT INTO t VALUES (1),(2),(1.e,2),(3)",
    "INSERT INTO t VALUES (),(),(1),(2),()",
];

#[test]
fn rows_that_are_passed_change_nothing() {
    for sql in ROWS {
        for mode in all_modes() {
            check(sql.as_bytes(), mode);
        }
    }
}

/// Statements of other tests, and what makes them less than plain.
#[test]
fn what_a_plain_statement_says_is_what_its_tokens_say() {
    let listed = [
        include_str!("../facts/tests/queries.txt"),
        include_str!("../facts/tests/found.txt"),
        include_str!("../facts/tests/pins.txt"),
        include_str!("../facts/tests/packets.txt"),
        include_str!("../facts/tests/transactions.txt"),
        include_str!("../facts/tests/set.txt"),
        include_str!("../cacheable/tests/reads.txt"),
        include_str!("../digest/tests/cases.txt"),
    ];
    for line in listed.iter().flat_map(|file| file.lines()) {
        // Whatever else stands in the line changes nothing of the test.
        let sql = line.split_once(" => ").map_or(line, |(sql, _)| sql);
        for mode in both() {
            for sql in [sql, line, &format!("SELECT {sql}"), &format!("UPDATE t SET a=1 {sql}")] {
                let expected = said(sql.as_bytes(), mode, 0);
                assert_eq!(said(sql.as_bytes(), mode, KEPT), expected, "{sql}");
            }
        }
    }
}

#[test]
fn everyday_statements_are_plain() {
    for sql in [
        "SELECT c FROM sbtest1 WHERE id=5034",
        "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN 1 AND 100 ORDER BY c",
        "select `a`.`b` as x from `wp_posts` a where a.b in (1, 2, 'c') and c is not null limit 10",
        "UPDATE sbtest1 SET k=k+1 WHERE id=5034",
        "SELECT SUM(k), concat(a, 'b') FROM sbtest1 WHERE id BETWEEN 1 AND 100",
        "DELETE FROM sbtest1 WHERE id=5034",
        "INSERT INTO sbtest1 (id, k, c, pad) VALUES (5034, 5012, 'a', 'b')",
        "INSERT INTO t VALUES (1),(2),(3) ON DUPLICATE KEY UPDATE a=values(a)",
    ] {
        for mode in both() {
            let mut tokens = Tokens::default();
            assert!(tokens.read(sql.as_bytes(), mode).plain.is_some(), "{sql}");
        }
    }
}

#[test]
fn a_long_insert_has_few_tokens() {
    let rows = |row: &str| format!("INSERT INTO t (a, b) VALUES {}{row}", format!("{row},").repeat(10_000));
    for row in ["(1,'a')", "(NULL)", "( 1 , 'it''s \\' b' , -2.5 )", "(?, ?)"] {
        for mode in both() {
            let sql = rows(row);
            let mut tokens = Tokens::default();
            let text = tokens.read(sql.as_bytes(), mode);
            assert!(text.tokens.len() < 40, "{row}");
            assert_eq!(text.rest.position(), sql.len(), "{row}");
            assert_eq!(said(sql.as_bytes(), mode, 0), said(sql.as_bytes(), mode, KEPT), "{row}");
        }
    }
}

/// Where a digest is full, rows are read to the last.
#[test]
fn the_limit_of_a_digest_cuts_rows_alike() {
    for spare in 0..40 {
        let columns = "a,".repeat((MAX_DIGEST_LENGTH - spare) / 7);
        for fill in 0..7 {
            let sql =
                format!("INSERT INTO t{} ({columns}b) VALUES (1,2),(3,4),(5,6),(7),(8)", "x".repeat(fill));
            for mode in both() {
                let mut room = vec![Token::NONE; 10_000];
                let mut digest = Vec::new();
                Text::within(sql.as_bytes(), mode, &mut room).digest(&mut digest);
                assert!(digest == Digest::of(sql.as_bytes(), mode).text, "{spare} {fill}");
            }
        }
    }
}

/// Sums, not lexemes, must be the same: a row may not hide what stands behind it.
fn sql_like() -> impl Strategy<Value = Vec<u8>> {
    let pieces = [
        "INSERT INTO t VALUES ",
        "(1,2)",
        "(1)",
        ",",
        "(",
        ")",
        "1",
        "'a'",
        "NULL",
        "-",
        " ",
        "a.",
        ".",
        "@a",
        ";",
        "/*",
        "*/",
        "/*!",
        "/*+ x */",
        "SELECT ",
        "FROM t ",
        "IN ",
        "LIMIT ",
        "SET ",
        "=",
        ":=",
        "\\",
        "'",
        "\"",
        "`",
        "f(",
        "NOW()",
        "SUM(a)",
        "INTO @v ",
        "FOR UPDATE ",
        "LAST_INSERT_ID(",
        "GET_LOCK(",
        "# c\n",
        "-- ",
        "\0",
        "$$",
        "BEGIN ",
        "CREATE PROCEDURE p() ",
        "END ",
        "USE s",
        "@@x",
        "\u{e9}",
        "1.e",
        "0x1",
        "VALUES ",
        "WITH c AS ",
    ];
    let piece = prop::sample::select(pieces.to_vec()).prop_map(|piece| piece.as_bytes().to_vec());
    let piece = prop_oneof![20 => piece, 1 => prop::collection::vec(any::<u8>(), 0..3)];
    let front = prop::sample::select(vec!["", "INSERT INTO t VALUES (1,2),", "REPLACE t VALUES (1),"]);
    (front, prop::collection::vec(piece, 0..24))
        .prop_map(|(front, pieces)| [front.as_bytes().to_vec(), pieces.concat()].concat())
}

/// Statements that are plain but for what chance puts into them.
fn nearly_plain() -> impl Strategy<Value = String> {
    let fronts = [
        "SELECT ",
        "SELECT a FROM t ",
        "INSERT INTO t ",
        "REPLACE t ",
        "UPDATE t SET ",
        "UPDATE ",
        "DELETE FROM t ",
        "DELETE ",
        "",
    ];
    let known: Vec<String> = crate::words::spellings().iter().map(|word| word.to_lowercase()).collect();
    let signs = [
        "(",
        ")",
        ",",
        "=",
        ".",
        "1",
        "'a'",
        "`a`",
        "`profiling`",
        "a",
        "?",
        "*",
        "%",
        ":=",
        "<=",
        "@a",
        ";",
        "from",
        "limit",
    ];
    let piece = prop_oneof![
        3 => prop::sample::select(known),
        2 => prop::sample::select(signs.to_vec()).prop_map(str::to_owned),
    ];
    (prop::sample::select(fronts.to_vec()), prop::collection::vec((piece, any::<bool>()), 0..10)).prop_map(
        |(front, pieces)| {
            let pieces = pieces.into_iter().map(|(piece, blank)| piece + if blank { " " } else { "" });
            front.to_owned() + &pieces.collect::<String>()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000), ..Default::default() })]

    #[test]
    fn a_nearly_plain_statement_says_what_its_tokens_say(sql in nearly_plain()) {
        for mode in both() {
            prop_assert_eq!(said(sql.as_bytes(), mode, KEPT), said(sql.as_bytes(), mode, 0));
        }
    }
}

proptest! {
    #[test]
    fn kept_tokens_change_nothing(sql in sql_like(), room in 0_usize..40) {
        for mode in all_modes() {
            prop_assert_eq!(said(&sql, mode, room), said(&sql, mode, 0));
            prop_assert_eq!(said(&sql, mode, KEPT), said(&sql, mode, 0));
        }
    }

    /// A row is what its tokens say.
    #[test]
    fn a_row_is_what_its_tokens_are(sql in "[(,)' NULu1.x+?-]{0,24}") {
        let sql = format!("({sql}");
        for mode in both() {
            let row = Lexer::new(sql.as_bytes(), mode).row(0);
            prop_assert_eq!(row.map(|row| (row.end, row.is_wide)), slowly(sql.as_bytes(), mode));
        }
    }
}

/// The row at the front, by its tokens.
fn slowly(sql: &[u8], mode: LexMode) -> Option<(usize, bool)> {
    let mut tokens = Lexer::new(sql, mode).filter(|token| token.kind != TokenKind::Blank).skip(1).peekable();
    let mut values = 0;
    loop {
        let mut token = tokens.next()?;
        let is_signed = token.is_one_of(b"+-");
        if is_signed {
            token = tokens.next()?;
        }
        let is_value = match token.kind {
            TokenKind::Number | TokenKind::HexLiteral | TokenKind::BitLiteral => true,
            TokenKind::String | TokenKind::Param => !is_signed,
            TokenKind::Word => !is_signed && token.text(sql).eq_ignore_ascii_case(b"null"),
            _ => false,
        };
        values += 1;
        let end = tokens.next()?;
        if !is_value || !end.is_one_of(b",)") {
            return None;
        }
        if end.is(b')') {
            return Some((end.end as usize, values > 1));
        }
    }
}
