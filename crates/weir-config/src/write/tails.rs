//! Comments right below the last key of a table, such as keys that are switched off.
//!
//! TOML knows of no such place: they stand in what comes before the next table, or at the end of the file. They belong to the table above
//! where no blank line keeps them apart from it, and one does from what follows.

use super::places::{at_position, last_position, next_position, prefix};
use toml_edit::{DocumentMut, Item, Table, Value};

/// Takes them out of the document: those of each rule, in their order. Below the last table, if it is no rule's, they stay with it.
pub(super) fn take(document: &mut DocumentMut) -> Vec<String> {
    let spans = spans(document);
    let mut tails = vec![String::new(); spans.len()];
    for ((_, last), tail) in spans.iter().zip(&mut tails) {
        let Some(next) = next_position(document.as_table(), *last) else { continue };
        at_position(document.as_table_mut(), next, &mut |table| {
            let (own, rest) = split(prefix(table), false);
            let (own, rest) = (own.to_owned(), rest.to_owned());
            table.decor_mut().set_prefix(rest);
            *tail = own;
        });
    }
    let trailing = document.trailing().as_str().unwrap_or_default();
    let (own, rest) = split(trailing, true);
    let (own, rest) = (own.to_owned(), rest.to_owned());
    let last = last_position(document.as_table());
    if own.is_empty() || last == 0 {
        return tails;
    }
    match spans.iter().position(|(_, end)| *end == last) {
        Some(rule) => tails[rule] = own,
        None => at_position(document.as_table_mut(), last, &mut |table| put(table, &own)),
    }
    document.set_trailing(rest);
    tails
}

/// Puts them below the last key.
pub(super) fn put(table: &mut Table, tail: &str) {
    let tail = tail.strip_suffix('\n').unwrap_or(tail);
    if tail.is_empty() {
        return;
    }
    let inner = |item: &Item| item.as_table().filter(|table| !table.is_dotted()).and_then(Table::position);
    let last = table.iter().filter_map(|(key, item)| Some((inner(item)?, key.to_owned())));
    // Of one position they come as they stand.
    let last = last.enumerate().max_by_key(|(at, (position, _))| (*position, *at));
    if let Some(inner) = last.and_then(|(_, (_, key))| table.get_mut(&key)?.as_table_mut()) {
        return put(inner, tail);
    }
    if let Some(value) = last_value(table) {
        let beside = value.decor().suffix().and_then(|suffix| suffix.as_str()).unwrap_or_default();
        let below = format!("{beside}\n{tail}");
        value.decor_mut().set_suffix(below);
        return;
    }
    let beside = table.decor().suffix().and_then(|suffix| suffix.as_str()).unwrap_or_default();
    let below = format!("{beside}\n{tail}");
    table.decor_mut().set_suffix(below);
}

/// The value that is written last, in a table without others below it.
fn last_value(table: &mut Table) -> Option<&mut Value> {
    let (_, item) = table.iter_mut().last()?;
    match item {
        Item::Value(value) => Some(value),
        Item::Table(table) => last_value(table),
        _ => None,
    }
}

/// The first position of each rule, and the last one of what is in it.
fn spans(document: &DocumentMut) -> Vec<(isize, isize)> {
    let Some(Item::ArrayOfTables(rules)) = document.get("rule") else { return Vec::new() };
    rules.iter().map(|rule| (rule.position().unwrap_or_default(), last_position(rule))).collect()
}

/// The comments at the beginning of what stands behind a table, and the rest. At the end of the file no blank line need follow.
fn split(text: &str, is_end: bool) -> (&str, &str) {
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        if line.trim().is_empty() {
            return text.split_at(end);
        }
        end += line.len();
    }
    text.split_at(if is_end { end } else { 0 })
}
