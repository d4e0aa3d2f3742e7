use std::path::PathBuf;
use std::time::Duration;

use weir_model::rule::Ratio;
use weir_model::{Limits, Rule, Token, words};

use crate::{Address, IpNet, SecretString};

/// A checked configuration. Every value is in the range that `docs/configuration.md` gives for it, paths are
/// taken from the folder of the file, and secrets have been fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    pub listen: Listen,
    pub tls: ClientTls,
    /// Exactly one.
    pub servers: Vec<Server>,
    /// Users whose passwords are known, no two of one name.
    pub users: Vec<User>,
    pub auth: Auth,
    pub pool: Pool,
    pub limits: Limits,
    pub cache: Cache,
    pub analytics: Analytics,
    pub history: History,
    /// In their order, no two of one name.
    pub rules: Vec<Rule>,
    /// Who may use the admin address, no two of one name.
    pub tokens: Vec<Token>,
    pub log: Log,
    pub query_log: QueryLog,
    /// Worker threads; 0 is one for each core.
    pub workers: usize,
    /// How plain TCP connections are moved.
    pub io: Io,
    /// Reload when the file changes.
    pub watch: bool,
}

/// Where Weir listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listen {
    /// For clients; at least one, no two overlap.
    pub mysql: Vec<Address>,
    /// For `/healthz`, `/readyz` and `/metrics`; `None` switches them off.
    pub admin: Option<Address>,
    /// Sources that may send a PROXY header.
    pub proxy_protocol: Vec<IpNet>,
}

/// TLS towards clients. Without `cert` and `key` (both or neither) a self-signed certificate is made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClientTls {
    pub cert: Option<PathBuf>,
    pub key: Option<PathBuf>,
    /// Whoever a client's certificate must be signed by; `None` asks for none.
    pub client_ca: Option<PathBuf>,
    /// Refuse clients that do not ask for TLS.
    pub require: bool,
}

/// A server behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    pub name: String,
    pub address: Address,
    /// At least 1.
    pub max_connections: u32,
    pub tls: ServerTls,
    pub compression: Compression,
}

/// TLS towards a server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerTls {
    pub mode: TlsMode,
    /// Present in the modes `VerifyCa` and `VerifyIdentity`; the others do not look at it.
    pub ca: Option<PathBuf>,
    /// The certificate shown to the server, with `key` (both or neither).
    pub cert: Option<PathBuf>,
    pub key: Option<PathBuf>,
}

/// A user that logs in with a password of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub password: SecretString,
    /// Also accepted from clients while a password is rotated.
    pub previous: Option<SecretString>,
    /// May use COM_BINLOG_DUMP, COM_BINLOG_DUMP_GTID and COM_REGISTER_SLAVE.
    pub replication: bool,
    /// Overrides that of the pool.
    pub sharing: Option<Sharing>,
}

/// How users that are not listed log in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Auth {
    pub passthrough: bool,
    /// How old a confirmation of a login by the server may be; zero is "every login is confirmed".
    pub revalidate: Duration,
    /// Users, not listed ones, that may replicate.
    pub replication_users: Vec<String>,
}

/// Server connections and who shares them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    pub sharing: Sharing,
    /// Idle connections that are kept.
    pub min_idle: u32,
    /// That many are opened ahead.
    pub warm_up: bool,
    /// How long the other idle connections are kept.
    pub idle_timeout: Duration,
    /// How old a connection may become; zero is no limit.
    pub max_lifetime: Duration,
    /// How long a statement or a login waits for a connection.
    pub queue_timeout: Duration,
    /// How many wait at most.
    pub max_waiting: u32,
    /// Percent of a server's connections that pinned sessions may keep.
    pub pinned_share: u32,
    /// Prepared statements that shared connections keep on the server together.
    pub server_statements: u32,
    /// How long a connection may wait for another client of its own; zero is not at all.
    pub reuse_timeout: Duration,
}

/// What the result cache may hold, and who may steer it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// Bytes of everything that it holds.
    pub memory: usize,
    /// The largest answer that is stored, in bytes; not above `memory`.
    pub max_entry: usize,
    /// Bytes that the answers to one user's statements may take; not above `memory`. `None`: no limit.
    pub user_memory: Option<usize>,
    /// Which answers are stored.
    pub admission: Admission,
    /// Whose hints in comments are followed.
    pub hints: HintsFrom,
    /// The users of [`HintsFrom::Listed`].
    pub hint_users: Vec<String>,
}

/// What is counted of statements' digests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Analytics {
    pub enabled: bool,
    /// Rows of each worker at most.
    pub digests: usize,
    /// Statements are kept as they came.
    pub samples: bool,
}

/// What is kept of statistics over time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    pub enabled: bool,
    /// `None` leaves it to the environment of the process.
    pub file: Option<PathBuf>,
    /// How long points of a second, and of a minute, are kept.
    pub seconds: Duration,
    pub minutes: Duration,
    /// Digests of each minute at most.
    pub digests: usize,
    /// Bytes of the file at most.
    pub max_size: usize,
}

/// The log of slow statements, and of a share of the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryLog {
    /// `None`: there is none.
    pub file: Option<PathBuf>,
    /// Zero: none is slow.
    pub slow: Duration,
    pub sample: Ratio,
    pub literals: bool,
    pub max_size: u64,
    /// Older files that are kept.
    pub files: u32,
}

/// The log on standard error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    pub format: LogFormat,
    pub level: LogLevel,
}

words! {
    /// When and how a connection to a server is encrypted; the meanings are those of MySQL's `--ssl-mode`.
    TlsMode {
        Disabled = "disabled",
        /// Encrypted if the server can; the certificate is not checked.
        #[default]
        Preferred = "preferred",
        /// Encrypted or refused; the certificate is not checked.
        Required = "required",
        /// The certificate is signed by `ca`.
        VerifyCa = "verify_ca",
        /// As before, and it was issued for the host of the address.
        VerifyIdentity = "verify_identity",
    }
}

words! {
    /// The compression that Weir offers to a server.
    Compression {
        #[default]
        None = "none",
        Zlib = "zlib",
        Zstd = "zstd",
    }
}

words! {
    /// What moves the bytes of plain TCP connections.
    Io {
        /// io_uring where the kernel allows it and there are many connections, and epoll otherwise.
        #[default]
        Auto = "auto",
        /// io_uring however few connections there are; a kernel that does not allow it is worth a warning.
        IoUring = "io_uring",
        Epoll = "epoll",
    }
}

words! {
    /// How long a client keeps a server connection.
    Sharing {
        /// For its whole session.
        #[default]
        Session = "session",
        /// For a statement or a transaction, or as long as something pins it.
        Transaction = "transaction",
    }
}

words! {
    /// Whose cache hints in comments are followed.
    HintsFrom {
        #[default]
        All = "all",
        /// Those of the users in `hint_users`.
        Listed = "listed",
        Off = "off",
    }
}

words! {
    /// Which answers the cache keeps.
    Admission {
        /// What is asked for the first time; of statements that are seldom asked again, what is asked for the second time.
        #[default]
        Adaptive = "adaptive",
        /// What is asked for the first time.
        Always = "always",
        /// What is asked for the second time.
        Second = "second",
    }
}

words! {
    LogFormat {
        #[default]
        Text = "text",
        Json = "json",
    }
}

words! {
    LogLevel {
        Error = "error",
        Warn = "warn",
        #[default]
        Info = "info",
        Debug = "debug",
        Trace = "trace",
    }
}
