use crate::counter::Counter;

/// Durations below 2^10 ns (about 1 us) share one bucket: nothing over a socket is faster.
pub(crate) const MIN_EXP: u32 = 10;
/// Durations from 2^42 ns (73 minutes) on share one bucket.
pub(crate) const MAX_EXP: u32 = 42;
/// Each power of two is cut into 2^3 equal parts, so a bucket is at most 1/8 of its lower bound wide.
pub(crate) const SUB_BITS: u32 = 3;
pub(crate) const SUBS: usize = 1 << SUB_BITS;
const BUCKETS: usize = 1 + (MAX_EXP - MIN_EXP) as usize * SUBS + 1;

/// How often each duration occurred, in log-linear buckets from about 1 us to 73 minutes; 2 KiB, one writer,
/// any readers. Percentiles are exact to one bucket: at most 12.5 % too high, never too low.
#[derive(Debug)]
pub struct Histogram {
    buckets: [Counter; BUCKETS],
    sum_ns: Counter,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: std::array::from_fn(|_| Counter::default()), sum_ns: Counter::default() }
    }
}

impl Histogram {
    /// Counts one duration, in nanoseconds.
    pub fn record(&self, ns: u64) {
        self.record_timing(Timing::new(ns));
    }

    /// The same.
    #[inline]
    pub fn record_timing(&self, Timing { ns, bucket }: Timing) {
        // There is none beyond.
        if let Some(bucket) = self.buckets.get(bucket) {
            bucket.inc();
        }
        self.sum_ns.add(ns);
    }

    /// Copies the counts, to read them consistently or to merge them with those of other workers.
    pub fn snapshot(&self) -> HistogramSnapshot {
        let mut snapshot = HistogramSnapshot::default();
        snapshot.add(self);
        snapshot
    }

    /// See [`HistogramSnapshot::percentile`].
    pub fn percentile(&self, p: f64) -> u64 {
        self.snapshot().percentile(p)
    }
}

/// A duration and its bucket: who counts it in several histograms finds that once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    pub(crate) ns: u64,
    pub(crate) bucket: usize,
}

impl Timing {
    /// Of so many nanoseconds.
    #[inline]
    pub fn new(ns: u64) -> Self {
        Self { ns, bucket: bucket_of(ns) }
    }

    /// Nanoseconds.
    #[inline]
    pub fn ns(self) -> u64 {
        self.ns
    }
}

/// The counts of one or more histograms at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistogramSnapshot {
    buckets: Box<[u64]>,
    sum_ns: u64,
}

impl Default for HistogramSnapshot {
    fn default() -> Self {
        Self { buckets: vec![0; BUCKETS].into(), sum_ns: 0 }
    }
}

impl HistogramSnapshot {
    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Histogram) {
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine = mine.wrapping_add(theirs.get());
        }
        self.sum_ns = self.sum_ns.wrapping_add(other.sum_ns.get());
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine = mine.wrapping_add(*theirs);
        }
        self.sum_ns = self.sum_ns.wrapping_add(other.sum_ns);
    }

    pub(crate) fn add_bucket(&mut self, bucket: usize, count: u64) {
        if let Some(mine) = self.buckets.get_mut(bucket) {
            *mine = mine.wrapping_add(count);
        }
    }

    pub(crate) fn add_sum(&mut self, ns: u64) {
        self.sum_ns = self.sum_ns.wrapping_add(ns);
    }

    /// How many durations were counted.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// All durations added up, in nanoseconds.
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// The duration in nanoseconds that `p` percent (0 to 100) of all counted ones do not exceed: the upper end of
    /// the bucket it fell into. 0 when nothing was counted; `u64::MAX` when it lies above 73 minutes.
    pub fn percentile(&self, p: f64) -> u64 {
        let count = self.count();
        if count == 0 {
            return 0;
        }
        let rank = ((p.clamp(0.0, 100.0) / 100.0) * count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (bucket, n) in self.buckets.iter().enumerate() {
            seen += n;
            if seen >= rank {
                return upper_ns(bucket);
            }
        }
        u64::MAX
    }

    /// What was counted since `earlier`, which was read from the same histograms.
    pub fn since(&self, earlier: &Self) -> Self {
        let buckets = self.buckets.iter().zip(&earlier.buckets).map(|(now, then)| now.saturating_sub(*then));
        Self { buckets: buckets.collect(), sum_ns: self.sum_ns.saturating_sub(earlier.sum_ns) }
    }

    /// Whether it has counted all that `earlier` has.
    pub(crate) fn covers(&self, earlier: &Self) -> bool {
        self.sum_ns >= earlier.sum_ns
            && self.buckets.iter().zip(&earlier.buckets).all(|(now, then)| now >= then)
    }

    /// The buckets that are not empty, in order, with their counts.
    pub(crate) fn filled(&self) -> impl Iterator<Item = (usize, u64)> {
        self.buckets.iter().copied().enumerate().filter(|(_, count)| *count > 0)
    }

    pub(crate) const BUCKETS: usize = BUCKETS;

    /// How many durations were shorter than 2^`exp` nanoseconds, for `exp` from 10 to 42. Exact, because every
    /// power of two is the edge of a bucket.
    pub(crate) fn below_power_of_two(&self, exp: u32) -> u64 {
        let end = 1 + (exp.clamp(MIN_EXP, MAX_EXP) - MIN_EXP) as usize * SUBS;
        self.buckets[..end].iter().sum()
    }
}

#[inline]
pub(crate) fn bucket_of(ns: u64) -> usize {
    let exp = 63 - (ns | 1).leading_zeros();
    if exp < MIN_EXP {
        0
    } else if exp >= MAX_EXP {
        BUCKETS - 1
    } else {
        let sub = (ns >> (exp - SUB_BITS)) as usize & (SUBS - 1);
        1 + (exp - MIN_EXP) as usize * SUBS + sub
    }
}

/// The greatest duration that falls into this bucket.
pub(crate) fn upper_ns(bucket: usize) -> u64 {
    if bucket == 0 {
        return (1 << MIN_EXP) - 1;
    }
    if bucket == BUCKETS - 1 {
        return u64::MAX;
    }
    let exp = MIN_EXP + ((bucket - 1) / SUBS) as u32;
    let sub = ((bucket - 1) % SUBS) as u64;
    (1 << exp) + ((sub + 1) << (exp - SUB_BITS)) - 1
}

#[cfg(test)]
mod tests;
