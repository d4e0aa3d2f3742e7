//! Plain words, whole numbers and single points: nearly every token of a statement, and the same in every mode.

use super::{Eight, Lexer};
use crate::words::WordId;
use crate::{Token, TokenKind};

/// What a byte is where a token begins. Those from `Digit` on go on with a word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// It depends on the mode, or on what follows.
    Other,
    Blank,
    /// An operator of one byte, whatever follows.
    Point,
    Digit,
    Letter,
}

static CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    let mut byte = 0;
    while byte < 128 {
        classes[byte] = match byte as u8 {
            b' ' | b'\t'..=b'\r' => Class::Blank,
            b'(' | b')' | b',' | b'=' => Class::Point,
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
    #[inline]
    pub(crate) fn next_dense(&mut self) -> Option<Token> {
        if self.raw_expected {
            return self.next();
        }
        let mut first = *self.sql.get(self.pos)?;
        while class(first) == Class::Blank {
            self.pos += 1;
            first = *self.sql.get(self.pos)?;
        }
        if let Some(token) = self.plain(first) {
            self.pos = token.end as usize;
            self.previous = Some(token);
            return Some(token);
        }
        self.pass_blanks();
        self.next()
    }

    /// The token at this place, if its first byte and the one behind it tell all.
    #[inline]
    fn plain(&self, first: u8) -> Option<Token> {
        let start = self.pos;
        let mut end = start + 1;
        let (kind, code) = match class(first) {
            Class::Point => (TokenKind::Operator, u16::from(first)),
            Class::Letter if !self.name_expected => {
                let mut eight = Eight::at(self.sql, start);
                let mut len = eight.word_len();
                end = start + len;
                let first = eight.folded(len);
                let mut second = 0;
                if len == 8 {
                    eight = Eight::at(self.sql, end);
                    len = eight.word_len();
                    second = eight.folded(len);
                    end += len;
                }
                if len == 8 {
                    while class(self.byte_or_blank(end)) >= Class::Digit {
                        end += 1;
                    }
                }
                if matches!(self.byte_or_blank(end), b'\'' | b'$' | 0x80..) {
                    return None;
                }
                (TokenKind::Word, WordId::of_key((first, second), self.sql, start, end).code())
            }
            Class::Digit if !self.name_expected => {
                let mut len = Eight::at(self.sql, start).digits_len();
                end = start + len;
                while len == 8 {
                    len = Eight::at(self.sql, end).digits_len();
                    end += len;
                }
                let behind = self.byte_or_blank(end);
                if class(behind) == Class::Letter || matches!(behind, b'.' | b'$' | 0x80..) {
                    return None;
                }
                (TokenKind::Number, 0)
            }
            _ => return None,
        };
        Some(Token { kind, code, start: start as u32, end: end as u32 })
    }

    fn byte_or_blank(&self, at: usize) -> u8 {
        self.sql.get(at).copied().unwrap_or(b' ')
    }
}
