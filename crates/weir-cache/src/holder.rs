//! How much of the cache the answers to one user's statements take, and how much they may.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

/// Users that are remembered without an entry of theirs, before those are forgotten.
const SPARE: usize = 64;

/// A user for whom answers are stored.
#[derive(Debug, Default)]
pub(crate) struct Holder(AtomicUsize);

impl Holder {
    /// Bytes of the entries that are stored for it.
    pub fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn sub(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// All of these.
#[derive(Debug)]
pub(crate) struct Holders {
    /// Bytes that each may take.
    limit: AtomicUsize,
    known: Mutex<HashMap<Box<str>, Arc<Holder>, foldhash::quality::RandomState>>,
}

impl Holders {
    pub fn new(limit: Option<usize>) -> Self {
        let holders = Self { limit: AtomicUsize::new(0), known: Mutex::default() };
        holders.set_limit(limit);
        holders
    }

    pub fn set_limit(&self, limit: Option<usize>) {
        self.limit.store(limit.unwrap_or(usize::MAX), Ordering::Relaxed);
    }

    pub fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// The user of this name. It is the same one for as long as anybody holds it.
    pub fn of(&self, user: &str) -> Arc<Holder> {
        let mut known = self.known.lock();
        if let Some(holder) = known.get(user) {
            return Arc::clone(holder);
        }
        if known.len() >= SPARE && known.len() == known.capacity() {
            known.retain(|_, holder| Arc::strong_count(holder) > 1);
        }
        Arc::clone(known.entry(user.into()).or_default())
    }

    /// Those for whom something is stored, and how much, the most first.
    pub fn all(&self) -> Vec<(Box<str>, usize)> {
        let known = self.known.lock();
        let mut all: Vec<_> = known
            .iter()
            .map(|(user, holder)| (user.clone(), holder.bytes()))
            .filter(|(_, n)| *n > 0)
            .collect();
        drop(known);
        all.sort_by(|(a, m), (b, n)| n.cmp(m).then_with(|| a.cmp(b)));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_one_while_anybody_holds_it_and_forgotten_then() {
        let holders = Holders::new(None);
        let kept = holders.of("kept");
        for n in 0..10_000 {
            holders.of(&n.to_string());
        }
        assert!(Arc::ptr_eq(&kept, &holders.of("kept")));
        assert!(holders.known.lock().len() < 1_000, "those that nobody holds go");
    }
}
