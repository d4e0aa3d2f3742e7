//! What is counted for each rule.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::reason::{DropReason, Refusal};

/// Threads that count the same mostly meet in different stripes.
const STRIPES: usize = 8;

/// Upper bounds of the ages of answers that were found to be out of date.
pub const AGES: [Duration; 10] = [
    Duration::from_millis(10),
    Duration::from_millis(100),
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(15),
    Duration::from_secs(60),
    Duration::from_secs(300),
    Duration::from_secs(900),
    Duration::from_secs(3600),
    Duration::from_secs(4 * 3600),
];

/// What is counted often: in stripes, chosen by the part of the cache where it happens.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Often {
    Hits,
    HitBytes,
    SavedMicros,
    Misses,
    Waits,
    Fills,
    Evicted,
    Expired,
    Replaced,
    /// [`Refusal::SeldomAskedAgain`].
    Passed,
}

/// What is counted seldom.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Seldom {
    Refreshes,
    StaleServed,
    Wiped,
    Handovers,
    ShadowSeen,
    ShadowHits,
    ShadowStale,
    ShadowSavedMicros,
    Verified,
    Mismatched,
    Samples,
}

#[derive(Debug, Default)]
#[repr(align(128))]
struct Stripe([AtomicU64; Often::Passed as usize + 1]);

/// A rule as the cache knows it: a name and counters. [`crate::Cache::rule`] hands them out.
#[derive(Debug)]
pub struct Rule {
    name: Box<str>,
    often: [Stripe; STRIPES],
    seldom: [AtomicU64; Seldom::Samples as usize + 1],
    dropped: [AtomicU64; DropReason::ALL.len()],
    refused: [AtomicU64; Refusal::ALL.len()],
    ages: [AtomicU64; AGES.len() + 1],
    ages_millis: AtomicU64,
    entries: AtomicI64,
    bytes: AtomicI64,
    /// What was counted when a rule of this name was made again: that is another's.
    before: Mutex<Option<Box<RuleStats>>>,
}

impl Rule {
    pub(crate) fn new(name: &str) -> Arc<Self> {
        Arc::new(Self {
            name: name.into(),
            often: Default::default(),
            seldom: Default::default(),
            dropped: Default::default(),
            refused: std::array::from_fn(|_| AtomicU64::new(0)),
            ages: Default::default(),
            ages_millis: AtomicU64::new(0),
            entries: AtomicI64::new(0),
            bytes: AtomicI64::new(0),
            before: Mutex::default(),
        })
    }

    /// Its name in the configuration.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Counts a statement that the rule names and the cache leaves alone.
    pub fn refuse(&self, reason: Refusal) {
        match reason {
            Refusal::SeldomAskedAgain => self.pass(0),
            _ => drop(self.refused[reason as usize].fetch_add(1, Ordering::Relaxed)),
        }
    }

    /// Counts a statement that is left alone because its like are seldom asked for again. `stripe`: who counts, best the number of its
    /// thread.
    pub fn pass(&self, stripe: usize) {
        self.often(stripe, Often::Passed, 1);
    }

    /// What was counted so far.
    pub fn stats(&self) -> RuleStats {
        let before = self.before.lock();
        let all = self.all();
        match before.as_deref() {
            Some(before) => all.since(before),
            None => all,
        }
    }

    /// Counts from nothing. What is stored stays.
    pub(crate) fn begin(&self) {
        *self.before.lock() = Some(Box::new(self.all()));
    }

    fn all(&self) -> RuleStats {
        let often = |of: Often| self.often.iter().map(|s| s.0[of as usize].load(Ordering::Relaxed)).sum();
        let seldom = |of: Seldom| self.seldom[of as usize].load(Ordering::Relaxed);
        let gauge = |of: &AtomicI64| u64::try_from(of.load(Ordering::Relaxed)).unwrap_or(0);
        let refused = |reason: &Refusal| match reason {
            Refusal::SeldomAskedAgain => (*reason, often(Often::Passed)),
            _ => (*reason, self.refused[*reason as usize].load(Ordering::Relaxed)),
        };
        let all = |of: &[AtomicU64]| of.iter().map(|n| n.load(Ordering::Relaxed)).collect::<Vec<_>>();
        RuleStats {
            name: self.name.clone(),
            entries: gauge(&self.entries),
            bytes: gauge(&self.bytes),
            hits: often(Often::Hits),
            hit_bytes: often(Often::HitBytes),
            saved: Duration::from_micros(often(Often::SavedMicros)),
            misses: often(Often::Misses),
            waits: often(Often::Waits),
            fills: often(Often::Fills),
            evicted: often(Often::Evicted),
            expired: often(Often::Expired),
            replaced: often(Often::Replaced),
            refreshes: seldom(Seldom::Refreshes),
            stale_served: seldom(Seldom::StaleServed),
            wiped: seldom(Seldom::Wiped),
            handovers: seldom(Seldom::Handovers),
            shadow_seen: seldom(Seldom::ShadowSeen),
            shadow_hits: seldom(Seldom::ShadowHits),
            shadow_stale: seldom(Seldom::ShadowStale),
            shadow_saved: Duration::from_micros(seldom(Seldom::ShadowSavedMicros)),
            verified: seldom(Seldom::Verified),
            mismatched: seldom(Seldom::Mismatched),
            dropped: DropReason::ALL.iter().copied().zip(all(&self.dropped)).collect(),
            refused: Refusal::ALL.iter().map(refused).collect(),
            stale_ages: all(&self.ages),
            stale_age: Duration::from_millis(self.ages_millis.load(Ordering::Relaxed)),
        }
    }

    pub(crate) fn often(&self, stripe: usize, of: Often, n: u64) {
        self.often[stripe % STRIPES].0[of as usize].fetch_add(n, Ordering::Relaxed);
    }

    /// Counts and returns how many there were before.
    pub(crate) fn seldom(&self, of: Seldom, n: u64) -> u64 {
        self.seldom[of as usize].fetch_add(n, Ordering::Relaxed)
    }

    /// An answer was found to be out of date when it was this old.
    pub(crate) fn was_stale(&self, age: Duration) {
        let at = AGES.iter().position(|bound| age <= *bound).unwrap_or(AGES.len());
        self.ages[at].fetch_add(1, Ordering::Relaxed);
        let millis = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        self.ages_millis.fetch_add(millis, Ordering::Relaxed);
    }

    pub(crate) fn dropped(&self, reason: DropReason) {
        self.dropped[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// `sign` is 1 for an entry that comes, -1 for one that goes.
    pub(crate) fn hold(&self, sign: i64, bytes: usize) {
        self.entries.fetch_add(sign, Ordering::Relaxed);
        self.bytes.fetch_add(sign * i64::try_from(bytes).unwrap_or(i64::MAX), Ordering::Relaxed);
    }
}

/// What was asked of the cache, and how often it had an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asked {
    pub hits: u64,
    pub misses: u64,
    pub waits: u64,
}

impl Asked {
    pub(crate) fn add(&mut self, stats: &RuleStats) {
        self.hits += stats.hits;
        self.misses += stats.misses;
        self.waits += stats.waits;
    }
}

/// What was counted for one rule since it is known. Times are sums.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleStats {
    pub name: Box<str>,
    /// Entries stored at the moment, shadow marks included.
    pub entries: u64,
    /// Bytes of them in memory.
    pub bytes: u64,
    /// Answers from the cache, those of `waits`, `stale_served` not included.
    pub hits: u64,
    /// Bytes of packets of those.
    pub hit_bytes: u64,
    /// Time that the server took for the answers that were then served from the cache.
    pub saved: Duration,
    /// Statements that found nothing and went to the server.
    pub misses: u64,
    /// Statements that found another asking the same, and waited for it.
    pub waits: u64,
    /// Answers stored.
    pub fills: u64,
    /// Entries that made room for others.
    pub evicted: u64,
    /// Entries removed because they were too old.
    pub expired: u64,
    /// Entries in whose place a newer answer to the same was stored.
    pub replaced: u64,
    /// Statements that found an entry older than its soft TTL and renewed it.
    pub refreshes: u64,
    /// Answers served past their TTL because the server failed.
    pub stale_served: u64,
    /// Entries removed by a wipe.
    pub wiped: u64,
    /// How often a statement that waited had to take over from one that failed.
    pub handovers: u64,
    /// Statements observed in shadow mode.
    pub shadow_seen: u64,
    /// Those of them that would have been answered from the cache.
    pub shadow_hits: u64,
    /// Those of `shadow_hits` whose answer was another by then.
    pub shadow_stale: u64,
    /// Time that the server took for `shadow_hits`.
    pub shadow_saved: Duration,
    /// Served answers that were compared with a fresh one.
    pub verified: u64,
    /// Those of them that differed.
    pub mismatched: u64,
    /// How old the answers were that differed, in verification and in shadow mode: how many up to each of [`AGES`], each counted
    /// once, and last those that were older.
    pub stale_ages: Vec<u64>,
    /// The sum of those ages.
    pub stale_age: Duration,
    /// Answers that were to be stored and were not, by reason.
    pub dropped: Vec<(DropReason, u64)>,
    /// Statements that the cache left alone, by reason.
    pub refused: Vec<(Refusal, u64)>,
}

impl RuleStats {
    /// What came after `before`. What is stored now is not a matter of time.
    fn since(self, before: &Self) -> Self {
        let each = |now: Vec<u64>, then: &[u64]| -> Vec<u64> {
            now.into_iter().zip(then).map(|(now, then)| now.saturating_sub(*then)).collect()
        };
        Self {
            name: self.name,
            entries: self.entries,
            bytes: self.bytes,
            hits: self.hits.saturating_sub(before.hits),
            hit_bytes: self.hit_bytes.saturating_sub(before.hit_bytes),
            saved: self.saved.saturating_sub(before.saved),
            misses: self.misses.saturating_sub(before.misses),
            waits: self.waits.saturating_sub(before.waits),
            fills: self.fills.saturating_sub(before.fills),
            evicted: self.evicted.saturating_sub(before.evicted),
            expired: self.expired.saturating_sub(before.expired),
            replaced: self.replaced.saturating_sub(before.replaced),
            refreshes: self.refreshes.saturating_sub(before.refreshes),
            stale_served: self.stale_served.saturating_sub(before.stale_served),
            wiped: self.wiped.saturating_sub(before.wiped),
            handovers: self.handovers.saturating_sub(before.handovers),
            shadow_seen: self.shadow_seen.saturating_sub(before.shadow_seen),
            shadow_hits: self.shadow_hits.saturating_sub(before.shadow_hits),
            shadow_stale: self.shadow_stale.saturating_sub(before.shadow_stale),
            shadow_saved: self.shadow_saved.saturating_sub(before.shadow_saved),
            verified: self.verified.saturating_sub(before.verified),
            mismatched: self.mismatched.saturating_sub(before.mismatched),
            stale_ages: each(self.stale_ages, &before.stale_ages),
            stale_age: self.stale_age.saturating_sub(before.stale_age),
            dropped: by_reason(self.dropped, &before.dropped),
            refused: by_reason(self.refused, &before.refused),
        }
    }
}

/// Both are of all reasons in their order.
fn by_reason<R>(now: Vec<(R, u64)>, then: &[(R, u64)]) -> Vec<(R, u64)> {
    let less = |((reason, now), (_, then)): ((R, u64), &(R, u64))| (reason, now.saturating_sub(*then));
    now.into_iter().zip(then).map(less).collect()
}
