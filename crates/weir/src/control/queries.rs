//! What was counted of statements, for the API.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use weir_admin::{
    ApiError, Code, Quadrant, QuadrantSum, Queries, QueriesAsked, Query, QueryCounts, QueryShown, Reset,
    SortBy, Times,
};
use weir_cache::Refusal;
use weir_model::DigestId;
use weir_proxy::Shared;
use weir_session::PinReason;
use weir_stats::HistogramSnapshot;
use weir_stats::digests::{Line, Report, Sums, Usage};

/// Rows that are shown if nothing is said about it, and at most.
const SHOWN: usize = 20;
const SHOWN_MAX: usize = 10_000;

/// What was counted of statements, now or in some time.
pub struct Counted<'r> {
    pub report: &'r Report,
    /// When the seconds began that rows tell.
    pub began_at: SystemTime,
    pub usage: Usage,
}

/// The rows that were asked for, of what was counted since the start or the last reset.
pub fn list(shared: &Shared, asked: &QueriesAsked) -> Result<Queries, ApiError> {
    let Some(digests) = &shared.digests else {
        let nothing = Report { lines: Vec::new(), other: Sums::default() };
        let counted = Counted { report: &nothing, began_at: UNIX_EPOCH, usage: Usage::default() };
        return Ok(Queries {
            enabled: false,
            other: None,
            quadrants: Vec::new(),
            ..listed(&counted, asked)?
        });
    };
    let report = digests.report();
    listed(&Counted { report: &report, began_at: digests.began_at(), usage: digests.usage() }, asked)
}

/// The rows that were asked for.
pub fn listed(counted: &Counted<'_>, asked: &QueriesAsked) -> Result<Queries, ApiError> {
    let Counted { report, began_at, usage } = *counted;
    let limit = asked.limit.unwrap_or(SHOWN);
    if !(1..=SHOWN_MAX).contains(&limit) {
        return Err(ApiError::new(Code::BadRequest, format!("limit is from 1 to {SHOWN_MAX}")));
    }
    let means = means(&report.lines);
    let selected: Vec<&Line> = report.lines.iter().filter(|line| is_selected(line, asked)).collect();
    let middle = Middle::of(&selected);
    let mut rows: Vec<(&Line, Quadrant)> =
        selected.iter().map(|line| (*line, middle.quadrant(line))).collect();
    let quadrants = quadrants(&rows);
    rows.retain(|(_, quadrant)| asked.quadrant.is_none_or(|wanted| wanted == *quadrant));
    let sort = asked.sort.unwrap_or_default();
    // The ids make the order the same each time.
    rows.sort_by_cached_key(|(line, _)| (Reverse(rank(sort, line, &means)), line.digest.id));
    let row = |(line, quadrant): (&Line, Quadrant)| query(line, quadrant, &means, began_at);
    Ok(Queries {
        enabled: true,
        rows: report.lines.len(),
        queries: rows.into_iter().take(limit).map(row).collect(),
        other: Some(counts(&report.other, None, false, began_at)),
        quadrants,
        evicted: usage.evicted,
        memory: usage.bytes as u64,
        period: None,
    })
}

/// All rows of one digest.
pub fn show(shared: &Shared, id: &str) -> Result<QueryShown, ApiError> {
    let unknown = || {
        let text = format!("no statement with the digest `{id}` was counted: `weir queries` shows what was");
        ApiError::new(Code::UnknownDigest, text)
    };
    let digests = shared.digests.as_ref().ok_or_else(unknown)?;
    let wanted = u64::from_str_radix(id, 16).map(DigestId).map_err(|_| unknown())?;
    let report = digests.report();
    let means = means(&report.lines);
    let middle = Middle::of(&report.lines.iter().collect::<Vec<_>>());
    let lines: Vec<&Line> = report.lines.iter().filter(|line| line.digest.id == wanted).collect();
    let first = lines.first().ok_or_else(unknown)?;
    let mut all = Sums::default();
    lines.iter().for_each(|line| all.merge(&line.sums));
    Ok(QueryShown {
        id: first.digest.id.to_string(),
        digest: text(&first.digest.text),
        digest_cut: first.digest.is_cut,
        all: counts(&all, means.get(&wanted).copied(), first.digest.is_cacheable, digests.began_at()),
        rows: lines
            .iter()
            .map(|line| query(line, middle.quadrant(line), &means, digests.began_at()))
            .collect(),
    })
}

/// Forgets all that was counted.
pub fn reset(shared: &Shared) -> Reset {
    let Some(digests) = &shared.digests else { return Reset { rows: 0 } };
    let rows = digests.usage().rows as u64;
    digests.empty();
    tracing::info!(event = "queries_reset", rows, "what was counted of statements was reset through the API");
    Reset { rows }
}

pub(super) fn is_selected(line: &Line, asked: &QueriesAsked) -> bool {
    let is = |wanted: &Option<String>, name: &[u8]| wanted.as_ref().is_none_or(|w| w.as_bytes() == name);
    let origin = &line.origin;
    is(&asked.user, &origin.user)
        && is(&asked.schema, &origin.schema)
        && is(&asked.server, origin.server.as_bytes())
}

/// What the server takes on average for each digest, whoever asks.
type Means = HashMap<DigestId, u64>;

fn means(lines: &[Line]) -> Means {
    let mut sums: HashMap<DigestId, (u64, u64)> = HashMap::new();
    for line in lines {
        let (sum, count) = sums.entry(line.digest.id).or_default();
        *sum += line.sums.server.sum_ns();
        *count += line.sums.server.count();
    }
    sums.into_iter().filter_map(|(id, (sum, count))| Some((id, sum.checked_div(count)?))).collect()
}

/// The medians over rows, of calls and of mean times.
struct Middle {
    calls: u64,
    mean_ns: u64,
}

impl Middle {
    fn of(lines: &[&Line]) -> Self {
        let median = |of: fn(&Line) -> u64| {
            let mut all: Vec<u64> = lines.iter().map(|line| of(line)).collect();
            all.sort_unstable();
            all.get(all.len() / 2).copied().unwrap_or(0)
        };
        Self { calls: median(|line| line.sums.calls), mean_ns: median(mean_ns) }
    }

    fn quadrant(&self, line: &Line) -> Quadrant {
        match (line.sums.calls > self.calls, mean_ns(line) > self.mean_ns) {
            (true, true) => Quadrant::OftenSlow,
            (true, false) => Quadrant::OftenFast,
            (false, true) => Quadrant::SeldomSlow,
            (false, false) => Quadrant::SeldomFast,
        }
    }
}

fn mean_ns(line: &Line) -> u64 {
    line.sums.total.sum_ns().checked_div(line.sums.calls).unwrap_or(0)
}

fn quadrants(rows: &[(&Line, Quadrant)]) -> Vec<QuadrantSum> {
    let mut sums: BTreeMap<Quadrant, QuadrantSum> = BTreeMap::new();
    for quadrant in [Quadrant::OftenSlow, Quadrant::OftenFast, Quadrant::SeldomSlow, Quadrant::SeldomFast] {
        sums.insert(quadrant, QuadrantSum { quadrant, rows: 0, calls: 0, total_seconds: 0.0 });
    }
    for (line, quadrant) in rows {
        if let Some(sum) = sums.get_mut(quadrant) {
            sum.rows += 1;
            sum.calls += line.sums.calls;
            sum.total_seconds += seconds(line.sums.total.sum_ns());
        }
    }
    sums.into_values().collect()
}

fn rank(sort: SortBy, line: &Line, means: &Means) -> u64 {
    let sums = &line.sums;
    match sort {
        SortBy::Total => sums.total.sum_ns(),
        SortBy::Calls => sums.calls,
        SortBy::Mean => mean_ns(line),
        SortBy::P99 => sums.total.percentile(99.0),
        SortBy::Errors => sums.errors,
        SortBy::Rows => sums.rows_sent + sums.rows_affected,
        SortBy::Saved => means.get(&line.digest.id).map_or(0, |mean| mean * sums.hits),
        SortBy::Regret => regret_ns(sums, line.digest.is_cacheable),
    }
}

/// What the server took for what no rule has said anything about.
fn regret_ns(sums: &Sums, is_cacheable: bool) -> u64 {
    let named = sums.hits + sums.misses + sums.refused.iter().sum::<u64>();
    let unnamed = sums.server.count().saturating_sub(named.saturating_sub(sums.hits));
    match is_cacheable {
        // The first answer has to come from the server.
        true => sums.server_mean().unwrap_or(0) * unnamed.saturating_sub(1),
        false => 0,
    }
}

fn query(line: &Line, quadrant: Quadrant, means: &Means, began_at: SystemTime) -> Query {
    let mean = means.get(&line.digest.id).copied();
    Query {
        id: line.digest.id.to_string(),
        digest: text(&line.digest.text),
        digest_cut: line.digest.is_cut,
        user: text(&line.origin.user),
        schema: text(&line.origin.schema),
        server: line.origin.server.to_string(),
        quadrant,
        cacheable: line.digest.is_cacheable,
        sample: (!line.sample.is_empty()).then(|| text(&line.sample)),
        counts: counts(&line.sums, mean, line.digest.is_cacheable, began_at),
    }
}

fn counts(sums: &Sums, server_mean: Option<u64>, is_cacheable: bool, began_at: SystemTime) -> QueryCounts {
    let moment = |at: u64| {
        let moment = began_at.checked_add(Duration::from_secs(at))?;
        (sums.calls > 0).then(|| unix(moment))
    };
    let named = |counts: &[u64], name: fn(usize) -> Option<&'static str>| {
        let met = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        met.filter_map(|(at, count)| Some((name(at)?.to_owned(), *count))).collect()
    };
    QueryCounts {
        calls: sums.calls,
        errors: sums.errors,
        error_codes: sums.codes.clone(),
        rows_sent: sums.rows_sent,
        rows_affected: sums.rows_affected,
        bytes_in: sums.bytes_in,
        bytes_out: sums.bytes_out,
        hits: sums.hits,
        misses: sums.misses,
        refused: named(&sums.refused, |at| Refusal::ALL.get(at).map(|reason| reason.as_str())),
        answered_by_weir: sums.by_weir,
        pins: named(&sums.pins, |at| PinReason::ALL.get(at).map(|reason| reason.as_str())),
        total: times(&sums.total),
        queue: times(&sums.queue),
        server_time: times(&sums.server),
        saved_seconds: match sums.hits {
            0 => Some(0.0),
            hits => server_mean.map(|mean| seconds(mean) * hits as f64),
        },
        regret_seconds: seconds(regret_ns(sums, is_cacheable)),
        first_seen: moment(sums.first_seen),
        last_seen: moment(sums.last_seen),
    }
}

pub(super) fn times(times: &HistogramSnapshot) -> Times {
    let count = times.count();
    let some = |ns: u64| (count > 0).then(|| seconds(ns));
    Times {
        count,
        sum_seconds: seconds(times.sum_ns()),
        mean_seconds: times.sum_ns().checked_div(count).map(seconds),
        p50_seconds: some(times.percentile(50.0)),
        p95_seconds: some(times.percentile(95.0)),
        p99_seconds: some(times.percentile(99.0)),
    }
}

pub(super) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn unix(moment: SystemTime) -> u64 {
    moment.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
