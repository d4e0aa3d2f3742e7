//! A histogram that takes memory for the durations that occur, as most rows see a few powers of two.

use std::sync::OnceLock;

use crate::counter::Counter;
use crate::histogram::{HistogramSnapshot, MAX_EXP, MIN_EXP, SUBS, Timing, bucket_of, upper_ns};

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
        // The first bucket is in no piece, nor is the last.
        let in_pieces = bucket.wrapping_sub(1);
        let Some(piece) = self.pieces.get(in_pieces / BUCKETS) else { return self.beyond(bucket) };
        let piece = match piece.get() {
            Some(piece) => piece,
            None => piece.get_or_init(Box::default),
        };
        piece[in_pieces % BUCKETS].inc();
    }

    #[cold]
    fn beyond(&self, bucket: usize) {
        let side = if bucket == 0 { &self.below } else { &self.above };
        side.inc();
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

    /// Of all these and one more: the upper end of the bucket of what is left when the slowest tenth is left out, and one at least; `None`
    /// if nothing is left. Only pieces that there are are looked at.
    pub fn usual(spreads: [&Self; 2], one: u64) -> Option<u64> {
        let one = bucket_of(one);
        let count = spreads.iter().map(|spread| spread.count()).sum::<u64>() + 1;
        let slow = count.div_ceil(10);
        let last = 1 + PIECES * BUCKETS;
        let mut seen = spreads.iter().map(|spread| spread.above.get()).sum::<u64>() + u64::from(one == last);
        if seen > slow {
            return Some(upper_ns(last));
        }
        for at in (0..PIECES).rev() {
            let pieces = spreads.map(|spread| spread.pieces.get(at).and_then(OnceLock::get));
            let first = 1 + at * BUCKETS;
            let is_here = (first..first + BUCKETS).contains(&one);
            if !is_here && pieces.iter().all(Option::is_none) {
                continue;
            }
            for bucket in (0..BUCKETS).rev() {
                let counted = pieces.iter().flatten().filter_map(|piece| piece.get(bucket));
                seen += counted.map(Counter::get).sum::<u64>() + u64::from(first + bucket == one);
                if seen > slow {
                    return Some(upper_ns(first + bucket));
                }
            }
        }
        (count > slow).then(|| upper_ns(0))
    }

    fn count(&self) -> u64 {
        let pieces = self.pieces.iter().filter_map(OnceLock::get);
        let counted = pieces.map(|piece| piece.iter().map(Counter::get).sum::<u64>());
        self.below.get() + self.above.get() + counted.sum::<u64>()
    }

    pub fn sum_ns(&self) -> u64 {
        self.sum_ns.get()
    }

    /// Bytes of memory beside itself.
    pub fn held(&self) -> usize {
        self.pieces.iter().filter(|piece| piece.get().is_some()).count() * size_of::<[Counter; BUCKETS]>()
    }
}
