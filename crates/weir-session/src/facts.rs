//! From the facts of a text (weir-sql) to what this crate asks of a statement.

use std::borrow::Cow;

use weir_sql::{
    Effect as TextEffect, Facts, Isolation, Leftover, Literal, LiteralKind, Pin, RowsFound, Scope,
    StatementKind, Statements, Transaction, TransactionScope, Value, XaVerb,
};

use crate::pins::{PinReason, PinSet};
use crate::statement::{Assigned, Effect, FoundRows, InsertId, Reads, Statement, UserAssigned};
use crate::value::is_number;
use crate::variable::Variable;

/// Which reason a pin of the text is. [`Pin::SetsLastInsertId`] is none: LAST_INSERT_ID() is read back.
const PINS: [(Pin, PinReason); 21] = [
    (Pin::TemporaryTable, PinReason::TemporaryTable),
    (Pin::TableLock, PinReason::LockTables),
    (Pin::InstanceLock, PinReason::InstanceLock),
    (Pin::BackupLock, PinReason::BackupLock),
    (Pin::BackupStage, PinReason::BackupStage),
    (Pin::UserLock, PinReason::UserLock),
    (Pin::Handler, PinReason::Handler),
    (Pin::PreparedText, PinReason::SqlPrepare),
    (Pin::Call, PinReason::Procedure),
    (Pin::StoredFunction, PinReason::Procedure),
    (Pin::Compound, PinReason::Procedure),
    (Pin::Sequence, PinReason::Sequence),
    (Pin::ComputedVariable, PinReason::UserVariable),
    (Pin::FoundRows, PinReason::FoundRows),
    (Pin::LoadData, PinReason::LoadData),
    (Pin::Password, PinReason::Admin),
    (Pin::Role, PinReason::Role),
    (Pin::ResourceGroup, PinReason::UntrackedVariable),
    (Pin::Admin, PinReason::Admin),
    (Pin::Unknown, PinReason::UnknownStatement),
    (Pin::Xa, PinReason::Xa),
];

/// What may run code that the text does not show.
const HIDDEN: [Pin; 5] = [Pin::Call, Pin::StoredFunction, Pin::Compound, Pin::PreparedText, Pin::Unknown];

/// Hands the statement that these facts of `sql` describe to `f`. A text without effects, which is most, costs no
/// allocation.
pub fn with_statement<R>(facts: &Facts, sql: &[u8], f: impl FnOnce(&Statement<'_>) -> R) -> R {
    let mut found = Found { pins: pins(facts), ..Found::default() };
    facts.effects(sql).for_each(|effect| found.take(&effect));
    let hidden = HIDDEN.iter().any(|pin| facts.pins.contains(*pin));
    if hidden {
        found.effects.push(Decoded::Everything);
    } else if facts.classified.kinds.contains(StatementKind::Ddl) && names_a_schema(sql) {
        // DROP DATABASE of the default schema leaves none. Both servers report it, but a client can turn that off.
        found.effects.push(Decoded::SchemaUnknown);
    }
    let effects: Vec<Effect<'_>> = found.effects.iter().map(Decoded::effect).collect();
    let several = facts.classified.statements == Statements::Many;
    let statement = Statement {
        effects: &effects,
        pins: found.pins,
        ends: ends(facts),
        reads: reads(facts),
        found_rows: found_rows(facts, hidden),
        insert_id: insert_id(facts, several, hidden || found.sets_insert_id),
        keeps_diagnostics: facts.keeps.contains(Leftover::Diagnostics),
        temporary: found.temporary,
        silent: effects.is_empty() && touches_tables_only(facts),
        lingers: facts.opens_tables
            || matches!(facts.transaction, Transaction::Savepoint | Transaction::Several),
        ends_transaction: matches!(facts.transaction, Transaction::Commit(_) | Transaction::Rollback(_)),
        names_variables: facts.variables.named && !hidden,
        only_commits: !several && !hidden && facts.transaction == Transaction::ImplicitCommit,
        may_begin: several || hidden || facts.transaction != Transaction::None,
    };
    f(&statement)
}

fn touches_tables_only(facts: &Facts) -> bool {
    use StatementKind as K;
    let may = |kind: K| matches!(kind, K::Read | K::Write | K::Load);
    K::ALL.into_iter().all(|kind| may(kind) || !facts.classified.kinds.contains(kind))
}

/// Whether DATABASE or SCHEMA stands anywhere in a text, be it in a name. No client character set writes a keyword with other
/// bytes.
fn names_a_schema(sql: &[u8]) -> bool {
    let here = |at: &[u8], word: &[u8]| at.get(..word.len()).is_some_and(|w| w.eq_ignore_ascii_case(word));
    (0..sql.len()).any(|i| sql.get(i..).is_some_and(|at| here(at, b"database") || here(at, b"schema")))
}

fn pins(facts: &Facts) -> PinSet {
    let chosen = PINS.iter().filter(|(pin, _)| facts.pins.contains(*pin));
    let mut pins = chosen.fold(PinSet::EMPTY, |set, (_, reason)| set.union((*reason).into()));
    if facts.transaction == Transaction::Xa(XaVerb::Recover) {
        pins.remove(PinReason::Xa);
    }
    if facts.reads.contains(Leftover::ConnectionId) {
        pins.insert(PinReason::ConnectionId);
    }
    pins
}

fn ends(facts: &Facts) -> PinSet {
    // Procedures and hidden code are proven gone by nothing but a reset.
    let ended = [Pin::TableLock, Pin::InstanceLock, Pin::BackupLock, Pin::BackupStage, Pin::UserLock];
    let chosen = PINS.iter().filter(|(pin, _)| ended.contains(pin) && facts.ends.contains(*pin));
    let mut ends = chosen.fold(PinSet::EMPTY, |set, (_, reason)| set.union((*reason).into()));
    if matches!(facts.transaction, Transaction::Xa(XaVerb::Commit | XaVerb::Rollback)) {
        ends.insert(PinReason::Xa);
    }
    ends
}

fn reads(facts: &Facts) -> Reads {
    [
        (Leftover::LastInsertId, Reads::LAST_INSERT_ID),
        (Leftover::RowCount, Reads::ROW_COUNT),
        (Leftover::FoundRows, Reads::FOUND_ROWS),
        (Leftover::Diagnostics, Reads::DIAGNOSTICS),
        (Leftover::Signal, Reads::DIAGNOSTICS),
    ]
    .into_iter()
    .filter(|(leftover, _)| facts.reads.contains(*leftover))
    // A procedure that changes nothing answers with the ROW_COUNT() of the statement before it (measured on MySQL).
    .fold(if facts.pins.contains(Pin::Call) { Reads::ROW_COUNT } else { Reads::NONE }, |all, (_, part)| {
        all.union(part)
    })
}

fn found_rows(facts: &Facts, hidden: bool) -> FoundRows {
    match facts.rows_found {
        _ if hidden => FoundRows::Unknown,
        RowsFound::AsSent => FoundRows::RowsSent,
        RowsFound::Kept => FoundRows::Kept,
        RowsFound::Unknown => FoundRows::Unknown,
    }
}

fn insert_id(facts: &Facts, several: bool, unknown: bool) -> InsertId {
    use StatementKind as K;
    if unknown || facts.pins.contains(Pin::SetsLastInsertId) {
        return InsertId::Unknown;
    }
    match facts.kind() {
        K::Read | K::Use | K::Set | K::TransactionControl | K::Lock | K::Kill => InsertId::Kept,
        // SELECT ... FOR UPDATE is a write by its kind, and answers with rows.
        K::Write if facts.rows_found == RowsFound::AsSent => InsertId::Kept,
        // Only CREATE TABLE ... SELECT makes ids. Measured on both servers, ALTER TABLE that adds an AUTO_INCREMENT column included.
        K::Ddl if facts.rows_found == RowsFound::Kept && !several => InsertId::Kept,
        // The last OK of several says nothing of the ids that those before it made.
        K::Write | K::Ddl if !several => InsertId::Insert,
        // GET DIAGNOSTICS, SIGNAL and the like look, and change nothing. (The OK of LOAD DATA does not tell the ids it made.)
        _ if !several
            && (facts.reads.contains(Leftover::Diagnostics) || facts.reads.contains(Leftover::Signal)) =>
        {
            InsertId::Kept
        }
        _ => InsertId::Unknown,
    }
}

/// What the effects of a text come to.
#[derive(Default)]
struct Found<'a> {
    effects: Vec<Decoded<'a>>,
    pins: PinSet,
    sets_insert_id: bool,
    temporary: bool,
}

/// An effect with what had to be decoded.
enum Decoded<'a> {
    Variable(Cow<'a, [u8]>, Option<Cow<'a, [u8]>>),
    Names(Option<Cow<'a, [u8]>>, Option<Cow<'a, [u8]>>),
    CharacterSet,
    User(Cow<'a, [u8]>, User<'a>),
    Schema(Cow<'a, [u8]>),
    /// A name beyond ASCII, or a schema that may be gone.
    SchemaUnknown,
    Everything,
}

/// The value of a user variable.
enum User<'a> {
    Number(&'a [u8]),
    Binary(Vec<u8>),
    Text(Cow<'a, [u8]>),
    Null,
    Computed,
}

impl<'a> Found<'a> {
    fn take(&mut self, effect: &TextEffect<&'a [u8]>) {
        match effect {
            // The name is in the client's character set; beyond ASCII the server is asked.
            TextEffect::Schema(name) if name.text.is_ascii() => {
                self.effects.push(Decoded::Schema(name.decoded()));
            }
            TextEffect::Schema(_) => self.effects.push(Decoded::SchemaUnknown),
            TextEffect::Variable { name, scope, value } => self.variable(name.decoded(), *scope, value),
            TextEffect::UserVariable { name, value } => {
                let value = user(value);
                if matches!(value, User::Computed) {
                    self.pins.insert(PinReason::UserVariable);
                }
                self.effects.push(Decoded::User(name.decoded(), value));
            }
            TextEffect::Names { charset, collation } => {
                let (charset, collation) = (charset.plain(), collation.and_then(|c| c.plain()));
                self.effects.push(Decoded::Names(charset, collation));
            }
            TextEffect::CharacterSet(_) => self.effects.push(Decoded::CharacterSet),
            TextEffect::Transaction(set) => match set.scope {
                TransactionScope::Global => {}
                TransactionScope::Next => self.pins.insert(PinReason::NextTransaction),
                TransactionScope::Session => {
                    let isolation = set.isolation.map(|level| (Variable::TRANSACTION_ISOLATION, word(level)));
                    let read_only = |a| if a == weir_sql::Access::ReadOnly { "ON" } else { "OFF" };
                    let access = set.access.map(|a| (Variable::TRANSACTION_READ_ONLY, read_only(a)));
                    for (v, value) in isolation.into_iter().chain(access) {
                        let name = Cow::Borrowed(v.name().as_bytes());
                        self.effects.push(Decoded::Variable(name, Some(Cow::Borrowed(value.as_bytes()))));
                    }
                }
            },
            TextEffect::Password | TextEffect::DefaultRole => self.pins.insert(PinReason::Admin),
            TextEffect::Role => self.pins.insert(PinReason::Role),
            TextEffect::ResourceGroup => self.pins.insert(PinReason::UntrackedVariable),
        }
    }

    fn variable(&mut self, name: Cow<'a, [u8]>, scope: Scope, value: &Value<&'a [u8]>) {
        match scope {
            Scope::Global | Scope::Persist | Scope::PersistOnly => return,
            Scope::Statement => {
                self.temporary = true;
                return;
            }
            Scope::Session | Scope::Unnamed => {}
        }
        if name.eq_ignore_ascii_case(b"last_insert_id") || name.eq_ignore_ascii_case(b"identity") {
            self.sets_insert_id = true;
            return;
        }
        let found = Variable::find(&name);
        let one_shot = [Variable::TRANSACTION_ISOLATION, Variable::TRANSACTION_READ_ONLY];
        let next = scope == Scope::Unnamed && found.is_some_and(|v| one_shot.contains(&v));
        if found.is_none() {
            self.pins.insert(PinReason::UntrackedVariable);
        }
        if next {
            self.pins.insert(PinReason::NextTransaction);
        }
        let literal = match value {
            Value::Literal(literal) if !next => assigned(literal),
            _ => None,
        };
        self.effects.push(Decoded::Variable(name, literal));
    }
}

/// A literal whose bytes alone say what it means. `'1'` is not 1 for every variable, so it is none.
fn assigned<'a>(literal: &Literal<&'a [u8]>) -> Option<Cow<'a, [u8]>> {
    match literal.kind {
        LiteralKind::Integer | LiteralKind::Decimal => Some(Cow::Borrowed(literal.text)),
        LiteralKind::String | LiteralKind::Word => literal.plain().filter(|text| !is_number(text)),
        _ => None,
    }
}

fn user<'a>(value: &Value<&'a [u8]>) -> User<'a> {
    let Value::Literal(literal) = value else { return User::Computed };
    match literal.kind {
        LiteralKind::Integer | LiteralKind::Decimal | LiteralKind::Float => User::Number(literal.text),
        LiteralKind::True => User::Number(b"1"),
        LiteralKind::False => User::Number(b"0"),
        LiteralKind::Null => User::Null,
        LiteralKind::String => literal.plain().map_or(User::Computed, User::Text),
        LiteralKind::Hex => hex(literal.text).map_or(User::Computed, User::Binary),
        LiteralKind::Bit | LiteralKind::Default | LiteralKind::Word => User::Computed,
    }
}

/// The bytes of `0x4142` and `x'4142'`; none with an introducer.
fn hex(text: &[u8]) -> Option<Vec<u8>> {
    let digits = match text {
        [b'0', b'x', digits @ ..] | [b'x' | b'X', b'\'', digits @ .., b'\''] => digits,
        _ => return None,
    };
    let nibble = |b: &u8| char::from(*b).to_digit(16).map(|d| d as u8);
    let nibbles: Option<Vec<u8>> = digits.iter().map(nibble).collect();
    let mut nibbles = nibbles?;
    if nibbles.len() % 2 == 1 {
        nibbles.insert(0, 0);
    }
    Some(nibbles.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

fn word(level: Isolation) -> &'static str {
    match level {
        Isolation::ReadUncommitted => "READ-UNCOMMITTED",
        Isolation::ReadCommitted => "READ-COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE-READ",
        Isolation::Serializable => "SERIALIZABLE",
    }
}

impl Decoded<'_> {
    fn effect(&self) -> Effect<'_> {
        match self {
            Self::Variable(name, value) => {
                let value = value.as_deref().map_or(Assigned::Computed, Assigned::Literal);
                Effect::Variable { name, value }
            }
            Self::Names(charset, collation) => {
                Effect::Names { charset: charset.as_deref(), collation: collation.as_deref() }
            }
            Self::CharacterSet => Effect::CharacterSet,
            Self::User(name, value) => {
                let value = match value {
                    User::Number(text) => UserAssigned::Number(text),
                    User::Binary(bytes) => UserAssigned::Binary(bytes),
                    User::Text(text) => UserAssigned::Text(text),
                    User::Null => UserAssigned::Null,
                    User::Computed => UserAssigned::Computed,
                };
                Effect::UserVariable { name, value }
            }
            Self::Schema(name) => Effect::Schema(name),
            Self::SchemaUnknown => Effect::SchemaUnknown,
            Self::Everything => Effect::Everything,
        }
    }
}

#[cfg(test)]
mod tests;
