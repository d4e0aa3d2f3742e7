//! Any text in any mode: facts agree with the kind and with each other, and what they hand out of the text means the
//! same when it is sent again. Input: mode (2 bytes), whether multi-statements are enabled (1 byte), then the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_fuzz::{Input, lex_mode};
use weir_sql::{Effect, Facts, LexMode, Literal, Pin, PinSet, RowsFound, Scope, StatementKind, Statements, Value};

fuzz_target!(|data: &[u8]| {
    let mut input = Input::new(data);
    let mode = lex_mode(&mut input);
    let multi = input.byte() & 1 == 1;
    let sql = input.rest();

    let facts = Facts::of(sql, mode, multi);
    assert_eq!(facts.classified, weir_sql::Statement::classify(sql, mode, multi));
    if facts.read_only {
        assert_eq!(facts.kind(), StatementKind::Read);
        assert!(facts.pins.is_subset(PinSet::of(&[Pin::FoundRows])));
        let is_of_statement = |e| matches!(e, Effect::Variable { scope: Scope::Statement, .. });
        assert!(facts.effects(sql).all(is_of_statement));
    }
    assert_eq!(facts.variables.computed, facts.pins.contains(Pin::ComputedVariable));
    assert!(!facts.pins.contains(Pin::Unknown) || facts.ends.is_empty());
    if facts.kind() == StatementKind::Call {
        assert!(!facts.pins.is_empty());
    }
    if facts.rows_found != RowsFound::Unknown {
        assert!(!facts.pins.contains(Pin::Unknown));
    }
    if facts.rows_found == RowsFound::AsSent {
        assert!(matches!(facts.kind(), StatementKind::Read | StatementKind::Write));
        assert!(!facts.pins.contains(Pin::FoundRows) && facts.classified.statements == Statements::One);
    }
    for effect in facts.effects(sql) {
        check(effect, mode);
    }
    behind_a_comment(sql, mode, multi, &facts);
});

/// Names decode, and literals that are read again are the same literals.
fn check(effect: Effect<&[u8]>, mode: LexMode) {
    match effect {
        Effect::Schema(name) => assert!(!name.text.is_empty() && name.decoded().len() <= name.text.len()),
        Effect::Variable { name, value: Value::Literal(literal), .. } => {
            assert!(!name.text.is_empty());
            again(literal, mode, b"SET a = ");
        }
        Effect::UserVariable { value: Value::Literal(literal), .. } => again(literal, mode, b"SET @a = "),
        _ => {}
    }
}

fn again(literal: Literal<&[u8]>, mode: LexMode, set: &[u8]) {
    let sql = [set, literal.text].concat();
    let facts = Facts::of(&sql, mode, false);
    let found = match facts.effects(&sql).next() {
        Some(Effect::Variable { value: Value::Literal(found), .. }) => found,
        Some(Effect::UserVariable { value: Value::Literal(found), .. }) => found,
        other => panic!("{literal:?} became {other:?}"),
    };
    assert_eq!((found.kind, found.text), (literal.kind, literal.text));
    assert_eq!(facts.effects(&sql).len(), 1);
    assert!(facts.pins.is_empty(), "{facts:?}");
    if let Some(plain) = literal.plain() {
        assert!(plain.len() <= literal.text.len());
    }
}

/// A comment before the text changes nothing.
fn behind_a_comment(sql: &[u8], mode: LexMode, multi: bool, facts: &Facts) {
    let commented = [b"/*x*/".as_slice(), sql].concat();
    let other = Facts::of(&commented, mode, multi);
    let view = |f: &Facts| (f.classified, f.read_only, f.transaction, f.variables, f.reads, f.keeps, f.pins, f.ends, f.rows_found);
    assert_eq!(view(&other), view(facts));
    assert!(facts.effects(sql).eq(other.effects(&commented)));
}
