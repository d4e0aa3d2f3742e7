//! The lexer: an iterator of tokens that cover the text without gaps or overlaps.
//!
//! It follows the servers' own lexers (`sql/sql_lex.cc` of both families), and each rule that differs between
//! them or surprises was measured on MySQL 9.7.4 and MariaDB 10.11.19. It reads each byte a bounded number of
//! times: no token looks further than a few bytes past its end, except those that reach to the end of the text.

mod comment;
mod eight;
mod number;
mod plain;
mod row;
mod scan;

pub(crate) use eight::Eight;

use crate::words::WordId;
use crate::{LexMode, Token, TokenKind};
use weir_model::ServerFamily;

/// Reads the tokens of one statement, or of a packet of statements if
/// [`begin_statement`](Lexer::begin_statement) is called after each `;`.
#[derive(Debug, Clone)]
pub struct Lexer<'a> {
    sql: &'a [u8],
    mode: LexMode,
    pos: usize,
    /// The last token that was no blank; decides what a `.` and a `/*+` mean.
    previous: Option<Token>,
    in_version_comment: bool,
    /// An identifier follows a `.`: no keyword, number or literal is recognised.
    name_expected: bool,
    /// The byte after a dropped number stands for itself, whatever it is.
    raw_expected: bool,
}

impl<'a> Lexer<'a> {
    /// Of a text of 4 GiB or more, which no server takes, it reads one token that says that it is not closed.
    pub fn new(sql: &'a [u8], mode: LexMode) -> Self {
        let is_readable = u32::try_from(sql.len()).is_ok();
        Self {
            sql: if is_readable { sql } else { b"'" },
            mode,
            pos: 0,
            previous: None,
            in_version_comment: false,
            name_expected: false,
            raw_expected: false,
        }
    }

    /// Reads from there to the end of another text in the same mode.
    pub(crate) fn at(self, sql: &'a [u8], pos: usize) -> Self {
        Self { sql, pos, ..Self::new(sql, self.mode) }
    }

    /// Forgets what belongs to one statement: a server with multi-statements enabled lexes each anew.
    pub fn begin_statement(&mut self) {
        self.previous = None;
        self.in_version_comment = false;
        self.name_expected = false;
        self.raw_expected = false;
    }

    /// Where the next token begins, in bytes.
    pub fn position(&self) -> usize {
        self.pos
    }

    /// Whether a version comment is open whose content is code. At the end of a statement, which with
    /// multi-statements is each `;`, that is a syntax error: the server runs neither this statement nor the next.
    pub fn in_version_comment(&self) -> bool {
        self.in_version_comment
    }

    pub(crate) fn mode(&self) -> LexMode {
        self.mode
    }

    /// Whether an operator is `:=`.
    pub(crate) fn is_assignment(&self, operator: Token) -> bool {
        operator.text(self.sql) == b":="
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.sql.get(at).copied()
    }

    fn rest(&self, at: usize) -> &'a [u8] {
        self.sql.get(at..).unwrap_or_default()
    }

    /// Kind and end of the token that begins at `self.pos` with `first`.
    fn scan(&mut self, first: u8) -> (TokenKind, usize) {
        let start = self.pos;
        if self.mode.charset.is_blank(first) {
            return (TokenKind::Blank, self.blanks(start));
        }
        if std::mem::take(&mut self.name_expected) && self.is_ident(first) {
            return (TokenKind::Name, self.ident(start));
        }
        match first {
            b'(' | b')' | b',' | b'=' => (TokenKind::Operator, start + 1),
            b'0'..=b'9' => self.number(start),
            b'.' => self.dot(start),
            b'\'' => self.string(start, b'\'', start + 1),
            b'"' if !self.mode.ansi_quotes => self.string(start, b'"', start + 1),
            b'"' | b'`' => self.quoted_ident(start, first),
            b'n' | b'N' if self.byte(start + 1) == Some(b'\'') => self.string(start, b'\'', start + 2),
            b'x' | b'X' if self.byte(start + 1) == Some(b'\'') => self.quoted_hex(start),
            b'b' | b'B' if self.byte(start + 1) == Some(b'\'') => self.quoted_bits(start),
            b'$' => self.dollar(start),
            b'@' => self.variable(start),
            b'#' => (TokenKind::LineComment, self.line_end(start)),
            b'-' if self.is_dash_comment(start) => (TokenKind::LineComment, self.line_end(start)),
            b'/' if self.byte(start + 1) == Some(b'*') => self.block(start),
            b'*' if self.in_version_comment && self.byte(start + 1) == Some(b'/') => {
                self.in_version_comment = false;
                (TokenKind::VersionCommentEnd, start + 2)
            }
            b';' => (TokenKind::Semicolon, start + 1),
            b'?' if !self.byte(start + 1).is_some_and(|b| self.is_ident(b)) => (TokenKind::Param, start + 1),
            0 => (TokenKind::Nul, start + 1),
            _ if self.is_ident(first) => (TokenKind::Word, self.ident(start)),
            _ => (TokenKind::Operator, start + self.operator_len(start)),
        }
    }

    /// The byte after a dropped number: no comment, string or identifier begins there. A quote or a letter is
    /// a syntax error to the server, which stops there.
    fn scan_raw(&self, first: u8) -> (TokenKind, usize) {
        match first {
            b';' => (TokenKind::Semicolon, self.pos + 1),
            0 => (TokenKind::Nul, self.pos + 1),
            b'-' if self.is_dash_comment(self.pos) => (TokenKind::LineComment, self.line_end(self.pos)),
            b'\'' | b'"' | b'`' | b'#' | b'@' => (TokenKind::Unterminated, self.sql.len()),
            _ if self.is_ident(first) => (TokenKind::Unterminated, self.sql.len()),
            _ => (TokenKind::Operator, self.pos + 1),
        }
    }

    fn dot(&mut self, start: usize) -> (TokenKind, usize) {
        let Some(next) = self.byte(start + 1) else { return (TokenKind::Operator, start + 1) };
        let qualifies = self.previous.is_some_and(|p| {
            p.end as usize == start && matches!(p.kind, TokenKind::Word | TokenKind::Name | TokenKind::SysVar)
        });
        if next.is_ascii_digit() && !qualifies {
            return self.fraction(start + 1);
        }
        self.name_expected = self.is_ident(next);
        (TokenKind::Operator, start + 1)
    }

    fn operator_len(&self, start: usize) -> usize {
        let mariadb = self.mode.family == ServerFamily::MariaDb;
        match self.rest(start) {
            [b'<', b'=', b'>', ..] => 3,
            [b'-', b'>', b'>', ..] if !mariadb => 3,
            [b'-', b'>', ..] if !mariadb => 2,
            [b'\\', b'N', ..] if mariadb => 2,
            [b'<', b'<' | b'=' | b'>', ..] | [b'>', b'>' | b'=', ..] => 2,
            [b'!' | b':', b'=', ..] | [b'&', b'&', ..] | [b'|', b'|', ..] => 2,
            _ => 1,
        }
    }
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let start = self.pos;
        let first = self.byte(start)?;
        let (kind, end) =
            if std::mem::take(&mut self.raw_expected) { self.scan_raw(first) } else { self.scan(first) };
        let code = match kind {
            TokenKind::Word => WordId::at(self.sql, start, end).code(),
            TokenKind::Operator if end == start + 1 => u16::from(first),
            _ => 0,
        };
        // The text is shorter than 4 GiB.
        let token = Token { kind, code, start: start as u32, end: end as u32 };
        self.pos = end;
        if kind == TokenKind::Dropped {
            self.raw_expected = true;
        }
        if kind != TokenKind::Blank {
            self.previous = Some(token);
        }
        Some(token)
    }
}

#[cfg(test)]
mod tests;
