//! Durations (`1h30m`) and sizes (`64KiB`), read and written.

use std::time::Duration;

/// Largest first; a text gives them in this order, each once at most.
const TIMES: [(&str, u64); 5] =
    [("d", 24 * 3600 * 1000), ("h", 3600 * 1000), ("m", 60 * 1000), ("s", 1000), ("ms", 1)];

const SIZES: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// How to write a duration, for hints.
pub(crate) const DURATION_HINT: &str =
    "write numbers with units, for example \"250ms\", \"10s\", \"5m\" or \"1h30m\"";

/// How to write a size, for hints.
pub(crate) const SIZE_HINT: &str =
    "write bytes as a number, or a number and a unit, for example \"64KiB\" or \"1MiB\"";

/// Reads `1h30m`, `250ms` or `0`. `None` for anything else, and for what does not fit.
pub fn duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut units = TIMES.iter();
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (number, unit, after) = part(rest)?;
        // Consuming the iterator refuses a unit that comes twice or after a smaller one.
        let (_, factor) = units.find(|(name, _)| *name == unit)?;
        total = total.checked_add(number.checked_mul(*factor)?)?;
        rest = after;
    }
    (!text.is_empty()).then(|| Duration::from_millis(total))
}

/// Reads `64KiB`, `1MiB`, `512B`. `None` for anything else, and for what does not fit.
pub(crate) fn size(text: &str) -> Option<u64> {
    let (number, unit, rest) = part(text)?;
    let (_, factor) = SIZES.iter().find(|(name, _)| *name == unit)?;
    if rest.is_empty() { number.checked_mul(*factor) } else { None }
}

/// The shortest way to write a duration; what is below a millisecond is cut.
pub fn duration_text(duration: Duration) -> String {
    let mut left = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let mut text = String::new();
    for (unit, factor) in TIMES {
        if left >= factor {
            text.push_str(&format!("{}{unit}", left / factor));
            left %= factor;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

/// The shortest exact way to write a size.
pub(crate) fn size_text(bytes: u64) -> String {
    let fits = |factor: &u64| bytes >= *factor && bytes.is_multiple_of(*factor);
    match SIZES.iter().find(|(_, factor)| fits(factor)) {
        Some((unit, factor)) => format!("{}{unit}", bytes / factor),
        None => "0B".to_owned(),
    }
}

/// A number, the letters after it, and the rest.
fn part(text: &str) -> Option<(u64, &str, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(digits);
    let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(letters);
    Some((number.parse().ok()?, unit, rest))
}

#[cfg(test)]
mod tests;
