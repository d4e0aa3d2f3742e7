//! Tables and numbers for people.

mod table;

use std::io::IsTerminal;
use std::time::{SystemTime, UNIX_EPOCH};
use weir_admin::CacheCounts;

pub use table::{table, table_of};

/// Whether standard output takes colours: a terminal, and nobody has said no (<https://no-color.org>).
pub fn colors() -> bool {
    let said = |name: &str| std::env::var_os(name).unwrap_or_default();
    std::io::stdout().is_terminal() && said("NO_COLOR").is_empty() && said("TERM") != "dumb"
}

/// With what would move a terminal's cursor, colour it or turn its text around written as an escape; lines stay lines.
pub fn printable(text: &str) -> String {
    escaped(text, |c| c != '\n' && acts(c))
}

/// The same for a name or another text that belongs into one line.
fn one_line(text: &str) -> String {
    escaped(text, acts)
}

fn escaped(text: &str, is_bad: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_bad(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    shown
}

/// Control characters, and those that change the direction of what follows.
fn acts(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Which part of a list was shown, unless it was all of it.
pub fn part(offset: usize, shown: usize, all: usize, what: &str) -> String {
    if shown >= all {
        return String::new();
    }
    match shown {
        0 => format!("\n{all} {what} in all, and --offset leaves out {offset} of them\n"),
        _ => format!(
            "\n{} to {} of {all} {what}: --offset and --limit show others\n",
            offset + 1,
            offset + shown
        ),
    }
}

/// `name: value` lines, those with an empty value left out.
pub fn pairs(pairs: &[(&str, String)]) -> String {
    let shown = pairs.iter().filter(|(_, value)| !value.is_empty());
    let width = shown.clone().map(|(name, _)| name.len()).max().unwrap_or(0);
    let indent = format!("\n{}", " ".repeat(width + 2));
    shown
        .map(|(name, value)| format!("{name:width$}  {}\n", value.trim_end().replace('\n', &indent)))
        .collect()
}

/// Characters of a digest in a table.
const DIGEST_SHOWN: usize = 60;

/// The beginning of a digest, as a table has room for it.
pub fn short(digest: &str) -> String {
    match digest.char_indices().nth(DIGEST_SHOWN) {
        Some((at, _)) => format!("{}...", &digest[..at]),
        None => digest.to_owned(),
    }
}

/// What to do about sessions that no cache rule can serve; nothing where there are none.
pub fn not_served(count: u64) -> String {
    let (who, they, them) = match count {
        0 => return String::new(),
        1 => ("1 session".to_owned(), "it logs", "it"),
        _ => (format!("{count} sessions"), "they log", "them"),
    };
    format!(
        "{who} connected before there was a cache rule for {them}: neither served nor measured before {they} in again. Let the application's pool \
         reconnect, or end {them}: `weir kill --not-served` shows {them}, and with --yes ends {them}\n"
    )
}

/// `1 time`, `3 times`
pub fn plural(count: u64, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

/// `1 entry`, `3 entries`
pub fn entries(count: u64) -> String {
    format!("{count} {}", if count == 1 { "entry" } else { "entries" })
}

/// `1.5 MiB`
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut amount = bytes as f64;
    let mut unit = 0;
    while amount >= 1024.0 && unit + 1 < UNITS.len() {
        amount /= 1024.0;
        unit += 1;
    }
    match unit {
        0 => format!("{bytes} B"),
        _ => format!("{amount:.1} {}", UNITS[unit]),
    }
}

/// `7.5 ms`, `2.5 s`, `3.6 min`, `25 min`, `1.2 h`
pub fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 0.001 => format!("{:.0} us", s * 1e6),
        s if s < 0.01 => format!("{:.1} ms", s * 1e3),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s if s < 120.0 => format!("{s:.1} s"),
        s if s < 597.0 => format!("{:.1} min", s / 60.0),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// `97.5 %`, or `-` where there was nothing.
pub fn percent(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{:.1} %", ratio * 100.0))
}

/// `2.5 s`, or `-` where there is nothing to tell.
pub fn optional(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), seconds)
}

/// How long ago a moment was, given in seconds since 1970.
pub fn ago(moment: Option<u64>) -> String {
    let Some(moment) = moment else { return "never".to_owned() };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    match now.saturating_sub(moment) {
        0 => "now".to_owned(),
        s if s < 120 => format!("{s} s ago"),
        s if s < 7200 => format!("{} min ago", s / 60),
        s if s < 172_800 => format!("{} h ago", s / 3600),
        s => format!("{} days ago", s / 86_400),
    }
}

/// `reason 3, other 1`, the greatest first.
pub fn reasons(counts: &std::collections::BTreeMap<String, u64>) -> String {
    let mut counts: Vec<_> = counts.iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    counts.into_iter().map(|(reason, count)| format!("{reason} {count}")).collect::<Vec<_>>().join(", ")
}

/// The columns of [`counts`].
pub const COUNTS: [&str; 7] =
    [">hits", ">misses", ">waited", ">hit ratio", ">entries", ">size", ">time saved"];

/// The counters that a table has room for.
pub fn counts(counts: Option<&CacheCounts>) -> Vec<String> {
    let Some(c) = counts else { return vec!["-".to_owned(); COUNTS.len()] };
    vec![
        c.hits.to_string(),
        c.misses.to_string(),
        c.waits.to_string(),
        percent(c.hit_ratio),
        c.entries.to_string(),
        bytes(c.bytes),
        seconds(c.saved_seconds),
    ]
}

#[cfg(test)]
mod tests;
