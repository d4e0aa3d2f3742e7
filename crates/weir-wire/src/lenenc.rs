//! Integers and strings of the protocol: fixed little-endian, length-encoded, NUL-terminated.

use crate::Malformed;

/// Reads from a payload front to back; every method fails instead of reading past the end.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    what: &'static str,
}

impl<'a> Reader<'a> {
    /// `what` names the packet in errors.
    pub fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Self { bytes, what }
    }

    pub fn remaining(&self) -> usize {
        self.bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }

    pub fn take(&mut self, n: usize) -> Result<&'a [u8], Malformed> {
        if n > self.bytes.len() {
            return Err(Malformed(self.what));
        }
        let (head, tail) = self.bytes.split_at(n);
        self.bytes = tail;
        Ok(head)
    }

    pub fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(self.uint(1)? as u8)
    }

    pub fn u16(&mut self) -> Result<u16, Malformed> {
        Ok(self.uint(2)? as u16)
    }

    pub fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(self.uint(4)? as u32)
    }

    /// A fixed-length integer of up to eight bytes.
    pub fn uint(&mut self, n: usize) -> Result<u64, Malformed> {
        let bytes = self.take(n)?;
        Ok(bytes.iter().rev().fold(0, |acc, b| (acc << 8) | u64::from(*b)))
    }

    /// A length-encoded integer; 0xFB (NULL in a row) and 0xFF are errors here.
    pub fn lenenc(&mut self) -> Result<u64, Malformed> {
        match self.u8()? {
            n @ 0..=0xFA => Ok(u64::from(n)),
            0xFC => self.uint(2),
            0xFD => self.uint(3),
            0xFE => self.uint(8),
            _ => Err(Malformed(self.what)),
        }
    }

    pub fn lenenc_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let n = self.lenenc()?;
        self.take(usize::try_from(n).map_err(|_| Malformed(self.what))?)
    }

    /// A string that ends in NUL, which is taken and not returned.
    pub fn nul_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let end = memchr::memchr(0, self.bytes).ok_or(Malformed(self.what))?;
        let head = self.take(end)?;
        self.take(1)?;
        Ok(head)
    }

    /// As [`Self::nul_bytes`], but the end of the packet ends the string as well (clients differ here).
    pub fn nul_or_rest(&mut self) -> &'a [u8] {
        self.nul_bytes().unwrap_or_else(|_| self.rest())
    }
}

/// Appends a length-encoded integer.
pub fn put_lenenc(out: &mut Vec<u8>, n: u64) {
    match n {
        0..=0xFA => out.push(n as u8),
        0xFB..=0xFFFF => {
            out.push(0xFC);
            out.extend_from_slice(&(n as u16).to_le_bytes());
        }
        0x1_0000..=0xFF_FFFF => {
            out.push(0xFD);
            out.extend_from_slice(&(n as u32).to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xFE);
            out.extend_from_slice(&n.to_le_bytes());
        }
    }
}

/// Appends a length-encoded string.
pub fn put_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_lenenc(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a NUL-terminated string.
pub fn put_nul_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn integers_survive_the_round_trip(n: u64) {
            let mut out = Vec::new();
            put_lenenc(&mut out, n);
            let mut reader = Reader::new(&out, "integer");
            prop_assert_eq!(reader.lenenc(), Ok(n));
            prop_assert!(reader.is_empty());
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes: Vec<u8>) {
            let mut reader = Reader::new(&bytes, "noise");
            let _ = reader.lenenc_bytes();
            let _ = reader.nul_bytes();
            let _ = reader.u32();
            let _ = reader.nul_or_rest();
        }
    }

    #[test]
    fn boundaries_of_the_integer_forms() {
        for (n, len) in [(0xFA, 1), (0xFB, 3), (0xFFFF, 3), (0x1_0000, 4), (0xFF_FFFF, 4), (0x100_0000, 9)] {
            let mut out = Vec::new();
            put_lenenc(&mut out, n);
            assert_eq!(out.len(), len, "{n:#x}");
        }
    }
}
