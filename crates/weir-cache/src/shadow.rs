//! Measuring without serving: what a rule would have done, and whether what was served was still right.

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::cache::{Ask, Cache};
use crate::entry::{About, Answer, Entry, Freshness, Kind};
use crate::inner::Snapshot;
use crate::rule::{Rule, Seldom};

/// What a rule in shadow mode would have done for one statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShadowOutcome {
    /// Whether it would have been answered from the cache.
    pub would_hit: bool,
    /// How old the data of that answer would have been, if it differed from the fresh one.
    pub would_be_stale: Option<Duration>,
    /// The server's time that would have been saved.
    pub saved: Duration,
}

/// What comparing a served answer with a fresh one shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Same,
    /// It differed; `age` is how old the served data was. Since when it was wrong is not known, but not for longer.
    Differs {
        age: Duration,
    },
}

/// A hash over what must be equal in two answers. The same pieces must be given in the same order.
#[derive(Clone)]
pub struct ResultHash(foldhash::quality::FoldHasher<'static>);

impl ResultHash {
    pub fn update(&mut self, piece: &[u8]) {
        self.0.write_usize(piece.len());
        self.0.write(piece);
    }

    pub fn finish(self) -> u64 {
        self.0.finish()
    }
}

impl Cache {
    /// Begins a hash over a result.
    pub fn result_hash(&self) -> ResultHash {
        ResultHash(self.inner.hasher().build_hasher())
    }

    /// To be told of each statement of a rule in shadow mode after it ran: what `hash` its result has, how long the server took, and
    /// the [`Cache::snapshot`] from before it was sent. Stores the hash alone, under the same terms as an answer.
    pub fn shadow_observe(
        &self,
        ask: &Ask<'_>,
        snapshot: &Snapshot,
        about: &About,
        now: Instant,
    ) -> ShadowOutcome {
        let rule = ask.scope.rule();
        rule.seldom(Seldom::ShadowSeen, 1);
        if let Some(entry) = self.shadow_mark(ask, now) {
            let stale = (entry.about().hash != about.hash).then(|| entry.age(snapshot.asked));
            if let Some(age) = stale {
                rule.was_stale(age);
            }
            rule.seldom(Seldom::ShadowHits, 1);
            rule.seldom(Seldom::ShadowStale, stale.is_some().into());
            let micros = u64::try_from(about.server_time.as_micros()).unwrap_or(u64::MAX);
            rule.seldom(Seldom::ShadowSavedMicros, micros);
            return ShadowOutcome { would_hit: true, would_be_stale: stale, saved: about.server_time };
        }
        let key = &ask.key;
        let answer = Answer { packets: &[], warning_packets: &[], about: *about };
        let scope = Arc::clone(ask.scope);
        let entry = Entry::new(
            Kind::Shadow,
            key.bytes,
            &answer,
            scope,
            ask.terms,
            snapshot.asked,
            now,
            &self.inner.budget,
            self.inner.spares(key.hash),
        );
        // Whether it is stored, or was wiped or outdone meanwhile, makes no difference to this statement.
        if entry.size() <= self.max_entry() && !ask.terms.ttl.is_zero() {
            _ = self.inner.store(key, &entry, snapshot, None, now);
        }
        ShadowOutcome { would_hit: false, would_be_stale: None, saved: Duration::ZERO }
    }

    /// Whether this hit is one of the sample that is to be verified; `share` is in millionths. Which ones is not
    /// foreseeable, and equally many of all.
    pub fn samples(&self, rule: &Rule, share: u32) -> bool {
        let mut hasher = self.inner.hasher().build_hasher();
        hasher.write_u64(self.inner.seed ^ rule.seldom(Seldom::Samples, 1));
        share > 0 && hasher.finish() % 1_000_000 < share.into()
    }

    /// Compares what was served with the hash of a fresh answer to the same statement, which was asked for at `asked`.
    pub fn verified(&self, rule: &Rule, served: &Entry, fresh: u64, asked: Instant) -> Verdict {
        rule.seldom(Seldom::Verified, 1);
        if served.about().hash == fresh {
            return Verdict::Same;
        }
        rule.seldom(Seldom::Mismatched, 1);
        let age = served.age(asked);
        rule.was_stale(age);
        Verdict::Differs { age }
    }

    fn shadow_mark(&self, ask: &Ask<'_>, now: Instant) -> Option<Arc<Entry>> {
        let place = self.inner.place(ask.key.hash);
        let mut state = self.inner.parts()[place].state.lock();
        let (id, entry) = state.store.find(ask.key.hash, ask.key.bytes, Kind::Shadow)?;
        let alive = matches!(entry.freshness(&ask.terms, now), Freshness::Fresh | Freshness::Soft);
        let usable = alive && ask.after_floor(entry.asked()) && entry.scope().covers_tags(ask.scope);
        let entry = usable.then(|| Arc::clone(entry))?;
        state.store.used(id);
        Some(entry)
    }
}

#[cfg(test)]
mod tests;
