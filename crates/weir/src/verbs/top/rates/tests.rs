use std::time::Duration;

use super::*;

fn at(seconds: u64) -> Sample {
    Sample { at: Duration::from_secs(seconds), started: 7.0, ..Sample::default() }
}

fn digest(calls: u64, seconds: f64, hits: u64) -> Digest {
    Digest {
        text: "SELECT ?".to_owned(),
        calls,
        seconds,
        hits,
        errors: calls / 10,
        rows: calls * 2,
        cacheable: true,
    }
}

fn digests(complete: bool, rows: &[(&str, Digest)]) -> Digests {
    let rows = rows.iter().map(|(id, digest)| ((*id).to_owned(), digest.clone())).collect();
    Digests { counted: true, complete, rows, there_are: 9 }
}

#[test]
fn rates_are_of_the_interval() {
    let before = Sample { statements: 100.0, errors: 5.0, bytes_in: 10.0, hits: 4, misses: 6, ..at(10) };
    let now = Sample { statements: 150.0, errors: 5.0, bytes_in: 1010.0, hits: 13, misses: 7, ..at(15) };
    let rates = Rates::between(&before, &now).unwrap();
    assert_eq!((rates.statements, rates.errors, rates.bytes_in, rates.bytes_out), (10.0, 0.0, 200.0, 0.0));
    assert_eq!(rates.hit_ratio, Some(0.9));
    let rates = Rates::between(&now, &Sample { at: Duration::from_secs(16), ..now.clone() }).unwrap();
    assert_eq!((rates.statements, rates.hit_ratio, rates.client), (0.0, None, Percentiles::default()));
}

#[test]
fn two_processes_and_one_moment_have_none() {
    assert_eq!(Rates::between(&at(1), &Sample { started: 8.0, ..at(2) }), None);
    assert_eq!(Rates::between(&at(1), &at(1)), None);
    assert_eq!(Rates::between(&at(2), &at(1)), None);
}

#[test]
fn percentiles_are_of_what_came_in_between() {
    let histogram = |counts: [f64; 4]| {
        Histogram([0.001, 0.002, 0.004, f64::INFINITY].into_iter().zip(counts).collect::<Vec<_>>())
    };
    for (before, now, p50, p99) in [
        ([0.0; 4], [0.0; 4], None, None),
        ([50.0, 50.0, 50.0, 50.0], [50.0, 50.0, 50.0, 50.0], None, None),
        // All of them in one bucket: spread evenly within it.
        ([9.0, 9.0, 9.0, 9.0], [9.0, 109.0, 109.0, 109.0], Some(0.0015), Some(0.00199)),
        ([0.0; 4], [50.0, 50.0, 100.0, 100.0], Some(0.001), Some(0.00396)),
        // Beyond the last bound.
        ([0.0; 4], [0.0, 0.0, 0.0, 10.0], Some(0.004), Some(0.004)),
        // Nothing to subtract where nothing was told before.
        ([100.0; 4], [0.0, 0.0, 0.0, 0.0], None, None),
    ] {
        let found = Percentiles::between(&histogram(before), &histogram(now));
        let close = |found: Option<f64>, wanted: Option<f64>| match (found, wanted) {
            (Some(found), Some(wanted)) => (found - wanted).abs() < 1e-9,
            (found, wanted) => found == wanted,
        };
        assert!(close(found.p50, p50) && close(found.p99, p99), "{before:?} {now:?}: {found:?}");
    }
    let now = histogram([1.0, 1.0, 1.0, 1.0]);
    assert_eq!(Percentiles::between(&Histogram::default(), &now).p50, Some(0.0005));
}

#[test]
fn a_digest_counts_from_where_it_was_seen_last() {
    let one = |before: Digests, now: Digest| {
        let before = Sample { digests: before, ..at(0) };
        let now = Sample { digests: digests(true, &[("a", now)]), ..at(10) };
        Rates::between(&before, &now).unwrap().digests.remove(0)
    };
    let row = one(digests(true, &[("a", digest(100, 1.0, 50))]), digest(200, 2.0, 75));
    assert_eq!((row.calls, row.errors, row.rows), (10.0, 1.0, 20.0));
    assert_eq!((row.time, row.mean, row.hits, row.total), (0.1, Some(0.01), Some(0.25), 2.0));
    // New, and all others were told of before.
    assert_eq!(one(digests(true, &[]), digest(50, 1.0, 0)).calls, 5.0);
    // Perhaps it was there before.
    let row = one(digests(false, &[]), digest(50, 1.0, 0));
    assert_eq!((row.calls, row.mean, row.hits), (0.0, None, None));
    // Forgotten, and counted anew.
    let row = one(digests(true, &[("a", digest(100, 3.0, 9))]), digest(30, 1.5, 0));
    assert_eq!((row.calls, row.time), (3.0, 0.15));
    let row = one(digests(true, &[("a", digest(100, 3.0, 9))]), digest(100, 3.0, 9));
    assert_eq!((row.calls, row.time, row.mean), (0.0, 0.0, None));
}
