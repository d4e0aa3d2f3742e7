//! Where the tables of rules stand in the file.
//!
//! A rule whose place among the others is what it was stays where it is. What is moved or new stands behind the rule that comes before
//! it. The lines directly above `[[rule]]` belong to the rule; those that a blank line keeps apart from it are a heading, which stays
//! where it is when the rule goes.

use toml_edit::{DocumentMut, Item, RawString, Table};

/// A rule's table, and which of the old ones it was.
pub(super) struct Part {
    pub table: Table,
    pub from: Option<usize>,
}

/// Puts these tables in the place of those that were there, `before`, which the document holds no more.
pub(super) fn place(document: &mut DocumentMut, before: &[Table], mut parts: Vec<Part>) {
    let stays = longest_rising(&parts.iter().map(|part| part.from).collect::<Vec<_>>());
    let mut gone: Vec<bool> = vec![true; before.len()];
    for (part, stays) in parts.iter_mut().zip(&stays) {
        let own = match part.from.and_then(|from| gone.get_mut(from)) {
            Some(gone) if *stays => {
                *gone = false;
                continue;
            }
            Some(_) => split(prefix(&part.table)).1,
            None => without_blank_lines(prefix(&part.table)),
        };
        let own = format!("\n{own}");
        part.table.decor_mut().set_prefix(own);
    }
    // Backwards, so that of two headings that come together the first one stays the first.
    for (table, _) in before.iter().zip(gone).rev().filter(|(_, gone)| *gone) {
        let heading = split(prefix(table)).0;
        if let Some(position) = table.position().filter(|_| heading.contains('#')) {
            let staying = parts.iter_mut().zip(&stays).filter(|(_, stays)| **stays);
            hand_on(heading, position, document, staying.map(|(part, _)| &mut part.table));
        }
    }
    put_below_heading(&mut parts, &stays);
    let mut staying = parts.iter().zip(&stays).filter(|(_, stays)| **stays);
    let first = staying.find_map(|(part, _)| part.table.position());
    let first = first.or_else(|| before.iter().filter_map(Table::position).min());
    let mut last = first.unwrap_or_else(|| last_position(document.as_table()) + 1);
    for (part, stays) in parts.iter_mut().zip(&stays) {
        last = part.table.position().filter(|_| *stays).unwrap_or(last);
        // Tables are written in the order of their positions, and those of one position as they come.
        set_position(&mut part.table, last);
    }
    if !parts.is_empty() {
        let tables = parts.into_iter().map(|part| part.table).collect();
        document.insert("rule", Item::ArrayOfTables(tables));
    }
}

/// Which of these are the most that rise one behind the other.
fn longest_rising(from: &[Option<usize>]) -> Vec<bool> {
    // Of each length, the row that ends lowest: with what, and where.
    let mut rows: Vec<(usize, usize)> = Vec::new();
    let mut before = vec![None; from.len()];
    for (at, from) in from.iter().enumerate() {
        let Some(from) = *from else { continue };
        let length = rows.partition_point(|(end, _)| *end < from);
        before[at] = length.checked_sub(1).map(|shorter| rows[shorter].1);
        match rows.get_mut(length) {
            Some(row) => *row = (from, at),
            None => rows.push((from, at)),
        }
    }
    let mut rises = vec![false; from.len()];
    let mut at = rows.last().map(|(_, at)| *at);
    while let Some(here) = at {
        rises[here] = true;
        at = before[here];
    }
    rises
}

/// Gives the heading of a table that is gone, and stood at this position, to what follows it.
fn hand_on<'t>(
    heading: &str,
    position: isize,
    document: &mut DocumentMut,
    rules: impl Iterator<Item = &'t mut Table>,
) {
    let rule = rules.filter(|rule| rule.position() > Some(position)).min_by_key(|rule| rule.position());
    let other = next_position(document.as_table(), position);
    match (rule, other) {
        (Some(rule), other) if other.is_none_or(|other| rule.position() < Some(other)) => {
            put_above(rule, heading);
        }
        (_, Some(other)) => {
            at_position(document.as_table_mut(), other, &mut |table| put_above(table, heading))
        }
        _ => {
            let trailing = document.trailing().as_str().unwrap_or_default();
            let trailing = format!("{heading}{}", without_blank_lines(trailing));
            document.set_trailing(trailing);
        }
    }
}

fn put_above(table: &mut Table, heading: &str) {
    let prefix = format!("{heading}{}", without_blank_lines(prefix(table)));
    table.decor_mut().set_prefix(prefix);
}

/// What comes before the first of those that stay comes below the heading of that one.
fn put_below_heading(parts: &mut [Part], stays: &[bool]) {
    let Some(at) = stays.iter().position(|stays| *stays) else { return };
    let (new, kept) = parts.split_at_mut(at);
    let (Some(new), Some(kept)) = (new.first_mut(), kept.first_mut()) else { return };
    let (heading, own) = split(prefix(&kept.table));
    let (heading, own) = (heading.to_owned(), format!("\n{own}"));
    put_above(&mut new.table, &heading);
    kept.table.decor_mut().set_prefix(own);
}

/// What stands above a table: a heading with the blank lines, and what is its own.
pub(super) fn split(prefix: &str) -> (&str, &str) {
    let lines = prefix.split_inclusive('\n').scan(0, |end, line| {
        *end += line.len();
        Some((*end, line.ends_with('\n') && line.trim().is_empty()))
    });
    let heading = lines.filter(|(_, blank)| *blank).last().map_or(0, |(end, _)| end);
    prefix.split_at(heading)
}

pub(super) fn prefix(table: &Table) -> &str {
    table.decor().prefix().and_then(RawString::as_str).unwrap_or_default()
}

pub(super) fn without_blank_lines(text: &str) -> &str {
    text.trim_start_matches(['\r', '\n'])
}

/// The lowest position above this one.
pub(super) fn next_position(table: &Table, after: isize) -> Option<isize> {
    let own = table.position().filter(|at| *at > after && !table.is_implicit() && !table.is_dotted());
    let below = table.iter().flat_map(|(_, item)| match item {
        Item::Table(table) => vec![next_position(table, after)],
        Item::ArrayOfTables(tables) => tables.iter().map(|table| next_position(table, after)).collect(),
        _ => Vec::new(),
    });
    below.flatten().chain(own).min()
}

pub(super) fn at_position(table: &mut Table, position: isize, then: &mut dyn FnMut(&mut Table)) {
    if table.position() == Some(position) {
        return then(table);
    }
    for (_, item) in table.iter_mut() {
        match item {
            Item::Table(table) => at_position(table, position, then),
            Item::ArrayOfTables(tables) => {
                tables.iter_mut().for_each(|table| at_position(table, position, then));
            }
            _ => {}
        }
    }
}

/// The highest position.
pub(super) fn last_position(table: &Table) -> isize {
    let below = table.iter().flat_map(|(_, item)| match item {
        Item::Table(table) => vec![last_position(table)],
        Item::ArrayOfTables(tables) => tables.iter().map(last_position).collect(),
        _ => Vec::new(),
    });
    below.chain(table.position()).max().unwrap_or(0)
}

/// A table and those in it, which follow it.
fn set_position(table: &mut Table, place: isize) {
    table.set_position(Some(place));
    for (_, item) in table.iter_mut() {
        if let Item::Table(inner) = item {
            set_position(inner, place);
        }
    }
}
