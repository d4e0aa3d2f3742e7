use proptest::prelude::*;

use super::*;

#[test]
fn every_bucket_begins_where_the_last_one_ends() {
    let mut lower = 0;
    for bucket in 0..BUCKETS {
        assert_eq!(bucket_of(lower), bucket, "lower end of bucket {bucket}");
        assert_eq!(bucket_of(upper_ns(bucket)), bucket, "upper end of bucket {bucket}");
        lower = upper_ns(bucket).wrapping_add(1);
    }
    assert_eq!(lower, 0, "the last bucket ends at u64::MAX");
}

#[test]
fn an_empty_histogram_has_no_percentile() {
    let empty = Histogram::default();
    assert_eq!((empty.percentile(50.0), empty.snapshot().count(), empty.snapshot().sum_ns()), (0, 0, 0));
}

#[test]
fn merged_histograms_count_what_both_counted() {
    let (a, b) = (Histogram::default(), Histogram::default());
    a.record(5_000);
    b.record(7_000_000);
    b.record(u64::MAX >> 1);
    let mut both = a.snapshot();
    both.add(&b);
    assert_eq!(both.count(), 3);
    assert_eq!(both.sum_ns(), 5_000 + 7_000_000 + (u64::MAX >> 1));
    assert_eq!(both.percentile(100.0), u64::MAX);
    assert_eq!(both.below_power_of_two(13), 1);
    assert_eq!(both.below_power_of_two(42), 2);
}

proptest! {
    #[test]
    fn a_percentile_is_the_true_one_or_up_to_an_eighth_above(
        mut values in prop::collection::vec(1_024u64..(1 << 42), 1..200),
        p in 0.0f64..=100.0,
    ) {
        let histogram = Histogram::default();
        values.iter().for_each(|v| histogram.record(*v));
        values.sort_unstable();
        let rank = ((p / 100.0) * values.len() as f64).ceil().max(1.0) as usize;
        let truth = values[rank - 1];
        let got = histogram.percentile(p);
        prop_assert!(got >= truth && got <= truth + truth / 8, "p{p}: true {truth}, got {got}");
    }

    #[test]
    fn powers_of_two_split_exactly(values in prop::collection::vec(any::<u64>(), 0..100), exp in 10u32..=42) {
        let histogram = Histogram::default();
        values.iter().for_each(|v| histogram.record(*v));
        let truth = values.iter().filter(|v| **v < 1 << exp).count() as u64;
        prop_assert_eq!(histogram.snapshot().below_power_of_two(exp), truth);
    }
}
