//! Every limit of the product, with its default and the reason for that number. `[limits]` in `weir.toml`
//! sets them; a zero duration means "no limit" where the field says so.

use std::time::Duration;

/// The limits in force. All are reloadable; a change holds for what begins after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Clients logged in at once. 10,000: with a server connection each that is 20,000 descriptors.
    pub max_clients: u32,
    /// Clients that have connected and not yet logged in; when it is reached the oldest is cut, so that a
    /// flood of half-open connections cannot lock out a healthy client, which needs milliseconds. 4,096.
    pub max_pending_logins: u32,
    /// From accept to the end of the login, the server's part included. 10 s, as MySQL's `connect_timeout`.
    pub login_timeout: Duration,
    /// Bytes held for a client before it has logged in. 32 KiB: a handshake response with attributes is
    /// below 2 KiB, and MySQL itself stops at 16 KiB before authentication.
    pub login_bytes: usize,
    /// A refused login is answered at this age, or the next multiple of it, whoever the user is. 100 ms:
    /// above what any server needs to refuse, so that time tells nothing; slow enough to tire guessing.
    pub auth_failure_delay: Duration,
    /// To reach and log in to the server. 5 s: below the clients' usual 10 s, so that they see our error.
    pub server_connect_timeout: Duration,
    /// Silence of a client between statements; 0 leaves it to the server's `wait_timeout`. Default 0.
    pub client_idle_timeout: Duration,
    /// The same of a client that has a transaction open. Default 0.
    pub idle_transaction_timeout: Duration,
    /// Silence of a client in the middle of a statement that is held; 30 s, as the server's `net_read_timeout`.
    pub client_read_timeout: Duration,
    /// A client that takes none of its answer; 60 s, as the server's `net_write_timeout`. 0 is no limit.
    pub client_write_timeout: Duration,
    /// A server that owes an answer and sends nothing; 0 (default) is no limit, for statements may run for hours.
    pub server_read_timeout: Duration,
    /// After SIGTERM, what still runs is given this long. 30 s, below the usual 90 s of systemd.
    pub drain_timeout: Duration,
    /// Bytes of a statement that Weir looks at. 1 MiB: most that applications write at once is shorter, and reading it takes a millisecond.
    pub statement_bytes: usize,
    /// Bytes of statements beyond 64 KiB that are held at once, of all sessions. 64 MiB: 64 of the longest. One that finds no room is
    /// forwarded unread past 64 KiB.
    pub statement_memory: usize,
    /// TCP keep-alive towards both sides: silence before the first probe. 60 s. 0 switches it off.
    pub tcp_keepalive: Duration,
    /// KILL connections made at once for clients that vanished, per worker. 8: a burst of aborts must not
    /// take the connections of the living.
    pub max_kills: u32,
    /// Prepared statements of one client that Weir remembers the kind of. 16,382, the server's own default
    /// for `max_prepared_stmt_count`.
    pub max_statements: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_clients: 10_000,
            max_pending_logins: 4_096,
            login_timeout: Duration::from_secs(10),
            login_bytes: 32 * 1024,
            auth_failure_delay: Duration::from_millis(100),
            server_connect_timeout: Duration::from_secs(5),
            client_idle_timeout: Duration::ZERO,
            idle_transaction_timeout: Duration::ZERO,
            client_read_timeout: Duration::from_secs(30),
            client_write_timeout: Duration::from_secs(60),
            server_read_timeout: Duration::ZERO,
            drain_timeout: Duration::from_secs(30),
            statement_bytes: 1024 * 1024,
            statement_memory: 64 * 1024 * 1024,
            tcp_keepalive: Duration::from_secs(60),
            max_kills: 8,
            max_statements: 16_382,
        }
    }
}
