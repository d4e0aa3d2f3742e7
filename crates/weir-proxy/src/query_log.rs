//! Which statements go to the query log: those that took long, and a share of the others. What is said of one is put into a bounded
//! queue; whoever writes it is elsewhere, and is never waited for.

use crate::analytics::here;
use crate::codes::{LIMIT_REACHED, SPECIFIC_ACCESS_DENIED};
use crate::session::Session;
use parking_lot::Mutex;
use std::cell::Cell;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, SystemTime};
use weir_session::{PinReason, PinSet};
use weir_sql::may_carry_password;
use weir_stats::digests::{Call, DigestText, Origin, Source};
use weir_wire::attributes::statement_offset;
use weir_wire::command as com;

/// Statements that may wait to be written: some MiB with their texts, a second of writing.
const QUEUE: usize = 4096;

/// Bytes of a statement that are kept where literals are logged.
const TEXT_MAX: usize = 4 * 1024;

/// No statement takes so long.
const NEVER: u64 = u64::MAX;

/// Shares are counted in 2^-32.
const ALL: u64 = 1 << 32;

/// Which statements are logged, and how.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoggedStatements {
    /// Those that took so long; `None`: however long.
    pub slow: Option<Duration>,
    /// This share of the others, in millionths.
    pub sample: u32,
    /// With their text as it came.
    pub literals: bool,
}

/// Why a statement is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoggedFor {
    Slow,
    Sample,
}

/// What Weir has answered with by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnAnswer {
    /// A rule denies the statement.
    Denied,
    /// A rule's limit is reached.
    Limited,
    /// Another error of its own, which the code tells.
    Error,
    /// What it knows: a remembered answer to `SET` and the like, `SHOW WEIR SESSION`, the outcome of a `KILL`.
    Known,
}

impl OwnAnswer {
    /// The word in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Limited => "limited",
            Self::Error => "error",
            Self::Known => "known",
        }
    }

    /// `None` where server or cache have answered.
    fn of(call: &Call) -> Option<Self> {
        if call.source != Source::Weir {
            return None;
        }
        // Of statements nothing else ends with these two codes of Weir's.
        Some(match call.error {
            Some(SPECIFIC_ACCESS_DENIED) => Self::Denied,
            Some(LIMIT_REACHED) => Self::Limited,
            Some(_) => Self::Error,
            None => Self::Known,
        })
    }
}

/// Why a line was not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dropped {
    /// More statements came than could be written.
    QueueFull,
    /// The file could not be written.
    NotWritten,
}

/// A statement that was answered.
#[derive(Debug)]
pub struct LoggedStatement {
    pub at: SystemTime,
    pub why: LoggedFor,
    pub session: u32,
    pub user: Vec<u8>,
    pub peer: Option<SocketAddr>,
    /// COM_QUERY or another, by its name.
    pub command: &'static str,
    pub digest: Option<(Arc<DigestText>, Arc<Origin>)>,
    /// As it came, where that is asked for and it carries no password.
    pub text: Option<Vec<u8>>,
    pub call: Call,
    /// The server's id of the connection on which it ran, or 0.
    pub server_connection: u32,
    /// The rules that matched.
    pub rules: Vec<String>,
    /// How long it waited for their limits: a part of [`Call::queue_ns`].
    pub waited_for_rule: Duration,
    /// What kept the session's connection behind it.
    pub pins: PinSet,
}

impl LoggedStatement {
    /// What Weir has answered with, where it did by itself.
    pub fn own_answer(&self) -> Option<OwnAnswer> {
        OwnAnswer::of(&self.call)
    }
}

/// What the writer is sent.
#[derive(Debug)]
pub enum ToLog {
    Statement(Box<LoggedStatement>),
    /// Look around: something else has changed.
    Wake,
}

/// The way to the log.
#[derive(Debug)]
pub struct QueryLog {
    /// What took less is not logged.
    least_ns: AtomicU64,
    slow_ns: AtomicU64,
    /// Out of [`ALL`].
    sample: AtomicU64,
    literals: AtomicBool,
    sender: SyncSender<ToLog>,
    receiver: Mutex<Option<Receiver<ToLog>>>,
    dropped: [AtomicU64; 2],
    written: AtomicU64,
}

thread_local! {
    /// xorshift64: which statements are taken need not be hard to foresee.
    static CHANCE: Cell<u64> = const { Cell::new(0x9E37_79B9_7F4A_7C15) };
}

impl Default for QueryLog {
    fn default() -> Self {
        let (sender, receiver) = sync_channel(QUEUE);
        Self {
            least_ns: AtomicU64::new(NEVER),
            slow_ns: AtomicU64::new(NEVER),
            sample: AtomicU64::new(0),
            literals: AtomicBool::new(false),
            sender,
            receiver: Mutex::new(Some(receiver)),
            dropped: Default::default(),
            written: AtomicU64::new(0),
        }
    }
}

impl QueryLog {
    /// From now on these are logged; `None`: nothing.
    pub fn set(&self, which: Option<LoggedStatements>) {
        let slow = which.and_then(|which| which.slow).map_or(NEVER, |slow| slow.as_nanos() as u64);
        let share = which.map_or(0, |which| u64::from(which.sample) * ALL / 1_000_000);
        self.literals.store(which.is_some_and(|which| which.literals), Relaxed);
        self.slow_ns.store(slow, Relaxed);
        self.sample.store(share, Relaxed);
        self.least_ns.store(if share == 0 { slow } else { 0 }, Relaxed);
    }

    /// Where they come out; there is one end.
    pub fn take_receiver(&self) -> Option<Receiver<ToLog>> {
        self.receiver.lock().take()
    }

    /// Lets the writer look around. If the queue is full it has something to do anyway.
    pub fn wake(&self) {
        let _ = self.sender.try_send(ToLog::Wake);
    }

    /// Lines that were not written.
    pub fn drop_lines(&self, why: Dropped, lines: u64) {
        self.dropped[why as usize].fetch_add(lines, Relaxed);
    }

    pub fn wrote_lines(&self, lines: u64) {
        self.written.fetch_add(lines, Relaxed);
    }

    pub fn dropped(&self, why: Dropped) -> u64 {
        self.dropped[why as usize].load(Relaxed)
    }

    pub fn written(&self) -> u64 {
        self.written.load(Relaxed)
    }

    /// Whether anything is logged.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.slow_ns.load(Relaxed) != NEVER || self.sample.load(Relaxed) != 0
    }

    #[inline(always)]
    pub(crate) fn wants(&self, total_ns: u64) -> Option<LoggedFor> {
        if total_ns < self.least_ns.load(Relaxed) { None } else { self.may_want(total_ns) }
    }

    #[cold]
    fn may_want(&self, total_ns: u64) -> Option<LoggedFor> {
        if total_ns >= self.slow_ns.load(Relaxed) {
            return Some(LoggedFor::Slow);
        }
        let sample = self.sample.load(Relaxed);
        (sample != 0 && chance() < sample).then_some(LoggedFor::Sample)
    }

    fn send(&self, statement: LoggedStatement) {
        match self.sender.try_send(ToLog::Statement(Box::new(statement))) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.drop_lines(Dropped::QueueFull, 1);
            }
        }
    }
}

/// Below [`ALL`].
fn chance() -> u64 {
    CHANCE.with(|state| {
        let mut x = state.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        state.set(x);
        x >> 32
    })
}

impl Session {
    /// Keeps the text of a COM_QUERY, where texts are logged.
    #[inline]
    pub(crate) fn log_text(&mut self, payload: &[u8]) {
        let log = &self.worker.shared.query_log;
        if !log.literals.load(Relaxed) || !log.is_on() {
            return;
        }
        if let Ok(offset) = statement_offset(payload, self.server.caps) {
            let sql = &payload[offset..];
            self.tally.has_text(sql[..sql.len().min(TEXT_MAX)].to_vec());
        }
    }

    /// A statement was answered so; `queue_ns` is in the total already.
    #[cold]
    pub(crate) fn log(&mut self, why: LoggedFor, call: Call) {
        let text = self.tally.take_text();
        if !matches!(self.current.command, com::QUERY | com::STMT_EXECUTE | com::STMT_BULK_EXECUTE) {
            return;
        }
        let slot = self.tally.slot();
        // It may have been switched off while the statement ran.
        let may_show =
            self.current.command == com::QUERY && self.worker.shared.query_log.literals.load(Relaxed);
        let pins = match &self.sharing {
            Some(sharing) => sharing.pins.why(),
            None => PinReason::SessionMode.into(),
        };
        self.worker.shared.query_log.send(LoggedStatement {
            at: SystemTime::now(),
            why,
            session: self.entry.handle.id(),
            user: self.identity.user.clone(),
            peer: self.peer,
            command: com::name(self.current.command),
            digest: slot.and_then(|slot| here(|analytics| analytics.named(slot)).flatten()),
            text: text.filter(|text| may_show && !may_carry_password(text)),
            call,
            server_connection: if call.server_ns == 0 { 0 } else { self.server.id },
            rules: self.tally.matched_names(),
            waited_for_rule: self.tally.rule_wait().min(Duration::from_nanos(call.queue_ns)),
            pins,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_ones_and_a_share_of_the_others_are_wanted() {
        let log = QueryLog::default();
        assert!(!log.is_on() && log.wants(u64::MAX - 1).is_none());
        let slow = Some(Duration::from_millis(10));
        log.set(Some(LoggedStatements { slow, sample: 0, literals: false }));
        assert_eq!((log.wants(9_999_999), log.wants(10_000_000)), (None, Some(LoggedFor::Slow)));
        log.set(Some(LoggedStatements { slow, sample: 250_000, literals: false }));
        let taken = (0..100_000).filter(|_| log.wants(5).is_some()).count();
        assert!((24_000..26_000).contains(&taken), "{taken}");
        log.set(Some(LoggedStatements { slow: None, sample: 1_000_000, literals: false }));
        assert!((0..1000).all(|_| log.wants(5) == Some(LoggedFor::Sample)));
        log.set(None);
        assert!(!log.is_on());
    }

    #[test]
    fn what_weir_has_answered_with_is_told_apart() {
        let of =
            |source, error| OwnAnswer::of(&Call { source, error, ..Call::default() }).map(OwnAnswer::as_str);
        assert_eq!(of(Source::Server, Some(1227)), None);
        assert_eq!(of(Source::Hit, None), None);
        let own = [Some(1227), Some(1226), Some(1040), None].map(|error| of(Source::Weir, error));
        assert_eq!(own, [Some("denied"), Some("limited"), Some("error"), Some("known")]);
    }
}
