use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use super::row::{DigestText, Origin, Row};
use super::{Call, PlainCall, Table};

/// Rows among which the one goes that was used least: enough that a busy one is not hit, few enough to look at for each
/// new digest.
const CANDIDATES: usize = 16;

/// Where a statement is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    pub(super) index: u32,
    pub(super) serial: u64,
}

/// A slot that one thread sets and others read at any time, without a lock. Whoever reads between the two stores of a change gets
/// a slot that no row has.
#[derive(Debug)]
pub struct SlotCell {
    index: AtomicU32,
    serial: AtomicU64,
}

/// No row has it.
const NO_SERIAL: u64 = u64::MAX;

impl Default for SlotCell {
    fn default() -> Self {
        Self { index: AtomicU32::new(0), serial: AtomicU64::new(NO_SERIAL) }
    }
}

impl SlotCell {
    #[inline]
    pub fn set(&self, slot: Option<Slot>) {
        let Slot { index, serial } = slot.unwrap_or(Slot { index: 0, serial: NO_SERIAL });
        self.index.store(index, Relaxed);
        self.serial.store(serial, Relaxed);
    }

    pub fn get(&self) -> Option<Slot> {
        let (index, serial) = (self.index.load(Relaxed), self.serial.load(Relaxed));
        (serial != NO_SERIAL).then_some(Slot { index, serial })
    }
}

impl Slot {
    /// The place of its row.
    #[inline]
    pub(crate) fn index(self) -> usize {
        self.index as usize
    }

    /// No other row of the worker ever has it.
    #[inline]
    pub(crate) fn serial(self) -> u64 {
        self.serial
    }
}

/// Finds rows and counts in them. Only the thread of its worker has it.
#[derive(Debug)]
pub struct Writer {
    table: Arc<Table>,
    /// The same as those of the table, to be reached without its lock.
    pub(super) rows: Vec<Arc<Row>>,
    pub(super) places: HashMap<Key, u32, foldhash::fast::FixedState>,
    pub(super) origins: HashMap<Arc<Origin>, u32, foldhash::fast::FixedState>,
    next_origin: u32,
    next_serial: u64,
    /// Where eviction looks next.
    hand: usize,
    emptied: u64,
}

/// By its bytes: two texts may share an id by chance.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Key {
    digest: Arc<DigestText>,
    origin: u32,
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.digest.id.0);
        state.write_u32(self.origin);
    }
}

impl Writer {
    /// `seed` is a random number: clients choose what is hashed.
    pub fn new(table: Arc<Table>, seed: u64) -> Self {
        let hasher = foldhash::fast::FixedState::with_seed(seed);
        let emptied = table.emptied.load(Relaxed);
        Self {
            table,
            rows: Vec::new(),
            places: HashMap::with_hasher(hasher.clone()),
            origins: HashMap::with_hasher(hasher),
            next_origin: 0,
            next_serial: 0,
            hand: 0,
            emptied,
        }
    }

    /// The number of an origin. It means the same as long as the writer lives.
    pub fn origin(&mut self, origin: Origin) -> (Arc<Origin>, u32) {
        if let Some((known, number)) = self.origins.get_key_value(&origin) {
            return (Arc::clone(known), *number);
        }
        if self.origins.len() > self.table.capacity {
            // Those that no row and no session has. They get another number when they come again.
            self.origins.retain(|origin, _| Arc::strong_count(origin) > 1);
        }
        let (origin, number) = (Arc::new(origin), self.next_origin);
        self.next_origin = self.next_origin.wrapping_add(1);
        self.origins.insert(Arc::clone(&origin), number);
        (origin, number)
    }

    /// Whether a slot is still that of its statement.
    #[inline]
    pub fn is_current(&self, slot: Slot) -> bool {
        self.row(slot).is_some() && self.is_followed()
    }

    #[inline]
    fn row(&self, slot: Slot) -> Option<&Row> {
        self.rows.get(slot.index as usize).map(|row| &**row).filter(|row| row.serial == slot.serial)
    }

    /// Whose statement is counted at a slot, if its row is still there.
    pub fn named(&self, slot: Slot) -> Option<(Arc<DigestText>, Arc<Origin>)> {
        self.row(slot).map(|row| (Arc::clone(&row.digest), Arc::clone(&row.origin)))
    }

    /// The slot of a digest. `sample` is a statement with it, `now` seconds since the tables were made.
    pub fn slot(
        &mut self,
        digest: &Arc<DigestText>,
        origin: (&Arc<Origin>, u32),
        sample: &[u8],
        now: u64,
    ) -> Slot {
        self.follow();
        let key = Key { digest: Arc::clone(digest), origin: origin.1 };
        if let Some(index) = self.places.get(&key) {
            let serial = self.rows.get(*index as usize).map_or(0, |row| row.serial);
            return Slot { index: *index, serial };
        }
        let serial = self.next_serial;
        self.next_serial += 1;
        let origin = (Arc::clone(origin.0), origin.1);
        let row = Arc::new(Row::new(serial, Arc::clone(digest), origin, sample, now));
        loop {
            let placed = match self.rows.len() < self.table.capacity {
                true => self.push(&row),
                false => self.replace_one(&row),
            };
            match placed {
                Some(index) => {
                    self.places.insert(key, index);
                    return Slot { index, serial };
                }
                // The table was emptied by somebody else just now.
                None => self.follow(),
            }
        }
    }

    fn push(&mut self, row: &Arc<Row>) -> Option<u32> {
        let pushed = self.table.push(row, self.emptied);
        pushed.then(|| {
            self.rows.push(Arc::clone(row));
            self.rows.len() as u32 - 1
        })
    }

    /// Throws out the row that was used least since it was last looked at, among the next few.
    fn replace_one(&mut self, row: &Arc<Row>) -> Option<u32> {
        let (mut least, mut victim) = (u64::MAX, 0);
        for _ in 0..CANDIDATES.min(self.rows.len()) {
            self.hand = (self.hand + 1) % self.rows.len();
            let Some(candidate) = self.rows.get(self.hand) else { continue };
            let calls = candidate.counts.calls.get();
            let used = calls - candidate.looked_at.get();
            candidate.looked_at.set(calls);
            if used < least {
                (least, victim) = (used, self.hand);
            }
        }
        if !self.table.replace(victim, row, self.emptied) {
            return None;
        }
        let old = std::mem::replace(self.rows.get_mut(victim)?, Arc::clone(row));
        self.places.remove(&Key { digest: Arc::clone(&old.digest), origin: old.origin_number });
        Some(victim as u32)
    }

    /// Forgets its rows if the table was emptied.
    fn follow(&mut self) {
        let emptied = self.table.emptied.load(Relaxed);
        if emptied != self.emptied {
            self.emptied = emptied;
            self.rows.clear();
            self.places.clear();
            self.hand = 0;
        }
    }

    /// Counts a statement that was answered. False where its row has gone meanwhile: then it is not counted.
    #[must_use = "what has gone is to be counted elsewhere"]
    pub fn count(&self, slot: Slot, call: Call) -> bool {
        self.row(slot).filter(|_| self.is_followed()).inspect(|row| row.counts.add(call)).is_some()
    }

    /// The same for what most statements are.
    #[inline(always)]
    #[must_use = "what has gone is to be counted elsewhere"]
    pub fn count_plain(&self, slot: Slot, call: impl FnOnce() -> PlainCall) -> bool {
        self.row(slot).filter(|_| self.is_followed()).inspect(|row| row.counts.add_plain(call())).is_some()
    }

    /// The table was not emptied since this has last looked.
    #[inline]
    fn is_followed(&self) -> bool {
        self.table.emptied.load(Relaxed) == self.emptied
    }

    /// What the server takes at most for this statement, as a rule, as far as this thread has seen it; `server_ns`: what it has taken just now.
    /// `None` where nothing else is known.
    pub fn usual_ns(&self, slot: Slot, server_ns: u64) -> Option<u64> {
        self.row(slot).filter(|_| self.is_followed())?.counts.usual_ns(server_ns)
    }

    /// Counts what has no row with the others.
    pub fn count_other(&self, call: Call) {
        self.table.count_other(call);
    }

    /// A statement has made its session keep its connection: bit `n` of `reasons` is the reason with that number.
    pub fn pinned(&self, slot: Slot, reasons: u64) {
        match self.row(slot) {
            Some(row) if self.is_current(slot) => row.counts.pinned(reasons),
            _ => self.table.pinned_other(reasons),
        }
    }

    /// A session has kept its connection behind a statement, as in [`Sums::pinned_ns`] or (`None`) [`Sums::kept_ns`].
    ///
    /// [`Sums::pinned_ns`]: super::Sums::pinned_ns
    /// [`Sums::kept_ns`]: super::Sums::kept_ns
    pub fn kept(&self, slot: Slot, reason: Option<u8>, ns: u64) {
        match self.row(slot) {
            Some(row) if self.is_current(slot) => row.counts.kept(reason, ns),
            _ => self.table.kept_other(reason, ns),
        }
    }
}
