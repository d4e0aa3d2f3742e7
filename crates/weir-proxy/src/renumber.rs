//! Sequence ids of a server that compresses. Such a server counts frames, of which a request may take any number, and
//! goes on from there in the packets of its answer. A client whose link is not compressed expects the number behind
//! its own last packet and gives up on any other (trap P11), so its packets are numbered anew.

use weir_wire::HEADER;
use weir_wire::frame::Header;

/// Bytes of a packet that another one continues, with its header.
const FULL_PACKET: u64 = (weir_wire::MAX_PAYLOAD + HEADER) as u64;

/// Numbers the packets of one answer after another.
#[derive(Debug, Default)]
pub(crate) struct Renumber {
    next: Option<u8>,
    /// Bytes of the current packet still to come.
    left: usize,
}

impl Renumber {
    /// A new command; its answer is not known to begin yet.
    pub fn restart(&mut self) {
        *self = Self::default();
    }

    /// The answer goes on behind a packet of the client that carried `seq` (the end of a local file).
    pub fn follow(&mut self, seq: u8) {
        self.next = Some(seq.wrapping_add(1));
    }

    /// The id that the next packet gets, behind a request that took `request_bytes`.
    pub fn next(&self, request_bytes: u64) -> u8 {
        // The number of packets is what counts, modulo 256.
        let full = request_bytes.saturating_sub(HEADER as u64) / FULL_PACKET;
        self.next.unwrap_or((full as u8).wrapping_add(1))
    }

    /// Numbers the packets in `bytes`, in which no header is cut.
    pub fn apply(&mut self, bytes: &mut [u8], request_bytes: u64) {
        let mut seq = self.next(request_bytes);
        let mut at = self.left.min(bytes.len());
        self.left -= at;
        while let Some(header) = bytes.get(at..).and_then(Header::peek) {
            if let Some(number) = bytes.get_mut(at + HEADER - 1) {
                *number = seq;
            }
            seq = seq.wrapping_add(1);
            let end = at + HEADER + header.len;
            self.left = end.saturating_sub(bytes.len());
            at = end.min(bytes.len());
        }
        self.next = Some(seq);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_wire::frame::put_packet;

    #[test]
    fn p11_answers_are_numbered_behind_the_request_wherever_they_are_cut() {
        for (request, first) in
            [(5, 1), (FULL_PACKET + 3, 1), (FULL_PACKET + 4, 2), (2 * FULL_PACKET + 10, 3)]
        {
            // Between two packets, behind a header, within a payload.
            for cut in [5, 9, 10, 12] {
                let (mut bytes, mut wanted) = (Vec::new(), Vec::new());
                for (i, payload) in [&b"\x02"[..], b"row", b"", b"x"].into_iter().enumerate() {
                    put_packet(&mut bytes, 77 + i as u8, payload);
                    put_packet(&mut wanted, first + i as u8, payload);
                }
                let (head, tail) = bytes.split_at_mut(cut);
                let mut renumber = Renumber::default();
                renumber.apply(head, request);
                renumber.apply(tail, request);
                assert_eq!(bytes, wanted, "{request} {cut}");
            }
        }
    }

    #[test]
    fn p11_numbers_wrap_and_follow_a_local_file() {
        let mut bytes = Vec::new();
        put_packet(&mut bytes, 9, b"a");
        put_packet(&mut bytes, 9, b"b");
        let mut renumber = Renumber::default();
        renumber.follow(254);
        renumber.apply(&mut bytes, 5);
        assert_eq!((bytes[3], bytes[8], renumber.next(5)), (255, 0, 1));
        renumber.restart();
        assert_eq!(renumber.next(5), 1);
    }
}
