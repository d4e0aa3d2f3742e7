//! What a server connection must be told so that its state becomes the one that a client wants.

use std::fmt;
use std::sync::Arc;

use crate::memory::Memory;
use crate::state::{ResultsCollation, Schema, State};
use crate::user::{charset_of, put_user_value};
use crate::value::{Value, put_value};
use crate::variable::{VarSet, Variable};

/// How to bring a connection into the wanted state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// The states agree: nothing is sent.
    Nothing,
    /// Send these, in order. All may stand in one write; the client's statement may stand in it too unless a step
    /// [must be awaited](Step::must_await).
    Sync(Vec<Step>),
    /// COM_RESET_CONNECTION, then read the base anew ([`crate::Base::read_text`]), then plan again.
    Reset(Obstacle),
    /// COM_CHANGE_USER without a schema, then read the base anew, then plan again; or take another connection.
    ChangeUser(Obstacle),
    /// No connection can take the client over: it must stay where it is until its state was read back.
    Stay(Obstacle),
}

/// What a sync cannot do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Obstacle {
    /// The connection has user variables that the client has not: only a reset makes them unset.
    UserVariables,
    /// The client has no default schema, and the connection has one: USE cannot take it away, nor does a reset
    /// (measured on both servers).
    NoSchema,
    /// Something of the client's state is not known.
    WantedUnknown,
}

impl Obstacle {
    /// Every obstacle, in the order of their discriminants.
    pub const ALL: [Self; 3] = [Self::UserVariables, Self::NoSchema, Self::WantedUnknown];

    /// The name used in logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UserVariables => "user_variables",
            Self::NoSchema => "no_schema",
            Self::WantedUnknown => "wanted_unknown",
        }
    }
}

/// One command of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub send: Send,
    /// It can fail: what follows the plan may be sent only after its OK, or it would run in a state that nobody asked for (a
    /// DELETE in the previous schema).
    pub must_await: bool,
    /// The variables that it sets.
    pub sets: VarSet,
}

/// A command of a plan.
#[derive(Clone, PartialEq, Eq)]
pub enum Send {
    /// COM_INIT_DB with this name, in the connection's character_set_client at that time.
    InitDb(Arc<[u8]>),
    /// COM_QUERY with this text, which is ASCII and means the same under every sql_mode.
    Query(Vec<u8>),
}

impl fmt::Debug for Send {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InitDb(name) => write!(f, "InitDb({})", name.escape_ascii()),
            // What a client gave to a user variable may be a secret.
            Self::Query(text) => {
                let shown = text.iter().position(|b| *b == b'`').unwrap_or(text.len());
                write!(f, "Query({})", text[..shown].escape_ascii())
            }
        }
    }
}

/// Plans how `actual` becomes `wanted`. Both are of the same server.
///
/// A step need not be awaited where it cannot fail on this server: it sets only values that the server is known in `memory`
/// to have accepted, of variables that need no privilege, and user variables. A schema is always awaited.
pub fn plan_sync(wanted: &State, actual: &State, memory: &Memory) -> Plan {
    if !wanted.is_known() {
        return Plan::Stay(Obstacle::WantedUnknown);
    }
    if wanted.same_as(actual) {
        return Plan::Nothing;
    }
    if !actual.user_variables().can_become(wanted.user_variables()) {
        return Plan::Reset(Obstacle::UserVariables);
    }
    let mut steps = Vec::new();
    let mut differ = differences(wanted, actual);
    if wanted.results_collation() != actual.results_collation() {
        differ.insert(Variable::CHARACTER_SET_RESULTS);
    }
    if wanted.client_collation() != actual.client_collation() {
        differ.insert(Variable::CHARACTER_SET_CLIENT);
    }
    match wanted.schema() {
        schema if schema == actual.schema() => {}
        Schema::Known(name) => {
            if !name.is_ascii() && !speaks_utf8(actual) {
                steps.push(utf8_step());
                differ.insert(Variable::CHARACTER_SET_CLIENT);
            }
            steps.push(Step { send: Send::InitDb(name.clone()), must_await: true, sets: VarSet::EMPTY });
        }
        _ => return Plan::ChangeUser(Obstacle::NoSchema),
    }
    steps.extend(set_step(wanted, actual, (names(wanted, differ), differ), memory));
    if steps.is_empty() { Plan::Nothing } else { Plan::Sync(steps) }
}

impl Plan {
    /// Whether the client's statement must wait for the answers to the steps.
    pub fn must_await(&self) -> bool {
        matches!(self, Self::Sync(steps) if steps.iter().any(|s| s.must_await))
    }
}

/// Every step of a sync was answered with OK (or is on its way and cannot fail): the connection is as wanted.
pub fn synced(steps: &[Step], wanted: &State, actual: &mut State, memory: &mut Memory) {
    for v in steps.iter().flat_map(|s| s.sets.iter()) {
        if let Some(value) = wanted.value(v) {
            memory.accept(v, value.clone());
        }
    }
    actual.clone_from(wanted);
}

/// A step of a sync was refused: what it was to set is not known any more. The steps before it are told to [`accepted`], those
/// after it are told here if they were refused as well.
///
/// The connection's state is then made known by the next sync or by a reset, not by reading it back: no variable shows the
/// collation of results.
///
/// True: it was to set user variables too, and which of them it set is not known: the connection must be reset before
/// anything else runs there.
#[must_use]
pub fn refused(step: &Step, actual: &mut State) -> bool {
    match &step.send {
        // A schema that cannot be entered leaves the old one.
        Send::InitDb(_) => false,
        Send::Query(text) => {
            step.sets.iter().for_each(|v| actual.forget(v));
            if step.sets.contains(Variable::CHARACTER_SET_RESULTS) {
                actual.set_results_collation(ResultsCollation::Unknown);
            }
            if step.sets.contains(Variable::CHARACTER_SET_CLIENT) {
                actual.set_client_collation(ResultsCollation::Unknown);
            }
            text.contains(&b'`')
        }
    }
}

/// A step was answered with OK, in a sync of which another was refused. (Of one that went well as a whole, [`synced`] is told.)
///
/// True: it has set user variables, which are taken over only when the whole sync is: the connection must be reset.
#[must_use]
pub fn accepted(step: &Step, wanted: &State, actual: &mut State) -> bool {
    if let Send::InitDb(name) = &step.send {
        actual.set_schema(Schema::Known(name.clone()));
    }
    for v in step.sets.iter() {
        match wanted.value(v) {
            Some(value) => actual.set(v, value.clone()),
            None => actual.forget(v),
        }
        if v == Variable::CHARACTER_SET_RESULTS {
            actual.set_results_collation(wanted.results_collation().clone());
        }
        if v == Variable::CHARACTER_SET_CLIENT {
            actual.set_client_collation(wanted.client_collation().clone());
        }
    }
    matches!(&step.send, Send::Query(text) if text.contains(&b'`'))
}

/// The variables that must be set, those included that setting others disturbs.
fn differences(wanted: &State, actual: &State) -> VarSet {
    let mut differ = VarSet::EMPTY;
    let both = wanted.base().present().intersection(actual.base().present());
    for v in both.iter() {
        if actual.value(v) != wanted.value(v) {
            differ.insert(v);
            differ = differ.union(v.disturbs().intersection(both));
        }
    }
    differ
}

/// The collation that a SET NAMES must give to results or to the client, where setting their character sets would give them
/// another.
fn names(wanted: &State, differ: VarSet) -> Option<&[u8]> {
    let (results, client) = (named(wanted, OF_RESULTS), named(wanted, OF_CLIENT));
    match (results, client) {
        (Some(results), _) if differ.contains(OF_RESULTS) => Some(results),
        // It would be that of results too.
        (Some(results), Some(client)) if results != client => None,
        (_, Some(client)) if differ.contains(OF_CLIENT) => Some(client),
        _ => None,
    }
}

const OF_RESULTS: Variable = Variable::CHARACTER_SET_RESULTS;
const OF_CLIENT: Variable = Variable::CHARACTER_SET_CLIENT;

/// The collation that one of these character sets has by name.
fn named(wanted: &State, v: Variable) -> Option<&[u8]> {
    let collation = if v == OF_RESULTS { wanted.results_collation() } else { wanted.client_collation() };
    let ResultsCollation::Named(Some(collation)) = collation else { return None };
    (wanted.get(v).flatten() == Some(charset_of(collation))).then_some(collation)
}

/// Whether the connection reads names in utf8.
fn speaks_utf8(actual: &State) -> bool {
    let client = actual.get(Variable::CHARACTER_SET_CLIENT).flatten();
    client.is_some_and(|name| name.starts_with(b"utf8"))
}

/// Makes the connection read utf8, which every server allows, so that a schema's name can be told.
fn utf8_step() -> Step {
    let sets = [Variable::CHARACTER_SET_CLIENT].into_iter().collect();
    let send = Send::Query(b"SET @@SESSION.character_set_client=utf8mb4".to_vec());
    Step { send, must_await: false, sets }
}

/// One SET for all variables that differ, behind SET NAMES with this collation.
fn set_step(
    wanted: &State,
    actual: &State,
    (names, mut differ): (Option<&[u8]>, VarSet),
    memory: &Memory,
) -> Option<Step> {
    let mut text = b"SET ".to_vec();
    let mut must_await = false;
    let mut first = true;
    let mut comma = |text: &mut Vec<u8>| {
        if !std::mem::take(&mut first) {
            text.push(b',');
        }
    };
    if let Some(collation) = names {
        comma(&mut text);
        let charset = charset_of(collation);
        text.extend_from_slice(b"NAMES ");
        put_value(&mut text, Variable::CHARACTER_SET_CLIENT, Some(charset));
        text.extend_from_slice(b" COLLATE ");
        put_value(&mut text, Variable::COLLATION_CONNECTION, Some(collation));
        // Not every character set that a collation may have can be the client's.
        must_await |= !memory.accepts(Variable::CHARACTER_SET_CLIENT, &Some(charset.into()));
        must_await |= !memory.accepts(Variable::COLLATION_CONNECTION, &Some(collation.into()));
        // It sets all three.
        for v in [OF_RESULTS, OF_CLIENT] {
            match named(wanted, v) == Some(collation) {
                true => differ.remove(v),
                false => differ.insert(v),
            }
        }
        differ.insert(Variable::COLLATION_CONNECTION);
    }
    for v in differ.iter() {
        let Some(value) = wanted.value(v) else { continue };
        comma(&mut text);
        text.extend_from_slice(b"@@SESSION.");
        text.extend_from_slice(v.name_on(wanted.base().server()).as_bytes());
        text.push(b'=');
        put_value(&mut text, v, value.as_deref());
        must_await |= v.may_fail() || !memory.accepts(v, value);
    }
    let mut under = wanted.value(Variable::COLLATION_CONNECTION);
    for variable in wanted.user_variables().iter().filter(|variable| !actual.user_variables().has(variable)) {
        // Assignments take effect in their order.
        if variable.under.is_some() && under != Some(&variable.under) {
            under = Some(&variable.under);
            comma(&mut text);
            must_await |= put_collation(&mut text, under, memory);
        }
        comma(&mut text);
        text.extend_from_slice(b"@`");
        text.extend_from_slice(&variable.name);
        text.extend_from_slice(b"`=");
        put_user_value(&mut text, &variable.value);
        must_await |= !variable.value.cannot_fail();
    }
    if under != wanted.value(Variable::COLLATION_CONNECTION) {
        comma(&mut text);
        must_await |= put_collation(&mut text, wanted.value(Variable::COLLATION_CONNECTION), memory);
        differ.insert(Variable::COLLATION_CONNECTION);
    }
    if names.is_some() {
        differ.insert(OF_RESULTS);
        differ.insert(OF_CLIENT);
    }
    (!first).then_some(Step { send: Send::Query(text), must_await, sets: differ })
}

/// Sets the collation of the connection, amid the user variables. Whether that may fail.
fn put_collation(text: &mut Vec<u8>, collation: Option<&Value>, memory: &Memory) -> bool {
    let Some(collation) = collation else { return false };
    text.extend_from_slice(b"@@SESSION.collation_connection=");
    put_value(text, Variable::COLLATION_CONNECTION, collation.as_deref());
    !memory.accepts(Variable::COLLATION_CONNECTION, collation)
}

#[cfg(test)]
mod tests;
