//! What `weir-sql` does for each statement allocates nothing, as its documentation says. By itself in its process, with an allocator that
//! counts.

#![allow(clippy::unwrap_used)]

use weir_model::ServerFamily;
use weir_sql::{
    Facts, LexMode, Lexer, Statement, Tokens, digest, digest_showing, hints, may_carry_password, parse_kill,
    quick, strip_comments, trimmed_span, without_literals, without_numbers,
};
use weir_testkit::allocations::{Counting, counted};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Statements and the digests that the unit tests expect, in turn.
const CASES: &str = include_str!("../../weir-sql/src/digest/tests/cases.txt");

const MODES: fn() -> [LexMode; 2] =
    || [LexMode::new(ServerFamily::MySql, 90_704), LexMode::new(ServerFamily::MariaDb, 101_119)];

const COMMON: [&str; 9] = [
    "SELECT c FROM sbtest1 WHERE id=5023",
    "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN 5 AND 104 ORDER BY c",
    "INSERT INTO t (a, b) VALUES (1, 'x'), (2, 'y'), (3, 'z')",
    "UPDATE t SET a=a+1, b='it''s' WHERE id IN (1, 2, 3, 4, 5)",
    "DELETE FROM `a b`.t WHERE id=7 LIMIT 1",
    "/*weir: ttl=5s*/ SELECT v /* page 3 */ FROM t -- all of it",
    "SET NAMES utf8mb4",
    "BEGIN",
    "KILL QUERY 1073741824",
];

fn texts() -> Vec<Vec<u8>> {
    let cases = CASES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).step_by(2);
    let long = format!("SELECT a FROM t WHERE id IN ({})", vec!["12345"; 2000].join(", "));
    cases.chain(COMMON).map(|text| text.as_bytes().to_vec()).chain([long.into_bytes()]).collect()
}

/// Does this to each text on both servers, with room for what it writes.
fn allocates_nothing(what: &str, work: impl Fn(&[u8], LexMode, &mut Vec<u8>)) {
    let mut out = Vec::with_capacity(1 << 20);
    let texts = texts();
    assert!(texts.len() > 400);
    for mode in MODES() {
        for sql in &texts {
            out.clear();
            let ((), count) = counted(|| work(sql, mode, &mut out));
            assert_eq!(count, 0, "{what}: {}", String::from_utf8_lossy(sql));
        }
    }
}

#[test]
fn the_keys_of_known_statements() {
    allocates_nothing("without_literals", |sql, mode, out| _ = without_literals(sql, mode, out));
    allocates_nothing("without_numbers", |sql, _, out| _ = without_numbers(sql, out));
    allocates_nothing("trimmed_span", |sql, mode, _| _ = trimmed_span(sql, mode));
}

#[test]
fn digests() {
    allocates_nothing("digest", |sql, mode, out| _ = digest(sql, mode, out));
    allocates_nothing("digest_showing", |sql, mode, out| _ = digest_showing(sql, mode, out));
}

#[test]
fn the_first_look_at_a_statement() {
    allocates_nothing("lexer", |sql, mode, _| _ = Lexer::new(sql, mode).count());
    allocates_nothing("quick", |sql, mode, _| _ = quick(sql, mode, true));
    allocates_nothing("classify", |sql, mode, _| _ = Statement::classify(sql, mode, true));
    allocates_nothing("hints", |sql, mode, _| _ = hints(sql, mode).count());
    allocates_nothing("parse_kill", |sql, mode, _| _ = parse_kill(sql, mode));
    allocates_nothing("may_carry_password", |sql, _, _| _ = may_carry_password(sql));
    allocates_nothing("strip_comments", strip_comments);
}

/// Only what a text does to the session's state may take memory, where that is more than one thing: several user variables, say.
#[test]
fn facts() {
    for mode in MODES() {
        for sql in texts() {
            let (facts, count) = counted(|| Facts::of(&sql, mode, true));
            let several = facts.effects(&sql).len() > 1;
            let computes = sql.iter().filter(|b| **b == b'@').count() > 1 && facts.variables.computed;
            assert!(count == 0 || several || computes, "{count}: {}", String::from_utf8_lossy(&sql));
        }
    }
}

/// Who asks several questions of a text reads it once, into room that is there.
#[test]
fn the_tokens_of_a_text() {
    let mode = LexMode::new(ServerFamily::MySql, 90_704);
    let (mut tokens, mut out) = (Tokens::default(), Vec::with_capacity(1 << 20));
    for sql in texts() {
        let (_, count) = counted(|| {
            let text = tokens.read(&sql, mode);
            text.digest(&mut out);
            text.classify(true)
        });
        assert_eq!(count, 0, "{}", String::from_utf8_lossy(&sql));
    }
}

#[test]
fn what_is_allocated_is_counted() {
    assert_eq!(counted(|| Vec::<u8>::with_capacity(10)).1, 1);
    let mut grown = vec![1];
    assert!(counted(|| (0..100).for_each(|n| grown.push(n))).1 > 1);
    assert_eq!(counted(|| vec![0; 100]).1, 1);
}
