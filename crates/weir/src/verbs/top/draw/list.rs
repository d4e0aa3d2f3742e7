//! The digests.

use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState, Wrap};

use super::{Look, count};
use crate::verbs::show::seconds;
use crate::verbs::top::rates::DigestRate;
use crate::verbs::top::state::{Sort, State};

/// A column: the key that sorts by it stands in brackets.
struct Column {
    header: &'static str,
    sort: Sort,
    width: u16,
    value: fn(&DigestRate) -> String,
}

const COLUMNS: [Column; 6] = [
    Column { header: "[c]alls/s", sort: Sort::Calls, width: 9, value: |row| count(row.calls) },
    Column { header: "[t]ime/s", sort: Sort::Time, width: 8, value: |row| seconds(row.time) },
    Column { header: "[m]ean", sort: Sort::Mean, width: 7, value: |row| maybe(row.mean, seconds) },
    Column { header: "[r]ows/s", sort: Sort::Rows, width: 8, value: |row| count(row.rows) },
    Column { header: "[e]rr/s", sort: Sort::Errors, width: 7, value: |row| count(row.errors) },
    Column {
        header: "[h]its",
        sort: Sort::Hits,
        width: 6,
        value: |row| maybe(row.hits, |hits| format!("{:.0} %", hits * 100.0)),
    },
];

/// Where a screen is narrower, rows and errors are left out.
const WIDE: u16 = 76;

/// From this width on the id is shown too.
const WITH_ID: u16 = 110;

pub fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, look: Look) {
    let listed = state.listed();
    if listed.is_empty() {
        frame.render_widget(Text::styled(why_empty(state), look.quiet()), area);
        return;
    }
    let optional = [Sort::Rows, Sort::Errors];
    let columns: Vec<&Column> = COLUMNS
        .iter()
        .filter(|column| area.width >= WIDE || column.sort == state.sort || !optional.contains(&column.sort))
        .collect();
    let with_id = area.width >= WITH_ID;
    let mut header: Vec<Cell<'_>> = columns.iter().map(|column| head(column, state, look)).collect();
    let mut widths: Vec<Constraint> = columns.iter().map(|column| Constraint::Length(column.width)).collect();
    if with_id {
        header.push(Cell::from(Line::styled("id", look.strong())));
        widths.push(Constraint::Length(16));
    }
    header.push(Cell::from(Line::styled(digests_head(state, listed.len()), look.strong())));
    widths.push(Constraint::Min(10));
    let rows = listed.iter().map(|row| {
        let idle = row.calls == 0.0;
        let mut cells: Vec<Cell<'_>> = columns
            .iter()
            .map(|column| Cell::from(Line::from((column.value)(row)).alignment(Alignment::Right)))
            .collect();
        if with_id {
            cells.push(Cell::from(row.id.as_str()));
        }
        cells.push(Cell::from(row.text.as_str()));
        Row::new(cells).style(if idle { look.quiet() } else { Style::new() })
    });
    let mut place = TableState::new().with_selected(state.place(&listed));
    let table = Table::new(rows, widths)
        .header(Row::new(header))
        .column_spacing(1)
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    frame.render_stateful_widget(table, area, &mut place);
}

/// The digest that is chosen, for its column is narrow.
pub fn whole(frame: &mut Frame<'_>, area: Rect, state: &State, look: Look) {
    let listed = state.listed();
    let Some(row) = listed.get(state.place(&listed)) else { return };
    let text = Text::from(vec![Line::styled(row.id.as_str(), look.name()), Line::raw(row.text.as_str())]);
    let area = Rect { y: area.y + area.height.min(1), height: area.height.saturating_sub(1), ..area };
    frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), area);
}

fn head<'s>(column: &Column, state: &State, look: Look) -> Cell<'s> {
    let sorted = column.sort == state.sort;
    let style = if sorted { look.strong().add_modifier(Modifier::UNDERLINED) } else { look.name() };
    Cell::from(Line::styled(column.header, style).alignment(Alignment::Right))
}

/// What the last column holds, and of how many there are.
fn digests_head(state: &State, listed: usize) -> String {
    let Some(sample) = &state.shown else { return "digest".to_owned() };
    let digests = &sample.digests;
    let of = match digests.complete {
        true => String::new(),
        false => format!(", of the most time in {} rows", digests.there_are),
    };
    match state.filter.as_str() {
        "" => format!("digest ({listed}{of})"),
        filter => format!("digest ({listed} with \"{filter}\"{of})"),
    }
}

fn why_empty(state: &State) -> String {
    match (&state.rates, &state.shown) {
        (_, Some(sample)) if !sample.digests.counted => {
            "no digests: analytics.enabled is off in the configuration of this Weir".to_owned()
        }
        (None, _) => String::new(),
        (Some(rates), _) if rates.digests.is_empty() => "no statement was counted yet".to_owned(),
        _ => format!("no digest holds \"{}\": esc shows all", state.filter),
    }
}

fn maybe(value: Option<f64>, show: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), show)
}
