use std::collections::BTreeMap;

use crate::histogram::HistogramSnapshot;

/// Reasons that can be told apart, of refusals and of pins.
pub const REASONS: usize = 64;

/// What one row, or several, have counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sums {
    /// Statements that were answered.
    pub calls: u64,
    /// Those of them that were answered with an error.
    pub errors: u64,
    pub rows_sent: u64,
    pub rows_affected: u64,
    /// With the headers of packets.
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// Statements answered by the cache.
    pub hits: u64,
    /// What the server took for the answers that these got.
    pub saved_ns: u64,
    /// Statements for which the cache had nothing.
    pub misses: u64,
    /// Statements that Weir answered by itself.
    pub by_weir: u64,
    /// In seconds since the tables were made; `u64::MAX` if never.
    pub first_seen: u64,
    pub last_seen: u64,
    /// How long statements took as their clients saw it, how long they waited to be sent, and how long the server took.
    pub total: HistogramSnapshot,
    pub queue: HistogramSnapshot,
    pub server: HistogramSnapshot,
    /// The part of `total` that went to statements which no server has answered: the cache or Weir has. Not kept in files.
    pub alone_ns: u64,
    /// Errors by code; 0 stands for codes that came after a row had met sixteen others.
    pub codes: BTreeMap<u16, u64>,
    /// Statements that the cache left alone, by the number of the reason.
    pub refused: [u64; REASONS],
    /// How often a statement has made its session keep its connection, by the number of the reason.
    pub pins: [u64; REASONS],
    /// How long sessions have kept their connections behind a statement, by the number of the reason, in nanoseconds; only what
    /// has ended. Where there are several reasons at once each counts.
    pub pinned_ns: [u64; REASONS],
    /// The same for all reasons together, under the statement that was the first to make its session keep the connection: these
    /// times do not overlap for one connection.
    pub kept_ns: u64,
}

impl Default for Sums {
    fn default() -> Self {
        Self {
            calls: 0,
            errors: 0,
            rows_sent: 0,
            rows_affected: 0,
            bytes_in: 0,
            bytes_out: 0,
            hits: 0,
            saved_ns: 0,
            misses: 0,
            by_weir: 0,
            first_seen: u64::MAX,
            last_seen: 0,
            total: HistogramSnapshot::default(),
            queue: HistogramSnapshot::default(),
            server: HistogramSnapshot::default(),
            alone_ns: 0,
            codes: BTreeMap::new(),
            refused: [0; REASONS],
            pins: [0; REASONS],
            pinned_ns: [0; REASONS],
            kept_ns: 0,
        }
    }
}

/// The plain counters of a reference to [`Sums`], in an order that files rely on.
macro_rules! plain {
    ($sums:expr) => {{
        let Sums {
            calls,
            errors,
            rows_sent,
            rows_affected,
            bytes_in,
            bytes_out,
            hits,
            misses,
            by_weir,
            kept_ns,
            saved_ns,
            ..
        } = $sums;
        [
            calls,
            errors,
            rows_sent,
            rows_affected,
            bytes_in,
            bytes_out,
            hits,
            misses,
            by_weir,
            kept_ns,
            saved_ns,
        ]
    }};
}

impl Sums {
    pub(super) fn seen(&mut self, first: u64, last: u64) {
        self.first_seen = self.first_seen.min(first);
        self.last_seen = self.last_seen.max(last);
    }

    /// Adds those of others.
    pub fn merge(&mut self, other: &Self) {
        self.calls += other.calls;
        self.errors += other.errors;
        self.rows_sent += other.rows_sent;
        self.rows_affected += other.rows_affected;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.hits += other.hits;
        self.saved_ns += other.saved_ns;
        self.misses += other.misses;
        self.by_weir += other.by_weir;
        self.seen(other.first_seen, other.last_seen);
        self.total.merge(&other.total);
        self.queue.merge(&other.queue);
        self.server.merge(&other.server);
        self.alone_ns += other.alone_ns;
        for (code, count) in &other.codes {
            *self.codes.entry(*code).or_default() += count;
        }
        let add = |mine: &mut [u64], theirs: &[u64]| mine.iter_mut().zip(theirs).for_each(|(a, b)| *a += b);
        add(&mut self.refused, &other.refused);
        add(&mut self.pins, &other.pins);
        add(&mut self.pinned_ns, &other.pinned_ns);
        self.kept_ns += other.kept_ns;
    }

    /// What was counted since `earlier`, which was read from the same rows; `None` if that cannot be, as where a row has gone
    /// and come again. It does not tell when anything was seen.
    pub fn since(&self, earlier: &Self) -> Option<Self> {
        let covers =
            [(&self.total, &earlier.total), (&self.queue, &earlier.queue), (&self.server, &earlier.server)]
                .iter()
                .all(|(now, then)| now.covers(then));
        if !covers
            || earlier.codes.iter().any(|(code, then)| self.codes.get(code).is_none_or(|now| now < then))
        {
            return None;
        }
        let mut since = self.beyond(earlier);
        for (since, (now, then)) in
            since.numbers_mut().into_iter().zip(self.numbers().iter().zip(earlier.numbers()))
        {
            *since = now.checked_sub(then)?;
        }
        let less = |now: &[u64], then: &[u64]| now.iter().zip(then).any(|(now, then)| now < then);
        let fell = self.by_reason().iter().zip(earlier.by_reason()).any(|(now, then)| less(*now, then));
        (!fell).then_some(since)
    }

    /// As [`Sums::since`], where what fell counts as nothing.
    pub(crate) fn beyond(&self, earlier: &Self) -> Self {
        let mut since = Self {
            total: self.total.since(&earlier.total),
            queue: self.queue.since(&earlier.queue),
            server: self.server.since(&earlier.server),
            alone_ns: self.alone_ns.saturating_sub(earlier.alone_ns),
            ..Self::default()
        };
        for (since, (now, then)) in
            since.numbers_mut().into_iter().zip(self.numbers().iter().zip(earlier.numbers()))
        {
            *since = now.saturating_sub(then);
        }
        for (code, now) in &self.codes {
            let more = now.saturating_sub(earlier.codes.get(code).copied().unwrap_or_default());
            if more > 0 {
                since.codes.insert(*code, more);
            }
        }
        for (since, (now, then)) in
            since.by_reason_mut().into_iter().zip(self.by_reason().iter().zip(earlier.by_reason()))
        {
            for (since, (now, then)) in since.iter_mut().zip(now.iter().zip(then)) {
                *since = now.saturating_sub(*then);
            }
        }
        since
    }

    /// The counters by the number of a reason, in an order that files rely on.
    pub(crate) fn by_reason(&self) -> [&[u64; REASONS]; 3] {
        [&self.refused, &self.pins, &self.pinned_ns]
    }

    pub(crate) fn by_reason_mut(&mut self) -> [&mut [u64; REASONS]; 3] {
        [&mut self.refused, &mut self.pins, &mut self.pinned_ns]
    }

    /// The plain counters, in an order that files rely on.
    pub(crate) fn numbers(&self) -> [u64; 11] {
        plain!(self).map(|number| *number)
    }

    pub(crate) fn numbers_mut(&mut self) -> [&mut u64; 11] {
        plain!(self)
    }

    /// What the server takes on average for a statement that it answers, in nanoseconds; `None` if it never was asked.
    pub fn server_mean(&self) -> Option<u64> {
        self.server.sum_ns().checked_div(self.server.count())
    }
}
