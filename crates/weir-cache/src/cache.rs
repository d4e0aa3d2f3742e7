//! What a statement asks of the cache.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::entry::{Answer, Entry, Freshness, Kind, Terms, least_size};
use crate::flight::{Flight, Ticket, Waiting};
use crate::inner::{Inner, Snapshot, State};
use crate::key::Key;
use crate::limits::CacheLimits;
use crate::reason::{DropReason, Refusal};
use crate::rule::{Asked, Often, Rule, RuleStats, Seldom};
use crate::scope::Scope;

/// The cache. Clones are the same cache; all methods are for any thread.
#[derive(Debug, Clone)]
pub struct Cache {
    pub(crate) inner: Arc<Inner>,
}

/// What a statement asks the cache.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    pub key: Key<'a>,
    pub scope: &'a Arc<Scope>,
    /// How old an answer may be, by the rule and the hints that hold for this statement. An entry stored under stricter
    /// terms keeps those.
    pub terms: Terms,
    /// When the session's last write was acknowledged: nothing that was asked at or before that moment is served. The clock must be
    /// read after the acknowledgement came, while that of [`Ticket::asked`] is read before the statement goes.
    pub floor: Option<Instant>,
}

/// What a lookup finds.
#[derive(Debug)]
pub enum Lookup {
    /// The answer.
    Hit(Arc<Entry>),
    /// The answer, and the duty to renew it behind the answer: its soft TTL is over, and nobody else is at it.
    Refresh(Arc<Entry>, Ticket),
    /// Nothing that may be served: ask the server, then [`Ticket::fill`] or [`Ticket::give_up`].
    Miss(Ticket),
    /// Nothing, and somebody is asking: wait, with a deadline.
    Wait(Waiting),
    /// It cannot be stored whatever the answer is.
    Refused(Refusal),
}

/// What came of an answer.
#[derive(Debug)]
pub enum Fill {
    Stored(Arc<Entry>),
    Dropped(DropReason),
}

/// Figures of the whole cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheStats {
    /// Bytes that may be held.
    pub memory: usize,
    /// Bytes that are held, entries that are stored no more but are still being sent included.
    pub used: usize,
    /// Entries, shadow marks included.
    pub entries: usize,
    /// Questions that are under way.
    pub flights: usize,
    /// What was asked under all rules, those that are forgotten included: it never becomes less.
    pub asked: Asked,
    /// Users for whom answers are stored, and the bytes of those, the most first.
    pub users: Vec<(Box<str>, usize)>,
    /// Each rule, in the order in which they became known.
    pub rules: Vec<RuleStats>,
}

impl Cache {
    /// An empty cache. `seed` should be a random number: it keeps others from choosing keys that are slow to find.
    pub fn new(limits: CacheLimits, seed: u64) -> Self {
        Self::with_hash_bits(limits, seed, 64)
    }

    /// As [`Cache::new`], with hashes of `hash_bits` bits, 1 to 64: to test that bytes decide where hashes are equal.
    pub fn with_hash_bits(limits: CacheLimits, seed: u64, hash_bits: u32) -> Self {
        Self { inner: Arc::new(Inner::new(limits, seed, hash_bits)) }
    }

    /// Changes how much may be held. What is too much goes with the next fills, or with [`Cache::sweep`].
    pub fn set_limits(&self, limits: CacheLimits) {
        self.inner.budget.set_limit(limits.memory);
        self.inner.max_entry.store(limits.largest_entry(), Ordering::Relaxed);
        self.inner.holders.set_limit(limits.user_memory);
    }

    /// Bytes of memory that one entry takes at most, its key included.
    pub fn max_entry(&self) -> usize {
        self.inner.max_entry.load(Ordering::Relaxed)
    }

    /// Bytes that the entries of one user may take, if that is limited.
    pub fn user_memory(&self) -> Option<usize> {
        Some(self.inner.holders.limit()).filter(|limit| *limit != usize::MAX)
    }

    /// A rule that was just made, of which nothing is counted, whatever one of the same name had counted before.
    pub fn new_rule(&self, name: &str) -> Arc<Rule> {
        let mut forgotten = self.inner.forgotten.lock();
        let rule = self.rule(name);
        forgotten.add(&rule.stats());
        rule.begin();
        rule
    }

    /// The rule of this name; from now on it is in the statistics.
    pub fn rule(&self, name: &str) -> Arc<Rule> {
        let mut rules = self.inner.rules.lock();
        if let Some(rule) = rules.iter().find(|r| r.name() == name) {
            return Arc::clone(rule);
        }
        let rule = Rule::new(name);
        rules.push(Arc::clone(&rule));
        rule
    }

    /// Whether [`Cache::rule`] was asked for a rule of this name.
    pub fn knows_rule(&self, name: &str) -> bool {
        self.inner.rules.lock().iter().any(|r| r.name() == name)
    }

    /// Forgets rules that `keep` does not want and that have no entries.
    pub fn retain_rules(&self, keep: impl Fn(&str) -> bool) {
        let mut forgotten = self.inner.forgotten.lock();
        self.inner.rules.lock().retain(|r| {
            let stats = r.stats();
            let stays = keep(r.name()) || stats.entries > 0;
            if !stays {
                forgotten.add(&stats);
            }
            stays
        });
    }

    /// Looks at the bytes that a [`crate::KeyBuilder`] has made.
    pub fn key<'k>(&self, bytes: &'k [u8]) -> Key<'k> {
        Key { bytes, hash: self.inner.hash(bytes) }
    }

    /// What there is for a statement. Takes one short lock, and allocates nothing where it finds something.
    pub fn lookup(&self, ask: &Ask<'_>, now: Instant) -> Lookup {
        self.look(ask, now, true)
    }

    /// The same, for who has waited for another's answer and lost patience: that was counted, and counts once.
    pub fn lookup_again(&self, ask: &Ask<'_>, now: Instant) -> Lookup {
        self.look(ask, now, false)
    }

    fn look(&self, ask: &Ask<'_>, now: Instant, counts: bool) -> Lookup {
        if least_size(ask.key.bytes.len()) > self.max_entry() {
            return Lookup::Refused(Refusal::TooLarge);
        }
        let place = self.inner.place(ask.key.hash);
        let part = &self.inner.parts()[place];
        let mut state = part.state.lock();
        match state.serve(ask, now) {
            Some((entry, freshness)) => {
                let renew = freshness == Freshness::Soft && state.flight(&ask.key).is_none();
                let ticket = renew.then(|| self.begin(&mut state, ask, Some(entry.server_time()), now));
                drop(state);
                self.found(counts.then_some(place), ask, entry, ticket)
            }
            None => {
                let (before, dead) = state.take_dead(&ask.key, now);
                let lookup = self.missed(&mut state, ask, before, now);
                part.weigh(&mut state);
                drop(state);
                self.inner.buried(place, dead.as_ref());
                let waits = matches!(lookup, Lookup::Wait(_));
                if counts {
                    ask.scope.rule().often(place, if waits { Often::Waits } else { Often::Misses }, 1);
                }
                lookup
            }
        }
    }

    /// `counted`: where a hit is counted, if it is.
    fn found(
        &self,
        counted: Option<usize>,
        ask: &Ask<'_>,
        entry: Arc<Entry>,
        ticket: Option<Ticket>,
    ) -> Lookup {
        let rule = ask.scope.rule();
        if let Some(place) = counted {
            let micros = u64::try_from(entry.server_time().as_micros()).unwrap_or(u64::MAX);
            rule.often(place, Often::Hits, 1);
            rule.often(place, Often::HitBytes, entry.packets().len() as u64);
            rule.often(place, Often::SavedMicros, micros);
        }
        match ticket {
            Some(ticket) => {
                rule.seldom(Seldom::Refreshes, 1);
                Lookup::Refresh(entry, ticket)
            }
            None => Lookup::Hit(entry),
        }
    }

    fn missed(&self, state: &mut State, ask: &Ask<'_>, before: Option<Duration>, now: Instant) -> Lookup {
        let Some(flight) = state.flight(&ask.key).filter(|f| f.serves(ask, now)) else {
            return Lookup::Miss(self.begin(state, ask, before, now));
        };
        let (flight, id) = (Arc::clone(flight), flight.join(ask.terms));
        let (inner, scope) = (Arc::clone(&self.inner), Arc::clone(ask.scope));
        Lookup::Wait(Waiting { inner, flight, scope, terms: ask.terms, id, done: false })
    }

    /// Begins a flight. If there is one that began too early for this session, the new one is nobody's to wait for. `before`: what
    /// the answer that was stored last has counted for.
    fn begin(&self, state: &mut State, ask: &Ask<'_>, before: Option<Duration>, now: Instant) -> Ticket {
        let (inner, key) = (Arc::clone(&self.inner), &ask.key);
        let flight = Flight::new(key.bytes, key.hash, (ask.scope, before), now, &inner.budget);
        if state.flight(key).is_none() {
            state.add_flight(Arc::clone(&flight));
        }
        let snapshot = inner.snapshot(key.hash, now);
        Ticket { inner, flight, scope: Arc::clone(ask.scope), terms: ask.terms, snapshot, open: true }
    }

    /// What may be served because the server failed: an answer past its TTL, within the bound of both the entry and
    /// whoever asks. Counted apart.
    pub fn stale_if_error(&self, ask: &Ask<'_>, now: Instant) -> Option<Arc<Entry>> {
        let part = &self.inner.parts()[self.inner.place(ask.key.hash)];
        let state = part.state.lock();
        let (_, entry) = state.store.find(ask.key.hash, ask.key.bytes, Kind::Answer)?;
        let fresh = entry.freshness(&ask.terms, now) != Freshness::Dead;
        let usable = fresh && ask.after_floor(entry.asked()) && entry.scope().covers_tags(ask.scope);
        let entry = usable.then(|| Arc::clone(entry))?;
        drop(state);
        ask.scope.rule().seldom(Seldom::StaleServed, 1);
        Some(entry)
    }

    /// What is known of wipes before a statement goes to the server, for [`Cache::shadow_observe`].
    pub fn snapshot(&self, key: &Key<'_>, now: Instant) -> Snapshot {
        self.inner.snapshot(key.hash, now)
    }

    /// Figures. Locks one part after the other.
    pub fn stats(&self) -> CacheStats {
        let (mut entries, mut flights) = (0, 0);
        for part in self.inner.parts() {
            let state = part.state.lock();
            entries += state.store.len();
            flights += state.flight_count();
        }
        // Held while rules are looked at: each is counted once, here or there.
        let forgotten = self.inner.forgotten.lock();
        let mut asked = *forgotten;
        let rules: Vec<RuleStats> = self.inner.rules.lock().iter().map(|r| r.stats()).collect();
        drop(forgotten);
        rules.iter().for_each(|stats| asked.add(stats));
        CacheStats {
            memory: self.inner.budget.limit(),
            used: self.inner.budget.used(),
            entries,
            flights,
            asked,
            users: self.inner.holders.all(),
            rules,
        }
    }
}

impl Ask<'_> {
    pub(crate) fn after_floor(&self, asked: Instant) -> bool {
        self.floor.is_none_or(|floor| asked > floor)
    }
}

impl Flight {
    /// Whether what it brings may be served to whoever asks.
    fn serves(&self, ask: &Ask<'_>, now: Instant) -> bool {
        let young = now.saturating_duration_since(self.began) < ask.terms.ttl;
        young && ask.after_floor(self.began) && self.scope.covers_tags(ask.scope)
    }
}

impl Ticket {
    /// Stores the answer, unless something that covers it was wiped since the server was asked, and gives it to all who wait.
    pub fn fill(mut self, answer: &Answer<'_>, now: Instant) -> Fill {
        let bytes = self.flight.key.len() + answer.packets.len() + answer.warning_packets.len();
        if now.saturating_duration_since(self.snapshot.asked) >= self.terms.ttl {
            return self.drop_answer(DropReason::Outlived);
        }
        if least_size(bytes) > self.inner.max_entry.load(Ordering::Relaxed).min(self.inner.holders.limit()) {
            return self.drop_answer(DropReason::TooLarge);
        }
        let inner = Arc::clone(&self.inner);
        let flight = Arc::clone(&self.flight);
        let scope = Arc::clone(&self.scope);
        let asked = self.snapshot.asked;
        let spares = inner.spares(flight.hash);
        let (budget, terms) = (&inner.budget, self.terms);
        let entry = Entry::new(Kind::Answer, &flight.key, answer, scope, terms, asked, now, budget, spares);
        let key = Key { bytes: &flight.key, hash: flight.hash };
        match inner.store(&key, &entry, &self.snapshot, Some(&flight), now) {
            Ok(()) => {
                self.open = false;
                Fill::Stored(entry)
            }
            Err(DropReason::Superseded) => {
                self.open = false;
                self.scope.rule().dropped(DropReason::Superseded);
                Fill::Dropped(DropReason::Superseded)
            }
            Err(reason) => self.drop_answer(reason),
        }
    }

    fn drop_answer(&mut self, reason: DropReason) -> Fill {
        self.close(reason);
        Fill::Dropped(reason)
    }
}
