use std::cell::RefCell;

use super::*;

/// Has no blocks.
struct Nothing;

impl Supply for Nothing {
    fn block(&self) -> Option<Block> {
        None
    }
}

/// Has what others have left.
#[derive(Default)]
struct Used(RefCell<Vec<Block>>);

impl Supply for Used {
    fn block(&self) -> Option<Block> {
        self.0.borrow_mut().pop()
    }
}

/// Bytes of which no two neighbours are alike.
fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at % 251) as u8 ^ (at / 251) as u8).collect()
}

fn read(bytes: Bytes<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    bytes.append_to(&mut out);
    assert_eq!((out.len(), out.is_empty()), (bytes.len(), bytes.is_empty()));
    assert!(bytes.whole().is_none_or(|whole| whole == out));
    assert!(bytes == *out);
    out
}

/// Lengths at each border between blocks and indexes, and far beyond.
fn lengths() -> Vec<usize> {
    let borders =
        [0, 100, 100 + BYTES, 100 + NEAR * BYTES, 100 + (NEAR + FAR) * BYTES, 100 + (NEAR + 2 * FAR) * BYTES];
    let around = borders.iter().flat_map(|at| at.saturating_sub(2)..at + 3);
    around.chain([50, 900, 5_000, 1_000_000]).collect()
}

#[test]
fn what_went_in_comes_out() {
    for len in lengths() {
        let all = bytes(len);
        let (a, b) = all.split_at(len / 3);
        let blocks = Blocks::<100>::new([a, &[], b], &Nothing);
        assert_eq!(read(blocks.range(0..len)), all, "{len} bytes");
        for (start, end) in
            [(0, len / 3), (len / 3, len), (len / 2, len / 2), (len.min(99), len), (len.min(101), len)]
        {
            assert_eq!(read(blocks.range(start..end)), all[start..end], "{start} to {end} of {len} bytes");
        }
    }
}

#[test]
fn one_other_byte_makes_a_difference() {
    for len in lengths().into_iter().filter(|len| *len > 0) {
        let mut other = bytes(len);
        let blocks = Blocks::<100>::new([&other], &Nothing);
        assert!(blocks.range(0..len) == *other);
        for at in [0, len / 2, len - 1] {
            other[at] ^= 1;
            assert!(blocks.range(0..len) != *other, "byte {at} of {len}");
            other[at] ^= 1;
        }
        assert!(blocks.range(0..len) != other[1..]);
        other.push(0);
        assert!(blocks.range(0..len) != *other);
    }
}

#[test]
fn blocks_are_counted_as_they_are_made() {
    for len in lengths() {
        let blocks = Blocks::<100>::new([&bytes(len)], &Nothing);
        let indexes = std::iter::successors(blocks.far.as_ref().and_then(index), |far| {
            far.next.as_ref().and_then(index)
        });
        let far: usize = indexes.map(|far| 1 + far.blocks.iter().flatten().count()).sum();
        assert_eq!(
            blocks_for(len.saturating_sub(100)),
            blocks.near.iter().flatten().count() + far,
            "{len} bytes"
        );
    }
}

#[test]
fn very_many_blocks_go_without_a_stack() {
    drop(Blocks::<100>::new([&vec![1; 64 << 20]], &Nothing));
}

#[test]
fn blocks_that_were_used_hold_nothing_of_before() {
    let used = Used::default();
    for len in lengths().into_iter().rev() {
        let all = bytes(len);
        let mut blocks = Blocks::<100>::new([&all], &used);
        assert_eq!(read(blocks.range(0..len)), all, "{len} bytes");
        let left = used.0.borrow().len();
        blocks.empty_into(|block| used.0.borrow_mut().push(block));
        assert_eq!(used.0.borrow().len(), left + blocks_for(len.saturating_sub(100)), "{len} bytes");
        assert!(blocks.range(0..len).is_empty() && blocks.len() == 0);
    }
}
