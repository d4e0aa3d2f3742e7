//! Names of which there was ever an entry, so that a wipe of a name that was mistyped can be told from one that came too
//! late.

use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use foldhash::quality::FixedState;

use crate::cache::Cache;
use crate::charge::{Budget, Charge, resident};
use crate::scope::{Name, Scope, Selector};

/// The filter has one byte for so many of the cache's memory: 64 KiB for the usual 256 MiB. Once 20,000 names are in
/// that, 1 of 150 others is taken for one of them; a name that is in it is never missed.
const PART: usize = 4096;

/// Bytes of the smallest filter and of the largest.
const BYTES: (usize, usize) = (256, 1 << 16);

/// Names that were stored, in a Bloom filter with two bits for each.
#[derive(Debug)]
pub(crate) struct Seen {
    words: Box<[AtomicU64]>,
    /// An answer of unknown tables: it may have been of any table and schema.
    any_table: AtomicBool,
    _charge: Charge,
}

impl Seen {
    /// `memory` is that of the cache.
    pub(crate) fn new(budget: &Arc<Budget>, memory: usize) -> Self {
        let bytes = (memory / PART).clamp(BYTES.0, BYTES.1).next_power_of_two();
        Self {
            words: (0..bytes / 8).map(|_| AtomicU64::new(0)).collect(),
            any_table: AtomicBool::new(false),
            _charge: Charge::new(budget, resident(bytes)),
        }
    }

    /// Something of this scope is stored.
    pub(crate) fn note(&self, scope: &Scope, hasher: &FixedState) {
        if scope.is_noted() {
            return;
        }
        if !scope.knows_tables() {
            self.any_table.store(true, Ordering::Relaxed);
        }
        scope.names(|name| {
            for (word, bit) in self.places(name, hasher) {
                if let Some(word) = self.words.get(word) {
                    word.fetch_or(bit, Ordering::Relaxed);
                }
            }
        });
    }

    /// Words and their bits.
    fn places(&self, name: Name<'_>, hasher: &FixedState) -> [(usize, u64); 2] {
        let hash = hasher.hash_one(name);
        // The number of words is a power of two.
        let word = |hash: u64| hash as usize & (self.words.len() - 1);
        [hash, hash >> 32].map(|hash| (word(hash >> 6), 1 << (hash % 64)))
    }

    fn has(&self, name: Name<'_>, hasher: &FixedState) -> bool {
        let of_table = matches!(name, Name::Table(..) | Name::Schema(_));
        let set = |(word, bit): (usize, u64)| {
            self.words.get(word).is_some_and(|word| word.load(Ordering::Relaxed) & bit != 0)
        };
        (of_table && self.any_table.load(Ordering::Relaxed)) || self.places(name, hasher).into_iter().all(set)
    }
}

impl Cache {
    /// The part of a selector of which there was never an entry: `digest`, `schema`, `table`, `tag` or `user`. Rules are not
    /// looked at ([`Cache::knows_rule`] does), nor are keys. `None` does not mean that there was one: some names are
    /// taken for others.
    pub fn never_had(&self, selector: &Selector) -> Option<&'static str> {
        let hasher = self.inner.hasher();
        selector.names().find(|name| !self.inner.seen.has(*name, hasher)).map(|name| match name {
            Name::Digest(_) => "digest",
            Name::Schema(_) => "schema",
            Name::Table(..) => "table",
            Name::Tag(_) => "tag",
            Name::User(_) => "user",
        })
    }
}

#[cfg(test)]
mod tests;
