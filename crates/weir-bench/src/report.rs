//! The tables for people and the JSON for programs.

use anyhow::Result;
use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};
use serde::Serialize;

use crate::summary::{Metric, Reading, Readings, Spread, Target};
use crate::verdict::{self, Verdict};

/// What the figures hold for.
#[derive(Clone, Debug, Serialize)]
pub struct Setting {
    /// What `weir --version` printed.
    pub weir: String,
    /// Cores of the machine; each proxy has a thread on each.
    pub cores: usize,
    /// Kernel release.
    pub kernel: String,
    /// How often everything was repeated.
    pub rounds: u32,
    /// Whether the short run was asked for.
    pub quick: bool,
}

/// The tables, ready to print.
#[must_use]
pub fn text(setting: &Setting, readings: &Readings) -> String {
    let intro = format!(
        "{}, {} cores, kernel {}, {} round(s){}; median (lowest-highest)",
        setting.weir,
        setting.cores,
        setting.kernel,
        setting.rounds,
        if setting.quick { ", quick" } else { "" },
    );
    let (figures, lines) = (figures(readings), verdict::all(readings));
    if lines.is_empty() {
        return format!("{intro}\n\n{figures}");
    }
    format!("{intro}\n\n{figures}\n\nHeld to (ratios are divided round by round):\n{}", verdicts(&lines))
}

/// Everything, as JSON: the setting, each number, the spreads and the verdict.
///
/// # Errors
/// When a number cannot be written.
pub fn json(setting: &Setting, readings: &Readings) -> Result<String> {
    #[derive(Serialize)]
    struct Whole<'a> {
        setting: &'a Setting,
        spreads: Vec<Line<'a>>,
        verdict: Vec<Verdict>,
        readings: &'a [Reading],
    }
    #[derive(Serialize)]
    struct Line<'a> {
        row: &'a str,
        target: Target,
        metric: Metric,
        #[serde(flatten)]
        spread: Spread,
    }
    let mut spreads = Vec::new();
    for (row, metric) in lines(readings) {
        for target in Target::ALL {
            let spread = readings.spread(row, target, metric);
            spreads.extend(spread.map(|spread| Line { row, target, metric, spread }));
        }
    }
    let verdict = verdict::all(readings);
    Ok(serde_json::to_string_pretty(&Whole { setting, spreads, verdict, readings: readings.all() })?)
}

/// The targets of the rows about passing through, with what each of them is divided by.
const PASSING: ([Target; 7], [(Target, Target); 7]) = {
    use Target::{Ample, Bare, Direct, Haproxy, Relay, Shared, Weir};
    let ratios = [
        (Weir, Direct),
        (Weir, Haproxy),
        (Weir, Relay),
        (Shared, Direct),
        (Shared, Weir),
        (Ample, Weir),
        (Bare, Direct),
    ];
    ([Direct, Haproxy, Relay, Weir, Shared, Ample, Bare], ratios)
};
/// Those of the rows about the cache.
const CACHED: ([Target; 4], [(Target, Target); 3]) = {
    use Target::{Cached, Direct, Redis, Shared};
    ([Direct, Shared, Cached, Redis], [(Cached, Direct), (Cached, Shared), (Cached, Redis)])
};

/// A table for what passes through, and another for what comes out of the cache.
fn figures(readings: &Readings) -> String {
    let is_cached = |row: &str| {
        readings.all().iter().any(|reading| reading.row == row && reading.target == Target::Cached)
    };
    let (cached, passing): (Vec<_>, Vec<_>) =
        lines(readings).into_iter().partition(|(row, _)| is_cached(row));
    let mut tables = Vec::new();
    if !passing.is_empty() {
        tables.push(table(readings, &passing, &PASSING.0, &PASSING.1).to_string());
    }
    if !cached.is_empty() {
        tables.push(table(readings, &cached, &CACHED.0, &CACHED.1).to_string());
    }
    tables.join("\n\n")
}

fn table(
    readings: &Readings,
    lines: &[(&str, Metric)],
    targets: &[Target],
    ratios: &[(Target, Target)],
) -> Table {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    let mut header = vec!["row".to_owned(), "figure".to_owned()];
    header.extend(targets.iter().map(|target| target.name().to_owned()));
    // The name of the way through Weir without the word, for the columns are narrow.
    let short = |target: &Target| target.name().trim_start_matches("weir ").to_owned();
    header.extend(ratios.iter().map(|(target, base)| format!("{}/{}", short(target), short(base))));
    table.set_header(header);
    let mut last = "";
    for (row, metric) in lines {
        let mut cells = vec![if *row == last { "" } else { row }.to_owned(), metric.name().to_owned()];
        let spread = |target: &Target| readings.spread(row, *target, *metric);
        cells.extend(targets.iter().map(|target| spread(target).map_or_else(String::new, show)));
        cells.extend(ratios.iter().map(|(target, base)| {
            let ratio = readings.ratio(row, *target, *base, *metric);
            ratio.map_or_else(String::new, |ratio| format!("{:.2}", ratio.median))
        }));
        table.add_row(cells);
        last = row;
    }
    align_numbers(&mut table, 2);
    table
}

fn verdicts(lines: &[Verdict]) -> Table {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    table.set_header(["what", "", "floor", "aim", "measured", "verdict"]);
    for line in lines {
        let sign = if line.less_is_better { "<=" } else { ">=" };
        table.add_row([
            line.what.clone(),
            sign.to_owned(),
            line.floor.to_string(),
            line.aim.to_string(),
            show(line.measured),
            line.word.name().to_owned(),
        ]);
    }
    align_numbers(&mut table, 2);
    table
}

/// Each row with each of its metrics, in the order in which they were measured.
fn lines(readings: &Readings) -> Vec<(&str, Metric)> {
    let mut lines = Vec::new();
    for row in readings.rows() {
        let mut metrics: Vec<Metric> =
            readings.all().iter().filter(|r| r.row == row).map(|r| r.metric).collect();
        metrics.sort_unstable();
        metrics.dedup();
        lines.extend(metrics.into_iter().map(|metric| (row, metric)));
    }
    lines
}

fn show(spread: Spread) -> String {
    // One round, or a figure that does not move: a spread says nothing.
    if number(spread.min) == number(spread.max) {
        return number(spread.median);
    }
    format!("{} ({}-{})", number(spread.median), number(spread.min), number(spread.max))
}

/// Three digits that matter, and no decimals from 100 on.
fn number(value: f64) -> String {
    match value.abs() {
        size if size < 10.0 => format!("{value:.2}"),
        size if size < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

fn align_numbers(table: &mut Table, from: usize) {
    for column in table.column_iter_mut().skip(from) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}
