//! What a run has covered.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use super::generate::Step;

/// Hits out of a hundred reads that could have been hits, below which a run proves nothing.
pub const LEAST_HITS: u64 = 20;

/// Reasons for which Weir must have refused to use its cache in a run of [`ENOUGH_STEPS`].
pub const LEAST_REFUSALS: u64 = 10;

/// Steps of a run that must have met everything; a shorter one that much less.
pub const ENOUGH_STEPS: u64 = 5000;

/// Steps below which a run need not have met anything.
pub const FEW_STEPS: u64 = 2000;

/// What a run has done.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    pub steps: BTreeMap<&'static str, u64>,
    /// Reads that memory may answer, and those of them for which the model holds an answer.
    pub reads: u64,
    pub could_hit: u64,
    /// Reads that only the server may answer.
    pub exact: u64,
    /// Answers that were not the server's any more, and were allowed.
    pub stale: u64,
    pub oldest: Duration,
    /// Answers that the model holds and that a wipe or a change has ended.
    pub ended: usize,
    /// SELECTs that the servers have run: the direct one, and the one behind Weir with Weir's own.
    pub selects: [u64; 2],
    /// Why sessions were kept on a connection, looked at every hundred steps.
    pub pinned: BTreeMap<String, u64>,
    /// What Weir says about its cache.
    pub cache: Option<String>,
    pub seconds: f64,
    pub failure: Option<String>,
}

impl Summary {
    pub(super) fn count(&mut self, step: &Step) {
        *self.steps.entry(name(step)).or_default() += 1;
    }

    pub(super) fn stale(&mut self, age: Duration) {
        self.stale += 1;
        self.oldest = self.oldest.max(age);
    }

    /// What Weir has counted of a kind, over all rules.
    pub fn counted(&self, what: &str) -> u64 {
        let value = |text: &String| serde_json::from_str::<serde_json::Value>(text).ok();
        let value = self.cache.as_ref().and_then(value).unwrap_or_default();
        value["total"][what].as_u64().unwrap_or(0)
    }

    fn refused(&self) -> u64 {
        let value = |text: &String| serde_json::from_str::<serde_json::Value>(text).ok();
        let value = self.cache.as_ref().and_then(value).unwrap_or_default();
        value["total"]["refused"].as_object().map_or(0, serde_json::Map::len) as u64
    }

    /// What the run has not met often enough to prove anything.
    pub fn missing(&self) -> Vec<String> {
        let steps: u64 = self.steps.values().sum();
        if steps < FEW_STEPS {
            return Vec::new();
        }
        // Of what comes at random fewer may come.
        let least = |of: u64| of * steps.min(ENOUGH_STEPS) / ENOUGH_STEPS;
        let mut missing: Vec<String> = Vec::new();
        let hits = self.counted("hits");
        if hits * 100 < self.could_hit * LEAST_HITS || hits == 0 {
            missing.push(format!("{hits} hits of {} that could be", self.could_hit));
        }
        if self.refused() < least(LEAST_REFUSALS) {
            missing.push(format!("{} reasons why Weir refused", self.refused()));
        }
        if self.stale < least(10) {
            missing.push(format!("{} answers that the server would not give any more", self.stale));
        }
        if self.exact < least(100) || (self.ended as u64) < least(10) {
            missing.push(format!("{} reads for the server alone, {} answers wiped", self.exact, self.ended));
        }
        for (name, of) in
            [("definitions", 3), ("rights", 1), ("wipes", 20), ("behind Weir", 80), ("users changed", 5)]
        {
            let met = self.steps.get(name).copied().unwrap_or_default();
            if met < least(of) {
                missing.push(format!("{met} steps of \"{name}\""));
            }
        }
        if self.counted("refreshes") < least(2) {
            missing.push(format!("{} answers renewed behind being served", self.counted("refreshes")));
        }
        missing
    }

    /// The whole, for people.
    pub fn text(&self, name: &str) -> String {
        let mut out = format!("{name}\n  ");
        for (name, count) in &self.steps {
            // Writing to a text does not fail.
            let _ = write!(out, "{name} {count}, ");
        }
        let _ = write!(
            out,
            "in {:.1} s\n  {} reads that memory may answer, for {} of them it could have an answer; {} hits, {} misses, {} fills\n  \
             {} answers were not the server's any more, and allowed; the oldest was right at most {:?} ago\n  \
             {} reads that only the server may answer; {} answers ended by wipes and changes\n  \
             {} SELECTs on the direct server, {} behind Weir",
            self.seconds,
            self.reads,
            self.could_hit,
            self.counted("hits"),
            self.counted("misses"),
            self.counted("fills"),
            self.stale,
            self.oldest,
            self.exact,
            self.ended,
            self.selects[0],
            self.selects[1]
        );
        let _ = write!(out, "\n  pinned, of {}: {:?}", self.pinned.values().sum::<u64>(), self.pinned);
        if let Some(cache) = &self.cache {
            let value: serde_json::Value = serde_json::from_str(cache).unwrap_or_default();
            let total = &value["total"];
            let _ = write!(out, "\n  refused: {}\n  dropped: {}", total["refused"], total["dropped"]);
        }
        out
    }
}

fn name(step: &Step) -> &'static str {
    match step {
        Step::Read(_) => "reads",
        Step::Write { .. } => "writes",
        Step::Begin(..) => "transactions",
        Step::End("ROLLBACK") => "rollbacks",
        Step::End(_) => "commits",
        Step::Set(_) | Step::InitDb(_) => "switches",
        Step::ChangeUser(..) => "users changed",
        Step::Reset => "resets",
        Step::MakeTemporary | Step::DropTemporary => "temporary tables",
        Step::Define { .. } => "definitions",
        Step::Rights(_) => "rights",
        Step::Wipe(_) => "wipes",
        Step::Behind(_) => "behind Weir",
    }
}
