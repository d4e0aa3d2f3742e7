use super::*;

#[test]
fn median_with_extremes() {
    let check = |values: &[f64], median, min, max| {
        assert_eq!(Spread::of(values.to_vec()), Some(Spread { median, min, max }), "{values:?}");
    };
    check(&[3.0], 3.0, 3.0, 3.0);
    check(&[3.0, 1.0, 2.0], 2.0, 1.0, 3.0);
    check(&[4.0, 1.0, 2.0, 3.0], 2.5, 1.0, 4.0);
    assert_eq!(Spread::of(Vec::new()), None);
}

#[test]
fn ratios_pair_the_rounds() {
    let mut readings = Readings::default();
    // The second round was twice as slow for both: the ratio does not move.
    for (round, relay, weir) in [(1, 10.0, 11.0), (2, 20.0, 22.0)] {
        readings.add("row", Target::Relay, Metric::CpuUs, round, relay);
        readings.add("row", Target::Weir, Metric::CpuUs, round, weir);
    }
    // A round that only one of them has does not count, nor does a division by zero.
    readings.add("row", Target::Weir, Metric::CpuUs, 3, 99.0);
    let ratio = readings.ratio("row", Target::Weir, Target::Relay, Metric::CpuUs).unwrap();
    assert!((ratio.min - 1.1).abs() < 1e-9 && (ratio.max - 1.1).abs() < 1e-9, "{ratio:?}");
    assert_eq!(readings.ratio("other", Target::Weir, Target::Relay, Metric::CpuUs), None);
}

#[test]
fn rows_of_a_target_are_compared_within_their_round() {
    let mut readings = Readings::default();
    for (round, few, many) in [(1, 100.0, 90.0), (2, 50.0, 60.0)] {
        readings.add("8", Target::Cached, Metric::PerSecond, round, few);
        readings.add("64", Target::Cached, Metric::PerSecond, round, many);
    }
    let ratio = readings.rows_ratio(["64", "8"], Target::Cached, Metric::PerSecond).unwrap();
    assert_eq!((ratio.min, ratio.max), (0.9, 1.2));
    let rows = ["8".to_owned(), "64".to_owned(), "none".to_owned()];
    let ratio = readings.ratio_to_best("64", &rows, Target::Cached, Metric::PerSecond).unwrap();
    assert_eq!((ratio.min, ratio.max), (0.9, 1.0));
}
