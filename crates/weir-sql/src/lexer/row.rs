//! Rows of literals, as a long INSERT has them by the thousand: read without a token for each literal.

use super::Lexer;
use crate::{Token, TokenKind};

/// A row of literals in parentheses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    /// Where it ends, in bytes.
    pub(crate) end: usize,
    /// It has more than one value.
    pub(crate) is_wide: bool,
}

impl<'a> Lexer<'a> {
    /// The row whose `(` stands at `open`, if there are nothing but literals in it, each with one sign at most.
    /// Nothing was read then or otherwise.
    pub(crate) fn row(&self, open: usize) -> Option<Row> {
        let mut ahead = self.clone().at(self.sql, open + 1);
        let mut values = 0_usize;
        loop {
            ahead.value()?;
            values += 1;
            ahead.pass_blanks();
            let byte = ahead.byte(ahead.pos)?;
            ahead.pos += 1;
            match byte {
                b',' => {}
                b')' => return Some(Row { end: ahead.pos, is_wide: values > 1 }),
                _ => return None,
            }
        }
    }

    /// Where the last one ends of rows as wide as this, the first of them with its `(` at `open`, and a comma between
    /// each two.
    pub(crate) fn rows(&self, open: usize, is_wide: bool) -> Option<usize> {
        let mut end = self.row(open).filter(|row| row.is_wide == is_wide)?.end;
        let mut ahead = self.clone();
        loop {
            ahead.pos = end;
            ahead.pass_blanks();
            if ahead.byte(ahead.pos) != Some(b',') {
                return Some(end);
            }
            ahead.pos += 1;
            ahead.pass_blanks();
            if ahead.byte(ahead.pos) != Some(b'(') {
                return Some(end);
            }
            match self.row(ahead.pos) {
                Some(row) if row.is_wide == is_wide => end = row.end,
                _ => return Some(end),
            }
        }
    }

    /// Goes on behind a row, as if its tokens had been read.
    pub(crate) fn skip_row(&mut self, end: usize) {
        self.pos = end;
        let start = end.saturating_sub(1) as u32;
        self.previous =
            Some(Token { kind: TokenKind::Operator, code: u16::from(b')'), start, end: end as u32 });
    }

    /// Takes a literal, and the sign before a number.
    fn value(&mut self) -> Option<()> {
        self.pass_blanks();
        let start = self.pos;
        match self.byte(start)? {
            b'0'..=b'9' => {
                let end = self.digits(start);
                // Nearly every number is digits alone.
                if matches!(self.byte(end), Some(b',' | b')' | b' ')) {
                    self.pos = end;
                    return Some(());
                }
                self.literal(true)
            }
            b'\'' => {
                let (kind, end) = self.string(start, b'\'', start + 1);
                self.pos = end;
                (kind == TokenKind::String).then_some(())
            }
            b'-' | b'+' => {
                // `--` may begin a comment.
                if !self.next()?.is_one_of(b"-+") {
                    return None;
                }
                self.pass_blanks();
                self.literal(false)
            }
            _ => self.literal(true),
        }
    }

    /// Takes a literal of any kind, or with `or_text` false a number.
    fn literal(&mut self, or_text: bool) -> Option<()> {
        let token = self.next()?;
        let is_literal = match token.kind {
            TokenKind::Number | TokenKind::HexLiteral | TokenKind::BitLiteral => true,
            TokenKind::String | TokenKind::Param => or_text,
            TokenKind::Word => or_text && self.is_null(token),
            _ => false,
        };
        is_literal.then_some(())
    }

    /// Whether a word is NULL, and not the name of a table before a point.
    fn is_null(&self, word: Token) -> bool {
        word.text(self.sql).eq_ignore_ascii_case(b"null") && self.byte(self.pos) != Some(b'.')
    }

    pub(super) fn pass_blanks(&mut self) {
        while let Some(byte) = self.byte(self.pos)
            && self.mode.charset.is_blank(byte)
        {
            self.pos += 1;
        }
    }
}
