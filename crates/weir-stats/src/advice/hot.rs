//! Keys that are always watched, as they are asked for far more often than others.

/// So many of one line.
pub(super) const MOST: usize = 64;
const WORDS: usize = 8;

/// Told from others with a look at one bit as a rule.
#[derive(Debug)]
pub(super) struct HotKeys {
    bits: [u64; WORDS],
    keys: Box<[u64]>,
}

impl HotKeys {
    pub fn new(keys: impl Iterator<Item = u64>) -> Self {
        let keys: Box<[u64]> = keys.collect();
        let mut bits = [0; WORDS];
        for key in &keys {
            bits[word(*key)] |= bit(*key);
        }
        Self { bits, keys }
    }

    #[inline]
    pub fn contains(&self, key: u64) -> bool {
        self.bits[word(key)] & bit(key) != 0 && self.keys.contains(&key)
    }
}

#[inline]
fn word(key: u64) -> usize {
    (key >> 6) as usize % WORDS
}

#[inline]
fn bit(key: u64) -> u64 {
    1 << (key % 64)
}
