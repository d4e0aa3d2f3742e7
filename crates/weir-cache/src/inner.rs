//! The parts of the cache with their locks, and what is done to them.

use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use foldhash::quality::FixedState;
use hashbrown::HashTable;
use parking_lot::Mutex;

use crate::admission::Door;
use crate::cache::Ask;
use crate::charge::{Budget, Charge, resident};
use crate::entry::{Entry, Freshness, Kind};
use crate::flight::Flight;
use crate::generation::Generations;
use crate::holder::Holders;
use crate::key::Key;
use crate::limits::CacheLimits;
use crate::reason::DropReason;
use crate::rule::{Asked, Often, Rule};
use crate::seen::Seen;
use crate::spare::{Spare, Spares};
use crate::store::Store;

/// Generations of single keys in each part. Keys that share one are dropped together, if they are just being asked.
const KEY_GENERATIONS: usize = 64;

#[derive(Debug)]
pub(crate) struct Inner {
    parts: Box<[Part]>,
    hasher: FixedState,
    /// Bits of the hash that are used: 64, but for tests.
    hash_bits: u32,
    pub(crate) budget: Arc<Budget>,
    /// Bytes of answers under way.
    pub(crate) gathered: AtomicUsize,
    pub(crate) generations: Generations,
    pub(crate) seen: Seen,
    pub(crate) door: Door,
    pub(crate) spare: Spare,
    pub(crate) max_entry: AtomicUsize,
    pub(crate) holders: Holders,
    /// Of rules that are in the statistics no more. Locked before `rules`.
    pub(crate) forgotten: Mutex<Asked>,
    pub(crate) rules: Mutex<Vec<Arc<Rule>>>,
    /// Where eviction looks next, if not where the new entry is.
    pub(crate) rover: AtomicUsize,
    pub(crate) sweep: AtomicUsize,
    pub(crate) seed: u64,
}

/// One part, with a lock of its own and a cache line that no other part shares.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Part {
    pub(crate) state: Mutex<State>,
    keys: [AtomicU32; KEY_GENERATIONS],
    /// Bytes of its entries, for whoever has not locked it.
    pub(crate) bytes: AtomicUsize,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) store: Store,
    flights: HashTable<Arc<Flight>>,
    overhead: Charge,
}

/// What was wiped until the server was asked, and when that was.
#[derive(Debug, Clone, Copy)]
pub struct Snapshot {
    wipes: u64,
    key: u32,
    pub(crate) asked: Instant,
}

impl Inner {
    pub(crate) fn new(limits: CacheLimits, seed: u64, hash_bits: u32) -> Self {
        let budget = Budget::new(limits.memory);
        Self {
            parts: (0..limits.shard_count()).map(|_| Part::new(&budget)).collect(),
            hasher: FixedState::with_seed(seed),
            hash_bits: hash_bits.clamp(1, 64),
            generations: Generations::new(&budget),
            spare: Spare::new(&budget),
            seen: Seen::new(&budget, limits.memory),
            door: Door::new(limits.memory),
            max_entry: AtomicUsize::new(limits.largest_entry()),
            holders: Holders::new(limits.user_memory),
            budget,
            gathered: AtomicUsize::new(0),
            forgotten: Mutex::default(),
            rules: Mutex::default(),
            rover: AtomicUsize::new(0),
            sweep: AtomicUsize::new(0),
            seed,
        }
    }

    pub(crate) fn hash(&self, bytes: &[u8]) -> u64 {
        let hash = self.hasher.hash_one(bytes);
        if self.hash_bits == 64 {
            return hash;
        }
        // Few values, spread over all bits, so that all parts are used.
        (hash >> (64 - self.hash_bits)).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    /// The number of the part that a hash belongs to. Its bits are neither those by which the index begins nor those it compares.
    pub(crate) fn place(&self, hash: u64) -> usize {
        (hash >> 44) as usize & (self.parts.len() - 1)
    }

    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }

    pub(crate) fn hasher(&self) -> &FixedState {
        &self.hasher
    }

    /// What is left of entries, for one with this hash.
    pub(crate) fn spares(&self, hash: u64) -> Spares<'_> {
        self.spare.of(self.place(hash))
    }

    /// The same for the part with this number.
    pub(crate) fn spares_at(&self, place: usize) -> Spares<'_> {
        self.spare.of(place)
    }

    pub(crate) fn snapshot(&self, hash: u64, asked: Instant) -> Snapshot {
        let key = self.parts[self.place(hash)].key_generation(hash).load(Ordering::Acquire);
        Snapshot { wipes: self.generations.now(), key, asked }
    }

    /// Stores an entry under its key and settles its flight, if there is one, then makes room.
    pub(crate) fn store(
        &self,
        key: &Key<'_>,
        entry: &Arc<Entry>,
        snapshot: &Snapshot,
        flight: Option<&Arc<Flight>>,
        now: Instant,
    ) -> Result<(), DropReason> {
        if entry.size() > self.holders.limit() {
            return Err(DropReason::TooLarge);
        }
        self.seen.note(entry.scope(), &self.hasher);
        let hash = key.hash;
        let place = self.place(hash);
        let part = &self.parts[place];
        let mut state = part.state.lock();
        let key_wiped = part.key_generation(hash).load(Ordering::Acquire) != snapshot.key;
        if key_wiped || self.generations.wiped(snapshot.wipes, entry.scope()) {
            return Err(DropReason::Wiped);
        }
        let newer = state.store.find(hash, key.bytes, entry.kind()).map(|(_, stored)| stored);
        let newer = newer.filter(|stored| stored.asked() > entry.asked()).cloned();
        let wakers = flight.map(|flight| {
            state.remove_flight(flight);
            // Who waits may have tags that this has not.
            let mut found = newer.iter().chain([entry]);
            flight.settle(found.find(|found| found.scope().covers_tags(&flight.scope)), now)
        });
        let inserted = newer.is_none().then(|| {
            let inserted = state.store.insert(hash, key.bytes, Arc::clone(entry));
            (inserted, entry.scope().stored(entry.size(), &self.holders))
        });
        part.weigh(&mut state);
        drop(state);
        wakers.into_iter().flatten().for_each(std::task::Waker::wake);
        let Some((inserted, holder)) = inserted else { return Err(DropReason::Superseded) };
        if let Some(old) = inserted.replaced {
            old.scope().gone(old.size());
            old.scope().rule().often(place, Often::Replaced, 1);
            self.spare.of(place).give(old);
        }
        entry.scope().rule().often(place, Often::Fills, 1);
        if holder.bytes() > self.holders.limit() {
            self.make_room_of(holder, (place, inserted.slot), (key, entry), now);
        }
        self.make_room(place, Some(inserted.slot), now);
        Ok(())
    }

    /// Ends what a flight's leader has begun. If another may have more luck (`may_pass`) and somebody waits, the flight goes on.
    pub(crate) fn fail(&self, flight: &Arc<Flight>, may_pass: bool) {
        let part = &self.parts[self.place(flight.hash)];
        let mut state = part.state.lock();
        let handed = if may_pass { flight.hand_over() } else { None };
        let wakers = handed.unwrap_or_else(|| {
            state.remove_flight(flight);
            part.weigh(&mut state);
            flight.dissolve()
        });
        drop(state);
        wakers.into_iter().for_each(std::task::Waker::wake);
    }

    /// Counts an entry that was removed because it was too old.
    pub(crate) fn buried(&self, place: usize, entry: Option<&Arc<Entry>>) {
        if let Some(entry) = entry {
            entry.scope().gone(entry.size());
            entry.scope().rule().often(place, Often::Expired, 1);
        }
    }
}

impl Part {
    fn new(budget: &Arc<Budget>) -> Self {
        let overhead = Charge::new(budget, size_of::<Self>());
        let state = State { store: Store::default(), flights: HashTable::new(), overhead };
        Self {
            state: Mutex::new(state),
            keys: [const { AtomicU32::new(0) }; KEY_GENERATIONS],
            bytes: AtomicUsize::new(0),
        }
    }

    pub(crate) fn key_generation(&self, hash: u64) -> &AtomicU32 {
        &self.keys[(hash >> 20) as usize % KEY_GENERATIONS]
    }

    /// Brings the sums up to date. To be called after each change.
    pub(crate) fn weigh(&self, state: &mut State) {
        let overhead = size_of::<Self>() + state.store.overhead() + resident(state.flights.allocation_size());
        if overhead != state.overhead.bytes() {
            state.overhead.resize(overhead);
        }
        self.bytes.store(state.store.entry_bytes() + overhead, Ordering::Relaxed);
    }
}

impl State {
    /// What may be served, and how fresh it is.
    pub(crate) fn serve(&mut self, ask: &Ask<'_>, now: Instant) -> Option<(Arc<Entry>, Freshness)> {
        let (id, entry) = self.store.find(ask.key.hash, ask.key.bytes, Kind::Answer)?;
        let freshness = entry.freshness(&ask.terms, now);
        let usable = matches!(freshness, Freshness::Fresh | Freshness::Soft);
        let usable = usable && ask.after_floor(entry.asked()) && entry.scope().covers_tags(ask.scope);
        let entry = usable.then(|| Arc::clone(entry))?;
        self.store.used(id);
        Some((entry, freshness))
    }

    /// For who finds nothing to be served: what the answer that is stored has counted for, and the answer itself where it is too old for
    /// anybody; then it is stored no more.
    pub(crate) fn take_dead(
        &mut self,
        key: &Key<'_>,
        now: Instant,
    ) -> (Option<Duration>, Option<Arc<Entry>>) {
        let Some((id, entry)) = self.store.find(key.hash, key.bytes, Kind::Answer) else {
            return (None, None);
        };
        let (before, is_dead) = (entry.server_time(), entry.is_dead(now));
        (Some(before), if is_dead { self.store.remove(id) } else { None })
    }

    pub(crate) fn flight(&self, key: &Key<'_>) -> Option<&Arc<Flight>> {
        self.flights.find(key.hash, |f| f.hash == key.hash && *f.key == *key.bytes)
    }

    pub(crate) fn flight_count(&self) -> usize {
        self.flights.len()
    }

    pub(crate) fn add_flight(&mut self, flight: Arc<Flight>) {
        self.flights.insert_unique(flight.hash, flight, |f| f.hash);
    }

    pub(crate) fn remove_flight(&mut self, flight: &Arc<Flight>) {
        if let Ok(found) = self.flights.find_entry(flight.hash, |f| Arc::ptr_eq(f, flight)) {
            found.remove();
        }
        if self.flights.is_empty() && self.flights.capacity() > 64 {
            self.flights = HashTable::new();
        }
    }

    /// Makes flights of what is covered nobody's to join: what they bring will be dropped.
    pub(crate) fn detach_flights(&mut self, covered: impl Fn(&Flight) -> bool) {
        self.flights.retain(|f| !covered(f));
    }
}
