use weir_model::ServerFamily;

use super::*;
use crate::variable::Server;

pub(crate) const SERVER: Server = Server { family: ServerFamily::MySql, version: 90_704 };

pub(crate) fn text(value: &str) -> Value {
    Some(value.as_bytes().into())
}

fn base() -> Arc<Base> {
    let values = [
        (Variable::AUTOCOMMIT, text("ON")),
        (Variable::CHARACTER_SET_CLIENT, text("utf8mb4")),
        (Variable::CHARACTER_SET_RESULTS, text("utf8mb4")),
        (Variable::COLLATION_CONNECTION, text("utf8mb4_0900_ai_ci")),
        (Variable::SQL_MODE, text("")),
        (Variable::WAIT_TIMEOUT, text("28800")),
    ];
    Arc::new(Base::new(SERVER, values))
}

#[test]
fn an_idle_session_is_small() {
    assert!(size_of::<Parts>() <= 128, "{}", size_of::<Parts>());
    let whole = size_of::<Parts>() + size_of::<crate::Pins>() + size_of::<crate::Leftovers>();
    assert!(whole + size_of::<crate::ClientStatements>() < 200, "{whole}");
}

#[test]
fn the_same_values_are_the_same_state_whatever_the_way_there() {
    let fresh = State::new(base(), Schema::None);
    let mut one = fresh.clone();
    one.set(Variable::SQL_MODE, text("ANSI"));
    assert!(!one.same_as(&fresh) && one.fingerprint() != fresh.fingerprint());
    let other_base = [
        (Variable::AUTOCOMMIT, text("ON")),
        (Variable::CHARACTER_SET_CLIENT, text("utf8mb4")),
        (Variable::CHARACTER_SET_RESULTS, text("utf8mb4")),
        (Variable::COLLATION_CONNECTION, text("utf8mb4_0900_ai_ci")),
        (Variable::SQL_MODE, text("ANSI")),
        (Variable::WAIT_TIMEOUT, text("28800")),
    ];
    let two = State::new(Arc::new(Base::new(SERVER, other_base)), Schema::None);
    assert!(one.same_as(&two) && two.same_as(&one));
    one.set(Variable::SQL_MODE, text(""));
    assert!(one.same_as(&fresh) && one.parts.changes.is_none());
}

/// In whatever order sessions and connections that are alike meet, all of them come to share one.
#[test]
fn what_is_alike_comes_to_share_one() {
    let mut states: Vec<State> = (0..5)
        .map(|_| {
            let mut state = State::new(base(), Schema::Known(b"a"[..].into()));
            state.set(Variable::SQL_MODE, text("ANSI"));
            state
        })
        .collect();
    let before: Vec<State> = states.clone();
    // Which of them that one is depends on where the allocator has put it: nobody is more than two meetings away from another.
    let meetings = [(0, 4), (3, 1), (2, 3), (4, 1), (0, 2), (3, 0), (1, 4), (2, 0), (4, 3)];
    for (a, b) in meetings.into_iter().cycle().take(2 * meetings.len()) {
        let [one, two] = states.get_disjoint_mut([a, b]).unwrap();
        assert!(one.unites_with(two) && Arc::ptr_eq(&one.parts, &two.parts));
    }
    assert!(states.iter().all(|state| Arc::ptr_eq(&state.parts, &states[0].parts)));
    assert!(states.iter().zip(&before).all(|(now, then)| now.same_as(then)));

    // What one of them becomes is its own, and is not united with what differs.
    let mut other = states[0].clone();
    other.set_user_variable(b"x", UserValue::Number(b"1"[..].into())).unwrap();
    assert!(!other.unites_with(&mut states[0]) && !states[1].unites_with(&mut other));
    assert!(states[0].user_variables().is_empty() && !other.user_variables().is_empty());
    other.forget(Variable::SQL_MODE);
    let mut unknown = other.clone();
    assert!(!other.unites_with(&mut unknown));
    assert_eq!(states[2].get(Variable::SQL_MODE), Some(Some(&b"ANSI"[..])));
}

#[test]
fn nothing_unknown_is_the_same_as_anything() {
    let fresh = State::new(base(), Schema::None);
    let mut state = fresh.clone();
    state.forget(Variable::SQL_MODE);
    assert!(!state.same_as(&fresh) && !state.same_as(&state.clone()));
    assert_eq!(state.get(Variable::SQL_MODE), None);
    assert_eq!(state.read_back_text(), "SELECT HEX(DATABASE()),@@SESSION.sql_mode LIMIT 1");
    assert!(state.read_back(&[Some(b"61")]).is_err() && !state.is_known());
    state.read_back(&[Some(b"61"), Some(b"ANSI")]).unwrap();
    assert_eq!(state.schema(), &Schema::Known(b"a"[..].into()));
    state.set_schema(Schema::None);
    state.set(Variable::SQL_MODE, text(""));
    assert!(state.same_as(&fresh));
}

#[test]
fn forgetting_all_and_reading_back_is_a_round_trip() {
    let fresh = State::new(base(), Schema::Known(b"a"[..].into()));
    let mut state = fresh.clone();
    state.forget_all();
    assert_eq!(state.unknown(), fresh.base().present());
    let row: Vec<_> = std::iter::once(Some(&b"61"[..]))
        .chain(fresh.base().present().iter().map(|v| fresh.base().get(v)))
        .collect();
    state.read_back(&row).unwrap();
    // What no variable shows is taken for the default: only a procedure can have set it unseen.
    assert_eq!(state.results_collation(), &ResultsCollation::Default);
    assert!(state.is_known() && !state.same_as(&fresh));
    state.names_follow_connection();
    assert!(state.same_as(&fresh));
}

#[test]
fn the_collation_of_results_is_part_of_the_state() {
    let fresh = State::new(base(), Schema::None);
    assert_eq!(fresh.results_collation(), &ResultsCollation::Named(text("utf8mb4_0900_ai_ci")));
    for other in [ResultsCollation::Default, ResultsCollation::Named(text("utf8mb4_bin"))] {
        let mut state = fresh.clone();
        state.set_results_collation(other);
        assert!(state.is_known() && !state.same_as(&fresh) && !fresh.same_as(&state));
        assert_ne!(state.fingerprint(), fresh.fingerprint());
        state.set_results_collation(fresh.results_collation().clone());
        assert!(state.same_as(&fresh));
    }
    for unknown in [ResultsCollation::Unknown, ResultsCollation::OfConnection] {
        let mut state = fresh.clone();
        state.set_results_collation(unknown);
        assert!(!state.is_known() && !state.same_as(&state.clone()));
    }
}

#[test]
fn the_collation_of_results_follows_the_one_that_is_read_back() {
    let fresh = State::new(base(), Schema::None);
    let mut state = fresh.clone();
    state.forget(Variable::COLLATION_CONNECTION);
    state.names_follow_connection();
    assert_eq!(state.results_collation(), &ResultsCollation::OfConnection);
    state.read_back(&[None, Some(b"utf8mb4_bin")]).unwrap();
    assert_eq!(state.results_collation(), &ResultsCollation::Named(text("utf8mb4_bin")));
    // One that is named already does not follow.
    state.forget(Variable::COLLATION_CONNECTION);
    state.read_back(&[None, Some(b"utf8mb4_0900_ai_ci")]).unwrap();
    assert_eq!(state.results_collation(), &ResultsCollation::Named(text("utf8mb4_bin")));
}

#[test]
fn names_are_taken_with_the_collation_of_results() {
    let mut login = State::new(base(), Schema::None);
    login.set(Variable::CHARACTER_SET_CLIENT, text("latin1"));
    login.set_results_collation(ResultsCollation::Default);
    let mut state = State::new(base(), Schema::None);
    state.set(Variable::SQL_MODE, text("ANSI"));
    state.take_names(&login);
    login.set(Variable::SQL_MODE, text("ANSI"));
    assert!(state.same_as(&login));
    login.forget(Variable::COLLATION_CONNECTION);
    state.take_names(&login);
    assert!(state.unknown().iter().eq([Variable::COLLATION_CONNECTION]));
}

#[test]
fn a_variable_that_the_server_lacks_is_not_set() {
    let mut state = State::new(base(), Schema::None);
    state.set(Variable::TRANSACTION_ISOLATION, text("SERIALIZABLE"));
    assert_eq!(state.get(Variable::TRANSACTION_ISOLATION), None);
    assert!(state.is_known());
}

#[test]
fn the_results_key_has_all_but_what_no_read_depends_on() {
    // A server with every variable of the table.
    let whole = Arc::new(Base::new(SERVER, Variable::all().map(|v| (v, text("1")))));
    let mut plain = Vec::new();
    assert!(State::new(Arc::clone(&whole), Schema::None).put_results_key(&mut plain).is_some());
    for v in Variable::all() {
        let mut state = State::new(Arc::clone(&whole), Schema::None);
        state.set(v, text("2"));
        let mut varied = Vec::new();
        assert!(state.put_results_key(&mut varied).is_some());
        assert_eq!(varied != plain, v.affects_results(), "{}", v.name());
    }
    let key = |change: &dyn Fn(&mut State)| {
        let mut state = State::new(base(), Schema::None);
        change(&mut state);
        let mut out = Vec::new();
        state.put_results_key(&mut out).map(|_| out)
    };
    let fresh = key(&|_| {});
    assert!(fresh.is_some());
    assert_eq!(key(&|s| s.set(Variable::WAIT_TIMEOUT, text("1"))), fresh);
    assert_ne!(key(&|s| s.set(Variable::SQL_MODE, text("ANSI"))), fresh);
    assert_ne!(key(&|s| s.set(Variable::CHARACTER_SET_RESULTS, None)), fresh);
    assert_ne!(key(&|s| s.set_schema(Schema::Known(b""[..].into()))), fresh);
    let collation = |results: ResultsCollation| key(&|s| s.set_results_collation(results.clone()));
    let (default, null) = (collation(ResultsCollation::Default), collation(ResultsCollation::Named(None)));
    assert!(default.is_some() && default != fresh && default != null);
    assert_ne!(collation(ResultsCollation::Named(text("utf8mb4_bin"))), fresh);
    assert_eq!(collation(ResultsCollation::Named(text("utf8mb4_0900_ai_ci"))), fresh);
    assert_eq!(collation(ResultsCollation::Unknown), None);
    assert_eq!(key(&|s| s.forget(Variable::SQL_MODE)), None);
    assert_eq!(key(&|s| s.set_user_variable(b"a", UserValue::Null).unwrap()), fresh);
}
