//! `weir cache ...`

use super::Asked;
use super::rules::all_counts;
use super::show::{COUNTS, bytes, counts, entries, pairs, table_of};
use crate::cli::CacheVerb;
use anyhow::{Result, bail};
use weir_admin::{CacheState, Covered, Selection, UserCacheState};

pub fn run(verb: CacheVerb) -> Result<()> {
    match verb {
        CacheVerb::Stats { at } => Asked::new(&at)?.get("/cache")?.show(stats),
        CacheVerb::Preview { select, at } => {
            let asked = Asked::new(&at)?.post("/cache/preview", &Selection::from(select))?;
            asked.show(|covered: &Covered| format!("a wipe would remove {}", size(covered)))
        }
        CacheVerb::Wipe { select, yes, at } => {
            let selection = Selection::from(select);
            if selection.all && !yes {
                bail!(
                    "this empties the whole cache, and every answer comes from the server again: add --yes if you mean it"
                );
            }
            let asked = Asked::new(&at)?.post("/cache/wipe", &selection)?;
            asked.show(|covered: &Covered| format!("removed {}", size(covered)))
        }
    }
}

fn size(covered: &Covered) -> String {
    format!("{}, {}", entries(covered.entries), bytes(covered.bytes))
}

/// They are counted among the entries of each rule.
fn past_ttl(past: &Covered) -> String {
    match past.entries {
        0 => String::new(),
        _ => format!("{}: kept for stale_if_error, or removed soon", size(past)),
    }
}

/// The users for whom the most is stored.
fn users(cache: &CacheState) -> String {
    let user = |UserCacheState { user, bytes: stored }: &UserCacheState| format!("{user} {}", bytes(*stored));
    cache.users.iter().take(3).map(user).collect::<Vec<_>>().join(", ")
}

fn stats(cache: &CacheState) -> String {
    let share = cache.used as f64 / (cache.memory.max(1) as f64) * 100.0;
    let mut text = pairs(&[
        ("memory", format!("{} of {} used ({share:.1} %)", bytes(cache.used), bytes(cache.memory))),
        ("largest", format!("{} for one entry", bytes(cache.max_entry))),
        (
            "of one user",
            cache.user_memory.map_or_else(String::new, |most| format!("{} at most", bytes(most))),
        ),
        ("entries", cache.entries.to_string()),
        ("most for", users(cache)),
        ("past their TTL", past_ttl(&cache.past_ttl)),
        ("under way", format!("{} questions to the server", cache.flights)),
    ]);
    if cache.rules.is_empty() {
        return text + "\nno rules: nothing is cached\n";
    }
    let header = [&["rule"][..], &COUNTS].concat();
    let rows = cache.rules.iter().map(|rule| {
        let mut row = vec![rule.rule.clone()];
        row.extend(counts(Some(&rule.counts)));
        row
    });
    text.push_str(&format!(
        "\n{}\n\nall together\n\n{}",
        table_of(&header, rows, &["waited", "size", "entries"]),
        all_counts(&cache.total)
    ));
    text
}

#[cfg(test)]
mod tests;
