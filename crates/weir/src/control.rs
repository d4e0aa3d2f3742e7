//! What the API can ask of this Weir, and change.

mod advise;
mod cache;
mod effect;
mod explain;
mod history;
mod keeper;
mod named;
mod pins;
mod queries;
mod rules;
mod sessions;
mod status;

pub use keeper::Keeper;
pub use status::last_reload;

use crate::pulse::Pulse;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::{mpsc, oneshot};
use weir_admin::{
    AdviceAsked, AdvisedShown, ApiError, CacheAdvice, CacheState, Changed, Code, Control, Covered,
    Explanation, KillWhat, NewRule, PinAdvice, PinsAsked, Place, Queries, QueriesAsked, QueryAsked,
    QueryShown, Question, Reloaded, Reset, RuleState, RuleTable, RuleText, RulesAsked, Selection, Session,
    SessionKilled, Sessions, SessionsAsked, Status, Tested,
};
use weir_admin::{CompareAsked, Compared, HistoryAsked, HistoryShown};
use weir_cache::Selector;
use weir_model::{ServerFamily, version_number};
use weir_policy::RuleList;
use weir_proxy::Shared;
use weir_sql::LexMode;
use weir_stats::digests::Usage;
use weir_store::History;

/// A running Weir, for the API.
pub struct Live {
    shared: Arc<Shared>,
    keeper: Arc<Keeper>,
    reloads: mpsc::Sender<AskedReload>,
    history: Option<Arc<History>>,
    pulse: Arc<Pulse>,
    started: SystemTime,
    began: Instant,
    said: status::Said,
}

/// A reload that is asked for: where its outcome goes.
pub type AskedReload = oneshot::Sender<Result<Vec<String>, String>>;

impl Live {
    /// Who receives from `reloads` carries them out.
    pub fn new(
        shared: Arc<Shared>,
        keeper: Arc<Keeper>,
        reloads: mpsc::Sender<AskedReload>,
        history: Option<Arc<History>>,
        pulse: Arc<Pulse>,
    ) -> Self {
        keeper.effects.note(&shared, false);
        let (started, began, said) = (SystemTime::now(), Instant::now(), status::Said::default());
        Self { shared, keeper, reloads, history, pulse, started, began, said }
    }

    /// Changes the list and puts it in force, or changes nothing.
    fn change(
        &self,
        what: &'static str,
        held: Option<&str>,
        sent: Option<&str>,
        change: impl FnOnce(&mut RuleList) -> Result<String, ApiError>,
    ) -> Result<Changed, ApiError> {
        let (name, kept) = self.keeper.change(&self.shared, held, sent, change)?;
        if let Some(why) = &kept.unsure {
            tracing::warn!(event = "file_not_synced", %why, "a change through the API may not outlast a crash of this machine");
        }
        tracing::info!(event = "rules_changed", rule = %name, change = what, "rules were changed through the API");
        let rules = self.shared.rules();
        let at = rules.iter().position(|rule| rule.name == name);
        let rule = at.and_then(|at| rules.get(at)).map(std::slice::from_ref).unwrap_or_default();
        let lints = weir_policy::lint(&rules);
        Ok(Changed {
            position: at.map(|at| at + 1),
            not_served: sessions::not_served(rule, &sessions::seen_for(&self.shared, rule)) as u64,
            rule: name,
            file: kept.file,
            warnings: kept.unsure.into_iter().chain(lints.iter().map(ToString::to_string)).collect(),
            wiped: Covered::default(),
        })
    }
}

impl Control for Live {
    fn rules(&self, asked: RulesAsked) -> Result<RuleTable, ApiError> {
        if asked.limit == Some(0) {
            return Err(ApiError::new(Code::BadRequest, "limit is 1 or more"));
        }
        let rules = self.shared.rules();
        let seen = sessions::seen_for(&self.shared, &rules);
        let offset = asked.offset.unwrap_or(0);
        let page = offset..offset.saturating_add(asked.limit.unwrap_or(usize::MAX));
        Ok(RuleTable {
            rules: rules::states(&self.shared, &rules, page, &seen),
            total: rules.len(),
            offset,
            version: keeper::version(&rules),
            file: self.keeper.file(),
            not_served: sessions::not_served(&rules, &seen) as u64,
        })
    }

    fn rule(&self, name: &str) -> Result<RuleState, ApiError> {
        let rules = self.shared.rules();
        let at = rules.iter().position(|rule| rule.name == name);
        let at = at.ok_or_else(|| rules::by_digest(&self.shared, name, unknown_rule(name)))?;
        let seen = sessions::seen_for(&self.shared, &rules);
        let effect = rules.get(at).and_then(|rule| self.keeper.effects.of(&self.shared, rule));
        let state = rules::states(&self.shared, &rules, at..at + 1, &seen).pop();
        state.map(|state| RuleState { effect, ..state }).ok_or_else(|| unknown_rule(name))
    }

    fn add(&self, new: &NewRule, held: Option<&str>) -> Result<Changed, ApiError> {
        let rule = rules::read(new.rule.as_ref(), new.toml.as_deref())?;
        let place = rules::place(new.place.as_ref().unwrap_or(&Place::Last));
        self.change("added", held, new.toml.as_deref(), move |list| {
            let name = rule.name.clone();
            list.add(rule, &place).map_err(rules::refused)?;
            Ok(name)
        })
    }

    fn name_in(&self, toml: &str) -> Option<String> {
        rules::name_in(toml)
    }

    fn replace(&self, name: &str, new: &RuleText, held: Option<&str>) -> Result<Changed, ApiError> {
        let rule = rules::read(new.rule.as_ref(), new.toml.as_deref())?;
        self.change("replaced", held, new.toml.as_deref(), move |list| {
            let new_name = rule.name.clone();
            list.replace(name, rule).map_err(rules::refused)?;
            Ok(new_name)
        })
        .map_err(|error| rules::by_digest(&self.shared, name, error))
    }

    fn move_to(&self, name: &str, place: &Place, held: Option<&str>) -> Result<Changed, ApiError> {
        self.change("moved", held, None, |list| {
            list.move_to(name, &rules::place(place)).map_err(rules::refused)?;
            Ok(name.to_owned())
        })
        .map_err(|error| rules::by_digest(&self.shared, name, error))
    }

    fn remove(&self, name: &str, held: Option<&str>) -> Result<Changed, ApiError> {
        let done = self
            .change("removed", held, None, |list| {
                list.remove(name).map_err(rules::refused)?;
                Ok(name.to_owned())
            })
            .map_err(|error| rules::by_digest(&self.shared, name, error))?;
        // Who makes it again, because its answers were too old perhaps, is not to find them there.
        let wiped = self.shared.cache().wipe(&Selector::all().rule(&done.rule));
        Ok(Changed { wiped: cache::covered(wiped), ..done })
    }

    fn test(&self, question: &Question) -> Result<Tested, ApiError> {
        explain::test(&self.shared, question)
    }

    fn explain(&self, question: &Question) -> Result<Explanation, ApiError> {
        explain::explain(&self.shared, question)
    }

    fn queries(&self, asked: &QueriesAsked) -> Result<Queries, ApiError> {
        let Some((from, to)) = history::period(&history::Words::of(asked), history::now())? else {
            return queries::list(&self.shared, asked);
        };
        let period = history::read(self.history.as_deref(), |history| history.period(from, to))?;
        let seen = history::seen(&period, (from, to));
        let counted = queries::Counted {
            lines: queries::Lines::Kept(&period),
            began_at: UNIX_EPOCH,
            usage: Usage::default(),
            unchanged: queries::Unchanged::default(),
        };
        Ok(Queries { period: Some(seen), ..queries::listed(&counted, asked)? })
    }

    fn query(&self, id: &str, asked: QueryAsked) -> Result<QueryShown, ApiError> {
        queries::show(&self.shared, id, asked)
    }

    fn reset_queries(&self) -> Reset {
        // What was counted by now belongs to the history.
        if let Some(history) = &self.history {
            history.flush();
        }
        let reset = queries::reset(&self.shared);
        self.keeper.effects.reset();
        reset
    }

    fn cache(&self) -> CacheState {
        cache::state(&self.shared)
    }

    fn preview(&self, selection: &Selection) -> Result<Covered, ApiError> {
        let selector = cache::selector(&self.shared, selection)?;
        let covered = cache::covered(self.shared.cache().preview(&selector));
        cache::known(&self.shared, &selector).map(|()| covered)
    }

    fn without_literals(&self, selection: &Selection) -> Selection {
        cache::without_literals(&self.shared, selection)
    }

    fn wipe(&self, selection: &Selection) -> Result<Covered, ApiError> {
        let selector = cache::selector(&self.shared, selection)?;
        let wiped = cache::covered(self.shared.cache().wipe(&selector));
        // Only now: what is under way is not stored also where nothing of this name was known, as it should be.
        cache::known(&self.shared, &selector)?;
        tracing::info!(event = "cache_wiped", selection = %cache::shown(&self.shared, selection), entries = wiped.entries,
            bytes = wiped.bytes, "the cache was wiped through the API");
        Ok(wiped)
    }

    fn reload(&self) -> Result<Reloaded, ApiError> {
        let (outcome, told) = oneshot::channel();
        let asked = self.reloads.blocking_send(outcome).map_err(|_| ());
        // Both ends are dropped when Weir stops.
        let stopping = |()| not_reloaded("Weir is shutting down".to_owned());
        let told = asked.and_then(|()| told.blocking_recv().map_err(|_| ())).map_err(stopping)?;
        told.map(|changes| Reloaded { changes }).map_err(not_reloaded)
    }

    fn sessions(&self, asked: &SessionsAsked) -> Result<Sessions, ApiError> {
        sessions::list(&self.shared, asked)
    }

    fn session(&self, id: &str) -> Result<Session, ApiError> {
        sessions::show(&self.shared, id)
    }

    fn status(&self) -> Status {
        self.status_now()
    }

    fn kill(&self, id: &str, what: KillWhat) -> Result<SessionKilled, ApiError> {
        sessions::kill(&self.shared, id, what)
    }

    fn advise_pins(&self, asked: PinsAsked) -> Result<PinAdvice, ApiError> {
        pins::advise(&self.shared, asked)
    }

    fn advise_cache(&self, asked: &AdviceAsked) -> Result<CacheAdvice, ApiError> {
        advise::cache(&self.shared, asked)
    }

    fn advise_cache_of(&self, id: &str) -> Result<AdvisedShown, ApiError> {
        advise::cache_of(&self.shared, id)
    }

    fn history(&self, asked: &HistoryAsked) -> Result<HistoryShown, ApiError> {
        history::show(self.history.as_deref(), asked)
    }

    fn compare(&self, asked: &CompareAsked) -> Result<Compared, ApiError> {
        history::compare(self.history.as_deref(), asked)
    }
}

fn not_reloaded(why: String) -> ApiError {
    ApiError::new(Code::NotReloaded, why)
}

fn unknown_rule(name: &str) -> ApiError {
    ApiError::new(Code::UnknownRule, format!("there is no rule `{name}`: `weir rules list` shows all"))
}

/// How the server reads a statement of a fresh session with a UTF-8 client.
fn mode(shared: &Shared) -> LexMode {
    match shared.upstream.greeting() {
        Some(greeting) => LexMode::new(greeting.family(), version_number(&greeting.version)),
        None => LexMode::new(ServerFamily::MySql, 0),
    }
}
