use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use weir_model::DigestId;

use super::*;
use crate::Histogram;
use crate::digests::{Call, DigestText, Line, Origin, Report, Source, Sums, Table, Writer};

/// Both clocks, which go on together unless the wall clock is set.
struct Time(Moment);

impl Time {
    /// 2026-11-22 12:00:30 UTC, and half an hour after the machine has started.
    fn new() -> Self {
        Self(Moment { wall_ms: 1_795_348_830_000, steady_ms: 1_800_000 })
    }

    fn pass(&mut self, ms: u64) -> Moment {
        self.0.wall_ms += ms;
        self.0.steady_ms += ms;
        self.0
    }

    fn set(&mut self, by_ms: i64) {
        self.0.wall_ms = self.0.wall_ms.strict_add_signed(by_ms);
    }

    fn second(&self) -> u64 {
        self.0.wall_ms / 1000
    }
}

/// Looks each second.
fn run(clock: &mut Clock, time: &mut Time, seconds: u64) {
    for _ in 0..seconds {
        clock.tick(time.pass(1000));
    }
}

const RETENTION: Retention =
    Retention { seconds: Duration::from_secs(3600), minutes: Duration::from_secs(30 * 86_400) };

#[test]
fn each_second_has_its_point_and_each_minute_ends_once() {
    let mut time = Time::new();
    let began = time.second();
    let mut clock = Clock::new(time.pass(3));
    let mut ended = Vec::new();
    for second in 0..180 {
        let tick = clock.tick(time.pass(1000));
        assert_eq!((tick.second, tick.covered_ms, tick.step), (began + second, 1000, None));
        ended.extend(tick.ended_minute);
    }
    assert_eq!(ended, [began - 30, began + 30, began + 90]);
}

#[test]
fn a_look_that_comes_late_covers_more_and_ends_the_minute_that_was_under_way() {
    let mut time = Time::new();
    let mut clock = Clock::new(time.0);
    let tick = clock.tick(time.pass(45_000));
    assert_eq!((tick.covered_ms, tick.step), (45_000, None));
    assert_eq!(tick.ended_minute, Some(Time::new().second() - 30));
    assert_eq!(tick.second, Time::new().second() + 22);
}

#[test]
fn a_clock_that_is_set_is_told_and_nothing_is_removed_for_a_while() {
    for by_ms in [-3_600_000i64, 3_600_000, 10 * 365 * 86_400_000] {
        let mut time = Time::new();
        let mut clock = Clock::new(time.0);
        assert_eq!(clock.keep(RETENTION), None, "a start may come with a wrong clock");
        run(&mut clock, &mut time, 600);
        let before = clock.keep(RETENTION).unwrap();
        assert_eq!(before.seconds_from, time.second() - 3600);
        assert_eq!(before.minutes_from, (time.second() - 30 * 86_400) / 60 * 60);
        time.set(by_ms);
        let tick = clock.tick(time.pass(1000));
        let by = Duration::from_millis(by_ms.unsigned_abs());
        let expected = if by_ms < 0 { Step::Back(by) } else { Step::Forward(by) };
        assert_eq!(tick.step, Some(expected));
        // The point is where the clock says now, and the minute that was under way has ended.
        assert_eq!((tick.second, tick.covered_ms), (time.second() - 1, 1000));
        assert!(tick.ended_minute.is_some());
        for _ in 0..599 {
            let tick = clock.tick(time.pass(1000));
            assert_eq!(tick.step, None);
            assert_eq!(clock.keep(RETENTION), None);
        }
        clock.tick(time.pass(1000));
        assert_eq!(clock.keep(RETENTION).unwrap().seconds_from, time.second() - 3600);
    }
}

#[test]
fn a_clock_that_is_put_right_again_has_cost_nothing() {
    let mut time = Time::new();
    let mut clock = Clock::new(time.0);
    run(&mut clock, &mut time, 600);
    time.set(86_400_000 * 365);
    run(&mut clock, &mut time, 300);
    time.set(-86_400_000 * 365);
    for _ in 0..600 {
        clock.tick(time.pass(1000));
        assert_eq!(clock.keep(RETENTION), None);
    }
    clock.tick(time.pass(1000));
    let keep = clock.keep(RETENTION).unwrap();
    // What was written in the wrong year goes, what was written before stays.
    assert!(keep.until < time.second() + 300 * 86_400 && keep.until > time.second());
    assert_eq!(keep.seconds_from, time.second() - 3600);
}

#[test]
fn a_clock_that_drifts_is_not_set() {
    let mut time = Time::new();
    let mut clock = Clock::new(time.0);
    for _ in 0..1000 {
        // 500 ppm, the most that ntpd does.
        time.set(1);
        assert_eq!(clock.tick(time.pass(2000)).step, None);
    }
}

#[test]
fn points_of_seconds_add_up_to_that_of_their_minute() {
    let histogram = Histogram::default();
    let mut readings = vec![Reading::default()];
    for n in 1..=60u64 {
        histogram.record(n * 1_000_000);
        readings.push(Reading {
            statements: n,
            hits: n / 2,
            clients: n % 7,
            total: histogram.snapshot(),
            ..Reading::default()
        });
    }
    let mut sum = Point::default();
    readings.windows(2).for_each(|pair| sum.merge(&Point::between(&pair[0], &pair[1], 1000)));
    let whole = Point::between(&readings[0], &readings[60], 60_000);
    assert_eq!(sum, Point { clients: 6, ..whole });
    assert_eq!((sum.statements, sum.hits, sum.total.count(), sum.covered_ms), (60, 30, 60, 60_000));
}

#[test]
fn a_count_that_falls_is_nothing() {
    let (then, now) = (
        Reading { hits: 9, statements: 5, ..Reading::default() },
        Reading { hits: 3, statements: 7, ..Reading::default() },
    );
    let point = Point::between(&then, &now, 1000);
    assert_eq!((point.hits, point.statements), (0, 2));
}

/// A table and its writer.
struct Desk {
    tables: Vec<Arc<Table>>,
    writer: Writer,
    ledger: Ledger,
}

impl Desk {
    fn new(capacity: usize) -> Self {
        let table = Table::new(capacity);
        Self { tables: vec![Arc::clone(&table)], writer: Writer::new(table, 7), ledger: Ledger::default() }
    }

    fn count(&mut self, n: u64, call: &Call) {
        let origin = Origin { user: b"app"[..].into(), schema: b"db"[..].into(), server: "main".into() };
        let (origin, number) = self.writer.origin(origin);
        let digest = DigestText::new(DigestId(n), format!("select c{n} from t").as_bytes(), true);
        let slot = self.writer.slot(&digest, (&origin, number), b"select 'secret'", 1);
        assert!(self.writer.count(slot, *call));
    }

    fn take(&mut self, most: usize) -> Minute {
        self.ledger.take(&self.tables, most)
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

fn calls(minute: &Minute) -> Vec<(u64, u64)> {
    minute.lines.iter().map(|line| (line.digest.id.0, line.sums.calls)).collect()
}

#[test]
fn a_minute_tells_what_was_counted_since_the_one_before() {
    let mut desk = Desk::new(10);
    (0..3).for_each(|_| desk.count(1, &call(1_000_000)));
    desk.count(2, &call(9_000_000));
    let first = desk.take(10);
    assert_eq!(calls(&first), [(2, 1), (1, 3)]);
    assert!(first.lines.iter().all(|line| line.sample.is_empty()), "no literals");
    assert_eq!(desk.take(10).lines.len(), 0);
    desk.count(1, &Call { error: Some(1062), source: Source::Refused(3), queue_ns: 5000, ..call(2_000_000) });
    let minute = desk.take(10);
    let [line] = &minute.lines[..] else { panic!("{minute:?}") };
    assert_eq!(
        (line.sums.calls, line.sums.errors, line.sums.codes[&1062], line.sums.refused[3]),
        (1, 1, 1, 1)
    );
    assert_eq!((line.sums.total.count(), line.sums.total.sum_ns()), (1, 2_000_000));
    assert_eq!((line.sums.queue.count(), minute.other.calls), (1, 0));
}

#[test]
fn what_took_least_time_is_told_together() {
    let mut desk = Desk::new(1000);
    (1..=500).for_each(|n| desk.count(n, &call(n * 1_000_000)));
    let minute = desk.take(3);
    assert_eq!(calls(&minute), [(500, 1), (499, 1), (498, 1)]);
    assert_eq!((minute.other.calls, minute.other.total.count()), (497, 497));
}

#[test]
fn a_reset_begins_anew_and_loses_nothing_that_comes_after_it() {
    let mut desk = Desk::new(10);
    (0..5).for_each(|_| desk.count(1, &call(1000)));
    desk.take(10);
    desk.tables[0].empty();
    (0..2).for_each(|_| desk.count(1, &call(1000)));
    assert_eq!(calls(&desk.take(10)), [(1, 2)]);
    // More than before, so that nothing has fallen.
    desk.tables[0].empty();
    (0..9).for_each(|_| desk.count(1, &call(1000)));
    let minute = desk.take(10);
    assert_eq!((calls(&minute), minute.other.calls), (vec![(1, 9)], 0));
    desk.tables[0].empty();
    let minute = desk.take(10);
    assert_eq!((minute.lines.len(), minute.other), (0, Sums::default()));
}

#[test]
fn minutes_of_one_time_are_added_up() {
    let mut desk = Desk::new(10);
    (1..=3).for_each(|n| desk.count(n, &call(n * 1_000_000)));
    let mut minute = desk.take(10);
    desk.count(1, &call(50_000_000));
    desk.count(4, &call(1_000));
    minute.merge(desk.take(10), 2);
    assert_eq!(calls(&minute), [(1, 2), (3, 1)]);
    assert_eq!(minute.other.calls, 2);
}

/// Workers may disagree on whether a digest can be cached, and which of them is looked at first may change.
#[test]
fn what_else_is_known_of_a_digest_makes_no_other_row_of_it() {
    let (tables, mut minutes): (Vec<_>, Vec<_>) = [true, false]
        .into_iter()
        .map(|is_cacheable| {
            let mut desk = Desk::new(10);
            let origin = Origin { user: b"app"[..].into(), schema: b"db"[..].into(), server: "main".into() };
            let (origin, number) = desk.writer.origin(origin);
            let digest = DigestText::new(DigestId(1), b"select c from t", is_cacheable);
            let slot = desk.writer.slot(&digest, (&origin, number), b"", 1);
            assert!(desk.writer.count(slot, call(1000)));
            (Arc::clone(&desk.tables[0]), desk.take(10))
        })
        .unzip();
    let mut ledger = Ledger::default();
    assert_eq!(calls(&ledger.take(&tables, 10)), [(1, 2)]);
    let turned: Vec<_> = tables.into_iter().rev().collect();
    let minute = ledger.take(&turned, 10);
    assert_eq!((calls(&minute), minute.other.calls), (Vec::new(), 0));
    let (mut sum, later) = (minutes.remove(0), minutes.remove(0));
    sum.merge(later, 10);
    assert_eq!(calls(&sum), [(1, 2)]);
}

fn line(n: u64, calls: u64, mean_ms: u64) -> Line {
    let origin = Origin { user: b"app"[..].into(), schema: b"db"[..].into(), server: "main".into() };
    let total = Histogram::default();
    (0..calls).for_each(|_| total.record(mean_ms * 1_000_000));
    Line {
        digest: DigestText::new(DigestId(n), format!("select {n}").as_bytes(), true),
        origin: Arc::new(origin),
        sample: Box::default(),
        sums: Sums { calls, total: total.snapshot(), ..Sums::default() },
    }
}

fn ids(rows: Ranked<u64>) -> Vec<u64> {
    rows.first(0).collect()
}

/// With the milliseconds in which each was counted.
fn compare(now: (&[Line], u64), then: (&[Line], u64), most: usize) -> Comparison<u64> {
    let mut comparison = Comparison::new(Spans { now_ms: now.1, then_ms: then.1 }, most);
    let sums = |lines: &[Line], id| {
        let line = lines.iter().find(|line| line.digest.id.0 == id);
        line.map(|line| line.sums.clone()).unwrap_or_default()
    };
    let all: BTreeSet<u64> = now.0.iter().chain(then.0).map(|line| line.digest.id.0).collect();
    all.into_iter().for_each(|id| comparison.add(id, &sums(now.0, id), &sums(then.0, id)));
    comparison
}

#[test]
fn two_periods_differ_in_what_is_new_gone_slower_faster_and_more_or_less_often() {
    let then = [
        line(1, 100, 10),
        line(2, 100, 10),
        line(3, 100, 10),
        line(4, 100, 10),
        line(5, 3, 10),
        line(9, 7, 1),
    ];
    let now = [
        line(1, 100, 10),
        line(2, 100, 13),
        line(3, 130, 10),
        line(4, 200, 20),
        // Too few to say anything.
        line(5, 4, 90),
        line(8, 1, 500),
    ];
    let found = compare((&now, 60_000), (&then, 60_000), 10);
    assert_eq!((ids(found.new), ids(found.gone)), (vec![8], vec![9]));
    assert_eq!((ids(found.slower), ids(found.more_often)), (vec![4, 2], vec![4, 3]));
    assert_eq!(found.unchanged, 2);
    let two = compare((&now, 60_000), (&then, 60_000), 2);
    assert_eq!((two.slower.first(1).collect::<Vec<_>>(), two.more_often.first(2).count()), (vec![2], 0));
    let spans = Spans { now_ms: 60_000, then_ms: 60_000 };
    assert_eq!(added_ns(&now[3].sums, &then[3].sums), 200 * 10_000_000);
    assert_eq!(spans.added_calls(&now[3].sums, &then[3].sums), 100);
    // The other way round what was slower is faster, and what came more often comes less often.
    let found = compare((&then, 60_000), (&now, 60_000), 10);
    assert_eq!((found.slower.count(), found.more_often.count(), found.unchanged), (0, 0, 2));
    assert_eq!((ids(found.faster), ids(found.less_often)), (vec![4, 2], vec![4, 3]));
    assert_eq!(won_ns(&then[3].sums, &now[3].sums), 100 * 10_000_000);
    assert_eq!(spans.fewer_calls(&then[3].sums, &now[3].sums), 100);
    // The same in twice the time is less often, and in half of it more.
    let found = compare((&then, 120_000), (&then, 60_000), 10);
    assert_eq!((found.more_often.count(), found.slower.count(), found.faster.count()), (0, 0, 0));
    assert_eq!(ids(found.less_often), [1, 2, 3, 4, 9]);
    let found = compare((&then, 30_000), (&then, 60_000), 10);
    assert_eq!(ids(found.more_often), [1, 2, 3, 4]);
    // Nobody has sent these in either period.
    let found = compare((&[line(1, 0, 1), line(2, 0, 1)], 60_000), (&[line(1, 0, 1)], 60_000), 10);
    assert!([&found.new, &found.gone, &found.slower, &found.more_often].iter().all(|rows| rows.count() == 0));
    assert_eq!(found.unchanged, 0);
    // Nothing was counted then: all is new, and nothing divides by zero.
    let found = compare((&now, 60_000), (&[], 0), 10);
    assert_eq!((found.new.count(), found.gone.count()), (6, 0));
}

#[test]
fn of_many_rows_the_first_are_kept_and_all_are_counted() {
    let now: Vec<Line> = (0..500).map(|id| line(id, 1, 1 + id * 7 % 500)).collect();
    let found = compare((&now, 1_000), (&[], 1_000), 3);
    assert_eq!(found.new.count(), 500);
    // Those times seven are 499, 498 and 497, but for whole times 500.
    assert_eq!(ids(found.new), [357, 214, 71]);
}

fn some_sums() -> impl Strategy<Value = Sums> {
    let times = || prop::collection::vec(0u64..1 << 44, 0..20);
    let codes = prop::collection::btree_map(any::<u16>(), 1u64..1 << 40, 0..18);
    let reasons = || prop::collection::vec((0usize..64, 1u64..1 << 50), 0..6);
    (times(), times(), times(), codes, reasons(), reasons(), reasons(), any::<[u32; 10]>()).prop_map(
        |(total, queue, server, codes, refused, pins, pinned, numbers)| {
            let histogram = |times: Vec<u64>| {
                let histogram = Histogram::default();
                times.into_iter().for_each(|ns| histogram.record(ns));
                histogram.snapshot()
            };
            let mut sums = Sums {
                total: histogram(total),
                queue: histogram(queue),
                server: histogram(server),
                codes,
                ..Sums::default()
            };
            refused.into_iter().for_each(|(at, n)| sums.refused[at] += n);
            pins.into_iter().for_each(|(at, n)| sums.pins[at] += n);
            pinned.into_iter().for_each(|(at, n)| sums.pinned_ns[at] += n);
            sums.numbers_mut().into_iter().zip(numbers).for_each(|(to, n)| *to = n.into());
            sums
        },
    )
}

/// Files hold these bytes: where this fails, weir_store's VERSION must rise with it.
#[test]
fn the_bytes_of_counts_are_those_that_files_hold() {
    let total = Histogram::default();
    total.record(1_000_000);
    let mut sums = Sums {
        calls: 1,
        errors: 2,
        rows_sent: 3,
        rows_affected: 4,
        bytes_in: 5,
        bytes_out: 6,
        hits: 7,
        misses: 8,
        by_weir: 9,
        kept_ns: 10,
        saved_ns: 300,
        total: total.snapshot(),
        codes: [(1062, 1)].into(),
        ..Sums::default()
    };
    (sums.refused[3], sums.pins[1], sums.pinned_ns[63]) = (2, 4, 5);
    let numbers = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0xac, 2];
    let total = [0xc0, 0x84, 0x3d, 1, 80, 1];
    let (queue, server) = ([0, 0], [0, 0]);
    let (codes, refused, pins, pinned) = ([1, 0xa6, 8, 1], [1, 3, 2], [1, 1, 4], [1, 63, 5]);
    let parts: [&[u8]; 8] = [&numbers, &total, &queue, &server, &codes, &refused, &pins, &pinned];
    assert_eq!(encode_sums(&sums), parts.concat());
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(sums in some_sums()) {
        prop_assert_eq!(decode_sums(&encode_sums(&sums)), Some(sums.clone()));
        let (mut twice, mut added) = (sums.clone(), sums.clone());
        twice.merge(&sums);
        prop_assert_eq!(add_encoded(&mut added, &encode_sums(&sums)), Some(()));
        prop_assert_eq!(added, twice);
        prop_assert_eq!(decode_histogram(&encode_histogram(&sums.total)), Some(sums.total));
    }

    #[test]
    fn what_is_cut_or_changed_is_refused_or_read_and_never_worse(sums in some_sums(), at in any::<prop::sample::Index>(), flip in 1u8..) {
        let bytes = encode_sums(&sums);
        prop_assert_eq!(decode_sums(&bytes[..at.index(bytes.len())]), None);
        let mut changed = bytes.clone();
        changed[at.index(bytes.len())] ^= flip;
        prop_assert_ne!(decode_sums(&changed), Some(sums));
        decode_histogram(&bytes);
    }

    #[test]
    fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        decode_sums(&bytes);
        decode_histogram(&bytes);
    }

    #[test]
    fn what_was_counted_since_and_before_is_all(before in some_sums(), since in some_sums()) {
        let mut all = before.clone();
        all.merge(&since);
        prop_assert_eq!(all.since(&before), Some(since.clone()));
        prop_assert_eq!(all.beyond(&before), since.clone());
        if since.calls > 0 {
            prop_assert_eq!(before.since(&all), None);
        }
    }

    /// Whatever makes room for what between two looks, all that was counted is told once.
    #[test]
    fn minutes_add_up_to_what_was_counted(
        capacity in 1usize..12, most in 1usize..6,
        events in prop::collection::vec((0u64..20, 0u64..1 << 30, 0u8..12), 0..300),
    ) {
        let mut desk = Desk::new(capacity);
        let mut told = Sums::default();
        let tell = |desk: &mut Desk, told: &mut Sums| {
            let minute = desk.take(most);
            assert!(minute.lines.len() <= most);
            minute.lines.iter().for_each(|line| told.merge(&line.sums));
            told.merge(&minute.other);
        };
        for (n, ns, what) in events {
            if what == 0 {
                tell(&mut desk, &mut told);
            }
            let error = (what == 1).then_some(1000 + n as u16);
            desk.count(n, &Call { error, ..call(ns) });
        }
        tell(&mut desk, &mut told);
        let all = Report::of(&desk.tables).all();
        prop_assert_eq!(Sums { first_seen: told.first_seen, last_seen: told.last_seen, ..all }, told);
    }
}
