//! Graphs as SVG that stands in a page by itself: no script, no font, colours from the page's style sheet.

use std::fmt::Write as _;

/// Size of a graph in its own units; the page scales it.
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 300.0;
/// Room for the labels around the plot.
const LEFT: f64 = 74.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 48.0;
const INNER_WIDTH: f64 = WIDTH - LEFT - RIGHT;
const INNER_HEIGHT: f64 = HEIGHT - TOP - BOTTOM;
/// Two labels of the horizontal axis stand no closer than this.
const LABEL_GAP: f64 = 26.0;

/// Values over numbers of clients, one line for each way of connecting.
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    /// The label of the vertical axis, with its unit.
    pub y: &'a str,
    /// What a value is called where the pointer rests on it.
    pub unit: &'a str,
    /// The lines.
    pub lines: Vec<Line<'a>>,
    /// Where the vertical axis ends; otherwise above the largest value.
    pub limit: Option<f64>,
}

/// One line of a graph.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    /// Its name.
    pub name: &'a str,
    /// Which of the style sheet's colours and marks it has, from 0.
    pub slot: usize,
    /// Clients and value, from few clients to many.
    pub points: Vec<(u32, f64)>,
}

/// Stacked bars over numbers of clients.
#[derive(Clone, Debug)]
pub struct Bars<'a> {
    /// The label of the vertical axis, with its unit.
    pub y: &'a str,
    /// What a value is called where the pointer rests on it.
    pub unit: &'a str,
    /// Clients, with the parts from the bottom up.
    pub bars: Vec<(u32, Vec<Part>)>,
    /// Where the vertical axis ends.
    pub limit: f64,
}

/// One part of a bar.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// What it is.
    pub name: &'static str,
    /// Its class in the style sheet.
    pub class: &'static str,
    /// Its height.
    pub value: f64,
}

/// Draws the lines.
#[must_use]
pub fn lines(chart: &Lines) -> String {
    let xs = distinct(chart.lines.iter().flat_map(|line| line.points.iter().map(|(x, _)| *x)));
    let largest = chart.lines.iter().flat_map(|line| line.points.iter().map(|(_, y)| *y)).fold(0.0, f64::max);
    let axis = Axis::up_to(chart.limit.unwrap_or(largest));
    let mut svg = open(chart.y);
    frame(&mut svg, &axis, &xs, chart.y);
    // What lies above the limit is cut off at the plot's edge, but for half a mark.
    let room = 6.0;
    let (width, height) = (INNER_WIDTH + 2.0 * room, INNER_HEIGHT + 2.0 * room);
    let (left, top) = (LEFT - room, TOP - room);
    put(
        &mut svg,
        format_args!(
            r#"<svg x="{left}" y="{top}" width="{width}" height="{height}" viewBox="{left} {top} {width} {height}">"#
        ),
    );
    for line in &chart.lines {
        let at = |(x, y): &(u32, f64)| (place(&xs, *x), axis.place(*y));
        let path = line.points.iter().map(at).map(|(x, y)| format!("{x:.1},{y:.1}"));
        let path = path.collect::<Vec<_>>().join(" ");
        put(&mut svg, format_args!(r#"<polyline class="line s{}" points="{path}"/>"#, line.slot));
        for point in &line.points {
            let (x, y) = at(point);
            let title = format!("{}, {} clients: {} {}", line.name, point.0, number(point.1), chart.unit);
            let mark = mark(line.slot, x, y);
            put(
                &mut svg,
                format_args!(r#"<g class="mark s{}"><title>{}</title>{mark}</g>"#, line.slot, escape(&title)),
            );
        }
    }
    svg.push_str("</svg></svg>\n");
    svg
}

/// Draws the bars.
#[must_use]
pub fn bars(chart: &Bars) -> String {
    let xs = distinct(chart.bars.iter().map(|(x, _)| *x));
    let axis = Axis::up_to(chart.limit);
    let mut svg = open(chart.y);
    // Bars stand side by side, whatever the numbers of clients.
    let slot = INNER_WIDTH / xs.len().max(1) as f64;
    let centres: Vec<(u32, f64)> =
        xs.iter().enumerate().map(|(at, (x, _))| (*x, LEFT + slot * (at as f64 + 0.5))).collect();
    frame(&mut svg, &axis, &centres, chart.y);
    let width = (slot * 0.7).min(48.0);
    for (x, parts) in &chart.bars {
        let left = place(&centres, *x) - width / 2.0;
        let mut below = 0.0;
        for Part { name, class, value } in parts {
            let (bottom, top) = (axis.place(below), axis.place(below + value));
            below += value;
            let title = format!("{name}, {x} clients: {value:.2} {}", chart.unit);
            put(
                &mut svg,
                format_args!(
                    r#"<rect class="{class}" x="{left:.1}" y="{top:.1}" width="{width:.1}" height="{:.1}"><title>{}</title></rect>"#,
                    (bottom - top).max(0.0),
                    escape(&title)
                ),
            );
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// The mark of a line, for a legend: as large as a letter.
#[must_use]
pub fn swatch(slot: usize) -> String {
    let mark = mark(slot, 14.0, 7.0);
    format!(
        r#"<svg class="swatch" viewBox="0 0 28 14" aria-hidden="true"><polyline class="line s{slot}" points="0,7 28,7"/><g class="mark s{slot}">{mark}</g></svg>"#
    )
}

/// The value with as many digits as matter, and commas between thousands.
#[must_use]
pub fn number(value: f64) -> String {
    let decimals = match value.abs() {
        0.0 => 0,
        size if size < 0.095 => 3,
        size if size < 9.95 => 2,
        size if size < 99.5 => 1,
        _ => 0,
    };
    grouped(value, decimals)
}

/// With so many decimals, and commas between thousands.
fn grouped(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let digits = whole.trim_start_matches('-');
    let mut grouped = String::from(if whole.starts_with('-') { "-" } else { "" });
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if rest.is_empty() { grouped } else { format!("{grouped}.{rest}") }
}

/// Text as it may stand in HTML, in attributes as well.
#[must_use]
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A vertical axis from zero, with steps of 1, 2, 2.5 or 5 times a power of ten.
struct Axis {
    limit: f64,
    step: f64,
}

impl Axis {
    fn up_to(largest: f64) -> Self {
        let largest = if largest.is_finite() && largest > 0.0 { largest } else { 1.0 };
        let rough = largest / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|unit| unit * power).find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        // A hair's breadth, so that a value on a line does not ask for another step.
        Self { limit: (largest / step - 1e-9).ceil() * step, step }
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let count = (self.limit / self.step).round() as u32;
        let step = self.step;
        (0..=count).map(move |at| f64::from(at) * step)
    }

    /// What stands beside a tick: as many decimals as the step has, at each of them.
    fn text(&self, tick: f64) -> String {
        let decimals = (0..6).find(|decimals| {
            let scaled = self.step * 10f64.powi(*decimals);
            (scaled - scaled.round()).abs() < 1e-6 * scaled.max(1e-3)
        });
        let decimals = decimals.unwrap_or(6) as usize;
        if decimals == 0 { grouped(tick, 0) } else { format!("{tick:.decimals$}") }
    }

    /// Where a value lies on the paper.
    fn place(&self, value: f64) -> f64 {
        TOP + INNER_HEIGHT * (1.0 - value / self.limit)
    }
}

/// The numbers of clients in their order, with their places: each doubling takes as much room.
fn distinct(xs: impl Iterator<Item = u32>) -> Vec<(u32, f64)> {
    let mut xs: Vec<u32> = xs.collect();
    xs.sort_unstable();
    xs.dedup();
    let log = |x: u32| f64::from(x.max(1)).log2();
    let first = xs.first().copied().map_or(0.0, log);
    let range = xs.last().copied().map_or(0.0, log) - first;
    let place = |x| if range > 0.0 { (log(x) - first) / range } else { 0.5 };
    xs.into_iter().map(|x| (x, LEFT + INNER_WIDTH * place(x))).collect()
}

fn place(xs: &[(u32, f64)], wanted: u32) -> f64 {
    xs.iter().find(|(x, _)| *x == wanted).map_or(LEFT, |(_, place)| *place)
}

fn open(label: &str) -> String {
    format!(
        "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
        escape(label)
    )
}

fn frame(svg: &mut String, axis: &Axis, xs: &[(u32, f64)], label: &str) {
    let right = WIDTH - RIGHT;
    for tick in axis.ticks() {
        let y = axis.place(tick);
        let text = axis.text(tick);
        put(svg, format_args!(r#"<line class="grid" x1="{LEFT}" x2="{right}" y1="{y:.1}" y2="{y:.1}"/>"#));
        put(
            svg,
            format_args!(
                r#"<text class="tick" x="{}" y="{:.1}" text-anchor="end">{text}</text>"#,
                LEFT - 8.0,
                y + 4.0
            ),
        );
    }
    let bottom = HEIGHT - BOTTOM;
    let mut free = f64::MIN;
    for (x, place) in xs {
        put(
            svg,
            format_args!(
                r#"<line class="axis" x1="{place:.1}" x2="{place:.1}" y1="{bottom}" y2="{}"/>"#,
                bottom + 4.0
            ),
        );
        if *place >= free {
            put(
                svg,
                format_args!(
                    r#"<text class="tick" x="{place:.1}" y="{}" text-anchor="middle">{x}</text>"#,
                    bottom + 18.0
                ),
            );
            free = place + LABEL_GAP;
        }
    }
    put(svg, format_args!(r#"<line class="axis" x1="{LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}"/>"#));
    let (middle, across) = (LEFT + INNER_WIDTH / 2.0, TOP + INNER_HEIGHT / 2.0);
    put(
        svg,
        format_args!(
            r#"<text class="label" x="{middle}" y="{}" text-anchor="middle">clients</text>"#,
            HEIGHT - 8.0
        ),
    );
    put(
        svg,
        format_args!(
            r#"<text class="label" transform="translate(14 {across}) rotate(-90)" text-anchor="middle">{}</text>"#,
            escape(label)
        ),
    );
}

/// Lines differ in their marks as well as in their colours.
fn mark(slot: usize, x: f64, y: f64) -> String {
    match slot % 5 {
        0 => format!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="4"/>"#),
        1 => format!(r#"<rect x="{:.1}" y="{:.1}" width="7" height="7"/>"#, x - 3.5, y - 3.5),
        2 => format!(r#"<path d="M{x:.1} {:.1}l4.6 8h-9.2z"/>"#, y - 4.8),
        3 => format!(r#"<path d="M{x:.1} {:.1}l5 5l-5 5l-5-5z"/>"#, y - 5.0),
        _ => format!(r#"<path d="M{x:.1} {:.1}l4.6-8h-9.2z"/>"#, y + 4.8),
    }
}

fn put(svg: &mut String, what: std::fmt::Arguments) {
    // Writing to a string cannot fail.
    let _ = svg.write_fmt(what);
}

#[cfg(test)]
mod tests;
