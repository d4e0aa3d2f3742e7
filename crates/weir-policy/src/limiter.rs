//! A rule's `limit`: who may run now, and in which order the others wait.
//!
//! There are two queues, first in, first out: for the rate, through which every statement goes, and for a place, which is
//! held while a statement runs. Nobody overtakes: who comes while others wait goes behind them. Whoever waits looks
//! again when it is woken, and only the first gets anything; each change therefore tells who is first now
//! ([`Limiter::first`]).
//!
//! The rate is a bucket of as many tokens as the rate counts, full at first, and refilled evenly: `60/m` lets 60 through at
//! once and then one each second.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use weir_model::rule::{LimitRule, Rate, RateUnit};

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Turn {
    /// A token of the rate.
    Rate,
    /// A place, until [`Limiter::release`].
    Place,
}

/// A place in a queue. It means something only to the limiter that gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(u64);

/// What becomes of one who waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// It has what it waited for, and its ticket is gone.
    Granted,
    /// It waits on. It is the first, and may look again at this moment.
    Until(Instant),
    /// It waits on, until somebody else goes.
    OnOthers,
}

/// The limit of one rule. `W` is how one who waits is woken.
#[derive(Debug)]
pub struct Limiter<W> {
    concurrency: Option<u32>,
    running: u32,
    bucket: Option<Bucket>,
    queues: [BTreeMap<Ticket, W>; 2],
    next: u64,
}

impl<W> Limiter<W> {
    pub fn new(limit: &LimitRule, now: Instant) -> Self {
        let mut limiter = Self {
            concurrency: None,
            running: 0,
            bucket: None,
            queues: [BTreeMap::new(), BTreeMap::new()],
            next: 0,
        };
        limiter.configure(limit, now);
        limiter
    }

    /// Takes other terms. Who runs goes on, also where fewer may now; of an unchanged rate the bucket stays as it is.
    pub fn configure(&mut self, limit: &LimitRule, now: Instant) {
        self.concurrency = limit.concurrency;
        if self.bucket.as_ref().map(|bucket| bucket.rate) != limit.rate {
            self.bucket = limit.rate.map(|rate| Bucket::full(rate, now));
        }
    }

    /// Takes it at once, if there is some and nobody waits.
    pub fn take(&mut self, turn: Turn, now: Instant) -> bool {
        self.queues[turn as usize].is_empty() && self.available(turn, now).is_ok()
    }

    /// Goes to the end of the queue.
    pub fn wait(&mut self, turn: Turn, waker: W) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        self.queues[turn as usize].insert(ticket, waker);
        ticket
    }

    /// Looks whether one who waits has its turn.
    pub fn poll(&mut self, turn: Turn, ticket: Ticket, now: Instant) -> Waited {
        let first = self.queues[turn as usize].keys().next() == Some(&ticket);
        if !first {
            return Waited::OnOthers;
        }
        match self.available(turn, now) {
            Ok(()) => {
                self.queues[turn as usize].remove(&ticket);
                Waited::Granted
            }
            Err(Some(moment)) => Waited::Until(moment),
            Err(None) => Waited::OnOthers,
        }
    }

    /// Waits no longer. False: it did not wait.
    pub fn leave(&mut self, turn: Turn, ticket: Ticket) -> bool {
        self.queues[turn as usize].remove(&ticket).is_some()
    }

    /// Gives a place back.
    pub fn release(&mut self) {
        self.running = self.running.saturating_sub(1);
    }

    /// Who is first in a queue, and must look again after any change.
    pub fn first(&self, turn: Turn) -> Option<&W> {
        self.queues[turn as usize].values().next()
    }

    /// Statements that hold a place.
    pub fn running(&self) -> u32 {
        self.running
    }

    pub fn waiting(&self) -> usize {
        self.queues.iter().map(BTreeMap::len).sum()
    }

    /// Takes one, or says when there will be one, if that is known.
    fn available(&mut self, turn: Turn, now: Instant) -> Result<(), Option<Instant>> {
        match turn {
            Turn::Rate => self.bucket.as_mut().map_or(Ok(()), |bucket| bucket.take(now)).map_err(Some),
            Turn::Place if self.concurrency.is_some_and(|most| self.running >= most) => Err(None),
            Turn::Place => {
                self.running = self.running.saturating_add(1);
                Ok(())
            }
        }
    }
}

/// Tokens, counted in parts of which a token has as many as its unit has nanoseconds: so the sums are exact.
#[derive(Debug)]
struct Bucket {
    rate: Rate,
    parts: u128,
    at: Instant,
}

impl Bucket {
    fn full(rate: Rate, now: Instant) -> Self {
        Self { rate, parts: u128::from(rate.count) * unit(rate), at: now }
    }

    /// Takes a token, or says when there is one.
    fn take(&mut self, now: Instant) -> Result<(), Instant> {
        let (count, token) = (u128::from(self.rate.count), unit(self.rate));
        let passed = now.saturating_duration_since(self.at).as_nanos();
        // A clock that stood still gives nothing, and one that went back takes nothing.
        self.parts = (self.parts + passed.saturating_mul(count)).min(count * token);
        self.at = self.at.max(now);
        if self.parts >= token {
            self.parts -= token;
            return Ok(());
        }
        let nanos = (token - self.parts).div_ceil(count);
        Err(self.at + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }
}

/// Nanoseconds of the unit.
const fn unit(rate: Rate) -> u128 {
    let seconds = match rate.per {
        RateUnit::Second => 1,
        RateUnit::Minute => 60,
        RateUnit::Hour => 3600,
    };
    seconds * 1_000_000_000
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
