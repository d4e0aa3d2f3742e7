//! A rule's `timeout`: a statement that runs longer is ended at the server, and its client is told why.
//!
//! The KILL QUERY goes on a connection of its own (`kill.rs`). Its answer is awaited before anything else is done in the session,
//! so it meets this statement or none. A server may keep one that comes just behind the statement for the
//! next, so a command that does nothing takes that ([`Exit::Absorb`]) before the connection serves anybody again.

use crate::codes::QUERY_INTERRUPTED;
use crate::exchange::exchange;
use crate::rules::RuleDeed;
use crate::session::{Exit, Phase, Session};
use std::future::Future;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::time::{sleep_until, timeout};
use weir_cache::Refusal;
use weir_model::{CloseReason, ServerFamily};
use weir_wire::HEADER;
use weir_wire::command::{self as com, Shape};
use weir_wire::frame::put_packet;
use weir_wire::packet::ErrPacket;

/// ER_QUERY_TIMEOUT of MySQL, which max_execution_time gives.
const QUERY_TIMEOUT: u16 = 3024;
/// ER_STATEMENT_TIMEOUT of MariaDB, which max_statement_time gives.
const STATEMENT_TIMEOUT: u16 = 1969;

/// An ERR packet at most: MYSQL_ERRMSG_SIZE is 512.
const LONGEST_ERROR: usize = 1024;

/// How long it takes until a KILL that could not be sent is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// How far the end of a statement has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It has its time.
    Not,
    /// It is to be ended again at this moment: the last KILL could not be sent.
    At(Instant),
    /// The server was told.
    Sent,
    /// Nobody knows whether the server has got the KILL, or when it will.
    Unknown,
}

impl Session {
    /// Ready when the statement under way has run longer than its rule allows.
    pub(crate) fn poll_overtime(&mut self, cx: &mut Context<'_>) -> Poll<Exit> {
        let Some(running) = &self.ruled.running else { return Poll::Pending };
        let Some((_, limit)) = running.timeout else { return Poll::Pending };
        if !matches!(self.phase, Phase::Answer | Phase::LocalInfile(_)) {
            return Poll::Pending;
        }
        let until = match running.ending {
            Ending::Not => self.current.started + limit,
            Ending::At(moment) => moment,
            Ending::Sent | Ending::Unknown => return Poll::Pending,
        };
        let until = tokio::time::Instant::from_std(until);
        let timer = self.ruled.timer.get_or_insert_with(|| Box::pin(sleep_until(until)));
        // That of a statement before is not moved for this one, unless it would be too late.
        if timer.deadline() > until {
            timer.as_mut().reset(until);
        }
        loop {
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            if tokio::time::Instant::now() >= until {
                self.ruled.timer = None;
                return Poll::Ready(Exit::Overtime);
            }
            timer.as_mut().reset(until);
        }
    }

    /// Ends the statement under way at the server.
    pub(crate) async fn end_overtime(&mut self) {
        let kill = format!("KILL QUERY {}", self.server.id);
        let killed = timeout(self.limits.server_connect_timeout, self.kill_beside(kill.as_bytes())).await;
        let (ending, why) = match killed {
            Ok(Ok(true)) => (Ending::Sent, None),
            Ok(Ok(false)) => (Ending::Unknown, Some("the server did not take the KILL".to_owned())),
            // It was not logged in, so it has sent nothing.
            Ok(Err(error)) => (Ending::At(Instant::now() + AGAIN), Some(error.to_string())),
            Err(_) => (Ending::Unknown, Some("no time left (limits.server_connect_timeout)".to_owned())),
        };
        let Some(running) = &mut self.ruled.running else { return };
        running.ending = ending;
        if let Some((rule, _)) = running.timeout.filter(|_| ending == Ending::Sent) {
            running.rules.did(rule, RuleDeed::TimedOut, self.worker.index());
        }
        if let Some(why) = why {
            tracing::warn!(event = "timeout_kill_failed", server_connection = self.server.id, %why,
                "could not end a statement that runs longer than its rule allows");
        }
    }

    /// What the client is told in place of the end of an answer, where that is that a KILL has ended the statement.
    pub(crate) fn overtime_told(&mut self, answer: &[u8]) -> Option<Vec<u8>> {
        let running = self.ruled.running.as_ref().filter(|running| running.ending == Ending::Sent)?;
        let (rule, limit) = running.timeout?;
        let at =
            self.walker.error().filter(|code| *code == QUERY_INTERRUPTED).and_then(|_| last_error(answer))?;
        let name = running.rules.rule(rule).map_or("", |rule| &rule.name);
        let limit = weir_config::duration_text(limit);
        let err = match self.server.family {
            ServerFamily::MySql => {
                let text = format!(
                    "Query execution was interrupted, maximum statement execution time exceeded (weir: rule `{name}`, timeout {limit})"
                );
                ErrPacket::new(QUERY_TIMEOUT, b"HY000", text)
            }
            ServerFamily::MariaDb => {
                let text = format!(
                    "Query execution was interrupted (max_statement_time exceeded) (weir: rule `{name}`, timeout {limit})"
                );
                ErrPacket::new(STATEMENT_TIMEOUT, b"70100", text)
            }
        };
        self.worker.stats().own_error(err.code);
        self.tally.errs(err.code);
        let mut told = answer.get(..at)?.to_vec();
        put_packet(&mut told, *answer.get(at + 3)?, &err.to_payload());
        Some(told)
    }

    /// Lets a KILL that came behind its statement meet nothing.
    pub(crate) async fn absorb(&mut self, ending: Ending) -> Result<(), Exit> {
        let gone = Exit::Close(CloseReason::ServerGone);
        if ending != Ending::Sent {
            // It may still come.
            return Err(gone);
        }
        let server = self.server_kind();
        if let Some(sharing) = &mut self.sharing {
            // What the statement has left is not asked for behind another command.
            if let Some(filling) = sharing.cache.filling.take() {
                filling.give_up(Refusal::Cut);
            }
            sharing.leftovers.after_command(com::PING, true, server);
        }
        let ping = exchange(&mut self.server, &[com::PING], Shape::Single);
        match timeout(self.limits.server_connect_timeout, ping).await {
            Ok(Ok(_)) => {}
            Ok(Err(_)) | Err(_) => return Err(gone),
        }
        self.ruled.stray = None;
        // While it was idle, its end was waited for.
        std::future::poll_fn(|cx| self.server.stream.poll_still(cx)).await.map_err(|_| gone)
    }
}

/// Where the packet begins that says "interrupted", and ends these bytes. Rows may stand before it, and a part of one.
fn last_error(bytes: &[u8]) -> Option<usize> {
    let is_it = |at: &usize| {
        let rest = bytes.get(*at..).unwrap_or_default();
        let [a, b, c, _, 0xFF, d, e, b'#', ..] = rest else { return false };
        let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
        length + HEADER == rest.len() && u16::from_le_bytes([*d, *e]) == QUERY_INTERRUPTED
    };
    (bytes.len().saturating_sub(LONGEST_ERROR)..bytes.len()).rev().find(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_packet_is_found_behind_rows() {
        let mut bytes = b"rest of a row".to_vec();
        assert_eq!(last_error(&bytes), None);
        let begin = bytes.len();
        put_packet(
            &mut bytes,
            7,
            &ErrPacket::new(QUERY_INTERRUPTED, b"70100", "Query execution was interrupted").to_payload(),
        );
        assert_eq!(last_error(&bytes), Some(begin));
        assert_eq!(last_error(&bytes[begin..]), Some(0));
        let mut other = Vec::new();
        put_packet(&mut other, 7, &ErrPacket::new(1317 + 1, b"70100", "another").to_payload());
        assert_eq!(last_error(&other), None);
        bytes.push(0);
        assert_eq!(last_error(&bytes), None);
    }
}
