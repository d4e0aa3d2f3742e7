//! With which word the statements of a digest begin, and whether a pattern can match one that does.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, Hir, HirKind, Look};

/// Words that digests show only for themselves.
const WORDS: [&str; 5] = ["SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE"];

/// The word with which each statement of a digest begins, without its comments and in any case of letters.
pub(super) fn first_word(digest: &[u8]) -> Option<&'static str> {
    let word = digest.split(|byte| *byte == b' ').next()?;
    WORDS.into_iter().find(|known| known.as_bytes() == word)
}

/// Whether a pattern can match nothing that begins with the word. In doubt it can.
///
/// It says so of patterns that begin with `^` and letters, such as `(?i)^select`.
pub(super) fn excludes(pattern: &str, word: &str) -> bool {
    let mut parser = ParserBuilder::new().unicode(false).utf8(false).dot_matches_new_line(true).build();
    let Ok(hir) = parser.parse(pattern) else { return false };
    let HirKind::Concat(parts) = hir.kind() else { return false };
    let Some((first, rest)) = parts.split_first() else { return false };
    if *first.kind() != HirKind::Look(Look::Start) {
        return false;
    }
    let asked = rest.iter().map_while(letters).flatten();
    // Only as far as the word goes, for what stands behind it is not known.
    asked.zip(word.bytes()).any(|(asked, letter)| {
        let has =
            |letter: u8| asked.ranges().iter().any(|range| (range.start()..=range.end()).contains(&letter));
        !has(letter.to_ascii_uppercase()) && !has(letter.to_ascii_lowercase())
    })
}

/// What a part of a pattern asks of the bytes in their order, if it asks for letters only.
fn letters(part: &Hir) -> Option<Vec<ClassBytes>> {
    let one = |byte: u8| ClassBytes::new([ClassBytesRange::new(byte, byte)]);
    let asked = match part.kind() {
        HirKind::Literal(literal) => literal.0.iter().copied().map(one).collect(),
        HirKind::Class(Class::Bytes(class)) => vec![class.clone()],
        _ => return None,
    };
    let is_letters = |class: &ClassBytes| {
        let ranges = class.ranges();
        let within =
            |range: &ClassBytesRange| (range.start()..=range.end()).all(|byte| byte.is_ascii_alphabetic());
        !ranges.is_empty() && ranges.iter().all(within)
    };
    asked.iter().all(is_letters).then_some(asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_pattern_that_begins_with_other_letters_excludes_a_word() {
        for (pattern, word, expected) in [
            ("^select", "UPDATE", true),
            ("(?i)^select", "UPDATE", true),
            ("(?i)^select .* from t", "INSERT", true),
            ("^(?i)INSERT", "UPDATE", true),
            ("^selfish", "SELECT", true),
            ("(?i)^update", "UPDATE", false),
            ("^UPDATE", "UPDATE", false),
            ("^uPd", "UPDATE", false),
            ("^updates", "UPDATE", false),
            ("^[su]", "UPDATE", false),
            ("select", "UPDATE", false),
            ("(?m)^select", "UPDATE", false),
            ("^(select|update)", "UPDATE", false),
            ("^.*select", "UPDATE", false),
            (r"^\s*select", "UPDATE", false),
            ("^select|t", "UPDATE", false),
            ("^", "UPDATE", false),
            (r"^/\*", "UPDATE", false),
            ("^s?u", "UPDATE", false),
            ("", "UPDATE", false),
            ("(", "UPDATE", false),
        ] {
            assert_eq!(excludes(pattern, word), expected, "{pattern} {word}");
        }
    }

    #[test]
    fn the_first_word_of_a_digest_is_one_that_stands_for_itself() {
        for (digest, expected) in [
            ("SELECT ?", Some("SELECT")),
            ("UPDATE `t` SET `a` = ?", Some("UPDATE")),
            ("EXPLAIN `t`", None),
            ("`select` ?", None),
            ("SELECTED", None),
            ("( SELECT ? )", None),
            ("", None),
        ] {
            assert_eq!(first_word(digest.as_bytes()), expected, "{digest}");
        }
    }
}
