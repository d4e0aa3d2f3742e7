//! When a server is given more connections than few. With each of them a server that is busy has more to switch between and
//! answers no sooner, so what counts is whether statements wait for connections, and not for the server; and what a machine
//! does that stands still for a moment must not count at all.

use super::OPENING_MAX;
use std::time::{Duration, Instant};

/// Ticks over which the queue is judged: 50 ms.
const WINDOW: u32 = 25;

/// Ticks of a window in which a queue must have been there to be one that lasts.
const LASTS: u32 = WINDOW * 3 / 4;

/// Windows in a row through which a queue was there at every look, after which it is constant: 200 ms.
const CONSTANT: u32 = 4;

/// Connections from which on a constant queue is ended, however short it is. With fewer, one more is a burden to the server that is felt;
/// with so many, who waits behind them all the time costs Weir more than the last few cost the server.
const MANY: u32 = 32;

/// Ticks in a row without a connection that came back, after which statements are known to be long. One is not enough: it may
/// have been the machine that stood still.
const QUIET: u32 = 2;

/// A wait as long as that is worth a connection, whatever comes back; and so is the same time after it.
const LATE: Duration = Duration::from_millis(20);

/// What was seen of the queue lately, and how many connections may be opened for it.
#[derive(Debug, Default)]
pub(super) struct Growth {
    /// Connections that came back since the last tick.
    returns: u32,
    /// Ticks in a row without one, while somebody waited.
    quiet: u32,
    /// Ticks of the window at hand, those in which somebody waited, and those in which many did.
    ticks: u32,
    some: u32,
    many: u32,
    /// Somebody waited all through the last window.
    queued: bool,
    /// Windows in a row in which somebody waited at each tick.
    constant: u32,
    /// When the last one was allowed for a long wait.
    last_late: Option<Instant>,
    /// Connections that may be opened until the next tick.
    allowed: u32,
}

impl Growth {
    /// A connection came back.
    pub fn returned(&mut self) {
        self.returns = self.returns.saturating_add(1);
    }

    /// Looks at the queue: `waiting` statements, the first of them for so long, with so many connections open and being opened.
    pub fn tick(&mut self, now: Instant, (waiting, longest): (usize, Duration), open: u32, opening: u32) {
        self.quiet = if waiting > 0 && self.returns == 0 { self.quiet + 1 } else { 0 };
        self.returns = 0;
        self.ticks += 1;
        self.some += u32::from(waiting > 0);
        // One for eight connections is none too many.
        self.many += u32::from(waiting as u32 > open / 8);
        let mut grows = 0;
        if self.ticks >= WINDOW {
            self.queued = self.some >= LASTS;
            self.constant = if self.some == self.ticks { self.constant + 1 } else { 0 };
            if self.many >= LASTS {
                grows = 1 + open / 8;
            } else if self.constant >= CONSTANT && open >= MANY {
                (grows, self.constant) = (1 + open / 16, 0);
            }
            (self.ticks, self.some, self.many) = (0, 0, 0);
        }
        if self.quiet >= QUIET {
            grows = OPENING_MAX;
        } else if self.queued && longest >= LATE && opening == 0 && self.is_due(now) {
            self.last_late = Some(now);
            grows = grows.max(1);
        }
        self.allowed = grows.min(waiting as u32);
    }

    fn is_due(&self, now: Instant) -> bool {
        self.last_late.is_none_or(|last| now.duration_since(last) >= LATE)
    }

    /// Whether [`Self::take`] would say so.
    pub fn allows(&self) -> bool {
        self.allowed > 0
    }

    /// Whether a connection may be opened; if so, one less after it.
    pub fn take(&mut self) -> bool {
        let may = self.allowed > 0;
        self.allowed = self.allowed.saturating_sub(1);
        may
    }
}

#[cfg(test)]
mod tests;
