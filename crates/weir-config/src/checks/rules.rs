//! Checks of `[[rule]]` and `[cache]` across keys.

use weir_model::rule::{CacheMode, MAX_RULES, Ratio};

use super::{duplicates, plain_name};
use crate::types::HintsFrom;
use crate::units;
use crate::walk::{Entry, Finding, Found, Value};

pub(super) fn all(root: &Found, findings: &mut Vec<Finding>) {
    let rules = root.tables("rule");
    duplicates("rule", rules, findings);
    if let Some(one_more) = rules.get(MAX_RULES) {
        let message = format!("there are {} rules", rules.len());
        findings.push(Finding::new(one_more.span.clone(), message, format!("{MAX_RULES} at most")));
    }
    for found in rules {
        rule(found, findings);
    }
    if let Some(cache) = root.table("cache") {
        memory(cache, findings);
        hints(cache, findings);
    }
}

/// What can be wrong with one rule, whatever the others are.
pub(crate) fn rule(rule: &Found, findings: &mut Vec<Finding>) {
    plain_name("rule", rule, findings);
    if let Some(found) = rule.table("cache") {
        cache(found, findings);
    }
}

fn cache(cache: &Found, findings: &mut Vec<Finding>) {
    let Some((word, _)) = cache.text("mode") else { return };
    if word != CacheMode::Off.as_str() && !cache.has("ttl") && !cache.broken("ttl") {
        let hint = "say how old an answer may become, for example ttl = \"30s\"";
        let finding = Finding::new(cache.span.clone(), "`ttl` is missing in `[rule.cache]`", hint);
        findings.push(Finding { missing: true, ..finding });
    }
    if let (Some((ttl, _)), Some((soft, span))) = (cache.duration("ttl"), cache.duration("soft_ttl"))
        && soft >= ttl
    {
        let (soft, ttl) = (units::duration_text(soft), units::duration_text(ttl));
        let message = format!("`soft_ttl` ({soft}) is not below `ttl` ({ttl})");
        findings.push(Finding::new(span, message, "an answer is refreshed before its time is over, or not"));
    }
    if let Some(Entry { value: Value::Ratio(ratio), span }) = cache.entry("verify")
        && *ratio != Ratio::ZERO
        && word != CacheMode::Serve.as_str()
    {
        let hint = format!("with mode = \"{word}\" nothing is served; leave `verify` out");
        findings.push(Finding::new(span.clone(), "`verify` is about answers that were served", hint));
    }
}

fn memory(cache: &Found, findings: &mut Vec<Finding>) {
    let size = |name| match cache.entry(name) {
        Some(Entry { value: Value::Number(bytes), span }) => Some((*bytes, span.clone())),
        _ => None,
    };
    let (Some((memory, whole)), Some((entry, span))) = (size("memory"), size("max_entry")) else { return };
    if entry > memory {
        let span = if span == cache.span { whole } else { span };
        let (entry, memory) = (units::size_text(entry), units::size_text(memory));
        let message = format!("`max_entry` ({entry}) is above `memory` ({memory})");
        findings.push(Finding::new(span, message, "no such answer would ever be kept"));
    }
    let Some((user, span)) = size("user_memory") else { return };
    let text = units::size_text;
    if user > memory {
        let message = format!("`user_memory` ({}) is above `memory` ({})", text(user), text(memory));
        findings.push(Finding::new(span, message, "it would limit nothing; leave it out"));
    }
}

fn hints(cache: &Found, findings: &mut Vec<Finding>) {
    let Some((word, span)) = cache.text("hints") else { return };
    let listed = word == HintsFrom::Listed.as_str();
    if let (Some((_, span)), false) = (cache.texts("hint_users").first(), listed) {
        let hint = "set hints = \"listed\", or leave `hint_users` out";
        findings.push(Finding::new(span.clone(), "these users are not asked for", hint));
    }
    if listed && cache.texts("hint_users").is_empty() && !cache.broken("hint_users") {
        let hint = "list users in `hint_users`, or set hints = \"off\"";
        findings.push(Finding { missing: true, ..Finding::new(span, "`hints` are those of nobody", hint) });
    }
}
