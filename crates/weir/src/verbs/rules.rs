//! `weir rules ...`

use super::client::Refused;
use super::show::{
    COUNTS, ago, bytes, counts, entries, not_served, optional, pairs, part, percent, plural, reasons,
    seconds, table, table_of,
};
use super::{Asked, escaped, explain, query};
use crate::cli::{RuleArgs, RuleFlags, RulesVerb};
use anyhow::{Result, ensure};
use serde_json::Value;
use weir_admin::{
    CacheCounts, Changed, Code, EffectCounts, MeanTime, Move, Place, QueryShown, Question, RuleDeeds,
    RuleEffect, RuleState, RuleTable, RuleText,
};

pub fn run(verb: RulesVerb) -> Result<()> {
    match verb {
        RulesVerb::List { limit, offset, at } => {
            let mut pairs = vec![("offset", offset.to_string())];
            pairs.extend(limit.map(|limit| ("limit", limit.to_string())));
            Asked::new(&at)?.get(&query("/rules", &pairs))?.show(list)
        }
        RulesVerb::Show { name, at } => Asked::new(&at)?.get(&path(&name))?.show(one),
        RulesVerb::Add { rule, place, at } => {
            let rule = rule.or_exit();
            let asked = Asked::new(&at)?;
            let source = rule.source();
            let new = of_digest(rule, &asked)?.into_new(place.given())?;
            asked
                .post("/rules", &new)
                .map_err(|error| about(source, error))?
                .show(|done| changed("added", done))
        }
        RulesVerb::Replace { old, rule, if_version, at } => {
            let rule = rule.or_exit();
            let asked = Asked::new(&at)?;
            let seen = || Ok::<_, anyhow::Error>(asked.get("/rules?limit=1")?.read::<RuleTable>()?.version);
            let version = if_version.map_or_else(seen, Ok)?;
            let source = rule.source();
            let new = of_digest(rule, &asked)?.into_new(None)?;
            let new = RuleText { rule: new.rule, toml: new.toml };
            let done = format!("put in the place of {old}");
            let put = asked.put_for(&version, &path(&old), &new).map_err(|error| about(source, error));
            put?.show(|rule| changed(&done, rule))
        }
        RulesVerb::Edit { edit, at } => super::edit::run(edit, &at),
        RulesVerb::Move { name, place, at } => {
            // One of them is given: the command line asks for it.
            let place = place.given().unwrap_or(Place::Last);
            let asked = Asked::new(&at)?;
            asked.post(&format!("{}/move", path(&name)), &Move { place })?.show(|done| changed("moved", done))
        }
        RulesVerb::Remove { name, at } => {
            Asked::new(&at)?.delete(&path(&name))?.show(|done| changed("removed", done))
        }
        RulesVerb::Test { question, at } => {
            Asked::new(&at)?.post("/test", &Question::from(question))?.show(explain::tested)
        }
    }
}

/// Weir is sent the text of a rule alone: here it is known from which file.
fn about(source: Option<String>, error: anyhow::Error) -> anyhow::Error {
    match (source, error.downcast_ref::<Refused>()) {
        (Some(source), Some(Refused(refused))) if refused.code == Code::BadRule => {
            let text = refused.message.trim_start_matches("error: ");
            let text = text.replace("--> the rule", &format!("--> {source}"));
            anyhow::anyhow!(text.replace("\nthe rule: ", &format!("\n{source}: ")))
        }
        _ => error,
    }
}

/// Puts in the text of a digest that is given by its id.
fn of_digest(mut rule: RuleArgs, asked: &Asked) -> Result<RuleArgs> {
    name_digest(&mut rule.flags, asked)?;
    Ok(rule)
}

/// The same.
pub fn name_digest(flags: &mut RuleFlags, asked: &Asked) -> Result<()> {
    if let Some(id) = flags.digest_named().map(str::to_owned) {
        let told = asked.get(&format!("/queries/{}", escaped(&id)));
        let query: QueryShown = told.map_err(|error| not_counted(error, &id))?.read()?;
        ensure!(
            !query.digest_cut,
            "the text of the digest {id} is longer than what is kept of it: give --match-digest with such a statement"
        );
        flags.of_digest(&query.id, query.digest);
    }
    Ok(())
}

/// What to do where the statistics do not know a digest: they begin anew when Weir does.
fn not_counted(error: anyhow::Error, id: &str) -> anyhow::Error {
    match error.downcast_ref::<Refused>() {
        Some(Refused(refused)) if refused.code == Code::UnknownDigest => anyhow::anyhow!(
            "{error}\nthe text of {id} is needed for the rule: give such a statement with --match-digest in place of --from-digest, \
             look for it in the history (`weir queries --window 1d`), or try again when it was sent again"
        ),
        _ => error,
    }
}

pub fn path(name: &str) -> String {
    format!("/rules/{}", escaped(name))
}

fn list(rules: &RuleTable) -> String {
    if rules.total == 0 && rules.rules.is_empty() {
        return "no rules: everything goes to the server\n".to_owned();
    }
    let header = [&["rule", "~match", "~does", ">matched", ">time", "last match"][..], &COUNTS].concat();
    let rows = rules.rules.iter().map(|rule| {
        let mut row = vec![
            rule.name.clone(),
            short(rule.rule.get("match"), &[]),
            does(&rule.rule),
            rule.hits.to_string(),
            if rule.hits == 0 { "-".to_owned() } else { seconds(rule.time_seconds) },
            ago(rule.last_hit),
        ];
        row.extend(counts(rule.cache.as_ref()));
        row
    });
    let spare = ["waited", "last match", "size", "time", "misses", "entries", "hits", "time saved"];
    let mut text = table_of(&header, rows, &spare) + "\n";
    text.push_str(&part(rules.offset, rules.rules.len(), rules.total, "rules"));
    let warnings = rules.rules.iter().flat_map(|rule| &rule.warnings);
    warnings.for_each(|warning| text.push_str(&format!("warning: {warning}\n")));
    text.push_str(&not_served(rules.not_served));
    if rules.file.is_none() {
        text.push_str("Weir was started without a file: these rules end with it\n");
    }
    text
}

/// The actions of a rule.
fn does(rule: &Value) -> String {
    let mut actions = Vec::new();
    for (key, bare) in [("cache", "ttl"), ("rewrite", ""), ("deny", ""), ("limit", ""), ("timeout", "")] {
        match rule.get(key) {
            None => {}
            Some(Value::Object(object)) if key == "cache" && object.len() == 1 => {
                actions.push(format!("cache {}", short(rule.get(key), &[bare])));
            }
            Some(Value::Object(_)) if key == "rewrite" => actions.push(key.to_owned()),
            Some(Value::Object(_)) => actions.push(format!("{key} {}", short(rule.get(key), &[bare]))),
            Some(value) if key == "timeout" => {
                actions.push(format!("timeout {}", value.as_str().unwrap_or_default()))
            }
            Some(_) => actions.push(key.to_owned()),
        }
    }
    if actions.is_empty() { "-".to_owned() } else { actions.join(", ") }
}

/// What a rule has done, apart from caching.
fn done(done: &RuleDeeds) -> String {
    let all = [
        (done.denied, "denied"),
        (done.rewritten, "rewritten"),
        (done.waited, "waited for the limit"),
        (done.rejected, "refused by the limit"),
        (done.timed_out, "timed out"),
    ];
    let some = all.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    some.collect::<Vec<_>>().join(", ")
}

/// `key=value` of an object; of the keys in `bare` only the value.
fn short(object: Option<&Value>, bare: &[&str]) -> String {
    let Some(Value::Object(object)) = object else { return "-".to_owned() };
    if object.is_empty() {
        return "everything".to_owned();
    }
    let value = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let pairs = object.iter().map(|(key, v)| match bare.contains(&key.as_str()) {
        true => value(v),
        false => format!("{key}={}", value(v)),
    });
    pairs.collect::<Vec<_>>().join(" ")
}

fn one(rule: &RuleState) -> String {
    let mut text = format!("{}\n\n", rule.toml.trim());
    let warnings = rule.warnings.iter().map(|warning| format!("{warning}\n"));
    text.push_str(&pairs(&[
        ("place", rule.position.to_string()),
        ("matched", matched(rule)),
        ("done", done(&rule.done)),
        ("warning", warnings.collect()),
        ("not served", not_served(rule.not_served)),
    ]));
    if let Some(cache) = &rule.cache {
        text.push('\n');
        text.push_str(&all_counts(cache));
    }
    if let Some(effect) = &rule.effect {
        text.push('\n');
        text.push_str(&effect_of(effect));
    }
    text
}

/// How often, when last, and how long that took.
fn matched(rule: &RuleState) -> String {
    let times = format!("{}, last {}", plural(rule.hits, "time"), ago(rule.last_hit));
    match rule.hits {
        0 => times,
        hits => format!(
            "{times}; clients waited {}, {} each",
            seconds(rule.time_seconds),
            seconds(rule.time_seconds / hits as f64)
        ),
    }
}

/// What a rule's statements cost before and since.
fn effect_of(effect: &RuleEffect) -> String {
    let header = ["", ">calls", ">clients waited", ">mean", ">p95"];
    let unknown = |name: &str| [name, "?", "?", "?", "?"].map(str::to_owned).to_vec();
    let all = |name: &str, counts: &Option<EffectCounts>| match counts {
        None => unknown(name),
        Some(EffectCounts { calls, total, .. }) => {
            let (sum, mean) = (seconds(total.sum_seconds), optional(total.mean_seconds));
            vec![name.to_owned(), calls.to_string(), sum, mean, optional(total.p95_seconds)]
        }
    };
    let part = |name: &str, time: &MeanTime| {
        let (sum, mean) = (seconds(time.sum_seconds), optional(time.mean_seconds));
        vec![name.to_owned(), time.count.to_string(), sum, mean, String::new()]
    };
    let mut rows = vec![all("before the rule", &effect.before), all("since then", &effect.now)];
    if let Some(now) = &effect.now {
        rows.push(part("  from the cache", &now.without_server));
        rows.push(part("  from the server", &now.with_server));
        rows.push(part("  the server took", &now.server_time));
    }
    let why = match effect.before {
        Some(_) => "",
        None => "before the rule: not known, as Weir was started with it, or the statistics were reset\n",
    };
    format!(
        "what the statements cost that it matches by digest, user and schema; the rule began to count {}\n{}\n{why}",
        ago(Some(effect.since)),
        table(&header, rows)
    )
}

/// Every counter that says something.
pub fn all_counts(c: &CacheCounts) -> String {
    let some = |count: u64, text: String| if count == 0 { String::new() } else { text };
    pairs(&[
        ("hits", format!("{} ({}), {}", c.hits, percent(c.hit_ratio), bytes(c.hit_bytes))),
        ("misses", c.misses.to_string()),
        ("waited", some(c.waits, format!("{} for the same question of another client", c.waits))),
        (
            "time saved",
            some(
                c.hits,
                format!("{} of the server, by what the stored answers took it", seconds(c.saved_seconds)),
            ),
        ),
        ("stored now", format!("{}, {}", entries(c.entries), bytes(c.bytes))),
        (
            "stored",
            format!(
                "{}; {} replaced by newer ones, {} too old, {} made room, {} wiped",
                plural(c.fills, "answer"),
                c.replaced,
                c.expired,
                c.evicted,
                c.wiped
            ),
        ),
        ("not stored", reasons(&c.dropped)),
        ("refused", reasons(&c.refused)),
        ("refreshed", some(c.refreshes, c.refreshes.to_string())),
        ("served stale", some(c.stale_served, format!("{} because the server failed", c.stale_served))),
        ("verified", some(c.verified, format!("{}, {} of them had changed", c.verified, c.mismatched))),
        ("stale after", ages(c)),
        (
            "shadow",
            some(
                c.shadow_seen,
                format!(
                    "{} seen, {} would be hits ({} saved), {} of these stale",
                    c.shadow_seen,
                    c.shadow_hits,
                    seconds(c.shadow_saved_seconds),
                    c.shadow_stale
                ),
            ),
        ),
    ])
}

/// How old the answers were that differed: `up to 1.0 s: 3, older: 1`
fn ages(c: &CacheCounts) -> String {
    let some = c.stale_ages.iter().filter(|ages| ages.answers > 0);
    let shown = some.map(|ages| match ages.up_to_seconds {
        Some(bound) => format!("up to {}: {}", seconds(bound), ages.answers),
        None => format!("older: {}", ages.answers),
    });
    shown.collect::<Vec<_>>().join(", ")
}

pub fn changed(what: &str, done: &Changed) -> String {
    let place = done.position.map(|position| format!(", now at place {position}")).unwrap_or_default();
    let kept = match &done.file {
        Some(file) => format!("written to {file}"),
        None => "not kept: Weir was started without a file, so this ends with it".to_owned(),
    };
    let wiped = match done.wiped.entries {
        0 => String::new(),
        count => format!("; {}, {}, wiped", entries(count), bytes(done.wiped.bytes)),
    };
    let mut text = format!("rule {} {what}{place}; {kept}{wiped}\n", done.rule);
    done.warnings.iter().for_each(|warning| text.push_str(&format!("warning: {warning}\n")));
    text.push_str(&not_served(done.not_served));
    text
}

#[cfg(test)]
mod tests;
