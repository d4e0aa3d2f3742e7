//! The simulation for one statement of one sender.

use std::collections::HashMap;
use std::sync::Arc;

use super::LADDER;
use super::gate::{Gate, Skipped};
use super::hot::{HotKeys, MOST};
use super::prediction::merged;
use crate::digests::{DigestText, Origin};

/// Executions of a line that are watched before their number is held against all.
const FREE: u64 = 2048;
/// From then on a line watches about one execution in this many at most: to watch one costs as much as a tenth of a statement.
const ONE_IN: u64 = 64;
/// So often it is looked at that.
const LOOKED_AT: u64 = 512;
/// A key is hot that is asked for more than so many times as often as the mean.
const HOT: u64 = 2;
/// None is where the variance of how often keys are asked for is not more than so many times the mean: by chance alone it is as much as
/// the mean.
const BY_CHANCE: f64 = 1.5;
/// It keeps about so many keys at least.
const LEAST: usize = 48;
/// It is looked so seldom whether all keys can be watched again, in microseconds: as long as any answer is stored.
const TENDED: u64 = LADDER[LADDER.len() - 1];
/// Executions that come in a row of which none was watched where none is in the sample: of a key that is, one is watched in each
/// [`super::Limits::gap_us`].
const UNSEEN: u64 = 1 << 18;

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
    /// The misses whose answer was there, and older than the session's own last write.
    pub own_writes: f64,
    /// Answers stored, and those that were seen to be out of date before their time was over.
    pub fills: f64,
    pub outdated: f64,
    /// What is stored when the statement was seen last.
    pub entries: f64,
    pub bytes: f64,
}

impl Tier {
    pub(super) fn merge(&mut self, other: &Self) {
        let Self { misses, missed_ns, hits, stale, own_writes, fills, outdated, entries, bytes } = other;
        self.misses += misses;
        self.missed_ns += missed_ns;
        self.hits += hits;
        self.stale += stale;
        self.own_writes += own_writes;
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
    bytes: u32,
    /// Executions, and those under each TTL that the server would have been asked.
    calls: u32,
    misses: [u32; LADDER.len()],
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

impl Line {
    fn none((digest, origin): (Arc<DigestText>, Arc<Origin>), now: u64) -> Self {
        Self {
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
        }
    }
}

/// How long it is sure that the same key is a hit under every TTL.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sure {
    pub until_us: u64,
    /// For a session that has not written since then.
    pub oldest_us: u64,
}

type Keys = HashMap<u64, Key, foldhash::fast::FixedState>;

/// A line while it grows.
#[derive(Debug)]
pub(super) struct Growing {
    pub line: Line,
    pub serial: u64,
    /// Keys are watched whose hash begins with so many zeros.
    pub shift: u32,
    /// `line.calls` when it was last looked whether it is used.
    pub looked_at: u64,
    /// Executions of keys in the sample that were watched, when it is looked next how many, and `line.calls` when it was last looked.
    watched: u64,
    look_at: u64,
    calls_then: u64,
    /// What was told of the time before all keys were watched again.
    before: Option<Box<Line>>,
    /// When it was last looked whether they should be, and `line.calls` then; and what was called since one was watched.
    tended_us: u64,
    tended_calls: u64,
    unseen: u64,
    /// Those that are always watched.
    hot: Keys,
    told_hot: Option<Arc<HotKeys>>,
    keys: Keys,
}

impl Growing {
    pub fn new(serial: u64, (digest, origin): (Arc<DigestText>, Arc<Origin>), now: u64) -> Self {
        let line = Line::none((digest, origin), now);
        let hasher = foldhash::fast::FixedState::with_seed(serial);
        Self {
            line,
            serial,
            shift: 0,
            looked_at: 0,
            watched: 0,
            look_at: FREE,
            calls_then: 0,
            before: None,
            tended_us: now,
            tended_calls: 0,
            unseen: 0,
            hot: HashMap::with_hasher(hasher.clone()),
            told_hot: None,
            keys: HashMap::with_hasher(hasher),
        }
    }

    pub fn keys(&self) -> usize {
        self.keys.len()
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + (self.keys.capacity() + self.hot.capacity()) * (size_of::<(u64, Key)>() + 1)
    }

    pub fn watches(&self, key: u64) -> bool {
        key.leading_zeros() >= self.shift || self.hot.contains_key(&key)
    }

    /// Lets a worker know which keys are watched.
    pub fn tell(&self, gate: &mut Gate) {
        if gate.follow(self.shift) {
            gate.hot.clone_from(&self.told_hot);
        }
    }

    /// Runs one execution, and the `skipped` ones of the same key before it which were hits under every TTL; what they would have been
    /// answered is told from the executions before and behind them. Returns until when the next are hits as well.
    pub fn run(&mut self, seen: &Seen, skipped: &Skipped) -> Sure {
        self.unseen = 0;
        let line = &mut self.line;
        line.last_us = line.last_us.max(seen.answered_us);
        let (key, scale) = match self.hot.get_mut(&seen.key) {
            Some(key) => (key, 1.0),
            None => {
                self.watched += 1;
                (self.keys.entry(seen.key).or_default(), power_of_two(self.shift))
            }
        };
        key.calls = key.calls.saturating_add(u32::try_from(skipped.times + 1).unwrap_or(u32::MAX));
        let hits = skipped.times as f64 * scale;
        // What has changed did so at any moment between, for half of those that came by then.
        let half = skipped.within.min(1.0) / 2.0;
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
        let took = seen.answered_us.saturating_sub(seen.asked_us);
        let mut sure = Sure { until_us: u64::MAX, oldest_us: u64::MAX };
        let of_key = key.fills.iter_mut().zip(&mut key.misses);
        for ((ttl, tier), (fill, misses)) in LADDER.iter().zip(&mut line.tiers).zip(of_key) {
            // A wrong answer stays one.
            let differs = fill.asked > 0 && kept.is_some_and(|hash| hash != fill.hash);
            if hits > 0.0 {
                tier.hits += hits;
                tier.stale += hits * if fill.outdated { 1.0 } else { f64::from(u8::from(differs)) * half };
            }
            if fill.serves(*ttl, seen) {
                tier.hits += scale;
                if differs {
                    tier.stale += scale;
                    tier.outdated += if fill.outdated { 0.0 } else { scale };
                    fill.outdated = true;
                }
            } else {
                *misses = misses.saturating_add(1);
                tier.misses += scale;
                tier.missed_ns += seen.server_ns as f64 * scale;
                tier.own_writes += if fill.is_before_own_write(*ttl, seen) { scale } else { 0.0 };
                // What took longer than its time is not stored. What others may still be served stays.
                if let Some(hash) = kept.filter(|_| took < *ttl) {
                    tier.fills += scale;
                    *fill = Fill { asked: seen.asked_us + 1, hash, outdated: false };
                }
            }
            sure.until_us = sure.until_us.min(fill.until(*ttl));
            sure.oldest_us = sure.oldest_us.min(fill.asked.saturating_sub(1));
        }
        sure
    }

    /// Whether more is watched than is worth it. To be asked after each execution that was.
    pub fn is_costly(&mut self) -> bool {
        if self.watched < self.look_at {
            return false;
        }
        self.look_at = self.watched + LOOKED_AT;
        let calls = self.line.calls - self.calls_then;
        self.calls_then = self.line.calls;
        calls < LOOKED_AT * ONE_IN && self.keys.len() >= 2 * LEAST
    }

    /// A worker has counted these executions. Where so many come of which none is in the sample, there are few keys, and all of them are
    /// watched from now on.
    pub fn count(&mut self, calls: u64, server_ns: u64) {
        self.line.calls += calls;
        self.line.server_ns += server_ns;
        self.unseen += calls;
        if self.shift > 0 && self.unseen >= UNSEEN.max((LEAST as u64) << self.shift.min(40)) {
            self.begin_anew(self.line.last_us);
        }
    }

    /// Watches all keys again where few are left of those that were so many: once in an hour it is looked. `keys_each` is how many there
    /// may be.
    pub fn tend(&mut self, now: u64, keys_each: usize) {
        if now < self.tended_us.saturating_add(TENDED) {
            return;
        }
        let calls = self.line.calls - self.tended_calls;
        (self.tended_us, self.tended_calls) = (now, self.line.calls);
        if self.shift == 0 {
            return;
        }
        // One that came within the hour was stored in the hour before at the earliest.
        let is_left = |key: &&Key| key.fills[LADDER.len() - 1].until(2 * TENDED) > now;
        let left = self.keys.values().chain(self.hot.values()).filter(is_left).count();
        if calls <= keys_each as u64 || left < LEAST / 2 {
            self.begin_anew(now);
        }
    }

    /// What was told so far stays told. The cache of those that were not watched is empty as it seems, for their first time.
    fn begin_anew(&mut self, now: u64) {
        let mut told = self.told();
        (told.keys, told.one_of) = (0, 1);
        told.tiers.iter_mut().for_each(|tier| (tier.entries, tier.bytes) = (0.0, 0.0));
        self.before = Some(Box::new(told));
        self.keys.extend(self.hot.drain());
        self.keys.retain(|_, key| key.fills[LADDER.len() - 1].until(TENDED) > now);
        self.keys.shrink_to(2 * self.keys.len());
        for key in self.keys.values_mut() {
            (key.calls, key.misses) = (0, [0; LADDER.len()]);
        }
        self.told_hot = None;
        let Line { digest, origin, first_us, last_us, .. } = &self.line;
        let (digest, origin) = (Arc::clone(digest), Arc::clone(origin));
        self.line = Line { last_us: *last_us, ..Line::none((digest, origin), *first_us) };
        (self.shift, self.looked_at, self.unseen) = (0, 0, 0);
        (self.watched, self.look_at, self.calls_then) = (0, FREE, 0);
        (self.tended_us, self.tended_calls) = (now, 0);
    }

    /// Watches half of its keys from now on.
    pub fn halve(&mut self) {
        if self.shift == 0 {
            self.choose_hot();
        }
        self.shift += 1;
        let shift = self.shift;
        self.keys.retain(|key, _| key.leading_zeros() >= shift);
        if self.keys.capacity() > 4 * self.keys.len() {
            self.keys.shrink_to(2 * self.keys.len());
        }
    }

    /// Those that were asked for most go on to be watched, and stand for themselves alone. All keys are known at this time.
    fn choose_hot(&mut self) {
        let Fit { keys, calls, square, .. } = Fit::of(self.keys.values().map(|key| (key.calls, 0)));
        if square * keys <= calls * calls + BY_CHANCE * calls * keys {
            return;
        }
        let calls = calls as u64;
        let least = HOT * calls / self.keys.len().max(1) as u64;
        let mut hot: Vec<(u32, u64)> = self.keys.iter().map(|(hash, key)| (key.calls, *hash)).collect();
        hot.retain(|(calls, _)| u64::from(*calls) > least);
        hot.sort_unstable_by(|a, b| b.cmp(a));
        hot.truncate(MOST);
        for (_, hash) in hot {
            if let Some(key) = self.keys.remove(&hash) {
                self.hot.insert(hash, key);
            }
        }
        self.told_hot = (!self.hot.is_empty()).then(|| Arc::new(HotKeys::new(self.hot.keys().copied())));
    }

    /// What it comes to.
    pub fn told(&self) -> Line {
        let line = self.told_of_now();
        merged(self.before.as_deref().into_iter().chain([&line])).unwrap_or(line)
    }

    /// The same since all keys were watched.
    fn told_of_now(&self) -> Line {
        let mut line = self.line.clone();
        let all = power_of_two(self.shift);
        (line.keys, line.one_of) = (self.keys.len() + self.hot.len(), 1 << self.shift.min(63));
        for (at, (ttl, tier)) in LADDER.iter().zip(&mut line.tiers).enumerate() {
            let keys = self.keys.values().map(|key| (key, all));
            for (key, scale) in keys.chain(self.hot.values().map(|key| (key, 1.0))) {
                if key.fills[at].until(*ttl) > line.last_us {
                    tier.entries += scale;
                    tier.bytes += scale * f64::from(key.bytes);
                }
            }
            if self.shift > 0 {
                let fit = |keys: &Keys| Fit::of(keys.values().map(|key| (key.calls, key.misses[at])));
                let (hot, sample) = (fit(&self.hot), fit(&self.keys));
                let rest = (line.calls as f64 - hot.calls).max(0.0);
                let estimate = hot.misses + sample.misses_of_all(rest, all, &hot);
                let factor = if tier.misses > 0.0 { estimate / tier.misses } else { 1.0 };
                (tier.missed_ns, tier.own_writes) = (tier.missed_ns * factor, tier.own_writes * factor);
                tier.misses = estimate;
            }
        }
        line
    }
}

/// One of how many keys is watched whose hash begins with so many zeros. There are fewer keys than would make it more.
fn power_of_two(shift: u32) -> f64 {
    (1u64 << shift.min(63)) as f64
}

/// Executions and misses of some keys, each of which has a point in a plane.
#[derive(Debug, Default)]
struct Fit {
    keys: f64,
    calls: f64,
    misses: f64,
    /// Sums of the products of both, and of the squares of the executions.
    both: f64,
    square: f64,
}

impl Fit {
    fn of(keys: impl Iterator<Item = (u32, u32)>) -> Self {
        keys.fold(Self::default(), |sum, (calls, misses)| {
            let (calls, misses) = (f64::from(calls), f64::from(misses));
            Self {
                keys: sum.keys + 1.0,
                calls: sum.calls + calls,
                misses: sum.misses + misses,
                both: sum.both + calls * misses,
                square: sum.square + calls * calls,
            }
        })
    }

    /// The share of misses of those that are asked for most: a regression through the origin.
    fn slope(&self) -> f64 {
        if self.square > 0.0 { self.both / self.square } else { 0.0 }
    }

    /// The misses of all keys but the `hot` ones, of which these are a sample: there are `scale` times as many, with so many executions.
    ///
    /// The sample may have more or less than its share of the executions, and all of them are known. How far that tells of misses too is
    /// seen in the keys themselves. What is too much is taken off: a key that is asked for all the time is in the sample then, and how
    /// many misses it has is known. What it lacks is put on as that of keys like these where they are alike and chance alone may have
    /// done it. Else it is keys that are asked for all the time and not in the sample, and what is known of such are the hot ones: hits
    /// as a rule, and misses where their sessions write.
    fn misses_of_all(&self, calls: f64, scale: f64, hot: &Self) -> f64 {
        /// The square of the coefficient of variation of keys' executions up to which they are alike; that of a geometric distribution
        /// is 1.
        const ALIKE: f64 = 3.0;
        let off = scale * self.calls - calls;
        let alike = self.keys * self.square <= (1.0 + ALIKE) * self.calls * self.calls;
        let by_chance = off > 0.0 || (alike && -off <= 2.5 * scale * self.square.sqrt());
        let slope = if by_chance { self.slope() } else { hot.slope() };
        (scale * self.misses - slope * off).clamp(0.0, calls)
    }
}

impl Fill {
    /// Whether it would answer this.
    fn serves(&self, ttl: u64, seen: &Seen) -> bool {
        let Some(asked) = self.asked.checked_sub(1) else { return false };
        // One that was asked for a moment later was waited for.
        seen.asked_us.saturating_sub(asked) < ttl && seen.floor_us.is_none_or(|floor| asked > floor)
    }

    /// Whether it does not, for the one reason that the session has written since.
    fn is_before_own_write(&self, ttl: u64, seen: &Seen) -> bool {
        // A floor that is not before the asking stands for a state that keeps a session from the cache altogether.
        let wrote = seen.floor_us.is_some_and(|floor| floor < seen.asked_us);
        wrote && self.serves(ttl, &Seen { floor_us: None, ..*seen })
    }

    fn until(&self, ttl: u64) -> u64 {
        self.asked.checked_sub(1).map_or(0, |asked| asked.saturating_add(ttl))
    }
}
