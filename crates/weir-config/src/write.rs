//! From rules back to TOML, for what is changed while Weir runs.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use toml_edit::{ArrayOfTables, DocumentMut, InlineTable, Item, RawString, Table, Value, value};
use weir_model::rule::{CacheMode, CacheRule, CacheShare, LimitRule, Ratio, Rule, RuleMatch};

use crate::report::Report;
use crate::units::duration_text;
use places::Part;

/// A rule as it stands in `weir.toml`: `[[rule]]` and its keys, without those that have their default.
pub fn rule_text(rule: &Rule) -> String {
    let mut document = DocumentMut::new();
    let mut tables = ArrayOfTables::new();
    tables.push(table(rule));
    document.insert("rule", Item::ArrayOfTables(tables));
    document.to_string()
}

/// The text of a configuration with other rules. Rules keep their places as far as these are the same, their layout and their
/// comments; of one that changed the values change that did, and everything that is no rule stays as it is. `old` are the rules of
/// `text`, `new` those that take their place, and `sent` the text of one of these, whose comments come with it.
///
/// # Errors
/// When `text` is not TOML, or its rules are not `old`: someone has changed the file, and it has to be read first.
pub fn with_rules(
    name: &str,
    text: &str,
    old: &[Rule],
    new: &[Rule],
    sent: Option<&str>,
) -> Result<String, Report> {
    let changed =
        || Report::about(name, "the file has changed since it was read", "reload it, then try again");
    let mut document: DocumentMut = text.parse().map_err(|_| changed())?;
    let tails = tails::take(&mut document);
    let before = rules_of(&document).ok_or_else(changed)?;
    let named = |table: &Table, rule: &Rule| {
        table.get("name").and_then(Item::as_str).is_some_and(|name| name == rule.name)
    };
    if before.len() != old.len() || !before.iter().zip(old).all(|(table, rule)| named(table, rule)) {
        return Err(changed());
    }
    let sent = sent.and_then(table_of);
    if old == new && sent.is_none() {
        return Ok(text.to_owned());
    }
    let from = origins(old, new);
    let part = |(rule, from): (&Rule, Option<usize>)| {
        let sent = sent.as_ref().filter(|sent| named(sent, rule));
        let was = from.and_then(|from| Some((old.get(from)?, before.get(from)?)));
        let mut table = match (was, sent) {
            (Some((was, there)), sent) => changed_table(there, was, rule, sent),
            (None, Some(sent)) => sent.clone(),
            (None, None) => table(rule),
        };
        if let Some(tail) = from.and_then(|from| tails.get(from)) {
            tails::put(&mut table, tail);
        }
        Part { table, from }
    };
    let parts = new.iter().zip(from).map(part).collect();
    document.remove("rule");
    places::place(&mut document, &before, parts);
    let written = document.to_string();
    // Where the first line has gone, there may be a blank one in its place.
    Ok(if text.starts_with('\n') { written } else { written.trim_start_matches('\n').to_owned() })
}

/// Which of the old rules each of the new ones was: that of its name, or the one whose place it has taken.
fn origins(old: &[Rule], new: &[Rule]) -> Vec<Option<usize>> {
    let places: HashMap<&str, usize> = old.iter().map(|rule| rule.name.as_str()).zip(0..).collect();
    let names: HashSet<&str> = new.iter().map(|rule| rule.name.as_str()).collect();
    let renamed = |at: usize| {
        let was = old.get(at).filter(|_| old.len() == new.len())?;
        (!names.contains(was.name.as_str())).then_some(at)
    };
    let origin = |(rule, at): (&Rule, usize)| places.get(rule.name.as_str()).copied().or_else(|| renamed(at));
    new.iter().zip(0..).map(origin).collect()
}

/// The tables of the rules; `None` where `rule` is something else.
fn rules_of(document: &DocumentMut) -> Option<Vec<Table>> {
    let in_list = |item: &Value| {
        let mut table = item.as_inline_table()?.clone().into_table();
        let above = item.decor().prefix().and_then(RawString::as_str).unwrap_or_default();
        let comments = above.lines().map(str::trim).filter(|line| line.starts_with('#'));
        let comments: String = comments.map(|line| format!("{line}\n")).collect();
        table.decor_mut().set_prefix(format!("\n{comments}"));
        Some(table)
    };
    match document.get("rule") {
        None => Some(Vec::new()),
        Some(Item::ArrayOfTables(tables)) => Some(tables.iter().cloned().collect()),
        Some(Item::Value(Value::Array(items))) => {
            let mut tables: Vec<Table> = items.iter().filter_map(in_list).collect();
            let above = document.key("rule").and_then(|key| key.leaf_decor().prefix()?.as_str());
            if let (Some(first), Some(above)) = (tables.first_mut(), above.filter(|it| it.contains('#'))) {
                let own = places::prefix(first).to_owned();
                first.decor_mut().set_prefix(format!("\n{}{own}", above.trim_start()));
            }
            Some(tables)
        }
        Some(_) => None,
    }
}

/// A table with what the rule in it has become.
fn changed_table(there: &Table, was: &Rule, rule: &Rule, sent: Option<&Table>) -> Table {
    let mut there = there.clone();
    if was != rule {
        merge::merge(&mut there, &table(was), &table(rule));
    }
    if let Some(sent) = sent {
        merge::comment_header(&mut there, sent);
        merge::comment(&mut there, sent);
    }
    there
}

/// The one table in the text of a rule, with `[[rule]]` above it or without.
fn table_of(text: &str) -> Option<Table> {
    let document: DocumentMut = text.parse().ok()?;
    match document.get("name") {
        Some(_) => Some(document.as_table().clone()),
        None => rules_of(&document)?.into_iter().next(),
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

mod merge;
mod places;
mod tails;
#[cfg(test)]
mod tests;
mod tokens;
