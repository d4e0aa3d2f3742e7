use std::cmp::Reverse;

use crate::digests::Sums;

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

/// The milliseconds in which each of two periods was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spans {
    pub now_ms: u64,
    pub then_ms: u64,
}

/// How two periods differ, told row by row. A row is named by a `K`; one may be in two lists: slower, and more often.
#[derive(Debug, Clone)]
pub struct Comparison<K> {
    spans: Spans,
    /// The most time of the clients first.
    pub new: Ranked<K>,
    pub gone: Ranked<K>,
    /// The most time that was added first.
    pub slower: Ranked<K>,
    /// The most statements that were added first.
    pub more_often: Ranked<K>,
    /// Rows of which nothing is told.
    pub unchanged: u64,
}

impl<K: Ord + Copy> Comparison<K> {
    /// Of each list it keeps so many rows.
    pub fn new(spans: Spans, most: usize) -> Self {
        Self {
            spans,
            new: Ranked::new(most),
            gone: Ranked::new(most),
            slower: Ranked::new(most),
            more_often: Ranked::new(most),
            unchanged: 0,
        }
    }

    /// One row, with what was counted of it in both periods; each row comes once.
    pub fn add(&mut self, key: K, now: &Sums, then: &Sums) {
        // Times that a connection was kept may be all there is of a statement that was answered before.
        if now.calls == 0 && then.calls == 0 {
            return;
        }
        let changes = changes(now, then, self.spans);
        for change in &changes {
            let time = now.total.sum_ns().max(then.total.sum_ns());
            match change {
                Change::New => self.new.add(time, key),
                Change::Gone => self.gone.add(time, key),
                Change::Slower => self.slower.add(added_ns(now, then), key),
                Change::MoreOften => self.more_often.add(self.spans.added_calls(now, then), key),
            }
        }
        self.unchanged += u64::from(changes.is_empty());
    }
}

/// The greatest of many, and how many there were.
#[derive(Debug, Clone)]
pub struct Ranked<K> {
    /// At most twice as many as are wanted, sorted up to where they were cut last.
    held: Vec<(Reverse<u64>, K)>,
    most: usize,
    count: u64,
}

impl<K: Ord + Copy> Ranked<K> {
    fn new(most: usize) -> Self {
        Self { held: Vec::new(), most, count: 0 }
    }

    fn add(&mut self, rank: u64, key: K) {
        self.count += 1;
        self.held.push((Reverse(rank), key));
        if self.held.len() > 2 * self.most {
            self.held.sort_unstable();
            self.held.truncate(self.most);
        }
    }

    /// How many were added.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The first of them, in their order.
    pub fn first(mut self) -> impl Iterator<Item = K> {
        self.held.sort_unstable();
        self.held.into_iter().take(self.most).map(|(_, key)| key)
    }
}

fn changes(now: &Sums, then: &Sums, spans: Spans) -> Vec<Change> {
    match (now.calls, then.calls) {
        (_, 0) => return vec![Change::New],
        (0, _) => return vec![Change::Gone],
        _ => {}
    }
    let mut changes = Vec::new();
    let (now_ns, then_ns) = (mean_ns(now), mean_ns(then));
    let grown = now_ns as f64 >= then_ns as f64 * GROWN && now_ns - then_ns >= NOTICED_NS;
    if now.calls.min(then.calls) >= ENOUGH && grown {
        changes.push(Change::Slower);
    }
    if now.calls as f64 >= spans.expected(then) * GROWN && spans.added_calls(now, then) >= ENOUGH {
        changes.push(Change::MoreOften);
    }
    changes
}

/// Time that was added because the mean has grown.
pub fn added_ns(now: &Sums, then: &Sums) -> u64 {
    mean_ns(now).saturating_sub(mean_ns(then)).saturating_mul(now.calls)
}

impl Spans {
    /// Statements beyond those that came in the same time then.
    pub fn added_calls(self, now: &Sums, then: &Sums) -> u64 {
        (now.calls as f64 - self.expected(then)).max(0.0) as u64
    }

    /// How many statements were to be expected now at the rate of then.
    fn expected(self, then: &Sums) -> f64 {
        then.calls as f64 * self.now_ms as f64 / self.then_ms.max(1) as f64
    }
}

fn mean_ns(sums: &Sums) -> u64 {
    sums.total.sum_ns().checked_div(sums.calls).unwrap_or(0)
}
