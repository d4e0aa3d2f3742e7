//! `weir explain` and `weir rules test`

use super::show::{bytes, entries, not_served, pairs, table};
use weir_admin::{Action, Explanation, Tested, Tried, Verdict};

pub fn tested(tested: &Tested) -> String {
    let mut text = match &tested.decides {
        Some(rule) => format!("rule {rule} decides"),
        None => "no rule decides".to_owned(),
    };
    for action in &tested.actions {
        text.push_str(&format!("\n{}", done(action)));
    }
    text.push_str(&format!(
        "\n\ndigest {}\n{}\n\n{}\n",
        tested.digest.id,
        tested.digest.text,
        tried(&tested.tried)
    ));
    text
}

/// One action and its terms.
fn done(action: &Action) -> String {
    let detail = if action.detail.is_empty() { String::new() } else { format!(" ({})", action.detail) };
    format!("{}: by rule {}{detail}", action.action, action.rule)
}

pub fn show(told: &Explanation) -> String {
    let yes_no = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let facts = &told.facts;
    let cacheable = match &facts.not_cacheable {
        Some(reason) => format!("no: {reason}"),
        None => yes_no(facts.cacheable),
    };
    let mut text = pairs(&[
        ("digest", format!("{} {}", told.digest.id, told.digest.text)),
        ("kind", facts.kind.clone()),
        ("read-only", yes_no(facts.read_only)),
        ("cacheable", cacheable),
        ("reads", facts.reads.join(", ")),
        ("writes", facts.writes.join(", ")),
        ("functions", facts.functions.join(", ")),
        ("pins", facts.pins.join(", ")),
        ("hints", facts.hints.join(", ")),
        ("read as", facts.read_as.clone()),
    ]);
    if !told.actions.is_empty() {
        let lines: Vec<String> = told.actions.iter().map(done).collect();
        text.push_str(&format!("\n{}\n", lines.join("\n")));
    }
    let cache = &told.cache;
    let verdict = match cache.verdict {
        Verdict::Serve => "answers from memory, or stores the answer",
        Verdict::Shadow => "shadow, only measures what would have been",
        Verdict::Refuse => "leaves it alone",
    };
    let refusal = cache.refusal.as_ref().map(|word| format!(" ({word})")).unwrap_or_default();
    let stored = match cache.stored.entries {
        0 => String::new(),
        n => format!("{} of this digest, rule and user, {}", entries(n), bytes(cache.stored.bytes)),
    };
    text.push('\n');
    text.push_str(&pairs(&[
        ("cache", format!("{verdict}{refusal}: {}", cache.why)),
        ("rule", cache.rule.clone().unwrap_or_default()),
        ("terms", cache.terms.clone().unwrap_or_default()),
        ("stored now", stored),
        ("provided", cache.provided.join("\n")),
        ("not served", not_served(cache.not_served)),
    ]));
    let key: Vec<(&str, String)> =
        told.key.iter().map(|part| (part.part.as_str(), part.value.clone())).collect();
    if !key.is_empty() {
        text.push_str(&format!("\nkey\n{}", indented(&pairs(&key))));
    }
    text.push('\n');
    text.push_str(&pairs(&[
        ("goes to", format!("{} at {}", told.route.server, told.route.address)),
        ("trouble", told.route.trouble.clone().unwrap_or_default()),
        ("sharing", told.route.sharing.clone()),
    ]));
    text.push_str(&format!("\n{}\n", tried(&told.rules)));
    text
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

fn tried(rules: &[Tried]) -> String {
    if rules.is_empty() {
        return "no rules".to_owned();
    }
    let rows = rules.iter().map(|rule| {
        let outcome = match rule.outcome.as_str() {
            "decides" => "matches, and decides",
            "continues" => "matches, and lets later rules add",
            "no_match" => "does not match",
            "not_reached" => "not reached",
            other => other,
        };
        let why = match rule.mismatches.join(", ") {
            keys if keys.is_empty() => String::new(),
            keys => format!("{keys} differs"),
        };
        vec![rule.rule.clone(), outcome.to_owned(), why, rule.adds.join(", ")]
    });
    table(&["rule", "outcome", "=because", "=adds"], rows)
}

#[cfg(test)]
mod tests;
