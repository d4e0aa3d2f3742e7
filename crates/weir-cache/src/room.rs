//! What goes where more is held than may be.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::entry::Entry;
use crate::holder::Holder;
use crate::inner::Inner;
use crate::key::Key;
use crate::reason::DropReason;
use crate::rule::Often;
use crate::store::SlotId;

/// Entries that go under one lock at most.
const EVICTED_AT_ONCE: usize = 32;
/// Parts in which an entry of one user is looked for, before a new one of it is not kept.
const SEARCHED: usize = 4;

impl Inner {
    /// Evicts until no more is held than may be: where the new entry is, unless other parts are fuller.
    pub(crate) fn make_room(&self, own: usize, keep: Option<SlotId>, now: Instant) {
        let (mut at, mut fruitless) = (own, 0);
        while fruitless < self.parts().len() {
            let excess = self.budget.excess();
            if excess == 0 {
                return;
            }
            let place = if fruitless == 0 { self.fuller(at) } else { at };
            let keep = keep.filter(|_| place == own);
            let gone = self.evict(place, keep, excess, now);
            if gone == 0 {
                at = (at + 1) % self.parts().len();
                fruitless += 1;
            }
        }
    }

    /// Returns how many have gone.
    fn evict(&self, place: usize, keep: Option<SlotId>, bytes: usize, now: Instant) -> usize {
        let part = &self.parts()[place];
        let (mut gone, mut freed) = (Vec::new(), 0);
        let mut state = part.state.lock();
        while freed < bytes && gone.len() < EVICTED_AT_ONCE {
            let Some(entry) = state.store.evict(keep, now) else { break };
            freed += entry.size();
            gone.push(entry);
        }
        part.weigh(&mut state);
        drop(state);
        let count = gone.len();
        gone.into_iter().for_each(|entry| self.evicted(place, entry, now));
        count
    }

    /// Evicts what is stored for this user until that is no more than it may be. Where nothing of it is found soon, the new entry is
    /// not kept.
    pub(crate) fn make_room_of(
        &self,
        holder: &Arc<Holder>,
        (own, slot): (usize, SlotId),
        (key, entry): (&Key<'_>, &Arc<Entry>),
        now: Instant,
    ) {
        let (mut at, mut fruitless, mut count) = (own, 0, 0);
        // A limit that has become much smaller is reached with the next ones.
        while holder.bytes() > self.holders.limit() && count < EVICTED_AT_ONCE {
            let part = &self.parts()[at];
            let mut state = part.state.lock();
            let keep = Some(slot).filter(|_| at == own);
            let gone = state.store.evict_of(keep, |entry| entry.scope().is_of(holder), now);
            part.weigh(&mut state);
            drop(state);
            match gone {
                Some(gone) => {
                    self.evicted(at, gone, now);
                    count += 1;
                }
                None if fruitless + 1 == SEARCHED.min(self.parts().len()) => {
                    return self.take_back(own, key, entry);
                }
                None => (at, fruitless) = ((at + 1) % self.parts().len(), fruitless + 1),
            }
        }
    }

    /// An entry that was just stored is not kept after all, if it is still there.
    fn take_back(&self, place: usize, key: &Key<'_>, entry: &Arc<Entry>) {
        let part = &self.parts()[place];
        let mut state = part.state.lock();
        // Its slot may be another's by now.
        let stored = state.store.find(key.hash, key.bytes, entry.kind());
        let slot = stored.filter(|(_, stored)| Arc::ptr_eq(stored, entry)).map(|(slot, _)| slot);
        let gone = slot.and_then(|slot| state.store.remove(slot));
        part.weigh(&mut state);
        drop(state);
        if gone.is_some() {
            entry.scope().gone(entry.size());
            entry.scope().rule().dropped(DropReason::UserMemory);
        }
    }

    /// Counts an entry that has made room, and takes what is left of it.
    fn evicted(&self, place: usize, entry: Arc<Entry>, now: Instant) {
        let often = if entry.is_dead(now) { Often::Expired } else { Often::Evicted };
        entry.scope().gone(entry.size());
        entry.scope().rule().often(place, often, 1);
        self.spares_at(place).give(entry);
    }

    /// `own`, unless the next part in turn holds clearly more: so all stay about equally full.
    fn fuller(&self, own: usize) -> usize {
        let other = self.rover.fetch_add(1, Ordering::Relaxed) % self.parts().len();
        let bytes = |place: usize| self.parts()[place].bytes.load(Ordering::Relaxed);
        if bytes(other) > bytes(own) + bytes(own) / 8 { other } else { own }
    }
}
