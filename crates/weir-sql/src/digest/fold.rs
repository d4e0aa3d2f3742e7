//! Folds the tokens of a statement as they come: literals, lists of them, rows and lists of rows.
//!
//! The text is written at once, and a fold takes the text of the tokens that it replaces back. No fold looks at more
//! than five tokens, so that as many as [`DEPTH`] are remembered, however long the statement is.

use super::words::{SHORT, Word};
use std::ops::Range;

/// What a token is to the folds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Kind {
    #[default]
    Plain,
    /// `?`
    Value,
    /// `?, ...`
    Values,
    /// `(?)`
    Row,
    /// `(?) /* , ... */`
    Rows,
    /// `(...)`
    WideRow,
    /// `(...) /* , ... */`
    WideRows,
    Open,
    Comma,
    In,
    Not,
    Binary,
    /// A sign behind a value: an operator.
    Sign,
    /// Signs where an expression begins: a number swallows them.
    Signs,
    /// Anything else behind which an expression begins; the server takes a sign there for a part of the number.
    Starts,
    /// A literal NULL may follow.
    Precedes,
}

impl Kind {
    fn starts_expression(self) -> bool {
        matches!(self, Self::Open | Self::Comma | Self::Not | Self::Sign | Self::Signs | Self::Starts)
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    kind: Kind,
    /// Where its text begins.
    start: usize,
    /// What was stored before it, as the server counts.
    stored: usize,
}

const DEPTH: usize = 8;

/// What the server stores for a token, in bytes.
const TOKEN: usize = 2;

#[derive(Debug)]
pub(super) struct Fold<'o> {
    out: &'o mut Vec<u8>,
    /// The last tokens; the place of one is its number modulo the depth.
    entries: [Entry; DEPTH],
    count: usize,
    stored: usize,
    limit: usize,
    full: bool,
}

impl<'o> Fold<'o> {
    /// `limit` is the server's `max_digest_length`.
    pub(super) fn new(out: &'o mut Vec<u8>, limit: usize) -> Self {
        out.clear();
        Self { out, entries: [Entry::default(); DEPTH], count: 0, stored: 0, limit, full: false }
    }

    /// Whether a token was left out because of the limit. None is taken any more.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Takes a token that folds nothing, with the blank behind it.
    #[inline]
    pub(super) fn token(&mut self, kind: Kind, text: &str) {
        if self.enter(kind, TOKEN) {
            self.out.extend_from_slice(text.as_bytes());
        }
    }

    /// The same for a word.
    #[inline]
    pub(super) fn word(&mut self, kind: Kind, word: &Word) {
        if !self.enter(kind, TOKEN) {
            return;
        }
        match &word.short {
            Some(text) => self.put(text, word.shown.len()),
            None => self.out.extend_from_slice(word.shown.as_bytes()),
        }
    }

    /// Writes the first bytes. More are copied than are kept, which costs less than to copy a number that varies.
    #[inline]
    fn put(&mut self, text: &[u8; SHORT], len: usize) {
        let end = self.out.len() + len;
        self.out.extend_from_slice(text);
        self.out.truncate(end);
    }

    /// Any other byte, which the server shows as it is.
    pub(super) fn byte(&mut self, byte: u8) {
        if self.enter(Kind::Precedes, TOKEN) {
            self.out.extend_from_slice(&[byte, b' ']);
        }
    }

    /// An identifier without its quotes, in which `quote` may be doubled. One without a letter is not shown.
    pub(super) fn identifier(&mut self, name: &[u8], quote: Option<u8>) {
        self.name(name, quote, b"` ");
    }

    /// An identifier without quotes, which stands there in a text.
    #[inline]
    pub(super) fn identifier_in(&mut self, sql: &[u8], span: Range<usize>) {
        let len = span.len();
        let Some(chunk) = sql.get(span.start..).and_then(<[u8]>::first_chunk::<SHORT>) else {
            return self.identifier(sql.get(span).unwrap_or_default(), None);
        };
        if len > SHORT - 3 {
            return self.identifier(sql.get(span).unwrap_or_default(), None);
        }
        if self.enter(Kind::Plain, 2 * TOKEN + len) {
            let mut text = [b'`'; SHORT];
            text[1..].copy_from_slice(&chunk[..SHORT - 1]);
            text[len + 1] = b'`';
            text[len + 2] = b' ';
            self.put(&text, len + 3);
        }
    }

    /// One before an `@` that the server's lexer of hints takes along.
    pub(super) fn identifier_at(&mut self, name: &[u8], quote: Option<u8>) {
        self.name(name, quote, b"`");
    }

    fn name(&mut self, name: &[u8], quote: Option<u8>, close: &[u8]) {
        let doubled = quote.map_or(0, |quote| name.iter().filter(|byte| **byte == quote).count() / 2);
        if !self.enter(Kind::Plain, 2 * TOKEN + name.len() - doubled) || name.is_empty() {
            return;
        }
        self.out.push(b'`');
        match quote {
            Some(quote) if doubled > 0 => {
                let mut rest = name;
                while let Some(at) = memchr::memchr(quote, rest) {
                    self.out.extend_from_slice(rest.get(..=at).unwrap_or_default());
                    rest = rest.get(at + 2..).unwrap_or_default();
                }
                self.out.extend_from_slice(rest);
            }
            _ => self.out.extend_from_slice(name),
        }
        self.out.extend_from_slice(close);
    }

    /// `+` or `-`.
    pub(super) fn sign(&mut self, text: &str) {
        match self.last(0) {
            Kind::Signs if self.stored + TOKEN <= self.limit => {
                self.stored += TOKEN;
                self.out.extend_from_slice(text.as_bytes());
            }
            Kind::Signs => self.full = true,
            kind if kind.starts_expression() => self.token(Kind::Signs, text),
            _ => self.token(Kind::Sign, text),
        }
    }

    pub(super) fn number(&mut self) {
        if self.last(0) == Kind::Signs && !self.full {
            self.pop(1);
        }
        self.value();
    }

    /// A literal that has no sign of its own.
    pub(super) fn value(&mut self) {
        if self.full {
            return;
        }
        if self.last(0) == Kind::Comma && matches!(self.last(1), Kind::Value | Kind::Values) {
            self.pop(2);
            self.token(Kind::Values, "?, ... ");
        } else {
            self.token(Kind::Value, "? ");
        }
    }

    /// Shows the number of a column instead of the literal that is the last token.
    pub(super) fn ordinal(&mut self, number: u32) {
        if self.full || self.last(0) != Kind::Value {
            return;
        }
        self.pop(1);
        if self.enter(Kind::Plain, TOKEN) {
            let mut digits = [0; 10];
            let mut begin = digits.len();
            let mut rest = number;
            for digit in digits.iter_mut().rev() {
                *digit = b'0' + (rest % 10) as u8;
                rest /= 10;
                begin -= 1;
                if rest == 0 {
                    break;
                }
            }
            self.out.extend_from_slice(digits.get(begin..).unwrap_or_default());
            self.out.push(b' ');
        }
    }

    /// NULL, which is a literal or belongs to IS NULL, NOT NULL, SET NULL or to a column.
    pub(super) fn null(&mut self) {
        let before =
            (0..DEPTH - 1).map(|i| self.last(i)).find(|kind| !matches!(kind, Kind::Not | Kind::Binary));
        match before {
            Some(kind) if kind.starts_expression() || matches!(kind, Kind::Precedes | Kind::In) => {
                self.value()
            }
            _ => self.token(Kind::Plain, "NULL "),
        }
    }

    /// `)`
    pub(super) fn close(&mut self) {
        if self.full {
            return;
        }
        let (row, rows) = match (self.last(1), self.last(0)) {
            (Kind::Open, Kind::Value) => (Kind::Row, Kind::Rows),
            (Kind::Open, Kind::Values) => (Kind::WideRow, Kind::WideRows),
            _ => return self.token(Kind::Plain, ") "),
        };
        if self.last(2) == Kind::In {
            self.pop(3);
            return self.token(Kind::Plain, "IN (...) ");
        }
        self.pop(2);
        let is_row = row == Kind::Row;
        if self.last(0) == Kind::Comma && (self.last(1) == row || self.last(1) == rows) {
            self.pop(2);
            self.token(rows, if is_row { "(?) /* , ... */ " } else { "(...) /* , ... */ " });
        } else {
            self.token(row, if is_row { "(?) " } else { "(...) " });
        }
    }

    /// Whether a row at this place would fold into the one before it, and whether that has several values. `None` too
    /// where the tokens of a row might not all find room.
    pub(super) fn expects_row(&self) -> Option<bool> {
        if self.last(0) != Kind::Comma || self.stored + DEPTH * TOKEN > self.limit {
            return None;
        }
        match self.last(1) {
            Kind::Row | Kind::Rows => Some(false),
            Kind::WideRow | Kind::WideRows => Some(true),
            _ => None,
        }
    }

    /// Folds a row into the one before it; see [`expects_row`](Fold::expects_row).
    pub(super) fn row(&mut self) {
        self.pop(1);
        self.rows();
    }

    /// Takes the mark of a list of rows out of the text of a digest.
    pub(super) fn rows(&mut self) {
        let rows = match self.last(0) {
            Kind::Row => (Kind::Rows, "(?) /* , ... */ "),
            Kind::WideRow => (Kind::WideRows, "(...) /* , ... */ "),
            _ => return,
        };
        self.pop(1);
        self.token(rows.0, rows.1);
    }

    /// Takes the `...` of `(...)` and `?, ...` out of the text of a digest.
    pub(super) fn more_values(&mut self) {
        if self.last(0) == Kind::Open && !self.full {
            self.token(Kind::Values, "?, ... ");
        } else {
            self.value();
        }
    }

    /// The opening parenthesis of `(_charset)`, in the text of a digest.
    pub(super) fn drop_open(&mut self) {
        if self.last(0) == Kind::Open {
            self.pop(1);
        }
    }

    /// Ends the text. A statement's last `;` is no part of it.
    pub(super) fn finish(self) {
        if self.out.last() == Some(&b' ') {
            self.out.pop();
        }
        if self.out.ends_with(b" ;") {
            self.out.truncate(self.out.len() - 2);
        }
    }

    /// The kind of the last token, of the one before it for 1, and so on.
    fn last(&self, back: usize) -> Kind {
        if back >= self.count {
            return Kind::Plain;
        }
        self.entries.get((self.count - 1 - back) % DEPTH).map_or(Kind::Plain, |entry| entry.kind)
    }

    /// Takes a token, whose text is still to be written; false if there is no room for it.
    fn enter(&mut self, kind: Kind, stored: usize) -> bool {
        if self.full || self.stored + stored > self.limit {
            self.full = true;
            return false;
        }
        if let Some(entry) = self.entries.get_mut(self.count % DEPTH) {
            *entry = Entry { kind, start: self.out.len(), stored: self.stored };
        }
        self.count += 1;
        self.stored += stored;
        true
    }

    /// Takes back the last tokens, at most as many as there are.
    fn pop(&mut self, tokens: usize) {
        self.count = self.count.saturating_sub(tokens);
        let Some(entry) = self.entries.get(self.count % DEPTH) else { return };
        self.out.truncate(entry.start);
        self.stored = entry.stored;
    }
}
