//! What was counted over time, for the API.

use super::queries::{is_selected, seconds, text, times};
use std::time::{SystemTime, UNIX_EPOCH};
use weir_admin::{
    ApiError, Code, CompareAsked, Compared, ComparedCounts, ComparedQueries, ComparedQuery, HistoryAsked,
    HistoryPoint, HistoryShown, HistoryState, QueriesAsked,
};
use weir_stats::digests::{Origin, Sums};
use weir_stats::series::{Point, Spans, added_ns, won_ns};
use weir_store::{Asked, History, Listed, Period, Row, Trouble};

/// Points of an answer, if nothing is said about the step, and at most.
const POINTS: u64 = 60;
const POINTS_MAX: u64 = 10_000;
/// Steps among which one is chosen, in seconds.
const STEPS: [u64; 12] = [1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 10_800, 21_600, 86_400];
/// The time that is shown if nothing is said about it, in seconds.
const SHOWN: u64 = 900;
const COMPARED: u64 = 3_600;
/// Seconds of a minute for which it has just begun.
const JUST_BEGUN: u64 = 30;
/// Rows of each list of a comparison.
const ROWS: usize = 10;
const ROWS_MAX: usize = 1_000;

/// A time as it was asked for.
pub struct Words<'a> {
    window: Option<&'a str>,
    from: Option<&'a str>,
    to: Option<&'a str>,
}

impl<'a> Words<'a> {
    pub fn of(asked: &'a QueriesAsked) -> Self {
        Self { window: asked.window.as_deref(), from: asked.from.as_deref(), to: asked.to.as_deref() }
    }
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The first second, and the one behind the last; `None` where no time was named.
pub fn period(words: &Words<'_>, now: u64) -> Result<Option<(u64, u64)>, ApiError> {
    let window = words.window.map(|text| duration("`window`", text)).transpose()?;
    let from = words.from.map(|text| moment("from", text)).transpose()?;
    let to = words.to.map(|text| moment("to", text)).transpose()?;
    let (from, to) = match (window, from, to) {
        (None, None, None) => return Ok(None),
        (Some(window), None, to) => {
            // The second that is under way is a part of it.
            let to = to.unwrap_or(now + 1);
            (to.saturating_sub(window), to)
        }
        (Some(window), Some(from), None) => (from, from.saturating_add(window)),
        (None, Some(from), to) => (from, to.unwrap_or(now + 1)),
        (None, None, Some(_)) => return Err(bad("`to` needs `from` or `window`")),
        (Some(_), Some(_), Some(_)) => return Err(bad("give two of `window`, `from` and `to`")),
    };
    if from >= to {
        return Err(bad("the time ends before it begins"));
    }
    Ok(Some((from, to)))
}

/// Reads from the history.
pub fn read<T>(
    history: Option<&History>,
    read: impl FnOnce(&History) -> Result<T, Trouble>,
) -> Result<T, ApiError> {
    let none = "no history is kept: give history.file in the configuration a name and restart Weir";
    let history = history.ok_or_else(|| ApiError::new(Code::NoHistory, none))?;
    read(history).map_err(|trouble| {
        let text = format!("the history cannot be read: {}: {trouble}", history.path().display());
        ApiError::new(Code::NoHistory, text)
    })
}

pub fn seen(period: &Period, asked: (u64, u64)) -> weir_admin::Period {
    told((period.from, period.to), asked, period.covered_ms)
}

/// The time that is told of, and the one that was asked for.
fn told((from, to): (u64, u64), asked: (u64, u64), covered_ms: u64) -> weir_admin::Period {
    let covered_seconds = covered_ms as f64 / 1e3;
    weir_admin::Period { from, to, covered_seconds, asked_from: asked.0, asked_to: asked.1 }
}

/// Totals over time.
pub fn show(history: Option<&History>, asked: &HistoryAsked) -> Result<HistoryShown, ApiError> {
    let words =
        Words { window: asked.window.as_deref(), from: asked.from.as_deref(), to: asked.to.as_deref() };
    let now = now();
    let (from, to) = period(&words, now)?.unwrap_or((now + 1 - SHOWN, now + 1));
    let wanted = (from, to);
    let step = match &asked.step {
        Some(text) => duration("`step`", text)?,
        None => STEPS.into_iter().find(|step| (to - from).div_ceil(*step) <= POINTS).unwrap_or(86_400),
    };
    // Steps begin at multiples of them, so that the same ones come whenever it is asked.
    let (from, to) = (from - from % step, to.next_multiple_of(step));
    if (to - from) / step > POINTS_MAX {
        return Err(bad(&format!(
            "this has more than {POINTS_MAX} points: ask for greater steps or less time"
        )));
    }
    let points = read(history, |history| history.points(from, to, step))?;
    let covered_ms: u64 = points.points.values().map(|point| point.covered_ms).sum();
    Ok(HistoryShown {
        period: told((from, to), wanted, covered_ms),
        step_seconds: points.step,
        points: points.points.iter().map(|(at, point)| shown(*at, point)).collect(),
        state: history.map(state).unwrap_or_default(),
    })
}

fn shown(at: u64, point: &Point) -> HistoryPoint {
    HistoryPoint {
        at,
        covered_seconds: point.covered_ms as f64 / 1e3,
        statements: point.statements,
        errors: point.errors,
        hits: point.hits,
        misses: point.misses,
        bytes_in: point.bytes_in,
        bytes_out: point.bytes_out,
        logins: point.logins,
        server_opened: point.server_opened,
        cpu_seconds: point.cpu_ms as f64 / 1e3,
        clients: point.clients,
        server_connections: point.server_connections,
        total: times(&point.total),
        server_time: times(&point.server),
    }
}

fn state(history: &History) -> HistoryState {
    let status = history.status();
    HistoryState {
        file: history.path().display().to_string(),
        writing: status.is_writing,
        trouble: status.trouble.as_ref().map(|trouble| trouble.kind.as_str().to_owned()),
        why: status.trouble.map(|trouble| trouble.why),
        bytes: status.bytes,
    }
}

/// How two periods differ.
pub fn compare(history: Option<&History>, asked: &CompareAsked) -> Result<Compared, ApiError> {
    let limit = asked.limit.unwrap_or(ROWS);
    if !(1..=ROWS_MAX).contains(&limit) {
        return Err(bad(&format!("limit is from 1 to {ROWS_MAX}")));
    }
    let [(now, now_asked), (then, then_asked)] = periods(asked, now())?;
    let selection =
        QueriesAsked { user: asked.user.clone(), schema: asked.schema.clone(), ..QueriesAsked::default() };
    let is_wanted = |origin: &Origin| is_selected(origin, &selection);
    let offset = asked.offset.unwrap_or(0);
    let asked = Asked { now, then, rows: limit, offset };
    let found = read(history, |history| history.compare(asked, is_wanted, compared))?;
    let list = |listed: Listed<ComparedQuery>| ComparedQueries { rows: listed.count, queries: listed.rows };
    Ok(Compared {
        new: list(found.new),
        gone: list(found.gone),
        slower: list(found.slower),
        faster: list(found.faster),
        more_often: list(found.more_often),
        less_often: list(found.less_often),
        offset,
        unchanged: found.unchanged,
        others_now: found.others_now,
        others_then: found.others_then,
        now: told(found.now, now_asked, found.spans.now_ms),
        then: told(found.then, then_asked, found.spans.then_ms),
    })
}

/// A time in whole minutes, and as it was asked for.
type Widened = ((u64, u64), (u64, u64));

/// A time back, as the command line and the API call it.
const COMPARED_WITH: &str = "`--compare` (`against` of the API)";

/// The periods that are compared, in whole minutes.
fn periods(asked: &CompareAsked, now: u64) -> Result<[Widened; 2], ApiError> {
    let words =
        Words { window: asked.window.as_deref(), from: asked.from.as_deref(), to: asked.to.as_deref() };
    let whole = |(from, to): (u64, u64)| (from - from % 60, to.next_multiple_of(60));
    let wanted = period(&words, now)?.unwrap_or((now + 1 - COMPARED, now + 1));
    let length = wanted.1 - wanted.0;
    let (from, to) = match asked.from {
        Some(_) => whole(wanted),
        // A window keeps its length, so that the one before ends where it begins. Of a minute that has just begun the one before is taken
        // as well: what comes every few seconds may not have come in it yet.
        None => {
            let (to, gone) = (wanted.1.next_multiple_of(60), wanted.1 % 60);
            let just_begun = if (1..=JUST_BEGUN).contains(&gone) { 60 } else { 0 };
            (to.saturating_sub(length.next_multiple_of(60) + just_begun), to)
        }
    };
    let earlier = |(from, to): (u64, u64), by: u64| (from.saturating_sub(by), to.saturating_sub(by));
    let (then, then_wanted) = match (&asked.against, &asked.against_from, &asked.against_to) {
        (None, None, None) => (earlier((from, to), to - from), earlier(wanted, length)),
        (Some(text), None, None) => {
            let back = duration(COMPARED_WITH, text)?;
            // What was asked for does not overlap where the times that are looked at would.
            let least = if back >= length { to - from } else { 0 };
            (earlier((from, to), back.next_multiple_of(60).max(least)), earlier(wanted, back))
        }
        (None, Some(from), Some(to)) => {
            let wanted = (moment("against_from", from)?, moment("against_to", to)?);
            (whole(wanted), wanted)
        }
        _ => return Err(bad("give `against`, or both `against_from` and `against_to`")),
    };
    if then.0 >= then.1 {
        return Err(bad("the time to compare with ends before it begins"));
    }
    if then.0 < to && from < then.1 {
        return Err(bad(
            "the two times overlap: what is compared with (`--compare`, or `against` of the API) must lie back at least as far as the \
             time itself is long, in whole minutes",
        ));
    }
    Ok([((from, to), wanted), (then, then_wanted)])
}

fn compared(row: &Row<'_>, spans: Spans) -> ComparedQuery {
    ComparedQuery {
        id: row.digest.id.to_string(),
        digest: text(&row.digest.text),
        digest_cut: row.digest.is_cut,
        user: text(&row.origin.user),
        schema: text(&row.origin.schema),
        server: row.origin.server.to_string(),
        now: counts(row.now, spans.now_ms),
        then: counts(row.then, spans.then_ms),
        added_seconds: seconds(added_ns(row.now, row.then)),
        won_seconds: seconds(won_ns(row.now, row.then)),
        added_calls: spans.added_calls(row.now, row.then),
        fewer_calls: spans.fewer_calls(row.now, row.then),
    }
}

fn counts(sums: &Sums, covered_ms: u64) -> ComparedCounts {
    ComparedCounts {
        calls: sums.calls,
        calls_per_second: (covered_ms > 0).then(|| sums.calls as f64 * 1e3 / covered_ms as f64),
        errors: sums.errors,
        hits: sums.hits,
        rows_sent: sums.rows_sent,
        rows_affected: sums.rows_affected,
        total: times(&sums.total),
    }
}

/// Whole seconds, one at least.
fn duration(name: &str, text: &str) -> Result<u64, ApiError> {
    let wrong =
        || bad(&format!("{name} is a time in whole seconds such as 90s, 15m, 1h or 1d, not `{text}`"));
    let duration = weir_config::duration(text).filter(|it| it.subsec_nanos() == 0).ok_or_else(wrong)?;
    match duration.as_secs() {
        0 => Err(wrong()),
        seconds => Ok(seconds),
    }
}

/// A moment, in seconds since 1970.
fn moment(name: &str, text: &str) -> Result<u64, ApiError> {
    if let Ok(seconds) = text.parse::<u32>() {
        return Ok(seconds.into());
    }
    let wrong = || {
        bad(&format!(
            "`{name}` is a moment such as 2026-11-21T14:00:00Z, or seconds since 1970, not `{text}`"
        ))
    };
    let moment: jiff::Timestamp = text.parse().map_err(|_| wrong())?;
    u64::try_from(moment.as_second()).map_err(|_| wrong())
}

fn bad(why: &str) -> ApiError {
    ApiError::new(Code::BadRequest, why)
}

#[cfg(test)]
mod tests;
