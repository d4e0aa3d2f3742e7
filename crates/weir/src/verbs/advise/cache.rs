//! `weir advise cache`

use crate::cli::AdviseCache;
use crate::verbs::show::{bytes, pairs, part, percent, seconds, short, table, table_of};
use crate::verbs::{Asked, escaped};
use anyhow::Result;
use weir_admin::{Advised, AdvisedShown, CacheAdvice, NotWorth, Predicted};

pub fn run(args: AdviseCache) -> Result<()> {
    let there = args.at.place.to_string();
    match &args.id {
        Some(id) => {
            let asked = Asked::new(&args.at)?.get(&format!("/advise/cache/{}", escaped(id)))?;
            asked.show(|shown| asked_there(&one(shown), &there))
        }
        None => Asked::new(&args.at)?.get(&path(&args))?.show(|advice| asked_there(&all(advice), &there)),
    }
}

/// The commands in a text, complete for the Weir that was asked.
fn asked_there(text: &str, there: &str) -> String {
    let complete = |line: &str| match line.starts_with("  weir ") {
        true => format!("{line}{there}\n"),
        false => format!("{line}\n"),
    };
    text.lines().map(complete).collect()
}

fn path(args: &AdviseCache) -> String {
    let offset = args.offset.map(|n| n.to_string());
    let (limit, stale) = (args.limit.map(|n| n.to_string()), args.stale.map(|n| n.to_string()));
    let every = args.all.then(|| "true".to_owned());
    let given = [
        ("limit", &limit),
        ("offset", &offset),
        ("ttl", &args.ttl),
        ("stale", &stale),
        ("user", &args.user),
        ("schema", &args.schema),
        ("all", &every),
    ];
    let given = given.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    let query: Vec<String> = given.map(|(name, value)| format!("{name}={}", escaped(value))).collect();
    format!("/advise/cache?{}", query.join("&"))
}

fn all(advice: &CacheAdvice) -> String {
    if !advice.enabled {
        return "nothing is counted: analytics.enabled is off\n".to_owned();
    }
    if advice.statements.is_empty() && advice.offset == 0 {
        return match advice.left_out {
            0 => "no statement was seen that the cache might answer and no rule names\n".to_owned(),
            _ => format!("no rule would be worth its while\n{}", left_out(advice)),
        };
    }
    let mut header =
        vec!["id", ">calls", ">server time", "~best ttl", ">hit ratio", ">saved", ">stale", ">memory"];
    let unworthy = advice.statements.iter().any(|advised| not_worth(advised).is_some());
    header.extend(unworthy.then_some("left out, as it"));
    header.push("~digest");
    let rows = advice.statements.iter().map(|advised| {
        let of = |show: fn(&Predicted) -> String| advised.best.as_ref().map_or("-".to_owned(), show);
        let ttl = match (&advised.cached_by, &advised.best) {
            (Some(rule), _) => format!("{}: {rule}", done_by_rule(advised)),
            (None, Some(best)) => best.ttl.clone(),
            (None, None) => "none".to_owned(),
        };
        let mut row = vec![
            advised.id.clone(),
            advised.calls.to_string(),
            seconds(advised.server_seconds),
            ttl,
            of(|best| percent(Some(best.hit_ratio))),
            of(|best| seconds(best.saved_seconds)),
            of(|best| percent(Some(best.stale_ratio))),
            of(|best| bytes(best.bytes as u64)),
        ];
        row.extend(unworthy.then(|| not_worth(advised).unwrap_or_default().to_owned()));
        row.push(short(&advised.digest));
        row
    });
    let mut text = table_of(&header, rows, &["memory", "calls", "stale", "server time"]) + "\n";
    text.push_str(&part(advice.offset, advice.statements.len(), advice.total, "statements"));
    text.extend(advice.statements.iter().filter_map(own_writes));
    let open = |advised: &&Advised| advised.cached_by.is_none() && advised.not_worth.is_none();
    let commands = advice.statements.iter().filter(open);
    let commands: Vec<&String> = commands.filter_map(|advised| advised.command.as_ref()).take(5).collect();
    if !commands.is_empty() {
        text.push_str("\nto cache what saves most\n");
        commands.iter().for_each(|command| text.push_str(&format!("  {command}\n")));
    }
    match advice.left_out {
        0 => text,
        _ => text + "\n" + &left_out(advice),
    }
}

/// Why nobody would make a rule of it that is not there yet.
fn not_worth(advised: &Advised) -> Option<&'static str> {
    if advised.cached_by.is_some() {
        return None;
    }
    Some(match advised.not_worth? {
        NotWorth::NoHits => "is never hit",
        NotWorth::Stale => "is stale too often",
        NotWorth::SavesLittle => "saves little",
        NotWorth::SeldomHit => "is seldom hit",
    })
}

/// From this part of its statements on it is told that sessions' own writes keep them from being hits.
const OWN_WRITES: f64 = 0.1;

/// What sessions' own writes cost, where that is much.
fn own_writes(advised: &Advised) -> Option<String> {
    // Where no TTL is good, the longest shows most of them.
    let step = advised.best.as_ref().or(advised.ladder.last())?;
    (step.own_writes_ratio >= OWN_WRITES).then(|| {
        format!(
            "\n{}: another {} with a TTL of {} would be hits, had their sessions not written since the answer was asked for. \
             --no-own-writes serves them too, where sessions may read what is older than their own last write\n",
            advised.id,
            percent(Some(step.own_writes_ratio)),
            step.ttl
        )
    })
}

/// What the rule does that is there.
fn done_by_rule(advised: &Advised) -> &str {
    match advised.mode.as_deref() {
        None | Some("serve") => "cached",
        Some("off") => "kept out",
        Some(other) => other,
    }
}

/// What is not shown, and why.
fn left_out(advice: &CacheAdvice) -> String {
    let (count, they) = match advice.left_out {
        1 => ("1 statement is".to_owned(), "a rule for it"),
        n => (format!("{n} statements are"), "a rule for each"),
    };
    format!(
        "{count} left out: {they} would have saved less than {}, that is less than 1 % of the server's {}, or than 1 ms in each \
         second of {}, or fewer than {} of its statements would have been hits, or its answers would have been stale too often \
         (--stale); --all shows them, and why\n",
        seconds(advice.least_seconds),
        seconds(advice.server_seconds),
        seconds(advice.observed_seconds),
        percent(Some(advice.least_hit_ratio))
    )
}

fn one(shown: &AdvisedShown) -> String {
    let all = &shown.all;
    let mut text = format!("{}\n{}\n\n{}", all.id, all.digest, figures(all));
    text.push_str(&format!("\n{}\n", ladder(all)));
    text.extend(own_writes(all));
    if let (Some(command), None) = (&all.command, &all.cached_by) {
        let but = not_worth(all).map(|why| format!(", which is not advised: it {why}")).unwrap_or_default();
        text.push_str(&format!("\nto cache it{but}\n  {command}\n"));
    }
    if shown.rows.len() > 1 {
        let header = ["user", "schema", ">calls", ">server time", "best ttl", ">hit ratio", ">saved"];
        let rows = shown.rows.iter().map(|row| {
            let of = |show: fn(&Predicted) -> String| row.best.as_ref().map_or("-".to_owned(), show);
            vec![
                row.user.clone().unwrap_or_default(),
                row.schema.clone().unwrap_or_default(),
                row.calls.to_string(),
                seconds(row.server_seconds),
                of(|best| best.ttl.clone()),
                of(|best| percent(Some(best.hit_ratio))),
                of(|best| seconds(best.saved_seconds)),
            ]
        });
        text.push_str(&format!("\n{}\n", table(&header, rows)));
    }
    text
}

fn figures(advised: &Advised) -> String {
    let rule = |name: &String| match done_by_rule(advised) {
        "cached" => format!("{name}: the cache answers it"),
        "shadow" => format!("{name}: shadow, it is only measured (`weir rules show {name}` tells more)"),
        _ => format!("{name}: kept out of the cache"),
    };
    let sample = match advised.one_of {
        1 => format!("all of {} different ones", advised.keys),
        one_of => format!("{} different ones, one in {one_of}", advised.keys),
    };
    pairs(&[
        ("calls", format!("{} in {}", advised.calls, seconds(advised.seconds))),
        ("server", seconds(advised.server_seconds)),
        ("unchanged", format!("{} of it for the same answer as before", seconds(advised.unchanged_seconds))),
        ("watched", sample),
        ("rule", advised.cached_by.as_ref().map_or_else(String::new, rule)),
    ])
}

fn ladder(advised: &Advised) -> String {
    let header =
        ["", "ttl", ">hit ratio", ">saved", ">stale hits", ">outdated answers", ">entries", ">memory"];
    let best = advised.best.as_ref().map(|best| &best.ttl);
    let rows = advised.ladder.iter().map(|p| {
        vec![
            if best == Some(&p.ttl) { "best".to_owned() } else { String::new() },
            p.ttl.clone(),
            percent(Some(p.hit_ratio)),
            seconds(p.saved_seconds),
            percent(Some(p.stale_ratio)),
            percent(Some(p.outdated_ratio)),
            format!("{:.0}", p.entries),
            bytes(p.bytes as u64),
        ]
    });
    table(&header, rows)
}

#[cfg(test)]
mod tests;
