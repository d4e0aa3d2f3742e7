use super::*;
use weir_wire::frame::put_packet;

const CHANGED: u16 = status::SESSION_STATE_CHANGED | status::AUTOCOMMIT;

/// An OK packet that tells of a schema and of a change.
fn ok(kinds: &[u8]) -> Vec<u8> {
    let block: Vec<u8> = kinds.iter().flat_map(|kind| [*kind, 2, 1, b'1']).collect();
    let [low, high] = CHANGED.to_le_bytes();
    [&[0, 0, 0, low, high, 0, 0, 0, block.len() as u8][..], &block].concat()
}

const fn sets(effects: &'static [Effect<'static>]) -> Statement<'static> {
    Statement { effects, ..Statement::PLAIN }
}

fn plain() -> Vec<u8> {
    vec![0, 0, 0, 2, 0, 0, 0]
}

/// The packets as the server sends them, and as they are after `tracker`.
fn through(tracker: &mut Tracker, payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (seq, payload) in (1..).zip(payloads) {
        if *payload != plain() {
            tracker.take(payload, bytes.len(), false).unwrap();
        }
        put_packet(&mut bytes, seq, payload);
    }
    let len = tracker.apply(&mut bytes);
    bytes[..len].to_vec()
}

fn packets(payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (seq, payload) in (1..).zip(payloads) {
        put_packet(&mut bytes, seq, payload);
    }
    bytes
}

#[test]
fn p5_a_client_is_told_what_it_asked_for() {
    let sent = [ok(&[1, 2]), plain(), ok(&[2])];
    let mut deaf = Tracker::new(0);
    assert_eq!(through(&mut deaf, &sent), packets(&[plain(), plain(), plain()]));
    assert_eq!(deaf.finish(true).changes().len(), 3);
    assert!(deaf.finish(true).changes().is_empty());

    let mut told = Tracker::new(caps::SESSION_TRACK);
    assert_eq!(through(&mut told, &sent), packets(&[ok(&[1]), plain(), plain()]));
    told.begin(&sets(&[Effect::Variable {
        name: b"session_track_state_change",
        value: Assigned::Literal(b"1"),
    }]));
    assert_eq!(through(&mut told, &sent), packets(&sent));
    assert_eq!(told.shown(ok(&[2])), ok(&[2]));
    told.begin(&sets(&[Effect::Variable {
        name: b"session_track_state_change",
        value: Assigned::Literal(b"1"),
    }]));
    told.finish(false);
    assert_eq!(told.shown(ok(&[2])), ok(&[2]), "it had been set before");
    told.reset();
    told.begin(&sets(&[Effect::Variable {
        name: b"session_track_state_change",
        value: Assigned::Literal(b"1"),
    }]));
    told.finish(false);
    assert_eq!(told.shown(ok(&[2])), plain());
    assert_eq!(deaf.shown(ok(&[2])), plain());
}

#[test]
fn what_was_never_on_is_switched_off_in_silence() {
    let set = |value: &'static [u8]| -> &'static [Effect<'static>] {
        let effect =
            Effect::Variable { name: b"session_track_state_change", value: Assigned::Literal(value) };
        Box::leak(Box::new([effect]))
    };
    let mut tracker = Tracker::new(caps::SESSION_TRACK);
    for off in [&b"OFF"[..], b"0", b"off"] {
        tracker.begin(&sets(set(off)));
        assert_eq!(through(&mut tracker, &[ok(&[2])]), packets(&[plain()]));
        tracker.finish(true);
    }
    // MariaDB tells of it with what changes next.
    assert_eq!(through(&mut tracker, &[ok(&[1, 2])]), packets(&[ok(&[1])]));
    tracker.begin(&sets(set(b"ON")));
    assert_eq!(through(&mut tracker, &[ok(&[2]), ok(&[2])]), packets(&[ok(&[2]), ok(&[2])]));
    tracker.finish(true);
    tracker.begin(&sets(set(b"OFF")));
    tracker.finish(true);
    assert_eq!(through(&mut tracker, &[ok(&[1]), ok(&[1, 2])]), packets(&[ok(&[1]), ok(&[1, 2])]));
    assert_eq!(through(&mut tracker, &[ok(&[1, 2])]), packets(&[ok(&[1])]), "once");
}

#[test]
fn an_eof_proves_nothing() {
    let [low, high] = CHANGED.to_le_bytes();
    let mut tracker = Tracker::new(0);
    let left = through(&mut tracker, &[vec![0xFE, 0, 0, low, high]]);
    assert_eq!(left, packets(&[vec![0xFE, 0, 0, 2, 0]]));
    let reports = tracker.finish(true);
    assert!(!reports.unsure && reports.changes().is_empty());
}

#[test]
fn reports_are_bounded() {
    let mut tracker = Tracker::new(0);
    let one = ok(&[2]);
    for _ in 0..=REPORTS_MAX / one.len() {
        tracker.take(&one, 0, false).unwrap();
        tracker.edits.clear();
    }
    let reports = tracker.finish(true);
    assert!(reports.unsure && reports.changes().len() == REPORTS_MAX / one.len());
    assert!(!tracker.finish(true).unsure);
}
