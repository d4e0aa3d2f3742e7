//! How Weir is, on one screen.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How Weir is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Status {
    pub version: String,
    /// When it was started, in seconds since 1970.
    pub started: u64,
    pub uptime_seconds: f64,
    /// The configuration file, if it was started with one.
    pub config_file: Option<String>,
    pub draining: bool,
    pub server: ServerStatus,
    pub clients: ClientsStatus,
    pub connections: ConnectionsStatus,
    pub traffic: Traffic,
    pub cache: CacheStatus,
    pub process: ProcessStatus,
    /// Rules in force.
    pub rules: usize,
    /// Those of them that only measure (`mode = "shadow"`).
    #[serde(default)]
    pub shadow_rules: usize,
    /// The last reload, if there was one.
    pub last_reload: Option<LastReload>,
    /// What is worth acting on: at most one of each kind.
    pub warnings: Vec<Warning>,
    /// What would make things better that are not bad: at most one of each kind.
    #[serde(default)]
    pub suggestions: Vec<Suggestion>,
}

/// The server behind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ServerStatus {
    pub name: String,
    pub address: String,
    /// `mysql` or `mariadb`, once it has greeted.
    pub family: Option<String>,
    pub version: Option<String>,
    /// Whether the last connection to it could be made.
    pub reachable: bool,
    /// Why it could not.
    pub error: Option<String>,
}

/// Clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClientsStatus {
    /// Logged in.
    pub connected: u64,
    /// `limits.max_clients`.
    pub limit: u64,
    pub logging_in: u64,
    /// Those whose command waits in Weir.
    pub waiting: u64,
    /// Those whose command is with the server, or whose answer is under way.
    pub running: u64,
    /// Those in a transaction, between two commands.
    pub in_transaction: u64,
    /// Those that keep a server connection.
    pub pinned: u64,
    /// Those that logged in before there was a cache rule for them, and cannot be served before they log in again.
    #[serde(default)]
    pub not_served: u64,
}

/// Connections to the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConnectionsStatus {
    /// Open, or being opened.
    pub open: u64,
    /// `max_connections` of the server.
    pub limit: u64,
    /// Those that sessions have, and those that are being opened or closed.
    pub in_use: u64,
    /// Those that nobody has now: shared ones, and those that a client with a connection of its own has left for the next
    /// (`pool.reuse_timeout`).
    pub idle: u64,
    /// Those that are shared, and that sessions keep.
    pub pinned: u64,
    /// Statements and logins that wait for one.
    pub waiting: u64,
}

/// What goes through, over the last seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Traffic {
    /// How many seconds that is; 0 in the first.
    pub seconds: f64,
    /// COM_QUERY, COM_STMT_EXECUTE and COM_STMT_BULK_EXECUTE.
    pub statements_per_second: f64,
    pub errors_per_second: f64,
    pub bytes_in_per_second: f64,
    pub bytes_out_per_second: f64,
    /// Of the statements that a rule wanted from the cache, the part that it had; null where there were none.
    pub hit_ratio: Option<f64>,
}

/// The cache.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CacheStatus {
    /// Bytes that it may hold.
    pub memory: u64,
    /// Bytes that it holds.
    pub used: u64,
    pub entries: u64,
    /// Of the statements that a rule wanted from it since the start, the part that it had, also of rules that are gone; null where
    /// there were none.
    pub hit_ratio: Option<f64>,
    /// Statements that rules in force have only measured (`mode = "shadow"`), and how many of them would have been hits.
    #[serde(default)]
    pub shadow_seen: u64,
    #[serde(default)]
    pub shadow_hits: u64,
}

/// The process, as the kernel tells; null for what it does not.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProcessStatus {
    pub resident_bytes: Option<u64>,
    pub cpu_seconds: Option<f64>,
    pub open_files: Option<u64>,
    pub max_files: Option<u64>,
    pub threads: Option<u64>,
}

impl ProcessStatus {
    /// This process, now. May take milliseconds.
    pub fn now() -> Self {
        let usage = crate::process::usage();
        Self {
            resident_bytes: usage.resident_bytes,
            cpu_seconds: usage.cpu_seconds,
            open_files: usage.open_fds,
            max_files: usage.max_fds,
            threads: usage.threads,
        }
    }
}

/// A reload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LastReload {
    /// In seconds since 1970.
    pub at: u64,
    /// False: the file was refused, and the configuration before it is in force.
    pub applied: bool,
    /// What has changed, or why it was refused.
    pub said: Vec<String>,
}

/// Something worth acting on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Warning {
    pub warning: WarningKind,
    /// What there is.
    pub text: String,
    /// What to do.
    pub advice: String,
}

/// The word for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WarningKind {
    /// The server cannot be reached.
    ServerUnreachable,
    /// The last reload was refused: the file says something else than what is in force.
    ReloadRefused,
    /// A comparison of answers from the cache with the server's has found other ones.
    CacheMismatch,
    /// Statements wait for a connection.
    StatementsWait,
    /// Sessions keep most of the connections that they may keep.
    PinnedNearLimit,
    /// Nearly all connections to the server are open and in use.
    ConnectionsNearLimit,
    /// Nearly as many clients as there may be.
    ClientsNearLimit,
    /// Nearly as many open files as there may be.
    FilesNearLimit,
    /// Sessions logged in before there was a cache rule for them, and cannot be served before they log in again.
    SessionsNotServed,
    /// A rule does nothing where it stands.
    IdleRules,
    /// The history is not written.
    HistoryStopped,
    /// Lines of the query log were lost.
    QueryLogDropped,
    /// Statistics by digest make room.
    DigestsEvicted,
}

/// Something worth looking at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Suggestion {
    pub suggestion: SuggestionKind,
    /// What there is.
    pub text: String,
    /// What tells more.
    pub advice: String,
}

/// The word for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SuggestionKind {
    /// The cache advisor knows of rules that are worth their while.
    CacheRules,
    /// Sessions keep many of the connections that are shared beyond their statements.
    Pins,
}
