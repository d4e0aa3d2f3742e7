use std::cmp::Reverse;

use crate::digests::Sums;

/// By which factor a mean time or a rate must have grown, or the one of then be greater than that of now, to be told: less than a quarter
/// more is mostly chance.
const GROWN: f64 = 1.25;
/// Statements of each period below which a mean says nothing, and a rate neither.
const ENOUGH: u64 = 5;
/// Nanoseconds by which mean times must differ as well: shorter differences are those of the network.
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
    /// The other way round: its mean time was greater by that.
    Faster,
    /// It comes more often in the same time, by a quarter, five times at least.
    MoreOften,
    /// It came more often by that.
    LessOften,
}

/// The milliseconds in which each of two periods was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spans {
    pub now_ms: u64,
    pub then_ms: u64,
}

/// How two periods differ, told row by row. A row is named by a `K`; one may be in two lists: slower or faster, and
/// more or less often.
#[derive(Debug, Clone)]
pub struct Comparison<K> {
    spans: Spans,
    /// The most time of the clients first.
    pub new: Ranked<K>,
    pub gone: Ranked<K>,
    /// The most time that was added first.
    pub slower: Ranked<K>,
    /// The most time that was won first.
    pub faster: Ranked<K>,
    /// The most statements that were added first.
    pub more_often: Ranked<K>,
    /// The most statements that stayed away first.
    pub less_often: Ranked<K>,
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
            faster: Ranked::new(most),
            more_often: Ranked::new(most),
            less_often: Ranked::new(most),
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
                Change::Faster => self.faster.add(won_ns(now, then), key),
                Change::MoreOften => self.more_often.add(self.spans.added_calls(now, then), key),
                Change::LessOften => self.less_often.add(self.spans.fewer_calls(now, then), key),
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
        if self.held.len() > self.most.saturating_mul(2) {
            self.held.sort_unstable();
            self.held.truncate(self.most);
        }
    }

    /// How many were added.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The first of them, in their order, so many left out.
    pub fn first(mut self, offset: usize) -> impl Iterator<Item = K> {
        self.held.sort_unstable();
        self.held.into_iter().take(self.most).skip(offset).map(|(_, key)| key)
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
    let grown =
        |from: u64, to: u64| to as f64 >= from as f64 * GROWN && to.saturating_sub(from) >= NOTICED_NS;
    if now.calls.min(then.calls) >= ENOUGH {
        if grown(then_ns, now_ns) {
            changes.push(Change::Slower);
        } else if grown(now_ns, then_ns) {
            changes.push(Change::Faster);
        }
    }
    let (came, expected) = (now.calls as f64, spans.expected(now, then));
    if came >= expected * GROWN && spans.added_calls(now, then) >= ENOUGH {
        changes.push(Change::MoreOften);
    } else if expected >= came * GROWN && spans.fewer_calls(now, then) >= ENOUGH {
        changes.push(Change::LessOften);
    }
    changes
}

/// Time that was added because the mean has grown.
pub fn added_ns(now: &Sums, then: &Sums) -> u64 {
    mean_ns(now).saturating_sub(mean_ns(then)).saturating_mul(now.calls)
}

/// Time that the statements of now would have taken beside what they took, with the mean of then.
pub fn won_ns(now: &Sums, then: &Sums) -> u64 {
    mean_ns(then).saturating_sub(mean_ns(now)).saturating_mul(now.calls)
}

impl Spans {
    /// Statements beyond those that came in the same time then.
    pub fn added_calls(self, now: &Sums, then: &Sums) -> u64 {
        (now.calls as f64 - self.expected(now, then)).max(0.0).round() as u64
    }

    /// Statements that are missing to those that came in the same time then.
    pub fn fewer_calls(self, now: &Sums, then: &Sums) -> u64 {
        (self.expected(now, then) - now.calls as f64).max(0.0).round() as u64
    }

    /// How many statements were to be expected now at the rate of then: as many as there are, where nobody knows in which time they came.
    fn expected(self, now: &Sums, then: &Sums) -> f64 {
        match then.calls {
            0 => 0.0,
            _ if self.now_ms == 0 || self.then_ms == 0 => now.calls as f64,
            calls => calls as f64 * self.now_ms as f64 / self.then_ms as f64,
        }
    }
}

fn mean_ns(sums: &Sums) -> u64 {
    sums.total.sum_ns().checked_div(sums.calls).unwrap_or(0)
}
