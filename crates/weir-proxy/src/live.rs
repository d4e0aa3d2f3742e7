//! What others see of a session while it goes on: a few numbers that its own task stores as it passes, and that are read at any
//! time without a lock and without asking the session. A reader may meet them in the middle of a change; each is right by itself.

use crate::sender::same;
use crate::session::{Phase, Session};
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::time::{Duration, Instant};
use weir_session::{PinReason, PinSet, Schema};
use weir_sql::may_carry_password;
use weir_stats::digests::{Slot, SlotCell};
use weir_wire::attributes::statement_offset;

/// What a session does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum SessionState {
    /// Between commands, and in no transaction.
    Idle,
    /// Between commands, in a transaction.
    InTransaction,
    /// The command at hand waits for a server connection: in the queue of the pool, or while one is opened or made ready.
    WaitingForConnection,
    /// It waits for the limit of a rule.
    WaitingForRule,
    /// It waits for the answer to another session's same statement.
    WaitingForAnswer,
    /// It is with the server, which has said nothing yet.
    Running,
    /// Its answer is under way.
    Answering,
    /// The client sends the file that a LOAD DATA LOCAL has asked for.
    LoadingFile,
    /// The binary log is streamed.
    Binlog,
}

impl SessionState {
    pub const ALL: [Self; 9] = [
        Self::Idle,
        Self::InTransaction,
        Self::WaitingForConnection,
        Self::WaitingForRule,
        Self::WaitingForAnswer,
        Self::Running,
        Self::Answering,
        Self::LoadingFile,
        Self::Binlog,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::InTransaction => "in_transaction",
            Self::WaitingForConnection => "waiting_for_connection",
            Self::WaitingForRule => "waiting_for_rule",
            Self::WaitingForAnswer => "waiting_for_answer",
            Self::Running => "running",
            Self::Answering => "answering",
            Self::LoadingFile => "loading_file",
            Self::Binlog => "binlog",
        }
    }

    /// Whether the command at hand waits in Weir.
    pub fn waits(self) -> bool {
        matches!(self, Self::WaitingForConnection | Self::WaitingForRule | Self::WaitingForAnswer)
    }

    /// Whether the command at hand is with the server.
    pub fn runs(self) -> bool {
        matches!(self, Self::Running | Self::Answering | Self::LoadingFile | Self::Binlog)
    }
}

/// The low bits of [`Live::now`], which hold the state; the others are nanoseconds.
const STATE_BITS: u64 = 0xFF;

/// Bytes of a statement that are kept where statements are kept as they came.
const TEXT_MAX: usize = 1024;

/// What is always so of a session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Birth {
    pub peer: Option<SocketAddr>,
    /// The version of TLS that its client speaks.
    pub tls: Option<&'static str>,
    pub worker: usize,
    /// It has a server connection of its own, and its state is not followed.
    pub own: bool,
}

/// What a session tells as it goes.
#[derive(Debug)]
pub(crate) struct Live {
    birth: Birth,
    began: Instant,
    /// The state, and since when, in nanoseconds since the session began.
    now: AtomicU64,
    /// Commands that were sent to the server or answered.
    commands: AtomicU64,
    /// The number of the command at hand, which waits or has begun: stored ahead of the state that tells of it.
    at_hand: AtomicU64,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
    /// Where the last statement is counted.
    slot: SlotCell,
    /// The server's id of its connection, or 0.
    server_id: AtomicU32,
    pins: AtomicU32,
    /// When it began to keep its connection, as in `now`, and behind which statement.
    pinned_since: AtomicU64,
    pinned_by: SlotCell,
    schema: ArcSwap<Schema>,
    /// The last statement as it came and the number of its command, where those are kept.
    text: Mutex<(u64, Vec<u8>)>,
}

/// A session at one moment.
#[derive(Debug, Clone)]
pub struct SessionSeen {
    pub id: u32,
    pub user: Vec<u8>,
    /// `None` over a unix socket.
    pub peer: Option<SocketAddr>,
    pub tls: Option<&'static str>,
    pub worker: usize,
    /// Its state is followed, so that it can be served from the cache. It is settled when it logs in.
    pub followed: bool,
    pub state: SessionState,
    /// How long it has been so; for a command under way since it was sent.
    pub in_state: Duration,
    pub age: Duration,
    pub commands: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// The default schema, as far as it is known.
    pub schema: Option<Vec<u8>>,
    /// The server's id of its connection, while it has one.
    pub server_id: Option<u32>,
    pub pins: PinSet,
    /// How long it has kept its connection; not for those that do from beginning to end.
    pub pinned: Option<Duration>,
    pub slot: Option<Slot>,
    pub pinned_by: Option<Slot>,
    /// The statement as it came, if those are kept and it carries no password.
    pub text: Option<Vec<u8>>,
}

impl Live {
    pub fn new(birth: Birth) -> Self {
        let pins = if birth.own { PinSet::from(PinReason::SessionMode) } else { PinSet::EMPTY };
        Self {
            birth,
            began: Instant::now(),
            now: AtomicU64::new(SessionState::Idle as u64),
            commands: AtomicU64::new(0),
            at_hand: AtomicU64::new(0),
            bytes_in: AtomicU64::new(0),
            bytes_out: AtomicU64::new(0),
            slot: SlotCell::default(),
            server_id: AtomicU32::new(0),
            pins: AtomicU32::new(pins.bits()),
            pinned_since: AtomicU64::new(0),
            pinned_by: SlotCell::default(),
            schema: ArcSwap::from_pointee(Schema::None),
            text: Mutex::default(),
        }
    }

    #[inline]
    fn nanos(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.began).as_nanos() as u64
    }

    /// `nanos` as in `now`.
    #[inline]
    fn enters(&self, state: SessionState, nanos: u64) {
        self.now.store(nanos & !STATE_BITS | state as u64, Release);
    }

    /// When the session began, as seen from here.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// The session has this connection now; 0 is none.
    #[inline]
    pub fn connected(&self, server_id: u32) {
        self.server_id.store(server_id, Relaxed);
    }

    /// The session keeps its connection for these reasons.
    pub fn pinned(&self, reasons: PinSet, since: Instant, by: Option<Slot>) {
        let before = self.pins.load(Relaxed);
        if before == 0 {
            self.pinned_since.store(self.nanos(since), Relaxed);
            self.pinned_by.set(by);
        }
        if before != reasons.bits() {
            self.pins.store(reasons.bits(), Relaxed);
        }
    }

    /// It does no more.
    pub fn unpinned(&self) {
        self.pins.store(0, Relaxed);
    }

    /// The state, and the number of the command at hand: that of the one that waits, or runs.
    pub fn state(&self) -> (SessionState, u64) {
        loop {
            let now = self.now.load(Acquire);
            let at_hand = self.at_hand.load(Acquire);
            if self.now.load(Relaxed) == now {
                return (state_of(now), at_hand);
            }
        }
    }

    pub fn seen(&self, id: u32, user: Vec<u8>) -> SessionSeen {
        let now = self.now.load(Relaxed);
        let state = state_of(now);
        let age = self.began.elapsed();
        let ago = |nanos: u64| age.saturating_sub(Duration::from_nanos(nanos));
        let pins = PinSet::from_bits(self.pins.load(Relaxed));
        let pinned = pins.without(PinReason::SessionMode.into());
        let id_there = self.server_id.load(Relaxed);
        let commands = self.commands.load(Relaxed);
        let text = self.text.lock();
        let is_at_hand = text.0 != 0 && text.0 == commands + u64::from(state.waits());
        let text = (is_at_hand && !may_carry_password(&text.1)).then(|| text.1.clone());
        SessionSeen {
            id,
            user,
            peer: self.birth.peer,
            tls: self.birth.tls,
            worker: self.birth.worker,
            followed: !self.birth.own,
            state,
            in_state: ago(now & !STATE_BITS),
            age,
            commands,
            bytes_in: self.bytes_in.load(Relaxed),
            bytes_out: self.bytes_out.load(Relaxed),
            schema: match &**self.schema.load() {
                Schema::Known(name) => Some(name.to_vec()),
                Schema::None | Schema::Unknown => None,
            },
            server_id: (id_there != 0).then_some(id_there),
            pins,
            pinned: (!pinned.is_empty()).then(|| ago(self.pinned_since.load(Relaxed))),
            slot: self.slot.get(),
            pinned_by: self.pinned_by.get(),
            text,
        }
    }
}

fn state_of(now: u64) -> SessionState {
    SessionState::ALL.get((now & STATE_BITS) as usize).copied().unwrap_or(SessionState::Idle)
}

impl Session {
    fn live(&self) -> &Live {
        &self.entry.handle.live
    }

    /// A command that is no statement leaves the last one to be shown.
    #[inline]
    fn live_statement(&self) {
        if let slot @ Some(_) = self.tally.slot() {
            self.live().slot.set(slot);
        }
    }

    /// A command begins.
    #[inline]
    pub(crate) fn live_begins(&mut self) {
        let live = &self.entry.handle.live;
        live.commands.store(self.commands, Relaxed);
        live.at_hand.store(self.commands, Release);
        self.live_statement();
        self.tally.started_ns = live.nanos(self.current.started);
        live.enters(SessionState::Running, self.tally.started_ns);
    }

    /// Its answer is complete, or it has none: so long after it began.
    #[inline]
    pub(crate) fn live_ended(&mut self, total_ns: u64, bytes_in: u64, bytes_out: u64) {
        let live = &self.entry.handle.live;
        let add = |sum: &AtomicU64, n: u64| sum.store(sum.load(Relaxed).wrapping_add(n), Relaxed);
        add(&live.bytes_in, bytes_in);
        add(&live.bytes_out, bytes_out);
        let state = match self.phase {
            Phase::Binlog => SessionState::Binlog,
            _ if self.walker.in_transaction() => SessionState::InTransaction,
            _ => SessionState::Idle,
        };
        live.enters(state, self.tally.started_ns + total_ns);
        let schema = self.sharing.as_ref().map_or(&self.ruled.schema, |sharing| sharing.wanted.schema());
        if !same(&self.tally.shown, schema) {
            live.schema.store(Arc::new(schema.clone()));
            self.tally.shown = schema.clone();
        }
    }

    /// The client has logged in, perhaps with a schema.
    pub(crate) fn live_logged_in(&mut self) {
        if self.ruled.schema != Schema::None {
            self.live().schema.store(Arc::new(self.ruled.schema.clone()));
            self.tally.shown = self.ruled.schema.clone();
        }
    }

    /// The session is another user's, with the schema that COM_CHANGE_USER has named, and has run no statement. Where it shares
    /// connections, its next command shows what the server says of that.
    pub(crate) fn live_changed_user(&self) {
        self.live().slot.set(None);
        self.live().schema.store(Arc::new(self.ruled.schema.clone()));
    }

    /// A part of the answer has come, and not its end.
    pub(crate) fn live_answers(&self) {
        let state = match self.phase {
            Phase::Answer => SessionState::Answering,
            Phase::LocalInfile(_) => SessionState::LoadingFile,
            Phase::Binlog => SessionState::Binlog,
            Phase::Idle | Phase::Request(_) | Phase::Dropped(_) => return,
        };
        let live = self.live();
        let now = live.now.load(Relaxed);
        if now & STATE_BITS != state as u64 {
            live.now.store(now & !STATE_BITS | state as u64, Relaxed);
        }
    }

    /// The command at hand waits.
    pub(crate) fn live_waits(&self, since: Instant) {
        let state = match () {
            () if self.is_in_line() => SessionState::WaitingForRule,
            () if self.is_in_flight() => SessionState::WaitingForAnswer,
            () => SessionState::WaitingForConnection,
        };
        let live = self.live();
        live.at_hand.store(self.commands + 1, Release);
        self.live_statement();
        live.enters(state, live.nanos(since));
    }

    /// Keeps the text of a COM_QUERY that is about to begin, where those are kept.
    pub(crate) fn live_text(&self, payload: &[u8]) {
        if !self.worker.shared.samples {
            return;
        }
        // Who reads it at this moment shall not be waited for.
        if let (Some(mut text), Ok(offset)) =
            (self.live().text.try_lock(), statement_offset(payload, self.server.caps))
        {
            let sql = &payload[offset..];
            text.1.clear();
            text.1.extend_from_slice(&sql[..sql.len().min(TEXT_MAX)]);
            text.0 = self.commands + 1;
        }
    }
}
