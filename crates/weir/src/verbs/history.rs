//! `weir history`, and how two times compare.

use super::show::{bytes, optional, part, percent, plural, seconds, short, table_of};
use super::{Asked, query};
use crate::cli::{Against, HistoryArgs, QueriesList};
use anyhow::Result;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use weir_admin::{
    Compared, ComparedQueries, ComparedQuery, HistoryPoint, HistoryShown, HistoryState, Period,
};

pub fn run(args: HistoryArgs) -> Result<()> {
    let mut pairs = args.period.pairs();
    pairs.extend(args.step.map(|step| ("step", step)));
    Asked::new(&args.at)?.get(&query("/history", &pairs))?.show(totals)
}

/// The path that compares.
pub fn comparison(list: &QueriesList, against: &Against) -> String {
    let mut pairs = list.period.pairs();
    pairs.extend(against.pairs());
    pairs.extend(list.limit.map(|limit| ("limit", limit.to_string())));
    pairs.extend(list.offset.map(|offset| ("offset", offset.to_string())));
    let named = [("user", &list.user), ("schema", &list.schema)];
    pairs.extend(named.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))));
    query("/queries/compare", &pairs)
}

const COLUMNS: [&str; 12] = [
    "time",
    ">statements/s",
    ">errors",
    ">hit ratio",
    ">mean",
    ">p95",
    ">p99",
    ">clients",
    ">server",
    ">in/s",
    ">out/s",
    ">cpu",
];

/// Those that go first where there is no room for all.
const SPARE: [&str; 6] = ["cpu", "out/s", "in/s", "server", "clients", "p99"];

fn totals(shown: &HistoryShown) -> String {
    let mut text = format!("{}, in steps of {}\n", time(&shown.period), step(shown.step_seconds));
    match shown.points.is_empty() {
        true => text.push_str("nothing was counted in this time\n"),
        false => {
            text.push('\n');
            text.push_str(&table_of(&COLUMNS, shown.points.iter().map(row), &SPARE));
            text.push('\n');
        }
    }
    text + &trouble(&shown.state)
}

fn row(point: &HistoryPoint) -> Vec<String> {
    let per_second = |count: f64| match point.covered_seconds {
        0.0 => 0.0,
        covered => count / covered,
    };
    let looked_up = point.hits + point.misses;
    vec![
        moment(point.at),
        rate(per_second(point.statements as f64)),
        point.errors.to_string(),
        percent((looked_up > 0).then(|| point.hits as f64 / looked_up as f64)),
        optional(point.total.mean_seconds),
        optional(point.total.p95_seconds),
        optional(point.total.p99_seconds),
        point.clients.to_string(),
        point.server_connections.to_string(),
        bytes(per_second(point.bytes_in as f64) as u64),
        bytes(per_second(point.bytes_out as f64) as u64),
        percent((point.covered_seconds > 0.0).then(|| per_second(point.cpu_seconds))),
    ]
}

fn trouble(state: &HistoryState) -> String {
    match &state.why {
        Some(why) if !state.writing => format!("\nthe history is not written now: {}: {why}\n", state.file),
        _ => String::new(),
    }
}

/// How two times differ.
pub fn compared(compared: &Compared) -> String {
    let mut text = format!("now   {}\nthen  {}\n", time(&compared.now), time(&compared.then));
    if compared.then.covered_seconds == 0.0 {
        text.push_str("nothing was counted then, so that everything is new\n");
    }
    for (name, list, way) in [
        ("new: came now and not then", &compared.new, Way::More),
        ("gone: came then and not now", &compared.gone, Way::Fewer),
        ("slower: a mean greater by a quarter", &compared.slower, Way::Up),
        ("faster: the mean of then was greater by a quarter", &compared.faster, Way::Down),
        ("more often: more by a quarter in the same time", &compared.more_often, Way::More),
        ("less often: then there were more by a quarter", &compared.less_often, Way::Fewer),
    ] {
        text.push_str(&format!("\n{name}\n{}\n", rows(list, compared.offset, way)));
    }
    text.push_str(&format!("\nunchanged: {}\n", plural(compared.unchanged, "row")));
    if compared.others_now + compared.others_then > 0 {
        text.push_str(&format!(
            "others: {} statements now and {} then have no row (history.digests); what is new or gone may be among them\n",
            compared.others_now, compared.others_then
        ));
    }
    text
}

/// Which differences the rows of a list show.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// Each takes longer, or less long.
    Up,
    Down,
    /// There are more of them, or fewer.
    More,
    Fewer,
}

impl Way {
    fn header(self) -> [&'static str; 12] {
        let (time, calls) = match self {
            Self::Up | Self::More => (">time added", ">calls added"),
            Self::Down | Self::Fewer => (">time won", ">calls fewer"),
        };
        let then = ">+then";
        ["id", ">calls/s", then, ">mean", then, ">p95", then, time, calls, "user", "schema", "~digest"]
    }
}

fn rows(list: &ComparedQueries, offset: usize, way: Way) -> String {
    if list.rows == 0 {
        return "none".to_owned();
    }
    let mut text = table_of(
        &way.header(),
        list.queries.iter().map(|query| compared_row(query, way)),
        &["schema", "user", "p95", "calls added", "calls fewer"],
    );
    let shown = part(offset, list.queries.len(), list.rows as usize, "rows");
    text.push_str(shown.trim_end());
    text
}

fn compared_row(query: &ComparedQuery, way: Way) -> Vec<String> {
    let often = |often: Option<f64>| often.map_or_else(|| "-".to_owned(), rate);
    let (time, calls) = match way {
        Way::Up => (query.added_seconds, query.added_calls),
        Way::Down => (query.won_seconds, query.fewer_calls),
        Way::More => {
            let each = query.now.total.mean_seconds.unwrap_or(0.0);
            (query.added_calls as f64 * each, query.added_calls)
        }
        Way::Fewer => {
            let each = query.then.total.mean_seconds.unwrap_or(0.0);
            (query.fewer_calls as f64 * each, query.fewer_calls)
        }
    };
    vec![
        query.id.clone(),
        often(query.now.calls_per_second),
        often(query.then.calls_per_second),
        optional(query.now.total.mean_seconds),
        optional(query.then.total.mean_seconds),
        optional(query.now.total.p95_seconds),
        optional(query.then.total.p95_seconds),
        seconds(time),
        calls.to_string(),
        query.user.clone(),
        query.schema.clone(),
        short(&query.digest),
    ]
}

/// `2026-11-22 14:00:00+01:00 to 2026-11-22 15:00:00+01:00, counted for 60 min of it`, and what was asked for, if that is not the same.
pub fn time(period: &Period) -> String {
    let Period { from, to, asked_from, asked_to, .. } = *period;
    let counted = seconds(period.covered_seconds);
    let mut text = format!("{} to {}, counted for {counted} of it", moment(from), moment(to));
    if asked_to > 0 && (asked_from, asked_to) != (from, to) {
        let day = |at| zoned(at).date();
        let shown = if day(asked_from) == day(asked_to) { clock } else { moment };
        text.push_str(&format!(" (asked for {} to {})", shown(asked_from), shown(asked_to)));
    }
    text
}

/// In the zone of this machine.
fn moment(at: u64) -> String {
    zoned(at).strftime("%Y-%m-%d %H:%M:%S%:z").to_string()
}

/// The time of the day alone.
fn clock(at: u64) -> String {
    zoned(at).strftime("%H:%M:%S").to_string()
}

fn zoned(at: u64) -> jiff::Zoned {
    let moment = i64::try_from(at).ok().and_then(|at| Timestamp::from_second(at).ok()).unwrap_or_default();
    moment.to_zoned(TimeZone::system())
}

fn step(seconds: u64) -> String {
    weir_config::duration_text(std::time::Duration::from_secs(seconds))
}

/// `0.02`, `3.1`, `1200`
fn rate(rate: f64) -> String {
    match rate {
        0.0 => "0".to_owned(),
        rate if rate < 1.0 => format!("{rate:.2}"),
        rate if rate < 100.0 => format!("{rate:.1}"),
        rate => format!("{rate:.0}"),
    }
}

#[cfg(test)]
mod tests;
