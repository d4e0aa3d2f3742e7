//! What an operator orders of a session from outside: to end it, or the statement at hand; and a client's KILL QUERY of a statement
//! that waits in Weir.
//!
//! The order lies with the session's entry, and the session's own task carries it out: so it meets a server connection only while
//! that is the session's, and an order about a statement, which names the number of its command, meets that statement or none.

use crate::attach::CONNECTION_KILLED;
use crate::codes::QUERY_INTERRUPTED;
use crate::kill::Sent;
use crate::live::SessionState;
use crate::registry::{Handle, Registry};
use crate::session::{Exit, Phase, Session};
use std::future::Future;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::Context;
use tokio::time::sleep;
use weir_model::{CloseReason, ServerFamily};
use weir_wire::packet::ErrPacket;

/// ER_SESSION_WAS_KILLED of MySQL.
const SESSION_WAS_KILLED: u16 = 3169;

/// What is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kill {
    /// The statement at hand; the session goes on.
    Query,
    /// The session, and its transaction with it.
    Connection,
}

/// The orders to one session.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    /// How often it was ordered to end.
    ends: AtomicU32,
    /// The number of the command that is to end; 0 is none.
    command: AtomicU64,
}

impl Orders {
    #[inline]
    pub fn ends(&self) -> u32 {
        self.ends.load(Ordering::Relaxed)
    }

    #[inline]
    fn command(&self) -> u64 {
        self.command.load(Ordering::Relaxed)
    }

    /// The command of this number is to end.
    pub fn end_command(&self, number: u64) {
        self.command.store(number, Ordering::SeqCst);
    }
}

impl Registry {
    /// Gives an order to the session of this id. Returned is what it was doing then; `None`: there is no such session. A
    /// statement that has ended meanwhile is not hit, nor is the one behind it. A stream of the binary log is no statement: it ends
    /// with its session only.
    pub fn order(&self, id: u32, kill: Kill) -> Option<SessionState> {
        let handle = self.find(id)?;
        let (state, command) = handle.live.state();
        match kill {
            Kill::Connection => {
                handle.orders.ends.fetch_add(1, Ordering::SeqCst);
            }
            Kill::Query if state == SessionState::Binlog => return Some(state),
            Kill::Query if state.waits() || state.runs() => {
                handle.orders.end_command(command);
            }
            Kill::Query => return Some(state),
        }
        handle.wake();
        Some(state)
    }
}

impl Handle {
    /// Whether a KILL, or an order, has ended the session.
    pub fn killed(&self) -> bool {
        self.was_killed() || self.orders.ends() > 0
    }
}

impl Session {
    /// Whether a KILL QUERY, or an order, has hit the command that waits.
    pub(crate) fn interrupted(&self) -> bool {
        self.entry.handle.orders.command() == self.commands + 1
    }

    /// Whether an order wants the end of the command under way, in whatever way; nobody waits for its answer.
    pub(crate) fn is_ordered_to_end(&self) -> bool {
        let orders = &self.entry.handle.orders;
        orders.ends() > 0 || orders.command() == self.commands
    }

    /// What is to be done about an order.
    #[inline]
    pub(crate) fn ordered(&mut self, cx: &mut Context<'_>) -> Option<Exit> {
        let orders = &self.entry.handle.orders;
        if orders.ends() > 0 {
            return self.ordered_to_end(cx);
        }
        let hit = orders.command() == self.commands
            && self.commands > 0
            && matches!(self.phase, Phase::Answer | Phase::LocalInfile(_))
            && !self.is_behind();
        if !hit {
            return None;
        }
        orders.command.store(0, Ordering::Relaxed);
        Some(Exit::Interrupt)
    }

    /// What is to be done about an order to end the session, where nothing of a command is under way: before its connection is given
    /// back, for a KILL may be on its way there.
    #[inline]
    pub(crate) fn ordered_between(&mut self, cx: &mut Context<'_>) -> Option<Exit> {
        let ordered =
            self.phase.asks_nothing() && self.entry.handle.orders.ends() > 0 && self.closing.is_none();
        if ordered { self.ordered_to_end(cx) } else { None }
    }

    fn ordered_to_end(&mut self, cx: &mut Context<'_>) -> Option<Exit> {
        let ends = self.entry.handle.orders.ends();
        if self.phase.asks_nothing() || self.is_behind() {
            return Some(Exit::Tell(CloseReason::Killed, self.killed_told()));
        }
        if self.ends_carried_out == ends {
            // The server was told, and ends the connection; but a client that reads nothing keeps its end from being seen.
            let overdue = self.end_due.as_mut().is_some_and(|due| due.as_mut().poll(cx).is_ready());
            return overdue.then(|| Exit::Tell(CloseReason::Killed, self.killed_told()));
        }
        let again = std::mem::replace(&mut self.ends_carried_out, ends) > 0;
        Some(if again { Exit::Tell(CloseReason::Killed, self.killed_told()) } else { Exit::EndAtServer })
    }

    /// Ends the session's connection at the server, for a statement runs there. What the server says, or its silence, is the client's.
    pub(crate) async fn end_at_server(&mut self) -> Result<(), Exit> {
        // The statement may end by itself before the server takes the KILL.
        self.entry.handle.will_be_killed();
        let kill = format!("KILL {}", self.server.id);
        match self.kill_in_time(kill.as_bytes()).await {
            Sent::Taken => {
                self.end_due = Some(Box::pin(sleep(self.limits.server_connect_timeout)));
                Ok(())
            }
            // It may have ended by itself; if not, it ends with its connection.
            Sent::Refused | Sent::Not(_) | Sent::Unknown(_) => {
                Err(Exit::Tell(CloseReason::Killed, self.killed_told()))
            }
        }
    }

    /// Ends the statement under way at the server, as `overtime.rs` does, and with the same care for what comes behind it.
    pub(crate) async fn interrupt(&mut self) {
        self.ruled.ordered(&self.worker.shared);
        self.end_statement().await;
    }

    /// What the client of a session that was ordered to end is told.
    pub(crate) fn killed_told(&self) -> ErrPacket {
        const WHO: &str = "(weir: by an operator)";
        let idle = (self.phase.asks_nothing() && !self.has_command) || self.has_behind();
        let unknown = match self.phase {
            _ if idle => "",
            Phase::Idle => "; the statement did not run",
            _ => "; whether the statement took effect is not known",
        };
        match self.server.family {
            ServerFamily::MariaDb => {
                let text = format!("Connection was killed {WHO}{unknown}");
                ErrPacket::new(CONNECTION_KILLED, b"70100", text)
            }
            ServerFamily::MySql if idle => {
                ErrPacket::new(SESSION_WAS_KILLED, b"HY000", format!("Session was killed {WHO}"))
            }
            ServerFamily::MySql => {
                let text = format!("Query execution was interrupted {WHO}{unknown}");
                ErrPacket::new(QUERY_INTERRUPTED, b"70100", text)
            }
        }
    }

    /// Why the session ends, where its connection has ended at the server.
    pub(crate) fn end_reason(&self, reason: CloseReason) -> CloseReason {
        if self.ends_carried_out > 0 { CloseReason::Killed } else { reason }
    }
}
