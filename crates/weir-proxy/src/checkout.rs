//! Step 8 for a session that shares connections: whether the connection at hand is fit for a command, and which idle one is.

use crate::analyse::MULTI;
use crate::doing::{Doing, Release, UNREAD};
use crate::link::{Lease, Link};
use crate::prepared;
use crate::session::{Exit, Session};
use std::time::Instant;
use weir_pool::{Found, Grant, Need};
use weir_session::{Next, Server};
use weir_sql::Facts;
use weir_wire::attributes::statement_offset;
use weir_wire::command as com;

impl Session {
    /// True where the connection at hand is fit for this command. If not,
    /// [`Session::exit`] says what has to be done first, and the command is taken again after that.
    pub(crate) fn checkout(&mut self, command: u8, payload: &[u8]) -> bool {
        let doing = self.doing(command, payload);
        let server = self.server_kind();
        let Some(sharing) = &mut self.sharing else { return true };
        if std::mem::take(&mut sharing.fit) {
            return true;
        }
        sharing.doing = doing;
        if sharing.is_attached() {
            // Nobody else has used it since the last command: what that left is there.
            let fit = match sharing.next(None, server) {
                Next::SameConnection => true,
                Next::Anywhere(steps) => steps.is_empty(),
                Next::Unavailable(_) => false,
            };
            if !fit || sharing.lacks_statement(&sharing.prepared) {
                self.exit = Some(Exit::Attach);
                return false;
            }
            return true;
        }
        let need = sharing.need();
        let shared = &self.worker.shared;
        match shared.pool.checkout(&sharing.key, need, self.worker.index(), Instant::now()) {
            Found::Now(grant) => {
                let lease = Lease::new(&shared.pool, need == Need::Pin);
                if let Some((lease, grant)) = self.attach_at_once(lease, grant, server)
                    && let Some(sharing) = &mut self.sharing
                {
                    sharing.granted = Some((lease, grant));
                    self.exit = Some(Exit::Attach);
                    return false;
                }
                true
            }
            // The place in the queue is taken again by who waits for it; leaving it here loses nothing but a moment.
            Found::Queued(_) | Found::Full => {
                self.exit = Some(Exit::Attach);
                false
            }
        }
    }

    /// Attaches an idle connection that is fit as it is; gives back what is not.
    fn attach_at_once(
        &mut self,
        lease: Lease,
        grant: Grant<Link>,
        server: Server,
    ) -> Option<(Lease, Grant<Link>)> {
        let (index, id) = (self.worker.index(), self.entry.handle.id());
        let Some(sharing) = &mut self.sharing else { return Some((lease, grant)) };
        let Grant::Idle(link) = grant else { return Some((lease, grant)) };
        let same = link.worker == index && sharing.wanted.same_as(&link.actual);
        let next = sharing.next(Some(link.insert_id), server);
        if !same
            || next != Next::Anywhere(Vec::new())
            || sharing.lacks_statement(&link.prepared)
            || (sharing.doing.reads_variables() && link.used_by.by_others(id))
            || !link.server.stream.is_quiet()
        {
            return Some((lease, Grant::Idle(link)));
        }
        self.attach_link(lease, link);
        if let Some(sharing) = &mut self.sharing {
            sharing.actual = None;
        }
        None
    }

    /// Puts a connection under the session, as it is.
    pub(crate) fn attach_link(&mut self, mut lease: Lease, link: Link) {
        let Some(sharing) = &mut self.sharing else { return };
        lease.born = link.born;
        sharing.lease = Some(lease);
        sharing.actual = Some(link.actual);
        sharing.insert_id_there = link.insert_id;
        sharing.used_by = link.used_by.and(self.entry.handle.id());
        sharing.prepared = link.prepared;
        sharing.to_close = link.to_close;
        sharing.last_prepared = 0;
        self.server = link.server;
        self.entry.handle.attach(self.server.id, self.server.place);
    }

    /// What a command is to the state of the session.
    fn doing(&self, command: u8, payload: &[u8]) -> Doing {
        let partial = self.sharing.as_ref().is_some_and(|sharing| sharing.partial);
        match command {
            com::QUERY if partial => Doing::Plain {
                statement: UNREAD,
                several: false,
                release: Release::No,
                reads_variables: true,
            },
            com::QUERY => {
                let offset = statement_offset(payload, self.server.caps).unwrap_or(payload.len());
                let sql = &payload[offset..];
                Doing::of_text(sql, Facts::of(sql, self.lex_mode(), MULTI))
            }
            com::INIT_DB => Doing::InitDb(payload.get(1..).unwrap_or_default().to_vec()),
            com::STMT_PREPARE => {
                Doing::Prepare { text: payload.get(1..).unwrap_or_default().into(), whole: !partial }
            }
            com::STMT_EXECUTE | com::STMT_BULK_EXECUTE => match &self.sharing {
                Some(sharing) => prepared::doing(sharing, sharing.executing.unwrap_or(0), self.lex_mode()),
                None => Doing::Command(command),
            },
            _ => Doing::Command(command),
        }
    }
}
