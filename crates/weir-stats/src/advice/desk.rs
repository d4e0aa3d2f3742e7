//! All lines, for all workers together: the cache is one for all of them.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use parking_lot::Mutex;
use weir_model::DigestId;

use super::Line;
use super::gate::{Gate, Skipped};
use super::line::{Growing, Seen, Sure};
use crate::digests::{DigestText, Origin};

/// Lines among which the one goes that was used least.
const CANDIDATES: usize = 16;

/// Statements without a line of which it is remembered that they came. One that falls on another's place takes it: few, so that
/// those in turn do not drive each other out where more of them come than there are lines.
const KNOCKS: usize = 64;
/// The line of a statement that has none.
const NOWHERE: (u32, u64) = (u32::MAX, u64::MAX);

/// How much may be watched.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Statements by digest and origin.
    pub lines: usize,
    /// Keys of one line.
    pub keys_each: usize,
    /// Keys of all lines.
    pub keys: usize,
    /// For so long after it was watched a key is not watched again, if nothing can happen to it.
    pub gap_us: u64,
}

impl Default for Limits {
    /// About 20 MB at most. With half as many keys each, ratios of skewed workloads are ten points off.
    fn default() -> Self {
        Self { lines: 512, keys_each: 1024, keys: 65_536, gap_us: 125_000 }
    }
}

/// Where all workers bring what they have watched.
#[derive(Debug)]
pub struct Desk {
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    seed: u64,
    lines: Vec<Growing>,
    places: HashMap<(DigestId, Arc<Origin>), u32, foldhash::fast::FixedState>,
    next_serial: u64,
    keys: usize,
    hand: usize,
    tended: usize,
    knocks: [u64; KNOCKS],
}

impl Desk {
    /// A desk without lines.
    ///
    /// `seed` is a random number: clients choose what is hashed.
    pub fn new(limits: Limits, seed: u64) -> Arc<Self> {
        Arc::new(Self { limits, state: Mutex::new(State::new(seed)) })
    }

    /// Forgets everything.
    pub fn empty(&self) {
        let mut state = self.state.lock();
        let new = State { next_serial: state.next_serial, ..State::new(state.seed) };
        // What is dropped is dropped after the lock.
        let old = std::mem::replace(&mut *state, new);
        drop(state);
        drop(old);
    }

    /// All lines. Workers wait for the lock while one of them is looked at, not while all are.
    pub fn lines(&self) -> Vec<Line> {
        let told = |at| self.state.lock().lines.get(at).map(Growing::told);
        let so_many = self.state.lock().lines.len();
        let mut lines = Vec::with_capacity(so_many);
        lines.extend((0..so_many).map_while(told));
        lines
    }

    /// Bytes of memory of all lines.
    pub fn bytes(&self) -> usize {
        let state = self.state.lock();
        state.lines.iter().map(Growing::bytes).sum()
    }

    /// Takes what a worker has counted, if its line is still there.
    #[cold]
    pub(super) fn tell(&self, gate: &mut Gate) {
        let (calls, server_ns) = (std::mem::take(&mut gate.calls), std::mem::take(&mut gate.server_ns));
        let Some((at, serial)) = gate.line.filter(|_| calls > 0) else { return };
        let mut state = self.state.lock();
        let State { lines, keys, .. } = &mut *state;
        if let Some(growing) = lines.get_mut(at as usize).filter(|line| line.serial == serial) {
            let before = growing.keys();
            growing.count(calls, server_ns);
            growing.tell(gate);
            *keys = *keys + growing.keys() - before;
        }
    }

    /// Runs one execution, and tells until when its key need not be watched.
    pub(super) fn observe(
        &self,
        gate: &mut Gate,
        subject: &(Arc<DigestText>, Arc<Origin>),
        seen: &Seen,
        skipped: &Skipped,
    ) -> Sure {
        let mut state = self.state.lock();
        let known = gate.line.filter(|(at, serial)| {
            state.lines.get(*at as usize).is_some_and(|growing| growing.serial == *serial)
        });
        let (mut calls, mut server_ns) =
            (std::mem::take(&mut gate.calls), std::mem::take(&mut gate.server_ns));
        let at = match known {
            Some((at, _)) => Some(at),
            None => {
                if gate.line.is_some() {
                    // The line that the others belong to has gone.
                    (calls, server_ns) = (1, seen.server_ns);
                }
                state.line(&self.limits, subject, seen.asked_us)
            }
        };
        let Some(at) = at else {
            (gate.line, gate.hot) = (Some(NOWHERE), None);
            gate.follow(0);
            return Sure::default();
        };
        let State { lines, keys, .. } = &mut *state;
        let Some(growing) = lines.get_mut(at as usize) else { return Sure::default() };
        let before = growing.keys();
        growing.count(calls, server_ns);
        growing.tend(seen.asked_us, self.limits.keys_each);
        gate.line = Some((at, growing.serial));
        if !growing.watches(seen.key) {
            *keys = *keys + growing.keys() - before;
            growing.tell(gate);
            return Sure::default();
        }
        let sure = growing.run(seen, skipped);
        if growing.is_costly() {
            growing.halve();
        }
        while growing.keys() > self.limits.keys_each {
            growing.halve();
        }
        growing.tell(gate);
        *keys = *keys + growing.keys() - before;
        state.tend_another(seen.asked_us, self.limits.keys_each);
        state.make_room(self.limits.keys);
        Sure { until_us: sure.until_us.min(seen.asked_us + self.limits.gap_us), ..sure }
    }
}

impl State {
    fn new(seed: u64) -> Self {
        let places = HashMap::with_hasher(foldhash::fast::FixedState::with_seed(seed));
        Self {
            seed,
            lines: Vec::new(),
            places,
            next_serial: 0,
            keys: 0,
            hand: 0,
            tended: 0,
            knocks: [0; KNOCKS],
        }
    }

    /// The line of a statement, which is made if there is none. Where that takes another's place it must have come before.
    fn line(&mut self, limits: &Limits, subject: &(Arc<DigestText>, Arc<Origin>), now: u64) -> Option<u32> {
        let key = (subject.0.id, Arc::clone(&subject.1));
        if let Some(at) = self.places.get(&key) {
            return Some(*at);
        }
        let is_full = self.lines.len() >= limits.lines;
        if is_full && !self.has_come(&key) {
            return None;
        }
        let growing = Growing::new(self.next_serial, subject.clone(), now);
        self.next_serial += 1;
        let at = if !is_full {
            self.lines.push(growing);
            self.lines.len() - 1
        } else {
            let at = self.least_used();
            if let Some(place) = self.lines.get_mut(at) {
                let old = std::mem::replace(place, growing);
                self.keys -= old.keys();
                self.places.remove(&(old.line.digest.id, old.line.origin));
            }
            at
        } as u32;
        self.places.insert(key, at);
        Some(at)
    }

    /// Whether a statement came a moment ago. It has from now on.
    fn has_come(&mut self, key: &(DigestId, Arc<Origin>)) -> bool {
        let hash = self.places.hasher().hash_one(key);
        let last = std::mem::replace(&mut self.knocks[hash as usize % KNOCKS], hash);
        last == hash
    }

    fn least_used(&mut self) -> usize {
        let (mut least, mut victim) = (u64::MAX, 0);
        for _ in 0..CANDIDATES.min(self.lines.len()) {
            self.hand = (self.hand + 1) % self.lines.len();
            let Some(growing) = self.lines.get_mut(self.hand) else { continue };
            let used = growing.line.calls - growing.looked_at;
            growing.looked_at = growing.line.calls;
            if used < least {
                (least, victim) = (used, self.hand);
            }
        }
        victim
    }

    /// Another line each time: of one itself nothing may be watched that comes.
    fn tend_another(&mut self, now: u64, keys_each: usize) {
        self.tended = (self.tended + 1) % self.lines.len().max(1);
        if let Some(growing) = self.lines.get_mut(self.tended) {
            let before = growing.keys();
            growing.tend(now, keys_each);
            self.keys = self.keys + growing.keys() - before;
        }
    }

    /// Halves the lines with the most keys until all of them together are few enough.
    fn make_room(&mut self, limit: usize) {
        while self.keys > limit {
            let Some(most) = self.lines.iter_mut().max_by_key(|growing| growing.keys()) else { return };
            let before = most.keys();
            most.halve();
            self.keys -= before - most.keys();
        }
    }
}
