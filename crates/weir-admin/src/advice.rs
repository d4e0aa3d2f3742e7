//! What Weir advises, as the API shows it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Which of the statements and users are wanted that keep connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PinsAsked {
    /// How many of each; 20 by default, 1,000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1_000)]
    pub limit: Option<usize>,
    /// How many of each are left out before them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 0)]
    pub offset: Option<usize>,
}

/// What keeps sessions on their server connections, what that costs, and what to change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PinAdvice {
    /// `analytics.enabled`: without it only what sessions do now is known.
    pub enabled: bool,
    /// How long has been counted.
    pub observed_seconds: f64,
    /// Connections that sessions kept beyond a statement, on average over that time.
    pub connections: f64,
    /// Sessions that keep one now.
    pub sessions_now: u64,
    /// The same by reason, the longest kept first.
    pub reasons: Vec<PinnedFor>,
    /// The statements behind which connections were kept, the longest first.
    pub statements: Vec<PinnedBehind>,
    /// How many statements there are in all.
    #[serde(default)]
    pub total_statements: usize,
    /// The same by user.
    pub users: Vec<PinnedBy>,
    /// How many users there are in all.
    #[serde(default)]
    pub total_users: usize,
    /// How many of each of these two lists were left out before those.
    #[serde(default)]
    pub offset: usize,
}

/// A reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PinnedFor {
    /// As in `weir_pins_total`.
    pub reason: String,
    /// How often it has made a session keep its connection.
    pub times: u64,
    /// How long, in all. Reasons that hold at once each count.
    pub seconds: f64,
    /// Sessions with it now.
    pub sessions_now: u64,
    /// What to change.
    pub advice: String,
}

/// A statement behind which connections were kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PinnedBehind {
    /// The digest's id.
    pub id: String,
    pub digest: String,
    pub user: String,
    pub schema: String,
    /// How often, by reason.
    pub times: BTreeMap<String, u64>,
    /// How long, by reason.
    pub seconds: BTreeMap<String, f64>,
    /// How long connections were kept that this statement was the first to keep.
    pub kept_seconds: f64,
    /// Connections that this comes to on average.
    pub connections: f64,
}

/// A user whose sessions have kept connections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PinnedBy {
    pub user: String,
    /// How long, all sessions together.
    pub kept_seconds: f64,
    /// Connections that this comes to on average.
    pub connections: f64,
    /// Sessions that keep one now.
    pub sessions_now: u64,
    /// The reason that has kept them longest.
    pub reason: Option<String>,
}
