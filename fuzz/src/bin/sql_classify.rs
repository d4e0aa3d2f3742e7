//! Any text in any mode: the classes agree with each other, and the quick look never misses what the full one
//! finds. Input: mode (2 bytes), whether multi-statements are enabled (1 byte), then the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_fuzz::{Input, lex_mode};
use weir_sql::{LexMode, Statement, StatementKind, hints, parse_kill, quick, weir_command};

fuzz_target!(|data: &[u8]| {
    let mut input = Input::new(data);
    let mode = lex_mode(&mut input);
    let multi = input.byte() & 1 == 1;
    let sql = input.rest();

    let full = Statement::classify(sql, mode, multi);
    assert!(full.kinds.contains(full.kind));
    let strongest = StatementKind::ALL.into_iter().rev().find(|kind| full.kinds.contains(*kind));
    assert_eq!(strongest, Some(full.kind));
    assert!(!full.local_infile || full.kind >= StatementKind::Load, "{full:?}");

    let kill = parse_kill(sql, mode);
    let weir = weir_command(sql, mode);
    if !quick(sql, mode, multi).needs_full {
        assert_eq!(kill, None, "the quick look missed a KILL");
        assert_eq!(weir, None, "the quick look missed a command to Weir");
        assert_eq!(full.weir, None, "the quick look missed a command to Weir");
        assert!(!full.local_infile, "the quick look missed a LOAD DATA LOCAL");
    }
    if let Some(kill) = kill {
        assert_eq!(full.kind, StatementKind::Kill);
        replaced_kill(sql, mode, &kill);
    }
    for hint in hints(sql, mode) {
        assert!(sql[hint.span.clone()].starts_with(b"/*") && sql[hint.span.clone()].ends_with(b"*/"));
        assert!(hint.text.len() + 4 <= hint.span.len());
    }
});

/// Another id put in the place of the one found makes the same KILL of the other id.
fn replaced_kill(sql: &[u8], mode: LexMode, kill: &weir_sql::Kill) {
    let id = !kill.id;
    let mut other = sql[..kill.id_span.start].to_vec();
    other.extend_from_slice(weir_sql::Kill::other_id(id).as_bytes());
    other.extend_from_slice(&sql[kill.id_span.end..]);
    let again = parse_kill(&other, mode).expect("still a KILL");
    assert_eq!((again.id, again.target, again.strength), (id, kill.target, kill.strength));
}
