//! Answers that come in pieces, and must be whole before they can be kept.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use crate::cache::Cache;
use crate::charge::{Charge, resident};

/// The part of the cache's memory that all of them may take at once. What goes to clients who take it slowly is held for long.
const PART: usize = 4;

/// An answer, as far as it has come. Its bytes stand in the sum of all that the cache holds.
#[derive(Debug, Default)]
pub struct Gathered {
    bytes: Vec<u8>,
    charge: Option<(Cache, Charge)>,
}

impl Gathered {
    /// The bytes that have come.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Takes the next bytes, for which entries may go. False where there is no room for them: then all of them are forgotten.
    pub fn take(&mut self, cache: &Cache, bytes: &[u8], now: Instant) -> bool {
        if self.bytes.capacity() - self.bytes.len() < bytes.len() {
            let capacity = (2 * self.bytes.capacity()).max(self.bytes.len() + bytes.len());
            if !self.grow(cache, capacity, now) {
                *self = Self::default();
                return false;
            }
        }
        self.bytes.extend_from_slice(bytes);
        true
    }

    fn grow(&mut self, cache: &Cache, capacity: usize, now: Instant) -> bool {
        let (_, charge) =
            self.charge.get_or_insert_with(|| (cache.clone(), Charge::new(&cache.inner.budget, 0)));
        let before = charge.bytes();
        // Whole pages may be less than what smaller blocks are counted as.
        let after = resident(capacity).max(before);
        let all = &cache.inner.gathered;
        let held = all.fetch_add(after - before, Relaxed) + (after - before);
        charge.resize(after);
        if held > cache.inner.budget.limit() / PART {
            return false;
        }
        cache.inner.make_room(0, None, now);
        self.bytes.reserve_exact(capacity - self.bytes.len());
        true
    }
}

impl Drop for Gathered {
    fn drop(&mut self) {
        if let Some((cache, charge)) = &self.charge {
            cache.inner.gathered.fetch_sub(charge.bytes(), Relaxed);
        }
    }
}
