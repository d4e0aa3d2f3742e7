//! Who has which connection, and who is next: a machine without locks, sockets or clocks.
//!
//! ```text
//!                    checkout                     check in, nobody waits
//!    (not open) ----------------> in use <--------------------------------> idle
//!        ^       Open: dial        |  ^   checkout: Idle, or Replace for      |
//!        |                         |  |   another account                     |
//!        +------- closed ----------+  +---- grant: the first who waits        |
//!        +------------------------- sweep: too old, too long idle ------------+
//! ```
//!
//! Every connection that is open, and every right to open one, counts as `open`; there are never more than `max`
//! (a lowered `max` is reached as connections come back). Nobody waits while a connection is idle, or while there are so few that
//! one is opened at once ([`FEW`]): that is the invariant that each event restores, and the tests check it after every step.
//! Whether there should be more than few is judged every [`LOOK_EVERY`] by [`State::tick`] ([`growth`]).

mod ahead;
mod growth;
mod line;

use growth::Growth;
use line::{At, Lines, Waiter};
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::time::{Duration, Instant};

/// What the pool of one server may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolLimits {
    /// Connections at most; `max_connections` of the server.
    pub max: u32,
    /// Idle connections that are kept however long they are not needed.
    pub min_idle: u32,
    /// An idle connection above `min_idle` is closed when nobody has needed it for this long.
    pub idle_timeout: Duration,
    /// Statements that wait at most; one more is refused at once.
    pub max_waiting: usize,
    /// Connections that sessions may keep between statements, so that the rest of the work is never starved.
    pub max_pinned: u32,
}

/// What a statement needs a connection for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// For itself only.
    Statement,
    /// It will keep the connection beyond its answer (a transaction, a lock), and so takes one of the places for that.
    Pin,
}

/// What a checkout comes to.
#[derive(Debug, PartialEq, Eq)]
pub enum Checkout<C> {
    /// A connection of the same account.
    Idle(C),
    /// A connection may be opened. Whoever gets this calls [`State::opened`] when that is done or has failed, and
    /// [`State::closed`] when the connection has ended, or could not be made.
    Open,
    /// All connections are open and this one, of another account, has been idle longest: it is to be changed to the
    /// new account, or closed and replaced.
    Replace(C),
    /// Nothing is free; the ticket stands for the place in the queue.
    Wait(Ticket),
    /// The queue is full.
    Refused,
}

/// A place in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

/// What a waiter is given.
#[derive(Debug, PartialEq, Eq)]
pub enum Grant<C> {
    Idle(C),
    Open,
    Replace(C),
}

#[derive(Debug)]
struct Idle<C> {
    connection: C,
    since: Instant,
    /// The connection is not used from here on (`max_lifetime`, the server's `wait_timeout`).
    until: Instant,
    /// When it was last seen to be there.
    looked: Instant,
}

/// Connections that are not kept by a session, below which one more is opened as soon as a statement finds none idle. A server
/// that answers quickly is kept busy by as many.
pub const FEW: u32 = 8;

/// How often it is to be judged, while statements wait, whether there should be more connections.
pub const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Connections that are opened at the same time, at most: in a rush the first of them come back before the last would be
/// there, and a server that logs in hundreds serves nobody meanwhile.
const OPENING_MAX: u32 = 4;

/// How much earlier somebody of another worker may have come than a waiter of the connection's own worker that is served first:
/// to hand a connection to another thread costs more than many a statement. A millisecond is less than what statements wait
/// where there is a queue at all.
const OWN_FIRST: Duration = Duration::from_millis(1);

/// The connections of one server. `K` tells accounts (and what else must be equal to share) apart, `C` is a
/// connection, `W` is whatever wakes a waiter.
#[derive(Debug)]
pub struct State<K, C, W> {
    limits: PoolLimits,
    open: u32,
    /// How many of them are being opened.
    opening: u32,
    pinned: u32,
    idle_count: u32,
    /// Idle connections by account and worker, the last one used at the end. No chance: that names are chosen to collide need
    /// not be feared where each is an account of the server with a connection open.
    idle: HashMap<K, Vec<VecDeque<Idle<C>>>, foldhash::quality::FixedState>,
    workers: usize,
    waiting: Lines<K, W>,
    growth: Growth,
}

/// A waiter and what it gets.
#[derive(Debug, PartialEq, Eq)]
pub struct Wake<K, C, W> {
    pub waiter: W,
    /// What it waited for, and where.
    pub key: K,
    pub need: Need,
    pub worker: usize,
    pub grant: Grant<C>,
    /// Somebody else may be served as well: [`State::next`] tells.
    pub more: bool,
}

impl<K: Eq + Hash + Clone, C, W> State<K, C, W> {
    pub fn new(limits: PoolLimits, workers: usize) -> Self {
        Self {
            limits,
            open: 0,
            opening: 0,
            pinned: 0,
            idle_count: 0,
            idle: HashMap::default(),
            workers: workers.max(1),
            waiting: Lines::new(workers.max(1)),
            growth: Growth::default(),
        }
    }

    /// A connection for a statement of `key` on `worker`. `wake` is kept only where the result is
    /// [`Checkout::Wait`].
    pub fn checkout(
        &mut self,
        key: &K,
        need: Need,
        worker: usize,
        now: Instant,
        wake: impl FnOnce() -> W,
    ) -> Checkout<C> {
        let may = need == Need::Statement || self.has_room();
        // Whoever came before goes first; only those are passed who wait for a place to pin, or for another account's connection.
        let before = |w: &Waiter<K, W>| w.need == Need::Statement || need == Need::Pin;
        // One that pins may let another be opened, for which nobody would look here.
        let beside = || {
            need == Need::Statement
                && self.has_idle(key, now)
                && !self.waiting.iter().any(|w| before(w) && w.key == *key)
        };
        let free = may && (!self.waiting.iter().any(before) || beside());
        if free && let Some(found) = self.take(key, worker, now) {
            if need == Need::Pin {
                self.pinned += 1;
            }
            return match found {
                Grant::Idle(connection) => Checkout::Idle(connection),
                Grant::Open => Checkout::Open,
                Grant::Replace(connection) => Checkout::Replace(connection),
            };
        }
        if self.waiting.len() >= self.limits.max_waiting {
            return Checkout::Refused;
        }
        Checkout::Wait(self.waiting.push(key.clone(), need, worker, now, wake()))
    }

    /// A connection comes back in order; `until` is when it must not be used any longer.
    pub fn checkin(
        &mut self,
        key: &K,
        connection: C,
        worker: usize,
        now: Instant,
        until: Instant,
    ) -> Returned<K, C, W> {
        if self.open > self.limits.max || until <= now {
            self.open = self.open.saturating_sub(1);
            return Returned { close: Some(connection), wake: self.next(now) };
        }
        self.growth.returned();
        let connection = match self.hand_over(key, connection, worker) {
            Ok(wake) => return Returned { close: None, wake: Some(wake) },
            Err(connection) => connection,
        };
        let workers = self.workers;
        let shelf = worker.min(workers - 1);
        let idle = Idle { connection, since: now, until, looked: now };
        match self.idle.get_mut(key) {
            Some(shelves) => shelves[shelf].push_back(idle),
            None => {
                let mut shelves = no_shelves(workers);
                shelves[shelf].push_back(idle);
                self.idle.insert(key.clone(), shelves);
            }
        }
        self.idle_count += 1;
        Returned { close: None, wake: self.next_on(Some(worker), now) }
    }

    /// Gives a connection that came back to whoever is next, if no other is idle and that one waits for a connection of this account: as if
    /// it had lain idle for a moment.
    fn hand_over(&mut self, key: &K, connection: C, worker: usize) -> Result<Wake<K, C, W>, C> {
        let room = self.has_room();
        let next = match self.idle_count {
            0 => self.waiting.first_on(Some(worker), |waiter| waiter.may_go(room)),
            _ => None,
        };
        let next = next.filter(|at| self.waiting.get(*at).key == *key);
        match next.and_then(|at| self.waiting.remove(at)) {
            Some(waiter) => {
                // That it has connections is known of the account as if this one had lain idle.
                if !self.idle.contains_key(key) {
                    self.idle.insert(key.clone(), no_shelves(self.workers));
                }
                Ok(self.served(waiter, Grant::Idle(connection)))
            }
            None => Err(connection),
        }
    }

    fn served(&mut self, waiter: Waiter<K, W>, grant: Grant<C>) -> Wake<K, C, W> {
        if waiter.need == Need::Pin {
            self.pinned += 1;
        }
        let Waiter { key, need, worker, wake, .. } = waiter;
        Wake { waiter: wake, key, need, worker, grant, more: self.may_serve() }
    }

    /// Whether somebody waits, and there may be something for somebody.
    fn may_serve(&self) -> bool {
        self.waiting.len() > 0 && (self.idle_count > 0 || self.may_open())
    }

    fn may_open(&self) -> bool {
        let room = self.open < self.limits.max && self.opening < OPENING_MAX;
        room && (self.open < self.pinned.saturating_add(FEW) || self.growth.allows())
    }

    /// Whether one more session may keep a connection.
    fn has_room(&self) -> bool {
        self.pinned < self.limits.max_pinned
    }

    /// A connection that was to be opened is open, or cannot be: then [`Self::closed`] comes next.
    pub fn opened(&mut self, now: Instant) -> Option<Wake<K, C, W>> {
        self.opening = self.opening.saturating_sub(1);
        self.next(now)
    }

    /// A connection has ended, or a right to open one was not used.
    pub fn closed(&mut self, now: Instant) -> Option<Wake<K, C, W>> {
        self.open = self.open.saturating_sub(1);
        self.next(now)
    }

    /// A session keeps its connection though its statement did not ask for that beforehand. Never refused: the
    /// statement has run.
    pub fn pinned(&mut self) {
        self.pinned += 1;
    }

    /// A session gives back its place among those that keep a connection.
    pub fn unpinned(&mut self, now: Instant) -> Option<Wake<K, C, W>> {
        self.pinned = self.pinned.saturating_sub(1);
        self.next(now)
    }

    /// Judges whether there should be more connections, and serves whoever can be served then. To be called every [`LOOK_EVERY`]
    /// while somebody waits.
    pub fn tick(&mut self, now: Instant) -> Option<Wake<K, C, W>> {
        let longest = self.longest_wait(now).unwrap_or_default();
        self.growth.tick(now, (self.waiting.len(), longest), self.open, self.opening);
        self.next(now)
    }

    /// For how long who waits longest has waited.
    pub fn longest_wait(&self, now: Instant) -> Option<Duration> {
        self.waiting.first_since().map(|since| now.duration_since(since))
    }

    /// A waiter leaves. `false` if it was granted something already, which is then on its way to it.
    pub fn leave(&mut self, ticket: Ticket) -> bool {
        self.waiting.leave(ticket)
    }

    /// Idle connections that are to be closed now: too old, idle for too long, or above a lowered limit. They no
    /// longer count as open.
    /// Those of `warm` accounts are opened ahead, and would be again if the others' made them too many.
    pub fn sweep(&mut self, warm: &[&K], now: Instant) -> Vec<C> {
        let mut out = Vec::new();
        let min_idle = self.limits.min_idle;
        let mut surplus = self.idle_count.saturating_sub(min_idle);
        let mut warm_surplus = self.idle_of_all(warm, now).saturating_sub(min_idle);
        let mut above = self.open.saturating_sub(self.limits.max);
        let of_accounts = self.idle.iter_mut().map(|(key, shelves)| (warm.contains(&key), shelves));
        for (is_warm, shelf) in
            of_accounts.flat_map(|(is_warm, shelves)| shelves.iter_mut().map(move |shelf| (is_warm, shelf)))
        {
            let mut kept = VecDeque::with_capacity(shelf.len());
            // The front of a shelf has been idle longest.
            for idle in shelf.drain(..) {
                let unneeded = surplus > 0
                    && !(is_warm && warm_surplus == 0)
                    && now.duration_since(idle.since) >= self.limits.idle_timeout;
                if idle.until <= now || unneeded || above > 0 {
                    surplus = surplus.saturating_sub(1);
                    warm_surplus = warm_surplus.saturating_sub(u32::from(is_warm && idle.until > now));
                    above = above.saturating_sub(1);
                    self.idle_count -= 1;
                    self.open = self.open.saturating_sub(1);
                    out.push(idle.connection);
                } else {
                    kept.push_back(idle);
                }
            }
            *shelf = kept;
        }
        self.idle.retain(|_, shelves| shelves.iter().any(|shelf| !shelf.is_empty()));
        out
    }

    /// All idle connections, which no longer count as open: the server has gone, or its address has changed.
    pub fn clear(&mut self) -> Vec<C> {
        self.open = self.open.saturating_sub(self.idle_count);
        self.idle_count = 0;
        let shelves = std::mem::take(&mut self.idle).into_values();
        shelves.flatten().flatten().map(|idle| idle.connection).collect()
    }

    /// Limits that hold from now on.
    pub fn set_limits(&mut self, limits: PoolLimits) {
        self.limits = limits;
    }

    /// The first waiter that can be served. Called until it returns `None` after anything that frees something.
    pub fn next(&mut self, now: Instant) -> Option<Wake<K, C, W>> {
        self.next_on(None, now)
    }

    /// The same after a connection of `on` came back: who waits there is served before those who came a little earlier.
    fn next_on(&mut self, on: Option<usize>, now: Instant) -> Option<Wake<K, C, W>> {
        if !self.may_serve() {
            return None;
        }
        let room = self.has_room();
        let first = self.waiting.first_on(on, |waiter| waiter.may_go(room))?;
        let (at, grant) = match self.take_for(first, now) {
            Some(grant) => (first, grant),
            // It may not open one yet, and stands in nobody's way who finds one idle.
            None => {
                let fits = |waiter: &Waiter<K, W>| waiter.may_go(room) && self.has_idle(&waiter.key, now);
                let at = self.waiting.first(fits)?;
                (at, self.take_for(at, now)?)
            }
        };
        let waiter = self.waiting.remove(at)?;
        Some(self.served(waiter, grant))
    }

    fn take_for(&mut self, at: At, now: Instant) -> Option<Grant<C>> {
        let waiter = self.waiting.get(at);
        let (key, worker) = (waiter.key.clone(), waiter.worker);
        self.take(&key, worker, now)
    }

    /// Whether a connection of this account is idle.
    fn has_idle(&self, key: &K, now: Instant) -> bool {
        self.idle_count > 0
            && self.idle.get(key).is_some_and(|shelves| shelves.iter().flatten().any(|idle| idle.until > now))
    }

    /// Connections open, those in use and the rights to open one included.
    pub fn open(&self) -> u32 {
        self.open
    }

    pub fn idle(&self) -> u32 {
        self.idle_count
    }

    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Sessions that keep a connection.
    pub fn pins(&self) -> u32 {
        self.pinned
    }

    /// The best there is: the last one used by this worker, one of another worker, a new one, one of another account.
    fn take(&mut self, key: &K, worker: usize, now: Instant) -> Option<Grant<C>> {
        let shelves = self.idle.get_mut(key);
        let known = shelves.is_some();
        if let Some(shelves) = shelves
            && let Some(idle) = last_used(shelves, worker, now)
        {
            self.idle_count -= 1;
            return Some(Grant::Idle(idle.connection));
        }
        if self.open < self.limits.max {
            // Where others are idle, an account that has had none waits for nobody.
            let few = self.open < self.pinned.saturating_add(FEW) || self.idle_count > 0 && !known;
            if self.opening >= OPENING_MAX || !(few || self.growth.take()) {
                return None;
            }
            self.open += 1;
            self.opening += 1;
            return Some(Grant::Open);
        }
        self.longest_idle().map(Grant::Replace)
    }

    fn longest_idle(&mut self) -> Option<C> {
        let shelves = self.idle.values_mut().flatten().filter(|shelf| !shelf.is_empty());
        let oldest = shelves.min_by_key(|shelf| shelf.front().map(|idle| idle.since))?;
        let idle = oldest.pop_front()?;
        self.idle_count -= 1;
        Some(idle.connection)
    }
}

/// What follows from a connection that came back.
#[derive(Debug)]
pub struct Returned<K, C, W> {
    /// It is not wanted any more and no longer counts as open.
    pub close: Option<C>,
    pub wake: Option<Wake<K, C, W>>,
}

/// A shelf for each worker, with nothing on it.
fn no_shelves<C>(workers: usize) -> Vec<VecDeque<Idle<C>>> {
    (0..workers).map(|_| VecDeque::new()).collect()
}

/// The last one used of the worker's own, or else of those of the worker that has most. What is too old lies there until it is
/// swept, and hides nothing.
fn last_used<C>(shelves: &mut [VecDeque<Idle<C>>], worker: usize, now: Instant) -> Option<Idle<C>> {
    let last = |shelf: &VecDeque<Idle<C>>| shelf.iter().rposition(|idle| idle.until > now);
    let of_others = || {
        let found = shelves.iter().enumerate().filter_map(|(at, shelf)| Some((at, last(shelf)?)));
        found.max_by_key(|(at, _)| shelves[*at].len())
    };
    let own = shelves.get(worker).and_then(last).map(|place| (worker, place));
    let (at, place) = own.or_else(of_others)?;
    shelves.get_mut(at)?.remove(place)
}

#[cfg(test)]
mod tests;
