//! The words in which a report explains what a key takes.

use toml::de::DeValue;

use crate::keys::{Default, Key, Kind, SECTIONS, Section};
use crate::units;

/// What a key takes, as in "it takes ...".
pub(crate) fn takes(kind: &Kind) -> String {
    match kind {
        Kind::Flag => "true or false".to_owned(),
        Kind::Count { .. } => "a whole number".to_owned(),
        Kind::Duration { .. } => "a duration such as \"10s\"".to_owned(),
        Kind::Size { .. } => "a size such as \"64KiB\"".to_owned(),
        Kind::Name { .. } => "a name in quotes".to_owned(),
        Kind::Names { .. } => "a list of names in quotes".to_owned(),
        Kind::Pem(_) => "the path of a PEM file in quotes".to_owned(),
        Kind::File => "the path of a file in quotes".to_owned(),
        Kind::Address => "an address such as \"127.0.0.1:3306\"".to_owned(),
        Kind::Addresses => "a list of addresses such as [\"127.0.0.1:6033\"]".to_owned(),
        Kind::Text { .. } => "text in quotes".to_owned(),
        Kind::Pattern => "a regular expression in quotes".to_owned(),
        Kind::TableName => "a table such as \"posts\" or \"shop.posts\"".to_owned(),
        Kind::Ratio => "a percentage such as \"1%\"".to_owned(),
        Kind::Rate => "a number in a time such as \"100/s\"".to_owned(),
        Kind::Network => "a network such as \"10.0.0.0/8\"".to_owned(),
        Kind::Networks => "a list of networks such as [\"10.0.0.0/8\"]".to_owned(),
        Kind::Word(words) => words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" or "),
        Kind::Secret => "a string, { env = \"NAME\" } or { file = \"path\" }".to_owned(),
        Kind::Table(_) | Kind::Optional(_) => "a table".to_owned(),
        Kind::Tables(_) => "tables, each with a header in double brackets".to_owned(),
    }
}

/// The values that a key takes, in its unit.
pub(crate) fn range(kind: &Kind) -> String {
    match kind {
        Kind::Count { min, max } => format!("{min} to {max}"),
        Kind::Size { min, max } => format!("{} to {}", units::size_text(*min), units::size_text(*max)),
        Kind::Duration { min, max, zero } => {
            let range = format!("{} to {}", units::duration_text(*min), units::duration_text(*max));
            zero.map_or(range.clone(), |meaning| format!("{range}, or 0s ({meaning})"))
        }
        Kind::Name { max } | Kind::Names { max } => format!("1 to {max} characters"),
        Kind::Text { max } => format!("1 to {max} bytes"),
        Kind::Ratio => "0% to 100%".to_owned(),
        Kind::Word(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
        _ => String::new(),
    }
}

/// How a line with this key looks.
pub(crate) fn example(key: &Key) -> String {
    let name = key.name;
    match (&key.kind, &key.default) {
        (Kind::Table(_), _) => format!("write it once, as [{name}]"),
        (Kind::Tables(_), _) => format!("write [[{name}]], in double brackets"),
        (Kind::Secret, _) => format!("for example {name} = {{ env = \"APP_PASSWORD\" }}"),
        (Kind::Pem(_), _) => format!("for example {name} = \"{name}.pem\""),
        (Kind::File, _) => format!("for example {name} = \"/var/lib/weir/history.db\""),
        (Kind::Address, _) => format!("for example {name} = \"127.0.0.1:3306\""),
        (Kind::Networks, _) => format!("for example {name} = [\"10.0.0.0/8\"]"),
        (Kind::Optional(section), _) => format!("write {name} = {{ ... }}, or a table {}", section.header),
        (Kind::Network, _) => format!("for example {name} = \"10.0.0.0/8\""),
        (Kind::Text { .. }, _) => "write something between the quotes, or leave it out".to_owned(),
        (Kind::Pattern, _) => format!("for example {name} = '(?i)^select .* from posts'"),
        (Kind::TableName, _) => format!("for example {name} = \"posts\""),
        (Kind::Rate, _) => format!("for example {name} = \"100/s\""),
        (Kind::Duration { .. }, Default::Required | Default::Unset(_)) => {
            format!("for example {name} = \"10s\"")
        }
        (Kind::Count { .. }, Default::Required | Default::Unset(_)) => format!("for example {name} = 10"),
        (Kind::Word([word, ..]), Default::Required | Default::Unset(_)) => {
            format!("for example {name} = \"{word}\"")
        }
        (Kind::Names { .. }, _) => format!("for example {name} = [\"replica\"]"),
        (_, Default::Is(default)) => format!("for example {name} = {default}, which is the default"),
        _ => format!("for example {name} = \"app\""),
    }
}

/// What kind of value this is.
pub(crate) fn is(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// What an unknown key may have been meant to be.
pub(crate) fn instead_of(section: &Section, name: &str) -> String {
    if let Some(known) = nearest(name, section.keys.iter().map(|key| key.name)) {
        return format!("did you mean `{known}`?");
    }
    if let Some(other) = SECTIONS.iter().find(|other| other.key(name).is_some()) {
        return format!("it belongs in `{}`", other.header);
    }
    let known: Vec<String> = section.keys.iter().map(|key| format!("`{}`", key.name)).collect();
    format!("the keys here are {}", known.join(", "))
}

/// Whether a key can be written without quotes, and so is a word rather than a piece of misplaced text.
pub(crate) fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

/// The candidate that differs from `word` in at most a third of its letters.
pub(crate) fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.to_lowercase().replace('-', "_").chars().take(64).collect();
    candidates
        .map(|candidate| (distance(&word, &candidate.chars().collect::<Vec<_>>()), candidate))
        .filter(|(distance, candidate)| *distance <= (candidate.len().max(3)) / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours between two words (optimal string alignment).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &y) in b.iter().enumerate() {
            let at = |row: &[usize], j: usize| row.get(j).copied().unwrap_or(usize::MAX / 2);
            let mut cost =
                (at(&last, j) + usize::from(x != y)).min(at(&last, j + 1) + 1).min(at(&row, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(&y) && b.get(j - 1) == Some(&x);
            if swapped {
                cost = cost.min(at(&before, j - 1) + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests;
