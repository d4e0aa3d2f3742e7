//! Rules, between the API's form and ours.

use super::named::Named;
use serde_json::Value;
use std::collections::HashMap;
use std::ops::Range;
use std::time::SystemTime;
use weir_admin::{ApiError, Code, Place, RuleDeeds, RuleState};
use weir_cache::RuleStats;
use weir_model::Rule;
use weir_policy::ListError;
use weir_proxy::{RuleDeed, SessionSeen, Shared};
use weir_sql::Digest;

/// These of the rules in force, with what they are to the sessions that were seen.
pub fn states(shared: &Shared, rules: &[Rule], page: Range<usize>, seen: &[SessionSeen]) -> Vec<RuleState> {
    let counts = shared.rule_counts();
    let counts: HashMap<&str, _> = counts.iter().map(|count| (count.name.as_str(), count)).collect();
    let stats = shared.cache().stats().rules;
    let stats: HashMap<&str, &RuleStats> = stats.iter().map(|stats| (&*stats.name, stats)).collect();
    let mut warnings: HashMap<String, Vec<String>> = HashMap::new();
    for lint in weir_policy::lint(rules) {
        let text = lint.to_string();
        warnings.entry(lint.rule).or_default().push(text);
    }
    let mut state = |(rule, position): (&Rule, usize)| {
        let name = rule.name.as_str();
        let count = counts.get(name);
        let counted = stats.get(name).map(|stats| super::cache::counts(stats));
        let silent = |counts: &weir_admin::CacheCounts| *counts == weir_admin::CacheCounts::default();
        RuleState {
            name: name.to_owned(),
            position,
            rule: weir_config::rule_json(rule),
            toml: weir_config::rule_text(rule).trim_start().to_owned(),
            hits: count.map_or(0, |count| count.hits),
            last_hit: count.and_then(|count| count.last_hit).map(seconds),
            time_seconds: count.map_or(0.0, |count| count.took.as_secs_f64()),
            done: count.map_or_else(Default::default, |count| deeds(count.deeds)),
            warnings: warnings.remove(name).unwrap_or_default(),
            not_served: super::sessions::not_served(std::slice::from_ref(rule), seen) as u64,
            cache: counted.filter(|counts| rule.cache.is_some() || !silent(counts)),
            effect: None,
        }
    };
    rules.iter().zip(1..).skip(page.start).take(page.len()).map(&mut state).collect()
}

fn deeds([denied, rewritten, waited, rejected, timed_out]: [u64; RuleDeed::ALL.len()]) -> RuleDeeds {
    RuleDeeds { denied, rewritten, waited, rejected, timed_out }
}

fn seconds(moment: SystemTime) -> u64 {
    moment.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Reads a rule in the one form that is given.
pub fn read(object: Option<&Value>, toml: Option<&str>) -> Result<Rule, ApiError> {
    let read = match (object, toml) {
        (Some(object), None) => weir_config::rule_from_json("the rule", object),
        (None, Some(toml)) => weir_config::parse_rule("the rule", toml),
        _ => {
            return Err(ApiError::new(
                Code::BadRequest,
                "give the rule as `rule` or as `toml`, and not as both",
            ));
        }
    };
    read.map_err(|report| ApiError::new(Code::BadRule, report.to_string()))
}

/// The name that a rule gives itself, whatever else is wrong with it.
pub fn name_in(toml: &str) -> Option<String> {
    let table: toml::Table = toml.parse().ok()?;
    let rule = table.get("rule").and_then(|rules| rules.get(0)?.as_table()).unwrap_or(&table);
    rule.get("name")?.as_str().map(str::to_owned)
}

pub fn place(place: &Place) -> weir_policy::Place {
    match place {
        Place::First => weir_policy::Place::First,
        Place::Last => weir_policy::Place::Last,
        Place::Before(name) => weir_policy::Place::Before(name.clone()),
        Place::After(name) => weir_policy::Place::After(name.clone()),
    }
}

/// A name that is not known may be a digest's id: then the error tells which rules match that.
pub fn by_digest(shared: &Shared, name: &str, error: ApiError) -> ApiError {
    let Named::Id(id) = Named::of(name) else { return error };
    if error.code != Code::UnknownRule {
        return error;
    }
    let (rules, mode) = (shared.rules(), super::mode(shared));
    let matches = |rule: &&Rule| {
        let text = rule.matches.digest.as_deref();
        text.is_some_and(|text| Digest::meant(text.as_bytes(), mode).id == id)
    };
    let names: Vec<String> = rules.iter().filter(matches).map(|rule| format!("`{}`", rule.name)).collect();
    let text = match &*names {
        [] => format!(
            "there is no rule `{name}`, and none that matches this digest: `weir rules list` shows all"
        ),
        [rule] => format!("there is no rule `{name}`; the one that matches this digest is called {rule}"),
        rules => {
            format!("there is no rule `{name}`; those that match this digest are called {}", rules.join(", "))
        }
    };
    ApiError::new(Code::UnknownRule, text)
}

pub fn refused(error: ListError) -> ApiError {
    match error {
        ListError::UnknownName(name) => super::unknown_rule(&name),
        ListError::DuplicateName(name) => ApiError::new(
            Code::DuplicateRule,
            format!(
                "there is already a rule `{name}`: change that one with `weir rules edit {name}`, or give this one another name"
            ),
        ),
        ListError::BesideItself(_) | ListError::Full => ApiError::new(Code::BadRule, error.to_string()),
    }
}
