//! What was measured, and the medians, spreads and ratios of it. Pure arithmetic.

use std::collections::BTreeMap;

use serde::Serialize;

/// What a client talks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// The server itself.
    Direct,
    /// HAProxy in TCP mode.
    Haproxy,
    /// Fifty lines that copy bytes, see [`crate::relay`].
    Relay,
    /// Weir with a server connection for each client.
    Weir,
    /// Weir whose clients share [`SHARED_CONNECTIONS`].
    Shared,
    /// Weir whose clients share [`AMPLE_CONNECTIONS`].
    Ample,
    /// Weir with a rule that caches every read it may.
    Cached,
    /// A redis server of the distribution.
    Redis,
    /// Nothing but answers from memory, see [`crate::bare`].
    Bare,
}

/// Server connections of [`Target::Shared`], where a row names no other number.
pub const SHARED_CONNECTIONS: u32 = 16;
/// Server connections of [`Target::Ample`]: nobody waits for one. With thousands, each would keep only one or two statements prepared.
pub const AMPLE_CONNECTIONS: u32 = 300;

impl Target {
    /// All of them, in the order of the report.
    pub const ALL: [Self; 9] = [
        Self::Direct,
        Self::Haproxy,
        Self::Relay,
        Self::Weir,
        Self::Shared,
        Self::Ample,
        Self::Cached,
        Self::Redis,
        Self::Bare,
    ];

    /// The word for it in the report.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Haproxy => "haproxy",
            Self::Relay => "relay",
            Self::Weir => "weir",
            Self::Shared => "weir shared",
            Self::Ample => "shared, ample",
            Self::Cached => "weir cached",
            Self::Redis => "redis",
            Self::Bare => "bare server",
        }
    }
}

/// What a number counts, with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Queries (sysbench rows) or whole connections (connect row) per second.
    PerSecond,
    /// 95th percentile of latency, of an event as sysbench defines it, in milliseconds.
    P95Ms,
    /// 99th percentile of latency of a query, in milliseconds.
    P99Ms,
    /// Mean latency of an event as sysbench defines it, in milliseconds.
    MeanMs,
    /// CPU time of the proxy per query or connection, in microseconds.
    CpuUs,
    /// Median latency of one query of one client, in microseconds.
    P50Us,
    /// The median latency above that of a direct connection, in microseconds.
    AddedUs,
    /// Time for each, in nanoseconds.
    Nanoseconds,
    /// Bytes of result delivered, or of a statement read, per second, in MB (1,000,000 bytes).
    MbPerSecond,
    /// Resident memory per idle client, in kB (1,000 bytes).
    KbPerClient,
    /// Growth of resident memory at its peak, in MB (1,000,000 bytes).
    GrowthMb,
    /// Round trips to the server beyond those of the work itself.
    RoundTrips,
    /// Server connections at the same time, at most.
    Connections,
    /// Reads that the server did not run, of all reads, in percent.
    HitPercent,
    /// Instructions of the proxy per query, as valgrind counts them: its own, and not the kernel's.
    Instructions,
    /// Size of an answer in bytes, as it goes over the network.
    Bytes,
}

impl Metric {
    /// The heading of it in the report.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PerSecond => "per second",
            Self::P95Ms => "p95 ms",
            Self::P99Ms => "p99 ms",
            Self::CpuUs => "proxy CPU us",
            Self::P50Us => "p50 us",
            Self::AddedUs => "added us",
            Self::Nanoseconds => "ns",
            Self::MbPerSecond => "MB/s",
            Self::KbPerClient => "kB per client",
            Self::GrowthMb => "growth MB",
            Self::RoundTrips => "round trips more",
            Self::Connections => "connections",
            Self::MeanMs => "mean ms",
            Self::HitPercent => "% hits",
            Self::Instructions => "instructions",
            Self::Bytes => "bytes",
        }
    }
}

/// One number of one round.
#[derive(Clone, Debug, Serialize)]
pub struct Reading {
    /// The experiment and its setting, e.g. `point select, text, 64`.
    pub row: String,
    /// What the clients talked to.
    pub target: Target,
    /// What `value` counts.
    pub metric: Metric,
    /// Counted from 1.
    pub round: u32,
    /// The number.
    pub value: f64,
}

/// Median with the lowest and the highest of the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The middle value, or the mean of the two in the middle.
    pub median: f64,
    /// The lowest.
    pub min: f64,
    /// The highest.
    pub max: f64,
}

impl Spread {
    /// The spread of `values`; `None` without any.
    #[must_use]
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let upper = *values.get(values.len() / 2)?;
        let lower = *values.get((values.len() - 1) / 2)?;
        Some(Self { median: f64::midpoint(lower, upper), min, max })
    }
}

/// Everything that was measured in one run.
#[derive(Default, Debug)]
pub struct Readings {
    all: Vec<Reading>,
}

impl Readings {
    /// Adds one number.
    pub fn add(&mut self, row: &str, target: Target, metric: Metric, round: u32, value: f64) {
        self.all.push(Reading { row: row.to_owned(), target, metric, round, value });
    }

    /// All numbers in the order in which they were measured.
    #[must_use]
    pub fn all(&self) -> &[Reading] {
        &self.all
    }

    /// The rows in the order in which they were first measured.
    #[must_use]
    pub fn rows(&self) -> Vec<&str> {
        let mut rows: Vec<&str> = Vec::new();
        for reading in &self.all {
            if !rows.contains(&reading.row.as_str()) {
                rows.push(&reading.row);
            }
        }
        rows
    }

    /// The spread over the rounds.
    #[must_use]
    pub fn spread(&self, row: &str, target: Target, metric: Metric) -> Option<Spread> {
        Spread::of(self.by_round(row, target, metric).into_values().collect())
    }

    /// The spread of `target` / `base`, divided round by round: what a slow minute does to both of a round cancels.
    #[must_use]
    pub fn ratio(&self, row: &str, target: Target, base: Target, metric: Metric) -> Option<Spread> {
        divided(&self.by_round(row, target, metric), &self.by_round(row, base, metric))
    }

    /// The spread of one row of a target / another row of it, divided round by round.
    #[must_use]
    pub fn rows_ratio(&self, [row, base]: [&str; 2], target: Target, metric: Metric) -> Option<Spread> {
        divided(&self.by_round(row, target, metric), &self.by_round(base, target, metric))
    }

    /// The spread of one row of a target / the largest of `rows` of it in the same round.
    #[must_use]
    pub fn ratio_to_best(
        &self,
        row: &str,
        rows: &[String],
        target: Target,
        metric: Metric,
    ) -> Option<Spread> {
        let mut best = BTreeMap::new();
        for (round, value) in rows.iter().flat_map(|row| self.by_round(row, target, metric)) {
            let highest: &mut f64 = best.entry(round).or_default();
            *highest = highest.max(value);
        }
        divided(&self.by_round(row, target, metric), &best)
    }

    fn by_round(&self, row: &str, target: Target, metric: Metric) -> BTreeMap<u32, f64> {
        let wanted = |r: &&Reading| r.row == row && r.target == target && r.metric == metric;
        self.all.iter().filter(wanted).map(|r| (r.round, r.value)).collect()
    }
}

/// The quotients of the rounds that both have.
fn divided(values: &BTreeMap<u32, f64>, bases: &BTreeMap<u32, f64>) -> Option<Spread> {
    let paired = values.iter().filter_map(|(round, value)| {
        let base = bases.get(round)?;
        (*base > 0.0).then(|| value / base)
    });
    Spread::of(paired.collect())
}

#[cfg(test)]
mod tests;
