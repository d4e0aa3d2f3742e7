use std::collections::BTreeMap;

use weir_model::{AuthFailure, CloseReason};

use crate::commands::{self, PerCommand};
use crate::error_table::ErrorTable;
use crate::histogram::HistogramSnapshot;
use crate::worker::WorkerStats;

/// Whose error a client got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorOrigin {
    /// The server's, forwarded.
    Server,
    /// Weir's own.
    Weir,
}

impl ErrorOrigin {
    /// The label value in `/metrics`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Weir => "weir",
        }
    }
}

/// The sum over all workers at one moment. Counters are read one after another while the workers go on, so
/// two of them may differ by what happened in between.
#[derive(Debug, Default, Clone)]
pub struct Totals {
    pub clients_accepted: u64,
    pub clients_connected: u64,
    pub logins_pending: u64,
    pub logins_ok: u64,
    pub tls_handshakes: u64,
    pub server_opened: u64,
    pub server_reused: u64,
    pub server_failed: u64,
    pub kills_sent: u64,
    pub bytes_from_clients: u64,
    pub bytes_to_clients: u64,
    pub reloads_ok: u64,
    pub reloads_refused: u64,
    pub client_time: HistogramSnapshot,
    pub server_time: HistogramSnapshot,
    /// Errors by origin and MySQL error code; no code for those that found a worker's table full.
    pub errors: BTreeMap<(ErrorOrigin, Option<u16>), u64>,
    commands: PerCommand<u64>,
    closed: [u64; CloseReason::ALL.len()],
    auth_failures: [u64; AuthFailure::ALL.len()],
}

impl Totals {
    /// Every close reason with its count, zeros included.
    pub fn closed(&self) -> impl Iterator<Item = (CloseReason, u64)> + '_ {
        CloseReason::ALL.into_iter().zip(self.closed)
    }

    /// Every cause of a failed login with its count, zeros included.
    pub fn auth_failures(&self) -> impl Iterator<Item = (AuthFailure, u64)> + '_ {
        AuthFailure::ALL.into_iter().zip(self.auth_failures)
    }

    /// The commands that occurred, by the name that [`weir_wire::command::name`] gives them.
    pub fn commands(&self) -> BTreeMap<&'static str, u64> {
        let mut counts = BTreeMap::new();
        for (slot, n) in self.commands.0.iter().enumerate().filter(|(_, n)| **n != 0) {
            *counts.entry(commands::slot_name(slot)).or_default() += n;
        }
        counts
    }

    /// Statements: COM_QUERY and the execution of prepared ones.
    pub fn statements(&self) -> u64 {
        let named = |name: &str| self.commands().get(name).copied().unwrap_or_default();
        ["query", "stmt_execute", "stmt_bulk_execute"].map(named).iter().sum()
    }

    pub(crate) fn add(&mut self, worker: &WorkerStats) {
        self.clients_accepted += worker.clients_accepted.get();
        self.clients_connected += worker.clients_connected.get().max(0) as u64;
        self.logins_pending += worker.logins_pending.get().max(0) as u64;
        self.logins_ok += worker.logins_ok.get();
        self.tls_handshakes += worker.tls_handshakes.get();
        self.server_opened += worker.server_opened.get();
        self.server_reused += worker.server_reused.get();
        self.server_failed += worker.server_failed.get();
        self.kills_sent += worker.kills_sent.get();
        self.bytes_from_clients += worker.bytes_from_clients.get();
        self.bytes_to_clients += worker.bytes_to_clients.get();
        self.client_time.add(&worker.client_time);
        self.server_time.add(&worker.server_time);
        add_each(&mut self.commands.0, &worker.commands.0);
        add_each(&mut self.closed, &worker.closed);
        add_each(&mut self.auth_failures, &worker.auth_failures);
        self.add_errors(ErrorOrigin::Server, &worker.server_errors);
        self.add_errors(ErrorOrigin::Weir, &worker.own_errors);
    }

    fn add_errors(&mut self, origin: ErrorOrigin, table: &ErrorTable) {
        for (code, n) in table.iter() {
            *self.errors.entry((origin, Some(code))).or_default() += n;
        }
        if table.other() != 0 {
            *self.errors.entry((origin, None)).or_default() += table.other();
        }
    }
}

fn add_each(sums: &mut [u64], counters: &[crate::Counter]) {
    for (sum, counter) in sums.iter_mut().zip(counters) {
        *sum += counter.get();
    }
}
