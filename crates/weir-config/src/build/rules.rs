//! From the checked values of `[[rule]]` to a rule.

use weir_model::rule::{
    CacheMode, CacheRule, CacheShare, LimitRule, Ratio, Rewrite, Rule, RuleCommand, RuleKind, RuleMatch,
};

use super::{duration, flag, number};
use crate::walk::{Found, Value};

/// `None` when a required value is absent, which the walk has reported.
pub(crate) fn rule(found: &Found) -> Option<Rule> {
    let cache = match found.table("cache") {
        Some(table) => Some(cache(table)?),
        None => None,
    };
    let rewrite = match found.table("rewrite") {
        Some(table) => Some(Rewrite { pattern: text(table, "pattern")?, with: text(table, "with")? }),
        None => None,
    };
    Some(Rule {
        name: text(found, "name")?,
        matches: matches(found.table("match")?),
        cache,
        rewrite,
        deny: text(found, "deny"),
        limit: found.table("limit").map(limit),
        timeout: found.duration("timeout").map(|(timeout, _)| timeout),
        continues: flag(found, "continue"),
    })
}

fn matches(found: &Found) -> RuleMatch {
    let value = |name| found.entry(name).map(|entry| &entry.value);
    RuleMatch {
        schema: text(found, "schema"),
        user: text(found, "user"),
        client: match value("client") {
            Some(Value::Network(network)) => Some(*network),
            _ => None,
        },
        digest: text(found, "digest"),
        pattern: text(found, "pattern"),
        table: match value("table") {
            Some(Value::TableName(table)) => Some(table.clone()),
            _ => None,
        },
        kind: found.text("kind").and_then(|(word, _)| RuleKind::from_word(word)),
        command: found.text("command").and_then(|(word, _)| RuleCommand::from_word(word)),
    }
}

fn cache(found: &Found) -> Option<CacheRule> {
    Some(CacheRule {
        mode: CacheMode::from_word(found.text("mode")?.0)?,
        ttl: duration(found, "ttl"),
        soft_ttl: found.duration("soft_ttl").map(|(age, _)| age),
        stale_if_error: duration(found, "stale_if_error"),
        share: CacheShare::from_word(found.text("share")?.0)?,
        views: flag(found, "views"),
        own_writes: flag(found, "own_writes"),
        verify: match found.entry("verify").map(|entry| &entry.value) {
            Some(Value::Ratio(ratio)) => *ratio,
            _ => Ratio::ZERO,
        },
    })
}

fn limit(found: &Found) -> LimitRule {
    LimitRule {
        concurrency: found.has("concurrency").then(|| number(found, "concurrency")),
        rate: match found.entry("rate").map(|entry| &entry.value) {
            Some(Value::Rate(rate)) => Some(*rate),
            _ => None,
        },
        queue: duration(found, "queue"),
    }
}

fn text(found: &Found, name: &str) -> Option<String> {
    found.text(name).map(|(text, _)| text.to_owned())
}
