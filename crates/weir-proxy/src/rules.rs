//! The rules in force: one list for all workers, an index of it for each, and what is counted for each rule.

use crate::admit::SharedLimit;
use crate::live::{SessionSeen, SessionState};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};
use weir_cache::Cache;
use weir_model::rule::{CacheMode, CacheRule};
use weir_model::{IpNet, Rule, ServerFamily};
use weir_policy::{RuleError, RuleIndex, RuleSet};
use weir_sql::LexMode;

/// Workers that count without meeting each other; more of them take turns.
const STRIPES: usize = 8;

/// What a rule has done to a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleDeed {
    /// The client got its `deny`.
    Denied,
    /// The server got another text.
    Rewritten,
    /// It waited for its `limit`.
    Waited,
    /// Its `limit` has refused it.
    Rejected,
    /// Its `timeout` has ended it.
    TimedOut,
}

impl RuleDeed {
    pub const ALL: [Self; 5] = [Self::Denied, Self::Rewritten, Self::Waited, Self::Rejected, Self::TimedOut];

    /// The word in metrics and the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Rewritten => "rewritten",
            Self::Waited => "waited",
            Self::Rejected => "rejected",
            Self::TimedOut => "timed_out",
        }
    }
}

/// How often a rule has matched, when last, how long that took, and what it has done.
#[derive(Debug, Default)]
pub(crate) struct Counter([Stripe; STRIPES]);

#[derive(Debug, Default)]
#[repr(align(128))]
struct Stripe {
    hits: AtomicU64,
    /// Milliseconds since 1970; 0 is never.
    last: AtomicU64,
    /// Nanoseconds.
    took: AtomicU64,
    /// By [`RuleDeed`].
    deeds: [AtomicU64; RuleDeed::ALL.len()],
}

impl Counter {
    fn hit(&self, worker: usize) {
        let stripe = &self.0[worker % STRIPES];
        stripe.hits.fetch_add(1, Ordering::Relaxed);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        stripe.last.store(u64::try_from(now.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn took(&self, ns: u64, worker: usize) {
        self.0[worker % STRIPES].took.fetch_add(ns, Ordering::Relaxed);
    }

    fn did(&self, deed: RuleDeed, worker: usize) {
        self.0[worker % STRIPES].deeds[deed as usize].fetch_add(1, Ordering::Relaxed);
    }
}

/// How often a rule has matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleCount {
    pub name: String,
    /// Statements, since Weir was started or the name became known.
    pub hits: u64,
    pub last_hit: Option<SystemTime>,
    /// The sum of what the clients waited for the answers to these, those that waited to be sent included.
    pub took: Duration,
    /// In the order of [`RuleDeed::ALL`].
    pub deeds: [u64; RuleDeed::ALL.len()],
}

/// A list of rules that is in force.
#[derive(Debug)]
pub(crate) struct Rules {
    pub list: Arc<Vec<Rule>>,
    /// No two lists have the same.
    pub generation: u64,
    set: RuleSet,
    /// The mode in which the statements of `digest` were read.
    mode: LexMode,
    parts: Vec<Part>,
    /// Some rule does more than caching.
    pub acts: bool,
}

#[derive(Debug)]
struct Part {
    counter: Arc<Counter>,
    cached: Arc<weir_cache::Rule>,
    terms: Option<Arc<CacheRule>>,
    limit: Option<Arc<SharedLimit>>,
}

/// Whether a rule may keep answers of this user's sessions, or measure what keeping them would do.
fn caches_for(rule: &Rule, user: &[u8]) -> bool {
    let caches = rule.cache.as_ref().is_some_and(|cache| cache.mode != CacheMode::Off);
    caches && rule.matches.user.as_ref().is_none_or(|name| name.as_bytes() == user)
}

impl SessionSeen {
    /// Whether the rule would be for this session, but cannot be before its next login: it logged in with a connection of its own
    /// when no rule asked for its state to be followed.
    pub fn is_lost_to(&self, rule: &Rule) -> bool {
        let network = rule.matches.client.as_ref();
        let is_from = |network: &IpNet| self.peer.is_some_and(|peer| network.contains(peer.ip()));
        // A replica's asks for nothing more.
        let asks = self.state != SessionState::Binlog;
        !self.followed && asks && caches_for(rule, &self.user) && network.is_none_or(is_from)
    }
}

impl Rules {
    /// Whether a rule may have anything answered from memory.
    pub fn caches(&self) -> bool {
        let caches = |cache: &CacheRule| cache.mode != CacheMode::Off;
        self.list.iter().any(|rule| rule.cache.as_ref().is_some_and(caches))
    }

    /// Whether a rule may have something of this user's answered from memory.
    pub fn caches_for(&self, user: &[u8]) -> bool {
        self.list.iter().any(|rule| caches_for(rule, user))
    }

    /// The same, and does not only measure what that would do.
    pub fn serves(&self, user: &[u8]) -> bool {
        let serves = |cache: &CacheRule| cache.mode == CacheMode::Serve;
        self.list.iter().any(|rule| caches_for(rule, user) && rule.cache.as_ref().is_some_and(serves))
    }

    pub fn hit(&self, rule: RuleIndex, worker: usize) {
        if let Some(part) = self.parts.get(rule.0 as usize) {
            part.counter.hit(worker);
        }
    }

    /// A statement that it matched has taken its client so long.
    pub fn took(&self, rule: RuleIndex, ns: u64, worker: usize) {
        if let Some(part) = self.parts.get(rule.0 as usize) {
            part.counter.took(ns, worker);
        }
    }

    pub fn did(&self, rule: RuleIndex, deed: RuleDeed, worker: usize) {
        if let Some(part) = self.parts.get(rule.0 as usize) {
            part.counter.did(deed, worker);
        }
    }

    pub fn rule(&self, rule: RuleIndex) -> Option<&Rule> {
        self.list.get(rule.0 as usize)
    }

    pub fn limit(&self, rule: RuleIndex) -> Option<&Arc<SharedLimit>> {
        self.parts.get(rule.0 as usize)?.limit.as_ref()
    }

    /// The rule as the cache knows it.
    pub fn cached(&self, rule: RuleIndex) -> Option<&Arc<weir_cache::Rule>> {
        self.parts.get(rule.0 as usize).map(|part| &part.cached)
    }

    /// What a rule says about the cache.
    pub fn terms(&self, rule: RuleIndex) -> Option<Arc<CacheRule>> {
        self.parts.get(rule.0 as usize)?.terms.clone()
    }

    /// An index for one worker, which reads digests as this server does.
    pub fn set_for(&self, family: ServerFamily, version: u32) -> RuleSet {
        let mode = LexMode::new(family, version);
        if mode == self.mode || self.list.iter().all(|rule| rule.matches.digest.is_none()) {
            return self.set.clone();
        }
        // What compiled in one mode does in the other: only digests are read differently.
        RuleSet::compile(&self.list, self.generation, mode).unwrap_or_else(|_| RuleSet::empty())
    }
}

/// Whether a rule has something done to a statement before the cache is asked.
fn acts(rule: &Rule) -> bool {
    rule.deny.is_some() || rule.limit.is_some() || rule.timeout.is_some() || rule.rewrite.is_some()
}

/// Makes lists of rules, and keeps what is counted under their names, for as long as there is a rule of the name in each list.
#[derive(Debug, Default)]
pub(crate) struct RuleMaker {
    last: Mutex<(u64, HashMap<String, Arc<Counter>>)>,
    /// Who runs and waits under the limits of rules, by their names.
    limits: Mutex<HashMap<String, Arc<SharedLimit>>>,
}

impl RuleMaker {
    /// # Errors
    /// All that is wrong with them, by their names.
    pub fn make(&self, list: Vec<Rule>, cache: &Cache, mode: LexMode) -> Result<Rules, Vec<RuleError>> {
        let mut last = self.last.lock();
        let (generation, counters) = &mut *last;
        let set = RuleSet::compile(&list, *generation + 1, mode)?;
        *generation += 1;
        counters.retain(|name, _| list.iter().any(|rule| rule.name == *name));
        let limits = self.limits(&list);
        let part = |rule: &Rule| {
            let (counter, cached) = match counters.get(&rule.name) {
                Some(counter) => (Arc::clone(counter), cache.rule(&rule.name)),
                None => {
                    let counter = Arc::clone(counters.entry(rule.name.clone()).or_default());
                    (counter, cache.new_rule(&rule.name))
                }
            };
            let limit = limits.get(&rule.name).cloned();
            Part { counter, cached, limit, terms: rule.cache.clone().map(Arc::new) }
        };
        let parts = list.iter().map(part).collect();
        cache.retain_rules(|name| list.iter().any(|rule| rule.name == name));
        let acts = list.iter().any(acts);
        Ok(Rules { list: Arc::new(list), generation: *generation, set, mode, parts, acts })
    }

    /// The limits of rules that had one before go on with whom they have, under their new terms.
    fn limits(&self, list: &[Rule]) -> HashMap<String, Arc<SharedLimit>> {
        let (mut limits, now) = (self.limits.lock(), Instant::now());
        limits.retain(|name, _| list.iter().any(|rule| rule.name == *name && rule.limit.is_some()));
        for (rule, limit) in list.iter().filter_map(|rule| Some((rule, rule.limit.as_ref()?))) {
            match limits.get(&rule.name) {
                Some(known) => known.configure(limit, now),
                None => drop(limits.insert(rule.name.clone(), Arc::new(SharedLimit::new(limit, now)))),
            }
        }
        limits.clone()
    }
}

impl Rules {
    pub fn none() -> Self {
        Self {
            list: Arc::default(),
            generation: 0,
            set: RuleSet::empty(),
            mode: LexMode::new(ServerFamily::MySql, 0),
            parts: Vec::new(),
            acts: false,
        }
    }

    pub fn counts(&self) -> Vec<RuleCount> {
        let count = |(rule, part): (&Rule, &Part)| {
            let stripes = &part.counter.0;
            let took = stripes.iter().map(|s| s.took.load(Ordering::Relaxed)).sum();
            let last = stripes.iter().map(|s| s.last.load(Ordering::Relaxed)).max().unwrap_or(0);
            RuleCount {
                name: rule.name.clone(),
                hits: stripes.iter().map(|s| s.hits.load(Ordering::Relaxed)).sum(),
                last_hit: (last > 0).then(|| SystemTime::UNIX_EPOCH + Duration::from_millis(last)),
                took: Duration::from_nanos(took),
                deeds: RuleDeed::ALL
                    .map(|deed| stripes.iter().map(|s| s.deeds[deed as usize].load(Ordering::Relaxed)).sum()),
            }
        };
        self.list.iter().zip(&self.parts).map(count).collect()
    }
}

/// The rules as one worker uses them.
#[derive(Debug)]
pub(crate) struct WorkerRules {
    pub rules: Arc<Rules>,
    pub set: RuleSet,
    server: (ServerFamily, u32),
}

impl WorkerRules {
    pub fn none() -> Self {
        Self { rules: Arc::new(Rules::none()), set: RuleSet::empty(), server: (ServerFamily::MySql, 0) }
    }

    /// Takes over what is in force now, for this server; true where there are other rules than before.
    #[inline]
    pub fn follow(&mut self, rules: &Arc<Rules>, server: (ServerFamily, u32)) -> bool {
        let new = self.rules.generation != rules.generation;
        if new || self.server != server {
            self.set = rules.set_for(server.0, server.1);
            (self.rules, self.server) = (Arc::clone(rules), server);
        }
        new
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
