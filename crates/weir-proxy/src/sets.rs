//! What was seen lately, in a table of a fixed size: a few places for each hash, so that those that meet there can all stay.

/// Places of a set.
const WAYS: usize = 4;

/// A table of sets. What comes new takes the place of what was not found for a while (CLOCK).
#[derive(Debug)]
pub(crate) struct Sets<T> {
    /// None before the first is kept.
    sets: Vec<Set<T>>,
    count: usize,
}

#[derive(Debug)]
struct Set<T> {
    places: [Place<T>; WAYS],
    /// Which of them is looked at first when one is to go.
    hand: u8,
}

#[derive(Debug)]
struct Place<T> {
    /// Half of the hash, of which another half says in which set it is.
    tag: u32,
    /// It was found since the hand passed by.
    found: bool,
    value: Option<T>,
}

impl<T> Sets<T> {
    /// With so many places, a power of two.
    pub const fn new(places: usize) -> Self {
        Self { sets: Vec::new(), count: places / WAYS }
    }

    /// Where the one with this hash is of which `is_same` holds, until the next is kept.
    #[inline]
    pub fn find(&mut self, hash: u64, is_same: impl Fn(&T) -> bool) -> Option<usize> {
        let (at, tag) = (self.set_of(hash), tag(hash));
        let places = &mut self.sets.get_mut(at)?.places;
        let is_it = |place: &Place<T>| place.tag == tag && place.value.as_ref().is_some_and(&is_same);
        let way = places.iter().position(is_it)?;
        places[way].found = true;
        Some(at * WAYS + way)
    }

    #[inline]
    pub fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        self.sets.get_mut(at / WAYS)?.places[at % WAYS].value.as_mut()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.sets.iter_mut().flat_map(|set| &mut set.places).filter_map(|place| place.value.as_mut())
    }

    /// Keeps one that was not found, and returns where.
    pub fn keep(&mut self, hash: u64, value: T) -> usize {
        if self.sets.is_empty() {
            let place = || Place { tag: 0, found: false, value: None };
            self.sets.resize_with(self.count, || Set { places: std::array::from_fn(|_| place()), hand: 0 });
        }
        let at = self.set_of(hash);
        let Set { places, hand } = &mut self.sets[at];
        // It comes round: by then none of them was found.
        while std::mem::take(&mut places[*hand as usize].found) {
            *hand = (*hand + 1) % WAYS as u8;
        }
        let way = *hand as usize;
        *hand = (*hand + 1) % WAYS as u8;
        places[way] = Place { tag: tag(hash), found: false, value: Some(value) };
        at * WAYS + way
    }

    #[inline]
    fn set_of(&self, hash: u64) -> usize {
        hash as usize & (self.count - 1)
    }
}

#[inline]
fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32
}

#[cfg(test)]
mod tests;
