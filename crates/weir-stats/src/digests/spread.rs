//! A histogram that takes memory for the durations that occur, as most rows see a few powers of two.

use std::sync::OnceLock;

use crate::counter::Counter;
use crate::histogram::{HistogramSnapshot, MAX_EXP, MIN_EXP, SUBS, Timing};

/// Powers of two that share a piece of memory.
const OCTAVES: usize = 2;
const BUCKETS: usize = OCTAVES * SUBS;
const PIECES: usize = (MAX_EXP - MIN_EXP) as usize / OCTAVES;

/// As [`crate::Histogram`], with the same buckets. One writer, any readers.
#[derive(Debug, Default)]
pub(super) struct Spread {
    sum_ns: Counter,
    below: Counter,
    above: Counter,
    pieces: [OnceLock<Box<[Counter; BUCKETS]>>; PIECES],
}

impl Spread {
    pub fn record(&self, ns: u64) {
        self.record_timing(Timing::new(ns));
    }

    #[inline]
    pub fn record_timing(&self, Timing { ns, bucket }: Timing) {
        self.sum_ns.add(ns);
        let Some(bucket) = bucket.checked_sub(1) else { return self.below.inc() };
        let Some(piece) = self.pieces.get(bucket / BUCKETS) else { return self.above.inc() };
        let piece = match piece.get() {
            Some(piece) => piece,
            None => piece.get_or_init(Box::default),
        };
        piece[bucket % BUCKETS].inc();
    }

    pub fn add_to(&self, sum: &mut HistogramSnapshot) {
        sum.add_bucket(0, self.below.get());
        for (at, piece) in self.pieces.iter().enumerate() {
            for (bucket, count) in piece.get().into_iter().flat_map(|piece| piece.iter()).enumerate() {
                sum.add_bucket(1 + at * BUCKETS + bucket, count.get());
            }
        }
        sum.add_bucket(1 + PIECES * BUCKETS, self.above.get());
        sum.add_sum(self.sum_ns.get());
    }

    pub fn sum_ns(&self) -> u64 {
        self.sum_ns.get()
    }

    /// Bytes of memory beside itself.
    pub fn held(&self) -> usize {
        self.pieces.iter().filter(|piece| piece.get().is_some()).count() * size_of::<[Counter; BUCKETS]>()
    }
}
