//! Which rules have matched the statement at hand, how long it took, and how long it waited for them.

use crate::rules::Rules;
use crate::session::Session;
use crate::tally::Tally;
use std::sync::Arc;
use std::time::Duration;
use weir_policy::RuleIndex;

/// The rules that have matched a statement, and how long it waited for their limits.
#[derive(Debug, Default)]
pub(crate) struct Matched {
    /// `None` where none has.
    rules: Option<Arc<Rules>>,
    which: Vec<RuleIndex>,
    waited: Duration,
}

impl Session {
    /// Counts that these rules have matched the command at hand.
    pub(crate) fn matches(&mut self, rules: &Arc<Rules>, matched: impl Iterator<Item = RuleIndex>) {
        let (Matched { rules: known, which, waited }, index) = (&mut self.tally.matched, self.worker.index());
        which.clear();
        which.extend(matched);
        *known = None;
        if !which.is_empty() {
            which.iter().for_each(|rule| rules.hit(*rule, index));
            (*known, *waited) = (Some(Arc::clone(rules)), Duration::ZERO);
        }
    }

    /// The command at hand is answered, so long after its client had sent it.
    #[inline]
    pub(crate) fn rules_took(&mut self, total_ns: u64) {
        if let Some(rules) = self.tally.matched.rules.take() {
            self.count_took(&rules, total_ns);
        }
    }

    #[inline(never)]
    fn count_took(&self, rules: &Rules, total_ns: u64) {
        let index = self.worker.index();
        self.tally.matched.which.iter().for_each(|rule| rules.took(*rule, total_ns, index));
    }
}

impl Tally {
    /// No rule has matched the command at hand yet.
    #[inline]
    pub fn matches_none(&mut self) {
        if self.matched.rules.is_some() {
            self.matched.rules = None;
        }
    }

    /// The names of the rules that have matched it.
    pub fn matched_names(&self) -> Vec<String> {
        let Some(rules) = &self.matched.rules else { return Vec::new() };
        self.matched.which.iter().filter_map(|rule| Some(rules.rule(*rule)?.name.clone())).collect()
    }

    /// The command at hand has waited so long for the limit of a rule.
    pub fn waited_for_rule(&mut self, time: Duration) {
        self.matched.waited += time;
    }

    /// How long it waited for all of them.
    pub fn rule_wait(&self) -> Duration {
        self.matched.rules.as_ref().map_or(Duration::ZERO, |_| self.matched.waited)
    }
}
