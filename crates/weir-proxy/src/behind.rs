//! What runs behind an answer from memory: the same statement at the server, to renew the answer or to see whether it was still
//! right. The client has its answer already; its next command waits until this is over.

use crate::command::statement_id;
use crate::fill::Filling;
use crate::foreign::Foreign;
use crate::packets::framed;
use crate::session::{Exit, Session};
use crate::turn::Turn;
use std::task::Context;
use std::time::Instant;
use weir_cache::Refusal;
use weir_session::Leftovers;
use weir_wire::command as com;

/// A statement that is to be run again.
#[derive(Debug)]
pub(crate) struct Behind {
    command: u8,
    payload: Vec<u8>,
    filling: Option<Box<Filling>>,
    /// What the client may ask after the answer that it has.
    leftovers: Leftovers,
    status: u16,
    running: bool,
}

impl Session {
    /// The statement at hand, which was answered from memory, is run again behind that.
    pub(crate) fn run_behind(&mut self, command: u8, payload: &[u8], filling: Filling) {
        let status = self.walker.status();
        if let Some(sharing) = &mut self.sharing {
            sharing.cache.behind = Some(Box::new(Behind {
                command,
                payload: payload.to_vec(),
                filling: Some(Box::new(filling)),
                leftovers: sharing.leftovers,
                status,
                running: false,
            }));
        }
    }

    pub(crate) fn has_behind(&self) -> bool {
        self.sharing.as_ref().is_some_and(|sharing| sharing.cache.behind.is_some())
    }

    /// What the server says now is not the client's.
    pub(crate) fn is_behind(&self) -> bool {
        let behind = self.sharing.as_ref().and_then(|sharing| sharing.cache.behind.as_ref());
        behind.is_some_and(|behind| behind.running)
    }

    /// Sends the statement, or does what must be done before that.
    pub(crate) fn poll_behind(&mut self, cx: &mut Context<'_>) -> Result<Turn, Exit> {
        let Some(sharing) = &mut self.sharing else { return Ok(Turn::Blocked) };
        if sharing.refusal.take().is_some() {
            self.give_up_behind(Refusal::Error);
            return Ok(Turn::Moved);
        }
        let Some(behind) = &mut sharing.cache.behind else { return Ok(Turn::Blocked) };
        let (command, payload) = (behind.command, std::mem::take(&mut behind.payload));
        if command == com::STMT_EXECUTE {
            let id = payload.get(1..).and_then(statement_id);
            sharing.executing = id.map(|id| sharing.statements.resolve(id));
        }
        if !self.checkout(command, &payload) {
            if let Some(behind) = self.sharing.as_mut().and_then(|sharing| sharing.cache.behind.as_mut()) {
                behind.payload = payload;
            }
            return self.exit.take().map_or(Ok(Turn::Moved), Err);
        }
        let packet = self.with_server_id(command, &payload).unwrap_or_else(|| framed(&payload));
        if let Some(sharing) = &mut self.sharing
            && let Some(behind) = &mut sharing.cache.behind
        {
            (sharing.cache.filling, behind.running) = (behind.filling.take(), true);
        }
        self.forward(cx, command, &packet)?;
        Ok(Turn::Moved)
    }

    /// The answer has come. True where it was to a statement behind the client's back.
    pub(crate) fn behind_answered(&mut self, at: Instant, whole: Option<&[u8]>) -> bool {
        if !self.is_behind() {
            return false;
        }
        self.current.ended = at;
        let total = at.saturating_duration_since(self.current.started);
        self.live_ended(total.as_nanos() as u64, 0, 0);
        self.filled(at, whole);
        if !self.has_done_filling() {
            self.end_behind();
        }
        true
    }

    /// It is over: the session is as its client knows it.
    pub(crate) fn end_behind(&mut self) {
        let server = self.server_kind();
        let Some(sharing) = &mut self.sharing else { return };
        let Some(behind) = sharing.cache.behind.take() else { return };
        sharing.unclean |= behind.running && sharing.leftovers.has_diagnostics();
        sharing.leftovers = behind.leftovers;
        sharing.pins.hold(sharing.leftovers.holds(server));
        sharing.foreign_parts = Foreign::ALL;
        self.walker.set_status(behind.status);
    }

    /// It cannot be run, or its connection is lost: the client never hears of it.
    pub(crate) fn give_up_behind(&mut self, why: Refusal) {
        let Some(sharing) = &mut self.sharing else { return };
        let behind = sharing.cache.behind.as_mut().and_then(|behind| behind.filling.take());
        for filling in [behind, sharing.cache.filling.take()].into_iter().flatten() {
            filling.give_up(why);
        }
        self.end_behind();
    }
}
