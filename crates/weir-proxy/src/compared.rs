//! What counts of an answer when two are compared: all of its bytes, but for the flags that say how the server came by it. A run
//! that was slow, or took another plan, has found the same.

use std::borrow::Cow;
use weir_wire::packet::status;

/// Flags that say nothing of the result.
pub(crate) const EFFORT: u16 = status::NO_GOOD_INDEX_USED | status::NO_INDEX_USED | status::QUERY_WAS_SLOW;

/// A packet's header, and what an EOF or OK packet behind rows has up to its flags.
const HEAD: usize = 9;

/// Passes an answer on without those flags, in whichever pieces it comes.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    /// The first bytes of the packet at hand, as far as they have come.
    head: [u8; HEAD],
    filled: usize,
    /// What is still to come of it behind those.
    rest: usize,
}

impl Compared {
    /// Hands on what is known to count.
    pub fn take(&mut self, mut bytes: &[u8], mut pass: impl FnMut(&[u8])) {
        while !bytes.is_empty() {
            if self.rest > 0 {
                let (part, more) = bytes.split_at(self.rest.min(bytes.len()));
                self.rest -= part.len();
                pass(part);
                bytes = more;
                continue;
            }
            let wanted = self.wanted();
            let (part, more) = bytes.split_at((wanted - self.filled).min(bytes.len()));
            self.head[self.filled..self.filled + part.len()].copy_from_slice(part);
            self.filled += part.len();
            bytes = more;
            let wanted = self.wanted();
            if self.filled == wanted && wanted >= 4 {
                self.pass_head(&mut pass);
            }
        }
    }

    /// So many bytes of the head make it whole.
    fn wanted(&self) -> usize {
        if self.filled < 4 { 4 } else { 4 + self.len().min(HEAD - 4) }
    }

    fn len(&self) -> usize {
        let [a, b, c, ..] = self.head;
        usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16
    }

    fn pass_head(&mut self, pass: &mut impl FnMut(&[u8])) {
        let len = self.len();
        // No row begins so that is shorter than 16 MiB. Neither rows nor an insert id stand ahead of the flags, behind rows.
        if self.filled == HEAD && self.head[4] == 0xfe && len < 0xff_ffff {
            let flags = u16::from_le_bytes([self.head[7], self.head[8]]) & !EFFORT;
            self.head[7..].copy_from_slice(&flags.to_le_bytes());
        }
        pass(&self.head[..self.filled]);
        (self.rest, self.filled) = (len.saturating_sub(HEAD - 4), 0);
    }

    /// An answer that is here as a whole, and whose last flags are these: no others were in it.
    pub fn whole(answer: &[u8], flags: u16) -> Cow<'_, [u8]> {
        if flags & EFFORT == 0 {
            return Cow::Borrowed(answer);
        }
        let mut out = Vec::with_capacity(answer.len());
        Self::default().take(answer, |bytes| out.extend_from_slice(bytes));
        Cow::Owned(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets with these payloads.
    fn packets(payloads: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        for (seq, payload) in payloads.iter().enumerate() {
            out.extend_from_slice(&(payload.len() as u32).to_le_bytes()[..3]);
            out.push(seq as u8);
            out.extend_from_slice(payload);
        }
        out
    }

    fn compared(answer: &[u8], piece: usize) -> Vec<u8> {
        let (mut out, mut compared) = (Vec::new(), Compared::default());
        answer.chunks(piece).for_each(|bytes| compared.take(bytes, |bytes| out.extend_from_slice(bytes)));
        out
    }

    #[test]
    fn the_flags_of_the_effort_are_left_out_and_nothing_else_whatever_the_pieces() {
        let row = [&[200][..], &[0xfe; 200]].concat();
        let answer = |flags: u16, end: &[u8]| {
            let [low, high] = flags.to_le_bytes();
            let eof = [0xfe, 0, 0, low, high];
            let ok = [&[0xfe, 0, 0, low, high, 0, 0][..], end].concat();
            packets(&[&[1], b"\x03def\x00", &eof, &row, b"", b"\x01a", &ok])
        };
        for other in [status::AUTOCOMMIT, status::AUTOCOMMIT | status::IN_TRANS] {
            let plain = answer(other, b"");
            for effort in [status::QUERY_WAS_SLOW, status::NO_INDEX_USED, EFFORT] {
                for piece in [1, 3, 4, 5, 9, 10, 1000] {
                    assert_eq!(compared(&answer(other | effort, b""), piece), plain, "pieces of {piece}");
                    assert_eq!(compared(&plain, piece), plain, "pieces of {piece}");
                }
                assert_eq!(*Compared::whole(&answer(other | effort, b""), other | effort), plain);
            }
            assert_eq!(*Compared::whole(&plain, other), plain);
        }
        assert_ne!(
            compared(&answer(status::AUTOCOMMIT, b""), 7),
            compared(&answer(status::IN_TRANS, b""), 7)
        );
        assert_ne!(compared(&answer(EFFORT, b"x"), 7), compared(&answer(EFFORT, b"y"), 7));
    }
}
