use super::*;

#[test]
fn words() {
    let check =
        |median, floor, aim, word| assert_eq!(judge(median, floor, aim, aim < floor), word, "{median}");
    check(1.0, 1.25, 1.05, Word::Aim);
    check(1.05, 1.25, 1.05, Word::Aim);
    check(1.2, 1.25, 1.05, Word::Met);
    check(1.3, 1.25, 1.05, Word::Missed);
    // More is better where the aim is above the floor.
    check(1.3, 1.0, 1.2, Word::Aim);
    check(1.1, 1.0, 1.2, Word::Met);
    check(0.9, 1.0, 1.2, Word::Missed);
    // What could not be computed is never met.
    check(f64::NAN, 1.0, 1.2, Word::Missed);
}

#[test]
fn a_requirement_that_was_not_measured_has_no_line() {
    let mut readings = Readings::default();
    assert!(all(&readings).is_empty());
    readings.add(connect::ROW, Target::Weir, Metric::PerSecond, 1, 1500.0);
    assert!(all(&readings).is_empty(), "a ratio needs both sides");
    readings.add(connect::ROW, Target::Haproxy, Metric::PerSecond, 1, 1000.0);
    let lines = all(&readings);
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0].word, Word::Aim);
}

#[test]
fn idle_clients_over_tls_are_held_to_their_own_floor() {
    let mut readings = Readings::default();
    for link in [idle::Link::Plain, idle::Link::Tls] {
        readings.add(&idle::row(10_000, link), Target::Shared, Metric::KbPerClient, 1, 30.0);
    }
    let words: Vec<_> = all(&readings).iter().map(|line| line.word).collect();
    assert_eq!(words, [Word::Missed, Word::Aim]);
}
