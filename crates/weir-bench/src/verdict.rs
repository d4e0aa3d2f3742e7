//! The floors and aims that Weir is held to, and whether a run met them.

use serde::Serialize;

use crate::analytics::{self, Sent};
use crate::summary::{Metric, Readings, SHARED_CONNECTIONS, Spread, Target};
use crate::sysbench::Work;
use crate::{cached, connect, idle, latency, miss, opening, paced, stream, unseen};

/// One line of the verdict.
#[derive(Debug, Clone, Serialize)]
pub struct Verdict {
    /// What was compared with what.
    pub what: String,
    /// What must be reached.
    pub floor: f64,
    /// What is wanted.
    pub aim: f64,
    /// Whether less is better.
    pub less_is_better: bool,
    /// What was measured.
    pub measured: Spread,
    /// How the median stands to the floor and the aim.
    pub word: Word,
}

/// How a median stands to its floor and its aim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// Not even the floor.
    Missed,
    /// The floor, and not the aim.
    Met,
    /// The aim.
    Aim,
}

impl Word {
    /// As it stands in the report.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Missed => "MISSED",
            Self::Met => "met",
            Self::Aim => "met, aim too",
        }
    }
}

/// The verdict on every requirement that was measured.
#[must_use]
pub fn all(readings: &Readings) -> Vec<Verdict> {
    let mut lines = Vec::new();
    let mut add = |what: String, floor: f64, aim: f64, measured: Option<Spread>| {
        let Some(measured) = measured else { return };
        let less_is_better = aim < floor;
        let word = judge(measured.median, floor, aim, less_is_better);
        lines.push(Verdict { what, floor, aim, less_is_better, measured, word });
    };
    for work in [Work::PointSelectText, Work::PointSelectPrepared] {
        for threads in [8, 64] {
            let row = work.row(threads);
            let ratio = readings.ratio(&row, Target::Weir, Target::Relay, Metric::CpuUs);
            add(format!("{row}: CPU per query / relay's"), 1.25, 1.05, ratio);
        }
    }
    let row = Work::PointSelectText.row(64);
    let ratio = readings.ratio(&row, Target::Weir, Target::Haproxy, Metric::CpuUs);
    add(format!("{row}: CPU per query / HAProxy's"), 0.90, 0.75, ratio);
    let ratio = readings.ratio(latency::ROW, Target::Weir, Target::Haproxy, Metric::AddedUs);
    add(format!("{}: added / HAProxy's", latency::ROW), 1.1, 0.9, ratio);
    let ratio = readings.ratio(connect::ROW, Target::Weir, Target::Haproxy, Metric::PerSecond);
    add(format!("{}: per second / HAProxy's", connect::ROW), 1.0, 1.2, ratio);
    for row in readings.rows() {
        let kb = readings.spread(row, Target::Weir, Metric::KbPerClient);
        let over_tls = row.ends_with(idle::OVER_TLS);
        let (floor, aim) = if over_tls { (48.0, 32.0) } else { (16.0, 8.0) };
        add(format!("{row}: kB each"), floor, aim, kb);
        let kb = readings.spread(row, Target::Shared, Metric::KbPerClient);
        let (floor, aim) = if over_tls { (48.0, 32.0) } else { (12.0, 6.0) };
        add(format!("{row}, shared: kB each"), floor, aim, kb);
    }
    sharing(readings, &mut add);
    hits(readings, &mut add);
    counting(readings, &mut add);
    let each = readings.spread(unseen::ROW, Target::Weir, Metric::Nanoseconds);
    add(format!("{}: ns", unseen::ROW), 500.0, 250.0, each);
    let rate = readings.spread(unseen::ROW_INSERT, Target::Weir, Metric::MbPerSecond);
    add(format!("{}: MB/s", unseen::ROW_INSERT), 300.0, 1_000.0, rate);
    let growth = readings.spread(stream::ROW_SLOW, Target::Weir, Metric::GrowthMb);
    add(format!("{}: growth in MB", stream::ROW_SLOW), 8.0, 1.0, growth);
    lines
}

/// On few connections statements wait for one; on as many as there are clients only what sharing itself costs is left.
fn shared() -> [(Target, String); 2] {
    [(Target::Shared, format!(" on {SHARED_CONNECTIONS}")), (Target::Ample, String::new())]
}

/// What clients that share connections are held to.
fn sharing(readings: &Readings, add: &mut impl FnMut(String, f64, f64, Option<Spread>)) {
    for work in [Work::PointSelectText, Work::PointSelectPrepared] {
        for threads in [8, 64] {
            let row = work.row(threads);
            for (target, how) in shared() {
                let ratio = readings.ratio(&row, target, Target::Weir, Metric::CpuUs);
                add(format!("{row}, shared{how}: CPU per query / not shared"), 1.10, 0.95, ratio);
            }
        }
    }
    let row = Work::PointSelectText.row(64);
    for (target, how) in shared() {
        let ratio = |metric| readings.ratio(&row, target, Target::Haproxy, metric);
        add(format!("{row}, shared{how}: CPU per query / HAProxy's"), 0.90, 0.70, ratio(Metric::CpuUs));
        add(format!("{row}, shared{how}: throughput / HAProxy's"), 1.1, 1.3, ratio(Metric::PerSecond));
    }
    let row = Work::PointSelectText.row(256);
    let ratio = readings.ratio(&row, Target::Shared, Target::Direct, Metric::PerSecond);
    add(format!("{row}, on {SHARED_CONNECTIONS} connections: throughput / direct"), 0.5, 0.7, ratio);
    for row in [connect::ROW, connect::ROW_MYSQL] {
        let ratio = readings.ratio(row, Target::Shared, Target::Direct, Metric::PerSecond);
        add(format!("{row}, shared: per second / direct"), 1.5, 2.5, ratio);
    }
    let trips = readings.spread(opening::ROW, Target::Shared, Metric::RoundTrips);
    add(format!("{}, shared: round trips beyond the SELECT's", opening::ROW), 1.0, 0.0, trips);
    let connections = readings.spread(paced::ROW, Target::Shared, Metric::Connections);
    add(format!("{}, shared: server connections", paced::ROW), 16.0, 8.0, connections);
}

/// What answers out of the cache are held to.
fn hits(readings: &Readings, add: &mut impl FnMut(String, f64, f64, Option<Spread>)) {
    let to_direct = |row: &str, metric| readings.ratio(row, Target::Cached, Target::Direct, metric);
    let row = cached::ROW_REDIS;
    let ratio = readings.ratio(row, Target::Cached, Target::Redis, Metric::CpuUs);
    add(format!("{row}: CPU of a hit / of a redis GET"), 1.2, 0.95, ratio);
    let row = cached::row_points(cached::THREADS);
    add(format!("{row}: throughput / direct"), 1.15, 1.35, to_direct(&row, Metric::PerSecond));
    let row = cached::ROW_READ_ONLY;
    add(format!("{row}: throughput / direct"), 1.4, 2.0, to_direct(row, Metric::PerSecond));
    add(format!("{row}: mean response time / direct"), 0.7, 0.5, to_direct(row, Metric::MeanMs));
    let row = cached::ROW_REPLAY;
    add(format!("{row}: throughput / direct"), 1.8, 2.6, to_direct(row, Metric::PerSecond));
    // sysbench has a thread for each client, and its own work grows with them; the replay has as many as there are cores.
    for row in [cached::row_points, cached::row_replayed_points] {
        let [few, more @ ..] = cached::POINT_THREADS;
        for clients in more {
            let ratio = readings.rows_ratio([&row(clients), &row(few)], Target::Cached, Metric::PerSecond);
            add(format!("{}: throughput / with {few}", row(clients)), 0.9, 1.0, ratio);
        }
    }
    let row = cached::row_writer(cached::THREADS);
    let all = cached::READERS.map(cached::row_writer);
    let ratio = readings.ratio_to_best(&row, &all, Target::Cached, Metric::PerSecond);
    add(format!("{row}: throughput / the best of all"), 0.9, 0.97, ratio);
    for row in [miss::ROW, miss::ROW_KEPT] {
        let ratio = readings.ratio(row, Target::Cached, Target::Shared, Metric::Instructions);
        add(format!("{row}: instructions per query / without a cache"), 1.05, 1.02, ratio);
    }
}

/// What counting statements may cost.
fn counting(readings: &Readings, add: &mut impl FnMut(String, f64, f64, Option<Spread>)) {
    for sent in Sent::ALL {
        let [with, without] = [true, false].map(|enabled| analytics::row(sent, enabled));
        for (target, how) in [(Target::Weir, ""), (Target::Shared, ", shared")] {
            let ratio = readings.rows_ratio([&with, &without], target, Metric::Instructions);
            add(format!("{with}{how}: instructions per query / without"), 1.03, 1.015, ratio);
        }
    }
}

fn judge(median: f64, floor: f64, aim: f64, less_is_better: bool) -> Word {
    let reaches = |goal: f64| if less_is_better { median <= goal } else { median >= goal };
    match (reaches(aim), reaches(floor)) {
        (true, _) => Word::Aim,
        (false, true) => Word::Met,
        (false, false) => Word::Missed,
    }
}

#[cfg(test)]
mod tests;
