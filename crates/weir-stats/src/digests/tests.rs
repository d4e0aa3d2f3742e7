use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;
use weir_model::DigestId;

use super::*;

/// What has no row any more is counted with the others.
fn count(writer: &Writer, slot: Slot, call: Call) {
    if !writer.count(slot, call) {
        writer.count_other(call);
    }
}

struct Desk {
    table: Arc<Table>,
    writer: Writer,
}

impl Desk {
    fn new(capacity: usize) -> Self {
        let table = Table::new(capacity);
        Self { writer: Writer::new(Arc::clone(&table), 7), table }
    }

    fn slot(&mut self, n: u64, user: &str) -> Slot {
        let text = format!("SELECT `c{n}` FROM `t`");
        let digest = DigestText::new(DigestId(n), text.as_bytes(), true);
        let origin = Origin { user: user.as_bytes().into(), schema: b"db"[..].into(), server: "main".into() };
        let (origin, number) = self.writer.origin(origin);
        self.writer.slot(&digest, (&origin, number), format!("select c{n} from t").as_bytes(), n)
    }

    fn count(&mut self, n: u64, call: &Call) {
        let slot = self.slot(n, "app");
        count(&self.writer, slot, *call);
    }

    fn report(&self) -> Report {
        Report::of(&[Arc::clone(&self.table)])
    }
}

fn call(total_ns: u64) -> Call {
    Call {
        total_ns,
        server_ns: total_ns / 2,
        rows_sent: 1,
        bytes_in: 10,
        bytes_out: 100,
        at_ns: 5_000_000_000,
        ..Call::default()
    }
}

#[test]
fn what_a_statement_usually_takes_leaves_the_slowest_out() {
    const MS: u64 = 1_000_000;
    let mut desk = Desk::new(10);
    let slot = desk.slot(1, "app");
    assert_eq!(desk.writer.usual_ns(slot, 300 * MS), None, "nothing else is known");
    // One that waited for its client, and one that did not.
    desk.count(1, &Call { server_ns: 190 * MS, ..call(210 * MS) });
    let usual = |desk: &Desk, now| desk.writer.usual_ns(slot, now).unwrap();
    let near = |ns: u64, of: u64| assert!(ns >= of && ns <= of + of / 8, "{ns} {of}");
    near(usual(&desk, 2_300 * MS), 190 * MS);
    (0..8).for_each(|_| desk.count(1, &Call { server_ns: 200 * MS, ..call(200 * MS) }));
    near(usual(&desk, 2_300 * MS), 200 * MS);
    (0..2).for_each(|_| desk.count(1, &Call { server_ns: 1_000 * MS, ..call(1_000 * MS) }));
    near(usual(&desk, 2_300 * MS), 1_000 * MS);
    // Answers from the cache say nothing about the server.
    desk.count(1, &Call { source: Source::Hit, server_ns: 0, ..call(MS) });
    near(usual(&desk, 2_300 * MS), 1_000 * MS);
    // Where there are many calls, a few more are not looked at.
    (0..100).for_each(|_| desk.count(1, &Call { server_ns: 200 * MS, ..call(200 * MS) }));
    near(usual(&desk, 200 * MS), 200 * MS);
    (0..7).for_each(|_| desk.count(1, &Call { server_ns: 4 * MS, ..call(4 * MS) }));
    near(usual(&desk, 4 * MS), 200 * MS);
    (0..2_000).for_each(|_| desk.count(1, &Call { server_ns: 4 * MS, ..call(4 * MS) }));
    near(usual(&desk, 4 * MS), 4 * MS);
    // The shortest and the longest that are told apart.
    let other = desk.slot(2, "app");
    desk.count(2, &Call { server_ns: 100, ..call(100) });
    assert_eq!((desk.writer.usual_ns(other, 50), desk.writer.usual_ns(other, MS)), (Some(1023), Some(1023)));
    (0..4).for_each(|_| desk.count(2, &Call { server_ns: 1 << 50, ..call(1 << 50) }));
    assert_eq!(desk.writer.usual_ns(other, MS), Some(u64::MAX));
    desk.table.empty();
    assert_eq!(desk.writer.usual_ns(slot, 300 * MS), None);
}

#[test]
fn a_row_holds_what_was_counted() {
    let mut desk = Desk::new(10);
    let calls = [
        Call { rows_affected: 3, queue_ns: 4_000, ..call(5_000) },
        Call { error: Some(1062), source: Source::Miss, ..call(900) },
        Call { error: Some(1062), source: Source::Refused(5), ..call(2_000_000) },
        Call { source: Source::Hit, server_ns: 0, ..call(1 << 50) },
        Call { source: Source::Weir, server_ns: 0, at_ns: 9_999_999_999, ..call(0) },
    ];
    calls.iter().for_each(|call| desk.count(1, call));
    let slot = desk.slot(1, "app");
    desk.writer.pinned(slot, 0b101);
    desk.writer.kept(slot, Some(2), 70);
    desk.writer.kept(slot, Some(2), 7);
    desk.writer.kept(slot, None, 100);
    let report = desk.report();
    let [line] = &report.lines[..] else { panic!("{report:?}") };
    let sums = &line.sums;
    assert_eq!((sums.calls, sums.errors, sums.hits, sums.misses, sums.by_weir), (5, 2, 1, 1, 1));
    assert_eq!((sums.rows_sent, sums.rows_affected, sums.bytes_in, sums.bytes_out), (5, 3, 50, 500));
    assert_eq!((sums.first_seen, sums.last_seen), (1, 9));
    assert_eq!(sums.codes.iter().collect::<Vec<_>>(), [(&1062, &2)]);
    assert_eq!((sums.refused[5], sums.refused.iter().sum::<u64>()), (1, 1));
    assert_eq!((sums.pins[0], sums.pins[1], sums.pins[2]), (1, 0, 1));
    assert_eq!((sums.pinned_ns[2], sums.pinned_ns.iter().sum::<u64>(), sums.kept_ns), (77, 77, 100));
    assert_eq!((sums.total.count(), sums.server.count(), sums.queue.count()), (5, 3, 1));
    assert_eq!(sums.total.sum_ns(), 5_000 + 900 + 2_000_000 + (1 << 50));
    assert_eq!(&*line.sample, b"select c1 from t");
    assert_eq!(report.other, Sums::default());
}

/// The sparse histogram puts every duration where the dense one does.
#[test]
fn durations_fall_into_the_same_buckets_as_elsewhere() {
    let dense = crate::Histogram::default();
    let mut desk = Desk::new(1);
    let lengths =
        (0..64).flat_map(|exp| [1u64 << exp, (1u64 << exp) - 1, (1u64 << exp) | (1u64 << exp >> 2)]);
    for ns in lengths {
        dense.record(ns);
        desk.count(1, &Call { total_ns: ns, ..Call::default() });
    }
    assert_eq!(desk.report().lines[0].sums.total, dense.snapshot());
}

#[test]
fn who_sends_it_and_who_shares_an_id_by_chance_are_told_apart() {
    let mut desk = Desk::new(10);
    for (n, user) in [(1, "app"), (1, "other"), (1, "app")] {
        let slot = desk.slot(n, user);
        count(&desk.writer, slot, call(1));
    }
    let twin = DigestText::new(DigestId(1), b"another text", false);
    let origin = Origin { user: b"app"[..].into(), schema: b"db"[..].into(), server: "main".into() };
    let (origin, number) = desk.writer.origin(origin);
    let slot = desk.writer.slot(&twin, (&origin, number), b"", 0);
    count(&desk.writer, slot, call(1));
    let mut calls: Vec<_> = desk.report().lines.iter().map(|line| line.sums.calls).collect();
    calls.sort_unstable();
    assert_eq!(calls, [1, 1, 2]);
}

#[test]
fn rows_of_several_workers_are_added_up() {
    let mut desks = [Desk::new(10), Desk::new(10)];
    for desk in &mut desks {
        desk.count(1, &call(1_000));
        desk.count(2, &call(1_000));
    }
    let tables: Vec<_> = desks.iter().map(|desk| Arc::clone(&desk.table)).collect();
    let report = Report::of(&tables);
    let calls: Vec<_> = report.lines.iter().map(|line| (line.digest.id.0, line.sums.calls)).collect();
    assert_eq!(calls, [(1, 2), (2, 2)]);
}

#[test]
fn codes_of_errors_are_bounded() {
    let mut desk = Desk::new(1);
    for code in 1000..1100 {
        desk.count(1, &Call { error: Some(code), ..call(1) });
    }
    let sums = &desk.report().lines[0].sums;
    assert_eq!((sums.errors, sums.codes.values().sum::<u64>(), sums.codes.len()), (100, 100, 17));
    assert_eq!(sums.codes[&0], 84);
}

fn calls_of(rows: &Rows) -> u64 {
    rows.lines().map(|(_, line)| line.sums.calls).sum::<u64>() + rows.other().calls
}

/// Memory stays below its bound, what is used often stays, and nothing that was counted is lost.
#[test]
fn a_million_distinct_digests_fit() {
    const CAPACITY: usize = 1_000;
    let mut desk = Desk::new(CAPACITY);
    for n in 0..1_000_000 {
        desk.count(n + 10, &call(3_000));
        if n % 4 == 0 {
            desk.count(n / 4 % 8, &call(50_000));
        }
        if n % 100_000 == 0 {
            // Who looks meanwhile sees all that was counted, each line when it is its turn.
            let rows = Rows::of(&[Arc::clone(&desk.table)]);
            assert_eq!(calls_of(&rows), n + 1 + n / 4 + 1);
        }
    }
    let usage = desk.table.usage();
    assert_eq!(usage.rows, CAPACITY);
    assert!(usage.bytes < CAPACITY * 2_048, "{} bytes a row", usage.bytes / CAPACITY);
    assert!(desk.writer.places.len() == CAPACITY && desk.writer.rows.len() == CAPACITY);
    let report = desk.report();
    let busy: Vec<_> = report.lines.iter().filter(|line| line.digest.id.0 < 8).collect();
    assert_eq!(busy.iter().map(|line| line.sums.calls).sum::<u64>(), 250_000);
    let all = report.all();
    assert_eq!((all.calls, all.total.count(), all.bytes_out), (1_250_000, 1_250_000, 125_000_000));
    assert_eq!(all.total.sum_ns(), 1_000_000 * 3_000 + 250_000 * 50_000);
}

#[test]
fn a_row_that_has_gone_is_counted_with_the_others() {
    let mut desk = Desk::new(1);
    let slot = desk.slot(1, "app");
    desk.slot(2, "app");
    assert!(!desk.writer.is_current(slot));
    count(&desk.writer, slot, Call { error: Some(1205), ..call(1_000) });
    desk.writer.pinned(slot, 1);
    desk.writer.kept(slot, Some(0), 5);
    desk.writer.kept(slot, None, 6);
    assert!(desk.table.named(slot).is_none());
    let other = desk.report().other;
    assert_eq!((other.calls, other.errors, other.codes[&1205], other.pins[0]), (1, 1, 1, 1));
    assert_eq!((other.pinned_ns[0], other.kept_ns), (5, 6));
}

#[test]
fn an_emptied_table_begins_anew() {
    let mut desk = Desk::new(2);
    let before = desk.slot(1, "app");
    (1..=4).for_each(|n| desk.count(n, &call(1_000)));
    desk.table.empty();
    assert_eq!(desk.report().all(), Sums::default());
    assert!(!desk.writer.is_current(before));
    desk.count(1, &call(1_000));
    let report = desk.report();
    assert_eq!((report.lines.len(), report.all().calls, desk.table.usage().rows), (1, 1, 1));
}

#[test]
fn origins_that_nobody_has_are_forgotten() {
    let mut desk = Desk::new(4);
    for n in 0..1_000 {
        let slot = desk.slot(1, &format!("user{n}"));
        count(&desk.writer, slot, call(1));
    }
    assert!(desk.writer.origins.len() <= 8, "{}", desk.writer.origins.len());
    assert_eq!(desk.report().all().calls, 1_000);
}

proptest! {
    /// Whatever comes in whatever order, rows and others add up to what was counted, and each row has its own.
    #[test]
    fn sums_are_exact(capacity in 1usize..20, events in prop::collection::vec((0u64..40, 0u64..1 << 44, 0u8..6), 0..400)) {
        let mut desk = Desk::new(capacity);
        let mut expected = Sums::default();
        let mut held: HashMap<u64, Slot> = HashMap::new();
        for (n, ns, what) in events {
            let call = match what {
                0 => Call { error: Some(1000 + n as u16), ..call(ns) },
                1 => Call { source: Source::Hit, server_ns: 0, ..call(ns) },
                2 => Call { source: Source::Refused(n as u8), queue_ns: ns, ..call(ns) },
                _ => call(ns),
            };
            // A slot may be old when its statement ends.
            let slot = match held.get(&n) {
                Some(slot) if what == 5 => *slot,
                _ => desk.slot(n, "app"),
            };
            held.insert(n, slot);
            count(&desk.writer, slot, call);
            expected.calls += 1;
            expected.errors += u64::from(call.error.is_some());
            expected.hits += u64::from(call.source == Source::Hit);
            expected.refused[n as usize] += u64::from(what == 2);
            expected.bytes_in += call.bytes_in;
            expected.bytes_out += call.bytes_out;
            expected.rows_sent += call.rows_sent;
            expected.alone_ns += if call.server_ns == 0 { call.total_ns } else { 0 };
            for (sum, ns) in [(&mut expected.total, Some(call.total_ns)), (&mut expected.server, Some(call.server_ns).filter(|ns| *ns > 0)), (&mut expected.queue, Some(call.queue_ns).filter(|ns| *ns > 0))] {
                let one = crate::Histogram::default();
                ns.into_iter().for_each(|ns| one.record(ns));
                sum.merge(&one.snapshot());
            }
        }
        let report = desk.report();
        prop_assert!(report.lines.len() <= capacity);
        let all = report.all();
        prop_assert_eq!(all.codes.values().sum::<u64>(), expected.errors);
        let seen = (all.first_seen, all.last_seen);
        let compared = Sums { codes: all.codes.clone(), first_seen: seen.0, last_seen: seen.1, ..expected };
        prop_assert_eq!(all, compared);
    }
}
