//! Chance that a seed repeats: SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators).

#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// Streams of different `stream` numbers under one seed have nothing in common.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut rng = Self(seed ^ stream.wrapping_mul(0xd6e8_feb8_6659_fd93));
        rng.bits();
        rng
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to `n` - 1; 0 for an `n` of 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n.max(1) as u64) as usize
    }

    /// From `low` to `high`, both included.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below(usize::try_from(high - low + 1).unwrap_or(1)) as i64
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }

    /// Lower-case letters and digits.
    pub fn text(&mut self, length: usize) -> Vec<u8> {
        const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz012345";
        let mut out = Vec::with_capacity(length + 12);
        while out.len() < length {
            let mut bits = self.bits();
            // Twelve letters of five bits each out of one number.
            for _ in 0..12 {
                out.push(LETTERS[(bits & 31) as usize]);
                bits >>= 5;
            }
        }
        out.truncate(length);
        out
    }
}
