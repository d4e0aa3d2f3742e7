//! The cache, as the API shows it and is told what to wipe.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::rules::CacheCounts;

/// What the cache holds and has done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CacheState {
    /// Bytes that it may hold (`cache.memory`).
    pub memory: u64,
    /// Bytes that it holds, for all purposes.
    pub used: u64,
    /// Bytes of one entry at most (`cache.max_entry`).
    pub max_entry: u64,
    /// Bytes that the entries of one user may take (`cache.user_memory`); null: as many as there are.
    #[serde(default)]
    pub user_memory: Option<u64>,
    /// Those users for whose statements the most is stored: at most 20, the first has the most.
    #[serde(default)]
    pub users: Vec<UserCacheState>,
    /// Entries, marks of the shadow mode included.
    pub entries: u64,
    /// Those of them that are past their TTL: kept for `stale_if_error`, or not removed yet. No client is served one while the server
    /// answers.
    #[serde(default)]
    pub past_ttl: Covered,
    /// Questions to the server that are under way.
    pub flights: u64,
    /// The sum of `rules`.
    pub total: CacheCounts,
    /// Each rule that the cache knows, rules that are gone and still have entries included.
    pub rules: Vec<RuleCacheState>,
}

/// What the cache holds for one user. With `share = "grants"` what is stored is whose statement brought it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UserCacheState {
    pub user: String,
    pub bytes: u64,
}

/// What the cache has counted for one rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RuleCacheState {
    pub rule: String,
    #[serde(flatten)]
    pub counts: CacheCounts,
}

/// Which entries are meant: those for which all that is given is so. To mean every entry, say `all`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Selection {
    /// Every entry; nothing else may be given beside it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// Entries that the rule of this name had stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Entries of statements with this digest: its 16 hexadecimal digits, the first 8 or more of one that was counted, its text, or any statement that has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Entries of sessions in this schema, and those that read a table of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Entries that read the table `SCHEMA.TABLE`; `TABLE` alone needs `schema` beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// Entries with this tag (`/*weir: tag=NAME */`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Entries that were stored for this user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

/// What a wipe has removed, or would.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Covered {
    pub entries: u64,
    /// Bytes of memory, keys and all.
    pub bytes: u64,
}
