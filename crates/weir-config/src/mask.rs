//! Keeps secrets out of reports: every value that is not known to be harmless is replaced before a line of the
//! file is quoted.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::hints;
use crate::keys::{self, Kind, ROOT, Section};
use crate::report::Place;

/// What stands for text that is not shown. Its length tells nothing about the text's.
const MASK: &str = "\"***\"";

/// What stands for a comment.
const COMMENT: &str = "# ***";

/// A file and the parts of it that must not be quoted.
pub(crate) struct Masked<'a> {
    text: &'a str,
    /// In order, not overlapping.
    hidden: Vec<Range<usize>>,
    /// What is hidden because of a syntax error, though the document may say otherwise.
    suspect: Vec<Range<usize>>,
}

impl<'a> Masked<'a> {
    /// `damaged` is a file with syntax errors, whose values may have been misread: it is then masked by lines too.
    pub(crate) fn new(text: &'a str, document: &DeTable<'_>, damaged: bool) -> Self {
        Self::of(&ROOT, text, document, damaged)
    }

    /// The same for a text that is one `[[rule]]`.
    pub(crate) fn of_rule(text: &'a str, document: &DeTable<'_>, damaged: bool) -> Self {
        Self::of(keys::rule(), text, document, damaged)
    }

    /// The same for a text with nothing but `[[rule]]`.
    pub(crate) fn of_rules(text: &'a str, document: &DeTable<'_>, damaged: bool) -> Self {
        Self::of(&keys::RULES, text, document, damaged)
    }

    fn of(known: &Section, text: &'a str, document: &DeTable<'_>, damaged: bool) -> Self {
        let mut hidden = Vec::new();
        section(Some(known), document, &mut hidden);
        comments(text, document, &mut hidden);
        let suspect = if damaged { lines::suspect(text) } else { Vec::new() };
        hidden.extend(suspect.iter().cloned());
        Self { text, hidden: merged(hidden), suspect }
    }

    /// Whether `span` begins on a line of which nobody knows what it means. A message about it might name a part
    /// of a secret.
    pub(crate) fn is_suspect(&self, span: &Range<usize>) -> bool {
        let line = self.line(span.start);
        self.suspect.iter().any(|suspect| suspect.start < line.end && suspect.end > line.start)
    }

    /// The first line of `span` and where the span stands in it.
    pub(crate) fn place(&self, span: &Range<usize>) -> Place {
        let line = self.line(span.start);
        let start = self.text.floor_char_boundary(span.start).min(line.end);
        let end = self.text.ceil_char_boundary(span.end).clamp(start, line.end);
        let lines_before = self.text.get(..line.start).unwrap_or_default().matches('\n').count();
        let before = self.text.get(line.start..start).unwrap_or_default();
        let (excerpt, highlight) = self.excerpt(line, start..end);
        Place { line: lines_before + 1, column: before.chars().count() + 1, excerpt, highlight }
    }

    /// The line around a byte, without its end.
    fn line(&self, at: usize) -> Range<usize> {
        let at = self.text.floor_char_boundary(at);
        let (before, after) = self.text.split_at(at);
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let end = at + after.find('\n').unwrap_or(after.len());
        let line = self.text.get(start..end).unwrap_or_default();
        start..start + line.trim_end_matches('\r').len()
    }

    fn excerpt(&self, line: Range<usize>, span: Range<usize>) -> (String, Range<usize>) {
        let mut excerpt = String::new();
        let mut highlight = 0..0;
        let mut at = line.start;
        // Where a byte of the file stands in the excerpt so far, if it is in `from..to`, shown or masked.
        let mut copy = |shown: Option<&str>, from: usize, to: usize, excerpt: &mut String| {
            let begins = excerpt.len();
            let comment = self.text.get(from..to).is_some_and(|text| text.starts_with('#'));
            excerpt.push_str(shown.unwrap_or(if comment { COMMENT } else { MASK }));
            let position = |byte: usize, edge: usize| match shown {
                Some(_) => begins + (byte - from),
                None => edge,
            };
            if (from..to).contains(&span.start) || span.start == to {
                highlight.start = position(span.start, if span.start == to { excerpt.len() } else { begins });
            }
            if (from..=to).contains(&span.end) {
                highlight.end = position(span.end, if span.end == from { begins } else { excerpt.len() });
            }
        };
        for hidden in self.hidden.iter().filter(|h| h.start < line.end && h.end > line.start) {
            let (from, to) = (hidden.start.max(line.start), hidden.end.min(line.end));
            copy(Some(self.text.get(at..from).unwrap_or_default()), at, from, &mut excerpt);
            copy(None, from, to, &mut excerpt);
            at = to;
        }
        copy(Some(self.text.get(at..line.end).unwrap_or_default()), at, line.end, &mut excerpt);
        highlight.end = highlight.end.max(highlight.start);
        (excerpt, highlight)
    }
}

/// Hides the values of a table but those of known keys that cannot hold a secret.
fn section(known: Option<&Section>, table: &DeTable<'_>, hidden: &mut Vec<Range<usize>>) {
    for (name, value) in table {
        let kind = known.and_then(|section| section.key(name.get_ref())).map(|key| &key.kind);
        if kind.is_none() && !hints::is_plain(name.get_ref()) {
            hidden.push(name.span());
        }
        match (kind, value.get_ref()) {
            (
                Some(Kind::Table(inner) | Kind::Optional(inner) | Kind::Tables(inner)),
                DeValue::Table(table),
            ) => {
                section(Some(inner), table, hidden);
            }
            (Some(Kind::Tables(inner)), DeValue::Array(items)) => {
                for item in items {
                    match item.get_ref() {
                        DeValue::Table(table) => section(Some(inner), table, hidden),
                        _ => hide(item, hidden),
                    }
                }
            }
            (Some(Kind::Secret), DeValue::Table(table)) => source(table, hidden),
            (None | Some(Kind::Secret | Kind::Table(_) | Kind::Optional(_) | Kind::Tables(_)), _) => {
                hide(value, hidden)
            }
            (Some(kind), _) => harmless(kind, value, hidden),
        }
    }
}

/// The name of a variable or of a file is shown, whatever else is in a secret's table is not.
fn source(table: &DeTable<'_>, hidden: &mut Vec<Range<usize>>) {
    for (name, value) in table {
        let known = matches!(name.get_ref().as_ref(), "env" | "file");
        if !(known && matches!(value.get_ref(), DeValue::String(_))) {
            hide(value, hidden);
        }
    }
}

/// Shows the value of a key that holds no secret, but not what should not be in it.
fn harmless(kind: &Kind, value: &Spanned<DeValue<'_>>, hidden: &mut Vec<Range<usize>>) {
    match value.get_ref() {
        DeValue::Table(_) => hide(value, hidden),
        DeValue::Array(items) => items.iter().for_each(|item| harmless(kind, item, hidden)),
        // A quote in the wrong place can make the next key a part of this value, and a URL with a password may
        // have been given for an address.
        DeValue::String(text) if text.contains('=') => hide(value, hidden),
        DeValue::String(text) if matches!(kind, Kind::Address | Kind::Addresses) && text.contains('@') => {
            hide(value, hidden);
        }
        _ => {}
    }
}

fn hide(value: &Spanned<DeValue<'_>>, hidden: &mut Vec<Range<usize>>) {
    match value.get_ref() {
        DeValue::Table(table) => table.values().for_each(|value| hide(value, hidden)),
        DeValue::Array(items) => items.iter().for_each(|item| hide(item, hidden)),
        _ => hidden.push(value.span()),
    }
}

/// Hides comments, where old passwords and switched-off lines are kept.
fn comments(text: &str, document: &DeTable<'_>, hidden: &mut Vec<Range<usize>>) {
    let mut spans = Vec::new();
    quoted(document, &mut spans);
    spans.retain(|span| text.get(span.clone()).is_some_and(|value| value.contains('#')));
    let mut spans = merged(spans).into_iter().peekable();
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('#')) {
        let hash = at + found;
        while spans.next_if(|span| span.end <= hash).is_some() {}
        if let Some(span) = spans.peek().filter(|span| span.start <= hash) {
            at = span.end;
            continue;
        }
        let rest = text.get(hash..).unwrap_or_default();
        at = hash + rest.find('\n').unwrap_or(rest.len());
        hidden.push(hash..at);
    }
}

/// Where keys and single values stand, in which a `#` begins no comment.
fn quoted(table: &DeTable<'_>, spans: &mut Vec<Range<usize>>) {
    for (name, value) in table {
        spans.push(name.span());
        quoted_value(value, spans);
    }
}

fn quoted_value(value: &Spanned<DeValue<'_>>, spans: &mut Vec<Range<usize>>) {
    match value.get_ref() {
        DeValue::Table(table) => quoted(table, spans),
        DeValue::Array(items) => items.iter().for_each(|item| quoted_value(item, spans)),
        _ => spans.push(value.span()),
    }
}

fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

mod lines;

#[cfg(test)]
mod tests;
