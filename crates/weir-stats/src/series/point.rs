use crate::histogram::HistogramSnapshot;
use crate::totals::Totals;

/// What the process has counted since it began, at one moment.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    pub statements: u64,
    /// Errors that clients got.
    pub errors: u64,
    /// Statements answered from the cache, and those for which it had nothing.
    pub hits: u64,
    pub misses: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub logins: u64,
    pub server_opened: u64,
    /// CPU time of the process.
    pub cpu_ms: u64,
    /// Clients and connections to the server at this moment.
    pub clients: u64,
    pub server_connections: u64,
    /// How long commands took as their clients saw it, and how long the server took.
    pub total: HistogramSnapshot,
    pub server: HistogramSnapshot,
}

impl Reading {
    /// What workers count; the rest is 0.
    pub fn of(totals: Totals) -> Self {
        Self {
            statements: totals.statements(),
            errors: totals.errors.values().sum(),
            bytes_in: totals.bytes_from_clients,
            bytes_out: totals.bytes_to_clients,
            logins: totals.logins_ok,
            server_opened: totals.server_opened,
            clients: totals.clients_connected,
            total: totals.client_time,
            server: totals.server_time,
            ..Self::default()
        }
    }
}

/// What was counted in some time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Point {
    /// The time that it was counted in: less than that between points where Weir did not run.
    pub covered_ms: u64,
    pub statements: u64,
    pub errors: u64,
    pub hits: u64,
    pub misses: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub logins: u64,
    pub server_opened: u64,
    pub cpu_ms: u64,
    /// The most at any moment that was looked at.
    pub clients: u64,
    pub server_connections: u64,
    pub total: HistogramSnapshot,
    pub server: HistogramSnapshot,
}

impl Point {
    /// What was counted between two readings. A count that has fallen (of a rule that was removed) gives 0.
    pub fn between(then: &Reading, now: &Reading, covered_ms: u64) -> Self {
        Self {
            covered_ms,
            statements: now.statements.saturating_sub(then.statements),
            errors: now.errors.saturating_sub(then.errors),
            hits: now.hits.saturating_sub(then.hits),
            misses: now.misses.saturating_sub(then.misses),
            bytes_in: now.bytes_in.saturating_sub(then.bytes_in),
            bytes_out: now.bytes_out.saturating_sub(then.bytes_out),
            logins: now.logins.saturating_sub(then.logins),
            server_opened: now.server_opened.saturating_sub(then.server_opened),
            cpu_ms: now.cpu_ms.saturating_sub(then.cpu_ms),
            clients: now.clients,
            server_connections: now.server_connections,
            total: now.total.since(&then.total),
            server: now.server.since(&then.server),
        }
    }

    /// Adds another, of the same time or one beside it.
    pub fn merge(&mut self, other: &Self) {
        self.covered_ms += other.covered_ms;
        self.statements += other.statements;
        self.errors += other.errors;
        self.hits += other.hits;
        self.misses += other.misses;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.logins += other.logins;
        self.server_opened += other.server_opened;
        self.cpu_ms += other.cpu_ms;
        self.clients = self.clients.max(other.clients);
        self.server_connections = self.server_connections.max(other.server_connections);
        self.total.merge(&other.total);
        self.server.merge(&other.server);
    }
}
