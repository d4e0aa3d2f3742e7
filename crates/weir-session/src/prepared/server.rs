//! The prepared statements of one server connection.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use foldhash::fast::FixedState;

use super::{ClientStatement, PreparedKey};

/// What an execution needs on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// The connection has it, under this id. `types`: the types must stand in the execution, even if the client left them out, for
    /// they are not those that were bound on this connection last.
    Nothing { server_id: u32, types: bool },
    /// COM_STMT_PREPARE must go ahead; the execution after it carries types.
    Prepare,
}

/// The prepared statements of a server connection: by key, the least recently used closed first. Those that are bound to the
/// connection ([`PreparedKey::bound`]) cannot be prepared again: they are neither counted nor closed, and go with their
/// client, which may have `limits.max_statements`.
#[derive(Debug)]
pub struct ServerStatements {
    entries: HashMap<Arc<PreparedKey>, Entry, FixedState>,
    /// By the time of their last use.
    order: BTreeMap<u64, Arc<PreparedKey>>,
    clock: u64,
    limit: usize,
    /// How many of the entries are bound.
    bound: usize,
}

#[derive(Debug)]
struct Entry {
    server_id: u32,
    used: u64,
    types: Option<Arc<[u8]>>,
}

impl ServerStatements {
    /// None yet; at most `limit` of them, at least one. `seed` is a random number: clients choose what is hashed.
    pub fn new(limit: usize, seed: u64) -> Self {
        let entries = HashMap::with_hasher(FixedState::with_seed(seed));
        Self { entries, order: BTreeMap::new(), clock: 0, limit: limit.max(1), bound: 0 }
    }

    /// What the execution of a client's statement needs here. It counts as a use.
    ///
    /// Call it after [`super::ClientStatements::bind`]. If the answer is to send types, and the connection is lost before it is
    /// sent, nothing is wrong; if another statement's execution goes first, ask again.
    pub fn need(&mut self, statement: &ClientStatement) -> Needs {
        let key = statement.key();
        let Some(entry) = self.entries.get_mut(key) else { return Needs::Prepare };
        let types = statement.params() > 0 && entry.types.as_ref() != statement.types();
        if types {
            entry.types = statement.types().cloned();
        }
        let server_id = entry.server_id;
        // The one that was used last stays the last.
        if entry.used + 1 < self.clock {
            self.order.remove(&entry.used);
            entry.used = self.clock;
            self.order.insert(self.clock, key.clone());
            self.clock += 1;
        }
        Needs::Nothing { server_id, types }
    }

    /// The id under which the connection has a statement, without using it (COM_STMT_RESET, COM_STMT_FETCH,
    /// COM_STMT_SEND_LONG_DATA).
    pub fn id(&self, key: &Arc<PreparedKey>) -> Option<u32> {
        self.entries.get(key).map(|entry| entry.server_id)
    }

    /// Whether the connection has a statement under this id.
    pub fn has_id(&self, server_id: u32) -> bool {
        self.entries.values().any(|entry| entry.server_id == server_id)
    }

    /// The server has prepared a statement. Returned is the id for which COM_STMT_CLOSE must be sent, if any: of an older
    /// preparation of the same, or of the one that was not used for longest. `open` tells of which statements a cursor or
    /// long data is on the connection; they stay.
    pub fn prepared(
        &mut self,
        key: Arc<PreparedKey>,
        server_id: u32,
        open: impl Fn(&PreparedKey) -> bool,
    ) -> Option<u32> {
        let close = match self.forget(&key) {
            Some(old) => Some(old),
            None if !key.is_bound() && self.entries.len() - self.bound >= self.limit => self.evict(open),
            None => None,
        };
        self.bound += usize::from(key.is_bound());
        self.entries.insert(key.clone(), Entry { server_id, used: self.clock, types: None });
        self.order.insert(self.clock, key);
        self.clock += 1;
        close
    }

    /// A statement is not to be used here any more: the server does not know it (error 1243), or it was changed by ALTER
    /// and must be prepared anew. Returned is the id to close.
    pub fn forget(&mut self, key: &Arc<PreparedKey>) -> Option<u32> {
        let entry = self.entries.remove(key)?;
        self.bound -= usize::from(key.is_bound());
        self.order.remove(&entry.used);
        Some(entry.server_id)
    }

    /// The types of an execution did not reach the server, or it refused them: they are sent again next time.
    pub fn forget_types(&mut self, key: &Arc<PreparedKey>) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.types = None;
        }
    }

    /// COM_RESET_CONNECTION or COM_CHANGE_USER: the server has closed all.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.order.clear();
        self.bound = 0;
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn evict(&mut self, open: impl Fn(&PreparedKey) -> bool) -> Option<u32> {
        let key = self.order.values().find(|key| !key.is_bound() && !open(key)).cloned()?;
        self.forget(&key)
    }
}
