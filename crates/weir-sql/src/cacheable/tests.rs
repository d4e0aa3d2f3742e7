use super::*;
use crate::testing::{all_modes, both, in_charset, mariadb, mysql};
use crate::words::WordId;
use crate::{CharsetClass, Facts, Pin, PinSet, RowsFound};
use proptest::prelude::*;
use weir_model::ServerFamily;

/// `statement => what is told`: the reason of a refusal or `ok`, the tables, the functions with `()`. For both families
/// unless `mysql:` or `mariadb:` stands before the statement.
const READS: &str = include_str!("tests/reads.txt");

fn cases() -> impl Iterator<Item = (Vec<LexMode>, &'static str, &'static str)> {
    let lines = READS.lines().filter(|line| !line.starts_with("##"));
    lines.map(|line| {
        let (modes, line) = match line.split_once(": ") {
            Some(("mysql", line)) => (vec![mysql()], line),
            Some(("mariadb", line)) => (vec![mariadb()], line),
            _ => (both().to_vec(), line),
        };
        let (sql, expected) = line.split_once(" => ").unwrap();
        (modes, sql, expected)
    })
}

fn name(schema: Option<&Vec<u8>>, name: &[u8]) -> String {
    let schema = schema.map_or(String::new(), |schema| format!("{}.", String::from_utf8_lossy(schema)));
    format!("{schema}{}", String::from_utf8_lossy(name))
}

fn render(facts: &ReadFacts) -> String {
    let mut all = vec![facts.verdict.map_or_else(|reason| reason.as_str().to_owned(), |()| "ok".to_owned())];
    if facts.verdict != Err(Uncacheable::NotARead) {
        all.extend(facts.tables.iter().map(|t| name(t.schema.as_ref(), &t.name)));
        all.extend(facts.functions.iter().map(|f| name(f.schema.as_ref(), &f.name) + "()"));
    }
    if facts.found_rows {
        all.push("+found_rows".to_owned());
    }
    if facts.asks_found_rows {
        all.push("+asks_found_rows".to_owned());
    }
    all.join(" ")
}

#[test]
fn what_is_told_of_reads() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (modes, sql, expected) in cases() {
        for mode in modes {
            count += 1;
            let found = render(&read_facts(sql.as_bytes(), mode));
            if found != expected {
                wrong.push(format!("{:?}: {sql}\n  told:     {found}\n  expected: {expected}", mode.family));
            }
        }
    }
    assert!(wrong.is_empty() && count > 500, "{count} cases\n{}", wrong.join("\n"));
}

#[test]
fn every_reason_has_a_case_and_a_word_of_its_own() {
    let words: std::collections::BTreeSet<_> = Uncacheable::ALL.iter().map(|r| r.as_str()).collect();
    assert_eq!(words.len(), Uncacheable::ALL.len());
    for reason in Uncacheable::ALL.iter().filter(|r| **r != Uncacheable::TooLarge) {
        let has_case = cases().any(|(_, _, expected)| expected.split(' ').next() == Some(reason.as_str()));
        assert!(has_case, "{}", reason.as_str());
        assert!(cases().all(|(_, _, expected)| !expected.is_empty()));
    }
    assert!(Uncacheable::ALL.is_sorted());
}

#[test]
fn what_writes_name() {
    for (sql, expected) in [
        ("INSERT INTO t VALUES (1)", "t"),
        ("insert low_priority ignore `a``b` (x) select * from u", "a`b"),
        ("INSERT s.t SET a = 1", "s.t"),
        ("REPLACE INTO s . t VALUES (1), (2)", "s.t"),
        ("UPDATE t SET a = 1", "t"),
        ("UPDATE LOW_PRIORITY IGNORE s.t AS x SET x.a = 1 WHERE a = (SELECT 1 FROM v)", "s.t"),
        ("UPDATE t, u JOIN v ON t.a = u.a LEFT JOIN w USING (id) SET t.a = 1", "t u v w"),
        ("DELETE FROM t WHERE a = 1", "t"),
        ("DELETE QUICK FROM s.t LIMIT 1", "s.t"),
        ("DELETE t, s.u.* FROM t JOIN s.u JOIN v", "t s.u v"),
        ("DELETE FROM t, u USING t JOIN u JOIN v WHERE 1", "t u v"),
        ("LOAD DATA LOCAL INFILE 'a' REPLACE INTO TABLE s.t", "s.t"),
        ("TRUNCATE t", "t"),
        ("TRUNCATE TABLE s.t;", "s.t"),
        ("DROP TABLE IF EXISTS t, s.u", "t s.u"),
        ("RENAME TABLE t TO u, v TO s.w", "t u v s.w"),
        ("ALTER TABLE t ADD COLUMN a INT", "t"),
        ("ALTER TABLE t RENAME TO u", "t ?"),
        ("ALTER TABLE t CONVERT TABLE u TO PARTITION p VALUES LESS THAN (2)", "t ?"),
        ("ALTER TABLE t CONVERT PARTITION p TO TABLE u", "t ?"),
        ("CREATE TABLE IF NOT EXISTS s.t (a INT)", "s.t"),
        ("CREATE TEMPORARY TABLE t SELECT * FROM u", "t"),
        ("CREATE VIEW v AS SELECT 1", "?"),
        ("DROP DATABASE s", "?"),
        ("CALL p()", "?"),
        ("WITH c AS (SELECT 1) UPDATE t SET a = 1", "?"),
        ("INSERT INTO t VALUES (1); DELETE FROM u", "t ?"),
        ("INSERT INTO t VALUES ('", "t ?"),
        ("INSERT INTO ", "?"),
        ("COMMIT", ""),
        ("SHOW TABLES", ""),
        ("SELECT 1", ""),
        ("SELECT f(1)", "?"),
        ("SELECT 1; DELETE FROM t", "?"),
        ("", ""),
        ("/* a */", ""),
        ("SET @a = f(1)", "?"),
        ("DO f(1)", "?"),
        ("EXPLAIN ANALYZE DELETE FROM t", "?"),
        ("42", "?"),
    ] {
        for mode in both() {
            let writes = read_facts(sql.as_bytes(), mode).writes;
            let mut all: Vec<_> = writes.tables.iter().map(|t| name(t.schema.as_ref(), &t.name)).collect();
            if writes.unsure {
                all.push("?".to_owned());
            }
            assert_eq!(all.join(" "), expected, "{sql}");
        }
    }
}

#[test]
fn schemas_of_the_server_are_known_in_every_spelling() {
    for known in [
        "mysql",
        "MySQL",
        "sys",
        "SYS",
        "Performance_Schema",
        "INFORMATION_SCHEMA",
        "İnformation_schema",
        "ſys",
    ] {
        assert!(is_system_schema(known.as_bytes()), "{known}");
    }
    for other in ["", "mysql2", "app", "数据库", "information"] {
        assert!(!is_system_schema(other.as_bytes()), "{other}");
    }
    let facts = read_facts(b"SELECT * FROM user", mysql());
    assert!(facts.reads_system_schema(b"MYSQL") && !facts.reads_system_schema(b"app"));
    assert!(!read_facts(b"SELECT * FROM app.user", mysql()).reads_system_schema(b"mysql"));
    assert!(read_facts(b"SELECT f(1)", mysql()).reads_system_schema(b"sys"));
    assert!(!read_facts(b"SELECT 1", mysql()).reads_system_schema(b"sys"));
}

#[test]
fn p31_modes_and_character_sets_split_as_the_server_does() {
    let told = |sql: &[u8], mode| render(&read_facts(sql, mode));
    let ansi = LexMode { ansi_quotes: true, ..mysql() };
    assert_eq!(told(b"SELECT * FROM \"t\", \"s\".\"u\"\"v\"", ansi), "ok t s.u\"v");
    assert_eq!(told(b"SELECT \"now\"()", ansi), "nondeterministic_function now()");
    assert_eq!(told(b"SELECT 'a\\', NOW() -- '", mysql()), "ok");
    let plain = LexMode { no_backslash_escapes: true, ..mysql() };
    assert_eq!(told(b"SELECT 'a\\', NOW() -- '", plain), "nondeterministic_function");
    // The second byte of a character is a backslash, or a quote of identifiers.
    for charset in [CharsetClass::Gbk, CharsetClass::Sjis] {
        assert_eq!(told(b"SELECT '\x95\x5c', NOW() -- '", in_charset(charset)), "nondeterministic_function");
    }
    let name = read_facts(b"SELECT * FROM `\x95\x60\x60\x60`", in_charset(CharsetClass::Gbk)).tables;
    assert_eq!(name[0].name, b"\x95\x60\x60");
    // A blank of one byte from 0x80.
    assert_eq!(told(b"SELECT\xa0NOW\xa0()", in_charset(CharsetClass::BlankA0)), "nondeterministic_function");
    // Of a server of unknown version, no comment of versions is judged.
    let unknown = LexMode::new(ServerFamily::MySql, 0);
    assert_eq!(told(b"SELECT 1 /*!50000 , NOW() */", unknown), "unknown");
    assert_eq!(told(b"SELECT 1 /*M!50000 , NOW() */", LexMode::new(ServerFamily::MariaDb, 0)), "unknown");
    // Words that older servers do not know.
    let old = LexMode::new(ServerFamily::MySql, 50_744);
    assert_eq!(told(b"SELECT * FROM t JOIN u except ON 1, v", old).split(' ').next(), Some("unknown"));
}

#[test]
fn what_is_too_large_is_refused_quickly() {
    let judged = |sql: Vec<u8>| both().map(|mode| read_facts(&sql, mode));
    let refused = |sql: Vec<u8>| judged(sql).iter().all(|f| f.verdict == Err(Uncacheable::TooLarge));
    assert!(refused([b"SELECT '".as_slice(), &vec![b'a'; LONGEST_JUDGED], b"'"].concat()));
    assert!(refused([b"SELECT ".as_slice(), &[b'('; 300], b"1", &[b')'; 300]].concat()));
    let many = |part: &str, n: usize| (0..n).map(|i| part.replace('#', &i.to_string())).collect::<String>();
    assert!(refused(format!("SELECT * FROM a{}", many(", t#", 300)).into_bytes()));
    assert!(refused(format!("SELECT 1{}", many(", f#()", 300)).into_bytes()));
    assert!(refused(
        format!("WITH c AS (SELECT 1){} SELECT 1", many(", c# AS (SELECT 1)", 300)).into_bytes()
    ));
    assert!(
        judged(format!("SELECT 1{}", many(", t.c#", 50_000)).into_bytes())
            .iter()
            .all(ReadFacts::is_cacheable)
    );

    const MANY: usize = 64 << 20;
    for (front, filling) in [
        (b"INSERT INTO t VALUES ".as_slice(), b"(1,'a'),".as_slice()),
        (b"SELECT ", b"("),
        (b"", b"("),
        (b"SELECT /*", b"/*!"),
        (b"", b"/*!50000 "),
        (b"DELETE ", b"\xff\x00`"),
        (b"ALTER TABLE t ", b"rename "),
    ] {
        let mut sql = front.to_vec();
        sql.extend(filling.iter().cycle().take(if cfg!(debug_assertions) { MANY / 32 } else { MANY }));
        for facts in judged(sql) {
            assert!(!facts.is_cacheable());
        }
    }
}

/// Blanks and comments that a server skips, in every mode.
fn filler() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        " ",
        "\n",
        "\t \r\n",
        "/**/",
        "/* NOW() */",
        "/* ' */",
        "-- x '\n",
        "#`\n",
        " /*!999999 , NOW() */ ",
        "/* FOR UPDATE */",
    ])
}

/// The statement with each blank between tokens made another, and the case of letters of words that are no names changed.
fn disguised(sql: &str, mode: LexMode, fillers: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut fillers = fillers.iter().cycle();
    for token in Lexer::new(sql.as_bytes(), mode) {
        match token.kind {
            TokenKind::Blank => out.extend(fillers.next().unwrap().as_bytes()),
            TokenKind::Word if class_or_keyword(token.text(sql.as_bytes()), mode) => {
                let flip = |b: &u8| {
                    if b.is_ascii_uppercase() { b.to_ascii_lowercase() } else { b.to_ascii_uppercase() }
                };
                out.extend(token.text(sql.as_bytes()).iter().map(flip));
            }
            _ => out.extend(token.text(sql.as_bytes())),
        }
    }
    out
}

/// The names in small letters.
fn folded(facts: &ReadFacts) -> Vec<String> {
    facts.tables.iter().map(|t| name(t.schema.as_ref(), &t.name).to_lowercase()).collect()
}

fn class_or_keyword(word: &[u8], mode: LexMode) -> bool {
    let is_keyword =
        crate::Keyword::of(word).is_some() || crate::functions::stands_before_paren(WordId::of(word));
    is_keyword || crate::functions::is_harmless(WordId::of(word), mode) || functions::class(word).is_some()
}

/// Where a text may be warned of for SQL_CALC_FOUND_ROWS, the rows found are asked for. A proxy that keeps answers with that warning counts
/// on both, and refuses as `found_rows` what has one alone, which no server can bring about.
#[test]
fn wherever_the_option_stands_the_rows_found_are_not_taken_for_those_sent() {
    let mut met = 0;
    for (modes, sql, _) in cases() {
        for (at, _) in sql.match_indices(' ') {
            for option in [" SQL_CALC_FOUND_ROWS", " /*!50000 sql_calc_found_rows */", ".sql_calc_found_rows"]
            {
                let sql = format!("{}{option}{}", &sql[..at], &sql[at..]);
                for mode in &modes {
                    if read_facts(sql.as_bytes(), *mode).found_rows {
                        met += 1;
                        let facts = Facts::of(sql.as_bytes(), *mode, true);
                        assert_ne!(facts.rows_found, RowsFound::AsSent, "{sql}");
                    }
                }
            }
        }
    }
    assert!(met > 1000, "{met}");
}

proptest! {
    #[test]
    fn any_bytes_are_judged(sql in proptest::collection::vec(any::<u8>(), 0..200), mode in 0..usize::MAX) {
        let modes = all_modes();
        read_facts(&sql, modes[mode % modes.len()]);
    }

    /// Pieces of SQL in any order: never a panic, and what is cacheable the facts of the statement call read-only.
    #[test]
    fn what_is_cacheable_only_reads(
        parts in proptest::collection::vec(proptest::sample::select(vec![
            "SELECT", "FROM", "t", "`u`", ",", "(", ")", "WHERE", "JOIN", "ON", "USING", "WITH", "AS", "c", "UNION", "NOW", "f",
            "INTO", "@a", ":=", "@@x", "FOR", "UPDATE", "SHARE", "LOCK", "DELETE", "1", "'a'", ".", "*", ";", "TABLE", "VALUES",
            "ROW", "{", "}", "oj", "CAST", "TIME", "INSERT", "REPLACE", "concat", "count", "LIMIT", "/*", "*/", "/*!", "--",
            "NEXT VALUE FOR", "LAST_INSERT_ID", "RECURSIVE", "PARTITION", "FORCE INDEX", "json_table", "columns", "SET", "get_lock",
        ]), 0..40),
        mode in 0..usize::MAX,
    ) {
        let modes = all_modes();
        let mode = modes[mode % modes.len()];
        let sql = format!("SELECT {}", parts.join(" "));
        let facts = read_facts(sql.as_bytes(), mode);
        if facts.is_cacheable() && !facts.needs_resolving() {
            let all = Facts::of(sql.as_bytes(), mode, true);
            prop_assert!(all.read_only, "{sql}: {all:?}");
            prop_assert!(all.reads.is_empty() && !all.variables.read, "{sql}: {all:?}");
            prop_assert!(all.pins.is_subset(PinSet::of(&[Pin::FoundRows])), "{sql}: {all:?}");
        }
    }

    #[test]
    fn comments_blanks_and_case_change_nothing(at in any::<proptest::sample::Index>(), fillers in proptest::collection::vec(filler(), 1..8)) {
        let all: Vec<_> = cases().collect();
        let (modes, sql, _) = &all[at.index(all.len())];
        // A blank may make a comment of `--`, and is part of `SELECT FOUND_ROWS( )`.
        for mode in modes {
            let before = read_facts(sql.as_bytes(), *mode);
            let after_sql = disguised(sql, *mode, &fillers);
            let after = read_facts(&after_sql, *mode);
            let is_same = after.verdict == before.verdict && folded(&after) == folded(&before) && after.found_rows == before.found_rows;
            prop_assert!(is_same, "{} {before:?} {after:?}", after_sql.escape_ascii());
        }
    }

    /// A prefix of a statement is never judged by what was cut off.
    #[test]
    fn a_statement_that_breaks_off_does_not_panic(at in any::<proptest::sample::Index>(), cut in any::<proptest::sample::Index>()) {
        let all: Vec<_> = cases().collect();
        let (modes, sql, _) = &all[at.index(all.len())];
        let end = cut.index(sql.len() + 1);
        for mode in modes {
            read_facts(&sql.as_bytes()[..end], *mode);
        }
    }
}
