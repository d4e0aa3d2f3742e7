//! A rule's `timeout`: a statement that runs longer is ended at the server, and its client is told why.
//!
//! The KILL QUERY goes on a connection of its own (`kill.rs`). Its answer is awaited before anything else is done in the session,
//! so it meets this statement or none. It is sent again while the statement runs on: MySQL loses one now and then that arrives
//! while a wait begins. A server may keep one that comes just behind the statement for the
//! next, so a command that does nothing takes that ([`Exit::Absorb`]) before the connection serves anybody again.

use crate::at_hand::Running;
use crate::codes::QUERY_INTERRUPTED;
use crate::exchange::exchange;
use crate::kill::Sent;
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

/// How long it takes until a KILL is sent again.
const AGAIN: Duration = Duration::from_secs(1);
/// After so many it is sent again less often, up to [`RARELY`]: the statement may have ended long ago, with a client that does not
/// read its answer; or it is rolled back; or the server lets nobody in, who would tell it.
const OFTEN: u32 = 4;
const RARELY: Duration = Duration::from_secs(60);

/// How far the end of a statement has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It has its time.
    Not,
    /// The server was told.
    Sent,
    /// Nobody knows whether the server has got the KILL, or when it will.
    Unknown,
}

impl Session {
    /// Ready when the statement under way has run longer than its rule allows.
    pub(crate) fn poll_overtime(&mut self, cx: &mut Context<'_>) -> Poll<Exit> {
        let Some(running) = &self.ruled.running else { return Poll::Pending };
        let Some(until) = running.due(self.current.started) else { return Poll::Pending };
        if !matches!(self.phase, Phase::Answer | Phase::LocalInfile(_)) {
            return Poll::Pending;
        }
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

    /// Ends the statement under way at the server: its time is over, or an operator wants it ([`Running::ordered`]).
    pub(crate) async fn end_statement(&mut self) {
        let kill = format!("KILL QUERY {}", self.server.id);
        let sent = self.kill_in_time(kill.as_bytes()).await;
        let Some(running) = &mut self.ruled.running else { return };
        let now = Instant::now();
        let over = running.timeout.filter(|(_, limit)| self.current.started + *limit <= now);
        running.was_told(&sent, self.current.started, now);
        if let (Sent::Taken, Some((rule, _)), false) = (&sent, over, running.timed_out) {
            running.timed_out = true;
            running.rules.did(rule, RuleDeed::TimedOut, self.worker.index());
        }
        let why = match &sent {
            Sent::Taken => return,
            Sent::Refused => "the server did not take the KILL",
            Sent::Not(why) | Sent::Unknown(why) => why.as_str(),
        };
        if !running.is_worth_a_line() {
            return;
        }
        if running.ordered {
            tracing::warn!(event = "session_kill_failed", client = self.entry.handle.id(),
                server_connection = self.server.id, %why, "could not end a statement at the server");
        } else {
            tracing::warn!(event = "timeout_kill_failed", server_connection = self.server.id, %why,
                "could not end a statement that runs longer than its rule allows");
        }
    }

    /// What the client is told in place of the end of an answer, where that is that a KILL has ended the statement.
    pub(crate) fn overtime_told(&mut self, answer: &[u8]) -> Option<Vec<u8>> {
        let running = self.ruled.running.as_deref().filter(|by| by.timed_out && !by.ordered)?;
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

impl Running {
    /// When the server is to be told that the statement is to end.
    fn due(&self, started: Instant) -> Option<Instant> {
        self.again.or_else(|| Some(started + self.timeout?.1))
    }

    /// So a KILL has fared; the next one is due after some time, or when the rule's time is over.
    fn was_told(&mut self, sent: &Sent, started: Instant, now: Instant) {
        self.ending = match (self.ending, sent) {
            (Ending::Unknown, _) | (_, Sent::Refused | Sent::Unknown(_)) => Ending::Unknown,
            (_, Sent::Taken) => Ending::Sent,
            (ending, Sent::Not(_)) => ending,
        };
        self.tries += 1;
        let pause = AGAIN.saturating_mul(1 << self.tries.saturating_sub(OFTEN).min(6)).min(RARELY);
        let rules = self.timeout.map(|(_, limit)| started + limit).filter(|moment| *moment > now);
        self.again = [Some(now + pause), rules].into_iter().flatten().min();
    }

    /// A KILL has failed: the first is told of, then the second, the fourth and so on, for it is the same trouble.
    fn is_worth_a_line(&mut self) -> bool {
        self.failures += 1;
        self.failures.is_power_of_two()
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
    use crate::rules::RuleMaker;
    use std::sync::Arc;
    use weir_cache::{Cache, CacheLimits};
    use weir_sql::LexMode;

    fn running() -> Box<Running> {
        let cache = Cache::new(CacheLimits::default(), 1);
        let mode = LexMode::new(ServerFamily::MySql, 90_704);
        let rules = RuleMaker::default().make(Vec::new(), &cache, mode).unwrap();
        Box::new(Running::without_rules(&Arc::new(rules)))
    }

    #[test]
    fn a_statement_that_runs_on_is_ended_again_and_less_often_with_time() {
        let started = Instant::now();
        let after = |seconds| started + Duration::from_secs(seconds);
        let mut running = running();
        assert_eq!(running.due(started), None);
        for (now, due) in [(1, 2), (2, 3), (3, 4), (4, 5), (5, 7), (7, 11), (11, 19)] {
            running.was_told(&Sent::Taken, started, after(now));
            assert_eq!((running.ending, running.due(started)), (Ending::Sent, Some(after(due))), "{now}");
        }
        for _ in 0..100 {
            running.was_told(&Sent::Taken, started, after(100));
        }
        assert_eq!(running.due(started), Some(after(160)));
        running.was_told(&Sent::Unknown(String::new()), started, after(160));
        running.was_told(&Sent::Taken, started, after(160));
        assert_eq!(running.ending, Ending::Unknown);
    }

    #[test]
    fn a_server_that_lets_nobody_in_is_asked_less_often_with_time_and_told_of_seldom() {
        let started = Instant::now();
        let after = |seconds| started + Duration::from_secs(seconds);
        let mut running = running();
        let mut lines = 0;
        for _ in 0..100 {
            running.was_told(&Sent::Not(String::new()), started, after(100));
            lines += u32::from(running.is_worth_a_line());
        }
        assert_eq!((running.ending, running.due(started)), (Ending::Not, Some(after(160))));
        assert_eq!(lines, 7);
    }

    #[test]
    fn an_operators_kill_moves_no_rules_time() {
        let started = Instant::now();
        let after = |millis| started + Duration::from_millis(millis);
        let mut running = running();
        running.timeout = Some((weir_policy::RuleIndex(0), Duration::from_millis(1500)));
        assert_eq!(running.due(started), Some(after(1500)));
        running.was_told(&Sent::Taken, started, after(200));
        assert_eq!(running.due(started), Some(after(1200)));
        running.was_told(&Sent::Not(String::new()), started, after(1200));
        assert_eq!((running.ending, running.due(started)), (Ending::Sent, Some(after(1500))));
        running.was_told(&Sent::Not(String::new()), started, after(1500));
        assert_eq!(running.due(started), Some(after(2500)));
    }

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
