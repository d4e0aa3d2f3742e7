//! Bytes in blocks of one size.
//!
//! Everything that comes and goes with entries is of this size. An allocator keeps blocks of each size in pages of their own, and a page
//! is of use for another size only when its last block has gone: with sizes as they come, memory once taken by small answers is not
//! there for large ones, and twice or three times the limit was resident (`tests/resident.rs`). Of one size, each block that
//! goes makes room for any that comes, as `spare.rs` hands them on.
//!
//! ```text
//!   entry: head, first bytes, 3 x block ---> bytes
//!                               index ----> 60 x block ---> bytes
//!                                           index ----> 60 x block ...
//! ```

use std::ops::Range;
use std::sync::Arc;

use crate::charge::arc_size;
use crate::entry::{Entry, Node};

/// Bytes of a block, the counters of its `Arc` included.
pub const BLOCK: usize = 512;
/// What a block takes: in the pages of mimalloc, 127 of them lie in 64 KiB.
pub const BLOCK_RESIDENT: usize = BLOCK + BLOCK / 64;
const _: () = assert!(arc_size::<Entry>() == BLOCK, "all blocks are of one size");
/// Bytes of an answer in a block that holds nothing else.
pub const BYTES: usize = 488;
/// Blocks that are found without an index.
const NEAR: usize = 3;
/// Blocks of an index.
const FAR: usize = 60;

/// Any block: what it is for is told by its [`Node`]. Nobody shares one that is not the first of an entry.
pub type Block = Arc<Entry>;

/// Where used blocks come from. Without one, a new one is made.
pub trait Supply {
    fn block(&self) -> Option<Block>;

    /// A block that is this.
    fn made(&self, node: Node) -> Block {
        if let Some(mut used) = self.block()
            && let Some(own) = Arc::get_mut(&mut used)
        {
            own.0 = node;
            return used;
        }
        Arc::new(Entry(node))
    }
}

/// Bytes, of which the first `INSIDE` lie here.
#[derive(Debug)]
#[repr(C)]
pub struct Blocks<const INSIDE: usize> {
    near: [Option<Block>; NEAR],
    /// An index.
    far: Option<Block>,
    len: usize,
    inside: [u8; INSIDE],
}

/// Where blocks are.
#[derive(Debug)]
pub struct Index {
    blocks: [Option<Block>; FAR],
    /// Another.
    next: Option<Block>,
}

/// How many blocks it takes to hold so many bytes, with their indexes.
pub const fn blocks_for(bytes: usize) -> usize {
    let blocks = bytes.div_ceil(BYTES);
    blocks + blocks.saturating_sub(NEAR).div_ceil(FAR)
}

impl<const INSIDE: usize> Blocks<INSIDE> {
    /// Copies the parts, one behind the other, into blocks from `supply`.
    pub fn new<const PARTS: usize>(parts: [&[u8]; PARTS], supply: &impl Supply) -> Self {
        let len = parts.iter().map(|part| part.len()).sum();
        let mut source = Source { part: &[], rest: &parts, supply };
        let mut inside = [0; INSIDE];
        source.fill(&mut inside);
        let mut left = usize::saturating_sub(len, INSIDE).div_ceil(BYTES);
        let near = std::array::from_fn(|_| source.block(&mut left));
        let mut indexes = Vec::new();
        while left > 0 {
            indexes.push(std::array::from_fn(|_| source.block(&mut left)));
        }
        let chained = |next, blocks| Some(supply.made(Node::Index(Index { blocks, next })));
        Self { near, far: indexes.into_iter().rev().fold(None, chained), len, inside }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Gives all blocks away, one index after the other, however many there are.
    pub fn empty_into(&mut self, mut out: impl FnMut(Block)) {
        self.len = 0;
        self.near.iter_mut().filter_map(Option::take).for_each(&mut out);
        let mut far = self.far.take();
        while let Some(mut block) = far {
            far = None;
            if let Some(Entry(Node::Index(index))) = Arc::get_mut(&mut block) {
                index.blocks.iter_mut().filter_map(Option::take).for_each(&mut out);
                far = index.next.take();
            }
            out(block);
        }
    }

    /// A part of the bytes.
    pub fn range(&self, range: Range<usize>) -> Bytes<'_> {
        let (start, end) = (range.start.min(self.len), range.end.min(self.len));
        let inside = &self.inside[start.min(INSIDE)..end.min(INSIDE)];
        Bytes {
            inside,
            near: &self.near,
            far: self.far.as_ref(),
            skip: start.saturating_sub(INSIDE),
            len: end.saturating_sub(start),
        }
    }
}

impl<const INSIDE: usize> Drop for Blocks<INSIDE> {
    fn drop(&mut self) {
        if self.far.is_some() {
            self.empty_into(drop);
        }
    }
}

/// What is still to be copied.
struct Source<'s, S> {
    part: &'s [u8],
    rest: &'s [&'s [u8]],
    supply: &'s S,
}

impl<S: Supply> Source<'_, S> {
    fn fill(&mut self, mut out: &mut [u8]) {
        while !out.is_empty() {
            if self.part.is_empty() {
                let Some((part, rest)) = self.rest.split_first() else { return };
                (self.part, self.rest) = (part, rest);
                continue;
            }
            let count = out.len().min(self.part.len());
            let (now, later) = self.part.split_at(count);
            let (to, after) = out.split_at_mut(count);
            to.copy_from_slice(now);
            (self.part, out) = (later, after);
        }
    }

    fn block(&mut self, left: &mut usize) -> Option<Block> {
        *left = left.checked_sub(1)?;
        let mut block = self.supply.block().unwrap_or_else(|| Arc::new(Entry(Node::EMPTY)));
        let own = Arc::get_mut(&mut block)?;
        if !matches!(own.0, Node::Bytes(_)) {
            own.0 = Node::EMPTY;
        }
        if let Node::Bytes(bytes) = &mut own.0 {
            self.fill(bytes);
        }
        Some(block)
    }
}

/// Bytes that lie in pieces.
#[derive(Debug, Clone, Copy)]
pub struct Bytes<'b> {
    inside: &'b [u8],
    near: &'b [Option<Block>; NEAR],
    far: Option<&'b Block>,
    /// Bytes of the blocks that come before.
    skip: usize,
    len: usize,
}

impl<'b> Bytes<'b> {
    /// How many bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All of them, where they lie in one piece.
    pub fn whole(&self) -> Option<&'b [u8]> {
        (self.inside.len() == self.len).then_some(self.inside)
    }

    /// The pieces in their order.
    pub fn pieces(&self) -> impl Iterator<Item = &'b [u8]> {
        let (mut skip, mut left) = (self.skip, self.len - self.inside.len());
        let far = std::iter::successors(self.far.and_then(index), |far| far.next.as_ref().and_then(index));
        let blocks = self.near.iter().chain(far.flat_map(|far| &far.blocks)).map_while(Option::as_ref);
        let outside = blocks.map_while(move |block| {
            let Node::Bytes(block) = &block.0 else { return None };
            if skip >= BYTES {
                skip -= BYTES;
                return Some(&block[..0]);
            }
            let piece = &block[std::mem::take(&mut skip)..];
            let piece = &piece[..piece.len().min(left)];
            left -= piece.len();
            (!piece.is_empty()).then_some(piece)
        });
        std::iter::once(self.inside).chain(outside)
    }

    /// Copies them behind what is in `out`.
    pub fn append_to(&self, out: &mut Vec<u8>) {
        out.reserve(self.len);
        self.pieces().for_each(|piece| out.extend_from_slice(piece));
    }
}

fn index(block: &Block) -> Option<&Index> {
    match &block.0 {
        Node::Index(index) => Some(index),
        Node::Bytes(_) | Node::Head(_) => None,
    }
}

impl PartialEq<[u8]> for Bytes<'_> {
    fn eq(&self, other: &[u8]) -> bool {
        if let Some(whole) = self.whole() {
            return whole == other;
        }
        let mut rest = other;
        self.len == other.len()
            && self.pieces().all(|piece| {
                let (now, later) = rest.split_at(piece.len());
                rest = later;
                piece == now
            })
    }
}

#[cfg(test)]
mod tests;
