//! What a cache rule does to the statements that it matches: what they cost before it was made, and since.
//!
//! Nothing is counted for it: what the statistics have of these statements is added up when the rule is made, and when somebody asks.

use super::explain::Matched;
use super::queries::{seconds, times};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};
use weir_admin::{EffectCounts, MeanTime, RuleEffect};
use weir_model::rule::{CacheMode, Rule, RuleMatch};
use weir_proxy::Shared;
use weir_stats::HistogramSnapshot;
use weir_stats::digests::Sums;

/// When each cache rule began, by its name.
#[derive(Default)]
pub struct Effects(Mutex<HashMap<String, Began>>);

struct Began {
    at: SystemTime,
    matches: RuleMatch,
    /// A rule that is only tried does nothing: what it serves begins anew.
    mode: CacheMode,
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
    /// Takes note of rules that were just made, or match other statements than before or in another mode, and of what these have cost by
    /// now. `is_known`: whether that was before the rule.
    pub fn note(&self, shared: &Shared, is_known: bool) {
        let new: Vec<Rule> = {
            let mut all = self.0.lock();
            let rules = shared.rules();
            all.retain(|name, began| rules.iter().any(|rule| rule.name == *name && began.is_of(rule)));
            let new = |rule: &&Rule| rule.cache.is_some() && !all.contains_key(&rule.name);
            rules.iter().filter(new).cloned().collect()
        };
        // Nobody waits for the sums.
        let befores = if is_known && !new.is_empty() { told(shared, &new) } else { Vec::new() };
        let mut befores = befores.into_iter();
        let mut all = self.0.lock();
        let rules = shared.rules();
        for rule in new {
            let before = befores.next().flatten();
            let Some(mode) = rule.cache.as_ref().map(|cache| cache.mode) else { continue };
            let began = Began { at: SystemTime::now(), matches: rule.matches, mode, before };
            // Another change may have come meanwhile, and has taken note of its own.
            if rules.iter().any(|now| now.name == rule.name && began.is_of(now)) {
                all.entry(rule.name).or_insert(began);
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
        let now = told(shared, std::slice::from_ref(rule)).pop()??;
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

/// What was counted of the statements of each rule by now; `None` where nothing is counted, or nobody knows which they are.
fn told(shared: &Shared, rules: &[Rule]) -> Vec<Option<Told>> {
    let Some(digests) = shared.digests.as_ref() else { return vec![None; rules.len()] };
    let mut sums: Vec<_> = rules
        .iter()
        .map(|rule| Matched::by(shared, rule).map(|matched| (matched, Told::default())))
        .collect();
    if sums.iter().any(Option::is_some) {
        for (_, line) in digests.rows().lines() {
            for (matched, told) in sums.iter_mut().flatten() {
                if matched.is(&line) {
                    told.add(&line.sums);
                }
            }
        }
    }
    sums.into_iter().map(|sums| sums.map(|(_, told)| told)).collect()
}

impl Began {
    /// Whether it was taken note of for this rule as it is.
    fn is_of(&self, rule: &Rule) -> bool {
        rule.matches == self.matches && rule.cache.as_ref().is_some_and(|cache| cache.mode == self.mode)
    }
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
