//! What was counted of statements, for the API.

use super::named::Named;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use weir_admin::{
    ApiError, By, Code, Quadrant, QuadrantSum, Queries, QueriesAsked, Query, QueryAsked, QueryCounts,
    QueryShown, Reset, SortBy, Times, Together,
};
use weir_cache::Refusal;
use weir_model::DigestId;
use weir_proxy::{Digests, Shared};
use weir_session::PinReason;
use weir_stats::HistogramSnapshot;
use weir_stats::digests::{Line, Origin, Rows, Sums, Usage};
use weir_store::Period;

/// Rows that are shown if nothing is said about it, and at most.
const SHOWN: usize = 20;
const SHOWN_MAX: usize = 10_000;

/// What was counted of statements, now or in some time.
pub struct Counted<'r> {
    pub lines: Lines<'r>,
    /// When the seconds began that rows tell.
    pub began_at: SystemTime,
    pub usage: Usage,
    /// What the cache advisor knows of them.
    pub unchanged: Unchanged,
}

/// Lines, each with its number. Each is made when it is looked at.
pub enum Lines<'r> {
    Counted(&'r Rows),
    Kept(&'r Period),
    None(&'r Sums),
}

impl Lines<'_> {
    fn each(&self, mut show: impl FnMut(usize, &Line)) {
        match self {
            Self::Counted(rows) => rows.lines().for_each(|(at, line)| show(at, &line)),
            Self::Kept(period) => period.lines().for_each(|(at, line)| show(at, &line)),
            Self::None(_) => {}
        }
    }

    fn line(&self, at: usize) -> Option<Line> {
        match self {
            Self::Counted(rows) => rows.line(at),
            Self::Kept(period) => period.line(at),
            Self::None(_) => None,
        }
    }

    fn other(&self) -> &Sums {
        match self {
            Self::Counted(rows) => rows.other(),
            Self::Kept(period) => period.other(),
            Self::None(other) => other,
        }
    }
}

/// What of a row is needed to choose among all. A whole one takes a hundred times as much memory.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Brief {
    /// The lines that it adds up: so many, from this place on in the list of those that were selected.
    at: usize,
    lines: usize,
    id: DigestId,
    calls: u64,
    total_ns: u64,
    rank: u64,
}

impl Brief {
    fn mean_ns(&self) -> u64 {
        self.total_ns.checked_div(self.calls).unwrap_or(0)
    }
}

/// The rows that were asked for, of what was counted since the start or the last reset.
pub fn list(shared: &Shared, asked: &QueriesAsked) -> Result<Queries, ApiError> {
    let Some(digests) = &shared.digests else {
        let nothing = Sums::default();
        let counted = Counted {
            lines: Lines::None(&nothing),
            began_at: UNIX_EPOCH,
            usage: Usage::default(),
            unchanged: Unchanged::default(),
        };
        return Ok(Queries {
            enabled: false,
            other: None,
            quadrants: Vec::new(),
            ..listed(&counted, asked)?
        });
    };
    let rows = digests.rows();
    listed(
        &Counted {
            lines: Lines::Counted(&rows),
            began_at: digests.began_at(),
            usage: digests.usage(),
            unchanged: Unchanged::of(digests),
        },
        asked,
    )
}

/// The rows that were asked for.
pub fn listed(counted: &Counted<'_>, asked: &QueriesAsked) -> Result<Queries, ApiError> {
    let Counted { lines, began_at, usage, unchanged } = counted;
    let limit = limited(asked.limit)?;
    let (sort, by) = (asked.sort.unwrap_or_default(), asked.by.unwrap_or_default());
    let (mut all, mut selected) = (0, Vec::new());
    lines.each(|at, line| {
        all += 1;
        if is_selected(&line.origin, asked) {
            let rank = rank(sort, &line.sums, || unchanged.regret_ns(line));
            selected.push(brief(at, line, rank));
        }
    });
    // Lines are told by their place among these from here on.
    let (mut selected, members) = match by {
        By::Origin => placed(selected),
        By::Digest => added_up(selected, sort, |members| p99(lines, members)),
    };
    let middle = Middle::of(&selected);
    let quadrants = quadrants(&selected, &middle);
    selected.retain(|brief| asked.quadrant.is_none_or(|wanted| wanted == middle.quadrant(brief)));
    let offset = asked.offset.unwrap_or(0);
    // The ids make the order the same each time.
    selected.sort_by_key(|brief| (Reverse(brief.rank), brief.id));
    let page = selected.iter().skip(offset).take(limit);
    let row = |brief: &Brief| {
        let mut of = members.get(brief.at..)?.iter().take(brief.lines).filter_map(|at| lines.line(*at));
        let mut whole = Whole::of(of.next()?, unchanged);
        of.for_each(|line| whole.add(&line, unchanged));
        Some(query(&whole, by, middle.quadrant(brief), *began_at))
    };
    Ok(Queries {
        enabled: true,
        rows: all,
        selected: selected.len(),
        offset,
        queries: page.filter_map(row).collect(),
        other: Some(counts(lines.other(), 0, *began_at)),
        quadrants,
        evicted: usage.evicted,
        memory: usage.bytes as u64,
        period: None,
    })
}

/// One digest, and those of its rows that were asked for. Whole lines are made of these alone, as a digest may have as many as there are
/// users.
pub fn show(shared: &Shared, id: &str, asked: QueryAsked) -> Result<QueryShown, ApiError> {
    let unknown = || {
        let text = format!(
            "no statement with the digest `{id}` was counted since the start or the last reset, or its row has made room: \
             `weir queries` shows what was"
        );
        ApiError::new(Code::UnknownDigest, text)
    };
    let limit = limited(asked.limit)?;
    let digests = shared.digests.as_ref().ok_or_else(unknown)?;
    let (held, unchanged) = (digests.rows(), Unchanged::of(digests));
    let known = held.lines().map(|(_, line)| line.digest.id);
    let wanted = Named::to_look(id)?.among(known)?.ok_or_else(unknown)?;
    let (mut briefs, mut own) = (Vec::new(), Vec::new());
    let (mut all, mut regret_ns, mut first) = (Sums::default(), 0, None);
    for (at, line) in held.lines() {
        briefs.push(brief(at, &line, 0));
        if line.digest.id == wanted {
            all.merge(&line.sums);
            regret_ns += unchanged.regret_ns(&line);
            own.push((Reverse(line.sums.total.sum_ns()), briefs.len() - 1));
            first.get_or_insert(line.digest);
        }
    }
    let first = first.ok_or_else(unknown)?;
    let middle = Middle::of(&briefs);
    own.sort_unstable();
    let offset = asked.offset.unwrap_or(0);
    let row = |(_, at): &(_, usize)| {
        let brief = briefs.get(*at)?;
        let whole = Whole::of(held.line(brief.at)?, &unchanged);
        Some(query(&whole, By::Origin, middle.quadrant(brief), digests.began_at()))
    };
    Ok(QueryShown {
        id: first.id.to_string(),
        digest: text(&first.text),
        digest_cut: first.is_cut,
        all: counts(&all, regret_ns, digests.began_at()),
        rows: own.iter().skip(offset).take(limit).filter_map(row).collect(),
        total: own.len(),
        offset,
    })
}

/// How many rows are shown.
fn limited(asked: Option<usize>) -> Result<usize, ApiError> {
    let limit = asked.unwrap_or(SHOWN);
    match (1..=SHOWN_MAX).contains(&limit) {
        true => Ok(limit),
        false => Err(ApiError::new(Code::BadRequest, format!("limit is from 1 to {SHOWN_MAX}"))),
    }
}

/// Forgets all that was counted.
pub fn reset(shared: &Shared) -> Reset {
    let Some(digests) = &shared.digests else { return Reset { rows: 0 } };
    let rows = digests.usage().rows as u64;
    digests.empty();
    tracing::info!(event = "queries_reset", rows, "what was counted of statements was reset through the API");
    Reset { rows }
}

pub(super) fn is_selected(origin: &Origin, asked: &QueriesAsked) -> bool {
    let is = |wanted: &Option<String>, name: &[u8]| wanted.as_ref().is_none_or(|w| w.as_bytes() == name);
    is(&asked.user, &origin.user)
        && is(&asked.schema, &origin.schema)
        && is(&asked.server, origin.server.as_bytes())
}

/// The server's time for answers that were the same as the last one to the same statement, as far as the cache advisor watches.
#[derive(Default)]
pub struct Unchanged(HashMap<(DigestId, Arc<Origin>), u64>);

impl Unchanged {
    fn of(digests: &Digests) -> Self {
        let told = |line: weir_stats::advice::Line| {
            let ns = line.unchanged_ns() as u64;
            ((line.digest.id, line.origin), ns)
        };
        Self(digests.advice().into_iter().map(told).collect())
    }

    /// What the server took for what the cache might have answered, and no rule has said anything about.
    fn regret_ns(&self, line: &Line) -> u64 {
        if !line.digest.is_cacheable {
            return 0;
        }
        if let Some(ns) = self.0.get(&(line.digest.id, Arc::clone(&line.origin))) {
            return *ns;
        }
        let sums = &line.sums;
        let named = sums.misses + sums.refused.iter().sum::<u64>();
        // The first answer has to come from the server.
        let repeats = sums.server.count().saturating_sub(named).saturating_sub(1);
        sums.server_mean().unwrap_or(0) * repeats
    }
}

fn brief(at: usize, line: &Line, rank: u64) -> Brief {
    let (calls, total_ns) = (line.sums.calls, line.sums.total.sum_ns());
    Brief { at, lines: 1, id: line.digest.id, calls, total_ns, rank }
}

/// Each line is a row.
fn placed(mut briefs: Vec<Brief>) -> (Vec<Brief>, Vec<usize>) {
    let members = briefs.iter().map(|brief| brief.at).collect();
    briefs.iter_mut().enumerate().for_each(|(place, brief)| brief.at = place);
    (briefs, members)
}

/// Those of a digest are one row. `p99` tells it of some lines together.
fn added_up(mut briefs: Vec<Brief>, sort: SortBy, p99: impl Fn(&[usize]) -> u64) -> (Vec<Brief>, Vec<usize>) {
    briefs.sort_by_key(|brief| (brief.id, brief.at));
    let members: Vec<usize> = briefs.iter().map(|brief| brief.at).collect();
    let mut at = 0;
    let rows = briefs.chunk_by(|a, b| a.id == b.id).map(|of_one| {
        let place = at;
        at += of_one.len();
        let sum = |of: fn(&Brief) -> u64| of_one.iter().map(of).sum::<u64>();
        let (calls, total_ns) = (sum(|brief| brief.calls), sum(|brief| brief.total_ns));
        let rank = match sort {
            SortBy::Mean => total_ns.checked_div(calls).unwrap_or(0),
            SortBy::P99 if of_one.len() > 1 => p99(&members[place..at]),
            _ => sum(|brief| brief.rank),
        };
        Brief { at: place, lines: of_one.len(), id: of_one[0].id, calls, total_ns, rank }
    });
    (rows.collect(), members)
}

fn p99(lines: &Lines<'_>, members: &[usize]) -> u64 {
    let mut total = HistogramSnapshot::default();
    members.iter().filter_map(|at| lines.line(*at)).for_each(|line| total.merge(&line.sums.total));
    total.percentile(99.0)
}

/// A row.
struct Whole {
    /// The first of its lines, with what was counted of all.
    line: Line,
    regret_ns: u64,
    origins: Vec<Arc<Origin>>,
}

impl Whole {
    fn of(line: Line, unchanged: &Unchanged) -> Self {
        Self { regret_ns: unchanged.regret_ns(&line), origins: vec![Arc::clone(&line.origin)], line }
    }

    fn add(&mut self, line: &Line, unchanged: &Unchanged) {
        self.line.sums.merge(&line.sums);
        self.regret_ns += unchanged.regret_ns(line);
        self.origins.push(Arc::clone(&line.origin));
    }

    fn together(&self) -> Together {
        fn count<'o, T: Ord + ?Sized + 'o>(origins: &'o [Arc<Origin>], of: fn(&'o Origin) -> &'o T) -> usize {
            origins.iter().map(|origin| of(origin)).collect::<BTreeSet<_>>().len()
        }
        Together {
            rows: self.origins.len(),
            users: count(&self.origins, |origin| &*origin.user),
            schemas: count(&self.origins, |origin| &*origin.schema),
            servers: count(&self.origins, |origin| &*origin.server),
        }
    }
}

/// The medians over rows, of calls and of mean times.
struct Middle {
    calls: u64,
    mean_ns: u64,
}

impl Middle {
    fn of(briefs: &[Brief]) -> Self {
        let median = |of: fn(&Brief) -> u64| {
            let mut all: Vec<u64> = briefs.iter().map(of).collect();
            all.sort_unstable();
            all.get(all.len() / 2).copied().unwrap_or(0)
        };
        Self { calls: median(|brief| brief.calls), mean_ns: median(Brief::mean_ns) }
    }

    fn quadrant(&self, brief: &Brief) -> Quadrant {
        match (brief.calls > self.calls, brief.mean_ns() > self.mean_ns) {
            (true, true) => Quadrant::OftenSlow,
            (true, false) => Quadrant::OftenFast,
            (false, true) => Quadrant::SeldomSlow,
            (false, false) => Quadrant::SeldomFast,
        }
    }
}

fn quadrants(briefs: &[Brief], middle: &Middle) -> Vec<QuadrantSum> {
    let mut sums: BTreeMap<Quadrant, QuadrantSum> = BTreeMap::new();
    for quadrant in [Quadrant::OftenSlow, Quadrant::OftenFast, Quadrant::SeldomSlow, Quadrant::SeldomFast] {
        sums.insert(quadrant, QuadrantSum { quadrant, rows: 0, calls: 0, total_seconds: 0.0 });
    }
    for brief in briefs {
        if let Some(sum) = sums.get_mut(&middle.quadrant(brief)) {
            sum.rows += 1;
            sum.calls += brief.calls;
            sum.total_seconds += seconds(brief.total_ns);
        }
    }
    sums.into_values().collect()
}

fn rank(sort: SortBy, sums: &Sums, regret_ns: impl Fn() -> u64) -> u64 {
    match sort {
        SortBy::Total => sums.total.sum_ns(),
        SortBy::Calls => sums.calls,
        SortBy::Mean => sums.total.sum_ns().checked_div(sums.calls).unwrap_or(0),
        SortBy::P99 => sums.total.percentile(99.0),
        SortBy::Errors => sums.errors,
        SortBy::Rows => sums.rows_sent + sums.rows_affected,
        SortBy::Saved => sums.saved_ns,
        SortBy::Regret => regret_ns(),
    }
}

fn query(whole: &Whole, by: By, quadrant: Quadrant, began_at: SystemTime) -> Query {
    let Whole { line, regret_ns, .. } = whole;
    let together = (by == By::Digest).then(|| whole.together());
    // One of several would be taken for all.
    let only = |of: fn(&Together) -> usize, name: &[u8]| match together.is_none_or(|all| of(&all) == 1) {
        true => text(name),
        false => String::new(),
    };
    Query {
        id: line.digest.id.to_string(),
        digest: text(&line.digest.text),
        digest_cut: line.digest.is_cut,
        user: only(|all| all.users, &line.origin.user),
        schema: only(|all| all.schemas, &line.origin.schema),
        server: only(|all| all.servers, line.origin.server.as_bytes()),
        together,
        quadrant,
        cacheable: line.digest.is_cacheable,
        sample: (!line.sample.is_empty()).then(|| text(&line.sample)),
        counts: counts(&line.sums, *regret_ns, began_at),
    }
}

fn counts(sums: &Sums, regret_ns: u64, began_at: SystemTime) -> QueryCounts {
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
        saved_seconds: Some(seconds(sums.saved_ns)),
        regret_seconds: seconds(regret_ns),
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

#[cfg(test)]
mod tests;
