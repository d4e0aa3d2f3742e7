//! The facts while they are gathered.

use super::bits::{Leftover, LeftoverSet, Pin, PinSet};
use super::effect::{Effect, Effects, Name, Span, Value};
use super::found::RowsFound;
use super::transaction::Transaction;
use crate::classify::Cursor;
use crate::{StatementKind, Token};

/// A packet that sets more than this is taken for unknown: nobody tracks it, and memory stays bounded.
const MAX_EFFECTS: usize = 512;

/// Of the statements so far.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) transaction: Transaction,
    pub(super) effects: Effects,
    /// Pins of statements that are over.
    pub(super) pins: PinSet,
    pub(super) ends: PinSet,
    /// What every statement so far keeps; `None` before the first.
    pub(super) keeps: Option<LeftoverSet>,
    /// What FOUND_ROWS() is after the statements so far; `None` before the first.
    pub(super) rows_found: Option<RowsFound>,
    /// A statement modifies rows, or the server treats it as if it did.
    pub(super) modifies: bool,
    /// A statement of kind `Other` is understood all the same.
    pub(super) explained: bool,
    /// The text breaks a rule of the language, or is none that is known.
    pub(super) unknown: bool,
}

impl Draft {
    pub(super) fn push(&mut self, effect: Effect<Span>) {
        if self.effects.as_slice().len() < MAX_EFFECTS {
            self.effects.push(effect);
        } else {
            self.unknown = true;
        }
    }

    /// A user variable, by its token, gets a value outside of SET.
    pub(super) fn computes(&mut self, cursor: &Cursor<'_>, variable: Token) {
        let text = Span { start: variable.start + 1, end: variable.end };
        let name = Name { text, charset: cursor.mode().charset };
        self.push(Effect::UserVariable { name, value: Value::Expression });
    }

    pub(super) fn keep(&mut self, kept: LeftoverSet) {
        self.keeps = Some(self.keeps.map_or(kept, |before| before.intersection(kept)));
    }

    pub(super) fn found(&mut self, found: RowsFound) {
        self.rows_found = Some(self.rows_found.map_or(found, |before| before.and(found)));
    }

    /// After a statement: what it pinned, and what it ended.
    pub(super) fn finish(&mut self, pinned: PinSet, ended: PinSet) {
        self.pins = self.pins.union(pinned);
        self.ends = self.ends.without(pinned).union(ended);
    }

    /// What FOUND_ROWS() is after all statements. A text of another kind than a query's has no rows to count.
    pub(super) fn all_found(&self, kind: StatementKind) -> RowsFound {
        let is_query = matches!(kind, StatementKind::Read | StatementKind::Write);
        match self.rows_found.unwrap_or_default() {
            _ if self.unknown => RowsFound::Unknown,
            RowsFound::AsSent if !is_query => RowsFound::Unknown,
            found => found,
        }
    }

    pub(super) fn all_pins(&self) -> PinSet {
        let mut pins = self.pins;
        if self.unknown {
            pins.insert(Pin::Unknown);
        }
        pins
    }
}

/// What nearly every statement leaves as it was, or may: only those that are proven to replace something have
/// less. LAST_INSERT_ID() outlives everything but an INSERT, which tells in its OK.
pub(super) const USUAL: LeftoverSet =
    LeftoverSet::of(&[Leftover::LastInsertId, Leftover::FoundRows, Leftover::ConnectionId, Leftover::Status]);
