//! What was wiped lately, so that an answer that was asked for before cannot be stored after.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::charge::{Budget, Charge, resident};
use crate::scope::{Scope, Selector};

/// Wipes that are remembered. Whoever asked the server before the oldest of them does not store its answer, whatever
/// it is about.
pub const REMEMBERED: usize = 1024;

/// The number of the last wipe, and the last wipes.
///
/// A wipe is recorded here first, and then removes entries part by part. Whoever stores looks here while it has the part's lock: so it
/// either sees the wipe, or the wipe finds the entry.
#[derive(Debug)]
pub struct Generations {
    last: AtomicU64,
    log: Mutex<VecDeque<(Selector, Charge)>>,
    budget: Arc<Budget>,
}

impl Generations {
    pub fn new(budget: &Arc<Budget>) -> Self {
        Self { last: AtomicU64::new(0), log: Mutex::default(), budget: Arc::clone(budget) }
    }

    /// What to remember before the server is asked.
    pub fn now(&self) -> u64 {
        self.last.load(Ordering::Acquire)
    }

    /// Records a wipe.
    pub fn record(&self, selector: Selector) {
        let charge = Charge::new(&self.budget, resident(selector.size() + size_of::<Charge>()));
        let mut log = self.log.lock();
        if log.len() == REMEMBERED {
            log.pop_front();
        }
        log.push_back((selector, charge));
        self.last.fetch_add(1, Ordering::Release);
    }

    /// Whether something that covers `scope` was wiped since [`Generations::now`] gave `since`.
    pub fn wiped(&self, since: u64, scope: &Scope) -> bool {
        if self.now() == since {
            return false;
        }
        let log = self.log.lock();
        let newer = usize::try_from(self.now().wrapping_sub(since)).unwrap_or(usize::MAX);
        newer > log.len() || log.iter().rev().take(newer).any(|(selector, _)| selector.covers(scope))
    }
}

#[cfg(test)]
mod tests;
