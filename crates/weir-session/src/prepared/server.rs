//! The prepared statements of one server connection.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use foldhash::fast::FixedState;

use super::budget::{EACH, Share, StatementBudget};
use super::{ClientStatement, PreparedKey};

/// Statements that a connection gives up at once for others, ahead of one command of its own.
const GIVEN_UP_AT_ONCE: usize = 16;

/// How many statements are looked at with each preparation, whether their clients have closed them.
const LOOKED_AT: usize = 4;

/// In the place of the time of the last use, of a statement that must not be closed.
const HELD: u64 = u64::MAX - 1;

/// What an execution needs on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// The connection has it, under this id. `types`: the types must stand in the execution, even if the client left them out, for
    /// they are not those that were bound on this connection last.
    Nothing { server_id: u32, types: bool },
    /// COM_STMT_PREPARE must go ahead; the execution after it carries types.
    Prepare,
}

/// The prepared statements of a server connection: by key, the least recently used closed first. As many as the server's
/// [`StatementBudget`] has room for, and one at least. Those that are bound to the connection ([`PreparedKey::bound`]) cannot be
/// prepared again: they are counted, but never closed, and go with their client, which may have `limits.max_statements`. Nor are
/// those closed that are open: a cursor or long data is on the connection.
#[derive(Debug)]
pub struct ServerStatements {
    entries: HashMap<Arc<PreparedKey>, Entry, FixedState>,
    /// Those that may be closed, by the time of their last use.
    order: BTreeMap<u64, Arc<PreparedKey>>,
    clock: u64,
    /// Of those, what is still to be looked at in this round whether clients have closed it.
    unseen: Range<u64>,
    /// How many of the entries are bound.
    bound: usize,
    /// How many are a client's alone.
    owned: usize,
    /// How many clients had gone when all were last begun to be looked at for them.
    gone: usize,
    /// All are being looked at.
    looks: bool,
    /// Of no more use; the server still has them.
    to_close: Vec<u32>,
    /// Another is about to be prepared.
    coming: bool,
    /// `None` where there is no connection.
    share: Option<Share>,
}

#[derive(Debug)]
struct Entry {
    server_id: u32,
    /// [`HELD`]: it must not be closed.
    used: u64,
    types: Option<Arc<[u8]>>,
}

impl ServerStatements {
    /// Those of a connection that has none yet. `seed` is a random number: clients choose what is hashed.
    pub fn new(budget: &Arc<StatementBudget>, seed: u64) -> Self {
        Self { share: Some(Share::new(budget)), ..Self::of_none(seed) }
    }

    /// In the place of those of a connection where there is no connection.
    pub fn nowhere() -> Self {
        Self::of_none(0)
    }

    fn of_none(seed: u64) -> Self {
        Self {
            entries: HashMap::with_hasher(FixedState::with_seed(seed)),
            order: BTreeMap::new(),
            clock: 0,
            unseen: 0..0,
            bound: 0,
            owned: 0,
            gone: 0,
            looks: false,
            to_close: Vec::new(),
            coming: false,
            share: None,
        }
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
        // The one that was used last stays the last, and what is held has no place among the others.
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

    /// Whether the server knows a statement of this connection under this id.
    pub fn has_id(&self, server_id: u32) -> bool {
        self.to_close.contains(&server_id) || self.entries.values().any(|entry| entry.server_id == server_id)
    }

    /// COM_STMT_PREPARE is about to be sent. What must go for it is closed first: send what [`Self::take_to_close`] gives
    /// ahead of it.
    pub fn make_room(&mut self) {
        self.coming = true;
        self.close_left(LOOKED_AT);
        let Some(mut share) = self.share.take() else { return };
        loop {
            let after = self.entries.len() + 1;
            if after - self.bound <= EACH && share.take(after) {
                break;
            }
            if !self.evict() {
                share.level(after);
                break;
            }
        }
        self.share = Some(share);
    }

    /// Ahead of an execution: gives up a few statements that are used least, if other connections have no room and this one has
    /// more than its part. The one that was used last stays.
    #[inline]
    pub fn make_room_for_others(&mut self) {
        let excess = self.share.as_ref().map_or(0, Share::excess);
        for _ in 0..excess.min(GIVEN_UP_AT_ONCE) {
            if self.order.len() < 2 || !self.evict() {
                break;
            }
        }
    }

    /// A statement is open now, or not any more.
    pub fn hold(&mut self, key: &Arc<PreparedKey>, open: bool) {
        let Some(entry) = self.entries.get_mut(key).filter(|_| !key.is_bound()) else { return };
        if open {
            self.order.remove(&entry.used);
            entry.used = HELD;
        } else if entry.used == HELD {
            entry.used = self.clock;
            self.order.insert(self.clock, key.clone());
            self.clock += 1;
        }
    }

    /// The connection is taken out of the pool. If clients have gone since all its statements were looked at, a few are: those that
    /// these have left are closed, also where nobody prepares any more.
    #[inline]
    pub fn look_for_left(&mut self) {
        let gone = self.share.as_ref().map_or(0, Share::gone);
        if self.looks || gone != self.gone {
            self.look(gone);
        }
    }

    /// A client that has statements has none any more, here and on all other connections.
    pub fn client_gone(&self) {
        if let Some(share) = &self.share {
            share.client_gone();
        }
    }

    #[cold]
    fn look(&mut self, gone: usize) {
        if !self.looks {
            (self.gone, self.unseen) = (gone, 0..self.clock);
        }
        self.looks = self.owned > 0 && !self.close_left(LOOKED_AT);
    }

    /// The client goes: what was its alone, and closed by now, is closed here.
    pub fn close_all_left(&mut self) {
        if self.owned == 0 {
            return;
        }
        self.unseen = 0..self.clock;
        self.close_left(usize::MAX);
    }

    /// The ids for which COM_STMT_CLOSE must go ahead of the next command.
    pub fn take_to_close(&mut self) -> Vec<u32> {
        if self.to_close.is_empty() {
            return Vec::new();
        }
        let ids = std::mem::take(&mut self.to_close);
        self.level();
        ids
    }

    /// The server has prepared a statement. An older preparation of the same is closed.
    pub fn prepared(&mut self, key: Arc<PreparedKey>, server_id: u32) {
        self.close(&key);
        self.coming = false;
        let used = if key.is_bound() { HELD } else { self.clock };
        self.entries.insert(key.clone(), Entry { server_id, used, types: None });
        self.owned += usize::from(key.is_owned());
        if key.is_bound() {
            self.bound += 1;
        } else {
            self.order.insert(used, key);
            self.clock += 1;
        }
        self.level();
    }

    /// The server has refused to prepare a statement.
    pub fn prepared_none(&mut self) {
        self.coming = false;
        self.level();
    }

    /// A statement is not to be used here any more: the server does not know it (error 1243), or it was changed by ALTER
    /// and must be prepared anew, or it is of no use to others.
    pub fn close(&mut self, key: &Arc<PreparedKey>) {
        let Some(entry) = self.entries.remove(key) else { return };
        self.bound -= usize::from(key.is_bound());
        self.owned -= usize::from(key.is_owned());
        self.order.remove(&entry.used);
        self.to_close.push(entry.server_id);
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
        self.to_close.clear();
        (self.bound, self.owned, self.coming) = (0, 0, false);
        self.level();
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Counts what the server has of this connection.
    fn level(&mut self) {
        let there = self.entries.len() + self.to_close.len() + usize::from(self.coming);
        if let Some(share) = &mut self.share {
            share.level(there);
        }
    }

    /// Closes the one that was not used for longest; false where none may go.
    fn evict(&mut self) -> bool {
        let key = self.order.first_key_value().map(|(_, key)| Arc::clone(key));
        if let Some(key) = &key {
            self.close(key);
        }
        key.is_some()
    }

    /// Closes those that clients have left among so many that are looked at, all in turn. True: these were the last of a round.
    fn close_left(&mut self, looked_at: usize) -> bool {
        let (mut left, mut looked) = (Vec::new(), 0);
        for (used, key) in self.order.range(self.unseen.clone()).take(looked_at) {
            (self.unseen.start, looked) = (used + 1, looked + 1);
            if key.is_left() {
                left.push(Arc::clone(key));
            }
        }
        let is_last = looked < looked_at;
        if is_last {
            self.unseen = 0..self.clock;
        }
        for key in &left {
            self.close(key);
        }
        is_last
    }
}
