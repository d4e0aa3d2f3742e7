//! What the fuzz targets share. Each target is a file in `src/bin`; its seeds lie in `corpus/<target>`.
//!
//! Where a target needs more than the bytes of a peer (flags, a command, where to cut), it takes them from the
//! front of the input with [`Input`], so that a seed can be written by hand.

use weir_model::ServerFamily;
use weir_sql::{CharsetClass, LexMode};

/// An input: parameters first, then the bytes of a peer.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub fn new(data: &'a [u8]) -> Self {
        Self(data)
    }

    /// The next parameter; 0 behind the end.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// The next four bytes, little end first.
    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    /// The next eight bytes, little end first.
    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    /// Lengths of the pieces to cut the rest into.
    pub fn cuts(&mut self) -> Cuts {
        Cuts(u64::from(self.u32()) | 1 << 32)
    }

    pub fn rest(self) -> &'a [u8] {
        self.0
    }
}

/// An endless row of lengths, most of them short; equal for equal seeds.
#[derive(Debug, Clone)]
pub struct Cuts(u64);

impl Cuts {
    /// The next length, from 1 to 4096.
    pub fn next_len(&mut self) -> usize {
        // xorshift64 (Marsaglia, 2003).
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let bits = self.0 >> 32;
        1 + (bits % (2 << (bits >> 8 & 0xFF) % 12)) as usize
    }
}

/// Feeds `bytes` to `take` as a connection would: in pieces, with what `take` did not consume held back and
/// handed over again with more. Ends when `take` says so or everything was fed.
pub fn feed<R>(bytes: &[u8], mut cuts: Cuts, mut take: impl FnMut(&[u8]) -> (usize, Option<R>)) -> Option<R> {
    let (mut at, mut fed) = (0, 0);
    loop {
        let (n, result) = take(&bytes[at..fed]);
        assert!(n <= fed - at, "more consumed than there was");
        at += n;
        if result.is_some() {
            return result;
        }
        if fed == bytes.len() {
            return None;
        }
        fed = (fed + cuts.next_len()).min(bytes.len());
    }
}

/// Cuts the rest of an input into payloads, each behind its length in two bytes, little end first; the last one
/// may be cut short.
pub fn payloads(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, after) = rest.split_first_chunk::<2>()?;
        let (payload, after) = after.split_at(after.len().min(usize::from(u16::from_le_bytes(*length))));
        rest = after;
        Some(payload)
    })
}

/// Whether `bytes` hold `part` somewhere.
pub fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// A way to split statements, from two bytes of the input.
pub fn lex_mode(input: &mut Input<'_>) -> LexMode {
    const CHARSETS: [CharsetClass; 7] = [
        CharsetClass::AsciiSafe,
        CharsetClass::BlankA0,
        CharsetClass::BlankFf,
        CharsetClass::Big5,
        CharsetClass::Gbk,
        CharsetClass::Gb18030,
        CharsetClass::Sjis,
    ];
    let (switches, charset) = (input.byte(), input.byte());
    let mariadb = switches & 1 == 1;
    let versions = if mariadb { [101_119, 120_000, 50_568, 0] } else { [90_704, 80_036, 50_700, 0] };
    let family = if mariadb { ServerFamily::MariaDb } else { ServerFamily::MySql };
    LexMode {
        ansi_quotes: switches & 2 != 0,
        no_backslash_escapes: switches & 4 != 0,
        charset: CHARSETS[usize::from(charset) % CHARSETS.len()],
        ..LexMode::new(family, versions[usize::from(switches >> 3 & 3)])
    }
}
