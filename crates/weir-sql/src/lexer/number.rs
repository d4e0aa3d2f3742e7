//! Numbers, and hexadecimal and bit literals.

use super::Lexer;
use crate::TokenKind;
use weir_model::ServerFamily;

impl Lexer<'_> {
    /// What begins with a digit: a number, `0x..`, `0b..`, or an identifier such as `1st`.
    pub(super) fn number(&self, start: usize) -> (TokenKind, usize) {
        if let Some(literal) = self.prefixed(start) {
            return literal;
        }
        let after = self.digits(start);
        match self.byte(after) {
            Some(b'.') if !self.is_range(after) => self.fraction(after + 1),
            Some(b'e' | b'E') => match self.exponent(after + 1) {
                Some(end) => (TokenKind::Number, end),
                None => (TokenKind::Word, self.ident(start)),
            },
            Some(byte) if self.is_ident(byte) => (TokenKind::Word, self.ident(start)),
            _ => (TokenKind::Number, after),
        }
    }

    /// The rest of a decimal number behind its point.
    pub(super) fn fraction(&self, at: usize) -> (TokenKind, usize) {
        let after = self.digits(at);
        if !matches!(self.byte(after), Some(b'e' | b'E')) {
            return (TokenKind::Number, after);
        }
        if let Some(end) = self.exponent(after + 1) {
            return (TokenKind::Number, end);
        }
        // No digit follows the `e`. MySQL drops what it has read, sign included, and takes the next byte for
        // a token: `SELECT 1 1.e, 2` has two columns. To MariaDB it is a syntax error.
        match self.mode.family {
            ServerFamily::MySql => {
                let sign = usize::from(matches!(self.byte(after + 1), Some(b'+' | b'-')));
                (TokenKind::Dropped, after + 1 + sign)
            }
            ServerFamily::MariaDb => self.unterminated(),
        }
    }

    /// `x'1F'`. The servers give up on an odd number of digits and on anything else between the quotes.
    pub(super) fn quoted_hex(&self, start: usize) -> (TokenKind, usize) {
        let len = self.rest(start + 2).iter().take_while(|b| b.is_ascii_hexdigit()).count();
        let close = start + 2 + len;
        if len % 2 == 0 && self.byte(close) == Some(b'\'') {
            return (TokenKind::HexLiteral, close + 1);
        }
        self.unterminated()
    }

    /// `b'101'`.
    pub(super) fn quoted_bits(&self, start: usize) -> (TokenKind, usize) {
        let close = start + 2 + self.rest(start + 2).iter().take_while(|&&b| is_bit(b)).count();
        if self.byte(close) == Some(b'\'') {
            return (TokenKind::BitLiteral, close + 1);
        }
        self.unterminated()
    }

    /// `0x1F` and `0b101`, whose letters must be small. `0xZ` and `0b2` are identifiers.
    fn prefixed(&self, start: usize) -> Option<(TokenKind, usize)> {
        let is_hex = match self.rest(start) {
            [b'0', b'x', ..] => true,
            [b'0', b'b', ..] => false,
            _ => return None,
        };
        let belongs = |b: u8| if is_hex { b.is_ascii_hexdigit() } else { is_bit(b) };
        let len = self.rest(start + 2).iter().take_while(|&&b| belongs(b)).count();
        let end = start + 2 + len;
        if len == 0 || self.byte(end).is_some_and(|b| self.is_ident(b)) {
            return Some((TokenKind::Word, self.ident(start)));
        }
        Some((if is_hex { TokenKind::HexLiteral } else { TokenKind::BitLiteral }, end))
    }

    /// End of an exponent whose `e` lies before `at`; `None` if it has no digit.
    fn exponent(&self, at: usize) -> Option<usize> {
        let sign = usize::from(matches!(self.byte(at), Some(b'+' | b'-')));
        let end = self.digits(at + sign);
        (end > at + sign).then_some(end)
    }

    pub(super) fn digits(&self, at: usize) -> usize {
        at + self.rest(at).iter().take_while(|b| b.is_ascii_digit()).count()
    }

    /// MariaDB's `1..10` of a FOR loop is two numbers.
    fn is_range(&self, dot: usize) -> bool {
        self.mode.family == ServerFamily::MariaDb && self.byte(dot + 1) == Some(b'.')
    }
}

fn is_bit(byte: u8) -> bool {
    matches!(byte, b'0' | b'1')
}
