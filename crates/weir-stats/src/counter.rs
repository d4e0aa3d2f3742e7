use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// A count that only grows, with one writing thread. It wraps after 2^64.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn inc(&self) {
        self.add(1);
    }

    /// Adds `n`. A load and a store instead of `fetch_add`: with one writer both give the same result, and
    /// this one needs no bus lock.
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// For what is no sum: the last of something.
    pub(crate) fn set(&self, n: u64) {
        self.0.store(n, Relaxed);
    }
}

/// A number of things that exist now, with one writing thread.
#[derive(Debug, Default)]
pub struct Gauge(AtomicI64);

impl Gauge {
    pub fn inc(&self) {
        self.0.store(self.0.load(Relaxed).wrapping_add(1), Relaxed);
    }

    pub fn dec(&self) {
        self.0.store(self.0.load(Relaxed).wrapping_sub(1), Relaxed);
    }

    /// The current number. Below zero only if more ended than began, which is a bug of the caller.
    pub fn get(&self) -> i64 {
        self.0.load(Relaxed)
    }
}
