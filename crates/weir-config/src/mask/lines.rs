//! Masking without understanding: after a syntax error nobody knows which text belongs to which key, so whatever
//! could belong to a secret is hidden.

use std::ops::Range;

use crate::hints::distance;
use crate::keys::{ROOT, SECTIONS};

/// Headers under which no secret stands. `[server]` is among them: its keys that hold none are shown.
const HARMLESS: [&str; 7] = ["listen", "tls", "server", "auth", "limits", "log", "runtime"];

/// Words that make a line, and what follows it up to the next header, suspect.
const SUSPECT: [&str; 6] = ["pass", "pwd", "previous", "secret", "user", "@"];

/// The parts of `text` to hide.
pub(super) fn suspect(text: &str) -> Vec<Range<usize>> {
    let mut hidden = Vec::new();
    let mut suspect = false;
    let mut open: Option<&str> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at + (line.len() - line.trim_start().len());
        at += line.len();
        let line = line.trim();
        if let Some(quotes) = open {
            hidden.push(start..start + line.len());
            if !line.matches(quotes).count().is_multiple_of(2) {
                open = None;
            }
            continue;
        }
        let header = line.starts_with('[') && !line.contains('=') && !line.contains(',');
        if header {
            suspect = !harmless_header(line);
        } else {
            suspect |= is_suspect(line);
        }
        if suspect || line.starts_with('#') {
            hidden.push(start + shown(line, header)..start + line.len());
            open =
                ["\"\"\"", "'''"].into_iter().find(|quotes| !line.matches(quotes).count().is_multiple_of(2));
        }
    }
    hidden
}

fn harmless_header(line: &str) -> bool {
    let name = line.trim_start_matches('[');
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
    name.get(..end).is_some_and(|name| HARMLESS.contains(&name))
}

fn is_suspect(line: &str) -> bool {
    let lower = line.to_lowercase();
    if SUSPECT.iter().any(|word| lower.contains(word)) {
        return true;
    }
    let key: Vec<char> = lower.split('=').next().unwrap_or_default().trim().chars().take(32).collect();
    ["password", "previous"].iter().any(|word| distance(&key, &word.chars().collect::<Vec<_>>()) <= 3)
}

/// How much of a suspect line may be shown: a header's words, or a key that Weir knows and its `=`. An unknown
/// word may be the second line of a secret.
fn shown(line: &str, header: bool) -> usize {
    if header {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '[' | '_' | '.');
        let words = line.find(|c| !plain(c)).unwrap_or(line.len());
        let closing = line.get(words..).map_or(0, |rest| rest.len() - rest.trim_start_matches(']').len());
        return words + closing;
    }
    match line.split_once('=') {
        Some((key, value)) if is_known(key.trim()) => line.len() - value.trim_start().len(),
        _ => 0,
    }
}

fn is_known(word: &str) -> bool {
    ROOT.key(word).is_some() || SECTIONS.iter().any(|section| section.key(word).is_some())
}
