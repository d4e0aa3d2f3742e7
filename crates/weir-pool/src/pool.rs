//! The pool of one server's connections, shared by all workers.
//!
//! One short lock per checkout and per return guards the whole [`state`]; nothing waits while it is held, and what
//! is dropped (connections to be closed, wakers) is dropped outside of it. A waiter is handed its connection by
//! whoever returns one; a waiter that leaves, even while something is on its way to it, gives it to the next.

mod state;

use crate::sync::{self, Mutex, oneshot};
use std::future::Future;
use std::hash::Hash;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use state::{Checkout, State, Ticket, Wake};
pub use state::{FEW, Grant, LOOK_EVERY, Need, PoolLimits};

/// The connections of one server. `K` tells accounts (and what else must be equal to share a connection) apart.
#[derive(Debug)]
pub struct Pool<K, C> {
    state: Mutex<State<K, C, Wakeup<C>>>,
}

/// How a waiter is reached.
type Wakeup<C> = oneshot::Sender<Grant<C>>;

/// What a checkout comes to.
#[derive(Debug)]
pub enum Found<K: Eq + Hash + Clone, C> {
    /// Served at once.
    Now(Grant<C>),
    /// In the queue: await it, or drop it to leave.
    Queued(Waiting<K, C>),
    /// The queue is full.
    Full,
}

/// How a pool is used now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Connections open or being opened.
    pub open: u32,
    pub idle: u32,
    /// Statements that wait.
    pub waiting: usize,
    /// Sessions that keep a connection.
    pub pinned: u32,
}

impl<K: Eq + Hash + Clone, C> Pool<K, C> {
    /// A pool without connections, for `workers` workers.
    pub fn new(limits: PoolLimits, workers: usize) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(State::new(limits, workers)) })
    }

    /// A connection, the right to open one, or a place in the queue. After [`Grant::Open`],
    /// [`Pool::opened`] must be called once the attempt has ended; after it and [`Grant::Replace`], [`Pool::closed`] must be called once if the connection cannot be made.
    pub fn checkout(self: &Arc<Self>, key: &K, need: Need, worker: usize, now: Instant) -> Found<K, C> {
        let mut receiver = None;
        let checkout = self.state.lock().checkout(key, need, worker, now, || {
            let (sender, receive) = oneshot::channel();
            receiver = Some(receive);
            sender
        });
        match (checkout, receiver) {
            (Checkout::Idle(connection), _) => Found::Now(Grant::Idle(connection)),
            (Checkout::Open, _) => Found::Now(Grant::Open),
            (Checkout::Replace(connection), _) => Found::Now(Grant::Replace(connection)),
            (Checkout::Wait(ticket), Some(receiver)) => {
                let pool = Arc::clone(self);
                let receiver = Some(receiver);
                Found::Queued(Waiting { pool, key: key.clone(), need, worker, ticket, receiver })
            }
            (Checkout::Wait(_) | Checkout::Refused, _) => Found::Full,
        }
    }

    /// A connection comes back in order, to be used until `until`. Returns it if it is not wanted any more.
    pub fn checkin(&self, key: &K, connection: C, worker: usize, now: Instant, until: Instant) -> Option<C> {
        let returned = self.state.lock().checkin(key, connection, worker, now, until);
        self.deliver(returned.wake, now);
        returned.close
    }

    /// The connection of a [`Grant::Open`] is open, or cannot be made.
    pub fn opened(&self, now: Instant) {
        let wake = self.state.lock().opened(now);
        self.deliver(wake, now);
    }

    /// A connection has ended, or could not be made.
    pub fn closed(&self, now: Instant) {
        let wake = self.state.lock().closed(now);
        self.deliver(wake, now);
    }

    /// A session keeps its connection beyond a statement that did not say so beforehand.
    pub fn pinned(&self) {
        self.state.lock().pinned();
    }

    /// A session no longer keeps its connection; to be called before the connection is returned.
    pub fn unpinned(&self, now: Instant) {
        let wake = self.state.lock().unpinned(now);
        self.deliver(wake, now);
    }

    /// Judges whether there should be more connections; to be called every [`LOOK_EVERY`] while statements wait. Returned is for how
    /// long the first of them has waited, if there still is one.
    pub fn tick(&self, now: Instant) -> Option<Duration> {
        let wake = self.state.lock().tick(now);
        self.deliver(wake, now);
        self.state.lock().longest_wait(now)
    }

    /// Idle connections that are to be closed now; to be called about once a second. `warm` accounts have theirs opened ahead.
    pub fn sweep(&self, warm: &[&K], now: Instant) -> Vec<C> {
        let (swept, wake) = {
            let mut state = self.state.lock();
            (state.sweep(warm, now), state.next(now))
        };
        self.deliver(wake, now);
        swept
    }

    /// All idle connections, to be closed: the server has gone, or its address has changed.
    pub fn clear(&self, now: Instant) -> Vec<C> {
        let (cleared, wake) = {
            let mut state = self.state.lock();
            (state.clear(), state.next(now))
        };
        self.deliver(wake, now);
        cleared
    }

    /// Idle connections that have ended, as `is_lost` says, and are to be closed; to be called about once a second.
    pub fn lost(&self, now: Instant, is_lost: impl Fn(&C) -> bool) -> Vec<C> {
        let (lost, wake) = {
            let mut state = self.state.lock();
            (state.lost(now, is_lost), state.next(now))
        };
        self.deliver(wake, now);
        lost
    }

    /// For which of `keys` a connection should be opened ahead of clients, if for any.
    pub fn lacks(&self, keys: &[&K], now: Instant) -> Option<usize> {
        self.state.lock().lacks(keys, now)
    }

    /// The same, with the right to open it; then as after [`Grant::Open`].
    pub fn open_ahead(&self, keys: &[&K], now: Instant) -> Option<usize> {
        self.state.lock().open_ahead(keys, now)
    }

    /// Limits that hold from now on.
    pub fn set_limits(&self, limits: PoolLimits, now: Instant) {
        let wake = {
            let mut state = self.state.lock();
            state.set_limits(limits);
            state.next(now)
        };
        self.deliver(wake, now);
    }

    pub fn usage(&self) -> Usage {
        let state = self.state.lock();
        Usage { open: state.open(), idle: state.idle(), waiting: state.waiting(), pinned: state.pins() }
    }

    /// Wakes who is served, and whoever can be served after that.
    fn deliver(&self, first: Option<Wake<K, C, Wakeup<C>>>, now: Instant) {
        let mut wake = first;
        while let Some(Wake { waiter, key, need, worker, grant, mut more }) = wake {
            // The waiter may have left after it was taken out of the queue.
            if let Err(grant) = waiter.send(grant) {
                drop(self.give_back(key, need, worker, grant, now));
                more = true;
            }
            wake = if more { self.state.lock().next(now) } else { None };
        }
    }

    /// Somebody does not use what it was granted.
    fn give_back(&self, key: K, need: Need, worker: usize, grant: Grant<C>, now: Instant) -> Option<C> {
        if need == Need::Pin {
            self.unpinned(now);
        }
        match grant {
            Grant::Open => {
                self.opened(now);
                self.closed(now);
                None
            }
            // It was idle a moment ago; how long it may live is judged by who takes it next.
            Grant::Idle(connection) => self.checkin(&key, connection, worker, now, now + GIVEN_BACK),
            Grant::Replace(connection) => {
                self.closed(now);
                Some(connection)
            }
        }
    }
}

/// How long a connection that came back unused may be idle before it is closed.
const GIVEN_BACK: Duration = Duration::from_secs(60);

/// A place in the queue; resolves to what it is given. Dropped, it leaves.
#[derive(Debug)]
pub struct Waiting<K: Eq + Hash + Clone, C> {
    pool: Arc<Pool<K, C>>,
    key: K,
    need: Need,
    worker: usize,
    ticket: Ticket,
    /// Gone when the grant has been taken.
    receiver: Option<oneshot::Receiver<Grant<C>>>,
}

// Nothing in it is pinned: a oneshot receiver may be moved between polls.
impl<K: Eq + Hash + Clone, C> Unpin for Waiting<K, C> {}

impl<K: Eq + Hash + Clone, C> Future for Waiting<K, C> {
    type Output = Grant<C>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Grant<C>> {
        let Some(receiver) = &mut self.receiver else { return Poll::Pending };
        match Pin::new(receiver).poll(cx) {
            Poll::Ready(Ok(grant)) => {
                self.receiver = None;
                Poll::Ready(grant)
            }
            // The pool, which holds the other end, lives as long as this does.
            Poll::Ready(Err(_)) | Poll::Pending => Poll::Pending,
        }
    }
}

impl<K: Eq + Hash + Clone, C> Drop for Waiting<K, C> {
    fn drop(&mut self) {
        let Some(mut receiver) = self.receiver.take() else { return };
        if self.pool.state.lock().leave(self.ticket) {
            return;
        }
        // Somebody has taken this waiter out of the queue. What has been sent is given back here; what has not been
        // sent yet cannot be any more, and then the sender gives it back.
        receiver.close();
        if let Ok(grant) = receiver.try_recv() {
            let pool = &self.pool;
            drop(pool.give_back(self.key.clone(), self.need, self.worker, grant, sync::now()));
        }
    }
}

#[cfg(test)]
mod tests;
