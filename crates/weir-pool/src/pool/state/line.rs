//! Who waits, in the order in which they came: a line for each worker, so that its own first waiter is found at once.

use super::{Need, OWN_FIRST, Ticket};
use std::collections::VecDeque;
use std::time::Instant;

#[derive(Debug)]
pub(super) struct Waiter<K, W> {
    ticket: Ticket,
    pub key: K,
    pub need: Need,
    pub worker: usize,
    pub since: Instant,
    pub wake: W,
}

impl<K, W> Waiter<K, W> {
    /// Whether its need can be met; `room`: one more session may keep a connection.
    pub fn may_go(&self, room: bool) -> bool {
        self.need == Need::Statement || room
    }
}

/// Where somebody stands: in which line, and how many are before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct At(usize, usize);

/// All lines.
#[derive(Debug)]
pub(super) struct Lines<K, W> {
    lines: Vec<VecDeque<Waiter<K, W>>>,
    len: usize,
    next_ticket: u64,
}

impl<K, W> Lines<K, W> {
    pub fn new(workers: usize) -> Self {
        Self { lines: (0..workers).map(|_| VecDeque::new()).collect(), len: 0, next_ticket: 0 }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn iter(&self) -> impl Iterator<Item = &Waiter<K, W>> {
        self.lines.iter().flatten()
    }

    /// A worker that there is none of stands with the last.
    fn line_of(&self, worker: usize) -> usize {
        worker.min(self.lines.len() - 1)
    }

    pub fn push(&mut self, key: K, need: Need, worker: usize, since: Instant, wake: W) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        let line = self.line_of(worker);
        self.lines[line].push_back(Waiter { ticket, key, need, worker, since, wake });
        self.len += 1;
        ticket
    }

    pub fn get(&self, At(line, place): At) -> &Waiter<K, W> {
        &self.lines[line][place]
    }

    pub fn remove(&mut self, At(line, place): At) -> Option<Waiter<K, W>> {
        let removed = self.lines[line].remove(place);
        self.len -= usize::from(removed.is_some());
        removed
    }

    /// False: nobody has it any more.
    pub fn leave(&mut self, ticket: Ticket) -> bool {
        let place = |line: &VecDeque<Waiter<K, W>>| line.iter().position(|waiter| waiter.ticket == ticket);
        let found = self.lines.iter().enumerate().find_map(|(line, of)| Some(At(line, place(of)?)));
        found.is_some_and(|at| self.remove(at).is_some())
    }

    /// Since when the first of all waits.
    pub fn first_since(&self) -> Option<Instant> {
        self.first(|_| true).map(|at| self.get(at).since)
    }

    /// The first of those that `may` be served.
    pub fn first(&self, may: impl Fn(&Waiter<K, W>) -> bool) -> Option<At> {
        let of_line = |(line, of): (usize, &VecDeque<Waiter<K, W>>)| {
            of.iter().position(&may).map(|place| (of[place].ticket, At(line, place)))
        };
        self.lines.iter().enumerate().filter_map(of_line).min_by_key(|(ticket, _)| *ticket).map(|(_, at)| at)
    }

    /// The same where a connection of `on` came back: the first of that worker, if nobody else came much earlier.
    pub fn first_on(&self, on: Option<usize>, may: impl Fn(&Waiter<K, W>) -> bool) -> Option<At> {
        let first = self.first(&may)?;
        let (line, since) = (on.map(|on| self.line_of(on)), self.get(first).since);
        let own = line.filter(|line| *line != first.0).and_then(|line| {
            let place = self.lines[line].iter().position(&may)?;
            (self.lines[line][place].since <= since + OWN_FIRST).then_some(At(line, place))
        });
        Some(own.unwrap_or(first))
    }
}
