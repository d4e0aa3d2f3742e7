use super::slab::{Slab, SlotId};

/// Slots in the order in which they came.
#[derive(Debug, Default)]
pub struct Fifo {
    pub oldest: Option<SlotId>,
    newest: Option<SlotId>,
    pub bytes: usize,
}

impl Fifo {
    pub fn push(&mut self, slab: &mut Slab, id: SlotId, size: usize) {
        let before = self.newest.replace(id);
        let slot = slab.get_mut(id);
        (slot.newer, slot.older) = (SlotId::NONE, before.unwrap_or_default());
        match before {
            Some(before) => slab.get_mut(before).newer = id,
            None => self.oldest = Some(id),
        }
        self.bytes += size;
    }

    pub fn unlink(&mut self, slab: &mut Slab, id: SlotId, size: usize) {
        let (newer, older) = (slab.get(id).newer.some(), slab.get(id).older.some());
        match newer {
            Some(newer) => slab.get_mut(newer).older = older.unwrap_or_default(),
            None => self.newest = older,
        }
        match older {
            Some(older) => slab.get_mut(older).newer = newer.unwrap_or_default(),
            None => self.oldest = newer,
        }
        self.bytes -= size;
    }
}
