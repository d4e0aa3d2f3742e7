//! Eight bytes of a statement at once.

/// A one in the lowest bit of each byte.
const EACH: u64 = u64::from_le_bytes([1; 8]);
const HIGH: u64 = EACH << 7;

/// Eight bytes, the first in the lowest place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Eight(u64);

impl Eight {
    /// Those at `at`; zeros for those behind the end.
    #[inline]
    pub(crate) fn at(sql: &[u8], at: usize) -> Self {
        match sql.get(at..at + 8).and_then(<[u8]>::first_chunk) {
            Some(bytes) => Self(u64::from_le_bytes(*bytes)),
            None => Self::at_end(sql, at),
        }
    }

    /// The same where there are fewer.
    fn at_end(sql: &[u8], at: usize) -> Self {
        let rest = sql.get(at..).unwrap_or_default();
        if let Some(bytes) = sql.last_chunk::<8>().filter(|_| !rest.is_empty()) {
            return Self(u64::from_le_bytes(*bytes) >> (64 - 8 * rest.len()));
        }
        Self(rest.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte)))
    }

    /// How many bytes at the front are ASCII letters, digits or `_`.
    #[inline]
    pub(crate) fn word_len(self) -> usize {
        let seven = self.0 & !HIGH;
        let small = seven | (EACH * 0x20);
        let is_letter = between(small, b'a', b'z');
        let is_line = between(seven, b'_', b'_');
        front((is_letter | between(seven, b'0', b'9') | is_line) & !self.0)
    }

    /// How many bytes at the front are digits.
    #[inline]
    pub(crate) fn digits_len(self) -> usize {
        front(between(self.0 & !HIGH, b'0', b'9') & !self.0)
    }

    /// The first bytes, at most eight of them, with capital letters made small, and zeros behind. Of the other bytes of
    /// identifiers this makes others, and no two the same.
    #[inline]
    pub(crate) fn folded(self, len: usize) -> u64 {
        let all = self.0 | (EACH * 0x20);
        if len < 8 { all & !(!0 << (8 * len)) } else { all }
    }
}

/// The high bit of each byte that lies between the two; all must be below 0x80.
#[inline]
fn between(bytes: u64, first: u8, last: u8) -> u64 {
    let from = bytes + EACH * u64::from(0x80 - first);
    let beyond = bytes + EACH * u64::from(0x7F - last);
    from & !beyond
}

/// How many bytes at the front have their high bit set.
#[inline]
fn front(bits: u64) -> usize {
    (!bits & HIGH).trailing_zeros() as usize / 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_is_what_it_is_alone() {
        for byte in 0..=u8::MAX {
            let is_word = byte.is_ascii_alphanumeric() || byte == b'_';
            for place in 0..8 {
                let mut bytes = *b"a_Z09zA7";
                bytes[place] = byte;
                let eight = Eight::at(&bytes, 0);
                let word = if is_word { 8 } else { place };
                assert_eq!(eight.word_len(), word, "{}", bytes.escape_ascii());
                let mut bytes = *b"01234589";
                bytes[place] = byte;
                let digits = if byte.is_ascii_digit() { 8 } else { place };
                assert_eq!(Eight::at(&bytes, 0).digits_len(), digits, "{}", bytes.escape_ascii());
            }
        }
    }

    #[test]
    fn nothing_stands_behind_the_end() {
        let sql = b"Select 1 from t";
        for end in 0..=sql.len() {
            for at in 0..=end {
                let mut expected = [0; 8];
                for (to, from) in expected.iter_mut().zip(&sql[at..end]) {
                    *to = *from;
                }
                assert_eq!(Eight::at(&sql[..end], at), Eight(u64::from_le_bytes(expected)));
            }
        }
        assert_eq!(Eight::at(b"SELECT_1 ", 0).folded(6), u64::from_le_bytes(*b"select\0\0"));
        assert_eq!(Eight::at(b"SELECTED ", 0).folded(8), u64::from_le_bytes(*b"selected"));
    }
}
