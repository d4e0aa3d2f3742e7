//! Prepared statements: a client's own, by Weir's ids, and those that a server connection has.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use foldhash::quality::FixedState;

use crate::state::{Schema, State};
use crate::value::Value;
use crate::variable::Variable;

mod budget;
mod client;
mod server;

pub use budget::StatementBudget;
pub use client::{ClientStatement, ClientStatements, Refusal};
pub use server::{Needs, ServerStatements};

/// What decides how the server reads a text when it prepares it. Statements whose keys are equal are the same statement, whoever
/// prepared them: connections share them between clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedKey {
    /// Of all that is below but the last three: each execution looks for its statement, and texts are long. It stands first, for keys
    /// that differ do so here.
    hash: u64,
    text: Arc<[u8]>,
    schema: Schema,
    /// The variables that count when it is prepared ([`Variable::read_at_preparation`]), as they were.
    values: Arc<[(Variable, Value)]>,
    /// Which of its client's statements with this text it is, from 0: two of one client never share one on the server, for each
    /// may have long data and a cursor of its own. Of one that is bound, the server's id; of one that is its client's alone, the
    /// client's id, which never comes again.
    copy: u32,
    /// The client that it belongs to, where clients must not share it; 0 for all.
    owner: u32,
    closed: Closed,
}

/// The client whose statement it is has closed it. It says nothing about which statement that is.
#[derive(Debug, Default)]
struct Closed(AtomicBool);

impl Clone for Closed {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Closed {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Closed {}

impl PreparedKey {
    /// The key of a text that is prepared in this state. None while something of it is unknown: the statement is then prepared
    /// on the session's connection, and the session keeps it until the state was read back.
    ///
    /// `seed` is a random number, for clients choose what is hashed, and the same for all keys that meet.
    pub fn new(text: Arc<[u8]>, state: &State, seed: u64) -> Option<Self> {
        let schema = state.schema().clone();
        let read = Variable::read_at_preparation(state.base().server().family).iter();
        let values = read.filter_map(|v| Some((*v, state.value(*v)?.clone()))).collect();
        let hash = FixedState::with_seed(seed).hash_one((&text, &schema, &values));
        let key = Self { hash, text, schema, values, copy: 0, owner: 0, closed: Closed::default() };
        state.is_known().then_some(key)
    }

    /// The key of a statement that only the connection has on which the server gave it this id: its text is not known as a
    /// whole, or not how it was read. The session must keep that connection.
    pub fn bound(text: Arc<[u8]>, server_id: u32) -> Self {
        let (schema, values) = (Schema::Unknown, Arc::default());
        Self { hash: 0, text, schema, values, copy: server_id, owner: 0, closed: Closed::default() }
    }

    /// Whether it is a key of [`Self::bound`]: its statement is of no use to anyone when its client has closed it.
    pub fn is_bound(&self) -> bool {
        // No other key has a schema that is not known.
        self.schema == Schema::Unknown
    }

    /// The key of a statement that no other client shares, nor the same client's next with this text: `owner` is not 0. MySQL keeps
    /// the types that were bound to a statement first, and reads values of other types as these: 'a' becomes 0 where an integer was
    /// bound before (measured on 9.7).
    #[must_use]
    pub fn owned_by(self, owner: u32) -> Self {
        Self { owner, ..self }
    }

    /// Whether it is a key of [`Self::owned_by`]: its statement, too, is of no use to anyone when its client has closed it.
    pub fn is_owned(&self) -> bool {
        self.owner != 0
    }

    /// Whether nobody will ever execute its statement again.
    fn is_left(&self) -> bool {
        self.is_owned() && self.closed.0.load(Ordering::Relaxed)
    }

    /// The text as the client sent it.
    pub fn text(&self) -> &Arc<[u8]> {
        &self.text
    }

    /// The schema in which names without one are looked up, also when another is chosen by the time it is executed.
    /// [`Schema::Unknown`]: of one of [`Self::bound`].
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// What a variable that counted was. `None`: it does not, or that is not known ([`Self::bound`]).
    pub fn value(&self, v: Variable) -> Option<Option<&[u8]>> {
        self.values.iter().find(|(known, _)| *known == v).map(|(_, value)| value.as_deref())
    }

    /// Whether the text is read in this state as it was when the client prepared it. Not so one of [`Self::bound`].
    pub fn is_read_alike(&self, now: &State) -> bool {
        self.schema == *now.schema() && self.values.iter().all(|(v, value)| now.value(*v) == Some(value))
    }

    /// Makes a state one in which the text is read as it was when the client prepared it: COM_STMT_PREPARE on another
    /// connection belongs between the sync to this state and the sync to the one in which it is executed. In the usual case
    /// both are the same, and nothing is sent.
    pub fn prepare_state(&self, now: &State) -> State {
        let mut state = now.clone();
        state.set_schema(self.schema.clone());
        self.values.iter().for_each(|(v, value)| state.set(*v, value.clone()));
        state
    }
}

impl Hash for PreparedKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
        state.write_u64(u64::from(self.copy) << 32 | u64::from(self.owner));
    }
}

#[cfg(test)]
mod tests;
