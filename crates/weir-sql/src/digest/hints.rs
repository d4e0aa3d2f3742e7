//! What stands in an optimizer hint, which has a lexer and keywords of its own at the server.

use super::fold::{Fold, Kind};
use super::words;
use crate::LexMode;
use memchr::memchr;

/// Takes the text between `/*+` and `*/`. In the text of a digest a `?` is a literal.
pub(super) fn fold(fold: &mut Fold<'_>, inside: &[u8], mode: LexMode, is_digest: bool) {
    let mut hints = Hints { rest: inside, mode, is_digest };
    hints.skip_blanks();
    if hints.rest.is_empty() {
        return;
    }
    fold.token(Kind::Plain, "/*+ ");
    while !hints.rest.is_empty() && !fold.is_full() {
        hints.token(fold);
        hints.skip_blanks();
    }
    fold.token(Kind::Precedes, "*/ ");
}

struct Hints<'a> {
    rest: &'a [u8],
    mode: LexMode,
    is_digest: bool,
}

impl<'a> Hints<'a> {
    fn skip_blanks(&mut self) {
        self.take_while(|hints, byte| hints.mode.charset.is_blank(byte));
    }

    fn token(&mut self, fold: &mut Fold<'_>) {
        let Some(first) = self.rest.first().copied() else { return };
        match first {
            b'`' => self.quoted_name(fold, b'`'),
            b'"' if self.mode.ansi_quotes => self.quoted_name(fold, b'"'),
            b'\'' | b'"' => {
                self.quoted(first);
                fold.value();
            }
            b'0'..=b'9' => self.number(fold),
            b'.' if self.rest.get(1).is_some_and(u8::is_ascii_digit) => self.number(fold),
            _ if self.is_name(first) => {
                let name = self.take_while(Self::is_name);
                match words::hint(name) {
                    Some(shown) => fold.token(Kind::Plain, shown),
                    None => self.name(fold, name, None),
                }
            }
            b'@' => {
                self.skip(1);
                self.behind_at(fold);
            }
            b'?' if self.is_digest => {
                self.skip(1);
                fold.value();
            }
            b'.' if self.is_digest && self.rest.starts_with(b"...") => {
                self.skip(3);
                fold.more_values();
            }
            _ => {
                self.skip(1);
                operator(fold, first);
            }
        }
    }

    fn name(&mut self, fold: &mut Fold<'_>, name: &[u8], quote: Option<u8>) {
        if self.rest.first() == Some(&b'@') {
            fold.identifier_at(name, quote);
            self.skip(1);
            self.behind_at(fold);
        } else {
            fold.identifier(name, quote);
        }
    }

    /// A `@`, and the name of a query block.
    fn behind_at(&mut self, fold: &mut Fold<'_>) {
        fold.token(Kind::Plain, "@");
        let name = self.take_while(Self::is_name);
        if !name.is_empty() {
            fold.identifier(name, None);
        }
    }

    fn quoted_name(&mut self, fold: &mut Fold<'_>, quote: u8) {
        let name = self.quoted(quote);
        self.name(fold, name, Some(quote));
    }

    /// What stands between quotes, or up to the end.
    fn quoted(&mut self, quote: u8) -> &'a [u8] {
        let all = self.rest.get(1..).unwrap_or_default();
        let mut at = 0;
        while let Some(found) = memchr(quote, all.get(at..).unwrap_or_default()) {
            at += found;
            if all.get(at + 1) != Some(&quote) {
                self.skip(at + 2);
                return all.get(..at).unwrap_or_default();
            }
            at += 2;
        }
        self.rest = &[];
        all
    }

    /// `12`, `1.5`, `16M`; or a name that begins with digits.
    fn number(&mut self, fold: &mut Fold<'_>) {
        let name = self.take_while(Self::is_name);
        let is_digits = |text: &[u8]| text.iter().all(u8::is_ascii_digit);
        if is_digits(name) {
            if self.rest.first() == Some(&b'.') && self.rest.get(1).is_some_and(u8::is_ascii_digit) {
                self.skip(1);
                self.take_while(|_, byte| byte.is_ascii_digit());
            }
            return fold.number();
        }
        match name {
            [digits @ .., b'K' | b'M' | b'G'] if is_digits(digits) => fold.number(),
            _ => self.name(fold, name, None),
        }
    }

    fn is_name(&self, byte: u8) -> bool {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'$')
            || (byte >= 0x80 && !self.mode.charset.is_blank(byte))
    }

    fn take_while(&mut self, belongs: impl Fn(&Self, u8) -> bool) -> &'a [u8] {
        let len = self.rest.iter().take_while(|&&byte| belongs(self, byte)).count();
        let (taken, rest) = self.rest.split_at_checked(len).unwrap_or((self.rest, &[]));
        self.rest = rest;
        taken
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }
}

/// A single byte. Here no operator begins an expression; a point is not shown.
fn operator(fold: &mut Fold<'_>, byte: u8) {
    match byte {
        b'(' => fold.token(Kind::Open, "( "),
        b')' => fold.close(),
        b',' => fold.token(Kind::Comma, ", "),
        b'+' => fold.sign("+ "),
        b'-' => fold.sign("- "),
        b'.' => {}
        _ => fold.byte(byte),
    }
}
