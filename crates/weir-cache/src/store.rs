//! One part of the cache: entries by key, and which of them goes next. A machine without locks.
//!
//! Eviction is S3-FIFO (Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023), by bytes:
//!
//! ```text
//!   new key -----> small (a tenth of the bytes) --- not used again ---> gone, hash remembered (ghosts)
//!                    |  used again                                            |
//!                    v                                                        |
//!                  main <-------- new key whose hash is remembered <----------+
//!                   ^ |
//!        used again +-+ not used again ---> gone
//! ```
//!
//! What is much larger than the mean must have been used more often to stay, because more others fit in its place.

mod fifo;
mod ghosts;
mod slab;

use std::sync::Arc;
use std::time::Instant;

use hashbrown::HashTable;

use crate::charge::resident;
use crate::entry::{Entry, Kind};
use fifo::Fifo;
use ghosts::Ghosts;
use slab::Slab;
pub use slab::SlotId;

/// Uses that are counted at most.
const USED_MAX: u8 = 3;
/// The part of the bytes that new entries may take before the first of them must go or move on.
const SMALL_PART: usize = 10;
/// Entries that are given another chance in one eviction. Each such step was paid by a use; the bound keeps the lock short.
const CHANCES: u32 = 64;

/// Entries of each queue that are looked at for one that is of a kind.
const LOOKED_AT: usize = 64;

/// Slots that are looked at where none of those is, and how many that are of the kind are enough to choose from.
const SCANNED: usize = 1024;
const ENOUGH: usize = 32;

/// In which queue a slot is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Queue {
    #[default]
    Small,
    Main,
}

/// A place for an entry.
#[derive(Debug, Default)]
struct Slot {
    hash: u64,
    entry: Option<Arc<Entry>>,
    newer: SlotId,
    older: SlotId,
    used: u8,
    queue: Queue,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Store {
    index: HashTable<SlotId>,
    slab: Slab,
    small: Fifo,
    main: Fifo,
    ghosts: Ghosts,
    /// Where the next look for an entry of a kind begins.
    hand: usize,
}

/// What [`Store::insert`] did.
#[derive(Debug)]
pub struct Inserted {
    pub slot: SlotId,
    /// What had the same key.
    pub replaced: Option<Arc<Entry>>,
}

impl Store {
    pub fn find(&self, hash: u64, key: &[u8], kind: Kind) -> Option<(SlotId, &Arc<Entry>)> {
        let id = *self.index.find(hash, |id| self.slab.is(*id, hash, key, kind))?;
        self.get(id).map(|entry| (id, entry))
    }

    pub fn get(&self, id: SlotId) -> Option<&Arc<Entry>> {
        self.slab.get(id).entry.as_ref()
    }

    /// Remembers that the entry was of use.
    pub fn used(&mut self, id: SlotId) {
        let slot = self.slab.get_mut(id);
        if slot.used < USED_MAX {
            slot.used += 1;
        }
    }

    /// `key` is that of the entry.
    pub fn insert(&mut self, hash: u64, key: &[u8], entry: Arc<Entry>) -> Inserted {
        if let Some((id, _)) = self.find(hash, key, entry.kind()) {
            let size = entry.size();
            let slot = self.slab.get_mut(id);
            let queue = slot.queue;
            let replaced = slot.entry.replace(entry);
            let fifo = self.fifo(queue);
            fifo.bytes += size;
            fifo.bytes -= replaced.as_ref().map_or(0, |e| e.size());
            return Inserted { slot: id, replaced };
        }
        let queue = if self.ghosts.take(hash) { Queue::Main } else { Queue::Small };
        let slot = self.slab.take();
        *self.slab.get_mut(slot) = Slot { hash, entry: Some(entry), queue, ..Slot::default() };
        let slab = &self.slab;
        self.index.insert_unique(hash, slot, |id| slab.get(*id).hash);
        self.push(slot, queue);
        Inserted { slot, replaced: None }
    }

    pub fn remove(&mut self, id: SlotId) -> Option<Arc<Entry>> {
        let hash = self.slab.get(id).hash;
        self.slab.get(id).entry.as_ref()?;
        self.unlink(id);
        if let Ok(found) = self.index.find_entry(hash, |other| *other == id) {
            found.remove();
        }
        let entry = self.slab.get_mut(id).entry.take();
        if self.index.is_empty() {
            // What many small entries have needed must not be lost to few large ones.
            *self = Self::default();
        } else {
            self.slab.give_back(id);
        }
        entry
    }

    /// Removes the entry that is worth least, but not the one in `keep`.
    pub fn evict(&mut self, keep: Option<SlotId>, now: Instant) -> Option<Arc<Entry>> {
        let mut chances = CHANCES;
        loop {
            let (id, queue) = self.candidate(keep)?;
            let cost = self.cost(id);
            let slot = self.slab.get_mut(id);
            let dead = slot.entry.as_ref().is_none_or(|e| e.is_dead(now));
            if dead || slot.used < cost || chances == 0 {
                if !dead && queue == Queue::Small {
                    let (hash, entries) = (slot.hash, self.index.len());
                    self.ghosts.add(hash, entries);
                }
                return self.remove(id);
            }
            chances -= 1;
            match queue {
                Queue::Small => slot.used = 0,
                Queue::Main => slot.used -= cost,
            }
            self.unlink(id);
            self.push(id, Queue::Main);
        }
    }

    /// Removes the entry that is worth least of those that `is` tells, but not the one in `keep`. The oldest of each queue are looked at,
    /// and where none of them is one, some others, which go on where the last look has ended.
    pub fn evict_of(
        &mut self,
        keep: Option<SlotId>,
        is: impl Fn(&Entry) -> bool,
        now: Instant,
    ) -> Option<Arc<Entry>> {
        let wanted = |store: &Self, id: &SlotId| Some(*id) != keep && store.get(*id).is_some_and(|e| is(e));
        let oldest = |fifo: &Fifo| {
            let newer = |id: &SlotId| self.slab.get(*id).newer.some();
            std::iter::successors(fifo.oldest, newer).take(LOOKED_AT).collect::<Vec<_>>()
        };
        let mut found = [oldest(&self.small), oldest(&self.main)].concat();
        found.retain(|id| wanted(self, id));
        if found.is_empty() {
            found = self.further(wanted);
        }
        // The oldest of those that were used least; and where all were used, all of them count for less from here on.
        let worth = |id: &SlotId| {
            let entry = self.get(*id)?;
            let used = if entry.is_dead(now) { 0 } else { self.slab.get(*id).used };
            Some((used, entry.asked(), *id))
        };
        let (uses, _, least) =
            found.iter().filter_map(worth).min_by_key(|(used, asked, _)| (*used, *asked))?;
        if uses > 0 {
            found.iter().for_each(|id| {
                let slot = self.slab.get_mut(*id);
                slot.used = slot.used.saturating_sub(uses);
            });
        }
        self.remove(least)
    }

    /// Some of those that are wanted, wherever they stand: the next look begins where this one ends.
    fn further(&mut self, wanted: impl Fn(&Self, &SlotId) -> bool) -> Vec<SlotId> {
        let (mut found, slots) = (Vec::new(), self.slots());
        for _ in 0..SCANNED.min(slots) {
            self.hand = if self.hand + 1 < slots { self.hand + 1 } else { 0 };
            let id = SlotId::from_index(self.hand);
            if wanted(self, &id) {
                found.push(id);
                if found.len() == ENOUGH {
                    break;
                }
            }
        }
        found
    }

    /// Slots that [`Store::scan`] knows: beyond the last there is nothing.
    pub fn slots(&self) -> usize {
        self.slab.len()
    }

    /// The entries in `count` slots from the one at `from` on.
    pub fn scan(&self, from: usize, count: usize) -> impl Iterator<Item = (SlotId, &Arc<Entry>)> {
        let until = self.slots().min(from.saturating_add(count));
        (from..until).filter_map(|at| {
            let id = SlotId::from_index(at);
            self.get(id).map(|entry| (id, entry))
        })
    }

    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Bytes of its entries.
    pub fn entry_bytes(&self) -> usize {
        self.small.bytes + self.main.bytes
    }

    /// Bytes of everything else.
    pub fn overhead(&self) -> usize {
        resident(self.index.allocation_size()) + self.slab.size() + self.ghosts.size()
    }

    /// The oldest of the queue whose turn it is.
    fn candidate(&self, keep: Option<SlotId>) -> Option<(SlotId, Queue)> {
        let oldest = |fifo: &Fifo| {
            let oldest = fifo.oldest?;
            if Some(oldest) == keep { self.slab.get(oldest).newer.some() } else { Some(oldest) }
        };
        let small = oldest(&self.small).map(|id| (id, Queue::Small));
        let main = oldest(&self.main).map(|id| (id, Queue::Main));
        if self.small.bytes * SMALL_PART > self.entry_bytes() { small.or(main) } else { main.or(small) }
    }

    /// How often an entry must have been used to be worth its bytes.
    fn cost(&self, id: SlotId) -> u8 {
        let size = self.get(id).map_or(0, |e| e.size());
        let mean = self.entry_bytes() / self.len().max(1);
        match size {
            _ if size <= 4 * mean => 1,
            _ if size <= 16 * mean => 2,
            _ => USED_MAX,
        }
    }

    fn fifo(&mut self, queue: Queue) -> &mut Fifo {
        match queue {
            Queue::Small => &mut self.small,
            Queue::Main => &mut self.main,
        }
    }

    fn push(&mut self, id: SlotId, queue: Queue) {
        let size = self.get(id).map_or(0, |e| e.size());
        self.slab.get_mut(id).queue = queue;
        let fifo = match queue {
            Queue::Small => &mut self.small,
            Queue::Main => &mut self.main,
        };
        fifo.push(&mut self.slab, id, size);
    }

    fn unlink(&mut self, id: SlotId) {
        let size = self.get(id).map_or(0, |e| e.size());
        let fifo = match self.slab.get(id).queue {
            Queue::Small => &mut self.small,
            Queue::Main => &mut self.main,
        };
        fifo.unlink(&mut self.slab, id, size);
    }
}

#[cfg(test)]
mod tests;
