//! The digest of a statement: its text without what differs from one run to the next.
//!
//! The text is that of MySQL's `STATEMENT_DIGEST_TEXT()`: literals are `?`, lists of them `?, ...`, `IN` lists and
//! rows `(...)`; plain comments are gone; words of the server are in capital letters and names in backticks. The
//! rules are those of the manual ("Performance Schema Statement Digests and Sampling") and were measured on 9.7.4;
//! `docs/digests.md` lists what differs.

mod called;
mod fold;
mod hints;
mod ordinal;
mod plain;
mod row;
pub(crate) mod words;

pub use called::as_called;
pub use plain::{strip_comments, trimmed_span};
pub use weir_model::DigestId;

use crate::{LexMode, Lexer, Text, Token, TokenKind};
use fold::{Fold, Kind};
use ordinal::Ordinals;
use words::{Role, Word};

/// How much of a statement its digest shows, in the bytes that the server's `max_digest_length` counts: 2 for each
/// token left after folding, and 2 and its length more for a name. The server's default of 1,024 cuts statements of 40
/// columns before their WHERE, which a rule has to tell apart. A text can be some ten times as long.
pub const MAX_DIGEST_LENGTH: usize = 16_384;

/// A digest with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    pub id: DigestId,
    /// In the client's character set; not always UTF-8.
    pub text: Vec<u8>,
}

impl Digest {
    /// The digest of a statement. See [`digest`].
    pub fn of(sql: &[u8], mode: LexMode) -> Self {
        let mut text = Vec::new();
        let id = digest(sql, mode, &mut text);
        Self { id, text }
    }

    /// The digest that an operator means, who gives a statement with any literals or the text of a digest. Of the
    /// latter it is that very text, but for a name in which there is a backtick.
    pub fn meant(text: &[u8], mode: LexMode) -> Self {
        let mut out = Vec::new();
        Scan::new(text, mode, Fold::new(&mut out, MAX_DIGEST_LENGTH), true).run();
        Self { id: id_of(&out), text: out }
    }
}

/// Writes the text of a statement's digest into `out`, in place of what was there, and returns its id. Nothing is
/// allocated if `out` has room. The time is linear in the length of the statement.
///
/// Of a packet with several statements it is the digest of all of them. What the server would not read (behind a
/// string that is not closed, or behind a NUL) is not in it. No literal ever is, so it may be shown and logged.
pub fn digest(sql: &[u8], mode: LexMode, out: &mut Vec<u8>) -> DigestId {
    digest_within(sql, mode, MAX_DIGEST_LENGTH, out)
}

/// As [`digest`], and whether a number of the statement is shown: one that stands for a column.
pub fn digest_showing(sql: &[u8], mode: LexMode, out: &mut Vec<u8>) -> (DigestId, bool) {
    let shows = Scan::new(sql, mode, Fold::new(out, MAX_DIGEST_LENGTH), false).run();
    (id_of(out), shows)
}

/// As [`digest`], with another limit than [`MAX_DIGEST_LENGTH`]: a server's `max_digest_length`.
pub fn digest_within(sql: &[u8], mode: LexMode, limit: usize, out: &mut Vec<u8>) -> DigestId {
    Scan::new(sql, mode, Fold::new(out, limit), false).run();
    id_of(out)
}

pub(crate) fn of_text(text: &Text<'_>, out: &mut Vec<u8>) -> DigestId {
    let source = Source { tokens: text.tokens(), at: 0, lexer: text.rest().clone() };
    let fold = Fold::new(out, MAX_DIGEST_LENGTH);
    Scan { source, ..Scan::new(text.sql(), text.mode(), fold, false) }.run();
    id_of(out)
}

/// The tokens of a statement, of which those at its front may have been read before.
struct Source<'a> {
    tokens: &'a [Token],
    /// Which of them comes next.
    at: usize,
    /// Reads those behind them.
    lexer: Lexer<'a>,
}

impl Source<'_> {
    #[inline]
    fn next(&mut self) -> Option<Token> {
        match self.tokens.get(self.at) {
            Some(token) => {
                self.at += 1;
                Some(*token)
            }
            None => self.lexer.next_dense(),
        }
    }

    /// Goes on behind a row that ends there.
    fn skip_row(&mut self, end: usize) {
        while self.tokens.get(self.at).is_some_and(|token| token.start < end as u32) {
            self.at += 1;
        }
        if self.at >= self.tokens.len() && self.lexer.position() < end {
            self.lexer.skip_row(end);
        }
    }
}

fn id_of(text: &[u8]) -> DigestId {
    DigestId(rapidhash::v3::rapidhash_v3(text))
}

/// Turns the lexer's tokens into those of a digest.
struct Scan<'a, 'o> {
    sql: &'a [u8],
    mode: LexMode,
    source: Source<'a>,
    fold: Fold<'o>,
    ordinals: Ordinals,
    /// What only a digest's text has is read too, and blanks may stand before the `(` of a function.
    is_digest: bool,
    shows_numbers: bool,
}

impl<'a, 'o> Scan<'a, 'o> {
    fn new(sql: &'a [u8], mode: LexMode, fold: Fold<'o>, is_digest: bool) -> Self {
        let source = Source { tokens: &[], at: 0, lexer: Lexer::new(sql, mode) };
        Self { sql, mode, source, fold, ordinals: Ordinals::default(), is_digest, shows_numbers: false }
    }

    /// True where it shows a number of the statement.
    fn run(mut self) -> bool {
        while let Some(token) = self.source.next() {
            if self.fold.is_full() || matches!(token.kind, TokenKind::Nul | TokenKind::Unterminated) {
                break;
            }
            self.token(token);
        }
        self.end_item();
        self.fold.finish();
        self.shows_numbers
    }

    #[inline]
    fn token(&mut self, token: Token) {
        match token.kind {
            TokenKind::Word => self.word(token),
            TokenKind::Operator => self.operator(token),
            _ => self.other(token),
        }
    }

    fn other(&mut self, token: Token) {
        let text = token.text(self.sql);
        match token.kind {
            TokenKind::Word | TokenKind::Operator => return,
            TokenKind::Blank if let Some(is_wide) = token.rows() => return self.passed_rows(token, is_wide),
            TokenKind::Number => {
                self.ordinals.number(text);
                return self.fold.number();
            }
            TokenKind::Semicolon => {
                self.end_item();
                self.ordinals.semicolon();
                return self.fold.token(Kind::Plain, "; ");
            }
            TokenKind::Name => self.fold.identifier_in(self.sql, token.span()),
            TokenKind::QuotedIdent => self.quoted(text),
            TokenKind::String | TokenKind::Param => self.fold.value(),
            TokenKind::HexLiteral | TokenKind::BitLiteral => self.fold.number(),
            TokenKind::UserVar => self.user_variable(token, text),
            TokenKind::SysVar => self.system_variable(text),
            TokenKind::BlockHint => {
                let inside = text.get(3..text.len().saturating_sub(2)).unwrap_or_default();
                hints::fold(&mut self.fold, inside, self.mode, self.is_digest);
            }
            TokenKind::BlockComment if self.is_digest && text == b"/* , ... */" => return self.fold.rows(),
            TokenKind::Blank
            | TokenKind::LineComment
            | TokenKind::BlockComment
            | TokenKind::VersionCommentStart
            | TokenKind::VersionCommentEnd
            | TokenKind::VersionCommentSkipped
            | TokenKind::Dropped
            | TokenKind::Nul
            | TokenKind::Unterminated => return,
        }
        self.ordinals.other();
    }

    /// Shows the last token if it is a number that stands for a column. Called before what ends an item of a list. 0 stands for none;
    /// another number in its place would.
    fn end_item(&mut self) {
        if let Some(number) = self.ordinals.pending() {
            self.shows_numbers = true;
            if number > 0 {
                self.fold.ordinal(number);
            }
        }
    }

    fn word(&mut self, token: Token) {
        match token.word().shown() {
            Some(word) if !self.is_qualifier(token) && (!word.call || self.is_called(token)) => {
                if !word.role.continues() {
                    self.end_item();
                }
                self.ordinals.word(word.role);
                return self.keyword(word);
            }
            None if self.is_digest
                && token.text(self.sql) == b"_charset"
                && self.byte(token.end as usize) == Some(b')') =>
            {
                self.fold.drop_open();
                self.source.next();
                self.fold.token(Kind::Plain, "(_charset) ");
            }
            _ => self.fold.identifier_in(self.sql, token.span()),
        }
        self.ordinals.other();
    }

    fn keyword(&mut self, word: &Word) {
        let kind = match word.role {
            Role::Plain | Role::Introducer | Role::Sorts | Role::Ends | Role::Continues => Kind::Plain,
            Role::Starts => Kind::Starts,
            Role::Precedes | Role::By | Role::EndsAndPrecedes => Kind::Precedes,
            Role::In => Kind::In,
            Role::Not => Kind::Not,
            Role::Binary => Kind::Binary,
            Role::Null => return self.fold.null(),
        };
        self.fold.word(kind, word);
    }

    /// Whether a name follows behind a point, without a blank: then the word is a name too.
    fn is_qualifier(&self, word: Token) -> bool {
        self.byte(word.end as usize) == Some(b'.')
            && self.byte(word.end as usize + 1).is_some_and(|byte| self.source.lexer.is_ident(byte))
    }

    /// Whether a word that is a function only before a `(` is one. A digest shows some for words that are not.
    fn is_called(&self, word: Token) -> bool {
        let mut at = word.end as usize;
        if self.is_digest {
            if matches!(word.text(self.sql), b"CURDATE" | b"CURTIME" | b"NOW" | b"SYSTEM_USER") {
                return true;
            }
            while self.byte(at).is_some_and(|byte| self.mode.charset.is_blank(byte)) {
                at += 1;
            }
        }
        self.byte(at) == Some(b'(')
    }

    fn quoted(&mut self, text: &[u8]) {
        let inside = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
        self.fold.identifier(inside, text.first().copied());
    }

    fn user_variable(&mut self, token: Token, text: &[u8]) {
        self.fold.token(Kind::Plain, "@");
        let name = text.get(1..).unwrap_or_default();
        match name.first() {
            Some(b'`') => self.quoted(name),
            Some(b'"') if self.mode.ansi_quotes => self.quoted(name),
            None if self.is_digest && self.byte(token.end as usize) == Some(b'?') => {}
            _ => self.fold.value(),
        }
    }

    fn system_variable(&mut self, text: &[u8]) {
        self.fold.token(Kind::Plain, "@");
        self.fold.token(Kind::Plain, "@");
        let name = text.get(2..).unwrap_or_default();
        if name.first() == Some(&b'`') {
            return self.quoted(name);
        }
        match Word::of(name).filter(|word| !word.call) {
            Some(word) => self.keyword(word),
            None => self.fold.identifier(name, None),
        }
    }

    fn operator(&mut self, token: Token) {
        // That of a longer operator is 0.
        match token.code as u8 {
            b'(' => {
                if self.passes_row(token) {
                    return self.ordinals.other();
                }
                self.ordinals.open();
                return self.fold.token(Kind::Open, "( ");
            }
            b')' => {
                self.end_item();
                self.ordinals.close();
                return self.fold.close();
            }
            b',' => {
                self.end_item();
                self.ordinals.comma();
                return self.fold.token(Kind::Comma, ", ");
            }
            // The server shows one for two that stand together.
            b'!' if self.byte(token.end as usize) == Some(b'!') => {
                self.source.next();
                self.fold.byte(b'!');
            }
            b'-' => self.fold.sign("- "),
            b'+' => self.fold.sign("+ "),
            b'.' if self.is_digest
                && self.sql.get(token.start as usize..).is_some_and(|t| t.starts_with(b"...")) =>
            {
                self.source.next();
                self.source.next();
                self.fold.more_values();
            }
            0 => long_operator(&mut self.fold, token.text(self.sql)),
            byte => single_operator(&mut self.fold, byte),
        }
        self.ordinals.other();
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.sql.get(at).copied()
    }
}

fn single_operator(fold: &mut Fold<'_>, byte: u8) {
    match byte {
        b'=' => fold.token(Kind::Starts, "= "),
        b'*' => fold.token(Kind::Starts, "* "),
        b'<' => fold.token(Kind::Starts, "< "),
        b'>' => fold.token(Kind::Starts, "> "),
        b'/' => fold.token(Kind::Starts, "/ "),
        b'%' => fold.token(Kind::Starts, "% "),
        b'&' => fold.token(Kind::Starts, "& "),
        b'|' => fold.token(Kind::Starts, "| "),
        b'^' => fold.token(Kind::Starts, "^ "),
        b'.' => fold.token(Kind::Plain, ". "),
        _ => fold.byte(byte),
    }
}

fn long_operator(fold: &mut Fold<'_>, text: &[u8]) {
    match text {
        b"<=" => fold.token(Kind::Starts, "<= "),
        b">=" => fold.token(Kind::Starts, ">= "),
        b"<>" | b"!=" => fold.token(Kind::Starts, "!= "),
        b"<=>" => fold.token(Kind::Starts, "<=> "),
        b"<<" => fold.token(Kind::Starts, "<< "),
        b">>" => fold.token(Kind::Starts, ">> "),
        b"&&" => fold.token(Kind::Starts, "&& "),
        b"||" => fold.token(Kind::Starts, "|| "),
        b":=" => fold.token(Kind::Precedes, ":= "),
        b"\\N" => fold.null(),
        b"->" => fold.token(Kind::Plain, "-> "),
        b"->>" => fold.token(Kind::Plain, "->> "),
        // The lexer has no other.
        _ => text.iter().for_each(|byte| fold.byte(*byte)),
    }
}

#[cfg(test)]
mod tests;
