//! How many prepared statements the connections of one server have together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Prepared statements of one connection at most, however much room there is: the server keeps memory for each.
pub(super) const EACH: usize = 1000;

/// One in so many statements is for all connections in equal parts, whatever the others have. The rest is for those that need it.
const IN_EQUAL_PARTS: usize = 3;

/// What all connections of a server may have of prepared statements: its `max_prepared_stmt_count` is for all of them. Each
/// connection has a floor that nobody takes from it. What is beyond the floors is one room for all: while some of it is
/// left, a connection takes of it up to 1,000 statements; when none is, those that have more than an equal part give up
/// what they have not used for longest.
///
/// With no more than `max_connections` connections there are never more than `statements` on the server, or one for each
/// connection where these are more, except for statements that cannot be closed: those with a cursor or with long data, and
/// those that only their client's connection has; and, for moments, for those that the server has not read the end of yet.
#[derive(Debug)]
pub struct StatementBudget {
    /// Statements of each connection that are not counted here.
    floor: AtomicUsize,
    /// Statements beyond the floors that all connections may have together.
    room: AtomicUsize,
    /// And how many they have.
    beyond: AtomicUsize,
    connections: AtomicUsize,
    /// Clients that have gone and had statements of their own.
    gone: AtomicUsize,
}

impl StatementBudget {
    /// For so many statements in all, on at most so many connections.
    pub fn new(statements: u32, max_connections: u32) -> Self {
        let (floor, room) = divided(statements, max_connections);
        let [beyond, connections, gone] = [0; 3].map(AtomicUsize::new);
        Self { floor: AtomicUsize::new(floor), room: AtomicUsize::new(room), beyond, connections, gone }
    }

    /// Other limits hold from now on. Connections that have more give it up as they are used.
    pub fn set_limits(&self, statements: u32, max_connections: u32) {
        let (floor, room) = divided(statements, max_connections);
        self.floor.store(floor, Ordering::Relaxed);
        self.room.store(room, Ordering::Relaxed);
    }

    /// A client has gone whose statements are closed by now: connections may have some that nobody will execute again.
    pub fn client_gone(&self) {
        self.gone.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes so many of the room, if so many are left.
    fn take(&self, statements: usize) -> bool {
        let before = self.beyond.fetch_add(statements, Ordering::Relaxed);
        let fits = before.saturating_add(statements) <= self.room.load(Ordering::Relaxed);
        if !fits {
            self.beyond.fetch_sub(statements, Ordering::Relaxed);
        }
        fits
    }

    fn is_full(&self) -> bool {
        self.beyond.load(Ordering::Relaxed) >= self.room.load(Ordering::Relaxed)
    }

    /// Whether there are more than there is room for: statements that cannot be closed, or the limits were lowered.
    fn is_overdrawn(&self) -> bool {
        self.beyond.load(Ordering::Relaxed) > self.room.load(Ordering::Relaxed)
    }

    /// What of the room is each connection's where none is left.
    fn part(&self) -> usize {
        self.room.load(Ordering::Relaxed) / self.connections.load(Ordering::Relaxed).max(1)
    }
}

/// The floor of each connection, and the room beyond.
fn divided(statements: u32, max_connections: u32) -> (usize, usize) {
    let (statements, connections) = (statements as usize, max_connections.max(1) as usize);
    let floor = (statements / IN_EQUAL_PARTS / connections).max(1);
    (floor, statements.saturating_sub(floor.saturating_mul(connections)))
}

/// One connection's part of a budget, counted until it is dropped.
#[derive(Debug)]
pub(super) struct Share {
    budget: Arc<StatementBudget>,
    /// Its statements that are counted in the budget's room.
    beyond: usize,
}

impl Share {
    pub fn new(budget: &Arc<StatementBudget>) -> Self {
        budget.connections.fetch_add(1, Ordering::Relaxed);
        Self { budget: Arc::clone(budget), beyond: 0 }
    }

    /// Counts so many statements as the connection's, if there is room for them.
    pub fn take(&mut self, statements: usize) -> bool {
        let beyond = self.beyond_floor(statements);
        if beyond <= self.beyond {
            self.level(statements);
            return beyond == 0 || !self.budget.is_overdrawn();
        }
        let fits = self.budget.take(beyond - self.beyond);
        if fits {
            self.beyond = beyond;
        }
        fits
    }

    /// The connection has so many statements, whether there is room for them or not.
    pub fn level(&mut self, statements: usize) {
        let beyond = self.beyond_floor(statements);
        if beyond > self.beyond {
            self.budget.beyond.fetch_add(beyond - self.beyond, Ordering::Relaxed);
        } else if beyond < self.beyond {
            self.budget.beyond.fetch_sub(self.beyond - beyond, Ordering::Relaxed);
        }
        self.beyond = beyond;
    }

    pub fn client_gone(&self) {
        self.budget.client_gone();
    }

    /// How many clients have gone so far.
    #[inline]
    pub fn gone(&self) -> usize {
        self.budget.gone.load(Ordering::Relaxed)
    }

    /// How many it has too many: the room is full, and it has more of it than its part.
    #[inline]
    pub fn excess(&self) -> usize {
        if self.beyond == 0 || !self.budget.is_full() {
            return 0;
        }
        self.beyond.saturating_sub(self.budget.part())
    }

    fn beyond_floor(&self, statements: usize) -> usize {
        statements.saturating_sub(self.budget.floor.load(Ordering::Relaxed))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.level(0);
        self.budget.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
