//! Removing entries: by name, and by age.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::cache::Cache;
use crate::entry::{Entry, Kind};
use crate::inner::{Inner, Part};
use crate::rule::Seldom;
use crate::scope::{Scope, Selector};
use crate::store::SlotId;

/// Slots that are looked at under one lock: some ten microseconds.
const AT_ONCE: usize = 512;
/// Scopes of which it is remembered whether a selector covers them.
const REMEMBERED: usize = 4096;

/// What a wipe has removed, or would.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wiped {
    pub entries: usize,
    /// Bytes of memory, keys and all.
    pub bytes: usize,
}

impl Cache {
    /// Removes what the selector names. When this returns, nothing of it that the server was asked for before the call is
    /// served any more, or stored later. Locks one part at a time, and each for a short time only.
    pub fn wipe(&self, selector: &Selector) -> Wiped {
        if let Some(key) = &selector.key {
            return self.inner.wipe_key(key, selector);
        }
        self.inner.generations.record(selector.clone());
        let mut covered = Covered::new(selector);
        let mut wiped = Wiped::default();
        for part in self.inner.parts() {
            part.state.lock().detach_flights(|flight| selector.covers(&flight.scope));
            part.each(|entry| covered.ask(entry.scope()), |gone| wiped.add(gone));
        }
        wiped
    }

    /// What [`Cache::wipe`] would remove.
    pub fn preview(&self, selector: &Selector) -> Wiped {
        let mut wiped = Wiped::default();
        if let Some(key) = &selector.key {
            let hash = self.inner.hash(key);
            let state = self.inner.parts()[self.inner.place(hash)].state.lock();
            for kind in [Kind::Answer, Kind::Shadow] {
                if let Some((_, entry)) = state.store.find(hash, key, kind)
                    && selector.covers(entry.scope())
                {
                    wiped.count(entry);
                }
            }
            return wiped;
        }
        let mut covered = Covered::new(selector);
        for part in self.inner.parts() {
            part.look(|_, entry| {
                if covered.ask(entry.scope()) {
                    wiped.count(entry);
                }
            });
        }
        wiped
    }

    /// Entries past their TTL: kept for when the server fails, or not swept yet. Looks at all of them, a few under one lock.
    pub fn past_ttl(&self, now: Instant) -> Wiped {
        let mut past = Wiped::default();
        for part in self.inner.parts() {
            part.look(|_, entry| {
                if entry.is_past_ttl(now) {
                    past.count(entry);
                }
            });
        }
        past
    }

    /// Removes entries that nobody may use any more from the next part in turn, and what is above the limit. To be called now
    /// and then: as often as there are parts, all have had their turn. Returns how many have gone.
    pub fn sweep(&self, now: Instant) -> usize {
        let inner = &self.inner;
        let place = inner.sweep.fetch_add(1, Ordering::Relaxed) % inner.parts().len();
        let mut gone = 0;
        inner.parts()[place].each(
            |entry| entry.is_dead(now),
            |entry| {
                inner.buried(place, Some(entry));
                gone += 1;
            },
        );
        inner.make_room(place, None, now);
        gone
    }
}

impl Wiped {
    fn count(&mut self, entry: &Entry) {
        self.entries += 1;
        self.bytes += entry.size();
    }

    fn add(&mut self, gone: &Arc<Entry>) {
        self.count(gone);
        gone.scope().gone(gone.size());
        gone.scope().rule().seldom(Seldom::Wiped, 1);
    }
}

impl Inner {
    /// A key is found at once. Its generation stands for the log of wipes, which many `/*wipe*/` would push others out of.
    fn wipe_key(&self, key: &[u8], selector: &Selector) -> Wiped {
        let hash = self.hash(key);
        let part = &self.parts()[self.place(hash)];
        let mut wiped = Wiped::default();
        let mut gone = Vec::new();
        let mut state = part.state.lock();
        part.key_generation(hash).fetch_add(1, Ordering::Release);
        state.detach_flights(|flight| flight.hash == hash && *flight.key == *key);
        for kind in [Kind::Answer, Kind::Shadow] {
            let found = state.store.find(hash, key, kind).filter(|(_, e)| selector.covers(e.scope()));
            if let Some((id, _)) = found {
                gone.extend(state.store.remove(id));
            }
        }
        part.weigh(&mut state);
        drop(state);
        gone.iter().for_each(|entry| wiped.add(entry));
        wiped
    }
}

impl Part {
    /// Removes the entries that are `wanted`. Others may use the part between one piece and the next; an entry that is
    /// stored meanwhile was looked at by whoever stored it.
    fn each(&self, mut wanted: impl FnMut(&Entry) -> bool, mut removed: impl FnMut(&Arc<Entry>)) {
        let (mut from, mut ids, mut gone) = (0, Vec::new(), Vec::new());
        loop {
            let mut state = self.state.lock();
            if from >= state.store.slots() {
                return;
            }
            ids.extend(state.store.scan(from, AT_ONCE).filter(|(_, e)| wanted(e)).map(|(id, _)| id));
            for id in ids.drain(..) {
                gone.extend(state.store.remove(id));
            }
            self.weigh(&mut state);
            drop(state);
            gone.drain(..).for_each(|entry| removed(&entry));
            from += AT_ONCE;
        }
    }

    fn look(&self, mut with: impl FnMut(SlotId, &Entry)) {
        let mut from = 0;
        loop {
            let state = self.state.lock();
            if from >= state.store.slots() {
                return;
            }
            state.store.scan(from, AT_ONCE).for_each(|(id, entry)| with(id, entry));
            drop(state);
            from += AT_ONCE;
        }
    }
}

/// Which scopes a selector covers. Many entries share a scope, so most of them are answered by its address.
struct Covered<'s> {
    selector: &'s Selector,
    /// The scope is held, so that its address stays its own.
    known: HashMap<usize, (Arc<Scope>, bool), foldhash::fast::FixedState>,
}

impl<'s> Covered<'s> {
    fn new(selector: &'s Selector) -> Self {
        Self { selector, known: HashMap::default() }
    }

    fn ask(&mut self, scope: &Arc<Scope>) -> bool {
        let address = Arc::as_ptr(scope) as usize;
        if let Some((_, covered)) = self.known.get(&address) {
            return *covered;
        }
        let covered = self.selector.covers(scope);
        if self.known.len() < REMEMBERED {
            self.known.insert(address, (Arc::clone(scope), covered));
        }
        covered
    }
}

#[cfg(test)]
mod tests;
