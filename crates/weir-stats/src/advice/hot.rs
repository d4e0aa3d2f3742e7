//! Keys that are always watched, as they are asked for far more often than others. They are known by their upper halves, which are
//! those of the statement: what it is told apart by beside that is in the lower ones ([`super::Sample::apart`]).

/// So many of one line.
pub(super) const MOST: usize = 64;
const WORDS: usize = 8;

/// Told from others with a look at one bit as a rule.
#[derive(Debug)]
pub(super) struct HotKeys {
    bits: [u64; WORDS],
    keys: Box<[u32]>,
}

impl HotKeys {
    pub fn new(keys: impl Iterator<Item = u64>) -> Self {
        let keys: Box<[u32]> = keys.map(upper).collect();
        let mut bits = [0; WORDS];
        for key in &keys {
            bits[word(*key)] |= bit(*key);
        }
        Self { bits, keys }
    }

    #[inline]
    pub fn contains(&self, key: u64) -> bool {
        let key = upper(key);
        self.bits[word(key)] & bit(key) != 0 && self.keys.contains(&key)
    }
}

#[inline]
fn upper(key: u64) -> u32 {
    (key >> 32) as u32
}

#[inline]
fn word(key: u32) -> usize {
    (key >> 6) as usize % WORDS
}

#[inline]
fn bit(key: u32) -> u64 {
    1 << (key % 64)
}
