//! Tables, as wide as there is room for.

use super::one_line;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width};
use std::io::IsTerminal;

/// What a column may be that is cut or wrapped, at least. Below it a row is wider than the terminal.
const LEAST: u16 = 20;

/// Blanks between two columns.
const BETWEEN: u16 = 2;

/// A table. What a header begins with tells of its column: `>` it has numbers, `~` its texts may be cut for want of room, `=` wrapped.
/// Nothing else is ever broken or cut. A column with a `+` goes with the one in front of it, where there is no room for that.
pub fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    table_of(header, rows, &[])
}

/// The same, without columns that there is no room for: the first of `spare` goes first.
pub fn table_of(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>, spare: &[&str]) -> String {
    // What is not for a terminal stays whole, so that it can be searched by lines.
    let room = (std::io::stdout().is_terminal() && !cfg!(test)).then(|| Table::new().width()).flatten();
    fitted(header, rows, spare, room)
}

/// The same in so many columns of a terminal.
pub(super) fn fitted(
    header: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
    spare: &[&str],
    room: Option<u16>,
) -> String {
    let mut header = header.to_vec();
    let mut rows: Vec<Vec<String>> =
        rows.into_iter().map(|row| row.iter().map(|cell| one_line(cell)).collect()).collect();
    let mut left_out = Vec::new();
    if let Some(room) = room {
        for name in spare {
            if least(&header, &widths(&header, &rows)) <= u32::from(room) {
                break;
            }
            let Some(at) = header.iter().position(|column| bare(column) == *name) else { continue };
            let with_it = header.iter().skip(at + 1).take_while(|column| column.contains('+')).count();
            let gone = at..=at + with_it;
            header.drain(gone.clone());
            let whole = rows.iter_mut().filter(|row| row.len() == header.len() + 1 + with_it);
            whole.for_each(|row| drop(row.drain(gone.clone())));
            left_out.push(*name);
        }
        cut(&header, &mut rows, room);
    }
    let mut text = drawn(&header, rows, room);
    if !left_out.is_empty() {
        text.push_str(&format!(
            "\n(no room for: {}; a wider terminal or --json has them)",
            left_out.join(", ")
        ));
    }
    text
}

fn bare<'a>(name: &&'a str) -> &'a str {
    name.trim_start_matches(['>', '~', '=', '+'])
}

fn may_shrink(name: &str) -> bool {
    name.starts_with(['~', '='])
}

/// What each column takes, its header included.
fn widths(header: &[&str], rows: &[Vec<String>]) -> Vec<u16> {
    let mut table = Table::new();
    table.set_header(header.iter().map(bare)).add_rows(rows);
    table.column_max_content_widths()
}

/// What a row takes all in all; the blank at its end is not shown.
fn sum(widths: impl Iterator<Item = u16>) -> u32 {
    widths.map(|width| u32::from(width) + u32::from(BETWEEN)).sum::<u32>().saturating_sub(1)
}

/// The same where those that may shrink have shrunk as far as they may.
fn least(header: &[&str], widths: &[u16]) -> u32 {
    let least = |(name, width): (&&str, &u16)| if may_shrink(name) { (*width).min(LEAST) } else { *width };
    sum(header.iter().zip(widths).map(least))
}

/// Cuts texts that may be cut, the longest first.
fn cut(header: &[&str], rows: &mut [Vec<String>], room: u16) {
    let mut widths = widths(header, rows);
    let is_cut = |at: &usize| header.get(*at).is_some_and(|name| name.starts_with('~'));
    while sum(widths.iter().copied()) > u32::from(room) {
        let columns = (0..widths.len()).filter(is_cut);
        let Some(widest) = columns.max_by_key(|at| widths[*at]).filter(|at| widths[*at] > LEAST) else {
            break;
        };
        widths[widest] -= 1;
    }
    for row in rows {
        for (at, cell) in row.iter_mut().enumerate().filter(|(at, _)| is_cut(at)) {
            *cell = shortened(cell, widths.get(at).copied().unwrap_or(LEAST).into());
        }
    }
}

/// The beginning of a text that takes more than so many columns.
fn shortened(text: &str, room: usize) -> String {
    const MORE: &str = "...";
    let width = |text: &str| ratatui::text::Span::raw(text).width();
    if width(text) <= room {
        return text.to_owned();
    }
    let mut kept = text.trim_end_matches(MORE);
    while width(kept) + MORE.len() > room
        && let Some((at, _)) = kept.char_indices().next_back()
    {
        kept = &kept[..at];
    }
    format!("{kept}{MORE}")
}

fn drawn(header: &[&str], rows: Vec<Vec<String>>, room: Option<u16>) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_content_arrangement(match room {
        Some(_) => ContentArrangement::Dynamic,
        None => ContentArrangement::Disabled,
    });
    room.map(|room| table.set_width(room));
    table.set_header(header.iter().map(bare));
    table.add_rows(rows);
    for (at, name) in header.iter().enumerate() {
        let Some(column) = table.column_mut(at) else { continue };
        if name.starts_with('>') {
            column.set_cell_alignment(CellAlignment::Right);
        }
        column.set_constraint(match name.starts_with('=') {
            true => ColumnConstraint::LowerBoundary(Width::Fixed(LEAST)),
            false => ColumnConstraint::ContentWidth,
        });
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n")
}
