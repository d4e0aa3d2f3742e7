//! What everything costs in memory, and the one sum of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::spare;

/// The sum of what the cache holds, and what it may hold, in bytes.
#[derive(Debug)]
pub struct Budget {
    used: AtomicUsize,
    limit: AtomicUsize,
}

impl Budget {
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { used: AtomicUsize::new(0), limit: AtomicUsize::new(limit) })
    }

    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    pub fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    pub fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// Bytes above the limit, of which a part is for what is spare.
    pub fn excess(&self) -> usize {
        let limit = self.limit();
        self.used().saturating_sub(limit - limit / spare::PART)
    }

    pub fn add(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn sub(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Bytes that stand in the sum for as long as this lives.
#[derive(Debug)]
pub struct Charge {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Charge {
    pub fn new(budget: &Arc<Budget>, bytes: usize) -> Self {
        budget.add(bytes);
        Self { budget: Arc::clone(budget), bytes }
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Makes it `bytes` from here on.
    pub fn resize(&mut self, bytes: usize) {
        self.budget.add(bytes);
        self.budget.sub(std::mem::replace(&mut self.bytes, bytes));
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.sub(self.bytes);
    }
}

const WORD: usize = 8;
const PAGE: usize = 4096;
/// Above this a block has pages of its own.
const PAGES_FROM: usize = 128 * 1024;
/// The part by which blocks of other sizes than those of entries (`blocks.rs`) take more than their size: the heads and ends of the
/// pages they are cut from, and pages that are only partly in use. Measured with mimalloc 3: a ninth with blocks of few sizes, a sixth with
/// many, and some more at times.
const PAGES_PART: usize = 5;

/// What a block of `bytes` takes from the allocator. mimalloc, which the binary uses, has four sizes of blocks for each
/// doubling, multiples of 16 bytes up to 64, and whole pages for what is large (`mi_bin` in mimalloc's
/// `src/page-queue.c`). For other allocators this is close enough.
pub fn resident(bytes: usize) -> usize {
    if bytes > PAGES_FROM {
        return bytes.next_multiple_of(PAGE);
    }
    let block = block(bytes);
    block + block / PAGES_PART
}

fn block(bytes: usize) -> usize {
    let words = bytes.div_ceil(WORD);
    if words <= 8 {
        return words.next_multiple_of(2) * WORD;
    }
    let last = words - 1;
    let shift = last.ilog2() - 2;
    (((last >> shift) + 1) << shift) * WORD
}

/// Bytes of an `Arc` of a `T`: its two counters stand before it.
pub const fn arc_size<T>() -> usize {
    size_of::<T>() + 2 * size_of::<usize>()
}

#[cfg(test)]
mod tests;
