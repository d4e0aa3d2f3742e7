//! Server connections that sessions share: what is kept of each, and the right to have one.

use crate::backend::Backend;
use crate::worker::Worker;
use foldhash::quality::FixedState;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use weir_config::Sharing;
use weir_pool::{Grant, Need, Pool, PoolLimits};
use weir_session::{PinReason, PinSet, ServerStatements, State, Variable};
use weir_wire::caps::{self, Caps};

/// The connections of the server, shared by all workers.
pub type ServerPool = Pool<Key, Box<Link>>;

/// What must be equal for a session to use a connection: the account, and what was agreed about packets and sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Of the rest: each statement looks for connections twice.
    hash: u64,
    pub dialect: Caps,
    pub user: Arc<[u8]>,
}

impl Key {
    /// `agreed` are the flags asked of the server.
    pub(crate) fn new(user: &[u8], agreed: Caps) -> Self {
        let dialect = agreed & !OF_THE_LINK;
        Self { hash: FixedState::default().hash_one((user, dialect)), dialect, user: user.into() }
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// Flags that concern the login or the link to the server, and no session.
const OF_THE_LINK: Caps =
    caps::CONNECT_WITH_DB | caps::CONNECT_ATTRS | caps::SSL | caps::COMPRESS | caps::ZSTD_COMPRESSION;

/// The flags of a server connection that matter to its session. Where it was agreed to name the client's attributes, the next
/// client's can be named as well.
pub(crate) fn of_the_session(agreed: Caps) -> Caps {
    agreed & (!OF_THE_LINK | caps::CONNECT_ATTRS)
}

/// Whose statements a connection has run since it was made or reset. A trigger may have set user variables that no
/// text shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UsedBy {
    Nobody,
    /// The session with this id of Weir's.
    One(u32),
    Several,
}

impl UsedBy {
    pub fn and(self, session: u32) -> Self {
        match self {
            Self::Nobody => Self::One(session),
            Self::One(other) if other == session => self,
            Self::One(_) | Self::Several => Self::Several,
        }
    }

    /// Whether another session than this may have left something.
    pub fn by_others(self, session: u32) -> bool {
        self.and(session) == Self::Several
    }
}

/// A server connection that nobody uses. While a session uses it, that has what is here, and the backend here is the session's
/// own, which is away: the two are exchanged, and nothing is copied.
#[derive(Debug)]
pub struct Link {
    pub(crate) server: Box<Backend>,
    /// Who is logged in.
    pub(crate) user: Arc<[u8]>,
    /// What its session is like; while one uses it, what it was like before.
    pub(crate) actual: State,
    /// How long it may be idle, by the `wait_timeout` of that.
    pub(crate) idle_for: Duration,
    /// What LAST_INSERT_ID() is there, where that is known.
    pub(crate) insert_id: Option<u64>,
    pub(crate) used_by: UsedBy,
    pub(crate) prepared: Box<ServerStatements>,
    pub(crate) born: Instant,
    /// The worker that used it last, whose runtime may know its socket.
    pub(crate) worker: usize,
    /// Since when nobody has used it.
    pub(crate) since: Instant,
}

/// A connection that was read from so lately is not looked at again: what may have happened to it since could as well happen
/// a moment later, when the statement is on its way.
const LOOKED_AT: Duration = Duration::from_millis(1);

impl Link {
    /// One that was made just now.
    pub(crate) fn of(
        server: Box<Backend>,
        user: &Arc<[u8]>,
        actual: State,
        worker: usize,
        now: Instant,
    ) -> Self {
        Self {
            server,
            user: Arc::clone(user),
            idle_for: idle_for(&actual),
            actual,
            insert_id: Some(0),
            used_by: UsedBy::Nobody,
            prepared: Box::new(ServerStatements::nowhere()),
            born: now,
            worker,
            since: now,
        }
    }

    /// What was agreed with the server, as in a key.
    pub(crate) fn dialect(&self) -> Caps {
        self.server.caps & !OF_THE_LINK
    }

    /// Makes it one of this worker, if it owes nothing and has not ended. What is not is of no use.
    pub(crate) fn take_up(&mut self, worker: &Worker, now: Instant) -> bool {
        let looked_at = now.duration_since(self.since) < LOOKED_AT;
        let own = self.worker == worker.index();
        let taken = (looked_at || self.server.stream.is_quiet())
            && self.server.stream.take_up(own, worker.is_busy()).is_ok();
        if taken {
            self.worker = worker.index();
        }
        taken
    }

    /// Until when it may be used if nobody does from now on.
    pub(crate) fn until(&self, settings: &PoolSettings, now: Instant) -> Instant {
        settings.until(self.born, self.server.id, self.idle_for, now)
    }

    /// Its session has become like this.
    pub(crate) fn becomes(&mut self, state: &State) {
        if !self.actual.same_as(state) {
            self.actual = state.clone();
            self.idle_for = idle_for(state);
        }
    }

    /// Whether a session of this key can use it.
    pub(crate) fn serves(&self, key: &Key) -> bool {
        self.user == key.user && self.dialect() == key.dialect
    }
}

/// The right to a server connection, of a pool that counts them. Dropped, it says that the connection has ended.
#[derive(Debug)]
pub(crate) struct Lease {
    /// Whose pool it is of. The worker's own count of references, which no other worker touches.
    worker: Arc<Worker>,
    /// Counted among those that sessions keep.
    pub pinned: bool,
    pub born: Instant,
    /// The connection is being opened.
    opening: bool,
    given_back: bool,
}

impl Lease {
    /// For what was granted.
    pub fn new(worker: &Arc<Worker>, need: Need, grant: &Grant<Box<Link>>, now: Instant) -> Self {
        Self {
            worker: Arc::clone(worker),
            pinned: need == Need::Pin,
            born: now,
            opening: matches!(grant, Grant::Open),
            given_back: false,
        }
    }

    /// The connection is open, or cannot be opened.
    pub fn opened(&mut self) {
        if std::mem::take(&mut self.opening) {
            self.pool().opened(Instant::now());
        }
    }

    /// The session keeps the connection beyond its statement.
    pub fn pin(&mut self) {
        if !self.pinned {
            self.pool().pinned();
            self.pinned = true;
        }
    }

    fn unpin(&mut self, now: Instant) {
        if std::mem::take(&mut self.pinned) {
            self.pool().unpinned(now);
        }
    }

    /// The connection comes back in order. Returned is what is not wanted any more.
    pub fn give_back(
        mut self,
        key: &Key,
        link: Box<Link>,
        now: Instant,
        until: Instant,
    ) -> Option<Box<Link>> {
        self.opened();
        self.unpin(now);
        self.given_back = true;
        let worker = link.worker;
        self.pool().checkin(key, link, worker, now, until)
    }

    fn pool(&self) -> &ServerPool {
        &self.worker.shared.pool
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let now = Instant::now();
        self.opened();
        self.unpin(now);
        if !self.given_back {
            self.pool().closed(now);
        }
    }
}

/// How often each reason has kept a connection with its session beyond a statement.
#[derive(Debug, Default)]
pub struct PinCounts([AtomicU64; PinReason::ALL.len()]);

impl PinCounts {
    pub(crate) fn count(&self, reasons: PinSet) {
        reasons.iter().for_each(|reason| {
            self.0[reason as usize].fetch_add(1, Ordering::Relaxed);
        });
    }

    /// The reasons in their order.
    pub fn by_reason(&self) -> impl Iterator<Item = (PinReason, u64)> {
        PinReason::ALL.iter().map(|reason| (*reason, self.0[*reason as usize].load(Ordering::Relaxed)))
    }

    /// The reasons by name, in a fixed order.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, u64)> {
        PinReason::ALL
            .iter()
            .map(|reason| (reason.as_str(), self.0[*reason as usize].load(Ordering::Relaxed)))
    }
}

/// How connections are shared, as the configuration says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolSettings {
    /// For users without a word of their own.
    pub sharing: Sharing,
    pub limits: PoolLimits,
    /// `min_idle` connections are opened ahead.
    pub warm_up: bool,
    /// Prepared statements on the server, of all connections together.
    pub server_statements: u32,
    /// Zero is no limit.
    pub max_lifetime: Duration,
    pub queue_timeout: Duration,
    /// How long the connection of a client that has left may wait for another; zero: not at all.
    pub reuse_timeout: Duration,
}

impl PoolSettings {
    /// Until when a connection of this age may be used, that may be idle for so long.
    pub(crate) fn until(&self, born: Instant, id: u32, idle_for: Duration, now: Instant) -> Instant {
        let by_age = match self.max_lifetime {
            Duration::ZERO => now + DAY,
            // Up to a tenth less, so that connections made together do not end together.
            life => born + life - life / 1000 * (id % 100),
        };
        by_age.min(now + idle_for)
    }
}

/// No connection is kept idle for longer, whatever the servers say: their own default is eight hours.
pub(crate) const DAY: Duration = Duration::from_secs(24 * 3600);

/// How long a connection in such a state may be idle: to a fifth before the server would close it.
pub(crate) fn idle_for(state: &State) -> Duration {
    let wait_timeout = state.get(Variable::WAIT_TIMEOUT).flatten();
    let seconds: Option<u64> = wait_timeout.and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
    seconds.map_or(DAY, |s| Duration::from_millis(s.saturating_mul(800)).min(DAY))
}

#[cfg(test)]
mod tests;
