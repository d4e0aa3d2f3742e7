//! What Weir counts: per-worker counters and latency histograms, their Prometheus text, what is counted of each
//! statement's digest, what caching its answers would do, and all of it over time.
//!
//! Each worker thread writes its own [`WorkerStats`] and nobody else does, so counting is a plain load and
//! store of a line that no other core owns. Any thread may read: a reader sees values that were true at
//! some moment shortly before, each counter by itself.
//!
//! This crate must not read a clock, do I/O or start threads: durations come in as arguments, and the text
//! of `/metrics` goes out as a `String`.

pub mod advice;
mod commands;
mod counter;
pub mod digests;
mod error_table;
mod histogram;
mod readiness;
mod render;
pub mod series;
mod totals;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub use counter::{Counter, Gauge};
pub use histogram::{Histogram, HistogramSnapshot, Timing};
pub use readiness::Readiness;
pub use render::{Extra, Kind, render};
pub use totals::{ErrorOrigin, Totals};
pub use worker::WorkerStats;

/// Everything that one process of Weir counts.
#[derive(Debug)]
pub struct Stats {
    workers: Box<[WorkerStats]>,
    reloads_ok: AtomicU64,
    reloads_refused: AtomicU64,
}

impl Stats {
    /// Makes zeroed statistics for this many worker threads; zero is taken as one.
    pub fn new(workers: usize) -> Arc<Self> {
        let workers = (0..workers.max(1)).map(|_| WorkerStats::default()).collect();
        Arc::new(Self { workers, reloads_ok: AtomicU64::new(0), reloads_refused: AtomicU64::new(0) })
    }

    /// The part that belongs to worker `index`, counted from 0. Only that worker's thread may count in it: a
    /// second writer would lose counts. An index past the end is taken modulo the number of workers.
    pub fn worker(&self, index: usize) -> &WorkerStats {
        &self.workers[index % self.workers.len()]
    }

    /// All workers, in order; for reading.
    pub fn workers(&self) -> &[WorkerStats] {
        &self.workers
    }

    /// A new configuration took effect. Any thread may call this.
    pub fn reload_ok(&self) {
        self.reloads_ok.fetch_add(1, Relaxed);
    }

    /// A new configuration was refused and the old one kept. Any thread may call this.
    pub fn reload_refused(&self) {
        self.reloads_refused.fetch_add(1, Relaxed);
    }

    /// Adds up all workers.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        totals.reloads_ok = self.reloads_ok.load(Relaxed);
        totals.reloads_refused = self.reloads_refused.load(Relaxed);
        for worker in &self.workers {
            totals.add(worker);
        }
        totals
    }
}
