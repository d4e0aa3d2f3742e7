//! The prepared statements of one client.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::PreparedKey;

/// One prepared statement of a client.
#[derive(Debug)]
pub struct ClientStatement {
    key: Arc<PreparedKey>,
    params: u16,
    /// The types that were bound last, as they stand in COM_STMT_EXECUTE: two bytes for each parameter (with names, where query
    /// attributes are agreed).
    types: Option<Arc<[u8]>>,
    /// Others were bound before these.
    rebound: bool,
    long_data: bool,
    cursor: bool,
    /// Columns of its result, as the client was told last.
    columns: u64,
}

impl ClientStatement {
    pub fn key(&self) -> &Arc<PreparedKey> {
        &self.key
    }

    /// How many parameters it has.
    pub fn params(&self) -> u16 {
        self.params
    }

    /// The types that were bound last: what an execution without types means.
    pub fn types(&self) -> Option<&Arc<[u8]>> {
        self.types.as_ref()
    }

    /// Other types were bound before these. MySQL reads values as the types that came first.
    pub fn is_rebound(&self) -> bool {
        self.rebound
    }

    /// How many columns its result has, as the client was told last.
    pub fn columns(&self) -> u64 {
        self.columns
    }

    /// COM_STMT_SEND_LONG_DATA has gone to the connection for its next execution.
    pub fn has_long_data(&self) -> bool {
        self.long_data
    }

    /// A cursor is open.
    pub fn has_cursor(&self) -> bool {
        self.cursor
    }
}

impl Drop for ClientStatement {
    /// Wherever it was prepared, nobody needs it there any more if it was this client's alone.
    fn drop(&mut self) {
        self.key.closed.0.store(true, Ordering::Relaxed);
    }
}

/// Why a command about a statement is answered by Weir itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// No such statement: error 1243 for COM_STMT_EXECUTE, FETCH and RESET; silence for CLOSE and SEND_LONG_DATA.
    Unknown,
    /// The client has as many statements as it may: error 1461.
    TooMany,
    /// An execution without types, and none were ever bound: error 1210, as on a server.
    Unbound,
}

/// The prepared statements of a client by Weir's ids, which count from 1 and are never used twice in a session.
#[derive(Debug, Default)]
pub struct ClientStatements {
    /// Boxed, for most clients have none.
    inner: Option<Box<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    statements: HashMap<u32, ClientStatement, foldhash::fast::FixedState>,
    /// For each text of which there is a statement that clients share: how many there are, and the number of the next.
    copies: HashMap<PreparedKey, (u32, u32), foldhash::fast::FixedState>,
    /// The id that was given last.
    last: u32,
    /// A PREPARE was refused since: the server knows no last one then.
    is_void: bool,
    long_data: u32,
    cursors: u32,
}

/// MariaDB: "the statement prepared last", for EXECUTE in one write with PREPARE.
const DIRECT: u32 = u32::MAX;

impl ClientStatements {
    /// Adds a statement that was prepared, and gives its id. `key` comes from [`PreparedKey::new`] (with [`PreparedKey::owned_by`])
    /// or [`PreparedKey::bound`].
    ///
    /// # Errors
    /// [`Refusal::TooMany`] at `limit` statements.
    pub fn add(&mut self, key: Arc<PreparedKey>, params: u16, limit: usize) -> Result<u32, Refusal> {
        let inner = self.inner.get_or_insert_default();
        // The highest id means the last statement, so it is never given.
        if inner.statements.len() >= limit || inner.last == DIRECT - 1 {
            return Err(Refusal::TooMany);
        }
        inner.last += 1;
        inner.is_void = false;
        let key = if key.is_bound() { key } else { inner.copy(key) };
        let statement = ClientStatement {
            key,
            params,
            types: None,
            rebound: false,
            long_data: false,
            cursor: false,
            columns: 0,
        };
        inner.statements.insert(inner.last, statement);
        Ok(inner.last)
    }

    /// A PREPARE was refused: none is the last one now.
    pub fn void_last(&mut self) {
        if let Some(inner) = &mut self.inner {
            inner.is_void = true;
        }
    }

    /// A statement by the id in a command; -1 means the one that was prepared last.
    ///
    /// # Errors
    /// [`Refusal::Unknown`].
    pub fn get(&self, id: u32) -> Result<&ClientStatement, Refusal> {
        let found = self.inner.as_ref().and_then(|inner| inner.statements.get(&inner.resolve(id)));
        found.ok_or(Refusal::Unknown)
    }

    /// The id itself, where a command says -1.
    pub fn resolve(&self, id: u32) -> u32 {
        self.inner.as_ref().map_or(id, |inner| inner.resolve(id))
    }

    /// An execution binds these types, or (None) says that they are as before.
    ///
    /// # Errors
    /// [`Refusal::Unknown`]; [`Refusal::Unbound`] where there are parameters and no types at all.
    pub fn bind(&mut self, id: u32, types: Option<&[u8]>) -> Result<&ClientStatement, Refusal> {
        let statement = self.get_mut(id)?;
        match types {
            Some(types) if statement.types.as_deref() != Some(types) => {
                statement.rebound |= statement.types.is_some();
                statement.types = Some(types.into());
            }
            None if statement.types.is_none() && statement.params > 0 => return Err(Refusal::Unbound),
            _ => {}
        }
        Ok(statement)
    }

    /// The client was told that the result has so many columns.
    ///
    /// # Errors
    /// [`Refusal::Unknown`].
    pub fn set_columns(&mut self, id: u32, columns: u64) -> Result<(), Refusal> {
        self.get_mut(id)?.columns = columns;
        Ok(())
    }

    /// COM_STMT_SEND_LONG_DATA passed. What this and the next three return is for [`super::ServerStatements::hold`].
    ///
    /// # Errors
    /// [`Refusal::Unknown`]: it must not be passed on, and is not answered.
    pub fn long_data(&mut self, id: u32) -> Result<Option<bool>, Refusal> {
        self.mark(id, |s| s.long_data = true)
    }

    /// An execution was answered: the long data is used up, and a cursor is open or not.
    ///
    /// # Errors
    /// [`Refusal::Unknown`].
    pub fn executed(&mut self, id: u32, cursor: bool) -> Result<Option<bool>, Refusal> {
        self.mark(id, |s| (s.long_data, s.cursor) = (false, cursor))
    }

    /// COM_STMT_FETCH brought the last row, or failed.
    ///
    /// # Errors
    /// [`Refusal::Unknown`].
    pub fn fetched_all(&mut self, id: u32) -> Result<Option<bool>, Refusal> {
        self.mark(id, |s| s.cursor = false)
    }

    /// COM_STMT_RESET: no long data, no cursor; the types stay bound.
    ///
    /// # Errors
    /// [`Refusal::Unknown`].
    pub fn reset(&mut self, id: u32) -> Result<Option<bool>, Refusal> {
        self.mark(id, |s| (s.long_data, s.cursor) = (false, false))
    }

    /// COM_STMT_CLOSE, which is never answered.
    pub fn close(&mut self, id: u32) -> Option<ClientStatement> {
        let _ = self.reset(id);
        let inner = self.inner.as_mut()?;
        let closed = inner.statements.remove(&inner.resolve(id))?;
        if closed.key.is_bound() || closed.key.is_owned() {
            return Some(closed);
        }
        let text = PreparedKey { copy: 0, ..(*closed.key).clone() };
        if let Some((live, _)) = inner.copies.get_mut(&text) {
            *live -= 1;
            if *live == 0 {
                inner.copies.remove(&text);
            }
        }
        Some(closed)
    }

    /// COM_RESET_CONNECTION or COM_CHANGE_USER: all are gone. Ids go on counting: an old one never means a new statement.
    pub fn clear(&mut self) {
        if let Some(inner) = &mut self.inner {
            **inner = Inner { last: inner.last, ..Inner::default() };
        }
    }

    /// Whether long data waits on the connection for any statement ([`crate::PinReason::LongData`]).
    pub fn any_long_data(&self) -> bool {
        self.inner.as_ref().is_some_and(|inner| inner.long_data > 0)
    }

    /// Whether any cursor is open ([`crate::PinReason::Cursor`]).
    pub fn any_cursor(&self) -> bool {
        self.inner.as_ref().is_some_and(|inner| inner.cursors > 0)
    }

    pub fn len(&self) -> usize {
        self.inner.as_ref().map_or(0, |inner| inner.statements.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn get_mut(&mut self, id: u32) -> Result<&mut ClientStatement, Refusal> {
        let inner = self.inner.as_mut().ok_or(Refusal::Unknown)?;
        let id = inner.resolve(id);
        inner.statements.get_mut(&id).ok_or(Refusal::Unknown)
    }

    /// Changes a statement's marks and keeps count of them. Returned is whether it is open now, where it was not before, or the
    /// other way round.
    fn mark(&mut self, id: u32, change: impl FnOnce(&mut ClientStatement)) -> Result<Option<bool>, Refusal> {
        let statement = self.get_mut(id)?;
        let old = (statement.long_data, statement.cursor);
        change(statement);
        let new = (statement.long_data, statement.cursor);
        if old == new {
            return Ok(None);
        }
        if let Some(inner) = &mut self.inner {
            inner.long_data = inner.long_data + u32::from(new.0) - u32::from(old.0);
            inner.cursors = inner.cursors + u32::from(new.1) - u32::from(old.1);
        }
        let is_open = new.0 || new.1;
        Ok(Some(is_open).filter(|is_open| *is_open != (old.0 || old.1)))
    }
}

impl Inner {
    /// The key of one more statement with this text.
    fn copy(&mut self, key: Arc<PreparedKey>) -> Arc<PreparedKey> {
        if key.is_owned() {
            return Arc::new(PreparedKey { copy: self.last, ..Arc::unwrap_or_clone(key) });
        }
        let (live, next) = self.copies.entry((*key).clone()).or_default();
        let copy = *next;
        (*live, *next) = (*live + 1, *next + 1);
        if copy == 0 { key } else { Arc::new(PreparedKey { copy, ..(*key).clone() }) }
    }

    fn resolve(&self, id: u32) -> u32 {
        match id {
            // No statement has this id.
            DIRECT if self.is_void => 0,
            DIRECT => self.last,
            id => id,
        }
    }
}
