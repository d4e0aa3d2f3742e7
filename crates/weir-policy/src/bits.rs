//! Sets of small numbers, of which few are in: words of 64 bits, only those that are not empty.

/// 64 neighbours of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// The first neighbour divided by 64.
    pub word: u32,
    pub bits: u64,
}

/// The numbers `0..length` for which `holds`, as words of 64.
pub(crate) fn dense(length: usize, holds: impl Fn(usize) -> bool) -> Box<[u64]> {
    let word = |from: usize| {
        let numbers = from..(from + 64).min(length);
        numbers.filter(|number| holds(*number)).fold(0, |bits, number| bits | 1 << (number % 64))
    };
    (0..length).step_by(64).map(word).collect()
}

/// Puts numbers, in any order, into a set.
pub(crate) fn insert(chunks: &mut Vec<Chunk>, numbers: impl IntoIterator<Item = u32>) {
    for number in numbers {
        let (word, bit) = (number / 64, 1 << (number % 64));
        match chunks.binary_search_by_key(&word, |chunk| chunk.word) {
            Ok(at) => {
                if let Some(chunk) = chunks.get_mut(at) {
                    chunk.bits |= bit;
                }
            }
            Err(at) => chunks.insert(at, Chunk { word, bits: bit }),
        }
    }
}

/// Removes all numbers above the first one that is also in `last`.
pub(crate) fn cut_after_first(chunks: &mut Vec<Chunk>, last: &[u64]) {
    for at in 0..chunks.len() {
        let Some(chunk) = chunks.get_mut(at) else { return };
        let hits = chunk.bits & last.get(chunk.word as usize).copied().unwrap_or(0);
        if hits != 0 {
            let first = hits & hits.wrapping_neg();
            chunk.bits &= first | (first - 1);
            chunks.truncate(at + 1);
            return;
        }
    }
}

/// The numbers of one chunk, in their order.
pub(crate) fn numbers(chunk: Chunk) -> impl Iterator<Item = usize> {
    let mut bits = chunk.bits;
    std::iter::from_fn(move || {
        let bit = (bits != 0).then(|| bits.trailing_zeros())?;
        bits &= bits - 1;
        Some(chunk.word as usize * 64 + bit as usize)
    })
}
