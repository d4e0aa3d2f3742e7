use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;

use super::row::{Counts, DigestText, Origin, Row, SECOND_NS};
use super::sums::Sums;
use super::writer::Slot;
use super::{Call, Usage};

/// The rows of one worker, as readers see them.
#[derive(Debug)]
pub struct Table {
    pub(super) capacity: usize,
    /// How often it was emptied.
    pub(super) emptied: AtomicU64,
    shelf: Mutex<Shelf>,
}

#[derive(Debug, Default)]
struct Shelf {
    rows: Vec<Arc<Row>>,
    other: Sums,
    evicted: u64,
}

impl Table {
    /// A table of at most so many rows; 0 is taken as 1.
    pub fn new(capacity: usize) -> Arc<Self> {
        let emptied = AtomicU64::new(0);
        Arc::new(Self { capacity: capacity.max(1), emptied, shelf: Mutex::default() })
    }

    /// Forgets all that was counted. A statement that is answered at the same moment may be forgotten too.
    pub fn empty(&self) {
        let mut shelf = self.shelf.lock();
        // What is dropped is dropped after the lock.
        let old = std::mem::take(&mut *shelf);
        self.emptied.fetch_add(1, Relaxed);
        drop(shelf);
        drop(old);
    }

    /// How full it is.
    pub fn usage(&self) -> Usage {
        let (rows, evicted) = {
            let shelf = self.shelf.lock();
            (shelf.rows.clone(), shelf.evicted)
        };
        let bytes = rows.iter().map(|row| row.bytes() + size_of::<Arc<Row>>()).sum();
        Usage { rows: rows.len(), evicted, bytes }
    }

    /// The rows, and the sums of those that have gone.
    pub(super) fn read(&self) -> (Vec<Arc<Row>>, Sums) {
        let shelf = self.shelf.lock();
        (shelf.rows.clone(), shelf.other.clone())
    }

    /// Puts a row at the end, unless the table was emptied since the writer looked.
    pub(super) fn push(&self, row: &Arc<Row>, emptied: u64) -> bool {
        let mut shelf = self.shelf.lock();
        let same = self.emptied.load(Relaxed) == emptied;
        if same {
            shelf.rows.push(Arc::clone(row));
        }
        same
    }

    /// Puts a row in the place of another, which has ended.
    pub(super) fn replace(&self, index: usize, row: &Arc<Row>, emptied: u64) -> bool {
        let mut shelf = self.shelf.lock();
        if self.emptied.load(Relaxed) != emptied {
            return false;
        }
        let Shelf { rows, other, evicted } = &mut *shelf;
        let Some(place) = rows.get_mut(index) else { return false };
        place.add_to(other);
        *evicted += 1;
        let old = std::mem::replace(place, Arc::clone(row));
        drop(shelf);
        drop(old);
        true
    }

    /// Counts what has no row any more.
    #[cold]
    pub(super) fn count_other(&self, call: Call) {
        let counts = Counts::default();
        counts.add(call);
        counts.add_to(&mut self.shelf.lock().other, call.at_ns / SECOND_NS);
    }

    pub(super) fn pinned_other(&self, reasons: u64) {
        let mut shelf = self.shelf.lock();
        let pins = shelf.other.pins.iter_mut().enumerate();
        pins.filter(|(bit, _)| reasons >> bit & 1 == 1).for_each(|(_, count)| *count += 1);
    }

    pub(super) fn kept_other(&self, reason: Option<u8>, ns: u64) {
        let counts = Counts::default();
        counts.kept(reason, ns);
        let other = &mut self.shelf.lock().other;
        counts.add_to(other, u64::MAX);
    }

    /// Whose statement is counted at a slot, if its row is still there. For readers: it takes the lock.
    pub fn named(&self, slot: Slot) -> Option<(Arc<DigestText>, Arc<Origin>)> {
        let shelf = self.shelf.lock();
        let row = shelf.rows.get(slot.index as usize).filter(|row| row.serial == slot.serial)?;
        Some((Arc::clone(&row.digest), Arc::clone(&row.origin)))
    }
}
