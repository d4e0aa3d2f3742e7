//! What was counted over time, as the API shows it.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::queries::Times;

/// Which time of [`HistoryShown`] is wanted, and in which steps. A moment is given in RFC 3339 or in seconds since 1970.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HistoryAsked {
    /// So much time until `to`, for example `15m`, which is the default; not with both `from` and `to`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Now by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The time of each point, for example `10s` or `1h`, in whole seconds; by default such that there are up to 60 points. Steps below a minute
    /// are possible as far back as seconds are kept (`history.seconds`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
}

/// What was counted over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HistoryShown {
    pub period: Period,
    /// Seconds from one point to the next.
    pub step_seconds: u64,
    /// In their order; a step in which Weir did not run has none.
    pub points: Vec<HistoryPoint>,
    pub state: HistoryState,
}

/// A time, in seconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Period {
    pub from: u64,
    /// The first second behind it.
    pub to: u64,
    /// For how much of it there are counts: Weir ran, and the file could be written.
    pub covered_seconds: f64,
    /// What was asked for, which `from` and `to` cover in whole minutes or steps, as they are kept.
    #[serde(default)]
    pub asked_from: u64,
    #[serde(default)]
    pub asked_to: u64,
}

/// What was counted in one step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HistoryPoint {
    /// When the step begins, in seconds since 1970-01-01 UTC.
    pub at: u64,
    /// For how much of it there are counts. What came in a second is a count divided by this.
    pub covered_seconds: f64,
    /// COM_QUERY, COM_STMT_EXECUTE and COM_STMT_BULK_EXECUTE.
    pub statements: u64,
    /// Errors that clients got.
    pub errors: u64,
    /// Statements answered by the cache, and those for which it had nothing.
    pub hits: u64,
    pub misses: u64,
    /// Read from and written to clients, with the headers of packets, without TLS and compression.
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub logins: u64,
    /// Connections to the server that were made.
    pub server_opened: u64,
    /// CPU time of Weir.
    pub cpu_seconds: f64,
    /// The most at the end of any second.
    pub clients: u64,
    pub server_connections: u64,
    /// All commands, as clients saw them.
    pub total: Times,
    /// Those that the server answered, and what it took.
    pub server_time: Times,
}

/// How the history does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HistoryState {
    pub file: String,
    /// It is being written.
    pub writing: bool,
    /// Why not: `full`, `in_use`, `newer`, `foreign`, `unwritable`, `corrupt` or `failed`, and in a sentence.
    pub trouble: Option<String>,
    pub why: Option<String>,
    /// Bytes of the file that hold something.
    pub bytes: u64,
}

/// Which periods are compared. A moment is given in RFC 3339 or in seconds since 1970. Both are taken in whole minutes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CompareAsked {
    /// So much time until `to`, for example `1h`, which is the default; not with both `from` and `to`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Now by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// With the same time so much earlier, for example `1d`; by default with the time just before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// With this time instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_from: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_to: Option<String>,
    /// How many rows of each list; 10 by default, 1,000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1_000)]
    pub limit: Option<usize>,
    /// How many of each list to leave out before them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 0)]
    pub offset: Option<usize>,
    /// Of this user only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// With this default schema only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
}

/// How two periods differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Compared {
    pub now: Period,
    pub then: Period,
    /// Statements that came now and not then; those that took most time first.
    pub new: ComparedQueries,
    /// Statements that came then and not now; those that took most time first.
    pub gone: ComparedQueries,
    /// Statements whose mean time is greater by a quarter and by 0.1 ms, of which each period has five at least; the most
    /// added time first.
    pub slower: ComparedQueries,
    /// Those whose mean time was greater by that; the most time that was won first.
    #[serde(default)]
    pub faster: ComparedQueries,
    /// Statements of which there are more in the same time, by a quarter and by five; the most added ones first.
    pub more_often: ComparedQueries,
    /// Those of which there were more by that; the most that stayed away first.
    #[serde(default)]
    pub less_often: ComparedQueries,
    /// How many rows of each list were left out before those that are told.
    #[serde(default)]
    pub offset: usize,
    /// Rows that are in none of the lists.
    pub unchanged: u64,
    /// Statements now and then that have no row, for their minutes had others that took more time. Some of what is new or gone may be
    /// among them.
    pub others_now: u64,
    pub others_then: u64,
}

/// One of the lists.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ComparedQueries {
    /// How many there are.
    pub rows: u64,
    /// Those that were asked for.
    pub queries: Vec<ComparedQuery>,
}

/// The statements of one digest, of one user in one schema, in both periods.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ComparedQuery {
    /// The digest's id.
    pub id: String,
    /// The digest's text.
    pub digest: String,
    /// The text is cut.
    pub digest_cut: bool,
    pub user: String,
    pub schema: String,
    pub server: String,
    pub now: ComparedCounts,
    pub then: ComparedCounts,
    /// Time that was added because the mean has grown.
    pub added_seconds: f64,
    /// Time that was won because the mean has fallen: by how much, times the statements of now.
    #[serde(default)]
    pub won_seconds: f64,
    /// Statements beyond those that came in the same time then.
    pub added_calls: u64,
    /// Statements that are missing to those.
    #[serde(default)]
    pub fewer_calls: u64,
}

/// What was counted of it in one period.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ComparedCounts {
    pub calls: u64,
    /// Null where there are no counts.
    pub calls_per_second: Option<f64>,
    pub errors: u64,
    pub hits: u64,
    pub rows_sent: u64,
    pub rows_affected: u64,
    /// As clients saw it.
    pub total: Times,
}
