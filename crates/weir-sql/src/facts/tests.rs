use super::*;
use crate::testing::{all_modes, both, in_charset, mariadb, mysql};
use crate::{CharsetClass, LexMode, Lexer, TokenKind};
use proptest::prelude::*;

mod render;

use render::render;

/// The tables: `statement => facts`, for both families unless `mysql:` or `mariadb:` stands before the statement, and
/// with multi-statements enabled. `\n` in a statement is a line feed.
const TABLES: [(&str, &str); 5] = [
    ("queries", include_str!("tests/queries.txt")),
    ("set", include_str!("tests/set.txt")),
    ("transactions", include_str!("tests/transactions.txt")),
    ("pins", include_str!("tests/pins.txt")),
    ("packets", include_str!("tests/packets.txt")),
];

#[test]
fn p31_what_becomes_of_the_clients_character_set() {
    use ClientCharset::{Default, Named, Unknown};
    for (sql, expected) in [
        ("SELECT 1", None),
        ("SET sql_mode = ''", None),
        ("SET NAMES gbk", Some(Named(CharsetClass::Gbk))),
        ("/*!40101 SET NAMES 'sjis' COLLATE 'sjis_bin' */", Some(Named(CharsetClass::Sjis))),
        ("SET NAMES DEFAULT", Some(Default)),
        ("SET CHARSET Latin1", Some(Named(CharsetClass::BlankA0))),
        ("SET @a = 1, @@session.character_set_client = cp932", Some(Named(CharsetClass::Sjis))),
        ("SET character_set_client = DEFAULT", Some(Default)),
        ("SET character_set_client = @saved", Some(Unknown)),
        ("SET character_set_client = 28", Some(Unknown)),
        ("SET GLOBAL character_set_client = gbk", None),
        ("SET NAMES gbk; SET NAMES utf8mb4", Some(Named(CharsetClass::AsciiSafe))),
    ] {
        for mode in both() {
            assert_eq!(
                Facts::of(sql.as_bytes(), mode, true).client_charset(sql.as_bytes()),
                expected,
                "{sql}"
            );
        }
    }
}

struct Case {
    place: String,
    modes: Vec<LexMode>,
    sql: String,
    expected: &'static str,
}

fn cases() -> Vec<Case> {
    cases_of(&TABLES)
}

fn cases_of(tables: &[(&'static str, &'static str)]) -> Vec<Case> {
    let mut all = Vec::new();
    for (table, text) in tables {
        for (i, line) in text.lines().enumerate().filter(|(_, l)| !l.is_empty() && !l.starts_with("##")) {
            let place = format!("{table}.txt:{}", i + 1);
            let (statement, expected) = line.rsplit_once("=>").unwrap_or_else(|| panic!("{place}: no =>"));
            let (modes, sql) = match statement.split_once(": ") {
                Some(("mysql", sql)) => (vec![mysql()], sql),
                Some(("mariadb", sql)) => (vec![mariadb()], sql),
                _ => (both().to_vec(), statement),
            };
            let sql = sql.trim_end().replace("\\n", "\n");
            all.push(Case { place, modes, sql, expected: expected.trim() });
        }
    }
    all
}

#[test]
fn the_tables_hold() {
    let mut wrong = Vec::new();
    for Case { place, modes, sql, expected } in cases() {
        for mode in modes {
            let found = render(&Facts::of(sql.as_bytes(), mode, true), sql.as_bytes());
            if found != expected {
                wrong.push(format!("{place} {:?}: {sql} => {found}", mode.family));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(cases().len() >= 300);
}

/// `statement => sent`, `kept` or `unknown`.
const FOUND: [(&str, &str); 1] = [("found", include_str!("tests/found.txt"))];

#[test]
fn p26_what_found_rows_is_after_a_statement() {
    let mut wrong = Vec::new();
    for Case { place, modes, sql, expected } in cases_of(&FOUND) {
        for mode in modes {
            let found = match Facts::of(sql.as_bytes(), mode, true).rows_found {
                RowsFound::AsSent => "sent",
                RowsFound::Kept => "kept",
                RowsFound::Unknown => "unknown",
            };
            if found != expected {
                wrong.push(format!("{place} {:?}: {sql} => {found}", mode.family));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

const KEEPS: &[(&str, &str, &[&str])] = &[
    (
        "diagnostics",
        "both",
        &["SHOW WARNINGS", "SHOW COUNT(*) ERRORS", "GET DIAGNOSTICS @a = NUMBER", "SHOW PROFILES", "", "f"],
    ),
    (
        "diagnostics",
        "mariadb",
        &["SELECT 1", "SELECT 1 FROM dual", "SET @a = 1", "COMMIT", "DO 1", "USE d", "PREPARE s FROM 'a'"],
    ),
    (
        "found_rows",
        "both",
        &["SET @a = 1", "COMMIT", "SHOW WARNINGS", "DELETE FROM t", "WITH a AS (SELECT 1) DELETE FROM t"],
    ),
    ("row_count", "both", &["GET DIAGNOSTICS @a = NUMBER", "/**/", "f"]),
];

const REPLACES: &[(&str, &str, &[&str])] = &[
    (
        "diagnostics",
        "both",
        &[
            "SELECT * FROM t",
            "INSERT INTO t VALUES (1)",
            "UPDATE t SET a = 1",
            "DELETE FROM t",
            "SHOW WARNINGS; SELECT a FROM t",
        ],
    ),
    ("diagnostics", "mysql", &["SELECT 1", "SET @a = 1", "COMMIT", "DO 1", "USE d", "SHOW TABLES"]),
    (
        "found_rows",
        "both",
        &["SELECT 1", "(SELECT a FROM t)", "SELECT 1; SET @a = 1", "SHOW COUNT(*) WARNINGS"],
    ),
    ("row_count", "both", &["SELECT 1", "SET @a = 1", "SHOW WARNINGS", "COMMIT"]),
];

#[test]
fn p26_leftovers_are_kept_unless_they_are_replaced() {
    for (table, kept) in [(KEEPS, true), (REPLACES, false)] {
        for (leftover, family, sqls) in table {
            for mode in both() {
                let is_meant =
                    *family == "both" || family.eq_ignore_ascii_case(&format!("{:?}", mode.family));
                for sql in sqls.iter().filter(|_| is_meant) {
                    let facts = Facts::of(sql.as_bytes(), mode, true);
                    let found = facts.keeps.iter().any(|l| l.as_str() == *leftover);
                    assert_eq!(found, kept, "{leftover}: {sql} {:?}", mode.family);
                }
            }
        }
    }
}

#[test]
fn p32_without_multi_statements_a_semicolon_is_an_error_except_in_a_body() {
    for mode in both() {
        let facts = |sql: &str| Facts::of(sql.as_bytes(), mode, false);
        assert!(facts("SELECT 1; SELECT 2").pins.contains(Pin::Unknown));
        assert!(!facts("SELECT 1; SELECT 2").read_only);
        assert!(!facts("SELECT 1;").pins.contains(Pin::Unknown));
        let program = facts("CREATE PROCEDURE p() BEGIN SELECT 1; IF a THEN SET autocommit = 0; END IF; END");
        assert!(program.pins.is_empty() && !program.has_effects());
        assert!(facts("BEGIN NOT ATOMIC SELECT 1; END").pins.contains(Pin::Compound));
    }
}

#[test]
fn p31_names_and_literals_follow_the_mode() {
    let check = |mode: LexMode, sql: &[u8], expected: &str| {
        assert_eq!(render(&Facts::of(sql, mode, true), sql), expected);
    };
    let ansi = LexMode { ansi_quotes: true, ..mysql() };
    check(ansi, b"SET \"autocommit\" = 0", "session.autocommit=Integer(0)");
    check(ansi, b"SET sql_mode = \"ansi\"", "session.sql_mode=Word(\"ansi\")");
    check(ansi, b"USE \"a\"\"b\"", "use(a\"b)");
    check(ansi, b"SELECT \"f\"(1)", "pin:stored_function");
    let plain = LexMode { no_backslash_escapes: true, ..mysql() };
    check(plain, b"SET @a = 'x\\', @b = 'y'", "@a=String('x\\') @b=String('y')");
    check(mysql(), b"SET @a = 'x\\', @b = 'y'", "@a=? pin:computed_variable pin:unknown @w");
    for charset in [CharsetClass::Gbk, CharsetClass::Sjis, CharsetClass::Big5] {
        let lead = if charset == CharsetClass::Big5 { b'\xa1' } else { b'\x81' };
        let trail = [b"SET @a = '".as_slice(), &[lead], b"\\', autocommit = 0"].concat();
        let facts = Facts::of(&trail, in_charset(charset), true);
        assert_eq!(facts.effects(&trail).len(), 2, "{charset:?}");
        assert!(facts.pins.is_empty(), "{charset:?}");
        let name = [b"USE `".as_slice(), &[lead], b"\x60``b`"].concat();
        let facts = Facts::of(&name, in_charset(charset), true);
        let decoded = [&[lead, b'`'], b"`b".as_slice()].concat();
        let found: Vec<_> = facts.effects(&name).collect();
        assert!(matches!(&found[..], [Effect::Schema(n)] if n.decoded() == decoded), "{charset:?} {found:?}");
    }
}

#[test]
fn literals_tell_what_they_say() {
    let value = |sql: &'static str| {
        let facts = Facts::of(sql.as_bytes(), mysql(), false);
        match facts.effects(sql.as_bytes()).next() {
            Some(Effect::Variable { name, value: Value::Literal(literal), .. }) if name.is("A") => {
                let plain = literal.plain().map(|p| String::from_utf8_lossy(&p).into_owned());
                (plain, literal.integer(), literal.is_portable())
            }
            other => panic!("{sql}: {other:?}"),
        }
    };
    let plain = |text: &str| (Some(text.to_owned()), None, true);
    assert_eq!(value("SET a = utf8mb4"), plain("utf8mb4"));
    assert_eq!(value("SET `a` = 'utf8mb4'"), plain("utf8mb4"));
    assert_eq!(value("SET a = `x`"), plain("x"));
    assert_eq!(value("SET a = 'it''s'"), plain("it's"));
    assert_eq!(value("SET a = ''"), plain(""));
    assert_eq!(value("SET a = 'x\\n'"), (None, None, false));
    assert_eq!(value("SET a = _latin1'x'"), (None, None, true));
    assert_eq!(value("SET a = \"x\""), (Some("x".to_owned()), None, false));
    assert_eq!(value("SET a = 'é'"), (Some("é".to_owned()), None, false));
    assert_eq!(value("SET a = 12"), (None, Some(12), true));
    assert_eq!(value("SET a = - 12"), (None, Some(-12), true));
    assert_eq!(value("SET a = 1.5"), (None, None, true));
    assert_eq!(value("SET a = 99999999999999999999999999999999999999999"), (None, None, true));
}

#[test]
fn p5_effects_are_bounded() {
    let many = format!("SET {}", vec!["a = 1"; 100_000].join(", "));
    let facts = Facts::of(many.as_bytes(), mysql(), false);
    assert_eq!(facts.effects(many.as_bytes()).len(), 512);
    assert!(facts.pins.contains(Pin::Unknown));
    assert_eq!(
        facts
            .effects(b"")
            .filter(|e| matches!(e, Effect::Variable { name, .. } if name.text.is_empty()))
            .count(),
        512
    );
    assert!(size_of::<Facts>() <= 128, "{}", size_of::<Facts>());
    assert_eq!(Facts::of(b"SET autocommit = 0", mysql(), false).heap_size(), 0);
}

#[test]
fn deep_nesting_is_no_recursion() {
    for sql in
        ["SET STATEMENT a=1 FOR ", "(", "SELECT (", "CREATE PROCEDURE p() BEGIN ", "SET @a = (", "BEGIN "]
    {
        let deep = sql.repeat(50_000);
        for mode in both() {
            let _facts = Facts::of(deep.as_bytes(), mode, true);
        }
    }
}

/// A statement of the tables, as the family it is for reads it.
fn any_case() -> impl Strategy<Value = (LexMode, String)> {
    let all: Vec<_> =
        cases().into_iter().flat_map(|c| c.modes.into_iter().map(move |m| (m, c.sql.clone()))).collect();
    prop::sample::select(all)
}

proptest! {
    #[test]
    fn no_bytes_make_it_fail(sql in prop::collection::vec(any::<u8>(), 0..64), multi: bool) {
        for mode in all_modes() {
            let facts = Facts::of(&sql, mode, multi);
            prop_assert!(!facts.read_only || facts.kind() == crate::StatementKind::Read);
            let _line = render(&facts, &sql);
        }
    }

    #[test]
    fn p21_comments_before_and_behind_change_nothing((mode, sql) in any_case(), front in "( |\t|\n|/\\*a\\*/|# '\n|-- ;\n|/\\*!999999 KILL \\*/){0,4}") {
        let bare = render(&Facts::of(sql.as_bytes(), mode, true), sql.as_bytes());
        let fronted = format!("{front}{sql}");
        prop_assert_eq!(&render(&Facts::of(fronted.as_bytes(), mode, true), fronted.as_bytes()), &bare);
    }

    #[test]
    fn blanks_between_tokens_change_nothing((mode, sql) in any_case(), blank in "( |\n|\t){1,3}") {
        let tokens: Vec<_> = Lexer::new(sql.as_bytes(), mode).collect();
        let spaced: Vec<u8> = tokens.iter().flat_map(|t| {
            let text = t.text(sql.as_bytes());
            match t.kind {
                // The end of a line may end a comment.
                TokenKind::Blank if text.contains(&b'\n') => [blank.as_bytes(), b"\n"].concat(),
                TokenKind::Blank => blank.as_bytes().to_vec(),
                _ => text.to_vec(),
            }
        }).collect();
        let bare = Facts::of(sql.as_bytes(), mode, true);
        let found = Facts::of(&spaced, mode, true);
        // A blank may stand inside of a literal that is minus and number.
        let same = |line: String| line.replace("\\t", "").replace("\\n", "").replace(' ', "");
        prop_assert_eq!(same(render(&found, &spaced)), same(render(&bare, sql.as_bytes())));
    }

    #[test]
    fn letter_case_changes_nothing((mode, sql) in any_case(), upper: bool) {
        let folded: Vec<u8> = Lexer::new(sql.as_bytes(), mode).flat_map(|t| {
            let text = t.text(sql.as_bytes());
            let is_word = matches!(t.kind, TokenKind::Word | TokenKind::Name | TokenKind::SysVar | TokenKind::UserVar);
            match (is_word, upper) {
                (true, true) => text.to_ascii_uppercase(),
                (true, false) => text.to_ascii_lowercase(),
                _ => text.to_vec(),
            }
        }).collect();
        let bare = render(&Facts::of(sql.as_bytes(), mode, true), sql.as_bytes());
        let found = render(&Facts::of(&folded, mode, true), &folded);
        prop_assert_eq!(found.to_lowercase(), bare.to_lowercase());
    }

    #[test]
    fn p32_a_packet_has_what_its_statements_have(picked in prop::collection::vec(any_case(), 2..4)) {
        let mode = picked[0].0;
        // What breaks off in the middle takes in what follows.
        if picked.iter().any(|(_, sql)| Facts::of(sql.as_bytes(), mode, true).pins.contains(Pin::Unknown)) {
            return Ok(());
        }
        let joined = picked.iter().map(|(_, s)| s.as_str()).collect::<Vec<_>>().join("\n; ");
        let packet = Facts::of(joined.as_bytes(), mode, true);
        if packet.pins.contains(Pin::Unknown) || packet.pins.contains(Pin::Compound) {
            return Ok(());
        }
        for (_, sql) in &picked {
            let one = Facts::of(sql.as_bytes(), mode, true);
            // A packet without a statement is an error, and one between others is nothing.
            if Lexer::new(sql.as_bytes(), mode).all(|t| t.kind == TokenKind::Blank || t.text(sql.as_bytes()) == b";") {
                continue;
            }
            prop_assert!(one.pins.is_subset(packet.pins), "{}: {:?} {:?}", sql, one.pins, packet.pins);
            prop_assert!(one.reads.is_subset(packet.reads));
            prop_assert!(packet.keeps.is_subset(one.keeps));
            let several = packet.classified.statements == crate::Statements::Many;
            prop_assert!(!several || packet.rows_found == RowsFound::Unknown || one.rows_found == RowsFound::Kept);
        }
    }
}

/// Anything that is not linear takes many minutes for these.
#[test]
fn many_statements_in_a_packet_take_their_time_and_no_more() {
    for piece in ["DO 0;", "DO 0; /**/", "; \n", "SET @a=1;", "BEGIN;", ";", "/*a*/;", "SELECT 1;\0"] {
        let sql = piece.repeat(400_000 / piece.len());
        for (mode, sql) in
            both().into_iter().flat_map(|mode| [(mode, sql.clone()), (mode, sql.clone() + "x")])
        {
            let facts = Facts::of(sql.as_bytes(), mode, true);
            assert_eq!(facts.classified, crate::Statement::classify(sql.as_bytes(), mode, true), "{piece}");
            crate::read_facts(sql.as_bytes(), mode);
        }
    }
}
