//! The HTTP face of Weir: `/healthz`, `/readyz`, `/metrics`, and the REST API under `/api/v1`.
//!
//! This crate shows what other floors count and tell, and carries requests to [`Control`], which the roof implements;
//! it must not decide anything about clients, servers or their traffic, and nothing in the house depends on it but the
//! roof. It shows no secrets, and no statements of clients unless `analytics.samples` is on. Who may ask what is decided in one place, `access.rs`, before anything else.

mod access;
mod advice;
mod advised;
mod api;
mod cached;
mod control;
mod error;
mod explained;
mod history;
mod process;
mod queries;
mod routes;
mod rules;
mod serve;
mod sessions;
mod status;
#[cfg(test)]
mod testing;

use std::sync::Arc;
use std::time::SystemTime;

pub use access::{AUDIT, Access, FromPeer, Peer, REFUSED};
pub use advice::{PinAdvice, PinnedBehind, PinnedBy, PinnedFor, PinsAsked};
pub use advised::{AdviceAsked, Advised, AdvisedShown, CacheAdvice, NotWorth, Predicted};
pub use api::openapi;
pub use cached::{CacheState, Covered, RuleCacheState, Selection, UserCacheState};
pub use control::{Control, Reloaded};
pub use error::{ApiError, Code, ErrorBody};
pub use explained::{
    Action, CachePlan, DigestShown, Explanation, Facts, KeyPart, Question, Route, Tested, Tried, Verdict,
};
pub use history::{
    CompareAsked, Compared, ComparedCounts, ComparedQueries, ComparedQuery, HistoryAsked, HistoryPoint,
    HistoryShown, HistoryState, Period,
};
pub use queries::{
    By, Quadrant, QuadrantSum, Queries, QueriesAsked, Query, QueryAsked, QueryCounts, QueryShown, Reset,
    SortBy, Times, Together,
};
pub use rules::{
    CacheCounts, Changed, EffectCounts, MeanTime, Move, NewRule, Place, RuleDeeds, RuleEffect, RuleState,
    RuleTable, RuleText, RulesAsked, StaleAges,
};
pub use serve::serve;
pub use sessions::{
    KillAsked, KillWhat, NotServed, Session, SessionKilled, SessionSort, SessionState, SessionStatement,
    Sessions, SessionsAsked,
};
pub use status::{
    CacheStatus, ClientsStatus, ConnectionsStatus, LastReload, ProcessStatus, ServerStatus, Status,
    Suggestion, SuggestionKind, Traffic, Warning, WarningKind,
};
pub use weir_stats::Readiness;
use weir_stats::Stats;
pub use weir_stats::{Extra, Kind};

/// What the answers are made of.
pub struct AdminState {
    stats: Arc<Stats>,
    readiness: Arc<Readiness>,
    version: &'static str,
    started: SystemTime,
    /// Metrics of other floors, asked for at each scrape.
    more: More,
    control: Arc<dyn Control>,
    access: Arc<Access>,
}

/// Gives metrics that are counted elsewhere; several samples of one name stand together.
pub type More = Box<dyn Fn() -> Vec<Extra> + Send + Sync>;

impl AdminState {
    /// `version` is that of the binary; `started` is when the process began.
    pub fn new(
        stats: Arc<Stats>,
        readiness: Arc<Readiness>,
        version: &'static str,
        started: SystemTime,
        more: More,
        control: Arc<dyn Control>,
        access: Arc<Access>,
    ) -> Arc<Self> {
        Arc::new(Self { stats, readiness, version, started, more, control, access })
    }
}
