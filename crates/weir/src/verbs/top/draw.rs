//! The screen, out of the state alone.

mod list;
mod windows;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::rates::{Percentiles, Rates};
use super::sample::Sample;
use super::state::{State, View};
use crate::verbs::show::{bytes, percent, plural, seconds};

/// The smallest screen that anything can be read on.
const SMALLEST: (u16, u16) = (40, 10);

/// Lines above the list, if there is room for all of them.
const FIGURES: u16 = 6;

/// Lines below the list for the digest that is chosen, in which there is an empty one.
const WHOLE: u16 = 4;

/// Draws all of it.
pub fn draw(frame: &mut Frame<'_>, state: &State) {
    let area = frame.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        let text = format!("too small: {} columns and {} lines are needed", SMALLEST.0, SMALLEST.1);
        frame.render_widget(Paragraph::new(text).wrap(ratatui::widgets::Wrap { trim: true }), area);
        return;
    }
    let look = Look { colors: state.colors };
    // A short screen keeps what tells whether all is well, and rows.
    let figures = if area.height < 18 { FIGURES - 2 } else { FIGURES };
    let whole = if area.height < 18 { 0 } else { WHOLE };
    let [top, said, middle, below, bottom] = Layout::vertical([
        Constraint::Length(figures),
        Constraint::Length(1),
        Constraint::Min(3),
        Constraint::Length(whole),
        Constraint::Length(1),
    ])
    .areas(area);
    frame.render_widget(Paragraph::new(self::figures(state, look, top.width)), top);
    frame.render_widget(Paragraph::new(said_line(state, look, said.width)), said);
    match &state.view {
        View::Details { text, from, .. } => windows::details(frame, middle.union(below), text, *from, look),
        _ => {
            list::draw(frame, middle, state, look);
            list::whole(frame, below, state, look);
        }
    }
    frame.render_widget(Paragraph::new(keys_line(state, look, bottom.width)), bottom);
    windows::over(frame, area, state, look);
}

/// How things are marked, with colours or without.
#[derive(Debug, Clone, Copy)]
struct Look {
    colors: bool,
}

impl Look {
    fn colored(self, color: Color) -> Style {
        if self.colors { Style::new().fg(color) } else { Style::new() }
    }

    fn bad(self) -> Style {
        self.colored(Color::Red).add_modifier(Modifier::BOLD)
    }

    fn good(self) -> Style {
        self.colored(Color::Green)
    }

    fn name(self) -> Style {
        self.colored(Color::Cyan)
    }

    fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    fn quiet(self) -> Style {
        self.colored(Color::DarkGray)
    }
}

/// What is so now, and what happened in the interval, each line by its weight.
fn figures<'s>(state: &'s State, look: Look, width: u16) -> Vec<Line<'s>> {
    let Some(sample) = &state.shown else { return vec![title(state, None, look, width)] };
    let nothing = Rates::default();
    let rates = state.rates.as_ref().unwrap_or(&nothing);
    let wide = width >= 72;
    let mut line = Fields::new(look);
    line.field("statements", format!("{}/s", count(rates.statements)));
    line.marked("errors", format!("{}/s", count(rates.errors)), rates.errors > 0.0);
    if wide {
        line.field("in", format!("{}/s", bytes(rates.bytes_in as u64)));
    }
    line.field("out", format!("{}/s", bytes(rates.bytes_out as u64)));
    let traffic = line.done();
    let mut line = Fields::new(look);
    line.field("clients wait", took(&rates.client, wide));
    line.field("server takes", took(&rates.server, wide));
    let times = line.done();
    let mut line = Fields::new(look);
    line.field("cache", format!("{} hits", percent(rates.hit_ratio)));
    line.field("holds", format!("{} of {}", bytes(sample.cache_used), bytes(sample.cache_limit)));
    if sample.shadow_rules > 0 {
        line.field("shadow", plural(sample.shadow_rules as u64, "rule"));
    }
    let cache = line.done();
    let mut line = Fields::new(look);
    line.field("clients", count(sample.clients));
    line.marked("waiting", count(sample.waiting), sample.waiting > 0.0);
    line.field(if wide { "connections to the server" } else { "to the server" }, count(sample.to_server));
    line.field("pinned", count(sample.pinned));
    let connections = line.done();
    vec![title(state, Some(sample), look, width), traffic, times, connections, cache, server(sample, look)]
}

fn title<'s>(state: &'s State, sample: Option<&Sample>, look: Look, width: u16) -> Line<'s> {
    let version = sample.map(|sample| format!(" {}", sample.version)).unwrap_or_default();
    let mut spans = vec![
        Span::styled(format!("weir{version}"), look.strong()),
        Span::raw(format!(" at {}", state.address)),
    ];
    if width >= 60 {
        spans.push(Span::raw(format!(", every {} s", state.every.as_secs())));
    }
    if sample.is_some_and(|sample| sample.draining) {
        spans.push(Span::styled("  STOPPING", look.bad()));
    }
    if state.paused {
        spans.push(Span::styled("  PAUSED", look.bad()));
    }
    Line::from(spans)
}

fn server<'s>(sample: &'s Sample, look: Look) -> Line<'s> {
    let server = &sample.server;
    let kind = server.kind.as_ref().map_or_else(String::new, |kind| format!(", {kind}"));
    let mut spans = vec![
        Span::styled("server ", look.name()),
        Span::raw(format!("{} at {}{kind}: ", server.name, server.address)),
    ];
    match &server.trouble {
        None => spans.push(Span::styled("up", look.good())),
        Some(trouble) => spans.push(Span::styled(trouble.as_str(), look.bad())),
    }
    Line::from(spans)
}

/// What is wrong, or what was said last.
fn said_line<'s>(state: &'s State, look: Look, width: u16) -> Line<'s> {
    if let Some(lost) = &state.lost {
        let since = lost.since.as_secs();
        let text = format!("no answer for {since} s, asking on: {}", one_line(&lost.why));
        return Line::styled(text, look.bad());
    }
    match (&state.note, &state.shown) {
        (Some(note), _) if !windows::too_long(note, width) => {
            Line::styled(one_line(&note.text), if note.bad { look.bad() } else { look.good() })
        }
        (None, None) => Line::raw("asking ..."),
        (None, Some(_)) if state.rates.is_none() => Line::styled("measuring ...", look.quiet()),
        (_, shown) => warning(shown.as_ref().map_or(&[], |sample| &sample.warnings), look),
    }
}

/// The worst, and how many more there are.
fn warning<'s>(warnings: &[String], look: Look) -> Line<'s> {
    let Some(worst) = warnings.first() else { return Line::default() };
    let more = match warnings.len() - 1 {
        0 => String::new(),
        more => format!("({more} more: weir status) "),
    };
    Line::styled(format!("! {more}{}", one_line(worst)), look.bad())
}

fn keys_line<'s>(state: &'s State, look: Look, width: u16) -> Line<'s> {
    let keys: &[(&str, &str)] = match &state.view {
        View::Filter(_) => {
            return Line::from(vec![
                Span::styled("filter: ", look.name()),
                Span::raw(format!("{}_", state.filter)),
                Span::styled("   enter keeps it, esc takes it back", look.quiet()),
            ]);
        }
        View::Details { .. } => &[("esc", "back"), ("up/down", "scroll"), ("a", "cache its answers")],
        _ if width < 70 => {
            &[("q", "quit"), ("/", "filter"), ("enter", "details"), ("a", "cache"), ("?", "help")]
        }
        _ => &[
            ("q", "quit"),
            ("/", "filter"),
            ("p", "pause"),
            ("+-", "interval"),
            ("enter", "details"),
            ("a", "cache"),
            ("?", "help"),
        ],
    };
    let spans = keys.iter().flat_map(|(key, does)| {
        [Span::styled(*key, look.name().add_modifier(Modifier::BOLD)), Span::raw(format!(" {does}  "))]
    });
    Line::from(spans.collect::<Vec<_>>())
}

/// `name value` side by side.
struct Fields<'s> {
    look: Look,
    spans: Vec<Span<'s>>,
}

impl<'s> Fields<'s> {
    fn new(look: Look) -> Self {
        Self { look, spans: Vec::new() }
    }

    fn field(&mut self, name: &'s str, value: String) {
        self.marked(name, value, false);
    }

    fn marked(&mut self, name: &'s str, value: String, bad: bool) {
        if !self.spans.is_empty() {
            self.spans.push(Span::raw("   "));
        }
        self.spans.push(Span::styled(name, self.look.name()));
        let style = if bad { self.look.bad() } else { self.look.strong() };
        self.spans.extend([Span::raw(" "), Span::styled(value, style)]);
    }

    fn done(self) -> Line<'s> {
        Line::from(self.spans)
    }
}

fn took(times: &Percentiles, wide: bool) -> String {
    let one = |time: Option<f64>| time.map_or_else(|| "-".to_owned(), seconds);
    match wide {
        true => format!("p50 {}, p99 {}", one(times.p50), one(times.p99)),
        false => format!("{} / {}", one(times.p50), one(times.p99)),
    }
}

/// `0.3`, `12.5`, `1234`
fn count(value: f64) -> String {
    if value < 100.0 && value.fract() > 0.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

fn one_line(text: &str) -> String {
    text.lines().collect::<Vec<_>>().join(" ")
}

/// A rectangle in the middle.
fn in_middle(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}

#[cfg(test)]
mod tests;
