//! The prepared statements of a session, by the ids that its client knows.

use crate::command::statement_id;
use crate::executed::Kept;
use std::collections::HashMap;
use weir_model::ServerFamily;
use weir_wire::command as com;

/// What is kept of a session's prepared statements.
#[derive(Debug, Default)]
pub(crate) struct Statements {
    kept: HashMap<u32, Kept, foldhash::fast::RandomState>,
    /// The id of the one that was prepared last, where the server knows a word for that.
    last: u32,
    /// The server has some of which nothing is kept.
    has_others: bool,
    /// For how many of the kept ones the server holds data that COM_STMT_SEND_LONG_DATA has sent ahead of their execution.
    ahead: usize,
    /// It may hold some for the others.
    ahead_of_others: bool,
    /// The command at hand executes a statement for which it may hold some.
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
    pub fn insert(&mut self, id: u32, kept: Kept, server: ServerFamily) {
        self.closed(id);
        self.kept.insert(id, kept);
        // To MySQL -1 is an id as any other.
        self.last = if server == ServerFamily::MariaDb { id } else { u32::MAX };
    }

    /// The statement that was just prepared is not kept.
    pub fn prepared_another(&mut self) {
        (self.last, self.has_others) = (u32::MAX, true);
    }

    /// Whether the server has some of which nothing is kept.
    pub fn has_others(&self) -> bool {
        self.has_others
    }

    /// The server has refused to prepare one: none is the last.
    pub fn prepared_none(&mut self) {
        self.last = u32::MAX;
    }

    pub fn closed(&mut self, id: u32) {
        self.took_ahead(id);
        self.kept.remove(&self.meant(id));
    }

    /// The server has closed them all.
    pub fn clear(&mut self) {
        *self = Self { kept: std::mem::take(&mut self.kept), ..Self::default() };
        self.kept.clear();
    }

    /// The id of the statement that a command is about: -1 is MariaDB's word for the one that was prepared last.
    #[inline]
    pub fn meant(&self, id: u32) -> u32 {
        if id == u32::MAX { self.last } else { id }
    }

    /// Data for a statement goes to the server ahead of its execution.
    pub fn sent_ahead(&mut self, id: u32) {
        match self.kept.get_mut(&self.meant(id)) {
            Some(kept) if kept.has_ahead => {}
            Some(kept) => {
                kept.has_ahead = true;
                self.ahead += 1;
            }
            // Where all are kept, the server does not know it either.
            None => self.ahead_of_others |= self.has_others,
        }
    }

    /// The server uses that, or forgets it.
    #[inline]
    pub fn took_ahead(&mut self, id: u32) {
        if self.ahead > 0
            && let Some(kept) = self.kept.get_mut(&self.meant(id))
            && std::mem::take(&mut kept.has_ahead)
        {
            self.ahead -= 1;
        }
    }

    /// The command at hand begins with `payload`.
    #[inline]
    pub fn meets(&mut self, payload: &[u8]) {
        self.uses_ahead = (self.ahead > 0 || self.ahead_of_others) && self.executes_ahead(payload);
    }

    #[cold]
    fn executes_ahead(&self, payload: &[u8]) -> bool {
        let [com::STMT_EXECUTE | com::STMT_BULK_EXECUTE, body @ ..] = payload else { return false };
        let Some(id) = statement_id(body) else { return false };
        self.kept.get(&self.meant(id)).map_or(self.ahead_of_others, |kept| kept.has_ahead)
    }

    /// It executes a statement for which the server may hold such data.
    pub fn uses_ahead(&self) -> bool {
        self.uses_ahead
    }
}

#[cfg(test)]
mod tests {
    use super::Statements;
    use crate::executed::Kept;
    use weir_model::ServerFamily;
    use weir_wire::command as com;

    fn uses_ahead(statements: &mut Statements, id: u32) -> bool {
        let [a, b, c, d] = id.to_le_bytes();
        statements.meets(&[com::STMT_EXECUTE, a, b, c, d]);
        let uses = statements.uses_ahead();
        statements.meets(&[com::PING]);
        assert!(!statements.uses_ahead());
        uses
    }

    fn of(ids: std::ops::Range<u32>) -> Statements {
        let mut statements = Statements::default();
        ids.for_each(|id| statements.insert(id, Kept::for_tests(), ServerFamily::MariaDb));
        statements
    }

    #[test]
    fn what_is_sent_ahead_is_held_for_its_own_statement_only() {
        let mut statements = of(7..9);
        statements.sent_ahead(7);
        statements.sent_ahead(7);
        assert!(uses_ahead(&mut statements, 7) && !uses_ahead(&mut statements, 8));
        statements.took_ahead(8);
        assert!(uses_ahead(&mut statements, 7));
        statements.took_ahead(7);
        assert!(!uses_ahead(&mut statements, 7));
        statements.sent_ahead(8);
        statements.closed(8);
        assert_eq!((statements.ahead, statements.len()), (0, 1));
    }

    #[test]
    fn minus_one_means_the_statement_prepared_last() {
        let mut statements = of(3..5);
        statements.sent_ahead(u32::MAX);
        assert!(uses_ahead(&mut statements, 4) && uses_ahead(&mut statements, u32::MAX));
        statements.prepared_none();
        assert!(uses_ahead(&mut statements, 4) && !uses_ahead(&mut statements, u32::MAX));
        let mut statements = of(3..5);
        statements.closed(u32::MAX);
        assert!(statements.get(4).is_none() && statements.get(3).is_some());
        statements.insert(5, Kept::for_tests(), ServerFamily::MySql);
        statements.closed(u32::MAX);
        assert!(statements.get(5).is_some());
    }

    #[test]
    fn data_for_ids_that_nobody_has_counts_for_none() {
        let mut statements = of(1..101);
        (1..1000).for_each(|id| statements.sent_ahead(id));
        assert!(!uses_ahead(&mut statements, 101));
        (1..100).for_each(|id| statements.took_ahead(id));
        assert!(uses_ahead(&mut statements, 100) && !uses_ahead(&mut statements, 99));
    }

    #[test]
    fn of_a_statement_that_is_not_kept_it_is_not_known() {
        let mut statements = of(1..3);
        statements.prepared_another();
        statements.sent_ahead(9);
        assert!(uses_ahead(&mut statements, 9) && !uses_ahead(&mut statements, 1));
        statements.clear();
        assert!(!uses_ahead(&mut statements, 9));
    }
}
