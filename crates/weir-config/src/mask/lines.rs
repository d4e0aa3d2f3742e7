//! Masking without understanding: after a syntax error nobody knows which text belongs to which key. A line is
//! shown only if it is a header, or a key that holds no secret below the header it belongs to.

use std::ops::Range;

use crate::keys::{Kind, ROOT, SECTIONS, Section};

/// What such a value would not contain, unless a secret strayed into its line.
const SUSPECT: [&str; 5] = ["pass", "pwd", "previous", "secret", "@"];

/// Strings that may go on for lines.
const QUOTES: [&str; 2] = ["\"\"\"", "'''"];

/// The parts of `text` to hide.
pub(super) fn suspect(text: &str) -> Vec<Range<usize>> {
    let mut hidden = Vec::new();
    let mut section: Option<&Section> = None;
    let mut open: Option<&str> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at + (line.len() - line.trim_start().len());
        at += line.len();
        let line = line.trim();
        if let Some(quotes) = open {
            hidden.push(start..start + line.len());
            open = open.filter(|_| line.matches(quotes).count().is_multiple_of(2));
            continue;
        }
        if line.starts_with('[') {
            section = header(line);
        }
        hidden.push(start + shown(line, section)..start + line.len());
        open = QUOTES.into_iter().find(|quotes| !line.matches(quotes).count().is_multiple_of(2));
    }
    hidden.retain(|range| !range.is_empty());
    hidden
}

/// The section of a header, if no key of it is a secret.
fn header(line: &str) -> Option<&'static Section> {
    let name = line.get(..header_end(line))?.trim_matches(['[', ']']);
    let mut section = &ROOT;
    for part in name.split('.') {
        match section.key(part)?.kind {
            Kind::Table(inner) | Kind::Tables(inner) => section = inner,
            _ => return None,
        }
    }
    let secret = section.keys.iter().any(|key| matches!(key.kind, Kind::Secret));
    (!secret).then_some(section)
}

/// How much of a line may be shown. Of a line with a secret's key, the key; of an unknown one nothing, for an
/// unknown word may be the second line of a secret.
fn shown(line: &str, section: Option<&Section>) -> usize {
    if line.starts_with('[') {
        return header_end(line);
    }
    let Some((key, value)) = line.split_once('=') else { return 0 };
    let key = key.trim();
    let lower = value.to_lowercase();
    let harmless = section.is_some_and(|section| section.key(key).is_some());
    if harmless && !value.contains('=') && !SUSPECT.iter().any(|word| lower.contains(word)) {
        return line.len() - comment(value);
    }
    let known = ROOT.key(key).is_some() || SECTIONS.iter().any(|section| section.key(key).is_some());
    if known { line.len() - value.trim_start().len() } else { 0 }
}

fn header_end(line: &str) -> usize {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '[' | '_' | '.');
    let words = line.find(|c| !plain(c)).unwrap_or(line.len());
    words + line.get(words..).map_or(0, |rest| rest.len() - rest.trim_start_matches(']').len())
}

/// The length of what may be a comment.
fn comment(value: &str) -> usize {
    value.find('#').map_or(0, |at| value.len() - at)
}
