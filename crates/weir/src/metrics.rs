//! What other floors count, for `/metrics`.

use crate::logging::LostLines;
use weir_admin::{Extra, Kind};
use weir_cache::{AGES, RuleStats};
use weir_proxy::{Dropped, RuleCount, RuleDeed, Shared};
use weir_store::History;

/// All of it.
pub fn all(shared: &Shared, history: Option<&History>, lost: &LostLines) -> Vec<Extra> {
    let mut list = pool(shared);
    rules(shared, &mut list);
    cache(shared, &mut list);
    digests(shared, &mut list);
    list.extend(history.map(crate::history::metrics).unwrap_or_default());
    query_log(shared, &mut list);
    own_log(lost, &mut list);
    list
}

/// What is told of the shared connections.
fn pool(shared: &Shared) -> Vec<Extra> {
    let usage = shared.pool.usage();
    let mut list = vec![
        gauge(
            "weir_server_connections_open",
            "Connections to the server, those being opened or closed included.",
            shared.upstream.open().into(),
        ),
        gauge(
            "weir_pool_connections_open",
            "Shared connections open, or being opened.",
            f64::from(usage.open),
        ),
        gauge(
            "weir_pool_connections_idle",
            "Shared connections that nobody uses now.",
            f64::from(usage.idle),
        ),
        gauge(
            "weir_pool_connections_pinned",
            "Shared connections that sessions keep.",
            f64::from(usage.pinned),
        ),
        gauge("weir_pool_waiting", "Statements and logins that wait for a connection.", usage.waiting as f64),
    ];
    list.extend(shared.pins.all().map(|(reason, count)| Extra {
        name: "weir_pins_total",
        help: "How often a session kept its connection beyond a statement, by reason.",
        kind: Kind::Counter,
        labels: vec![("reason", reason.to_owned())],
        value: count as f64,
    }));
    list
}

/// Lines of the query log.
fn query_log(shared: &Shared, list: &mut Vec<Extra>) {
    let log = &shared.query_log;
    for (reason, dropped) in [("queue_full", Dropped::QueueFull), ("not_written", Dropped::NotWritten)] {
        list.push(Extra {
            name: "weir_log_dropped_total",
            help: "Lines of the query log that were not written, by reason.",
            kind: Kind::Counter,
            labels: vec![("reason", reason.to_owned())],
            value: log.dropped(dropped) as f64,
        });
    }
    list.push(Extra {
        kind: Kind::Counter,
        ..gauge("weir_log_lines_total", "Lines of the query log that were written.", log.written() as f64)
    });
}

/// Lines of Weir's own log, on standard error.
fn own_log(lost: &LostLines, list: &mut Vec<Extra>) {
    for (reason, lines) in [("queue_full", lost.queue_full()), ("not_written", lost.not_written())] {
        list.push(Extra {
            name: "weir_stderr_lines_lost_total",
            help: "Lines of Weir's log on standard error that were not written, by reason.",
            kind: Kind::Counter,
            labels: vec![("reason", reason.to_owned())],
            value: lines as f64,
        });
    }
}

/// How full the tables of digests are; what is in them is not for a scraper.
fn digests(shared: &Shared, list: &mut Vec<Extra>) {
    let Some(digests) = &shared.digests else { return };
    let usage = digests.usage();
    list.extend([
        gauge("weir_digests_rows", "Rows of statistics by digest, of all workers.", usage.rows as f64),
        gauge("weir_digests_memory_bytes", "Memory of those rows.", usage.bytes as f64),
        Extra {
            kind: Kind::Counter,
            ..gauge("weir_digests_evicted_total", "Rows that made room for others.", usage.evicted as f64)
        },
        gauge(
            "weir_advisor_memory_bytes",
            "Memory of what the cache advisor watches.",
            digests.advice_bytes() as f64,
        ),
    ]);
}

fn rules(shared: &Shared, list: &mut Vec<Extra>) {
    let counts = shared.rule_counts();
    let mut add = |name, help, value: &dyn Fn(&RuleCount) -> u64| {
        list.extend(counts.iter().map(|count| Extra {
            name,
            help,
            kind: Kind::Counter,
            labels: vec![("rule", count.name.clone())],
            value: value(count) as f64,
        }));
    };
    let time = |count: &RuleCount| Extra {
        name: "weir_rule_seconds_total",
        help: "Time that clients waited for the answers to statements that a rule matched.",
        kind: Kind::Counter,
        labels: vec![("rule", count.name.clone())],
        value: count.took.as_secs_f64(),
    };
    add("weir_rule_hits_total", "Statements that a rule matched.", &|count| count.hits);
    for (deed, at) in RuleDeed::ALL.into_iter().zip(0..) {
        let (name, help) = match deed {
            RuleDeed::Denied => ("weir_rule_denied_total", "Statements that a rule has denied."),
            RuleDeed::Rewritten => ("weir_rule_rewritten_total", "Statements that a rule has rewritten."),
            RuleDeed::Waited => ("weir_rule_waited_total", "Statements that waited for a rule's limit."),
            RuleDeed::Rejected => ("weir_rule_rejected_total", "Statements that a rule's limit has refused."),
            RuleDeed::TimedOut => ("weir_rule_timed_out_total", "Statements ended by a rule's timeout."),
        };
        add(name, help, &|count| count.deeds.get(at).copied().unwrap_or_default());
    }
    list.extend(counts.iter().map(time));
}

/// A figure of each rule.
type Figure = (&'static str, &'static str, Kind, fn(&RuleStats) -> f64);

const FIGURES: [Figure; 21] = [
    ("weir_cache_entries", "Entries stored, by rule.", Kind::Gauge, |r| r.entries as f64),
    ("weir_cache_bytes", "Bytes of the entries stored, by rule.", Kind::Gauge, |r| r.bytes as f64),
    ("weir_cache_hits_total", "Statements answered from the cache.", Kind::Counter, |r| r.hits as f64),
    (
        "weir_cache_misses_total",
        "Statements that found nothing and went to the server.",
        Kind::Counter,
        |r| r.misses as f64,
    ),
    ("weir_cache_waits_total", "Statements that waited for the answer to another's.", Kind::Counter, |r| {
        r.waits as f64
    }),
    ("weir_cache_saved_seconds_total", "Time that the server took for answers served.", Kind::Counter, |r| {
        r.saved.as_secs_f64()
    }),
    ("weir_cache_hit_bytes_total", "Bytes of packets served from the cache.", Kind::Counter, |r| {
        r.hit_bytes as f64
    }),
    ("weir_cache_fills_total", "Answers stored.", Kind::Counter, |r| r.fills as f64),
    ("weir_cache_evicted_total", "Entries that made room for others.", Kind::Counter, |r| r.evicted as f64),
    ("weir_cache_expired_total", "Entries removed because they were too old.", Kind::Counter, |r| {
        r.expired as f64
    }),
    ("weir_cache_replaced_total", "Entries replaced by newer answers.", Kind::Counter, |r| r.replaced as f64),
    ("weir_cache_wiped_total", "Entries removed by a wipe.", Kind::Counter, |r| r.wiped as f64),
    (
        "weir_cache_refreshes_total",
        "Statements that renewed an entry past its soft TTL.",
        Kind::Counter,
        |r| r.refreshes as f64,
    ),
    (
        "weir_cache_stale_served_total",
        "Answers served past their TTL as the server failed.",
        Kind::Counter,
        |r| r.stale_served as f64,
    ),
    ("weir_cache_verified_total", "Served answers compared with a fresh one.", Kind::Counter, |r| {
        r.verified as f64
    }),
    ("weir_cache_mismatched_total", "Those of the verified that differed.", Kind::Counter, |r| {
        r.mismatched as f64
    }),
    ("weir_cache_handovers_total", "Waits that had to ask the server after all.", Kind::Counter, |r| {
        r.handovers as f64
    }),
    ("weir_cache_shadow_seen_total", "Statements observed in the shadow mode.", Kind::Counter, |r| {
        r.shadow_seen as f64
    }),
    ("weir_cache_shadow_hits_total", "Those that would have been hits.", Kind::Counter, |r| {
        r.shadow_hits as f64
    }),
    ("weir_cache_shadow_stale_total", "Those whose answer had changed by then.", Kind::Counter, |r| {
        r.shadow_stale as f64
    }),
    ("weir_cache_shadow_saved_seconds_total", "Time that the server took for those.", Kind::Counter, |r| {
        r.shadow_saved.as_secs_f64()
    }),
];

/// The samples of one name stand together, as the format asks for.
fn cache(shared: &Shared, list: &mut Vec<Extra>) {
    let stats = shared.cache().stats();
    list.extend([
        gauge("weir_cache_memory_limit_bytes", "Bytes that the cache may hold.", stats.memory as f64),
        gauge("weir_cache_memory_used_bytes", "Bytes that it holds, for all purposes.", stats.used as f64),
        gauge("weir_cache_stored_entries", "Entries of all rules.", stats.entries as f64),
        gauge("weir_cache_flights", "Questions to the server that are under way.", stats.flights as f64),
    ]);
    let rule = |stats: &RuleStats| ("rule", stats.name.to_string());
    for (name, help, kind, value) in FIGURES {
        let labels = |stats| vec![rule(stats)];
        list.extend(stats.rules.iter().map(|r| Extra {
            name,
            help,
            kind,
            labels: labels(r),
            value: value(r),
        }));
    }
    stale_ages(&stats.rules, list);
    let by_reason = |r: &RuleStats, name, help, (reason, count): (&str, u64)| Extra {
        name,
        help,
        kind: Kind::Counter,
        labels: vec![rule(r), ("reason", reason.to_owned())],
        value: count as f64,
    };
    for r in &stats.rules {
        // Of some 30 reasons a rule meets a few.
        let met = r.refused.iter().filter(|(_, count)| *count > 0);
        let help = "Statements that the cache left alone, by reason.";
        list.extend(
            met.map(|(reason, n)| by_reason(r, "weir_cache_refused_total", help, (reason.as_str(), *n))),
        );
    }
    for r in &stats.rules {
        let met = r.dropped.iter().filter(|(_, count)| *count > 0);
        let help = "Answers that were to be stored and were not, by reason.";
        list.extend(
            met.map(|(reason, n)| by_reason(r, "weir_cache_dropped_total", help, (reason.as_str(), *n))),
        );
    }
}

/// How old the answers were that had changed meanwhile: a histogram for each rule that looks.
fn stale_ages(rules: &[RuleStats], list: &mut Vec<Extra>) {
    let looking: Vec<&RuleStats> = rules.iter().filter(|r| r.verified + r.shadow_seen > 0).collect();
    let sample = |name, labels, value| Extra {
        name,
        help: "Ages of answers that differed from a fresh one.",
        kind: Kind::Histogram,
        labels,
        value,
    };
    let rule = |r: &RuleStats| ("rule", r.name.to_string());
    for r in &looking {
        let mut sum = 0;
        let bounds = AGES.iter().map(|age| age.as_secs_f64().to_string()).chain(["+Inf".to_owned()]);
        list.extend(bounds.zip(&r.stale_ages).map(|(le, count)| {
            sum += count;
            sample("weir_cache_stale_age_seconds_bucket", vec![rule(r), ("le", le)], sum as f64)
        }));
    }
    list.extend(
        looking
            .iter()
            .map(|r| sample("weir_cache_stale_age_seconds_sum", vec![rule(r)], r.stale_age.as_secs_f64())),
    );
    list.extend(looking.iter().map(|r| {
        let count: u64 = r.stale_ages.iter().sum();
        sample("weir_cache_stale_age_seconds_count", vec![rule(r)], count as f64)
    }));
}

pub(crate) fn gauge(name: &'static str, help: &'static str, value: f64) -> Extra {
    Extra { name, help, kind: Kind::Gauge, labels: Vec::new(), value }
}
