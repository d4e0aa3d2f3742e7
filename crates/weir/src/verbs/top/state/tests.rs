use std::time::Duration;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::*;
use crate::verbs::top::sample::{Digest, Digests};

/// A state with digests `d1`, `d2`, ...: so many calls each, of so many seconds all together.
pub fn with(calls: &[(u64, f64)]) -> State {
    let mut state = State::new("127.0.0.1:6034".to_owned(), Duration::from_secs(2), false);
    let sample = |at, counted: &dyn Fn(u64, f64) -> Digest| {
        let rows = calls.iter().zip(1..).map(|((n, took), at)| (format!("d{at}"), counted(*n, *took)));
        let digests = Digests { counted: true, complete: true, there_are: calls.len(), rows: rows.collect() };
        Told::Sample(Box::new(Sample { at: Duration::from_secs(at), digests, ..Sample::default() }))
    };
    let text = |n: u64| format!("SELECT `c{n}` FROM `t`");
    state.told(sample(0, &|n, _| Digest { text: text(n), ..Digest::default() }));
    state.told(sample(2, &|n, took| Digest {
        text: text(n),
        calls: n,
        seconds: took,
        cacheable: true,
        ..Digest::default()
    }));
    state
}

fn press(state: &mut State, codes: &[KeyCode]) -> Option<Wish> {
    codes.iter().map(|code| state.key(KeyEvent::new(*code, KeyModifiers::NONE))).last().flatten()
}

fn write(state: &mut State, text: &str) -> Option<Wish> {
    press(state, &text.chars().map(KeyCode::Char).collect::<Vec<_>>())
}

fn ids(state: &State) -> Vec<&str> {
    state.listed().iter().map(|row| row.id.as_str()).collect()
}

const THREE: &[(u64, f64)] = &[(10, 5.0), (30, 6.0), (20, 20.0)];

#[test]
fn keys_sort() {
    let mut state = with(THREE);
    assert_eq!(ids(&state), ["d3", "d2", "d1"]);
    for (key, expected) in [
        ("c", ["d2", "d3", "d1"]),
        ("m", ["d3", "d1", "d2"]),
        ("t", ["d3", "d2", "d1"]),
        ("e", ["d3", "d2", "d1"]),
    ] {
        assert_eq!(write(&mut state, key), None);
        assert_eq!(ids(&state), expected, "{key}");
    }
}

#[test]
fn what_is_chosen_stays_chosen_when_the_order_changes() {
    let mut state = with(THREE);
    assert_eq!(state.at_hand().as_deref(), Some("d3"));
    press(&mut state, &[KeyCode::Down]);
    assert_eq!(state.at_hand().as_deref(), Some("d2"));
    write(&mut state, "c");
    assert_eq!((state.at_hand().as_deref(), state.place(&state.listed())), (Some("d2"), 0));
    press(&mut state, &[KeyCode::PageDown]);
    assert_eq!(state.at_hand().as_deref(), Some("d1"));
    press(&mut state, &[KeyCode::Down, KeyCode::Home, KeyCode::Up]);
    assert_eq!(state.at_hand().as_deref(), Some("d2"));
    press(&mut state, &[KeyCode::End]);
    assert_eq!(state.at_hand().as_deref(), Some("d1"));
    assert_eq!(with(&[]).at_hand(), None);
}

#[test]
fn a_filter_is_typed_and_kept_or_taken_back() {
    let mut state = with(THREE);
    write(&mut state, "/C3q");
    assert_eq!((state.filter.as_str(), ids(&state).len()), ("C3q", 0));
    press(&mut state, &[KeyCode::Backspace, KeyCode::Enter]);
    assert_eq!((&state.view, ids(&state)), (&View::List, vec!["d2"]));
    write(&mut state, "/x");
    press(&mut state, &[KeyCode::Esc]);
    assert_eq!(state.filter, "C3");
    press(&mut state, &[KeyCode::Esc]);
    assert_eq!(ids(&state).len(), 3);
    write(&mut state, "/d1");
    assert_eq!(ids(&state), ["d1"], "also by the id");
}

#[test]
fn a_pause_holds_the_screen_and_forgets_nothing() {
    let mut state = with(THREE);
    let later = |at, statements| {
        Told::Sample(Box::new(Sample { at: Duration::from_secs(at), statements, ..Sample::default() }))
    };
    write(&mut state, "p");
    let before = state.rates.clone();
    state.told(later(4, 100.0));
    assert_eq!((&state.rates, state.shown.as_ref().unwrap().at), (&before, Duration::from_secs(2)));
    write(&mut state, " ");
    state.told(later(6, 130.0));
    assert_eq!(state.rates.as_ref().unwrap().statements, 15.0, "of the last interval alone");
}

#[test]
fn the_interval_has_ends() {
    let mut state = with(THREE);
    assert_eq!(write(&mut state, "+"), Some(Wish::Every(Duration::from_secs(5))));
    assert_eq!(write(&mut state, "--"), Some(Wish::Every(Duration::from_secs(1))));
    assert_eq!(write(&mut state, "--"), Some(Wish::Every(Duration::from_secs(1))));
    assert_eq!(write(&mut state, "+++++++++"), Some(Wish::Every(Duration::from_secs(60))));
    state.every = Duration::from_secs(7);
    assert_eq!(write(&mut state, "-"), Some(Wish::Every(Duration::from_secs(5))));
}

#[test]
fn a_rule_is_added_only_after_it_was_shown_and_agreed_to() {
    let mut state = with(THREE);
    let proposal = Proposal { toml: "[[rule]]".to_owned(), version: "7".to_owned(), doubt: None };
    assert_eq!(write(&mut state, "a"), None);
    assert_eq!(press(&mut state, &[KeyCode::Enter]), None, "without a TTL there is nothing to ask");
    for wrong in ["xx", "0", "0s", "5"] {
        write(&mut state, wrong);
        assert_eq!(press(&mut state, &[KeyCode::Enter]), None, "{wrong}");
        assert_eq!(state.view, View::Ttl { id: "d3".to_owned(), ttl: wrong.to_owned() }, "it can be mended");
        assert!(state.note.as_ref().unwrap().text.contains(&format!("`{wrong}` is no TTL")), "{wrong}");
        press(&mut state, &vec![KeyCode::Backspace; wrong.len()]);
    }
    assert_eq!(write(&mut state, "5m"), None);
    let asked = press(&mut state, &[KeyCode::Enter]);
    assert_eq!(asked, Some(Wish::Propose { id: "d3".to_owned(), ttl: "5m".to_owned() }));
    assert_eq!(write(&mut state, "y"), None, "nothing is there to agree to");
    state.told(Told::Proposed(Ok(proposal.clone())));
    assert_eq!(write(&mut state, "x"), None);
    assert_eq!(
        state.view,
        View::Confirm { proposal: proposal.clone(), from: 0 },
        "any other key leaves it there"
    );
    assert_eq!(write(&mut state, "y"), Some(Wish::Add(proposal.clone())));
    assert_eq!(write(&mut state, "y"), None, "it is sent once");
    state.told(Told::Added(Err("somebody else was first".to_owned())));
    assert_eq!(state.note, Some(Note { text: "somebody else was first".to_owned(), bad: true }));
    assert_eq!(state.view, View::List);
    state.view = View::Confirm { proposal, from: 0 };
    assert_eq!(write(&mut state, "n"), None);
    assert_eq!(state.note.as_ref().unwrap().text, "nothing was changed");
}

#[test]
fn details_scroll_within_their_text_and_lead_to_a_rule() {
    let mut state = with(THREE);
    assert_eq!(press(&mut state, &[KeyCode::Enter]), Some(Wish::Details("d3".to_owned())));
    state.told(Told::Details { id: "d3".to_owned(), text: Ok("one\ntwo\nthree".to_owned()) });
    press(&mut state, &[KeyCode::PageDown, KeyCode::Down]);
    assert!(matches!(state.view, View::Details { from: 2, .. }), "{:?}", state.view);
    press(&mut state, &[KeyCode::Up]);
    assert!(matches!(state.view, View::Details { from: 1, .. }), "{:?}", state.view);
    write(&mut state, "a");
    assert_eq!(state.view, View::Ttl { id: "d3".to_owned(), ttl: String::new() });
    press(&mut state, &[KeyCode::Esc]);
    assert_eq!(state.view, View::List);
    // An answer that comes when nobody waits for it any more opens nothing.
    state.told(Told::Details { id: "d3".to_owned(), text: Ok(String::new()) });
    assert_eq!(state.view, View::List);
}

#[test]
fn a_server_that_is_gone_is_said_until_it_answers() {
    let mut state = with(THREE);
    let lost = Lost { why: "no Weir answers".to_owned(), since: Duration::from_secs(3) };
    state.told(Told::Lost(lost.clone()));
    assert_eq!((state.lost.as_ref(), state.listed().len()), (Some(&lost), 3), "what was shown stays");
    let again = Sample { at: Duration::from_secs(9), started: 99.0, ..Sample::default() };
    state.told(Told::Sample(Box::new(again)));
    assert_eq!((state.lost.as_ref(), &state.rates), (None, &None), "another process has no rates yet");
}

#[test]
fn control_c_quits_from_everywhere_and_q_from_the_list() {
    let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    for keys in ["", "/", "a", "?"] {
        let mut state = with(THREE);
        write(&mut state, keys);
        assert_eq!(state.key(control_c), Some(Wish::Quit), "{keys}");
    }
    assert_eq!(write(&mut with(THREE), "q"), Some(Wish::Quit));
    assert_eq!(write(&mut with(THREE), "/q"), None);
}
