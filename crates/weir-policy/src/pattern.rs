//! How a pattern is compiled. Every part of Weir that looks at a pattern must do it in the same way.

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use weir_model::rule::MAX_PATTERN_BYTES;

/// Statements need not be UTF-8 and have lines, so a pattern works on bytes and its `.` is any of them.
pub(crate) fn one(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).unicode(false).dot_matches_new_line(true).size_limit(MAX_PATTERN_BYTES).build()
}

/// All of them in one automaton, so that a statement is read once however many there are. `limit` is in bytes.
pub(crate) fn set<'a>(
    patterns: impl IntoIterator<Item = &'a str>,
    limit: usize,
) -> Result<RegexSet, regex::Error> {
    RegexSetBuilder::new(patterns).unicode(false).dot_matches_new_line(true).size_limit(limit).build()
}

/// How many of the patterns, from the first, fit together within the limit.
pub(crate) fn fitting(patterns: &[&str], limit: usize) -> usize {
    let (mut fit, mut too_many) = (0, patterns.len() + 1);
    while too_many - fit > 1 {
        let middle = fit + (too_many - fit) / 2;
        match set(patterns.iter().take(middle).copied(), limit) {
            Ok(_) => fit = middle,
            Err(_) => too_many = middle,
        }
    }
    fit
}

/// What a pattern is found in: the statement without the blanks around it.
pub(crate) fn subject(text: &[u8]) -> &[u8] {
    text.trim_ascii()
}
