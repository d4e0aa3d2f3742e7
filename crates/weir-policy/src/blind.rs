//! Whether a pattern can tell one number from another.
//!
//! Texts that differ in their numbers alone are one text to most patterns: `(?i)^select .* from wp_posts` says the same of all of
//! them, so what it has said of one holds for the others and need not be looked for again.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

/// Whether a pattern, compiled as `pattern.rs` does, says the same of any two texts that differ only in how many and which digits
/// stand in runs of digits, where each run has one at least. In doubt it does not.
///
/// That is so where no digit is asked for by itself, and where no more than one digit must be there. Digits are then
/// read by classes that take all of them, under a `*`, which takes a run of any length, and at most one `+`. A run that
/// several of these share can as well be taken by one of them alone, by the `+` if that has a part in it. Between two digits
/// of a run nothing is asserted, for no assertion that is let through here holds there.
pub(crate) fn is_blind(pattern: &str) -> bool {
    let mut parser = ParserBuilder::new().unicode(false).utf8(false).dot_matches_new_line(true).build();
    let mut musts = 0;
    parser.parse(pattern).is_ok_and(|hir| takes_runs(&hir, &mut musts)) && musts <= 1
}

/// `musts` counts the places where a digit must be, of those where it may be any.
fn takes_runs(hir: &Hir, musts: &mut usize) -> bool {
    match hir.kind() {
        HirKind::Empty => true,
        HirKind::Literal(literal) => !literal.0.iter().any(u8::is_ascii_digit),
        HirKind::Class(class) => digits_in(class) == 0,
        HirKind::Look(look) => is_never_inside(*look),
        HirKind::Capture(capture) => takes_runs(&capture.sub, musts),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().all(|part| takes_runs(part, musts))
        }
        HirKind::Repetition(Repetition { min, max, sub, .. }) => match sub.kind() {
            HirKind::Class(class) if digits_in(class) == 10 && *min <= 1 && max.is_none() => {
                *musts += *min as usize;
                true
            }
            _ => {
                // What is repeated counts as often as it likes.
                let mut within = 0;
                takes_runs(sub, &mut within) && within == 0
            }
        },
    }
}

/// How many of the ten digits a class has.
fn digits_in(class: &Class) -> usize {
    (b'0'..=b'9')
        .filter(|digit| match class {
            Class::Bytes(class) => {
                class.ranges().iter().any(|range| (range.start()..=range.end()).contains(digit))
            }
            Class::Unicode(class) => {
                let digit = char::from(*digit);
                class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&digit))
            }
        })
        .count()
}

/// Whether an assertion fails between two digits, whatever stands around them.
fn is_never_inside(look: Look) -> bool {
    matches!(
        look,
        Look::Start
            | Look::End
            | Look::StartLF
            | Look::EndLF
            | Look::StartCRLF
            | Look::EndCRLF
            | Look::WordAscii
            | Look::WordStartAscii
            | Look::WordEndAscii
    )
}

#[cfg(test)]
mod tests;
