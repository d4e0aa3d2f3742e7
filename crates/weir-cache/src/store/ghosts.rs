use crate::charge::resident;

/// Hashes in one place, the newest first.
const WAYS: usize = 4;

/// Hashes of entries that went before they were used again: about as many as there are entries, 4 bytes each. Two hashes may
/// be taken for one another, once in a billion; then an entry is kept longer than it deserves.
#[derive(Debug, Default)]
pub struct Ghosts {
    places: Vec<[u32; WAYS]>,
}

impl Ghosts {
    /// `entries` says how many there are at the moment.
    pub fn add(&mut self, hash: u64, entries: usize) {
        let wanted = (entries / WAYS).max(4).next_power_of_two();
        if self.places.len() < wanted {
            // What was remembered is lost, which happens once for each doubling.
            self.places = vec![[0; WAYS]; wanted];
        }
        let place = self.place(hash);
        if let Some(ways) = self.places.get_mut(place) {
            ways.rotate_right(1);
            ways[0] = mark(hash);
        }
    }

    /// Whether it was remembered; it is not from here on.
    pub fn take(&mut self, hash: u64) -> bool {
        let place = self.place(hash);
        let Some(ways) = self.places.get_mut(place) else { return false };
        let Some(found) = ways.iter_mut().find(|way| **way == mark(hash)) else { return false };
        *found = 0;
        true
    }

    pub fn size(&self) -> usize {
        resident(self.places.capacity() * size_of::<[u32; WAYS]>())
    }

    fn place(&self, hash: u64) -> usize {
        (hash as usize) & self.places.len().wrapping_sub(1)
    }
}

/// Never 0, which is an empty way.
fn mark(hash: u64) -> u32 {
    (hash >> 32) as u32 | 1
}
