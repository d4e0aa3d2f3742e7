//! Live sessions, as the API shows them.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Which of the sessions are wanted, and in which order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SessionsAsked {
    /// Of this user only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// With this default schema only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// In this state only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub state: Option<SessionState>,
    /// Only those that keep their server connection, or only those that do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<bool>,
    /// Only those for which there is a cache rule that they cannot be served by before they log in again, or only the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_served: Option<bool>,
    /// By what; `state_seconds` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub sort: Option<SessionSort>,
    /// How many; 20 by default, 1,000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1_000)]
    pub limit: Option<usize>,
    /// How many are left out before them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 0)]
    pub offset: Option<usize>,
}

/// What sessions are sorted by. Ties stand by their ids.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionSort {
    /// How long they have been in their state, the longest first; those that are idle come last.
    #[default]
    StateSeconds,
    /// How long they have kept their connection, the longest first.
    PinnedSeconds,
    /// Their age, the oldest first.
    Age,
    /// The most commands first.
    Commands,
    /// The most bytes first, both ways.
    Bytes,
    /// The names of users in their order.
    User,
    /// The smallest id first.
    Id,
}

/// What a session does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// Between commands, in no transaction.
    Idle,
    /// Between commands, in a transaction.
    InTransaction,
    /// Its command waits for a server connection.
    WaitingForConnection,
    /// Its command waits for the limit of a rule.
    WaitingForRule,
    /// Its command waits for the answer to another session's same statement.
    WaitingForAnswer,
    /// Its command is with the server, which has said nothing yet.
    Running,
    /// The answer is under way.
    Answering,
    /// The client sends the file of a LOAD DATA LOCAL.
    LoadingFile,
    /// The binary log is streamed.
    Binlog,
}

/// Some of the sessions that there are now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Sessions {
    pub sessions: Vec<Session>,
    /// All that were selected, shown or not.
    pub total: usize,
    /// How many were left out before the first.
    pub offset: usize,
    /// How many of all that were selected have `not_served`.
    #[serde(default)]
    pub not_served: usize,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Session {
    /// The id that Weir has told the client, as CONNECTION_ID() of a direct connection.
    pub id: u32,
    pub user: String,
    /// Where the client is, `unix` over a unix socket.
    pub client: String,
    /// The version of TLS that the client speaks.
    pub tls: Option<String>,
    /// The default schema, as far as Weir follows it.
    pub schema: Option<String>,
    pub state: SessionState,
    /// How long it has been in its state; a command under way since it was sent, one that waits since it came.
    pub state_seconds: f64,
    pub age_seconds: f64,
    /// Commands that were answered or are under way.
    pub commands: u64,
    /// From the client, with the headers of packets.
    pub bytes_in: u64,
    /// To the client.
    pub bytes_out: u64,
    /// Why no cache rule can serve it before it logs in again, though there is one for it; null if that is not so.
    #[serde(default)]
    pub not_served: Option<NotServed>,
    /// Why the session keeps its server connection.
    pub pins: Vec<String>,
    /// How long it has kept it; not for clients with a connection of their own.
    pub pinned_seconds: Option<f64>,
    /// The server of its connection.
    pub server: Option<String>,
    /// The server's id of its connection, while it has one.
    pub server_connection_id: Option<u32>,
    /// The statement at hand, or the last one.
    pub statement: Option<SessionStatement>,
}

/// Why a session cannot be served from the cache as long as it lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotServed {
    /// It has a connection of its own and logged in before there was a cache rule for its user, so its state was not followed.
    LoggedInBefore,
}

/// What is to end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum KillWhat {
    /// The statement at hand; the session goes on.
    Query,
    /// The session, with its transaction.
    #[default]
    Connection,
}

impl KillWhat {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Connection => "connection",
        }
    }
}

/// An order to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KillAsked {
    /// `connection` by default.
    #[serde(default)]
    pub what: KillWhat,
}

/// An order was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionKilled {
    pub id: u32,
    pub what: KillWhat,
    /// What the session was doing. There is no statement to end between two commands.
    pub state: SessionState,
}

/// A statement of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionStatement {
    /// The digest's id, as `GET /queries/{id}` takes it.
    pub id: String,
    /// The digest's text, without literals.
    pub digest: String,
    /// The statement as it came, up to 1 KiB; only with `analytics.samples`, and only of a COM_QUERY.
    pub text: Option<String>,
}
