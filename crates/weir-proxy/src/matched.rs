//! For the query log: which rules have matched the statement at hand, and how long it waited for them.

use crate::rules::Rules;
use crate::tally::Tally;
use std::sync::Arc;
use std::time::Duration;
use weir_policy::RuleIndex;

/// The rules that have matched a statement, and how long it waited for their limits.
#[derive(Debug)]
pub(crate) struct Matched {
    rules: Arc<Rules>,
    which: Vec<RuleIndex>,
    waited: Duration,
}

impl Tally {
    /// These rules have matched the command at hand.
    pub fn matches(&mut self, rules: &Arc<Rules>, matched: impl Iterator<Item = RuleIndex>) {
        let matched: Vec<RuleIndex> = matched.collect();
        if !matched.is_empty() {
            let rules = Arc::clone(rules);
            self.matched = Some(Box::new(Matched { rules, which: matched, waited: Duration::ZERO }));
        }
    }

    /// The names of these rules.
    pub fn matched_names(&self) -> Vec<String> {
        let Some(Matched { rules, which, .. }) = self.matched.as_deref() else { return Vec::new() };
        which.iter().filter_map(|rule| Some(rules.rule(*rule)?.name.clone())).collect()
    }

    /// The command at hand has waited so long for the limit of a rule.
    pub fn waited_for_rule(&mut self, time: Duration) {
        if let Some(matched) = &mut self.matched {
            matched.waited += time;
        }
    }

    /// How long it waited for all of them.
    pub fn rule_wait(&self) -> Duration {
        self.matched.as_ref().map_or(Duration::ZERO, |matched| matched.waited)
    }
}
