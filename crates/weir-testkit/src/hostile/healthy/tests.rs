use super::*;

#[test]
fn the_99th_percentile_is_the_smallest_value_that_99_in_100_do_not_pass() {
    let times = |n: u64| (1..=n).rev().map(Duration::from_millis).collect::<Vec<_>>();
    for (n, expected) in [(0, 0), (1, 1), (50, 50), (100, 99), (200, 198), (1000, 990)] {
        assert_eq!(Window::p99(&times(n)), Duration::from_millis(expected), "of {n}");
    }
}
