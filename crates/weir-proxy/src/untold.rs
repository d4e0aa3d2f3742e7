//! Errors of COM_STMT_SEND_LONG_DATA, which has no answer. As a server does, Weir keeps such an error for the next execution of the
//! statement.

use crate::session::{Phase, Session};
use crate::sharing::Sharing;
use std::collections::HashMap;
use weir_model::ServerFamily;
use weir_wire::command::{self as com, Shape};
use weir_wire::packet::ErrPacket;
use weir_wire::request::Span;

/// Where the data of a COM_STMT_SEND_LONG_DATA begins: behind the command, the statement's id and the parameter's number.
const DATA_AT: usize = 7;

/// What the next execution of a statement is refused with, by the client's id of that; no more than there are statements.
#[derive(Debug, Default)]
pub(crate) struct Untold(HashMap<u32, ErrPacket, foldhash::fast::RandomState>);

impl Untold {
    /// The statement has been reset or closed.
    pub fn forget(&mut self, id: u32) {
        self.0.remove(&id);
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl Session {
    /// Drops the COM_STMT_SEND_LONG_DATA at hand, which this error has met. False: it is none.
    pub(crate) fn leaves_untold(&mut self, command: u8, err: &ErrPacket) -> bool {
        let Some(sharing) = &mut self.sharing else { return false };
        let Some(id) = sharing.executing.take().filter(|_| command == com::STMT_SEND_LONG_DATA) else {
            return false;
        };
        sharing.untold.0.insert(id, err.clone());
        self.drop_long_data();
        true
    }

    /// Drops data that nobody would use: for a statement whose next execution is refused anyway, or one that the client does not
    /// have, of which no server says a word.
    pub(crate) fn drops_data(&mut self, id: u32, payload: &[u8]) -> bool {
        // MySQL has an answer to what is too short to be any.
        let may_be_told = self.server.family == ServerFamily::MySql && payload.len() < DATA_AT;
        let refused = |s: &Sharing| s.untold.0.contains_key(&s.statements.resolve(id));
        let drops = match self.has_statement(id) {
            true => self.sharing.as_deref().is_some_and(refused),
            false => !may_be_told,
        };
        if drops {
            self.drop_long_data();
        }
        drops
    }

    /// It has no answer.
    fn drop_long_data(&mut self) {
        self.begin(com::STMT_SEND_LONG_DATA, Shape::None);
        if self.sharing.as_ref().is_some_and(|sharing| !sharing.partial) {
            self.after_request();
        }
    }

    /// Drops a command that has no answer, of which this is the beginning; returns how many of these bytes belong to it.
    pub(crate) fn drop_begun(&mut self, bytes: &[u8]) -> usize {
        let mut span = Span::before_packet();
        let (n, done) = span.take(bytes);
        self.current.bytes_in += n as u64;
        self.phase = if done { self.after_request() } else { Phase::Dropped(span) };
        n
    }
}

impl Sharing {
    /// The error that the execution of this statement is refused with.
    pub fn take_untold(&mut self, id: u32) -> Option<ErrPacket> {
        if self.untold.0.is_empty() { None } else { self.untold.0.remove(&self.statements.resolve(id)) }
    }
}
