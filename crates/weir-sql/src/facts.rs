//! Everything the proxy asks of a statement's text, in one value that can be stored beside the text.

mod bits;
mod body;
mod draft;
mod effect;
mod found;
mod listed;
mod plain;
mod scan;
mod set;
mod statement;
mod transaction;
mod value;
mod walk;

pub use bits::{Leftover, LeftoverSet, Pin, PinSet};
pub use effect::{ClientCharset, Effect, Literal, LiteralKind, Name, Scope, Span, Value};
pub use found::RowsFound;
pub use transaction::{Access, Completion, Isolation, SetTransaction, Transaction, TransactionScope, XaVerb};

use crate::text::KEPT_ONCE;
use crate::{Classified, LexMode, StatementKind, Text, Token, hints};
use draft::Draft;
use effect::Effects;
use walk::Walk;

/// What the text of a COM_QUERY or COM_STMT_PREPARE says. It borrows nothing: kept beside its text, it makes a known
/// statement cost one look-up. Every field leans to the careful side. Facts are of a text in a [`LexMode`] with
/// or without multi-statements: a change of these makes other facts.
///
/// They hold for a packet that the server ran. Of one that it answered with an error, the statements up to the
/// failing one may have run, and an error 1064 without rows before it means that none did.
///
/// What no text shows: that a view, trigger or stored program behind a name uses user variables, locks, or changes
/// the session; that a table is a temporary one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Kind, number of statements, LOAD DATA LOCAL, commands to Weir.
    pub classified: Classified,
    /// Proven to write nothing, take no lock, assign nothing and call no function but built-in ones that only
    /// compute; the servers accept it in START TRANSACTION READ ONLY. What it reads may differ from connection to
    /// connection: see `reads` and `variables`.
    pub read_only: bool,
    pub transaction: Transaction,
    pub variables: UserVariables,
    /// What it asks of the statement before it on the same connection.
    pub reads: LeftoverSet,
    /// What the statement before it left and a statement behind it may still ask: everything that this one is not
    /// known to replace. Of several statements, what all of them keep.
    pub keeps: LeftoverSet,
    /// What FOUND_ROWS() is after it.
    pub rows_found: RowsFound,
    /// It may open a table: it writes, or names one behind FROM or TABLE. Where autocommit is off, the server keeps that table's
    /// definition locked until the transaction ends, be it one that no engine has begun.
    pub opens_tables: bool,
    /// Why the session has to stay on the connection that runs it.
    pub pins: PinSet,
    /// Which pins it ends, its own included, if all of the packet succeeds.
    pub ends: PinSet,
    /// The hint `/*weir: fresh*/` stands before it.
    pub fresh: bool,
    effects: Effects,
}

/// What a packet does with user variables, as far as its text shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct UserVariables {
    /// One is named other than as the target of SET. True for the host of an account too (`'u'@'h'`).
    pub read: bool,
    /// One gets a value or has a name that cannot be tracked: see [`Pin::ComputedVariable`].
    pub computed: bool,
    /// One gets a value, each that does is named in an effect, and no table is touched, behind which a trigger or a view could
    /// set another. A stored function or procedure still could: see the pins.
    pub named: bool,
}

impl Facts {
    /// Reads the text. `multi_statements` is what the client has enabled (the capability CLIENT_MULTI_STATEMENTS
    /// and COM_SET_OPTION).
    pub fn of(sql: &[u8], mode: LexMode, multi_statements: bool) -> Self {
        Self::of_text(&Text::within(sql, mode, &mut [Token::NONE; KEPT_ONCE]), multi_statements)
    }

    pub(crate) fn of_text(text: &Text<'_>, multi_statements: bool) -> Self {
        if let Some(plain) = text.plain() {
            return Self::of_plain(plain, text.mode().family);
        }
        let classified = text.classify(multi_statements);
        if u32::try_from(text.sql().len()).is_err() {
            return Self::unknown(classified);
        }
        let mut walk = Walk::new(text.cursor());
        let mut draft = Draft::default();
        while statement::statement(&mut walk, &mut draft, multi_statements) && !walk.cursor.is_rest_blank() {
            if !multi_statements {
                draft.unknown = true;
                break;
            }
            walk.cursor.begin_statement();
        }
        let Walk { scan, cursor } = walk;
        let mut named = false;
        if scan.computes_variable {
            draft.pins.insert(Pin::ComputedVariable);
            named = !scan.assigns_unnamed && !scan.names_table && !scan.others;
            if named {
                scan.assigned.iter().for_each(|token| draft.computes(&cursor, *token));
            }
        }
        let is_explained = draft.explained || !draft.pins.is_empty();
        draft.unknown |= classified.kind == StatementKind::Other && !is_explained;
        let pins = draft.all_pins();
        Self {
            classified,
            read_only: is_read_only(&classified, &draft, pins),
            transaction: draft.transaction,
            variables: UserVariables { read: scan.reads_variable, computed: scan.computes_variable, named },
            reads: scan.reads,
            keeps: draft.keeps.unwrap_or_else(LeftoverSet::all),
            rows_found: draft.all_found(classified.kind),
            opens_tables: scan.names_table || opens_tables(&classified),
            pins,
            ends: if draft.unknown { PinSet::EMPTY } else { draft.ends },
            fresh: is_fresh(text),
            effects: draft.effects,
        }
    }

    /// The strongest kind in the packet.
    pub fn kind(&self) -> StatementKind {
        self.classified.kind
    }

    /// What the statement does to the session's state, in order. `sql` must be the text the facts are of. If `pins`
    /// holds [`Pin::Unknown`] there may be more.
    pub fn effects<'a>(&'a self, sql: &'a [u8]) -> impl ExactSizeIterator<Item = Effect<&'a [u8]>> {
        self.effects.as_slice().iter().map(|effect| effect.map(|span| span.of(sql)))
    }

    /// What the statement makes of `character_set_client`; `None` where its text leaves it alone.
    pub fn client_charset(&self, sql: &[u8]) -> Option<ClientCharset> {
        self.effects(sql).filter_map(|effect| effect.client_charset()).last()
    }

    pub fn has_effects(&self) -> bool {
        !self.effects.as_slice().is_empty()
    }

    /// Bytes on the heap, to be counted with the text by who stores them.
    pub fn heap_size(&self) -> usize {
        self.effects.heap_size()
    }

    /// Of a text too long to look at.
    fn unknown(classified: Classified) -> Self {
        Self {
            classified,
            read_only: false,
            transaction: Transaction::Several,
            variables: UserVariables { read: true, computed: true, named: false },
            reads: LeftoverSet::all(),
            keeps: LeftoverSet::all(),
            rows_found: RowsFound::Unknown,
            opens_tables: true,
            pins: PinSet::of(&[Pin::Unknown, Pin::ComputedVariable]),
            ends: PinSet::EMPTY,
            fresh: false,
            effects: Effects::None,
        }
    }
}

/// Whether a statement of such a kind does, wherever it names a table.
fn opens_tables(classified: &Classified) -> bool {
    use StatementKind as K;
    [K::Write, K::Load, K::Other].into_iter().any(|kind| classified.kinds.contains(kind))
}

fn is_read_only(classified: &Classified, draft: &Draft, pins: PinSet) -> bool {
    classified.kind == StatementKind::Read && !draft.modifies && pins.is_subset(PinSet::of(&[Pin::FoundRows]))
}

fn is_fresh(text: &Text<'_>) -> bool {
    // Hints stand before everything else.
    let has_front = text.tokens().first().is_none_or(|token| token.kind.is_trivia());
    has_front
        && hints(text.sql(), text.mode()).any(|hint| {
            hint.text.split(|b| *b == b',').any(|word| word.trim_ascii().eq_ignore_ascii_case(b"fresh"))
        })
}

#[cfg(test)]
mod tests;
