//! What the API asks of the rest of Weir.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::advice::{PinAdvice, PinsAsked};
use crate::advised::{AdviceAsked, AdvisedShown, CacheAdvice};
use crate::cached::{CacheState, Covered, Selection};
use crate::error::ApiError;
use crate::explained::{Explanation, Question, Tested};
use crate::history::{CompareAsked, Compared, HistoryAsked, HistoryShown};
use crate::queries::{Queries, QueriesAsked, QueryAsked, QueryShown, Reset};
use crate::rules::{Changed, NewRule, Place, RuleState, RuleTable, RuleText, RulesAsked};
use crate::sessions::{KillWhat, Session, SessionKilled, Sessions, SessionsAsked};
use crate::status::Status;

/// A body without anything in it: `{}`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// What a reload has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reloaded {
    /// Each key with what it was and is, without secrets. Certificates and secrets were read again in any case.
    pub changes: Vec<String>,
}

/// What can be asked of a running Weir, and changed. The handlers of the API call this and nothing else.
///
/// Every method may block (a change writes a file), so it is called on a thread that may.
pub trait Control: Send + Sync + 'static {
    /// The rules in force, in their order, with what was counted.
    ///
    /// # Errors
    /// When what is asked for makes no sense.
    fn rules(&self, asked: RulesAsked) -> Result<RuleTable, ApiError>;

    /// # Errors
    /// When there is no rule of this name.
    fn rule(&self, name: &str) -> Result<RuleState, ApiError>;

    /// Puts one more rule into the list. `held`, here and below, is the [`RuleTable::version`] that this is for.
    ///
    /// # Errors
    /// When the rule or its place is wrong, or the file could not be written. Nothing has changed then; so it is with
    /// all changes.
    fn add(&self, new: &NewRule, held: Option<&str>) -> Result<Changed, ApiError>;

    /// The name that a rule gives itself which was sent as TOML, for the log; `None` where there is none to be found.
    fn name_in(&self, toml: &str) -> Option<String>;

    /// Puts a rule in the place of another, whose name it may keep or change.
    ///
    /// # Errors
    /// As [`Control::add`], and when there is no rule `name`.
    fn replace(&self, name: &str, new: &RuleText, held: Option<&str>) -> Result<Changed, ApiError>;

    /// Puts a rule of the list somewhere else.
    ///
    /// # Errors
    /// As [`Control::add`], and when there is no rule `name`.
    fn move_to(&self, name: &str, place: &Place, held: Option<&str>) -> Result<Changed, ApiError>;

    /// # Errors
    /// As [`Control::add`], and when there is no rule `name`.
    fn remove(&self, name: &str, held: Option<&str>) -> Result<Changed, ApiError>;

    /// Which rules match a statement. It is not run.
    ///
    /// # Errors
    /// When the question makes no sense.
    fn test(&self, question: &Question) -> Result<Tested, ApiError>;

    /// What Weir would do with a statement, and why. It is not run.
    ///
    /// # Errors
    /// When the question makes no sense.
    fn explain(&self, question: &Question) -> Result<Explanation, ApiError>;

    /// What was counted of statements.
    ///
    /// # Errors
    /// When the question makes no sense.
    fn queries(&self, asked: &QueriesAsked) -> Result<Queries, ApiError>;

    /// What was counted of the statements with this digest.
    ///
    /// # Errors
    /// When there are none, or too many rows are asked for.
    fn query(&self, id: &str, asked: QueryAsked) -> Result<QueryShown, ApiError>;

    /// Forgets what was counted of statements.
    fn reset_queries(&self) -> Reset;

    /// What the cache holds and has done.
    fn cache(&self) -> CacheState;

    /// What [`Control::wipe`] would remove.
    ///
    /// # Errors
    /// When the selection names nothing, or what does not exist.
    fn preview(&self, selection: &Selection) -> Result<Covered, ApiError>;

    /// The same selection for the log: where a statement names the digest, the digest's text, which has no literals.
    fn without_literals(&self, selection: &Selection) -> Selection;

    /// Removes entries of the cache.
    ///
    /// # Errors
    /// As [`Control::preview`].
    fn wipe(&self, selection: &Selection) -> Result<Covered, ApiError>;

    /// Reads the configuration file again.
    ///
    /// # Errors
    /// When it is wrong, or changes what cannot change while Weir runs. The old one stays then, whole.
    fn reload(&self) -> Result<Reloaded, ApiError>;

    /// Sessions that there are now.
    ///
    /// # Errors
    /// When the question makes no sense.
    fn sessions(&self, asked: &SessionsAsked) -> Result<Sessions, ApiError>;

    /// The session with this id.
    ///
    /// # Errors
    /// When there is none, or it has ended.
    fn session(&self, id: &str) -> Result<Session, ApiError>;

    /// How Weir is.
    fn status(&self) -> Status;

    /// Tells a session to end, or to end its statement.
    ///
    /// # Errors
    /// When there is none with this id, or it has ended; when its statement is to end, and it is sent the binary log.
    fn kill(&self, id: &str, what: KillWhat) -> Result<SessionKilled, ApiError>;

    /// What keeps sessions on their server connections, and what to change.
    ///
    /// # Errors
    /// When the question makes no sense.
    fn advise_pins(&self, asked: PinsAsked) -> Result<PinAdvice, ApiError>;

    /// What cache rules would do that are not there yet.
    ///
    /// # Errors
    /// When the question makes no sense.
    fn advise_cache(&self, asked: &AdviceAsked) -> Result<CacheAdvice, ApiError>;

    /// What a cache rule for the statements with this digest would do.
    ///
    /// # Errors
    /// When none were seen that might be cached.
    fn advise_cache_of(&self, id: &str) -> Result<AdvisedShown, ApiError>;

    /// What was counted over time.
    ///
    /// # Errors
    /// When the question makes no sense, or there is no history.
    fn history(&self, asked: &HistoryAsked) -> Result<HistoryShown, ApiError>;

    /// How two periods differ in their statements.
    ///
    /// # Errors
    /// As [`Control::history`].
    fn compare(&self, asked: &CompareAsked) -> Result<Compared, ApiError>;
}
