//! Which executions are watched: decided by each worker for itself, without a lock.

use super::hot::HotKeys;
use super::line::Sure;
use super::{Desk, Seen};
use crate::digests::{DigestText, Origin, Slot};
use std::sync::Arc;

/// Keys of which it is remembered that nothing can happen to them for a moment. One that falls on another's place takes it.
const RECENT: usize = 1024;
/// A key is watched so often before it is left alone for [`super::Limits::gap_us`] after each time.
const OFTEN: u32 = 8;
/// Calls that are told to the desk together.
const TOLD_AT: u64 = 256;

/// What one worker knows of a line.
#[derive(Debug, Clone)]
pub struct Gate {
    /// The row of the worker's table that it belongs to, by its serial number.
    row: u64,
    /// The line's place and serial number at the desk.
    pub(super) line: Option<(u32, u64)>,
    /// The greatest key of the sample.
    most: u64,
    pub(super) hot: Option<Arc<HotKeys>>,
    /// What was counted since the desk was told.
    pub(super) calls: u64,
    pub(super) server_ns: u64,
    subject: Option<(Arc<DigestText>, Arc<Origin>)>,
}

/// No row has it.
const NO_ROW: u64 = u64::MAX;

impl Default for Gate {
    fn default() -> Self {
        Self { row: NO_ROW, line: None, most: u64::MAX, hot: None, calls: 0, server_ns: 0, subject: None }
    }
}

impl Gate {
    /// Whether it is told for the first time that so many of a key's first bits are 0 in the sample.
    pub(super) fn follow(&mut self, shift: u32) -> bool {
        let most = u64::MAX.checked_shr(shift).unwrap_or(0);
        std::mem::replace(&mut self.most, most) != most
    }

    /// Whether an execution with this key is to be watched.
    #[inline(always)]
    pub fn watches(&self, key: u64) -> bool {
        key <= self.most || self.hot.as_ref().is_some_and(|hot| hot.contains(key))
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Recent {
    key: u64,
    sure: Sure,
    skipped: u64,
    times: u32,
    /// When it was watched, and when it was skipped.
    watched_us: u64,
    skipped_us: u64,
}

impl Recent {
    /// It is watched again.
    fn skipped(&mut self, now_us: u64) -> Skipped {
        let since = |then: u64| then.saturating_sub(self.watched_us) as f64;
        let skipped =
            Skipped { times: self.skipped, within: since(self.skipped_us) / since(now_us).max(1.0) };
        (self.skipped, self.watched_us) = (0, now_us);
        skipped
    }
}

/// Executions of a key between two that were watched.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Skipped {
    pub times: u64,
    /// How much of the time between those two had gone when the last of them came, from 0 to 1.
    pub within: f64,
}

/// An execution that is to be watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    pub key: u64,
}

impl Sample {
    /// One of the same statement under other circumstances, of which `apart` is a hash; under none it is 0. Both are in the sample, or none:
    /// that is decided by the upper half of the key.
    #[must_use]
    pub fn apart(self, apart: u64) -> Self {
        let mixed = apart.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        Self { key: self.key ^ mixed }
    }
}

/// The gates of one worker.
#[derive(Debug)]
pub struct Gates {
    desk: Arc<Desk>,
    gates: Vec<Gate>,
    recent: Box<[Recent; RECENT]>,
}

impl Gates {
    pub fn new(desk: Arc<Desk>) -> Self {
        Self { desk, gates: Vec::new(), recent: Box::new([Recent::default(); RECENT]) }
    }

    /// Whether an execution with this key is to be watched.
    #[inline]
    pub fn sample(&self, slot: Slot, key: u64) -> Option<Sample> {
        let watches = match self.gates.get(slot.index()) {
            Some(gate) if gate.row == slot.serial() => gate.watches(key),
            _ => true,
        };
        watches.then_some(Sample { key })
    }

    /// Whether nothing can be learned of it now: it is a hit under every TTL, and was seen a moment ago. It is counted then, and need
    /// not be watched. `floor_us` as in [`Seen`].
    pub fn skips(&mut self, sample: Sample, now_us: u64, floor_us: Option<u64>) -> bool {
        let recent = &mut self.recent[sample.key as usize % RECENT];
        let Sure { until_us, oldest_us } = recent.sure;
        let skips = recent.key == sample.key
            && recent.times >= OFTEN
            && now_us < until_us
            && floor_us.is_none_or(|floor| floor < oldest_us);
        if skips {
            recent.skipped += 1;
            recent.skipped_us = now_us;
        }
        skips
    }

    /// An execution was answered by the server that the cache might have answered. `None`: the first of its row, which is not counted
    /// yet.
    #[inline(always)]
    pub fn count(&mut self, slot: Slot, server_ns: u64) -> Option<&Gate> {
        let gate = self.gates.get_mut(slot.index()).filter(|gate| gate.row == slot.serial())?;
        gate.calls += 1;
        gate.server_ns += server_ns;
        if gate.calls == TOLD_AT {
            self.desk.tell(gate);
        }
        Some(gate)
    }

    /// Counts the first execution of a row, whose statement and sender `subject` is. It is watched.
    pub fn begin(&mut self, slot: Slot, server_ns: u64, subject: Option<(Arc<DigestText>, Arc<Origin>)>) {
        if self.gates.len() <= slot.index() {
            self.gates.resize_with(slot.index() + 1, Gate::default);
        }
        if let Some(gate) = self.gates.get_mut(slot.index()) {
            self.desk.tell(gate);
            *gate = Gate { row: slot.serial(), calls: 1, server_ns, subject, ..Gate::default() };
        }
    }

    /// One that was watched has been answered, and was counted.
    pub fn observe(&mut self, slot: Slot, seen: &Seen) {
        let Some(gate) = self.gates.get_mut(slot.index()) else { return };
        if gate.row != slot.serial() {
            return;
        }
        let Some(subject) = gate.subject.take() else { return };
        let recent = &mut self.recent[seen.key as usize % RECENT];
        if recent.key != seen.key {
            *recent = Recent { key: seen.key, ..Recent::default() };
        }
        let skipped = recent.skipped(seen.asked_us);
        recent.sure = self.desk.observe(gate, &subject, seen, &skipped);
        gate.subject = Some(subject);
        recent.times = recent.times.saturating_add(1);
    }

    /// Tells the desk what was counted and not told yet.
    pub fn tell(&mut self) {
        self.gates.iter_mut().filter(|gate| gate.calls > 0).for_each(|gate| self.desk.tell(gate));
    }
}
