//! What rules would do that are not there yet, as the API shows it.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Of which statements the cache advisor is to tell, and what a good rule is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AdviceAsked {
    /// How many statements; 20 by default, 1,000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1_000)]
    pub limit: Option<usize>,
    /// How many are left out before them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 0)]
    pub offset: Option<usize>,
    /// This TTL and no other: `1s`, `10s`, `1m`, `5m`, `30m` or `1h`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<String>,
    /// Percent of the hits that may be out of date; 1 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 0, maximum = 100)]
    pub stale: Option<f64>,
    /// Of this user only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// With this default schema only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Also those for which a rule is not worth its while.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<bool>,
}

/// What caching would do, statement by statement, what saves most first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CacheAdvice {
    /// False if nothing is counted (`analytics.enabled`).
    pub enabled: bool,
    /// Those for which a rule would save `least_seconds` with `least_hit_ratio`, unless `all` was asked for.
    pub statements: Vec<Advised>,
    /// How many of those there are in all.
    #[serde(default)]
    pub total: usize,
    /// How many of them were left out before these.
    #[serde(default)]
    pub offset: usize,
    /// Digests that were left out, as a rule would save less, be hit less often, or be stale too often.
    #[serde(default)]
    pub left_out: usize,
    /// What a rule must save to be worth its while: a hundredth of `server_seconds`, and a thousandth of `observed_seconds`.
    #[serde(default)]
    pub least_seconds: f64,
    /// What part of its statements must be hits for a rule to be worth its while.
    #[serde(default)]
    pub least_hit_ratio: f64,
    /// The server's time for all statements that were counted, those that cannot be cached included.
    #[serde(default)]
    pub server_seconds: f64,
    /// How long has been counted.
    #[serde(default)]
    pub observed_seconds: f64,
    /// Statements that are watched, by digest, user, schema and server.
    pub watched: usize,
    /// Bytes of memory that this takes.
    pub memory: u64,
}

/// What caching the answers to one statement would do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Advised {
    /// The digest's id.
    pub id: String,
    /// The digest's text.
    pub digest: String,
    /// The text is cut.
    pub digest_cut: bool,
    /// The user and the default schema, where all are of one.
    pub user: Option<String>,
    pub schema: Option<String>,
    /// The rule that decides now whether the cache answers it. Then nothing more is learned of it here.
    pub cached_by: Option<String>,
    /// What that rule does: `serve`; `shadow`, which only measures; `off`, which keeps it from the cache.
    #[serde(default)]
    pub mode: Option<String>,
    /// Statements that the server answered and the cache might have, and the server's time for them.
    pub calls: u64,
    pub server_seconds: f64,
    /// The part of it for answers that were the same as the last one to the same statement.
    pub unchanged_seconds: f64,
    /// For how long it has been watched: from the first to the last of them.
    pub seconds: f64,
    /// Different statements (with their literals and parameters) that are watched, and one of how many that is.
    pub keys: usize,
    pub one_of: u64,
    /// The best TTL: it saves most of those of which no more hits than allowed would have been out of date; the shorter one
    /// of two that save nearly the same. Null if there is none.
    pub best: Option<Predicted>,
    /// Why a rule is not worth its while; null if it is.
    #[serde(default)]
    pub not_worth: Option<NotWorth>,
    /// What makes the rule. Null also for a digest that was cut.
    pub command: Option<String>,
    /// Every TTL.
    pub ladder: Vec<Predicted>,
}

/// Why a rule is not worth its while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotWorth {
    /// No TTL would have brought a hit.
    NoHits,
    /// Under every TTL more of the hits would have been out of date than allowed.
    Stale,
    /// It would have saved less than `least_seconds`.
    SavesLittle,
    /// Fewer than `least_hit_ratio` of its statements would have been hits: most of what is kept would be kept for nobody.
    SeldomHit,
}

/// What a rule with this TTL would have done while the statement was watched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Predicted {
    /// As rules have it.
    pub ttl: String,
    pub ttl_seconds: f64,
    /// Statements answered from the cache, and their share.
    pub hits: f64,
    pub hit_ratio: f64,
    /// The server's time that is saved.
    pub saved_seconds: f64,
    /// The share of the hits that would have got another answer than the server gave at that moment.
    pub stale_ratio: f64,
    /// The share of all statements that were no hits only because their sessions had written since the answer was asked for: with
    /// `own_writes = false` they would be.
    #[serde(default)]
    pub own_writes_ratio: f64,
    /// The share of the stored answers that were seen to be out of date before their time was over.
    pub outdated_ratio: f64,
    /// What the cache would hold.
    pub entries: f64,
    pub bytes: f64,
}

/// What caching the answers to one statement would do, for all who send it and for each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AdvisedShown {
    pub all: Advised,
    /// By user, schema and server.
    pub rows: Vec<Advised>,
}
