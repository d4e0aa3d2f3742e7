use super::Slot;
use crate::charge::resident;
use crate::entry::Kind;

/// Slots are had in pieces of this many, so that growing moves nothing and costs no more than what is used.
const CHUNK: usize = 64;

/// The number of a slot, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotId(u32);

impl SlotId {
    pub const NONE: Self = Self(u32::MAX);

    pub fn from_index(at: usize) -> Self {
        Self(u32::try_from(at).unwrap_or(u32::MAX))
    }

    pub fn some(self) -> Option<Self> {
        (self != Self::NONE).then_some(self)
    }
}

impl Default for SlotId {
    fn default() -> Self {
        Self::NONE
    }
}

/// Slots that stay where they are. Free ones are linked through `newer`.
#[derive(Debug, Default)]
pub struct Slab {
    chunks: Vec<Box<[Slot]>>,
    free: SlotId,
}

impl Slab {
    pub fn get(&self, id: SlotId) -> &Slot {
        &self.chunks[id.0 as usize / CHUNK][id.0 as usize % CHUNK]
    }

    pub fn get_mut(&mut self, id: SlotId) -> &mut Slot {
        &mut self.chunks[id.0 as usize / CHUNK][id.0 as usize % CHUNK]
    }

    /// Whether the slot holds what is looked for.
    pub fn is(&self, id: SlotId, hash: u64, key: &[u8], kind: Kind) -> bool {
        let slot = self.get(id);
        slot.hash == hash && slot.entry.as_ref().is_some_and(|e| e.kind() == kind && e.key() == *key)
    }

    /// A slot to be written.
    pub fn take(&mut self) -> SlotId {
        if self.free == SlotId::NONE {
            let first = self.len();
            self.chunks.push((0..CHUNK).map(|_| Slot::default()).collect());
            for at in (first..first + CHUNK).rev() {
                self.give_back(SlotId::from_index(at));
            }
        }
        let id = self.free;
        self.free = self.get(id).newer;
        id
    }

    /// The slot's entry must have been taken out.
    pub fn give_back(&mut self, id: SlotId) {
        *self.get_mut(id) = Slot { newer: self.free, ..Slot::default() };
        self.free = id;
    }

    pub fn len(&self) -> usize {
        self.chunks.len() * CHUNK
    }

    pub fn size(&self) -> usize {
        resident(self.chunks.capacity() * size_of::<Box<[Slot]>>())
            + self.chunks.len() * resident(CHUNK * size_of::<Slot>())
    }
}
