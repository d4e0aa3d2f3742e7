//! Errors of COM_STMT_SEND_LONG_DATA, which has no answer. As a server does, Weir keeps such an error for the next execution of the
//! statement.

use crate::session::Session;
use crate::sharing::Sharing;
use std::collections::HashMap;
use weir_wire::command::{self as com, Shape};
use weir_wire::packet::ErrPacket;

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
    /// Drops the COM_STMT_SEND_LONG_DATA at hand, which this error has met. False: it is none, or more of it is still to come.
    pub(crate) fn leaves_untold(&mut self, command: u8, err: &ErrPacket) -> bool {
        let Some(sharing) = &mut self.sharing else { return false };
        let Some(id) = sharing.executing.take().filter(|_| command == com::STMT_SEND_LONG_DATA) else {
            return false;
        };
        if sharing.partial {
            return false;
        }
        sharing.untold.0.insert(id, err.clone());
        self.drop_long_data();
        true
    }

    /// Drops more data for a statement whose next execution is refused anyway.
    pub(crate) fn drops_more(&mut self, id: u32) -> bool {
        let drops = self
            .sharing
            .as_ref()
            .is_some_and(|s| !s.partial && s.untold.0.contains_key(&s.statements.resolve(id)));
        if drops {
            self.drop_long_data();
        }
        drops
    }

    /// It has no answer.
    pub(crate) fn drop_long_data(&mut self) {
        self.begin(com::STMT_SEND_LONG_DATA, Shape::None);
        self.after_request();
    }
}

impl Sharing {
    /// The error that the execution of this statement is refused with.
    pub fn take_untold(&mut self, id: u32) -> Option<ErrPacket> {
        if self.untold.0.is_empty() { None } else { self.untold.0.remove(&self.statements.resolve(id)) }
    }
}
