//! Blocks of entries that have gone, for those that come.
//!
//! Workers free what others have made, and an allocator gives such memory back late: with two threads a fifth of the limit more was resident.
//! So the blocks do not go back to it. A part of the limit is set aside for them ([`PART`]), and what is more than that does go back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::blocks::{BLOCK_RESIDENT, Block, Supply};
use crate::charge::Budget;
use crate::entry::Entry;

/// One of so many bytes of the limit is for spare blocks.
pub const PART: usize = 32;
/// Shelves, so that threads seldom meet at one.
const SHELVES: usize = 4;

/// See the module.
#[derive(Debug)]
pub struct Spare {
    shelves: [Shelf; SHELVES],
    budget: Arc<Budget>,
}

/// What lies on one shelf.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shelf {
    /// How many lie here, for whoever has not locked it.
    count: AtomicUsize,
    blocks: Mutex<Vec<Block>>,
}

/// The spare blocks, as a part of the cache goes through them.
#[derive(Debug, Clone, Copy)]
pub struct Spares<'s> {
    spare: &'s Spare,
    /// The shelf that comes first.
    at: usize,
}

impl Spare {
    pub fn new(budget: &Arc<Budget>) -> Self {
        Self { shelves: Default::default(), budget: Arc::clone(budget) }
    }

    /// For the part with this number.
    pub fn of(&self, place: usize) -> Spares<'_> {
        Spares { spare: self, at: place % SHELVES }
    }
}

impl Spares<'_> {
    /// Takes the blocks of an entry, if nobody holds it but the caller.
    pub fn give(&self, mut entry: Arc<Entry>) {
        let Some(own) = Arc::get_mut(&mut entry) else { return };
        let shelf = &self.spare.shelves[self.at];
        let most = self.spare.budget.limit() / PART / SHELVES / BLOCK_RESIDENT;
        // What finds no room is freed when nothing is locked any more.
        let mut surplus = Vec::new();
        let mut blocks = shelf.blocks.lock();
        let mut keep = |block| if blocks.len() < most { blocks.push(block) } else { surplus.push(block) };
        own.retire(&mut keep);
        keep(entry);
        shelf.count.store(blocks.len(), Ordering::Relaxed);
    }
}

impl Supply for Spares<'_> {
    fn block(&self) -> Option<Block> {
        let (before, own) = self.spare.shelves.split_at(self.at);
        own.iter().chain(before).filter(|shelf| shelf.count.load(Ordering::Relaxed) > 0).find_map(|shelf| {
            let mut blocks = shelf.blocks.try_lock()?;
            let block = blocks.pop();
            shelf.count.store(blocks.len(), Ordering::Relaxed);
            block
        })
    }
}
