//! A rule's `rewrite`: other text in the place of what a pattern matches.

use crate::compile::{RuleIndex, RuleSet};
use crate::pattern;
use weir_model::rule::Rewrite;

/// A rewritten text at most, in bytes: a short pattern with a long replacement can match at each byte.
pub const MAX_REWRITTEN: usize = 1 << 20;

/// What a rewrite comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rewritten {
    /// The pattern is not found.
    Not,
    Text(Vec<u8>),
    /// Longer than [`MAX_REWRITTEN`].
    TooLong,
}

impl RuleSet {
    /// Replaces all that the pattern of a rule's rewrite matches in a statement without its plain comments and the blanks
    /// around it. The time is linear in the lengths of the text and of what comes out.
    pub fn rewrite(&self, rule: RuleIndex, text: &[u8]) -> Rewritten {
        let pattern = self.rewrites.get(rule.0 as usize).and_then(Option::as_ref);
        let with =
            self.rule(rule).and_then(|rule| rule.rewrite.as_ref()).map(|rewrite| rewrite.with.as_bytes());
        let (Some(pattern), Some(with)) = (pattern, with) else { return Rewritten::Not };
        let text = pattern::subject(text);
        let (mut out, mut from) = (Vec::new(), None);
        for found in pattern.captures_iter(text) {
            let Some(whole) = found.get(0) else { continue };
            out.extend_from_slice(text.get(from.unwrap_or(0)..whole.start()).unwrap_or_default());
            found.expand(with, &mut out);
            from = Some(whole.end());
            if out.len() > MAX_REWRITTEN {
                return Rewritten::TooLong;
            }
        }
        let Some(from) = from else { return Rewritten::Not };
        out.extend_from_slice(text.get(from..).unwrap_or_default());
        if out.len() > MAX_REWRITTEN { Rewritten::TooLong } else { Rewritten::Text(out) }
    }
}

/// A group that a rewrite names and its pattern has not.
pub(crate) fn missing_group(rewrite: &Rewrite) -> Option<String> {
    let pattern = pattern::one(&rewrite.pattern).ok()?;
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut rest = rewrite.with.as_str();
    while let Some((_, after)) = rest.split_once('$') {
        rest = after.strip_prefix('$').unwrap_or(after);
        if rest.len() < after.len() {
            continue;
        }
        let name = match after.strip_prefix('{') {
            Some(inside) => inside.split_once('}').map_or("", |(name, _)| name),
            None => &after[..after.find(|letter| !is_name(letter)).unwrap_or(after.len())],
        };
        let known = match name.parse::<usize>() {
            Ok(number) => number < pattern.captures_len(),
            Err(_) => name.is_empty() || pattern.capture_names().flatten().any(|known| known == name),
        };
        if !known {
            return Some(name.to_owned());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{compiled, matching, rule};

    fn rewritten(pattern: &str, with: &str, text: &str) -> Rewritten {
        let mut rule = rule("r", matching(""));
        rule.rewrite = Some(Rewrite { pattern: pattern.to_owned(), with: with.to_owned() });
        compiled(&[rule]).rewrite(RuleIndex(0), text.as_bytes())
    }

    #[test]
    fn all_matches_are_replaced_and_groups_are_filled_in() {
        for (pattern, with, text, expected) in [
            ("a", "b", "SELECT 1", None),
            ("(?i)from old", "FROM new", " select * from old, x ", Some("select * FROM new, x")),
            (r"(\w+)\.t", "s_$1_.t", "a.t, b.t", Some("s_.t, s_.t")),
            (r"(\w+)\.t", "s_${1}.t", "a.t, b.t", Some("s_a.t, s_b.t")),
            ("^", "/*+ X */ ", "SELECT 1", Some("/*+ X */ SELECT 1")),
            ("x*", "-", "axb", Some("-a-b-")),
            ("1", "$$1", "SELECT 1", Some("SELECT $1")),
        ] {
            let expected = expected.map_or(Rewritten::Not, |text| Rewritten::Text(text.as_bytes().to_vec()));
            assert_eq!(rewritten(pattern, with, text), expected, "{pattern} {with} {text}");
        }
        assert_eq!(rewritten("", &"x".repeat(65_536), &"a".repeat(65_536)), Rewritten::TooLong);
        for (pattern, with, missing) in [
            ("(a)", "$1 $0 ${1}x $$2", None),
            ("(a)", "$1x", Some("1x")),
            ("(a)", "b $2", Some("2")),
            ("(?P<n>a)", "$n ${n}", None),
            ("a", "$ {", None),
        ] {
            let rewrite = Rewrite { pattern: pattern.to_owned(), with: with.to_owned() };
            assert_eq!(missing_group(&rewrite).as_deref(), missing, "{pattern} {with}");
        }
        assert_eq!(compiled(&[rule("r", matching(""))]).rewrite(RuleIndex(0), b"a"), Rewritten::Not);
    }
}
