//! From rules back to TOML, for what is changed while Weir runs.

use std::time::Duration;

use toml_edit::{ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value, value};
use weir_model::rule::{CacheMode, CacheRule, CacheShare, LimitRule, Ratio, Rule, RuleMatch};

use crate::report::Report;
use crate::units::duration_text;

/// A rule as it stands in `weir.toml`: `[[rule]]` and its keys, without those that have their default.
pub fn rule_text(rule: &Rule) -> String {
    let mut document = DocumentMut::new();
    let mut tables = ArrayOfTables::new();
    tables.push(table(rule));
    document.insert("rule", Item::ArrayOfTables(tables));
    document.to_string()
}

/// The text of a configuration with other rules. A rule that did not change keeps its text and its comments, and so
/// does everything that is no rule. `old` are the rules of `text`, `new` those that take their place.
///
/// # Errors
/// When `text` is not TOML, or its rules are not `old`: someone has changed the file, and it has to be read first.
pub fn with_rules(name: &str, text: &str, old: &[Rule], new: &[Rule]) -> Result<String, Report> {
    let changed =
        || Report::about(name, "the file has changed since it was read", "reload it, then try again");
    let mut document: DocumentMut = text.parse().map_err(|_| changed())?;
    let before: Vec<Table> = match document.get("rule") {
        None => Vec::new(),
        Some(Item::ArrayOfTables(tables)) => tables.iter().cloned().collect(),
        Some(Item::Value(Value::Array(items))) => {
            items.iter().filter_map(Value::as_inline_table).map(|item| item.clone().into_table()).collect()
        }
        Some(_) => return Err(changed()),
    };
    let named = |table: &Table, rule: &Rule| {
        table.get("name").and_then(Item::as_str).is_some_and(|name| name == rule.name)
    };
    if before.len() != old.len() || !before.iter().zip(old).all(|(table, rule)| named(table, rule)) {
        return Err(changed());
    }
    let kept = |rule: &Rule| {
        let mut pairs = old.iter().zip(&before);
        pairs.find(|(was, _)| *was == rule).map(|(_, table)| table.clone())
    };
    let mut tables: Vec<Table> = new.iter().map(|rule| kept(rule).unwrap_or_else(|| table(rule))).collect();
    // Tables are written in the order of their places, so what is moved and what is new take places one by one.
    let place = before.iter().filter_map(Table::position).min();
    let place = place.unwrap_or_else(|| last_position(document.as_table()) + 1);
    for table in &mut tables {
        set_position(table, place);
    }
    document.remove("rule");
    if !tables.is_empty() {
        document.insert("rule", Item::ArrayOfTables(tables.into_iter().collect()));
    }
    Ok(document.to_string())
}

fn last_position(table: &Table) -> isize {
    let below = table.iter().flat_map(|(_, item)| match item {
        Item::Table(table) => vec![last_position(table)],
        Item::ArrayOfTables(tables) => tables.iter().map(last_position).collect(),
        _ => Vec::new(),
    });
    below.chain(table.position()).max().unwrap_or(0)
}

/// A table and those in it, which follow it.
fn set_position(table: &mut Table, place: isize) {
    table.set_position(Some(place));
    for (_, item) in table.iter_mut() {
        if let Item::Table(inner) = item {
            set_position(inner, place);
        }
    }
}

/// The keys of a rule.
pub(crate) fn table(rule: &Rule) -> Table {
    let mut table = Table::new();
    table.decor_mut().set_prefix("\n");
    table.insert("name", value(&rule.name));
    table.insert("match", value(matches(&rule.matches)));
    if let Some(rule) = &rule.cache {
        table.insert("cache", value(cache(rule)));
    }
    if let Some(rewrite) = &rule.rewrite {
        let mut inline = InlineTable::new();
        inline.insert("pattern", Value::from(&rewrite.pattern));
        inline.insert("with", Value::from(&rewrite.with));
        table.insert("rewrite", value(inline));
    }
    if let Some(text) = &rule.deny {
        table.insert("deny", value(text));
    }
    if let Some(rule) = &rule.limit {
        table.insert("limit", value(limit(rule)));
    }
    if let Some(timeout) = rule.timeout {
        table.insert("timeout", value(duration_text(timeout)));
    }
    if rule.continues {
        table.insert("continue", value(true));
    }
    table
}

fn matches(matches: &RuleMatch) -> InlineTable {
    let mut table = InlineTable::new();
    let texts = [
        ("schema", matches.schema.clone()),
        ("user", matches.user.clone()),
        ("client", matches.client.map(|network| network.to_string())),
        ("digest", matches.digest.clone()),
        ("pattern", matches.pattern.clone()),
        ("table", matches.table.as_ref().map(ToString::to_string)),
        ("kind", matches.kind.map(|kind| kind.as_str().to_owned())),
        ("command", matches.command.map(|command| command.as_str().to_owned())),
    ];
    for (key, text) in texts {
        if let Some(text) = text {
            table.insert(key, Value::from(text));
        }
    }
    table
}

fn cache(rule: &CacheRule) -> InlineTable {
    let mut table = InlineTable::new();
    let mut duration = |key: &str, duration: Option<Duration>| {
        if let Some(duration) = duration.filter(|duration| !duration.is_zero()) {
            table.insert(key, Value::from(duration_text(duration)));
        }
    };
    duration("ttl", Some(rule.ttl));
    duration("soft_ttl", rule.soft_ttl);
    duration("stale_if_error", Some(rule.stale_if_error));
    if rule.mode != CacheMode::Serve {
        table.insert("mode", Value::from(rule.mode.as_str()));
    }
    if rule.share != CacheShare::User {
        table.insert("share", Value::from(rule.share.as_str()));
    }
    if rule.views {
        table.insert("views", Value::from(true));
    }
    if !rule.own_writes {
        table.insert("own_writes", Value::from(false));
    }
    if rule.verify != Ratio::ZERO {
        table.insert("verify", Value::from(rule.verify.to_string()));
    }
    table
}

fn limit(rule: &LimitRule) -> InlineTable {
    let mut table = InlineTable::new();
    if let Some(concurrency) = rule.concurrency {
        table.insert("concurrency", Value::from(i64::from(concurrency)));
    }
    if let Some(rate) = rule.rate {
        table.insert("rate", Value::from(rate.to_string()));
    }
    if !rule.queue.is_zero() {
        table.insert("queue", Value::from(duration_text(rule.queue)));
    }
    table
}

pub use tokens::{tokens_of, with_token, without_token};

#[cfg(test)]
mod tests;
mod tokens;
