use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use crate::digests::{DigestText, Line, Origin, Sums};

/// By which factor a mean time or a rate must have grown to be told: less than a quarter more is mostly chance.
const GROWN: f64 = 1.25;
/// Statements of each period below which a mean says nothing, and a rate neither.
const ENOUGH: u64 = 5;
/// Nanoseconds by which a mean time must have grown as well: shorter differences are those of the network.
const NOTICED_NS: u64 = 100_000;

/// What differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It came now, and not then.
    New,
    /// It came then, and not now.
    Gone,
    /// Its mean time is greater by a quarter and by 0.1 ms, with five statements at least in both periods.
    Slower,
    /// It comes more often in the same time, by a quarter, five times at least.
    MoreOften,
}

/// One digest from one origin, in both periods.
#[derive(Debug, Clone)]
pub struct Row {
    pub digest: Arc<DigestText>,
    pub origin: Arc<Origin>,
    pub now: Sums,
    pub then: Sums,
}

/// How two periods differ. One row may be in two lists: slower, and more often.
#[derive(Debug, Clone, Default)]
pub struct Comparison {
    /// The most time of the clients first.
    pub new: Vec<Row>,
    pub gone: Vec<Row>,
    /// The most time that was added first.
    pub slower: Vec<Row>,
    /// The most statements that were added first.
    pub more_often: Vec<Row>,
    /// Rows of which nothing is told.
    pub unchanged: usize,
}

/// Compares what was counted `now` with `then`. Each comes with the milliseconds in which it was counted.
pub fn compare(now: (&[Line], u64), then: (&[Line], u64)) -> Comparison {
    let mut before: HashMap<_, &Line> = then.0.iter().map(|line| (key(line), line)).collect();
    let mut comparison = Comparison::default();
    for line in now.0 {
        let then_sums = before.remove(&key(line)).map(|line| line.sums.clone()).unwrap_or_default();
        let row = Row {
            digest: Arc::clone(&line.digest),
            origin: Arc::clone(&line.origin),
            now: line.sums.clone(),
            then: then_sums,
        };
        let changes = row.changes(now.1, then.1);
        for change in &changes {
            comparison.list(*change).push(row.clone());
        }
        comparison.unchanged += usize::from(changes.is_empty());
    }
    comparison.gone.extend(before.into_values().filter(|line| line.sums.calls > 0).map(|line| Row {
        digest: Arc::clone(&line.digest),
        origin: Arc::clone(&line.origin),
        now: Sums::default(),
        then: line.sums.clone(),
    }));
    let time = |row: &Row| row.now.total.sum_ns().max(row.then.total.sum_ns());
    let id = |row: &Row| row.digest.id;
    comparison.new.sort_by_key(|row| (Reverse(time(row)), id(row)));
    comparison.gone.sort_by_key(|row| (Reverse(time(row)), id(row)));
    comparison.slower.sort_by_key(|row| (Reverse(row.added_ns()), id(row)));
    comparison.more_often.sort_by_key(|row| (Reverse(row.added_calls(now.1, then.1)), id(row)));
    comparison
}

fn key(line: &Line) -> (&DigestText, &Origin) {
    (&line.digest, &line.origin)
}

impl Comparison {
    fn list(&mut self, change: Change) -> &mut Vec<Row> {
        match change {
            Change::New => &mut self.new,
            Change::Gone => &mut self.gone,
            Change::Slower => &mut self.slower,
            Change::MoreOften => &mut self.more_often,
        }
    }
}

impl Row {
    fn changes(&self, now_ms: u64, then_ms: u64) -> Vec<Change> {
        match (self.now.calls, self.then.calls) {
            // Times that a connection was kept may be all there is of a statement that was answered before.
            (0, 0) => return Vec::new(),
            (_, 0) => return vec![Change::New],
            (0, _) => return vec![Change::Gone],
            _ => {}
        }
        let mut changes = Vec::new();
        let (now, then) = (mean_ns(&self.now), mean_ns(&self.then));
        let grown = now as f64 >= then as f64 * GROWN && now - then >= NOTICED_NS;
        if self.now.calls.min(self.then.calls) >= ENOUGH && grown {
            changes.push(Change::Slower);
        }
        let expected = expected(self.then.calls, now_ms, then_ms);
        if self.now.calls as f64 >= expected * GROWN && self.added_calls(now_ms, then_ms) >= ENOUGH {
            changes.push(Change::MoreOften);
        }
        changes
    }

    /// Time that was added because the mean has grown.
    pub fn added_ns(&self) -> u64 {
        mean_ns(&self.now).saturating_sub(mean_ns(&self.then)).saturating_mul(self.now.calls)
    }

    /// Statements beyond those that came in the same time then.
    pub fn added_calls(&self, now_ms: u64, then_ms: u64) -> u64 {
        (self.now.calls as f64 - expected(self.then.calls, now_ms, then_ms)).max(0.0) as u64
    }
}

/// How many statements were to be expected now at the rate of then.
fn expected(calls: u64, now_ms: u64, then_ms: u64) -> f64 {
    calls as f64 * now_ms as f64 / then_ms.max(1) as f64
}

fn mean_ns(sums: &Sums) -> u64 {
    sums.total.sum_ns().checked_div(sums.calls).unwrap_or(0)
}
