use super::*;

fn warm(max: u32, min_idle: u32) -> (S, Instant) {
    (S::new(PoolLimits { min_idle, ..limits(max) }, 2), Instant::now())
}

/// Opens ahead for the account that comes next, and puts the connection away.
fn open_one(state: &mut S, keys: &[&u8], connection: u32, now: Instant) -> Option<u8> {
    let at = state.open_ahead(keys, now)?;
    assert_eq!(state.lacks(keys, now), None, "one at a time");
    assert_eq!(state.opened(now), None);
    assert_eq!(back(state, *keys[at], connection, 0, now), None);
    Some(*keys[at])
}

#[test]
fn as_many_are_opened_ahead_as_shall_be_idle_spread_over_the_accounts() {
    let (mut state, now) = warm(8, 3);
    let opened: Vec<_> = (0..5).map(|c| open_one(&mut state, &[&1, &2], c, now)).collect();
    assert_eq!(opened, [Some(1), Some(2), Some(1), None, None]);
    assert_eq!((state.open(), state.idle()), (3, 3));
    // What is in use is not idle.
    assert!(matches!(out(&mut state, 2, 0, now), Checkout::Idle(1)));
    assert_eq!(open_one(&mut state, &[&1, &2], 7, now), Some(2));
    // Nor is what must not be used any longer, nor what serves none of them.
    let late = now + 10 * MINUTE;
    assert_eq!(state.lacks(&[&1], late), Some(0));
    assert_eq!(state.lacks(&[&3], now), Some(0));
    assert_eq!(state.lacks(&[], now), None);
}

#[test]
fn nothing_is_opened_ahead_of_who_waits_nor_beyond_the_limit() {
    let (mut state, now) = warm(2, 5);
    assert_eq!(out(&mut state, 1, 0, now), Checkout::Open);
    assert_eq!(state.lacks(&[&1], now), None, "a client opens one");
    assert_eq!(state.opened(now), None);
    assert_eq!(open_one(&mut state, &[&2], 5, now), Some(2));
    assert_eq!(state.lacks(&[&2], now), None, "all are open");
    let (mut state, now) = busy(1);
    state.set_limits(PoolLimits { min_idle: 5, ..limits(100) });
    assert_eq!(state.lacks(&[&1], now), None, "somebody waits");
}

#[test]
fn one_that_could_not_be_opened_leaves_nothing_behind() {
    let (mut state, now) = warm(8, 1);
    assert_eq!(state.open_ahead(&[&1], now), Some(0));
    assert_eq!((state.opened(now), state.closed(now)), (None, None));
    assert_eq!((state.open(), state.lacks(&[&1], now)), (0, Some(0)));
}

#[test]
fn who_comes_meanwhile_gets_the_connection_that_is_opened_ahead() {
    let (mut state, now) = warm(1, 1);
    assert_eq!(state.open_ahead(&[&1], now), Some(0));
    assert!(matches!(state.checkout(&1, Need::Statement, 0, now, || 9), Checkout::Wait(_)));
    assert_eq!(state.opened(now), None);
    assert_eq!(told(back(&mut state, 1, 5, 0, now)), Some((9, Grant::Idle(5))));
}

#[test]
fn what_has_ended_while_it_was_idle_is_found_and_no_longer_counts() {
    let (mut state, now) = warm(200, 200);
    for connection in 0..100 {
        assert_eq!(open_one(&mut state, &[&1], connection, now), Some(1));
    }
    let even = |connection: &u32| connection.is_multiple_of(2);
    assert_eq!(state.lost(now, even), [0u32; 0], "they were there a moment ago");
    // Not all at once, but all.
    let first = state.lost(now + MINUTE, even);
    assert_eq!(first.len(), 32);
    let second = state.lost(now + MINUTE, even);
    assert_eq!(second.len(), 18);
    assert_eq!((state.open(), state.idle()), (50, 50));
    assert_eq!(state.lost(now + MINUTE, |_| true), [0u32; 0]);
    assert_eq!(state.lost(now + 2 * MINUTE, |_| true).len(), 50);
    assert_eq!((state.open(), state.idle()), (0, 0));
}

#[test]
fn others_connections_do_not_make_those_too_many_that_were_opened_ahead() {
    let (mut state, now) = warm(8, 2);
    for connection in 0..2 {
        assert_eq!(open_one(&mut state, &[&1], connection, now), Some(1));
    }
    for connection in 2..4 {
        assert_eq!(out(&mut state, 2, 0, now), Checkout::Open);
        assert_eq!(state.opened(now), None);
        assert_eq!(back(&mut state, 2, connection, 0, now + MINUTE / 2), None);
        assert_eq!(state.idle(), 3);
        // The other account's is in use all the time.
        assert_eq!(state.sweep(&[&1], now + MINUTE), [0u32; 0]);
        assert_eq!(out(&mut state, 2, 0, now), Checkout::Idle(connection));
    }
    assert_eq!(back(&mut state, 2, 4, 0, now), None);
    assert_eq!(state.sweep(&[&1], now + MINUTE), [4]);
    assert_eq!(state.lacks(&[&1], now + MINUTE), None);
    // Their own do.
    assert_eq!(out(&mut state, 1, 0, now), Checkout::Idle(1));
    for connection in [1, 5] {
        assert_eq!(back(&mut state, 1, connection, 0, now), None);
    }
    assert_eq!(state.sweep(&[&1], now + MINUTE), [0]);
}
