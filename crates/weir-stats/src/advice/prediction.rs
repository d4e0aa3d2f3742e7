//! What the figures of lines say about a rule.

use super::{LADDER, Line, Tier};

/// What a rule with this TTL would have done since the line began.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    pub ttl_us: u64,
    /// Statements that would have been answered from the cache.
    pub hits: f64,
    /// Their share of all.
    pub hit_ratio: f64,
    /// The server's time that they would have saved, in nanoseconds.
    pub saved_ns: f64,
    /// The share of them that would have got another answer than the server gave at that moment.
    pub stale_ratio: f64,
    /// The share of all statements that would have been hits too, had their sessions not written since the answer was asked for.
    pub own_writes_ratio: f64,
    /// The share of the stored answers that were out of date before their time was over.
    pub outdated_ratio: f64,
    /// What the cache would hold.
    pub entries: f64,
    pub bytes: f64,
}

impl Line {
    /// One for each TTL.
    pub fn predictions(&self) -> [Prediction; LADDER.len()] {
        std::array::from_fn(|at| self.prediction(LADDER[at], &self.tiers[at]))
    }

    fn prediction(&self, ttl_us: u64, tier: &Tier) -> Prediction {
        let calls = self.calls as f64;
        let hits = (calls - tier.misses).max(0.0);
        let share = |part: f64, whole: f64| if whole > 0.0 { (part / whole).min(1.0) } else { 0.0 };
        Prediction {
            ttl_us,
            hits,
            hit_ratio: share(hits, calls),
            saved_ns: (self.server_ns as f64 - tier.missed_ns).max(0.0),
            stale_ratio: share(tier.stale, tier.hits),
            own_writes_ratio: share(tier.own_writes, calls),
            outdated_ratio: share(tier.outdated, tier.fills),
            entries: tier.entries,
            bytes: tier.bytes,
        }
    }

    /// The server's time for answers that were the same as the last one to the same statement, in nanoseconds.
    pub fn unchanged_ns(&self) -> f64 {
        (self.server_ns as f64 - self.fresh_ns).max(0.0)
    }
}

/// Several lines as one; `None` of none. A rule by digest is for all origins.
pub fn merged<'l>(lines: impl IntoIterator<Item = &'l Line>) -> Option<Line> {
    let mut lines = lines.into_iter();
    let mut sum = lines.next()?.clone();
    for line in lines {
        sum.calls += line.calls;
        sum.server_ns += line.server_ns;
        sum.fresh_ns += line.fresh_ns;
        sum.keys += line.keys;
        sum.one_of = sum.one_of.max(line.one_of);
        sum.first_us = sum.first_us.min(line.first_us);
        sum.last_us = sum.last_us.max(line.last_us);
        sum.tiers.iter_mut().zip(&line.tiers).for_each(|(sum, tier)| sum.merge(tier));
    }
    Some(sum)
}

/// The one that saves most of those of which at most `stale` of the hits, from 0 to 1, would have been out of date. Of two
/// that save nearly the same it is the shorter one.
pub fn best(predictions: &[Prediction], stale: f64) -> Option<&Prediction> {
    /// What is nearly the same.
    const NEARLY: f64 = 0.99;
    let good = |p: &&Prediction| p.stale_ratio <= stale && p.saved_ns > 0.0 && p.hits > 0.0;
    let most = predictions.iter().filter(good).map(|p| p.saved_ns).fold(0.0, f64::max);
    predictions.iter().filter(good).find(|p| p.saved_ns >= most * NEARLY)
}
