//! What is counted of statements, as the API shows it.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::history::Period;

/// Which rows of [`Queries`] are wanted, and in which order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct QueriesAsked {
    /// By what, the greatest first; `total` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub sort: Option<SortBy>,
    /// What a row is; by default, the statements of one digest, user, schema and server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub by: Option<By>,
    /// How many rows; 20 by default, 10,000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 10_000)]
    pub limit: Option<usize>,
    /// How many to leave out before them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 0)]
    pub offset: Option<usize>,
    /// Of this user only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// With this default schema only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Of this server only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Of this quadrant only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub quadrant: Option<Quadrant>,
    /// What was counted in so much time until `to`, for example `15m`, instead of all since the start or the last reset. It comes from
    /// the history, in whole minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<String>,
    /// The same from this moment on, in RFC 3339 or in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The end of it; now by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// What a row of [`Queries`] is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The statements of one digest, user, schema and server.
    #[default]
    Origin,
    /// Those of one digest, whoever has sent them.
    Digest,
}

/// What rows are sorted by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SortBy {
    /// Time that clients waited for answers, all together.
    #[default]
    Total,
    Calls,
    /// The mean of that time.
    Mean,
    /// Its 99th percentile.
    P99,
    Errors,
    /// Rows sent and affected.
    Rows,
    /// Time that the cache has saved the server.
    Saved,
    /// Time that the server took for answers that might have come from the cache.
    Regret,
}

/// How often a statement comes, and how long it takes, each against the median over all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Quadrant {
    /// Often and slow: the first to be cached, or to get an index.
    OftenSlow,
    OftenFast,
    SeldomSlow,
    SeldomFast,
}

/// Statements by digest, user, schema and server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Queries {
    /// False if nothing is counted (`analytics.enabled`).
    pub enabled: bool,
    /// The rows that were asked for, in that order.
    pub queries: Vec<Query>,
    /// How many rows there are, of all that was counted, by digest, user, schema and server.
    pub rows: usize,
    /// How many were selected, those that were left out by `limit` and `offset` included; with [`By::Digest`], digests.
    #[serde(default)]
    pub selected: usize,
    /// How many were left out before the first.
    #[serde(default)]
    pub offset: usize,
    /// What rows have counted that had to make room, all together. The sum of all rows and this is exact.
    pub other: Option<QueryCounts>,
    /// The rows of each quadrant, of all that were selected.
    pub quadrants: Vec<QuadrantSum>,
    /// Rows that have made room for others, in all tables.
    pub evicted: u64,
    /// Bytes of memory of all tables.
    pub memory: u64,
    /// The time that was asked for; null for all since the start or the last reset.
    pub period: Option<Period>,
}

/// All rows of one quadrant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QuadrantSum {
    pub quadrant: Quadrant,
    pub rows: u64,
    pub calls: u64,
    /// Time that clients waited for their answers.
    pub total_seconds: f64,
}

/// The statements of one digest, of one user in one schema; or of all that were asked for, with [`By::Digest`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Query {
    /// The digest's id.
    pub id: String,
    /// The digest's text.
    pub digest: String,
    /// The text is cut.
    pub digest_cut: bool,
    /// Empty where there are several, as with the next two; see `together`.
    pub user: String,
    /// The default schema; empty where there was none, or Weir did not know it.
    pub schema: String,
    pub server: String,
    /// How many are added up here; null where rows are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<Together>,
    pub quadrant: Quadrant,
    /// Nothing in the text speaks against caching its answers.
    pub cacheable: bool,
    /// A statement as a client sent it, or its beginning; null unless `analytics.samples` is on.
    pub sample: Option<String>,
    #[serde(flatten)]
    pub counts: QueryCounts,
}

/// How many there are of each in what was added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Together {
    /// By user, schema and server.
    pub rows: usize,
    pub users: usize,
    pub schemas: usize,
    pub servers: usize,
}

/// What was counted. Times are in seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QueryCounts {
    /// Statements that were answered, whoever has answered them.
    pub calls: u64,
    /// Those of them that were answered with an error, and these by its code; code 0 stands for codes that came after a row had
    /// met sixteen others.
    pub errors: u64,
    #[serde(deserialize_with = "numbered")]
    #[schema(value_type = BTreeMap<String, u64>)]
    pub error_codes: BTreeMap<u16, u64>,
    pub rows_sent: u64,
    pub rows_affected: u64,
    /// With the headers of packets, without TLS and compression.
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// Statements answered by the cache.
    pub hits: u64,
    /// Statements for which the cache had nothing.
    pub misses: u64,
    /// Statements that a rule named and the cache left alone, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Statements that Weir has answered by itself, without cache and server.
    pub answered_by_weir: u64,
    /// How often one has made its session keep its connection, by reason.
    pub pins: BTreeMap<String, u64>,
    /// As the client saw it, waiting included.
    pub total: Times,
    /// Before it was sent: for a connection, or for the same question of another session. Those that did not wait are not counted.
    pub queue: Times,
    /// What the server took. Those that it did not answer are not counted.
    pub server_time: Times,
    /// Time that the server took for the answers that then came from the cache, each as often as it did.
    pub saved_seconds: Option<f64>,
    /// Time that the server took for answers that might have come from the cache, and no rule says so.
    pub regret_seconds: f64,
    /// In seconds since 1970-01-01 UTC.
    pub first_seen: Option<u64>,
    pub last_seen: Option<u64>,
}

/// The keys of a JSON object are strings; flattened into another, serde does not read them as numbers by itself.
fn numbered<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<u16, u64>, D::Error> {
    let read = BTreeMap::<String, u64>::deserialize(from)?;
    let number = |(code, count): (String, u64)| Ok((code.parse().map_err(D::Error::custom)?, count));
    read.into_iter().map(number).collect()
}

/// Durations. Percentiles are at most 12.5 % too high and never too low.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Times {
    pub count: u64,
    pub sum_seconds: f64,
    /// Null where nothing was counted.
    pub mean_seconds: Option<f64>,
    pub p50_seconds: Option<f64>,
    pub p95_seconds: Option<f64>,
    pub p99_seconds: Option<f64>,
}

/// One digest, and its rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QueryShown {
    pub id: String,
    pub digest: String,
    pub digest_cut: bool,
    /// All rows together.
    pub all: QueryCounts,
    /// By user, schema and server, those that were asked for; the most time of clients first.
    pub rows: Vec<Query>,
    /// How many rows there are.
    #[serde(default)]
    pub total: usize,
    /// How many of them were left out before these.
    #[serde(default)]
    pub offset: usize,
}

/// Which rows of [`QueryShown`] are wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct QueryAsked {
    /// How many rows; 20 by default, 10,000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 10_000)]
    pub limit: Option<usize>,
    /// How many to leave out before them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 0)]
    pub offset: Option<usize>,
}

/// All that was counted is forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reset {
    /// Rows that there were.
    pub rows: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        let counts =
            QueryCounts { errors: 3, error_codes: [(1054, 2), (0, 1)].into(), ..QueryCounts::default() };
        let query = Query {
            id: "0f".to_owned(),
            digest: "SELECT ?".to_owned(),
            digest_cut: false,
            user: "app".to_owned(),
            schema: String::new(),
            server: "db1".to_owned(),
            together: None,
            quadrant: Quadrant::OftenFast,
            cacheable: true,
            sample: None,
            counts,
        };
        let text = serde_json::to_string(&query).unwrap();
        assert_eq!(serde_json::from_str::<Query>(&text).unwrap(), query);
        let counts = serde_json::to_string(&query.counts).unwrap();
        assert_eq!(serde_json::from_str::<QueryCounts>(&counts).unwrap(), query.counts);
    }
}
