//! Finds the boundaries of requests in a client's stream without looking at more than it must.

use crate::HEADER;
use crate::frame::Header;

/// What stands at the front of the bytes a client sent, at a boundary between commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request<'a> {
    /// Not even a header and, where the payload has one, a command byte.
    Incomplete,
    /// A whole command. `len` counts its bytes with the header.
    Whole { header: Header, payload: &'a [u8], len: usize },
    /// The beginning of a command: what is there of its first packet's payload (never empty).
    Begun { header: Header, so_far: &'a [u8] },
}

impl<'a> Request<'a> {
    #[inline]
    pub fn peek(bytes: &'a [u8]) -> Request<'a> {
        let Some(header) = Header::peek(bytes) else { return Request::Incomplete };
        let body = &bytes[HEADER..];
        if body.len() >= header.len && !header.continues() {
            return Request::Whole { header, payload: &body[..header.len], len: HEADER + header.len };
        }
        if body.is_empty() {
            return Request::Incomplete;
        }
        Request::Begun { header, so_far: &body[..body.len().min(header.len)] }
    }
}

/// Follows packets of a client to the last one that belongs together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Bytes of the current packet's payload still to come.
    left: u32,
    /// The current packet is the last.
    last: bool,
    end: End,
}

/// What the last packet of a span is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The one that ends the payload.
    OfPayload,
    /// An empty one.
    Empty,
}

impl Span {
    /// One payload, from the boundary before its first packet: requests too long to hold.
    pub fn before_packet() -> Span {
        Span { left: 0, last: false, end: End::OfPayload }
    }

    /// The packets that a client sends for LOAD DATA LOCAL: an empty one ends them.
    pub fn local_infile() -> Span {
        Span { left: 0, last: false, end: End::Empty }
    }

    /// Takes what belongs to the span from the front of `bytes`. Returns how many bytes that is (headers
    /// included) and whether the span is complete. A cut header at the end is left for the next call.
    pub fn take(&mut self, bytes: &[u8]) -> (usize, bool) {
        self.follow(bytes, |_| {})
    }

    /// As [`Self::take`]; the packets that begin in `bytes` get the sequence ids from `seq` on.
    pub fn renumber(&mut self, bytes: &mut [u8], seq: &mut u8) -> (usize, bool) {
        let mut headers = Vec::new();
        let taken = self.follow(bytes, |at| headers.push(at));
        number(bytes, &headers, seq);
        taken
    }

    fn follow(&mut self, bytes: &[u8], mut header_at: impl FnMut(usize)) -> (usize, bool) {
        let mut at = 0;
        loop {
            let n = (bytes.len() - at).min(self.left as usize);
            self.left -= n as u32;
            at += n;
            if self.left > 0 {
                return (at, false);
            }
            if self.last {
                return (at, true);
            }
            let Some(header) = Header::peek(&bytes[at..]) else { return (at, false) };
            header_at(at);
            at += HEADER;
            self.left = header.len as u32;
            self.last = match self.end {
                End::OfPayload => !header.continues(),
                End::Empty => header.len == 0,
            };
        }
    }
}

/// Writes running sequence ids into the headers at these places.
fn number(bytes: &mut [u8], headers: &[usize], seq: &mut u8) {
    for at in headers {
        bytes[at + 3] = *seq;
        *seq = seq.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MAX_PAYLOAD;
    use crate::frame::put_packet;
    use proptest::prelude::*;

    #[test]
    fn whole_begun_and_incomplete_are_told_apart() {
        let mut bytes = Vec::new();
        put_packet(&mut bytes, 0, b"\x03SELECT 1");
        for cut in 0..5 {
            assert_eq!(Request::peek(&bytes[..cut.min(4)]), Request::Incomplete);
        }
        assert!(matches!(Request::peek(&bytes[..6]), Request::Begun { so_far: b"\x03S", .. }));
        assert!(matches!(Request::peek(&bytes), Request::Whole { payload: b"\x03SELECT 1", len: 13, .. }));
        assert!(matches!(Request::peek(b"\0\0\0\0"), Request::Whole { payload: b"", len: 4, .. }));
    }

    #[test]
    fn p1_a_full_packet_is_not_whole_before_its_trailer() {
        let mut bytes = Vec::new();
        put_packet(&mut bytes, 0, &vec![3; MAX_PAYLOAD]);
        let Request::Begun { so_far, .. } = Request::peek(&bytes) else { panic!("taken for whole") };
        assert_eq!(so_far.len(), MAX_PAYLOAD);
        let mut span = Span::before_packet();
        assert_eq!(span.take(&bytes[..bytes.len() - 4]), (bytes.len() - 4, false));
        assert_eq!(span.take(&bytes[bytes.len() - 4..]), (4, true));
    }

    #[test]
    fn p11_packets_of_a_compressing_client_are_numbered_anew() {
        let mut bytes = Vec::new();
        put_packet(&mut bytes, 40, &vec![3; MAX_PAYLOAD + 1]);
        let mut span = Span::before_packet();
        let mut seq = 0;
        assert_eq!(span.renumber(&mut bytes, &mut seq), (MAX_PAYLOAD + 9, true));
        assert_eq!((bytes[3], bytes[MAX_PAYLOAD + 7], seq), (0, 1, 2));

        let mut bytes = Vec::new();
        put_packet(&mut bytes, 7, b"line");
        put_packet(&mut bytes, 7, b"");
        let mut seq = 2;
        assert_eq!(Span::local_infile().renumber(&mut bytes, &mut seq), (12, true));
        assert_eq!((bytes[3], bytes[11], seq), (2, 3, 4));
    }

    #[test]
    fn p51_file_bytes_that_look_like_commands_stay_data() {
        let mut bytes = Vec::new();
        put_packet(&mut bytes, 2, b"\x01\0\0\0\x01");
        put_packet(&mut bytes, 3, b"");
        let data = bytes.len();
        put_packet(&mut bytes, 0, b"\x0e");
        assert_eq!(Span::local_infile().take(&bytes), (data, true));
    }

    proptest! {
        #[test]
        fn cuts_do_not_matter(lens in prop::collection::vec(0usize..40, 1..4), cuts in prop::collection::vec(1usize..9, 1..60)) {
            let mut bytes = Vec::new();
            for len in &lens {
                put_packet(&mut bytes, 2, &vec![1; *len + 1]);
            }
            put_packet(&mut bytes, 2, b"");
            let (mut follower, mut held, mut fed, mut done) = (Span::local_infile(), Vec::new(), 0, false);
            for cut in cuts.iter().cycle() {
                if fed == bytes.len() { break }
                let next = (fed + cut).min(bytes.len());
                held.extend_from_slice(&bytes[fed..next]);
                fed = next;
                let (n, end) = follower.take(&held);
                held.drain(..n);
                done = end;
            }
            prop_assert!(done && held.is_empty());
        }
    }
}
