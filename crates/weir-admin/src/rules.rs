//! Rules, as the API shows and takes them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::cached::Covered;
use crate::queries::Times;

/// Which of the rules are wanted, in their order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RulesAsked {
    /// How many; all by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1)]
    pub limit: Option<usize>,
    /// How many are left out before them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 0)]
    pub offset: Option<usize>,
}

/// The rules in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RuleTable {
    /// Those that were asked for, in the order in which they are tried.
    pub rules: Vec<RuleState>,
    /// How many there are in all.
    #[serde(default)]
    pub total: usize,
    /// How many of them were left out before these.
    #[serde(default)]
    pub offset: usize,
    /// Of this list and no other: sent back as `If-Match` with a change, it is refused where somebody else was first. Also the header
    /// `ETag`.
    #[serde(default)]
    pub version: String,
    /// The file that keeps them; null if Weir was started without one, and changes end with the process.
    pub file: Option<String>,
    /// Sessions that logged in before there was a cache rule for them, and cannot be served before they log in again.
    #[serde(default)]
    pub not_served: u64,
}

/// One rule and what was counted for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RuleState {
    pub name: String,
    /// Its place in the list, from 1.
    pub position: usize,
    /// Its keys and values as in `weir.toml`, without those that have their default.
    #[schema(value_type = Object)]
    pub rule: Value,
    /// The same as TOML.
    pub toml: String,
    /// Statements that it matched since it was made, or Weir was started. An edit keeps what was counted; a rule that was removed and made again
    /// counts from nothing.
    pub hits: u64,
    /// When it last matched one, in seconds since 1970-01-01 UTC.
    pub last_hit: Option<u64>,
    /// What clients waited for the answers to these statements, in seconds: a sum, of what a server or the cache has answered, and of what
    /// was denied.
    #[serde(default)]
    pub time_seconds: f64,
    /// What it has done to them, apart from caching.
    #[serde(default)]
    pub done: RuleDeeds,
    /// What is good by itself and does nothing where it stands.
    pub warnings: Vec<String>,
    /// Sessions that it is for, if it is a cache rule, and that cannot be served before they log in again.
    #[serde(default)]
    pub not_served: u64,
    /// What the cache has counted for it; null if it says nothing about the cache and nothing was counted.
    pub cache: Option<CacheCounts>,
    /// What the statements that a cache rule matches cost before it was made, and since. Told of one rule that is asked for by its name, and
    /// null without statistics (`analytics.enabled`), and where a `pattern` matches, as digests have no literals.
    #[serde(default)]
    pub effect: Option<RuleEffect>,
}

/// What the statements cost that a rule matches, as far as their digest, user and schema tell: a rule's `client` and `command` are not looked
/// at, nor whether an earlier rule answers for them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RuleEffect {
    /// Since when `now` counts, in seconds since 1970-01-01 UTC: since the rule was made, it matched other statements, Weir was started, or
    /// the statistics were reset.
    pub since: u64,
    /// What was counted of them before, since Weir was started or the statistics were reset; null where that is not known, as after a start
    /// with the rule.
    pub before: Option<EffectCounts>,
    /// Null where rows of the statistics have made room meanwhile.
    pub now: Option<EffectCounts>,
}

/// What was counted of statements in some time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EffectCounts {
    pub calls: u64,
    /// Statements answered by the cache, those that waited for another's answer included, and those for which it had nothing.
    pub hits: u64,
    pub misses: u64,
    /// All of them, as clients saw it.
    pub total: Times,
    /// Those that no server has answered, as clients saw it: `hits`, and what Weir has answered by itself.
    pub without_server: MeanTime,
    /// Those that the server has answered, as clients saw it: `misses`, and what passed the cache by.
    pub with_server: MeanTime,
    /// What these took the server.
    pub server_time: MeanTime,
    /// Time that the server took for the answers that hits got.
    pub saved_seconds: f64,
}

/// A mean. Times are in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MeanTime {
    pub count: u64,
    pub sum_seconds: f64,
    /// Null where nothing was counted.
    pub mean_seconds: Option<f64>,
}

/// Statements to which a rule has done something, since it was made or Weir was started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RuleDeeds {
    /// Denied.
    pub denied: u64,
    /// Sent with another text.
    pub rewritten: u64,
    /// Held up by the limit for a while.
    pub waited: u64,
    /// Refused by the limit.
    pub rejected: u64,
    /// Ended by the timeout.
    pub timed_out: u64,
}

/// What the cache has counted for a rule since it was made or Weir was started, or for all rules. Times are sums.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CacheCounts {
    /// Entries stored now, marks of the shadow mode included.
    pub entries: u64,
    /// Bytes of them in memory.
    pub bytes: u64,
    /// Statements answered with what was stored.
    pub hits: u64,
    /// Statements that found nothing and went to the server.
    pub misses: u64,
    /// Statements that found another asking the same, and waited for its answer.
    pub waits: u64,
    /// `hits` as a share of `hits`, `misses` and `waits`, 0 to 1; null before the first.
    pub hit_ratio: Option<f64>,
    /// Time that the server took for the answers that were then served from the cache: for each hit what it took when the answer was
    /// stored, or what is usual where that was much longer.
    pub saved_seconds: f64,
    /// Bytes of packets served from the cache.
    pub hit_bytes: u64,
    /// Answers stored.
    pub fills: u64,
    /// Entries that made room for others.
    pub evicted: u64,
    /// Entries removed because they were too old.
    pub expired: u64,
    /// Entries in whose place a newer answer to the same was stored.
    #[serde(default)]
    pub replaced: u64,
    /// Entries removed by a wipe.
    pub wiped: u64,
    /// Statements that renewed an entry past its soft TTL.
    pub refreshes: u64,
    /// Answers served past their TTL because the server failed.
    pub stale_served: u64,
    /// Served answers that were compared with a fresh one (`verify`).
    pub verified: u64,
    /// Those of `verified` that differed.
    pub mismatched: u64,
    /// Statements observed in the shadow mode.
    pub shadow_seen: u64,
    /// Those of them that would have been answered from the cache.
    pub shadow_hits: u64,
    /// Those of `shadow_hits` whose answer was another by then.
    pub shadow_stale: u64,
    /// Time that the server took for `shadow_hits`.
    pub shadow_saved_seconds: f64,
    /// How old the answers were that differed, in verification and in the shadow mode; empty if there were none.
    #[serde(default)]
    pub stale_ages: Vec<StaleAges>,
    /// The sum of those ages.
    #[serde(default)]
    pub stale_age_seconds: f64,
    /// Statements that the cache left alone, by reason; those that are not 0.
    pub refused: BTreeMap<String, u64>,
    /// Answers that were to be stored and were not, by reason; those that are not 0.
    pub dropped: BTreeMap<String, u64>,
}

/// Answers that differed when they were so old.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StaleAges {
    /// The greatest age of these; null for the oldest. The smallest is the greatest of those before.
    pub up_to_seconds: Option<f64>,
    pub answers: u64,
}

/// A rule, in one of two forms.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleText {
    /// The keys and values of `[[rule]]` as an object. Give this or `toml`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, example = json!({"name": "stories", "match": {"table": "stories"}, "cache": {"ttl": "30s"}}))]
    pub rule: Option<Value>,
    /// The rule as it stands in `weir.toml`, with `[[rule]]` above it or without. Its comments go into the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toml: Option<String>,
}

/// A rule that is to be added, and where.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRule {
    /// The keys and values of `[[rule]]` as an object. Give this or `toml`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, example = json!({"name": "stories", "match": {"table": "stories"}, "cache": {"ttl": "30s"}}))]
    pub rule: Option<Value>,
    /// The rule as it stands in `weir.toml`, with `[[rule]]` above it or without. Its comments go into the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toml: Option<String>,
    /// Without it, the rule becomes the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
}

/// Where a rule goes: `"first"`, `"last"`, `{"before": "NAME"}` or `{"after": "NAME"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    First,
    Last,
    /// Before the rule of this name.
    Before(String),
    /// Behind the rule of this name.
    After(String),
}

/// Where a rule is to be moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Move {
    pub place: Place,
}

/// A change that has taken effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Changed {
    /// The rule that it is about.
    pub rule: String,
    /// Where it stands now, from 1; null if it was removed.
    pub position: Option<usize>,
    /// The file that it was written to; null if Weir was started without one: then the change ends with the process.
    pub file: Option<String>,
    /// What is good by itself and does nothing where it stands, of all rules; before it, where the disk has not confirmed the file, that
    /// and why.
    pub warnings: Vec<String>,
    /// Sessions that the rule is for, if it is a cache rule, and that cannot be served before they log in again: they have
    /// connections of their own and logged in before there was such a rule.
    #[serde(default)]
    pub not_served: u64,
    /// What a rule that was removed had stored. It is wiped: no rule that is made later serves it.
    #[serde(default)]
    pub wiped: Covered,
}
