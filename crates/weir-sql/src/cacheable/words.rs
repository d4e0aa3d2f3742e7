//! Words in small letters, to be matched against.

use crate::{Token, TokenKind};

/// A word of at most 32 bytes in small letters; empty for a longer one, which is no keyword.
pub(super) struct Folded {
    bytes: [u8; Self::LONGEST],
    len: usize,
}

impl Folded {
    const LONGEST: usize = 32;

    pub(super) fn of(word: &[u8]) -> Self {
        let mut folded = Self { bytes: [0; Self::LONGEST], len: 0 };
        if let Some(bytes) = folded.bytes.get_mut(..word.len()) {
            bytes.copy_from_slice(word);
            bytes.make_ascii_lowercase();
            folded.len = word.len();
        }
        folded
    }

    /// Of a token that is no word: empty.
    pub(super) fn of_word(token: Token, sql: &[u8]) -> Self {
        Self::of(if token.kind == TokenKind::Word { token.text(sql) } else { b"" })
    }

    pub(super) fn text(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}
