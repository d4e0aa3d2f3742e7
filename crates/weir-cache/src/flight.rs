//! One asks the server, others who ask the same wait for it.
//!
//! ```text
//!                 fill                                    +-> all who waited: the entry
//!   under way ----------------------------------> settled-+
//!    ^     |  \   what cannot be cached: give_up          +-> all who waited: run yourself
//!    |     |   +--------------------------------->
//!    |     |  error, cut, gone, wiped, and somebody waits
//!    +-----+  the first of them leads now; 0, 1, 3, 7 ... more run themselves
//! ```
//!
//! While a server fails, those who wait so reach it one, two, four, eight at a time, never all at once, and are through after as many
//! rounds as their number has binary digits.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::charge::{Budget, Charge, arc_size, resident};
use crate::entry::{Entry, Freshness, Terms};
use crate::inner::{Inner, Snapshot};
use crate::reason::DropReason;
use crate::rule::{Often, Seldom};
use crate::scope::Scope;

/// What somebody who waits costs: its place in the list, whose nodes are half full at the least.
const WAITER_COST: usize = 2 * size_of::<(u64, Waiter)>();

/// A question that is under way.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(crate) key: Box<[u8]>,
    pub(crate) hash: u64,
    pub(crate) scope: Arc<Scope>,
    /// When the first who leads began: what this flight brings is not older.
    pub(crate) began: Instant,
    /// What each hit of the answer that was stored last has counted for.
    before: Option<Duration>,
    waiters: Mutex<Waiters>,
}

#[derive(Debug)]
struct Waiters {
    /// By their numbers, and so in the order in which they came.
    list: BTreeMap<u64, Waiter>,
    next: u64,
    failures: u32,
    charge: Charge,
}

#[derive(Debug)]
struct Waiter {
    terms: Terms,
    waker: Option<Waker>,
    told: Option<Told>,
}

#[derive(Debug)]
enum Told {
    Entry(Arc<Entry>),
    Lead,
    Run,
}

impl Flight {
    pub(crate) fn new(
        key: &[u8],
        hash: u64,
        (scope, before): (&Arc<Scope>, Option<Duration>),
        began: Instant,
        budget: &Arc<Budget>,
    ) -> Arc<Self> {
        let size = resident(arc_size::<Self>()) + resident(key.len());
        let charge = Charge::new(budget, size);
        let waiters = Waiters { list: BTreeMap::new(), next: 0, failures: 0, charge };
        Arc::new(Self {
            key: key.into(),
            hash,
            scope: Arc::clone(scope),
            began,
            before,
            waiters: Mutex::new(waiters),
        })
    }

    /// A place among those who wait. The part of the cache that the flight is in must be locked.
    pub(crate) fn join(&self, terms: Terms) -> u64 {
        let mut waiters = self.waiters.lock();
        let id = waiters.next;
        waiters.next += 1;
        waiters.list.insert(id, Waiter { terms, waker: None, told: None });
        let cost = waiters.charge.bytes() + WAITER_COST;
        waiters.charge.resize(cost);
        id
    }

    /// Tells all who wait what has come. Their wakers are for after the lock.
    pub(crate) fn settle(&self, entry: Option<&Arc<Entry>>, now: Instant) -> Vec<Waker> {
        self.waiters.lock().tell(|_, terms| match entry {
            Some(entry) if matches!(entry.freshness(terms, now), Freshness::Fresh | Freshness::Soft) => {
                Some(Told::Entry(Arc::clone(entry)))
            }
            _ => Some(Told::Run),
        })
    }

    /// Tells all who wait to ask themselves.
    pub(crate) fn dissolve(&self) -> Vec<Waker> {
        self.waiters.lock().tell(|_, _| Some(Told::Run))
    }

    /// Lets one of those who wait lead, and as many more as have failed so far ask themselves. Nothing if nobody waits.
    pub(crate) fn hand_over(&self) -> Option<Vec<Waker>> {
        let mut waiters = self.waiters.lock();
        waiters.list.values().find(|w| w.told.is_none())?;
        let through = 1usize << waiters.failures.min(30);
        waiters.failures += 1;
        Some(waiters.tell(|nth, _| match nth {
            0 => Some(Told::Lead),
            _ if nth < through => Some(Told::Run),
            _ => None,
        }))
    }
}

impl Waiters {
    /// Asks for each who waits untold what it is to be told; counts them from 0.
    fn tell(&mut self, what: impl Fn(usize, &Terms) -> Option<Told>) -> Vec<Waker> {
        let mut wakers = Vec::new();
        for (nth, waiter) in self.list.values_mut().filter(|w| w.told.is_none()).enumerate() {
            waiter.told = what(nth, &waiter.terms);
            if waiter.told.is_some() {
                wakers.extend(waiter.waker.take());
            }
        }
        wakers
    }

    fn leave(&mut self, id: u64) -> Option<Waiter> {
        let waiter = self.list.remove(&id)?;
        let cost = self.charge.bytes() - WAITER_COST;
        self.charge.resize(cost);
        Some(waiter)
    }
}

/// The right and the duty to ask the server. Dropped without a word, it counts as abandoned, and who waits goes on.
#[derive(Debug)]
#[must_use = "dropping it makes those who wait take over"]
pub struct Ticket {
    pub(crate) inner: Arc<Inner>,
    pub(crate) flight: Arc<Flight>,
    pub(crate) scope: Arc<Scope>,
    pub(crate) terms: Terms,
    pub(crate) snapshot: Snapshot,
    pub(crate) open: bool,
}

impl Ticket {
    /// To be called right before the statement is sent to the server, if time has passed since the lookup (in a queue, by
    /// waiting): the answer's age counts from here, and wipes before do not concern it.
    pub fn asked(&mut self, now: Instant) {
        self.snapshot = self.inner.snapshot(self.flight.hash, now);
    }

    /// Replaces what the answer is about, when more is known than at the lookup.
    pub fn set_scope(&mut self, scope: Arc<Scope>) {
        self.scope = scope;
    }

    /// What each hit of the answer saves the server, for [`About::server_time`](crate::About): what this run took, unless that is much
    /// longer than such runs take. Then it is `usual`, which hardly one of them exceeds, or twice what the answer that was stored
    /// before this one counted for, whichever is more: one slow run would otherwise count with each hit.
    pub fn saves(&self, took: Duration, usual: Option<Duration>) -> Duration {
        let before = self.flight.before.filter(|before| !before.is_zero());
        let most = usual.max(before.map(|before| before.saturating_mul(2)));
        most.map_or(took, |most| took.min(most))
    }

    /// Says that there is nothing to store. [`DropReason::NotCacheable`] and [`DropReason::TooLarge`] can be said
    /// as soon as they are known: who waits then asks by itself at once.
    pub fn give_up(mut self, reason: DropReason) {
        self.close(reason);
    }

    /// Ends the flight without an entry.
    pub(crate) fn close(&mut self, reason: DropReason) {
        self.open = false;
        self.scope.rule().dropped(reason);
        self.inner.fail(&self.flight, reason.may_pass());
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.open {
            self.close(DropReason::Abandoned);
        }
    }
}

/// Waits for what another asked. A future; it has no deadline of its own: dropped, it leaves. Where a deadline of its owner's is
/// over, [`Waiting::lose_patience`] says so.
#[derive(Debug)]
#[must_use = "it does nothing unless polled"]
pub struct Waiting {
    pub(crate) inner: Arc<Inner>,
    pub(crate) flight: Arc<Flight>,
    pub(crate) scope: Arc<Scope>,
    pub(crate) terms: Terms,
    pub(crate) id: u64,
    pub(crate) done: bool,
}

/// What waiting comes to.
#[derive(Debug)]
pub enum Waited {
    /// What the other got.
    Hit(Arc<Entry>),
    /// The other failed, and this is the next: as after a miss. [`Ticket::asked`] must be called.
    Miss(Ticket),
    /// There will be nothing to share: ask the server, and store nothing.
    RunYourself,
}

impl Waiting {
    /// It has waited too long. Whoever asks next does not wait for the same: the answer may have come long ago, and be stuck on its
    /// way to a client that takes nothing.
    pub fn lose_patience(self) {
        let part = &self.inner.parts()[self.inner.place(self.flight.hash)];
        let mut state = part.state.lock();
        state.remove_flight(&self.flight);
        part.weigh(&mut state);
        drop(state);
    }
}

impl Future for Waiting {
    type Output = Waited;

    fn poll(self: std::pin::Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Waited> {
        let this = self.get_mut();
        let mut waiters = this.flight.waiters.lock();
        let Some(waiter) = waiters.list.get_mut(&this.id) else {
            return Poll::Ready(Waited::RunYourself);
        };
        if waiter.told.is_none() {
            let known = waiter.waker.as_ref().is_some_and(|w| w.will_wake(cx.waker()));
            if !known {
                waiter.waker = Some(cx.waker().clone());
            }
            return Poll::Pending;
        }
        let told = waiters.leave(this.id).and_then(|w| w.told);
        drop(waiters);
        this.done = true;
        let rule = this.scope.rule();
        let stripe = this.inner.place(this.flight.hash);
        Poll::Ready(match told {
            Some(Told::Entry(entry)) => Waited::Hit(entry),
            Some(Told::Lead) => {
                rule.often(stripe, Often::Misses, 1);
                rule.seldom(Seldom::Handovers, 1);
                Waited::Miss(Ticket {
                    inner: Arc::clone(&this.inner),
                    flight: Arc::clone(&this.flight),
                    scope: Arc::clone(&this.scope),
                    terms: this.terms,
                    snapshot: this.inner.snapshot(this.flight.hash, this.flight.began),
                    open: true,
                })
            }
            Some(Told::Run) | None => {
                rule.often(stripe, Often::Misses, 1);
                Waited::RunYourself
            }
        })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        let left = self.flight.waiters.lock().leave(self.id);
        if let Some(Waiter { told: Some(Told::Lead), .. }) = left {
            self.inner.fail(&self.flight, true);
        }
    }
}
