//! The timeouts of a session. There is no timer while none of them can run out, and one is never moved for a
//! command that goes through: when it fires it looks at what has happened since.

use crate::session::{Exit, Phase, Session};
use crate::sharing::Sharing;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Sleep, sleep};
use weir_model::{CloseReason, ServerFamily};
use weir_session::Variable;
use weir_wire::packet::ErrPacket;

/// ER_NET_READ_INTERRUPTED.
pub(crate) const SERVER_SILENT: u16 = 1159;

/// ER_CLIENT_INTERACTION_TIMEOUT.
const INACTIVITY: u16 = 4031;

/// MySQL says so since 8.0.24; MariaDB says nothing.
const SAYS_INACTIVITY: u32 = 80_024;

const BY_THE_SERVER: &str = "The client was disconnected by the server because of inactivity. See wait_timeout and interactive_timeout \
    for configuring this behavior.";

/// What the session waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waits {
    Client,
    /// The same, for as long as its session's own `wait_timeout` says. Another limit is another wait.
    OwnLimit(Duration),
    /// The next statement of a transaction.
    InTransaction,
    /// The rest of a request that is held.
    Upload,
    Server,
    SlowReader,
    /// A place in the pool's queue.
    Pool,
}

/// What is waited for, the commands so far, the bytes of the answer so far, and those of them that were taken of what
/// waits for the client; of a request those that are there.
type Seen = (Waits, u64, u64, usize);

/// The running timer, if any.
#[derive(Debug, Default)]
pub(crate) struct Watchdog {
    timer: Option<Pin<Box<Sleep>>>,
    /// What was seen when the timer was last set; the same when it fires means that nothing moved.
    seen: Option<Seen>,
}

impl Watchdog {
    /// A timer that was set for another wait may fire too late for this one.
    fn shorten(&mut self, now: Seen, limit: Duration) {
        let (Some(timer), Some(seen)) = (self.timer.as_mut(), self.seen) else { return };
        let latest = tokio::time::Instant::now() + limit;
        if seen.0 != now.0 && timer.deadline() > latest {
            timer.as_mut().reset(latest);
            self.seen = Some(now);
        }
    }
}

impl Session {
    /// Called when nothing moves. Ready once that has lasted too long.
    pub(crate) fn poll_watchdog(&mut self, cx: &mut Context<'_>) -> Poll<Exit> {
        let (waits, limit) = self.waits();
        if limit.is_zero() {
            return Poll::Pending;
        }
        let moved = match waits {
            Waits::Upload => self.held_up.len() + self.current.bytes_in as usize,
            _ => self.to_client.taken(),
        };
        let now = (waits, self.commands, self.current.bytes_out, moved);
        self.watchdog.shorten(now, limit);
        loop {
            if self.watchdog.timer.is_none() {
                self.watchdog.timer = Some(Box::pin(sleep(limit)));
                self.watchdog.seen = Some(now);
            }
            let Some(timer) = self.watchdog.timer.as_mut() else { return Poll::Pending };
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.watchdog.timer = None;
            if self.watchdog.seen == Some(now) {
                return Poll::Ready(self.timed_out(waits, limit));
            }
            // Something moved since; for an idle client, and in the pool's queue, the time that has passed counts.
            if let Some(passed) = self.waited_already(waits) {
                if passed >= limit {
                    return Poll::Ready(self.timed_out(waits, limit));
                }
                self.watchdog.timer = Some(Box::pin(sleep(limit - passed)));
                self.watchdog.seen = Some(now);
            }
        }
    }

    fn waits(&self) -> (Waits, Duration) {
        let limits = &self.limits;
        match self.phase {
            _ if !self.to_client.is_empty() => (Waits::SlowReader, limits.client_write_timeout),
            _ if self.is_in_flight() || self.is_in_line() => (Waits::Client, Duration::ZERO),
            _ if self.is_queued() => (Waits::Pool, self.worker.shared.settings.load().pool.queue_timeout),
            Phase::Answer => (Waits::Server, limits.server_read_timeout),
            Phase::Idle if self.lacks_long() || self.is_amid_command() => {
                (Waits::Upload, limits.client_read_timeout)
            }
            Phase::Idle => self.waits_for_client(),
            Phase::Dropped(_) => (Waits::Upload, limits.client_read_timeout),
            // A client that sends a long request or file is bounded by the server's net_read_timeout.
            Phase::Request(_) | Phase::LocalInfile(_) | Phase::Binlog => (Waits::Client, Duration::ZERO),
        }
    }

    fn waits_for_client(&self) -> (Waits, Duration) {
        let (any, in_transaction) = (self.limits.client_idle_timeout, self.limits.idle_transaction_timeout);
        let is_shorter = !in_transaction.is_zero() && (any.is_zero() || in_transaction < any);
        if is_shorter && self.walker.in_transaction() {
            return (Waits::InTransaction, in_transaction);
        }
        match self.sharing.as_ref().and_then(|sharing| sharing.own_wait_timeout()) {
            Some(own) if any.is_zero() || own <= any => (Waits::OwnLimit(own), own),
            Some(_) | None => (Waits::Client, any),
        }
    }

    /// Whether the beginning of a command is there, and the rest is awaited.
    fn is_amid_command(&self) -> bool {
        self.starved && !self.held_up.is_empty() && !self.has_behind()
    }

    fn waited_already(&self, waits: Waits) -> Option<Duration> {
        match waits {
            Waits::Client | Waits::OwnLimit(_) | Waits::InTransaction => Some(self.current.ended.elapsed()),
            Waits::Pool => Some(self.sharing.as_ref()?.waiting.as_ref()?.begun.elapsed()),
            Waits::Server | Waits::SlowReader | Waits::Upload => None,
        }
    }

    fn timed_out(&self, waits: Waits, limit: Duration) -> Exit {
        let seconds = limit.as_secs_f64();
        match waits {
            Waits::SlowReader => Exit::Close(CloseReason::WriteTimeout),
            Waits::Upload => {
                let text = format!(
                    "Got timeout reading communication packets (weir: the rest of a statement, client_read_timeout, {seconds} s)"
                );
                Exit::Tell(CloseReason::IdleTimeout, ErrPacket::new(SERVER_SILENT, b"08S01", text))
            }
            // The client is told there that none became free.
            Waits::Pool => Exit::Attach,
            // As the server does, which has no connection of this session.
            Waits::OwnLimit(_) => match self.server.family {
                ServerFamily::MySql if self.server.version >= SAYS_INACTIVITY => {
                    Exit::Tell(CloseReason::IdleTimeout, ErrPacket::new(INACTIVITY, b"HY000", BY_THE_SERVER))
                }
                ServerFamily::MySql | ServerFamily::MariaDb => Exit::Close(CloseReason::IdleTimeout),
            },
            Waits::Client | Waits::InTransaction => {
                let key = match waits {
                    Waits::InTransaction => "idle_transaction_timeout",
                    _ => "client_idle_timeout",
                };
                let text =
                    format!("The client was disconnected by Weir because of inactivity ({key}, {seconds} s)");
                Exit::Tell(CloseReason::IdleTimeout, ErrPacket::new(INACTIVITY, b"HY000", text))
            }
            Waits::Server => {
                let text = format!(
                    "Lost connection to MySQL server during query (weir: no answer within server_read_timeout, {seconds} s; \
                     whether the statement took effect is not known)"
                );
                Exit::Tell(CloseReason::ServerTimeout, ErrPacket::new(SERVER_SILENT, b"08S01", text))
            }
        }
    }
}

impl Sharing {
    /// The `wait_timeout` that the session has set for itself, to another than that of its login or of its last reset, while no server connection of its own can run out of it. (The value
    /// of its login ends nobody then: it is there to free connections, and there is none.)
    fn own_wait_timeout(&self) -> Option<Duration> {
        if self.is_attached() {
            return None;
        }
        let own = self.wanted.get(Variable::WAIT_TIMEOUT)??;
        let login = self.login.as_ref()?.get(Variable::WAIT_TIMEOUT)??;
        if own == login || Some(own) == self.wanted.base().get(Variable::WAIT_TIMEOUT) {
            return None;
        }
        std::str::from_utf8(own).ok()?.parse().ok().map(Duration::from_secs)
    }
}
