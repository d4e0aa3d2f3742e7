//! What Weir would do with a statement, as the API tells it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A statement, and who sends it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    #[schema(example = "SELECT * FROM stories WHERE id = 7")]
    pub sql: String,
    /// The user name of the login; without it, one that no rule names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The session's current schema; without it, none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The client's IP address; without it, that of a unix socket: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// `query`, `prepare` or `execute`; without it, `query`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// Which rules match a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Tested {
    pub digest: DigestShown,
    /// The rule that decides: the first that matches and has no `continue`; null if there is none.
    pub decides: Option<String>,
    /// What is done, and by which rule.
    pub actions: Vec<Action>,
    /// Every rule in its order.
    pub tried: Vec<Tried>,
}

/// The digest of a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DigestShown {
    /// 16 hexadecimal digits.
    pub id: String,
    /// It holds no literal of the statement.
    pub text: String,
}

/// One thing that is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Action {
    /// `cache`, `rewrite`, `deny`, `limit` or `timeout`.
    pub action: String,
    /// The rule that says so.
    pub rule: String,
    /// Its terms: the error's text, the limit, the time, the text that is sent.
    #[serde(default)]
    pub detail: String,
}

/// What became of one rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Tried {
    pub rule: String,
    /// `decides`, `continues`, `no_match` or `not_reached`.
    pub outcome: String,
    /// The keys of `match` that do not fit.
    pub mismatches: Vec<String>,
    /// What it does in this case: its actions that no rule before it has decided.
    pub adds: Vec<String>,
}

/// What Weir would do with a statement, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Explanation {
    pub digest: DigestShown,
    pub facts: Facts,
    /// Every rule in its order.
    pub rules: Vec<Tried>,
    /// What the rules do with it, apart from caching.
    #[serde(default)]
    pub actions: Vec<Action>,
    pub cache: CachePlan,
    /// What tells the stored answer from others, part by part.
    pub key: Vec<KeyPart>,
    pub route: Route,
}

/// What the text of the statement says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Facts {
    /// The kind by which rules match.
    pub kind: String,
    /// It is proven to write and lock nothing.
    pub read_only: bool,
    /// Its answer depends on nothing but data and key, as far as its text tells.
    pub cacheable: bool,
    /// Why it is not `cacheable`.
    pub not_cacheable: Option<String>,
    /// Tables and views that it reads.
    pub reads: Vec<String>,
    /// Tables that it writes.
    pub writes: Vec<String>,
    /// Functions that the server does not have built in.
    pub functions: Vec<String>,
    /// Why the session would keep its server connection behind it.
    pub pins: Vec<String>,
    /// Hints to Weir in its comments.
    pub hints: Vec<String>,
    /// The server family and version whose rules the text was read by.
    pub read_as: String,
}

/// What the cache would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CachePlan {
    pub verdict: Verdict,
    /// The word for why not, as in the counters of refusals.
    pub refusal: Option<String>,
    /// The verdict in words.
    pub why: String,
    /// The rule that decides about the cache.
    pub rule: Option<String>,
    /// What the rule says, as in `weir.toml`.
    pub terms: Option<String>,
    /// What is stored now of this digest, rule and user, whatever the literals: an answer to this very statement may
    /// be among it.
    pub stored: crate::cached::Covered,
    /// What no text shows, and is looked at when the statement comes.
    pub provided: Vec<String>,
    /// Sessions of the user, if one is given, that the rule is for and that cannot be served before they log in again.
    #[serde(default)]
    pub not_served: u64,
}

/// What the cache would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Answer from memory, or store the answer.
    Serve,
    /// Only measure what would have been.
    Shadow,
    /// Leave it alone.
    Refuse,
}

/// A part of the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeyPart {
    pub part: String,
    pub value: String,
}

/// Where the statement would go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Route {
    /// The `name` of `[[server]]`.
    pub server: String,
    pub address: String,
    /// Why the server cannot be reached, if it cannot.
    pub trouble: Option<String>,
    /// How a server connection is had: `session` or `transaction`, as the user's `sharing` says.
    pub sharing: String,
}
