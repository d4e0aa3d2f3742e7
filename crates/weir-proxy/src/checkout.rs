//! Step 8 for a session that shares connections: whether the connection at hand is fit for a command, and which idle one is.

use crate::analyse::MULTI;
use crate::doing::{Doing, Release, UNREAD};
use crate::foreign::Foreign;
use crate::link::{Lease, Link};
use crate::session::{Exit, Session};
use crate::sharing::{Sharing, Wait};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;
use weir_model::CloseReason;
use weir_pool::{Found, Grant};
use weir_session::{Next, Server};
use weir_sql::Facts;
use weir_wire::attributes::statement_offset;
use weir_wire::command as com;

impl Session {
    /// True where the connection at hand is fit for this command. If not,
    /// [`Session::exit`] says what has to be done first, and the command is taken again after that.
    pub(crate) fn checkout(&mut self, command: u8, payload: &[u8]) -> bool {
        if self.sharing.as_mut().is_none_or(|sharing| std::mem::take(&mut sharing.fit)) {
            return true;
        }
        let doing = self.doing(command, payload);
        let server = self.server_kind();
        let Some(sharing) = &mut self.sharing else { return true };
        sharing.doing = doing;
        if sharing.is_attached() {
            // What keeps it counts for more than the wish for another.
            sharing.fresh = false;
            // Nobody else has used it since the last command: what that left is there.
            let fit = match sharing.next(None, server) {
                Next::SameConnection => true,
                Next::Anywhere(steps) => steps.is_empty(),
                Next::Unavailable(_) => false,
            };
            let lacks = sharing.lacks_statement(&sharing.prepared);
            if !fit || lacks || sharing.must_know_to_prepare(server) {
                self.exit = Some(Exit::Attach);
                return false;
            }
            return true;
        }
        let need = sharing.need();
        let (shared, now) = (&self.worker.shared, Instant::now());
        match shared.pool.checkout(&sharing.key, need, self.worker.index(), now) {
            Found::Now(grant) => {
                let lease = Lease::new(&self.worker, need, &grant, now);
                sharing.attached_at = Some(now);
                if self.attach_at_once(lease, grant, now) {
                    return true;
                }
                self.exit = Some(Exit::Attach);
            }
            Found::Queued(waiting) => {
                sharing.waiting = Some(Wait { waiting, need, begun: now });
                self.worker.watch_queue();
            }
            // It is refused by who would wait.
            Found::Full => self.exit = Some(Exit::Attach),
        }
        false
    }

    /// The command at hand waits: for a rule's limit, in the pool's queue, or for the answer to another session's.
    pub(crate) fn is_queued(&self) -> bool {
        self.is_in_line()
            || self.sharing.as_ref().is_some_and(|s| s.waiting.is_some() || s.cache.flight.is_some())
    }

    /// True when the command at hand waits no longer: it is taken again.
    pub(crate) fn poll_wait(&mut self, cx: &mut Context<'_>) -> Result<bool, Exit> {
        if !self.poll_line(cx)? || !self.poll_flight(cx)? {
            return Ok(false);
        }
        let Some(sharing) = &mut self.sharing else { return Ok(true) };
        let Some(wait) = &mut sharing.waiting else { return Ok(true) };
        let Poll::Ready(grant) = Pin::new(&mut wait.waiting).poll(cx) else {
            return match self.watch_client(cx) {
                Ok(_) => Ok(false),
                Err(_) => Err(Exit::Close(CloseReason::ClientGone)),
            };
        };
        let now = Instant::now();
        let lease = Lease::new(&self.worker, wait.need, &grant, now);
        sharing.waiting = None;
        if !self.attach_at_once(lease, grant, now) {
            return Err(Exit::Attach);
        }
        if let Some(sharing) = &mut self.sharing {
            sharing.fit = true;
        }
        Ok(true)
    }

    /// Attaches an idle connection that is fit as it is; keeps what is not, for [`Exit::Attach`].
    fn attach_at_once(&mut self, lease: Lease, grant: Grant<Box<Link>>, now: Instant) -> bool {
        let id = self.entry.handle.id();
        let server = self.server_kind();
        let Some(sharing) = &mut self.sharing else { return false };
        match grant {
            Grant::Idle(mut link) => {
                if !sharing.shuns(&link)
                    && sharing.is_fit(&mut link, id, server)
                    && link.take_up(&self.worker, now)
                {
                    self.put_under(lease, link);
                    return true;
                }
                sharing.granted = Some((lease, Grant::Idle(link)));
            }
            other => sharing.granted = Some((lease, other)),
        }
        false
    }

    /// Puts a connection under the session, as it is.
    pub(crate) fn attach_link(&mut self, lease: Lease, link: Box<Link>) {
        if let Some(sharing) = &mut self.sharing {
            sharing.actual = Some(link.actual.clone());
        }
        self.put_under(lease, link);
    }

    fn put_under(&mut self, mut lease: Lease, mut link: Box<Link>) {
        let Some(sharing) = &mut self.sharing else { return };
        lease.born = link.born;
        sharing.lease = Some(lease);
        sharing.insert_id_there = link.insert_id;
        (sharing.foreign_parts, sharing.unclean) = (Foreign::attached(&sharing.leftovers), false);
        sharing.used_by = link.used_by.and(self.entry.handle.id());
        std::mem::swap(&mut sharing.prepared, &mut link.prepared);
        sharing.prepared.look_for_left();
        sharing.last_prepared = 0;
        (sharing.last_connection, sharing.fresh) = (link.server.id, false);
        std::mem::swap(&mut self.server, &mut link.server);
        sharing.link = Some(link);
        if self.worker.is_busy() {
            // Nothing is under way on it.
            self.server.stream.upgrade();
        }
        self.entry.handle.attach(self.server.id, self.server.place);
    }

    /// What a command is to the state of the session.
    fn doing(&mut self, command: u8, payload: &[u8]) -> Doing {
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
                if let Some(doing) = self.sharing.as_mut().and_then(|sharing| sharing.read.take()) {
                    return doing;
                }
                let facts = self.sharing.as_mut().and_then(|sharing| sharing.facts.take());
                Doing::of_text(sql, facts.unwrap_or_else(|| Facts::of(sql, self.lex_mode(), MULTI)))
            }
            com::INIT_DB => Doing::InitDb(payload.get(1..).unwrap_or_default().to_vec()),
            com::STMT_PREPARE => {
                Doing::Prepare { text: payload.get(1..).unwrap_or_default().into(), whole: !partial }
            }
            com::STMT_EXECUTE | com::STMT_BULK_EXECUTE => {
                let mode = self.lex_mode();
                match &mut self.sharing {
                    Some(sharing) => sharing.doing_prepared(mode),
                    None => Doing::Command(command),
                }
            }
            _ => Doing::Command(command),
        }
    }
}

impl Sharing {
    /// Whether a connection is fit for the command at hand as it is.
    fn is_fit(&mut self, link: &mut Link, id: u32, server: Server) -> bool {
        self.wanted.unites_with(&mut link.actual)
            && matches!(self.next(Some(link.insert_id), server), Next::Anywhere(steps) if steps.is_empty())
            && !self.lacks_statement(&link.prepared)
            && !(self.doing.reads_variables() && link.used_by.by_others(id))
    }
}
