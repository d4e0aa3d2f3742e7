use weir_model::{AuthFailure, CloseReason};

use crate::commands::{self, PerCommand};
use crate::counter::{Counter, Gauge};
use crate::error_table::ErrorTable;
use crate::histogram::{Histogram, Timing};

/// What one worker thread counts. Each method tells of one event; only the worker's own thread calls them.
///
/// Aligned to 128 bytes, because processors fetch cache lines in pairs: no two workers share one.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct WorkerStats {
    pub(crate) commands: PerCommand<Counter>,
    pub(crate) bytes_from_clients: Counter,
    pub(crate) bytes_to_clients: Counter,
    pub(crate) client_time: Histogram,
    pub(crate) server_time: Histogram,

    pub(crate) clients_accepted: Counter,
    pub(crate) clients_connected: Gauge,
    pub(crate) closed: [Counter; CloseReason::ALL.len()],
    pub(crate) logins_pending: Gauge,
    pub(crate) logins_ok: Counter,
    pub(crate) auth_failures: [Counter; AuthFailure::ALL.len()],
    pub(crate) tls_handshakes: Counter,

    pub(crate) server_opened: Counter,
    pub(crate) server_reused: Counter,
    pub(crate) server_failed: Counter,
    pub(crate) kills_sent: Counter,
    pub(crate) server_errors: ErrorTable,
    pub(crate) own_errors: ErrorTable,
}

impl WorkerStats {
    /// A command and its whole answer went through.
    ///
    /// `client_ns`: from the first byte of the request read to the last byte of the answer written.
    /// `server_ns`: from the first byte of the request sent to the server to the end of its answer; 0 when Weir
    /// answered by itself, which keeps the command out of the server's histogram.
    /// `bytes_in`, `bytes_out`: packet headers included, as on the wire without compression and TLS.
    pub fn command_done(&self, command: u8, client_ns: u64, server_ns: u64, bytes_in: u64, bytes_out: u64) {
        self.commands.0[commands::slot(command)].inc();
        self.client_time.record(client_ns);
        if server_ns != 0 {
            self.server_time.record(server_ns);
        }
        self.bytes(bytes_in, bytes_out);
    }

    /// The same where both times are this one, and not 0.
    #[inline]
    pub fn command_answered(&self, command: u8, time: Timing, bytes_in: u64, bytes_out: u64) {
        self.commands.0[commands::slot(command)].inc();
        self.client_time.record_timing(time);
        self.server_time.record_timing(time);
        self.bytes(bytes_in, bytes_out);
    }

    /// A command that gets no answer (COM_QUIT, COM_STMT_CLOSE, COM_STMT_SEND_LONG_DATA) or whose answer was cut:
    /// counted, and not in the histograms.
    pub fn command_unanswered(&self, command: u8, bytes_in: u64, bytes_out: u64) {
        self.commands.0[commands::slot(command)].inc();
        self.bytes(bytes_in, bytes_out);
    }

    /// Bytes read from and written to clients that no command accounts for (logins, binlog streams, and long
    /// answers that report as they go).
    pub fn bytes(&self, from_client: u64, to_client: u64) {
        self.bytes_from_clients.add(from_client);
        self.bytes_to_clients.add(to_client);
    }

    /// A client's connection was accepted by this worker. Ended by one [`Self::client_closed`].
    pub fn client_accepted(&self) {
        self.clients_accepted.inc();
        self.clients_connected.inc();
    }

    /// An accepted client's connection ended.
    pub fn client_closed(&self, reason: CloseReason) {
        self.clients_connected.dec();
        self.closed[reason as usize].inc();
    }

    /// An accepted client has begun to log in. Ended by one [`Self::login_ended`], whatever the result.
    pub fn login_started(&self) {
        self.logins_pending.inc();
    }

    /// The client is no longer logging in: it is in, it was refused, or it is gone.
    pub fn login_ended(&self) {
        self.logins_pending.dec();
    }

    /// A login, or a COM_CHANGE_USER, succeeded.
    pub fn login_ok(&self) {
        self.logins_ok.inc();
    }

    /// A login, or a COM_CHANGE_USER, was refused.
    pub fn auth_failed(&self, reason: AuthFailure) {
        self.auth_failures[reason as usize].inc();
    }

    /// A client's TLS handshake succeeded. Failed ones are counted as [`CloseReason::Tls`].
    pub fn tls_handshake(&self) {
        self.tls_handshakes.inc();
    }

    /// A connection to the server was made and logged in.
    pub fn server_opened(&self) {
        self.server_opened.inc();
    }

    /// A client was given the connection that another had left.
    pub fn server_reused(&self) {
        self.server_reused.inc();
    }

    /// A connection to the server could not be made: refused, timed out, TLS, or no greeting. A login that
    /// the server refused is an [`AuthFailure`] instead.
    pub fn server_failed(&self) {
        self.server_failed.inc();
    }

    /// The server answered with this error code, and the client got it.
    pub fn server_error(&self, code: u16) {
        self.server_errors.inc(code);
    }

    /// Weir itself answered with this error code.
    pub fn own_error(&self, code: u16) {
        self.own_errors.inc(code);
    }

    /// A KILL was sent to the server on a connection for that: because the client that had asked for the work vanished, or because no
    /// other was free for the client's own KILL.
    pub fn kill_sent(&self) {
        self.kills_sent.inc();
    }

    /// Clients whose connection lives on this worker now.
    pub fn clients_connected(&self) -> i64 {
        self.clients_connected.get()
    }

    /// Clients of this worker that are logging in now.
    pub fn logins_pending(&self) -> i64 {
        self.logins_pending.get()
    }
}

#[cfg(test)]
mod tests;
