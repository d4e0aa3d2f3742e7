//! What a cache rule does to the statements that it matches: what they cost before it was made, and since.
//!
//! Nothing is counted for it: what the statistics have of these statements is added up when the rule is made, and when somebody asks.

use super::explain::Matched;
use super::queries::{seconds, times};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};
use weir_admin::{EffectCounts, MeanTime, RuleEffect};
use weir_model::rule::{Rule, RuleMatch};
use weir_proxy::Shared;
use weir_stats::HistogramSnapshot;
use weir_stats::digests::Sums;

/// When each cache rule began, by its name.
#[derive(Default)]
pub struct Effects(Mutex<HashMap<String, Began>>);

struct Began {
    at: SystemTime,
    matches: RuleMatch,
    /// What its statements had cost by then; `None` where nobody knows.
    before: Option<Told>,
}

/// What was counted of some statements.
#[derive(Clone, Default)]
struct Told {
    calls: u64,
    hits: u64,
    misses: u64,
    saved_ns: u64,
    alone_ns: u64,
    server: (u64, u64),
    total: HistogramSnapshot,
}

impl Effects {
    /// Takes note of rules that were just made, or match other statements than before, and of what these have cost by now. `is_known`:
    /// whether that was before the rule.
    pub fn note(&self, shared: &Shared, is_known: bool) {
        let rules = shared.rules();
        let caching = |rule: &&Rule| rule.cache.is_some();
        let mut all = self.0.lock();
        all.retain(|name, began| {
            rules.iter().filter(caching).any(|rule| rule.name == *name && rule.matches == began.matches)
        });
        for rule in rules.iter().filter(caching) {
            if !all.contains_key(&rule.name) {
                let before = if is_known { told(shared, rule) } else { None };
                let began = Began { at: SystemTime::now(), matches: rule.matches.clone(), before };
                all.insert(rule.name.clone(), began);
            }
        }
    }

    /// What was counted is forgotten.
    pub fn reset(&self) {
        for began in self.0.lock().values_mut() {
            (began.at, began.before) = (SystemTime::now(), None);
        }
    }

    pub fn of(&self, shared: &Shared, rule: &Rule) -> Option<RuleEffect> {
        rule.cache.as_ref()?;
        let now = told(shared, rule)?;
        let all = self.0.lock();
        let began = all.get(&rule.name)?;
        let since = match &began.before {
            Some(before) => now.since(before),
            None => Some(now),
        };
        Some(RuleEffect {
            since: began.at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
            before: began.before.as_ref().map(Told::shown),
            now: since.as_ref().map(Told::shown),
        })
    }
}

/// What was counted of the statements of a rule by now; `None` where nothing is counted, or nobody knows which they are.
fn told(shared: &Shared, rule: &Rule) -> Option<Told> {
    let digests = shared.digests.as_ref()?;
    let matched = Matched::by(shared, rule)?;
    let mut told = Told::default();
    for (_, line) in digests.rows().lines() {
        if matched.is(&line) {
            told.add(&line.sums);
        }
    }
    Some(told)
}

impl Told {
    fn add(&mut self, sums: &Sums) {
        self.calls += sums.calls;
        self.hits += sums.hits;
        self.misses += sums.misses;
        self.saved_ns += sums.saved_ns;
        self.alone_ns += sums.alone_ns;
        self.server.0 += sums.server.count();
        self.server.1 += sums.server.sum_ns();
        self.total.merge(&sums.total);
    }

    /// What came since; `None` where rows have gone.
    fn since(&self, before: &Self) -> Option<Self> {
        Some(Self {
            calls: self.calls.checked_sub(before.calls)?,
            hits: self.hits.checked_sub(before.hits)?,
            misses: self.misses.checked_sub(before.misses)?,
            saved_ns: self.saved_ns.checked_sub(before.saved_ns)?,
            alone_ns: self.alone_ns.checked_sub(before.alone_ns)?,
            server: (
                self.server.0.checked_sub(before.server.0)?,
                self.server.1.checked_sub(before.server.1)?,
            ),
            total: self.total.since(&before.total),
        })
    }

    fn shown(&self) -> EffectCounts {
        let mean = |count: u64, ns: u64| MeanTime {
            count,
            sum_seconds: seconds(ns),
            mean_seconds: ns.checked_div(count).map(seconds),
        };
        let (served, server_ns) = self.server;
        EffectCounts {
            calls: self.calls,
            hits: self.hits,
            misses: self.misses,
            total: times(&self.total),
            without_server: mean(self.calls.saturating_sub(served), self.alone_ns),
            with_server: mean(served, self.total.sum_ns().saturating_sub(self.alone_ns)),
            server_time: mean(served, server_ns),
            saved_seconds: seconds(self.saved_ns),
        }
    }
}
