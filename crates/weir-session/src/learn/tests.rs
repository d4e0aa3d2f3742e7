use std::sync::Arc;

use weir_model::ServerFamily;

use super::*;
use crate::base::Base;
use crate::value::Value;
use crate::variable::Server;

const OK: Outcome = Outcome::Ok { status: 2, affected_rows: 0, insert_id: 0, warnings: 0 };
const ERR: Outcome = Outcome::Err { code: 1231 };

fn text(value: &str) -> Value {
    Some(value.as_bytes().into())
}

fn fresh() -> State {
    let server = Server { family: ServerFamily::MySql, version: 90_704 };
    let values = [
        (Variable::CHARACTER_SET_CLIENT, text("utf8mb4")),
        (Variable::CHARACTER_SET_RESULTS, text("utf8mb4")),
        (Variable::COLLATION_CONNECTION, text("utf8mb4_0900_ai_ci")),
        (Variable::DEFAULT_COLLATION_FOR_UTF8MB4, text("utf8mb4_0900_ai_ci")),
        (Variable::MAX_JOIN_SIZE, text("18446744073709551615")),
        (Variable::SQL_BIG_SELECTS, text("ON")),
        (Variable::SQL_MODE, text("")),
        (Variable::TRANSACTION_ISOLATION, text("REPEATABLE-READ")),
    ];
    State::new(Arc::new(Base::new(server, values)), Schema::None)
}

fn statement<'a>(effects: &'a [Effect<'a>]) -> Statement<'a> {
    Statement { effects, ..Statement::PLAIN }
}

fn set<'a>(name: &'a str, value: &'a str) -> Effect<'a> {
    Effect::Variable { name: name.as_bytes(), value: Assigned::Literal(value.as_bytes()) }
}

fn reported<'a>(name: &'a str, value: &'a str) -> Change<'a> {
    Change::SystemVariable { name: name.as_bytes(), value: value.as_bytes() }
}

fn value(state: &State, v: Variable) -> Option<&str> {
    state.get(v)?.map(|text| std::str::from_utf8(text).unwrap())
}

#[test]
fn what_is_reported_counts_more_than_the_text() {
    let mut state = fresh();
    let effects = [set("sql_mode", "ansi")];
    let pins = state.learn(&statement(&effects), OK, &[reported("sql_mode", "ANSI,X")], &Memory::new(0));
    assert!(pins.is_empty() && state.is_known());
    assert_eq!(value(&state, Variable::SQL_MODE), Some("ANSI,X"));
}

#[test]
fn p30_silence_is_unknown_until_the_server_has_answered_once() {
    let (mut state, mut memory) = (fresh(), Memory::new(0));
    let effects = [set("tx_isolation", "read-committed")];
    let statement = statement(&effects);
    state.learn(&statement, OK, &[], &memory);
    assert!(state.unknown().contains(Variable::TRANSACTION_ISOLATION));
    state.read_back(&[None, Some(b"READ-COMMITTED")]).unwrap();
    memory.remember(&statement, &state);
    let mut other = fresh();
    other.learn(&statement, OK, &[], &memory);
    assert!(other.same_as(&state));
    assert!(memory.accepts(Variable::TRANSACTION_ISOLATION, &text("READ-COMMITTED")));
    // An error says nothing, whatever it was the last time.
    other.learn(&statement, ERR, &[], &memory);
    assert!(!other.is_known());
}

#[test]
fn a_value_that_is_set_again_as_it_was_reported_is_known() {
    let mut state = fresh();
    state.learn(&statement(&[set("sql_mode", "")]), OK, &[], &Memory::new(0));
    assert!(state.same_as(&fresh()));
    let computed = [Effect::Variable { name: b"sql_mode", value: Assigned::Computed }];
    state.learn(&statement(&computed), OK, &[], &Memory::new(0));
    assert!(!state.is_known());
}

#[test]
fn set_names_is_read_back_once_for_each_default_collation() {
    let (mut state, mut memory) = (fresh(), Memory::new(0));
    let effects = [Effect::Names { charset: Some(b"UTF8MB4"), collation: None }];
    let statement = statement(&effects);
    // The tracker reports three character sets and never the collation.
    let changes = ["character_set_client", "character_set_connection", "character_set_results"]
        .map(|name| reported(name, "utf8mb4"));
    state.learn(&statement, OK, &changes, &memory);
    assert!(state.unknown().iter().eq([Variable::COLLATION_CONNECTION]));
    state.read_back(&[None, Some(b"utf8mb4_0900_ai_ci")]).unwrap();
    memory.remember(&statement, &state);
    let mut second = fresh();
    second.set(Variable::COLLATION_CONNECTION, text("utf8mb4_bin"));
    second.learn(&statement, OK, &changes, &memory);
    assert!(second.is_known());
    assert_eq!(value(&second, Variable::COLLATION_CONNECTION), Some("utf8mb4_0900_ai_ci"));
    let mut third = fresh();
    third.set(Variable::DEFAULT_COLLATION_FOR_UTF8MB4, text("utf8mb4_general_ci"));
    third.learn(&statement, OK, &changes, &memory);
    assert!(!third.is_known());
}

#[test]
fn a_reported_character_set_makes_a_collation_of_another_unknown() {
    let mut state = fresh();
    state.observe(&[reported("character_set_connection", "utf8mb4")]);
    assert!(state.is_known());
    state.observe(&[reported("character_set_connection", "latin1")]);
    assert!(state.unknown().iter().eq([Variable::COLLATION_CONNECTION]));
}

#[test]
fn what_disturbs_another_makes_it_unknown() {
    let mut state = fresh();
    state.observe(&[reported("max_join_size", "5")]);
    assert!(state.unknown().iter().eq([Variable::SQL_BIG_SELECTS]));
}

#[test]
fn set_statement_reports_what_is_over_already() {
    let mut state = fresh();
    let temporary = Statement { temporary: true, ..Statement::PLAIN };
    state.learn(&temporary, OK, &[reported("sql_mode", "ANSI")], &Memory::new(0));
    assert!(state.same_as(&fresh()));
}

#[test]
fn schemas_follow_use_reports_and_doubt() {
    let (mut state, memory) = (fresh(), Memory::new(0));
    state.learn(&statement(&[Effect::Schema(b"a")]), OK, &[], &memory);
    state.learn(&statement(&[Effect::Schema(b"gone")]), ERR, &[], &memory);
    assert_eq!(state.schema(), &Schema::Known(b"a"[..].into()));
    // Of several statements another may have failed.
    let several = Statement { may_begin: true, ..statement(&[Effect::Schema(b"c")]) };
    state.learn(&several, ERR, &[], &memory);
    assert_eq!(state.schema(), &Schema::Unknown);
    state.learn(&several, ERR, &[Change::Schema(b"c")], &memory);
    assert_eq!(state.schema(), &Schema::Known(b"c"[..].into()));
    state.learn(&Statement::PLAIN, OK, &[Change::Schema(b"b")], &memory);
    assert_eq!(state.schema(), &Schema::Known(b"b"[..].into()));
    state.learn(&statement(&[Effect::SchemaUnknown]), OK, &[], &memory);
    assert!(!state.is_known());
    state.learn(&statement(&[Effect::SchemaUnknown]), OK, &[Change::Schema(b"")], &memory);
    assert_eq!(state.schema(), &Schema::None);
    state.learn(&statement(&[Effect::Everything]), OK, &[], &memory);
    assert_eq!(state.unknown(), state.base().present());
}

#[test]
fn p23_literal_user_variables_move_and_others_pin() {
    let memory = Memory::new(0);
    let assign = |value| {
        let mut state = fresh();
        let effects = [Effect::UserVariable { name: b"A", value }];
        let pins = state.learn(&statement(&effects), OK, &[], &memory);
        (pins.is_empty(), state.user_variables().get(b"a").cloned())
    };
    assert_eq!(assign(UserAssigned::Number(b"1")), (true, Some(UserValue::Number(b"1"[..].into()))));
    let collation: Arc<[u8]> = b"utf8mb4_0900_ai_ci"[..].into();
    let expected = UserValue::Text { bytes: b"x"[..].into(), collation };
    assert_eq!(assign(UserAssigned::Text(b"x")), (true, Some(expected)));
    assert_eq!(assign(UserAssigned::Text(b"\xFF")), (false, None));
    assert_eq!(assign(UserAssigned::Null), (true, Some(UserValue::Null)));
    assert_eq!(assign(UserAssigned::Computed), (false, None));
    let mut state = fresh();
    let effects = [Effect::UserVariable { name: b"a", value: UserAssigned::Number(b"1") }];
    assert_eq!(state.learn(&statement(&effects), ERR, &[], &memory), PinReason::UserVariable.into());
}

#[test]
fn text_that_is_converted_on_the_way_is_not_literal() {
    let mut state = fresh();
    state.set(Variable::CHARACTER_SET_CLIENT, text("latin1"));
    assert!(state.text(b"abc").is_some());
    assert_eq!(state.text(b"\xE9"), None);
    state.set(Variable::COLLATION_CONNECTION, text("utf16_general_ci"));
    assert_eq!(state.text(b"abc"), None);
    state.forget(Variable::COLLATION_CONNECTION);
    assert_eq!(state.text(b"abc"), None);
}

#[test]
fn variables_that_are_not_moved_pin() {
    let mut state = fresh();
    let pins = state.learn(&statement(&[set("insert_id", "5")]), OK, &[], &Memory::new(0));
    assert_eq!(pins, PinReason::UntrackedVariable.into());
    assert!(state.same_as(&fresh()));
}

const NAMES_UTF8MB4: Effect<'_> = Effect::Names { charset: Some(b"utf8mb4"), collation: None };
const NAMES_BIN: Effect<'_> = Effect::Names { charset: Some(b"utf8mb4"), collation: Some(b"utf8mb4_bin") };

/// Learns a SET NAMES that nothing was known of, and reads back what it came to.
fn learn_names(state: &mut State, effect: Effect<'_>, collation: &[u8], memory: &mut Memory) {
    let effects = [effect];
    let statement = statement(&effects);
    state.learn(&statement, OK, &[], memory);
    assert_eq!(state.results_collation(), &ResultsCollation::OfConnection);
    assert!(!state.is_known());
    state.read_back(&[None, Some(b"utf8mb4"), Some(b"utf8mb4"), Some(collation)]).unwrap();
    memory.remember(&statement, state);
}

fn named(collation: &str) -> ResultsCollation {
    ResultsCollation::Named(text(collation))
}

#[test]
fn set_names_gives_its_collation_to_results() {
    let (mut first, mut memory) = (fresh(), Memory::new(0));
    learn_names(&mut first, NAMES_BIN, b"utf8mb4_bin", &mut memory);
    assert_eq!(first.results_collation(), &named("utf8mb4_bin"));
    // Once the server has answered, it is known at once; and back at the base it is that of the base.
    let mut second = fresh();
    second.learn(&statement(&[NAMES_BIN]), OK, &[], &memory);
    assert!(second.same_as(&first));
    learn_names(&mut first, NAMES_UTF8MB4, b"utf8mb4_0900_ai_ci", &mut memory);
    assert!(first.same_as(&fresh()));
    second.learn(&statement(&[NAMES_UTF8MB4]), OK, &[], &memory);
    assert!(second.same_as(&fresh()));
    // The connection's collation alone does not touch results, whether it is known or not.
    memory.remember(&statement(&[set("collation_connection", "utf8mb4_bin")]), &{
        let mut after = fresh();
        after.set(Variable::COLLATION_CONNECTION, text("utf8mb4_bin"));
        after
    });
    second.learn(&statement(&[set("collation_connection", "utf8mb4_bin")]), OK, &[], &memory);
    assert!(second.is_known());
    assert_eq!(second.results_collation(), &named("utf8mb4_0900_ai_ci"));
    second.learn(&statement(&[set("collation_connection", "utf8mb4_da_0900_ai_ci")]), OK, &[], &memory);
    assert_eq!(second.results_collation(), &named("utf8mb4_0900_ai_ci"));
}

#[test]
fn a_character_set_of_results_gives_its_default() {
    let memory = Memory::new(0);
    for effect in [
        set("character_set_results", "utf8mb4"),
        Effect::Variable { name: b"character_set_results", value: Assigned::Computed },
        Effect::CharacterSet,
    ] {
        let mut state = fresh();
        state.learn(&statement(&[effect]), OK, &[], &memory);
        assert_eq!(state.results_collation(), &ResultsCollation::Default, "{effect:?}");
        // Also behind a SET NAMES that is not read back yet, and not before one.
        let mut state = fresh();
        state.learn(&statement(&[NAMES_BIN, effect]), OK, &[], &memory);
        assert_eq!(state.results_collation(), &ResultsCollation::Default, "{effect:?}");
        let mut state = fresh();
        state.learn(&statement(&[effect, NAMES_BIN]), OK, &[], &memory);
        assert_eq!(state.results_collation(), &ResultsCollation::OfConnection, "{effect:?}");
    }
    // The same value again is no change of the variable, and one of the collation all the same.
    let mut state = fresh();
    state.learn(&statement(&[set("character_set_results", "utf8mb4")]), OK, &[], &memory);
    assert!(state.is_known() && !state.same_as(&fresh()));
}

#[test]
fn an_error_leaves_the_collation_of_results() {
    for effect in [NAMES_BIN, set("character_set_results", "utf8mb4"), Effect::CharacterSet] {
        let mut state = fresh();
        state.learn(&statement(&[effect]), ERR, &[], &Memory::new(0));
        assert_eq!(state.results_collation(), fresh().results_collation(), "{effect:?}");
        let read: Vec<_> =
            state.unknown().iter().map(|v| fresh().get(v).flatten().map(<[u8]>::to_vec)).collect();
        let row: Vec<_> = std::iter::once(None).chain(read.iter().map(Option::as_deref)).collect();
        state.read_back(&row).unwrap();
        assert!(state.same_as(&fresh()), "{effect:?}");
    }
}

#[test]
fn a_collation_that_was_never_read_back_pins() {
    let mut state = fresh();
    let effects = [NAMES_UTF8MB4, set("collation_connection", "utf8mb4_bin")];
    let pins = state.learn(&statement(&effects), OK, &[], &Memory::new(0));
    assert_eq!(pins, PinReason::UntrackedVariable.into());
    assert_eq!(state.results_collation(), &ResultsCollation::Unknown);
    // The next SET NAMES makes it known again.
    learn_names(&mut state, NAMES_BIN, b"utf8mb4_bin", &mut Memory::new(0));
    assert_eq!(state.results_collation(), &named("utf8mb4_bin"));
}

#[test]
fn hidden_code_leaves_nothing_known_of_results() {
    let mut state = fresh();
    state.learn(&statement(&[Effect::Everything]), OK, &[], &Memory::new(0));
    assert_eq!(state.results_collation(), &ResultsCollation::Unknown);
}
