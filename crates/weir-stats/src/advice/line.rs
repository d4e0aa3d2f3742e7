//! The simulation for one statement of one sender.

use std::collections::HashMap;
use std::sync::Arc;

use super::LADDER;
use crate::digests::{DigestText, Origin};

/// After this long without being asked for, a key is stored nowhere any more.
const DEAD_US: u64 = LADDER[LADDER.len() - 1];

/// One execution that was watched.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    /// The hash of the key under which its answer would be stored.
    pub key: u64,
    /// When the server was asked and when it had answered, in microseconds since whenever.
    pub asked_us: u64,
    pub answered_us: u64,
    pub server_ns: u64,
    pub outcome: Outcome,
    /// The session must not be served what was asked for at this time or before: it has written.
    pub floor_us: Option<u64>,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// An answer that would be stored.
    Kept {
        /// The hash of the answer.
        hash: u64,
        /// What it takes in the cache.
        bytes: u32,
    },
    /// One that would not.
    NotKept,
}

/// What one TTL would have done. The figures are scaled up to all keys.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tier {
    /// Statements that the server would have been asked.
    pub misses: f64,
    /// The server's time for them, in nanoseconds.
    pub missed_ns: f64,
    /// Statements that would have been answered from the cache, of the keys that were watched.
    pub hits: f64,
    /// Those of them that would have got another answer than the server gave.
    pub stale: f64,
    /// Answers stored, and those that were seen to be out of date before their time was over.
    pub fills: f64,
    pub outdated: f64,
    /// What is stored when the statement was seen last.
    pub entries: f64,
    pub bytes: f64,
}

impl Tier {
    pub(super) fn merge(&mut self, other: &Self) {
        let Self { misses, missed_ns, hits, stale, fills, outdated, entries, bytes } = other;
        self.misses += misses;
        self.missed_ns += missed_ns;
        self.hits += hits;
        self.stale += stale;
        self.fills += fills;
        self.outdated += outdated;
        self.entries += entries;
        self.bytes += bytes;
    }
}

/// An answer in the simulated cache of one TTL.
#[derive(Debug, Clone, Copy, Default)]
struct Fill {
    /// When the server was asked for it, plus one; 0: there is none.
    asked: u64,
    hash: u32,
    outdated: bool,
}

#[derive(Debug, Default)]
struct Key {
    fills: [Fill; LADDER.len()],
    last_hash: Option<u64>,
    last_us: u64,
    bytes: u32,
}

/// What is known of the statements of one digest from one origin.
#[derive(Debug, Clone)]
pub struct Line {
    pub digest: Arc<DigestText>,
    pub origin: Arc<Origin>,
    /// Statements that the cache might have answered, and the server's time for them: all of them.
    pub calls: u64,
    pub server_ns: u64,
    /// The time of those whose answer was not the one that the same statement had got before, scaled up.
    pub fresh_ns: f64,
    /// Different keys that are watched, and one of how many that is.
    pub keys: usize,
    pub one_of: u64,
    pub first_us: u64,
    pub last_us: u64,
    pub tiers: [Tier; LADDER.len()],
}

/// How long it is sure that the same key is a hit under every TTL.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sure {
    pub until_us: u64,
    /// For a session that has not written since then.
    pub oldest_us: u64,
}

/// A line while it grows.
#[derive(Debug)]
pub(super) struct Growing {
    pub line: Line,
    pub serial: u64,
    /// Keys are watched whose hash begins with so many zeros.
    pub shift: u32,
    /// `line.calls` when it was last looked whether it is used.
    pub looked_at: u64,
    keys: HashMap<u64, Key, foldhash::fast::FixedState>,
}

impl Growing {
    pub fn new(serial: u64, (digest, origin): (Arc<DigestText>, Arc<Origin>), now: u64) -> Self {
        let line = Line {
            digest,
            origin,
            calls: 0,
            server_ns: 0,
            fresh_ns: 0.0,
            keys: 0,
            one_of: 1,
            first_us: now,
            last_us: now,
            tiers: [Tier::default(); LADDER.len()],
        };
        let hasher = foldhash::fast::FixedState::with_seed(serial);
        Self { line, serial, shift: 0, looked_at: 0, keys: HashMap::with_hasher(hasher) }
    }

    pub fn keys(&self) -> usize {
        self.keys.len()
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.keys.capacity() * (size_of::<(u64, Key)>() + 1)
    }

    pub fn watches(&self, key: u64) -> bool {
        key.leading_zeros() >= self.shift
    }

    /// Runs one execution, and `skipped` ones of the same key before it which were hits under every TTL. Returns until when the
    /// next are hits as well.
    pub fn run(&mut self, seen: &Seen, skipped: u64) -> Sure {
        let scale = f64::from(self.shift).exp2();
        let (skipped, line) = (skipped as f64, &mut self.line);
        line.last_us = line.last_us.max(seen.answered_us);
        let key = self.keys.entry(seen.key).or_default();
        let kept = match seen.outcome {
            Outcome::Kept { hash, bytes } => {
                if key.last_hash.replace(hash) != Some(hash) {
                    line.fresh_ns += seen.server_ns as f64 * scale;
                }
                key.bytes = bytes;
                Some(hash as u32)
            }
            Outcome::NotKept => {
                line.fresh_ns += seen.server_ns as f64 * scale;
                None
            }
        };
        key.last_us = key.last_us.max(seen.answered_us);
        let took = seen.answered_us.saturating_sub(seen.asked_us);
        let mut sure = Sure { until_us: u64::MAX, oldest_us: u64::MAX };
        for ((ttl, tier), fill) in LADDER.iter().zip(&mut line.tiers).zip(&mut key.fills) {
            tier.hits += skipped * scale;
            if fill.serves(*ttl, seen) {
                tier.hits += scale;
                if kept.is_some_and(|hash| hash != fill.hash) {
                    tier.stale += scale;
                    tier.outdated += if fill.outdated { 0.0 } else { scale };
                    fill.outdated = true;
                }
            } else {
                tier.misses += scale;
                tier.missed_ns += seen.server_ns as f64 * scale;
                *fill = match kept {
                    // What took longer than its time is not stored.
                    Some(hash) if took < *ttl => {
                        tier.fills += scale;
                        Fill { asked: seen.asked_us + 1, hash, outdated: false }
                    }
                    _ => Fill::default(),
                };
            }
            sure.until_us = sure.until_us.min(fill.until(*ttl));
            sure.oldest_us = sure.oldest_us.min(fill.asked.saturating_sub(1));
        }
        sure
    }

    /// Forgets keys that no TTL would have kept.
    pub fn forget_dead(&mut self, now: u64) {
        self.keys.retain(|_, key| key.last_us.saturating_add(DEAD_US) > now);
    }

    /// Watches half of its keys from now on.
    pub fn halve(&mut self) {
        self.shift += 1;
        let shift = self.shift;
        self.keys.retain(|key, _| key.leading_zeros() >= shift);
        if self.keys.capacity() > 4 * self.keys.len() {
            self.keys.shrink_to(2 * self.keys.len());
        }
    }

    /// What it comes to.
    pub fn told(&self) -> Line {
        let mut line = self.line.clone();
        let scale = f64::from(self.shift).exp2();
        (line.keys, line.one_of) = (self.keys.len(), 1 << self.shift.min(63));
        for (at, (ttl, tier)) in LADDER.iter().zip(&mut line.tiers).enumerate() {
            for key in self.keys.values() {
                if key.fills[at].until(*ttl) > line.last_us {
                    tier.entries += scale;
                    tier.bytes += scale * f64::from(key.bytes);
                }
            }
        }
        line
    }
}

impl Fill {
    /// Whether it would answer this.
    fn serves(&self, ttl: u64, seen: &Seen) -> bool {
        let Some(asked) = self.asked.checked_sub(1) else { return false };
        // One that was asked for a moment later was waited for.
        seen.asked_us.saturating_sub(asked) < ttl && seen.floor_us.is_none_or(|floor| asked > floor)
    }

    fn until(&self, ttl: u64) -> u64 {
        self.asked.checked_sub(1).map_or(0, |asked| asked.saturating_add(ttl))
    }
}
