use super::*;

/// What `n` ticks allow in all, of which each sees this queue.
fn after(growth: &mut Growth, n: u32, (waiting, longest): (usize, u64), returns: u32, open: u32) -> u32 {
    let mut allowed = 0;
    for _ in 0..n {
        (0..returns).for_each(|_| growth.returned());
        growth.tick(Instant::now(), (waiting, Duration::from_millis(longest)), open, 0);
        while growth.take() {
            allowed += 1;
        }
    }
    allowed
}

#[test]
fn a_short_queue_allows_none() {
    assert_eq!(after(&mut Growth::default(), 1000, (0, 0), 0, 8), 0);
    assert_eq!(after(&mut Growth::default(), 1000, (1, 2), 10, 8), 0);
    assert_eq!(after(&mut Growth::default(), 1000, (3, 10), 10, MANY - 1), 0);
}

#[test]
fn behind_many_a_short_queue_that_never_ends_allows_some() {
    let mut growth = Growth::default();
    assert_eq!(after(&mut growth, 4 * WINDOW - 1, (4, 10), 10, MANY), 0);
    assert_eq!(after(&mut growth, 1, (4, 10), 10, MANY), 3);
    assert_eq!(after(&mut growth, 4 * WINDOW - 1, (1, 10), 10, 2 * MANY), 0);
    assert_eq!(after(&mut growth, 1, (1, 10), 10, 2 * MANY), 1, "never more than wait");
    // One look at an empty queue in each window is enough against it.
    for _ in 0..20 {
        assert_eq!(after(&mut growth, WINDOW - 1, (4, 10), 10, MANY), 0);
        assert_eq!(after(&mut growth, 1, (0, 0), 10, MANY), 0);
    }
}

#[test]
fn a_queue_that_lasts_allows_a_few_for_each_window() {
    let mut growth = Growth::default();
    assert_eq!(after(&mut growth, WINDOW - 1, (20, 5), 10, 8), 0);
    assert_eq!(after(&mut growth, 1, (20, 5), 10, 8), 2);
    assert_eq!(after(&mut growth, 4 * WINDOW, (20, 5), 10, 32), 4 * 5);
    // Never more than wait.
    assert_eq!(after(&mut growth, WINDOW, (4, 5), 10, 24), 4);
}

#[test]
fn a_rush_that_is_over_at_once_allows_none() {
    let mut growth = Growth::default();
    for _ in 0..100 {
        // The machine stood still, and all that came meanwhile waits for one look.
        assert_eq!(after(&mut growth, 1, (40, 30), 10, 8), 0);
        assert_eq!(after(&mut growth, WINDOW, (0, 0), 10, 8), 0);
    }
}

#[test]
fn a_long_wait_in_a_queue_that_lasts_allows_one() {
    let mut growth = Growth::default();
    assert_eq!(after(&mut growth, WINDOW - 1, (2, 30), 1, 64), 0);
    assert_eq!(after(&mut growth, 1, (2, 30), 1, 64), 1);
    assert_eq!(after(&mut growth, 1, (2, 30), 1, 64), 0, "one is enough for as long");
    let later = Instant::now() + LATE;
    growth.returned();
    growth.tick(later, (2, LATE), 64, 1);
    assert!(!growth.take(), "one is being opened");
    growth.returned();
    growth.tick(later, (2, LATE / 2), 64, 0);
    assert!(!growth.take(), "nobody has waited long");
    growth.returned();
    growth.tick(later, (2, LATE), 64, 0);
    assert!(growth.take());
}

#[test]
fn where_nothing_comes_back_twice_in_a_row_some_are_allowed() {
    let mut growth = Growth::default();
    assert_eq!(after(&mut growth, 1, (20, 5), 0, 8), 0);
    assert_eq!(after(&mut growth, 1, (20, 5), 0, 8), OPENING_MAX);
    assert_eq!(after(&mut growth, 1, (2, 5), 0, 8), 2);
    assert_eq!(after(&mut growth, 1, (20, 5), 1, 8), 0);
}
