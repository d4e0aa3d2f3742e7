//! The sampled simulation against caches that hold everything.

use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;
use weir_model::DigestId;

use super::*;
use crate::digests::{DigestText, Origin, Slot, Table, Writer};

const NO_GAP: Limits = Limits { lines: 4, keys_each: usize::MAX, keys: usize::MAX, gap_us: 0 };

/// One execution of a trace: after a pause, of this key, with this answer.
#[derive(Debug, Clone, Copy)]
struct Step {
    pause_us: u64,
    key: u64,
    took_us: u64,
    outcome: Outcome,
    wrote_before_us: Option<u64>,
}

/// A worker with one statement.
struct Bench {
    gates: Gates,
    desk: Arc<Desk>,
    writer: Writer,
    slot: Slot,
    now: u64,
}

impl Bench {
    fn new(limits: Limits) -> Self {
        Self::at(Desk::new(limits, 1))
    }

    fn at(desk: Arc<Desk>) -> Self {
        let mut writer = Writer::new(Table::new(10_000), 1);
        let slot = slot(&mut writer, 1);
        Self { gates: Gates::new(Arc::clone(&desk)), desk, writer, slot, now: 0 }
    }

    fn run(&mut self, step: &Step) {
        self.now += step.pause_us;
        let floor_us = step.wrote_before_us.map(|ago| self.now.saturating_sub(ago));
        let sample = self.gates.sample(self.slot, step.key);
        let sample = sample.filter(|sample| !self.gates.skips(*sample, self.now, floor_us));
        let server_ns = step.took_us * 1_000;
        let Self { gates, writer, slot, .. } = self;
        if gates.count(*slot, server_ns).is_none() {
            gates.begin(*slot, server_ns, writer.named(*slot));
        }
        if let Some(sample) = sample {
            let seen = Seen {
                key: sample.key,
                asked_us: self.now,
                answered_us: self.now + step.took_us,
                server_ns,
                outcome: step.outcome,
                floor_us,
            };
            gates.observe(*slot, &seen);
        }
    }

    fn line(&mut self) -> Line {
        self.gates.tell();
        let lines = self.desk.lines();
        assert_eq!(lines.len(), 1);
        lines.into_iter().next().unwrap()
    }
}

fn slot(writer: &mut Writer, id: u64) -> Slot {
    let digest = DigestText::new(DigestId(id), format!("select c from t{id}").as_bytes(), true);
    let origin = Origin { user: b"app"[..].into(), schema: b"db"[..].into(), server: "main".into() };
    let (origin, number) = writer.origin(origin);
    writer.slot(&digest, (&origin, number), b"", 0)
}

/// What a cache with this TTL does, entry by entry.
#[derive(Debug, Default, PartialEq)]
struct Exact {
    hits: u64,
    fills: u64,
    misses: u64,
    stale: u64,
    outdated: u64,
    own_writes: u64,
    missed_us: u64,
}

fn exact(steps: &[Step], ttl: u64) -> Exact {
    let mut stored: HashMap<u64, (u64, u64, bool)> = HashMap::new();
    let (mut found, mut now) = (Exact::default(), 0);
    for step in steps {
        now += step.pause_us;
        let floor = step.wrote_before_us.map(|ago| now.saturating_sub(ago));
        let young = stored.get_mut(&step.key).filter(|(asked, ..)| now - asked < ttl);
        let is_there = young.is_some();
        let entry = young.filter(|(asked, ..)| floor.is_none_or(|floor| *asked > floor));
        match (entry, step.outcome) {
            (Some((_, stored, outdated)), Outcome::Kept { hash, .. }) => {
                found.hits += 1;
                found.stale += u64::from(*stored != hash);
                found.outdated += u64::from(*stored != hash && !*outdated);
                *outdated |= *stored != hash;
            }
            (Some(_), Outcome::NotKept) => found.hits += 1,
            (None, outcome) => {
                found.misses += 1;
                found.own_writes += u64::from(is_there && floor.is_some_and(|floor| floor < now));
                found.missed_us += step.took_us;
                if let (Outcome::Kept { hash, .. }, true) = (outcome, step.took_us < ttl) {
                    stored.insert(step.key, (now, hash, false));
                    found.fills += 1;
                }
            }
        }
    }
    found
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let pause = prop_oneof![0..50_000u64, 0..2_000_000u64, 0..400_000_000u64];
    let outcome = prop_oneof![
        1 => Just(Outcome::NotKept),
        9 => (0..3u64).prop_map(|hash| Outcome::Kept { hash, bytes: 600 }),
    ];
    let key = (0..8u64).prop_map(|key| key.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let wrote = prop_oneof![3 => Just(None), 1 => (0..30_000_000u64).prop_map(Some)];
    let took = prop_oneof![9 => 0..3_000u64, 1 => 0..20_000_000u64];
    let step =
        (pause, key, took, outcome, wrote).prop_map(|(pause_us, key, took_us, outcome, wrote_before_us)| {
            Step { pause_us, key, took_us, outcome, wrote_before_us }
        });
    proptest::collection::vec(step, 1..200)
}

proptest! {
    /// With all keys watched, and each time, the figures are those of real caches.
    #[test]
    fn with_room_for_all_keys_it_is_exact(steps in steps()) {
        let mut bench = Bench::new(NO_GAP);
        steps.iter().for_each(|step| bench.run(step));
        let line = bench.line();
        prop_assert_eq!(line.calls, steps.len() as u64);
        for (prediction, tier) in line.predictions().iter().zip(&line.tiers) {
            let exact = exact(&steps, prediction.ttl_us);
            prop_assert_eq!(prediction.hits, exact.hits as f64);
            prop_assert_eq!(tier.hits, exact.hits as f64);
            prop_assert_eq!(tier.misses, exact.misses as f64);
            prop_assert_eq!(tier.stale, exact.stale as f64);
            prop_assert_eq!((tier.fills, tier.outdated), (exact.fills as f64, exact.outdated as f64));
            prop_assert_eq!(tier.missed_ns, exact.missed_us as f64 * 1e3);
            prop_assert_eq!(tier.own_writes, exact.own_writes as f64);
        }
    }

    /// What is not watched because nothing can happen to it leaves hits and misses as they are.
    #[test]
    fn hits_that_are_not_watched_are_counted(steps in steps()) {
        let steps: Vec<_> = steps.iter().map(|step| Step { took_us: 0, ..*step }).collect();
        let mut bench = Bench::new(Limits { gap_us: 20_000, ..NO_GAP });
        steps.iter().for_each(|step| bench.run(step));
        let line = bench.line();
        prop_assert_eq!(line.calls, steps.len() as u64);
        for (prediction, tier) in line.predictions().iter().zip(&line.tiers) {
            let exact = exact(&steps, prediction.ttl_us);
            prop_assert_eq!(tier.misses, exact.misses as f64);
            prop_assert_eq!(prediction.hits, exact.hits as f64);
        }
    }
}

/// For each TTL the share of stale hits is told so exactly.
fn assert_stale_within(within: f64, bench: &mut Bench, steps: &[Step], at: u64) {
    for (prediction, ttl) in bench.line().predictions().iter().zip(LADDER) {
        let exact = exact(steps, ttl);
        let share = exact.stale as f64 / exact.hits as f64;
        let off = (prediction.stale_ratio - share).abs();
        assert!(off < within, "{at} {ttl}: {} told, {share} in truth", prediction.stale_ratio);
    }
}

/// Of a key that is asked for all the time most executions are not watched; they would have been as stale as those that are.
#[test]
fn hits_that_are_not_watched_are_as_stale_as_others() {
    for changes_each_us in [300_000, 1_700_000, 40_000_000] {
        let mut bench = Bench::new(Limits::default());
        let (mut dice, mut now) = (Dice(7), 0);
        let steps: Vec<_> = (0..60_000)
            .map(|_| {
                let pause_us = (dice.roll() * 2_000.0) as u64;
                now += pause_us;
                let outcome = Outcome::Kept { hash: now / changes_each_us, bytes: 600 };
                Step { pause_us, key: 1, took_us: 0, outcome, wrote_before_us: None }
            })
            .collect();
        steps.iter().for_each(|step| bench.run(step));
        assert_stale_within(0.03, &mut bench, &steps, changes_each_us);
    }
}

/// Numbers from 0 to 1 that look random.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Hashes as keys have them.
fn spread(n: u64) -> u64 {
    let mut n = n.wrapping_add(0x9E37_79B9_7F4A_7C15);
    n = (n ^ n >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    n = (n ^ n >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    n ^ n >> 31
}

/// One sample of keys, chosen by `seed`; how far its hit ratios, and the shares of outdated answers, are from the truth.
fn errors(key: fn(f64) -> u64, wrote_before_us: Option<u64>, seed: u64) -> (f64, f64) {
    let mut bench = Bench::new(Limits::default());
    let (mut dice, mut now) = (Dice(seed), 0);
    let steps: Vec<_> = (0..60_000)
        .map(|_| {
            let (pause_us, number) = ((dice.roll() * 5_000.0) as u64, key(dice.roll()));
            now += pause_us;
            // The answer to each changes every forty seconds, at moments of its own.
            let hash = (now + spread(number) % 40_000_000) / 40_000_000;
            let outcome = Outcome::Kept { hash, bytes: 600 };
            Step { pause_us, key: spread(number ^ seed << 32), took_us: 300, outcome, wrote_before_us }
        })
        .collect();
    steps.iter().for_each(|step| bench.run(step));
    let line = bench.line();
    assert!(line.keys <= 1024 && line.one_of > 1, "{} keys, one of {}", line.keys, line.one_of);
    assert_eq!(line.calls, steps.len() as u64);
    line.predictions().iter().fold((0.0, 0.0), |(hits, outdated), prediction| {
        let exact = exact(&steps, prediction.ttl_us);
        let ratio = exact.hits as f64 / steps.len() as f64;
        let share = exact.outdated as f64 / exact.fills as f64;
        let error = (prediction.hit_ratio - ratio).abs();
        (f64::max(hits, error), f64::max(outdated, (prediction.outdated_ratio - share).abs()))
    })
}

#[test]
fn a_sample_tells_the_figures_of_all_keys() {
    type Workload = (&'static str, fn(f64) -> u64);
    let workloads: [Workload; 4] = [
        ("2,000 alike", |x| (x * 2_000.0) as u64),
        ("50,000 alike", |x| (x * 50_000.0) as u64),
        // The n-th is asked for about 1/n as often as the first.
        ("skewed", |x| 100_000f64.powf(x) as u64),
        ("one in two is the same", |x| if x < 0.5 { 1 } else { (x * 200_000.0) as u64 }),
    ];
    for (name, key) in workloads {
        for seed in 1..=3 {
            let (hits, outdated) = errors(key, None, seed);
            assert!(hits < 0.08, "{name}, {seed}: a hit ratio is {hits} off");
            assert!(outdated < 0.08, "{name}, {seed}: a share of outdated answers is {outdated} off");
        }
    }
}

/// As sysbench asks for rows: what the sample lacks is then not what is answered from the cache.
#[test]
fn keys_that_are_asked_for_most_may_be_misses_too() {
    let rows =
        |x: f64| if x < 0.75 { (x / 0.75 * 100.0) as u64 } else { 100 + ((x - 0.75) * 40_000.0) as u64 };
    for seed in 1..=6 {
        let (hits, _) = errors(rows, Some(30_000), seed);
        assert!(hits < 0.05, "{seed}: a hit ratio is {hits} off");
    }
}

#[test]
fn memory_is_bounded_however_many_statements_and_keys_come() {
    let limits = Limits { lines: 16, keys_each: 256, keys: 1024, gap_us: 0 };
    let desk = Desk::new(limits, 1);
    let mut bench = Bench::at(Arc::clone(&desk));
    let step = |key| Step {
        pause_us: 10,
        key: spread(key),
        took_us: 1,
        outcome: Outcome::Kept { hash: 1, bytes: 600 },
        wrote_before_us: None,
    };
    for n in 0..50_000 {
        bench.slot = slot(&mut bench.writer, n % 40);
        bench.run(&step(n));
    }
    let lines = desk.lines();
    assert_eq!(lines.len(), 16);
    let keys: usize = lines.iter().map(|line| line.keys).sum();
    assert!(keys <= 1024, "{keys} keys");
    assert!(desk.bytes() < 1 << 20, "{} bytes", desk.bytes());
}

/// A statement of this key, whose answer is always the same.
fn always(key: u64) -> Step {
    let outcome = Outcome::Kept { hash: 1, bytes: 600 };
    Step { pause_us: 1_000, key: spread(key), took_us: 1, outcome, wrote_before_us: None }
}

#[test]
fn hot_keys_do_not_halve_the_others_again_and_again() {
    let mut bench = Bench::new(NO_GAP);
    (0..100).for_each(|_| bench.run(&always(0)));
    (1..1949).for_each(|key| bench.run(&always(key)));
    assert_eq!(bench.line().one_of, 2, "so many different ones cost more than they tell");
    (0..100).for_each(|_| bench.run(&always(0)));
    assert_eq!(bench.line().one_of, 2);
}

/// What changes while nobody asks has not changed for those who asked before.
#[test]
fn hits_in_a_burst_are_not_stale_for_what_changes_behind_it() {
    for apart_us in [1_000, 5_000] {
        let mut bench = Bench::new(Limits::default());
        let step = |n: u64| {
            let outcome = Outcome::Kept { hash: n / 20, bytes: 600 };
            let pause_us = if n.is_multiple_of(20) { 9_700_000 } else { apart_us };
            Step { pause_us, key: 1, took_us: 0, outcome, wrote_before_us: None }
        };
        let steps: Vec<_> = (0..4_000).map(step).collect();
        steps.iter().for_each(|step| bench.run(step));
        assert_stale_within(0.01, &mut bench, &steps, apart_us);
    }
}

/// Each of those that are always watched would cost as much as many others.
#[test]
fn keys_that_chance_asks_for_more_often_are_not_hot() {
    let mut bench = Bench::new(NO_GAP);
    let mut dice = Dice(1);
    (0..2_100).for_each(|_| bench.run(&always((dice.roll() * 2_000.0) as u64)));
    assert_eq!(bench.line().one_of, 2);
    let watched = (0..2_000).filter(|key| bench.gates.sample(bench.slot, spread(*key)).is_some()).count();
    let in_sample = (0..2_000).filter(|key| spread(*key).leading_zeros() > 0).count();
    assert_eq!(watched, in_sample);
}

#[test]
fn more_statements_than_lines_do_not_drive_each_other_out() {
    let limits = Limits { lines: 8, ..NO_GAP };
    let desk = Desk::new(limits, 1);
    let mut bench = Bench::at(Arc::clone(&desk));
    let mut run = |id| {
        bench.slot = slot(&mut bench.writer, id);
        bench.run(&always(1));
        bench.gates.tell();
    };
    (0..10).for_each(|_| (0..1_000).for_each(&mut run));
    let calls: Vec<_> = desk.lines().iter().map(|line| line.calls).collect();
    assert_eq!(calls, [10; 8]);
    (0..5).for_each(|_| run(2_000));
    let calls = desk.lines().iter().find(|line| line.digest.id == DigestId(2_000)).map(|line| line.calls);
    assert_eq!(calls, Some(4), "from the second one in a short time on");
}

#[test]
fn a_line_that_came_back_counts_from_there() {
    let desk = Desk::new(NO_GAP, 1);
    let mut bench = Bench::at(Arc::clone(&desk));
    let step = Step {
        pause_us: 1_000,
        key: spread(1),
        took_us: 1,
        outcome: Outcome::Kept { hash: 1, bytes: 600 },
        wrote_before_us: None,
    };
    (0..10).for_each(|_| bench.run(&step));
    assert_eq!(bench.line().calls, 10);
    desk.empty();
    (0..3).for_each(|_| bench.run(&step));
    let line = bench.line();
    assert_eq!((line.calls, line.tiers[0].misses), (3, 1.0));
}

#[test]
fn the_cache_is_one_for_all_workers() {
    let desk = Desk::new(NO_GAP, 1);
    let mut benches = [Bench::at(Arc::clone(&desk)), Bench::at(Arc::clone(&desk))];
    let step = Step {
        pause_us: 1_000,
        key: spread(1),
        took_us: 1,
        outcome: Outcome::Kept { hash: 1, bytes: 600 },
        wrote_before_us: None,
    };
    for _ in 0..5 {
        benches.iter_mut().for_each(|bench| bench.run(&step));
    }
    benches[0].gates.tell();
    let line = benches[1].line();
    assert_eq!((line.calls, line.tiers[0].misses, line.tiers[0].hits), (10, 1.0, 9.0));
    assert_eq!((line.tiers[0].entries, line.tiers[0].bytes), (1.0, 600.0));
}

#[test]
fn the_best_saves_most_of_what_is_hardly_ever_stale() {
    let p = |ttl_us, saved_ns, stale_ratio| Prediction {
        ttl_us,
        hits: 1.0,
        hit_ratio: 0.5,
        saved_ns,
        stale_ratio,
        own_writes_ratio: 0.0,
        outdated_ratio: 0.0,
        entries: 1.0,
        bytes: 1.0,
    };
    let all = [p(1, 10.0, 0.0), p(10, 990.0, 0.005), p(60, 1_000.0, 0.009), p(300, 2_000.0, 0.02)];
    let chosen = |stale| best(&all, stale).map(|p| p.ttl_us);
    assert_eq!((chosen(0.0), chosen(0.01), chosen(0.5)), (Some(1), Some(10), Some(300)));
    assert_eq!(best(&all[3..], 0.01), None);
    assert_eq!(best(&[p(1, 0.0, 0.0)], 0.01), None);
}

/// So many executions of so many keys in turn, one after the other with this pause.
fn turns(bench: &mut Bench, keys: std::ops::Range<u64>, count: u64, pause_us: u64) {
    for n in 0..count {
        let key = spread(keys.start + n % (keys.end - keys.start));
        let outcome = Outcome::Kept { hash: 1, bytes: 100 };
        bench.run(&Step { pause_us, key, took_us: 100, outcome, wrote_before_us: None });
    }
}

const HOUR_US: u64 = LADDER[5];

#[test]
fn all_keys_are_watched_again_when_few_are_left() {
    // Another line comes all the time, so that time is known to pass.
    for (name, others) in [("alone", false), ("beside another", true)] {
        let desk = Desk::new(Limits::default(), 1);
        let mut bench = Bench::at(Arc::clone(&desk));
        turns(&mut bench, 0..100_000, 200_000, 50);
        let crowded = bench.line();
        assert!(crowded.one_of >= 64, "{name}: one of {}", crowded.one_of);
        // Ten keys that are not in the sample.
        let first = (1_000_000..).find(|n| (0..10).all(|i| spread(n + i).leading_zeros() < 3)).unwrap();
        let mut other = Bench::at(Arc::clone(&desk));
        other.slot = slot(&mut other.writer, 2);
        for _ in 0..8 {
            let calls = if others { 300 } else { 50_000 };
            turns(&mut bench, first..first + 10, calls, HOUR_US / calls);
            other.now = bench.now;
            if others {
                turns(&mut other, 0..1, 1, 1);
            }
        }
        bench.gates.tell();
        let line = desk.lines().into_iter().next().unwrap();
        assert_eq!(line.one_of, 1, "{name}");
        assert!(line.keys >= 10, "{name}: {} keys", line.keys);
        let calls = if others { 202_400 } else { 600_000 };
        assert_eq!(line.calls, calls, "{name}: nothing of before is forgotten");
        // Half of the first calls were hits, and nearly all behind them.
        let expected = 100_000.0 + (calls - 200_000) as f64;
        let hits = line.predictions()[5].hits;
        assert!((hits - expected).abs() < expected * 0.03, "{name}: {hits} of {expected}");
    }
}

#[test]
fn a_line_that_is_as_busy_as_before_goes_on_with_its_sample() {
    let mut bench = Bench::new(Limits::default());
    turns(&mut bench, 0..100_000, 200_000, 50);
    let before = bench.line();
    turns(&mut bench, 0..100_000, 200_000, HOUR_US / 50_000);
    let line = bench.line();
    assert!(line.one_of >= before.one_of && before.one_of > 1, "{} {}", before.one_of, line.one_of);
    assert_eq!(line.calls, 400_000);
}

#[test]
fn what_is_told_apart_is_in_the_sample_with_its_statement() {
    let sample = Sample { key: spread(1) };
    assert_eq!(sample.apart(0), sample);
    for apart in 1..1_000 {
        let other = sample.apart(apart);
        assert_ne!(other, sample);
        assert_eq!(other.key >> 32, sample.key >> 32);
    }
}
