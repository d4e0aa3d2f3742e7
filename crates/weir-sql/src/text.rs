//! A statement whose tokens were read once, for all who look at it.

mod front;

pub(crate) use front::Plain;

use crate::classify::{self, Cursor};
use crate::{Classified, DigestId, Facts, LexMode, Lexer, ReadFacts, Token, cacheable, digest};
use front::Front;

/// Tokens that are kept of a statement; what is behind them is read anew by each who looks at it. Nine of ten
/// statements of applications have fewer.
const KEPT: usize = 512;

/// Of a statement that is looked at once only: room on the stack, which costs time to clear.
pub(crate) const KEPT_ONCE: usize = 64;

/// Room for the tokens of a statement, to be used for one after the other.
#[derive(Debug)]
pub struct Tokens {
    room: Box<[Token]>,
}

impl Default for Tokens {
    fn default() -> Self {
        Self { room: vec![Token::NONE; KEPT].into() }
    }
}

impl Tokens {
    /// Reads a statement. Allocates nothing.
    pub fn read<'a>(&'a mut self, sql: &'a [u8], mode: LexMode) -> Text<'a> {
        Text::within(sql, mode, &mut self.room)
    }
}

/// A statement, or a packet of several, with the tokens at its front. What it says is what the functions of the same
/// names say of its text.
#[derive(Debug, Clone)]
pub struct Text<'a> {
    sql: &'a [u8],
    mode: LexMode,
    /// Without blanks. A `Blank` among them stands before `(` and `)` for rows of an INSERT: see [`Front::open`].
    tokens: &'a [Token],
    /// Reads what is behind them.
    rest: Lexer<'a>,
    /// What it is, where no more than its first words has to be looked at.
    plain: Option<Plain>,
}

impl<'a> Text<'a> {
    pub(crate) fn within(sql: &'a [u8], mode: LexMode, room: &'a mut [Token]) -> Self {
        let mut lexer = Lexer::new(sql, mode);
        let mut front = Front::default();
        while front.count < room.len() {
            let Some(token) = lexer.next_dense_here() else { break };
            front.push(token, room, &mut lexer);
        }
        let is_whole = front.count < room.len();
        let plain = if is_whole { front.plain() } else { None };
        Self { sql, mode, tokens: room.get(..front.count).unwrap_or_default(), rest: lexer, plain }
    }

    /// As [`digest`](crate::digest).
    pub fn digest(&self, out: &mut Vec<u8>) -> DigestId {
        digest::of_text(self, out)
    }

    /// As [`Facts::of`].
    pub fn facts(&self, multi_statements: bool) -> Facts {
        Facts::of_text(self, multi_statements)
    }

    /// As [`Statement::classify`](crate::Statement::classify).
    pub fn classify(&self, multi_statements: bool) -> Classified {
        classify::of(self.cursor(), multi_statements)
    }

    /// As [`read_facts`](crate::read_facts).
    pub fn read_facts(&self) -> ReadFacts {
        cacheable::of_text(self)
    }

    pub(crate) fn sql(&self) -> &'a [u8] {
        self.sql
    }

    pub(crate) fn mode(&self) -> LexMode {
        self.mode
    }

    pub(crate) fn tokens(&self) -> &'a [Token] {
        self.tokens
    }

    pub(crate) fn rest(&self) -> &Lexer<'a> {
        &self.rest
    }

    pub(crate) fn plain(&self) -> Option<Plain> {
        self.plain
    }

    pub(crate) fn cursor(&self) -> Cursor<'a> {
        Cursor::of(self)
    }
}

#[cfg(test)]
mod tests;
