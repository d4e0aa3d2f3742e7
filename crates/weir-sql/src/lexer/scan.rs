//! Identifiers, strings and variables.

use super::Lexer;
use crate::TokenKind;
use memchr::{memchr2, memmem};

impl Lexer<'_> {
    pub(super) fn blanks(&self, start: usize) -> usize {
        let len = self.rest(start).iter().take_while(|&&b| self.mode.charset.is_blank(b)).count();
        start + len
    }

    /// Whether a byte can stand in an identifier without quotes. Bytes from 0x80 are taken as letters: where
    /// the character set has a symbol there, the server reports a syntax error and runs nothing.
    pub(crate) fn is_ident(&self, byte: u8) -> bool {
        match byte {
            0x80.. => !self.mode.charset.is_blank(byte),
            _ => is_ascii_ident(byte),
        }
    }

    /// End of the identifier that begins at `at`; `at` itself if none does.
    pub(super) fn ident(&self, mut at: usize) -> usize {
        loop {
            at += self.rest(at).iter().take_while(|&&byte| is_ascii_ident(byte)).count();
            match self.byte(at) {
                Some(0x80..) => {
                    let len = self.high_ident(at);
                    if len == 0 {
                        return at;
                    }
                    at += len;
                }
                _ => return at,
            }
        }
    }

    /// Length of the character that begins with a byte of 0x80 or more, if it is a letter.
    fn high_ident(&self, at: usize) -> usize {
        match self.byte(at) {
            Some(byte) if self.is_ident(byte) && self.mode.charset.is_multibyte() => {
                self.mode.charset.char_len(self.rest(at))
            }
            Some(byte) if self.is_ident(byte) => 1,
            _ => 0,
        }
    }

    /// A string from `start` whose content begins at `at`.
    pub(super) fn string(&self, start: usize, quote: u8, mut at: usize) -> (TokenKind, usize) {
        debug_assert!(start < at);
        let escapes = !self.mode.no_backslash_escapes;
        while let Some(found) = self.find(at, quote, if escapes { b'\\' } else { quote }) {
            // A backslash takes one byte with it, not one character, on both servers.
            let is_escape = escapes && self.byte(found) == Some(b'\\');
            if !is_escape && self.byte(found + 1) != Some(quote) {
                return (TokenKind::String, found + 1);
            }
            at = found + 2;
        }
        self.unterminated()
    }

    /// An identifier in quotes. The servers stop at a NUL in it.
    pub(super) fn quoted_ident(&self, start: usize, quote: u8) -> (TokenKind, usize) {
        let mut at = start + 1;
        while let Some(found) = self.find(at, quote, 0) {
            if self.byte(found) == Some(0) {
                break;
            }
            if self.byte(found + 1) != Some(quote) {
                return (TokenKind::QuotedIdent, found + 1);
            }
            at = found + 2;
        }
        self.unterminated()
    }

    /// The next `a` or `b` at `at` or after it that is a character of its own.
    fn find(&self, at: usize, a: u8, b: u8) -> Option<usize> {
        let rest = self.rest(at);
        if !self.mode.charset.is_multibyte() {
            return memchr2(a, b, rest).map(|i| at + i);
        }
        let mut i = 0;
        while let Some(&byte) = rest.get(i) {
            if byte == a || byte == b {
                return Some(at + i);
            }
            i += if byte < 0x80 { 1 } else { self.mode.charset.char_len(rest.get(i..)?) };
        }
        None
    }

    /// `$name`, or on MySQL `$$...$$` and `$tag$...$tag$`. A tag is anything that could be an identifier.
    pub(super) fn dollar(&self, start: usize) -> (TokenKind, usize) {
        if !self.mode.has_dollar_quotes() {
            return (TokenKind::Word, self.ident(start));
        }
        // Not by way of the whole word: of many `$$` in a row each would look at all that follow.
        let Some(tag_len) = self.tag_len(start + 1) else { return (TokenKind::Word, self.ident(start)) };
        let body = start + tag_len + 2;
        let delimiter = self.sql.get(start..body).unwrap_or_default();
        match memmem::find(self.rest(body), delimiter) {
            Some(found) => (TokenKind::String, body + found + delimiter.len()),
            None => self.unterminated(),
        }
    }

    /// Length of what could be an identifier between `at` and the next `$`; `None` if anything else comes first.
    fn tag_len(&self, at: usize) -> Option<usize> {
        let multibyte = self.mode.charset.is_multibyte();
        let mut end = at;
        loop {
            match self.byte(end)? {
                b'$' => return Some(end - at),
                byte if !self.is_ident(byte) => return None,
                byte if multibyte && byte >= 0x80 => end += self.mode.charset.char_len(self.rest(end)),
                _ => end += 1,
            }
        }
    }

    /// `@...` and `@@...`. Both names are read byte by byte, also in a multi-byte character set.
    pub(super) fn variable(&self, start: usize) -> (TokenKind, usize) {
        let at = start + 1;
        match self.byte(at) {
            Some(b'@') => self.system_variable(at + 1),
            Some(quote @ (b'\'' | b'"' | b'`')) => {
                let is_string = quote == b'\'' || (quote == b'"' && !self.mode.ansi_quotes);
                let (kind, end) =
                    if is_string { self.string(start, quote, at + 1) } else { self.quoted_ident(at, quote) };
                if kind == TokenKind::Unterminated { (kind, end) } else { (TokenKind::UserVar, end) }
            }
            _ => {
                let is_part = |&&b: &&u8| {
                    b.is_ascii_alphanumeric()
                        || matches!(b, b'.' | b'_' | b'$')
                        || self.mode.charset.is_high_alnum(b)
                };
                (TokenKind::UserVar, at + self.rest(at).iter().take_while(is_part).count())
            }
        }
    }

    fn system_variable(&self, at: usize) -> (TokenKind, usize) {
        if self.byte(at) == Some(b'`') {
            let (kind, end) = self.quoted_ident(at, b'`');
            return if kind == TokenKind::Unterminated { (kind, end) } else { (TokenKind::SysVar, end) };
        }
        let len = self.rest(at).iter().take_while(|&&b| self.is_ident(b)).count();
        // Without a name the server's lexer gives up.
        if len == 0 { self.unterminated() } else { (TokenKind::SysVar, at + len) }
    }

    pub(super) fn unterminated(&self) -> (TokenKind, usize) {
        (TokenKind::Unterminated, self.sql.len())
    }
}

/// One look instead of a comparison for each range: most bytes of a statement are asked for it.
static ASCII_IDENT: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$';
        byte += 1;
    }
    table
};

fn is_ascii_ident(byte: u8) -> bool {
    ASCII_IDENT.get(usize::from(byte)).is_some_and(|is| *is)
}
