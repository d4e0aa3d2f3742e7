//! Whether what is asked for the first time is kept ([ADR 0024](../../../docs/adr/0024-what-is-asked-once.md)).
//!
//! ```text
//!                 fewer than 1 in 50 of 1,024 lookups found an answer
//!   first asking  ---------------------------------------------------->  second asking
//!   is kept       <----------------------------------------------------  is kept; 1 key in 64 at its first,
//!                 1 in 25 of the last lookups of those 64th found one    so that a change shows
//! ```

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use crate::cache::Cache;
use crate::charge::{Budget, Charge, resident};
use crate::key::Key;

/// Which answers are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Admission {
    /// What is asked for the first time; of statements that are seldom asked again, what is asked for the second time.
    #[default]
    Adaptive,
    /// What is asked for the first time.
    Always,
    /// What is asked for the second time.
    Second,
}

/// What one asking is to the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chance {
    /// It is looked for, and kept if it is not there.
    Usual,
    /// The same, and it is one of those whose first asking is not kept.
    Again,
    /// It is neither looked for nor kept: it has not been asked for lately.
    First,
}

/// Lookups after which is judged whether such statements are asked again, and how many must have found an answer.
const LOOKUPS: (u32, u32) = (1024, 20);
/// The same for the sample of keys that is kept at the first asking when others are not.
const SAMPLED: (u32, u32) = (256, 10);
/// One key of so many is in the sample.
const SAMPLE: u64 = 64;

/// The marks take this part of the cache's memory: 2 MiB of the usual 256 MiB, for half a million askings. An entry takes half a
/// kilobyte at least, so these are as many as there could be entries.
const PART: usize = 128;
/// Bytes of the smallest table of marks and of the largest.
const BYTES: (usize, usize) = (4 << 10, 32 << 20);

/// What has come of looking for a statement's answers. One thread counts; if others do, some counts may be lost.
#[derive(Debug, Default)]
pub struct Experience {
    lookups: AtomicU32,
    answered: AtomicU32,
    seldom: AtomicBool,
}

impl Experience {
    /// Counts a lookup, and whether it found an answer or somebody who was asking for it.
    pub fn count(&self, chance: Chance, answered: bool) {
        if chance != Chance::Usual {
            // What was asked before says nothing about what is asked for the first time.
            return;
        }
        let seldom = self.is_seldom();
        let lookups = self.lookups.load(Ordering::Relaxed) + 1;
        let found = self.answered.load(Ordering::Relaxed) + u32::from(answered);
        let (all, enough) = if seldom { SAMPLED } else { LOOKUPS };
        // What turns out to be asked again is kept at once.
        let is_often = found >= enough;
        if lookups < all && !(seldom && is_often) {
            self.lookups.store(lookups, Ordering::Relaxed);
            self.answered.store(found, Ordering::Relaxed);
            return;
        }
        self.seldom.store(!is_often, Ordering::Relaxed);
        self.lookups.store(0, Ordering::Relaxed);
        self.answered.store(0, Ordering::Relaxed);
    }

    /// Whether they are seldom asked for again.
    pub fn is_seldom(&self) -> bool {
        self.seldom.load(Ordering::Relaxed)
    }
}

/// Who was seen at the door: a mark for each asking of late, in the place of an older one. Two askings may be taken for one another, once in
/// two billion; then one is kept at its first asking.
#[derive(Debug)]
pub(crate) struct Door {
    admission: AtomicU8,
    marks: OnceLock<Marks>,
    bytes: usize,
}

#[derive(Debug)]
struct Marks {
    places: Box<[AtomicU32]>,
    _charge: Charge,
}

impl Door {
    /// `memory` is that of the cache.
    pub(crate) fn new(memory: usize) -> Self {
        let bytes = (memory / PART).clamp(BYTES.0, BYTES.1).next_power_of_two();
        Self { admission: AtomicU8::new(Admission::default() as u8), marks: OnceLock::new(), bytes }
    }

    fn admission(&self) -> Admission {
        match self.admission.load(Ordering::Relaxed) {
            0 => Admission::Adaptive,
            1 => Admission::Always,
            _ => Admission::Second,
        }
    }

    /// Whether this was asked for not long ago; from here on it was.
    fn has_seen(&self, hash: u64, budget: &Arc<Budget>) -> bool {
        let Marks { places, .. } = self.marks.get_or_init(|| Marks {
            places: (0..self.bytes / size_of::<AtomicU32>()).map(|_| AtomicU32::new(0)).collect(),
            _charge: Charge::new(budget, resident(self.bytes)),
        });
        // Their number is a power of two. The upper half of the hash is never 0 here: that is an empty place.
        let (place, mark) = (hash as usize & (places.len() - 1), (hash >> 32) as u32 | 1);
        let Some(place) = places.get(place) else { return false };
        let seen = place.load(Ordering::Relaxed) == mark;
        if !seen {
            place.store(mark, Ordering::Relaxed);
        }
        seen
    }
}

impl Cache {
    /// Says which answers are kept.
    pub fn set_admission(&self, admission: Admission) {
        self.inner.door.admission.store(admission as u8, Ordering::Relaxed);
    }

    /// Whether of statements with this experience not all are kept at their first asking.
    pub fn is_choosy(&self, experience: &Experience) -> bool {
        match self.inner.door.admission() {
            Admission::Adaptive => experience.is_seldom(),
            Admission::Always => false,
            Admission::Second => true,
        }
    }

    /// What this asking is, by the bytes of its key.
    pub fn chance(&self, key: &Key<'_>, experience: &Experience) -> Chance {
        if !self.is_choosy(experience) {
            return Chance::Usual;
        }
        let hash = key.hash;
        if hash >> 32 & (SAMPLE - 1) == 0 && self.inner.door.admission() == Admission::Adaptive {
            return Chance::Usual;
        }
        if self.inner.door.has_seen(hash, &self.inner.budget) { Chance::Again } else { Chance::First }
    }
}

#[cfg(test)]
mod tests;
