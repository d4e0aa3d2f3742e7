//! The prepared statements of a session, by the ids that its client knows.

use crate::command::statement_id;
use crate::executed::Kept;
use std::collections::HashMap;
use weir_wire::command as com;

/// For how many statements it is known one by one that data was sent ahead.
const AHEAD_MAX: usize = 64;

/// What is kept of a session's prepared statements.
#[derive(Debug, Default)]
pub(crate) struct Statements {
    kept: HashMap<u32, Kept, foldhash::fast::RandomState>,
    /// The id of the one that was prepared last.
    last: u32,
    /// Those for which COM_STMT_SEND_LONG_DATA has gone to the server, and that have not been executed since.
    ahead: Vec<u32>,
    /// There are more of these than are kept; it may be any.
    ahead_of_any: bool,
    /// The command at hand executes one of those.
    uses_ahead: bool,
}

impl Statements {
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    pub fn get(&self, id: u32) -> Option<&Kept> {
        self.kept.get(&id)
    }

    #[inline]
    pub fn get_mut(&mut self, id: u32) -> Option<&mut Kept> {
        self.kept.get_mut(&id)
    }

    /// The client has got this id for what it has just prepared.
    pub fn insert(&mut self, id: u32, kept: Kept) {
        self.kept.insert(id, kept);
        self.last = id;
    }

    /// The statement that was just prepared is not kept.
    pub fn prepared_another(&mut self) {
        self.last = u32::MAX;
    }

    pub fn closed(&mut self, id: u32) {
        self.kept.remove(&id);
    }

    /// The server has closed them all.
    pub fn clear(&mut self) {
        self.kept.clear();
        self.ahead.clear();
        self.ahead_of_any = false;
    }

    /// The id of the statement that a command is about: -1 is MariaDB's word for the one that was prepared last.
    #[inline]
    pub fn meant(&self, id: u32) -> u32 {
        if id == u32::MAX { self.last } else { id }
    }

    /// Data for a statement goes to the server ahead of its execution.
    pub fn sent_ahead(&mut self, id: u32) {
        let id = self.meant(id);
        if self.ahead.contains(&id) {
            return;
        }
        match self.ahead.len() {
            AHEAD_MAX => self.ahead_of_any = true,
            _ => self.ahead.push(id),
        }
    }

    /// The server uses that, or forgets it.
    #[inline]
    pub fn took_ahead(&mut self, id: u32) {
        if !self.ahead.is_empty() {
            let id = self.meant(id);
            self.ahead.retain(|ahead| *ahead != id);
        }
    }

    /// The command at hand begins with `payload`.
    #[inline]
    pub fn meets(&mut self, payload: &[u8]) {
        if !self.ahead.is_empty() {
            self.uses_ahead = match payload {
                [com::STMT_EXECUTE | com::STMT_BULK_EXECUTE, body @ ..] => {
                    statement_id(body).is_some_and(|id| self.has_ahead(id))
                }
                _ => false,
            };
        }
    }

    /// It executes a statement for which the server may hold such data.
    pub fn uses_ahead(&self) -> bool {
        self.uses_ahead && !self.ahead.is_empty()
    }

    fn has_ahead(&self, id: u32) -> bool {
        self.ahead_of_any || self.ahead.contains(&self.meant(id))
    }
}

#[cfg(test)]
mod tests {
    use super::{AHEAD_MAX, Statements};

    #[test]
    fn what_is_sent_ahead_is_held_for_its_own_statement_only() {
        let mut statements = Statements::default();
        statements.sent_ahead(7);
        statements.sent_ahead(7);
        assert!(statements.has_ahead(7) && !statements.has_ahead(8));
        statements.took_ahead(8);
        assert!(statements.has_ahead(7));
        statements.took_ahead(7);
        assert!(!statements.has_ahead(7));
    }

    #[test]
    fn minus_one_means_the_statement_prepared_last() {
        let mut statements = Statements { last: 3, ..Statements::default() };
        statements.sent_ahead(u32::MAX);
        assert!(statements.has_ahead(3) && statements.has_ahead(u32::MAX));
        statements.prepared_another();
        assert!(statements.has_ahead(3) && !statements.has_ahead(u32::MAX));
    }

    #[test]
    fn a_client_that_sends_ahead_for_a_million_ids_takes_no_more_room_than_one_for_a_few() {
        let mut statements = Statements::default();
        for id in 0..1_000_000 {
            statements.sent_ahead(id);
        }
        assert_eq!(statements.ahead.len(), AHEAD_MAX);
        assert!(statements.has_ahead(999_999) && statements.has_ahead(2_000_000));
        statements.clear();
        assert!(!statements.has_ahead(0) && !statements.has_ahead(999_999));
    }
}
