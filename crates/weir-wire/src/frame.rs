//! Packets: headers, and payloads cut into packets of at most 16 MiB - 1.

use crate::{HEADER, MAX_PAYLOAD};

/// A packet header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Length of the payload, 0 to 0xFFFFFF.
    pub len: usize,
    pub seq: u8,
}

impl Header {
    /// Reads a header from the front of `bytes`; `None` where fewer than four are there.
    #[inline]
    pub fn peek(bytes: &[u8]) -> Option<Header> {
        let head: &[u8; HEADER] = bytes.first_chunk()?;
        let word = u32::from_le_bytes(*head);
        Some(Header { len: (word & 0xFF_FFFF) as usize, seq: (word >> 24) as u8 })
    }

    pub fn to_bytes(self) -> [u8; HEADER] {
        ((self.len as u32 & 0xFF_FFFF) | (u32::from(self.seq) << 24)).to_le_bytes()
    }

    /// Whether another packet of the same payload follows this one.
    #[inline]
    pub fn continues(self) -> bool {
        self.len == MAX_PAYLOAD
    }
}

/// Appends `payload` as one packet or, from 16 MiB - 1 on, as several, the last of which may be empty.
/// Returns the sequence id of the next packet.
pub fn put_packet(out: &mut Vec<u8>, mut seq: u8, payload: &[u8]) -> u8 {
    let mut rest = payload;
    loop {
        let (head, tail) = rest.split_at(rest.len().min(MAX_PAYLOAD));
        out.extend_from_slice(&Header { len: head.len(), seq }.to_bytes());
        out.extend_from_slice(head);
        seq = seq.wrapping_add(1);
        if head.len() < MAX_PAYLOAD {
            return seq;
        }
        rest = tail;
    }
}

/// The first packet of `bytes` and what follows it; `None` where it is not complete.
pub fn split_packet(bytes: &[u8]) -> Option<(Header, &[u8], &[u8])> {
    let header = Header::peek(bytes)?;
    let body = bytes.get(HEADER..)?;
    (body.len() >= header.len).then(|| {
        let (payload, rest) = body.split_at(header.len);
        (header, payload, rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p1_payloads_at_the_boundary_end_in_a_short_packet() {
        for (len, packets, last) in [
            (0, 1, 0),
            (MAX_PAYLOAD - 1, 1, MAX_PAYLOAD - 1),
            (MAX_PAYLOAD, 2, 0),
            (MAX_PAYLOAD + 1, 2, 1),
            (2 * MAX_PAYLOAD, 3, 0),
        ] {
            let mut out = Vec::new();
            let next = put_packet(&mut out, 0, &vec![7; len]);
            assert_eq!(usize::from(next), packets);
            let (mut rest, mut seen, mut tail) = (out.as_slice(), 0, 0);
            while let Some((header, payload, after)) = split_packet(rest) {
                assert_eq!(usize::from(header.seq), seen);
                seen += 1;
                tail = payload.len();
                rest = after;
            }
            assert_eq!((seen, tail, rest.len()), (packets, last, 0), "payload of {len}");
        }
    }

    #[test]
    fn p2_sequence_ids_wrap_at_256() {
        let mut out = Vec::new();
        assert_eq!(put_packet(&mut out, 255, b"x"), 0);
    }
}
