//! What a session that shares connections takes in while its commands run their course: that they begin, end, or fail.

use crate::link::Key;
use crate::session::Session;
use crate::sharing::{Rebase, Sharing, kind_of};
use weir_session::{Leftovers, PinReason, Server};
use weir_wire::command as com;

impl Session {
    /// The server, as far as its variables go.
    pub(crate) fn server_kind(&self) -> Server {
        kind_of(&self.server)
    }

    /// A command of a session that shares connections is about to be sent.
    pub(crate) fn sharing_begins(&mut self) {
        if let Some(sharing) = &mut self.sharing {
            if std::mem::take(&mut sharing.offered) {
                self.worker.shared.registry.withdraw(self.entry.handle.id());
                self.entry.handle.take_asked();
            }
            sharing.kill = None;
            let Sharing { pins, doing, tracker, .. } = &mut **sharing;
            doing.with(|statement| {
                pins.begin(statement);
                tracker.begin(statement);
            });
            if let Some(filling) = &mut sharing.cache.filling {
                filling.begin(self.worker.shared.cache());
            }
            if matches!(self.current.command, com::STMT_EXECUTE | com::STMT_BULK_EXECUTE)
                && let Some(statement) = sharing.executing.and_then(|id| sharing.statements.get(id).ok())
            {
                self.walker.expect_columns(statement.columns());
            }
        }
    }

    /// Weir has answered a KILL.
    pub(crate) fn sharing_killed(&mut self) {
        let server = self.server_kind();
        if let Some(sharing) = &mut self.sharing {
            // A connection that it has waited for is for this command alone, and so is why there was none.
            (sharing.fit, sharing.refusal) = (false, None);
            sharing.leftovers.after_command(com::PING, true, server);
        }
    }

    /// A command that has no answer was sent.
    pub(crate) fn sharing_unanswered(&mut self, command: u8) {
        if let Some(sharing) = &mut self.sharing {
            sharing.statement_ended(command, None, 0, None);
            sharing.fit = false;
        }
    }

    /// Its answer is complete.
    pub(crate) fn sharing_ended(&mut self) {
        let server = self.server_kind();
        let Some(sharing) = &mut self.sharing else { return };
        if self.current.command == com::RESET_CONNECTION && self.walker.error().is_none() {
            self.statements.clear();
            self.ruled.all_closed();
            self.charset = self.login_charset;
        }
        let mut learned = self.worker.learned.lock();
        sharing.ended(&self.walker, self.current.command, server, &mut learned.memory);
    }

    /// COM_CHANGE_USER was carried out on the attached connection.
    pub(crate) fn sharing_changed_user(&mut self) {
        let key = Key::new(&self.identity.user, self.server.caps);
        let Some(sharing) = &mut self.sharing else { return };
        sharing.key = key;
        sharing.pins.changed_user();
        sharing.unread.clear();
        sharing.pins.status(self.walker.status());
        (sharing.leftovers, sharing.insert_id_there) = (Leftovers::FRESH, Some(0));
        sharing.forget_statements();
        (sharing.rebase, sharing.fit) = (Some(Rebase::ChangeUser), false);
        sharing.cache.untold = false;
        sharing.tracker.reset();
        sharing.keep_switched();
    }

    /// The server has refused a COM_CHANGE_USER: what the connection is like is not known, and cannot be found out.
    /// `named`: it named a character set.
    pub(crate) fn sharing_unsure(&mut self, named: bool) {
        if let Some(sharing) = &mut self.sharing {
            if named {
                sharing.login = None;
            }
            // MariaDB has begun anew before it judged who it is, and goes on so.
            sharing.forget_statements();
            sharing.wanted.forget_all();
            (sharing.leftovers, sharing.insert_id_there) = (Leftovers::FRESH, Some(0));
            // It counts refused changes and takes no more after three; no reset clears that.
            sharing.switched = true;
            sharing.pins.add(PinReason::UnknownStatement.into());
            sharing.fit = false;
        }
    }
}
