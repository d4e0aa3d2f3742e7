use weir_model::ServerFamily;

use super::*;
use crate::base::Base;
use crate::pins::PinReason;
use crate::state::Schema;
use crate::statement::UserAssigned;
use crate::user::put_user_value;
use crate::variable::Server;

fn fresh() -> State {
    let server = Server { family: ServerFamily::MySql, version: 90_704 };
    State::new(Arc::new(Base::new(server, [])), Schema::None)
}

fn computes<'a>(effects: &'a [Effect<'a>]) -> Statement<'a> {
    Statement { effects, names_variables: true, ..Statement::PLAIN }
}

fn computed(name: &str) -> Effect<'_> {
    Effect::UserVariable { name: name.as_bytes(), value: UserAssigned::Computed }
}

const TEXT: Column = Column { kind: 251, flags: 0 };

#[test]
fn what_was_computed_is_asked_for_once_by_its_name() {
    let mut unread = Unread::default();
    assert!(!unread.can_be_read());
    unread.after(&computes(&[computed("A"), computed("b.c")]));
    unread.after(&computes(&[computed("a")]));
    assert!(unread.can_be_read());
    for (family, text) in [
        (
            ServerFamily::MariaDb,
            "SELECT @`a`,HEX(@`a`),COLLATION(@`a`),@`b.c`,HEX(@`b.c`),COLLATION(@`b.c`) LIMIT 1",
        ),
        (
            ServerFamily::MySql,
            "SELECT @`a`,HEX(@`a`),COLLATION(CONCAT(@`a`)),@`b.c`,HEX(@`b.c`),COLLATION(CONCAT(@`b.c`)) LIMIT 1",
        ),
    ] {
        assert_eq!(unread.read_text(family), text);
    }
    unread.clear();
    assert_eq!(unread, Unread::default());
}

#[test]
fn what_is_not_named_keeps_the_session_where_it_is() {
    for lost in [
        Statement {
            names_variables: false,
            pins: PinReason::UserVariable.into(),
            ..computes(&[computed("a")])
        },
        computes(&[computed("a`")]),
        computes(&[computed("\u{e1}")]),
    ] {
        let mut unread = Unread::default();
        unread.after(&computes(&[computed("x")]));
        unread.after(&lost);
        assert!(!unread.can_be_read(), "{lost:?}");
        // Nor does a later one bring it back.
        unread.after(&computes(&[computed("x")]));
        assert!(!unread.can_be_read(), "{lost:?}");
    }
    let names: Vec<_> = (0..=MAX_VARIABLES).map(|n| format!("v{n}")).collect();
    let effects: Vec<_> = names.iter().map(|name| computed(name)).collect();
    let mut unread = Unread::default();
    unread.after(&computes(&effects));
    assert!(!unread.can_be_read());
}

/// What is sent to give the value that was read to another connection.
fn moved(column: Column, row: [Option<&str>; 3]) -> Option<String> {
    let (mut unread, mut state) = (Unread::default(), fresh());
    unread.after(&computes(&[computed("v")]));
    let row = row.map(|value| value.map(str::as_bytes));
    let known = unread.read(&[column, TEXT, TEXT], &row, &mut state);
    assert!(!unread.can_be_read());
    assert_eq!(known, state.user_variables().get(b"v").is_some());
    let mut out = Vec::new();
    put_user_value(&mut out, state.user_variables().get(b"v")?);
    Some(String::from_utf8(out).unwrap())
}

#[test]
fn values_keep_their_types() {
    let (int, decimal, double) = (Column::LONGLONG, Column::NEWDECIMAL, Column::DOUBLE);
    for (kind, flags, value, sent) in [
        (int, 0, "-5", Some("-5")),
        (int, 0, "-9223372036854775807", Some("-9223372036854775807")),
        (int, 0, "-9223372036854775808", None),
        (int, Column::UNSIGNED, "5", Some("CAST(5 AS UNSIGNED)")),
        (decimal, 0, "-2.50", Some("-2.50")),
        (decimal, 0, "12", Some("CAST(12 AS DECIMAL(65,0))")),
        (double, 0, "0.1", Some("0.1e0")),
        (double, 0, "-0", Some("-0e0")),
        (double, 0, "1.5e-7", Some("1.5e-7")),
        (double, 0, "inf", None),
        // TIMESTAMP, GEOMETRY: no variable is one, or it cannot be written.
        (7, 0, "1", None),
        (255, 0, "1", None),
    ] {
        let column = Column { kind, flags: flags | 128 };
        assert_eq!(
            moved(column, [Some(value), Some("31"), Some("binary")]).as_deref(),
            sent,
            "{kind} {value}"
        );
        assert_eq!(moved(column, [None, None, Some("binary")]), None, "NULL of type {kind}");
    }
}

#[test]
fn text_keeps_its_bytes_and_its_collation() {
    for (hex, collation, sent) in [
        ("6127E4", "latin1_german1_ci", Some("_latin1 X'6127E4' COLLATE latin1_german1_ci")),
        ("C3A9", "utf8mb4_bin", Some("_utf8mb4 X'C3A9' COLLATE utf8mb4_bin")),
        ("", "utf8mb3_general_ci", Some("_utf8mb3 X'' COLLATE utf8mb3_general_ci")),
        ("00FF", "binary", Some("_binary X'00FF'")),
        // Invalid, in a character set that is not ASCII, or not what was asked for.
        ("C3", "utf8mb4_bin", None),
        ("F09F9880", "utf8mb4_bin", Some("_utf8mb4 X'F09F9880' COLLATE utf8mb4_bin")),
        ("F09F9880", "utf8mb3_bin", None),
        ("F09F9880", "utf8_bin", None),
        ("61", "gbk_bin", Some("_gbk X'61' COLLATE gbk_bin")),
        ("D6D0", "gbk_bin", None),
        ("E9", "ascii_general_ci", None),
        ("0061", "ucs2_general_ci", None),
        ("6", "latin1_bin", None),
        ("61", "latin1_bin;", None),
    ] {
        let row = [Some("shown otherwise"), Some(hex), Some(collation)];
        assert_eq!(moved(TEXT, row).as_deref(), sent, "{hex} {collation}");
    }
    let long = "61".repeat(5000);
    assert_eq!(moved(TEXT, [Some("a"), Some(&long), Some("latin1_bin")]), None);
}

#[test]
fn a_row_of_another_form_is_no_answer() {
    for (columns, row) in [
        (&[][..], &[][..]),
        (&[TEXT; 3], &[None; 2]),
        (&[TEXT; 2], &[Some(&b"61"[..]); 3]),
        (&[TEXT; 6], &[Some(&b"61"[..]); 6]),
    ] {
        let (mut unread, mut state) = (Unread::default(), fresh());
        unread.after(&computes(&[computed("v")]));
        assert!(!unread.read(columns, row, &mut state));
        assert!(!unread.can_be_read() && state.user_variables().is_empty());
    }
}
