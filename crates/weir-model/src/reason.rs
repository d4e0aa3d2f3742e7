//! Closed lists of reasons. The same word stands in the log, in `/metrics` and in the documentation.

/// Why a client connection ended. Logged once for each connection and counted in
/// `weir_client_closed_total{reason=...}`; `docs/operations.md` explains each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum CloseReason {
    /// The client sent COM_QUIT.
    Quit,
    /// The client closed its socket without COM_QUIT.
    ClientGone,
    /// The client's socket reported an error.
    ClientIo,
    /// The server closed its connection, or ended it with an error (KILL, wait_timeout, shutdown).
    ServerGone,
    /// The server's socket reported an error.
    ServerIo,
    /// No server connection could be made for this client.
    ServerUnreachable,
    /// The login was refused.
    AuthFailed,
    /// The login took longer than `limits.login_timeout`.
    LoginTimeout,
    /// Too many clients were logging in, and this was the oldest of them.
    LoginEvicted,
    /// The client sat idle longer than `limits.client_idle_timeout` or `limits.idle_transaction_timeout`, or than the `wait_timeout` of its session, or amid a statement for `limits.client_read_timeout`.
    IdleTimeout,
    /// The client did not take its answer for longer than `limits.client_write_timeout`.
    WriteTimeout,
    /// The server did not answer for longer than `limits.server_read_timeout`.
    ServerTimeout,
    /// The client broke the protocol.
    ClientProtocol,
    /// The server broke the protocol.
    ServerProtocol,
    /// `limits.max_clients` was reached.
    TooManyClients,
    /// Weir is shutting down.
    Draining,
    /// TLS could not be agreed, or is required and was not asked for.
    Tls,
    /// The PROXY header was malformed, or came from an address that may not send one.
    ProxyHeader,
    /// A rule denies a statement that is too long to be looked at.
    Denied,
    /// An operator has ended the session (`weir kill`).
    Killed,
}

impl CloseReason {
    /// Every reason, in the order of their discriminants.
    pub const ALL: [CloseReason; 20] = [
        Self::Quit,
        Self::ClientGone,
        Self::ClientIo,
        Self::ServerGone,
        Self::ServerIo,
        Self::ServerUnreachable,
        Self::AuthFailed,
        Self::LoginTimeout,
        Self::LoginEvicted,
        Self::IdleTimeout,
        Self::WriteTimeout,
        Self::ServerTimeout,
        Self::ClientProtocol,
        Self::ServerProtocol,
        Self::TooManyClients,
        Self::Draining,
        Self::Tls,
        Self::ProxyHeader,
        Self::Denied,
        Self::Killed,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Quit => "quit",
            Self::ClientGone => "client_gone",
            Self::ClientIo => "client_io",
            Self::ServerGone => "server_gone",
            Self::ServerIo => "server_io",
            Self::ServerUnreachable => "server_unreachable",
            Self::AuthFailed => "auth_failed",
            Self::LoginTimeout => "login_timeout",
            Self::LoginEvicted => "login_evicted",
            Self::IdleTimeout => "idle_timeout",
            Self::WriteTimeout => "write_timeout",
            Self::ServerTimeout => "server_timeout",
            Self::ClientProtocol => "client_protocol",
            Self::ServerProtocol => "server_protocol",
            Self::TooManyClients => "too_many_clients",
            Self::Draining => "draining",
            Self::Tls => "tls",
            Self::ProxyHeader => "proxy_header",
            Self::Denied => "denied",
            Self::Killed => "killed",
        }
    }
}

/// Why a login failed. Counted in `weir_auth_failures_total{reason=...}`; a client only ever sees the server's
/// error 1045 or its word for a locked or expired account, never this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum AuthFailure {
    /// A listed user's proof did not match a password of the configuration.
    WrongPassword,
    /// The user is not listed, and `auth.passthrough` is off.
    UnknownUser,
    /// The server behind refused the login.
    RefusedByServer,
    /// The client left or fell silent in the middle of the exchange.
    Abandoned,
    /// The client sent something that is not an answer to what it was asked.
    Malformed,
    /// A clear-text password was offered over a connection that is not encrypted.
    InsecureLink,
    /// The client or the account insists on a plugin that Weir cannot speak.
    UnsupportedPlugin,
    /// `tls.require` is on, or a client certificate was needed, and the client had none.
    TlsRequired,
}

impl AuthFailure {
    /// Every reason, in the order of their discriminants.
    pub const ALL: [AuthFailure; 8] = [
        Self::WrongPassword,
        Self::UnknownUser,
        Self::RefusedByServer,
        Self::Abandoned,
        Self::Malformed,
        Self::InsecureLink,
        Self::UnsupportedPlugin,
        Self::TlsRequired,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::WrongPassword => "wrong_password",
            Self::UnknownUser => "unknown_user",
            Self::RefusedByServer => "refused_by_server",
            Self::Abandoned => "abandoned",
            Self::Malformed => "malformed",
            Self::InsecureLink => "insecure_link",
            Self::UnsupportedPlugin => "unsupported_plugin",
            Self::TlsRequired => "tls_required",
        }
    }
}
