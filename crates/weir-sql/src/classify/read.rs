//! Whether a query only reads.

use super::{Cursor, statement::is_op};
use crate::calls::{self, Call};
use crate::{Keyword, StatementKind, Token, TokenKind};

/// The rest of a SELECT, WITH, TABLE, VALUES or DO.
pub(super) fn query(cursor: &mut Cursor<'_>) -> StatementKind {
    let found = Findings::of(cursor);
    if found.unknown {
        StatementKind::Other
    } else if found.effect || found.modifies {
        StatementKind::Write
    } else {
        StatementKind::Read
    }
}

/// The rest of a SHOW or HELP: names of things are words here, only calls and assignments count.
pub(super) fn show(cursor: &mut Cursor<'_>) -> StatementKind {
    if calls_unknown(cursor) { StatementKind::Other } else { StatementKind::Read }
}

/// The rest of an EXPLAIN or DESCRIBE. Without ANALYZE nothing runs, but the optimizer may evaluate functions.
pub(super) fn explain(cursor: &mut Cursor<'_>) -> StatementKind {
    if cursor.take(Keyword::Analyze) {
        return analyzed(cursor);
    }
    // MySQL's EXPLAIN FORMAT=JSON INTO @v <statement> sets a variable.
    let mut stored = false;
    while let Some(token) = cursor.peek() {
        if token.kind == TokenKind::Semicolon || is_lead(cursor.keyword(token)) {
            break;
        }
        stored |= cursor.keyword(token) == Some(Keyword::Into);
        cursor.next();
    }
    match calls_unknown(cursor) {
        true => StatementKind::Other,
        false if stored => StatementKind::Write,
        false => StatementKind::Read,
    }
}

/// Whether the rest of a statement calls a function that is not known to change nothing.
pub(super) fn calls_unknown(cursor: &mut Cursor<'_>) -> bool {
    Findings::of(cursor).calls_unknown
}

/// A statement that EXPLAIN ANALYZE or ANALYZE runs, options before it included.
pub(super) fn analyzed(cursor: &mut Cursor<'_>) -> StatementKind {
    query(cursor)
}

fn is_lead(keyword: Option<Keyword>) -> bool {
    use Keyword as K;
    matches!(
        keyword,
        Some(K::Select | K::With | K::Table | K::Values | K::Insert | K::Update | K::Delete | K::Replace)
    )
}

/// What stands in a query that a mere read has not.
#[derive(Default)]
struct Findings {
    /// INTO, `:=`, FOR UPDATE, FOR SHARE, LOCK IN SHARE MODE.
    effect: bool,
    /// INSERT, UPDATE, DELETE, REPLACE as statements.
    modifies: bool,
    /// A call of a function that is not known to be harmless.
    calls_unknown: bool,
    /// That, or something else whose effect is not known.
    unknown: bool,
}

impl Findings {
    /// Takes everything up to the `;`.
    fn of(cursor: &mut Cursor<'_>) -> Self {
        let mut found = Self::default();
        let mut before: [Option<Token>; 2] = [None; 2];
        while let Some(token) = cursor.next_inside() {
            found.look(cursor, before, token);
            before = [before[1], Some(token)];
        }
        found
    }

    /// Looks at a token behind the two in `before`.
    fn look(&mut self, cursor: &mut Cursor<'_>, before: [Option<Token>; 2], token: Token) {
        match token.kind {
            TokenKind::Word => self.word(cursor, token),
            TokenKind::Operator if token.is(b'(') => {
                let call = before[1].map(|name| calls::call(cursor, before[0], name, token));
                if matches!(call, Some(Call::Unknown | Call::SetsLastInsertId)) {
                    self.calls_unknown = true;
                    self.unknown = true;
                }
            }
            TokenKind::Operator => self.effect |= is_op(cursor, token, b":="),
            // `sequence.NEXTVAL` under sql_mode=ORACLE.
            TokenKind::Name => self.unknown |= cursor.text(token).eq_ignore_ascii_case(b"nextval"),
            _ => {}
        }
    }

    #[inline]
    fn word(&mut self, cursor: &mut Cursor<'_>, word: Token) {
        match word.keyword() {
            Some(Keyword::Into | Keyword::Lock) => self.effect = true,
            Some(Keyword::For) if matches!(cursor.peek_keyword(), Some(Keyword::Update | Keyword::Share)) => {
                self.effect = true;
            }
            Some(Keyword::Update | Keyword::Delete) => self.modifies = true,
            Some(Keyword::Insert | Keyword::Replace) => {
                self.modifies |= !cursor.peek().is_some_and(|next| next.is(b'('));
            }
            Some(Keyword::Next | Keyword::Previous) if cursor.peek_keyword() == Some(Keyword::Value) => {
                self.unknown = true;
            }
            Some(Keyword::Procedure) => self.unknown = true,
            _ => {}
        }
    }
}
