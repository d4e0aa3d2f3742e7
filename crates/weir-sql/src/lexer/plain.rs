//! Plain words, whole numbers and single points: nearly every token of a statement, and the same in every mode.

use super::{Eight, Lexer};
use crate::words::WordId;
use crate::{Token, TokenKind};

/// What a byte is where a token begins, or where a word or number may end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// It depends on the mode, or on what follows.
    Other,
    Blank,
    /// An operator of one byte, whatever follows.
    Point,
    /// A number may go on with it.
    Dot,
    /// Behind a word or number it may make something else of it.
    Sticky,
    Digit,
    Letter,
}

static CLASSES: [Class; 256] = {
    let mut classes = [Class::Sticky; 256];
    let mut byte = 0;
    while byte < 128 {
        classes[byte] = match byte as u8 {
            b' ' | b'\t'..=b'\r' => Class::Blank,
            b'(' | b')' | b',' | b'=' => Class::Point,
            b'.' => Class::Dot,
            b'$' | b'\'' => Class::Sticky,
            b'0'..=b'9' => Class::Digit,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => Class::Letter,
            _ => Class::Other,
        };
        byte += 1;
    }
    classes
};

fn class(byte: u8) -> Class {
    CLASSES[usize::from(byte)]
}

impl Lexer<'_> {
    /// The next token that is no blank.
    pub(crate) fn next_dense(&mut self) -> Option<Token> {
        self.next_dense_here()
    }

    /// The same, for a loop that has nothing else to do.
    #[inline(always)]
    pub(crate) fn next_dense_here(&mut self) -> Option<Token> {
        let mut first = *self.sql.get(self.pos)?;
        // Behind a dropped number a blank is no blank.
        while class(first) == Class::Blank && !self.raw_expected {
            self.pos += 1;
            first = *self.sql.get(self.pos)?;
        }
        if let Some(token) = self.plain(first) {
            self.pos = token.end as usize;
            self.previous = Some(token);
            return Some(token);
        }
        self.next_other()
    }

    #[inline(never)]
    fn next_other(&mut self) -> Option<Token> {
        if !self.raw_expected {
            self.pass_blanks();
        }
        self.next()
    }

    /// The token at this place, if its first byte and the one behind it tell all.
    #[inline(always)]
    fn plain(&self, first: u8) -> Option<Token> {
        let start = self.pos;
        if self.name_expected || self.raw_expected {
            return None;
        }
        let mut end = start + 1;
        let (kind, code) = match class(first) {
            Class::Point => (TokenKind::Operator, u16::from(first)),
            Class::Letter => {
                let word;
                (word, end) = WordId::read(self.sql, start);
                if class(self.byte_or_blank(end)) == Class::Sticky {
                    return None;
                }
                (TokenKind::Word, word.code())
            }
            Class::Digit => {
                let mut len = Eight::at(self.sql, start).digits_len();
                end = start + len;
                while len == 8 {
                    len = Eight::at(self.sql, end).digits_len();
                    end += len;
                }
                if class(self.byte_or_blank(end)) >= Class::Dot {
                    return None;
                }
                (TokenKind::Number, 0)
            }
            _ => return None,
        };
        Some(Token { kind, code, start: start as u32, end: end as u32 })
    }

    #[inline]
    fn byte_or_blank(&self, at: usize) -> u8 {
        self.sql.get(at).copied().unwrap_or(b' ')
    }
}
