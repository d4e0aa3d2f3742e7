//! What the operator's rules say about one command, and what of that holds while it runs.

use crate::admit::{Admission, Held};
use crate::codes::SPECIFIC_ACCESS_DENIED;
use crate::judged::Found;
use crate::overtime::Ending;
use crate::rules::Rules;
use std::sync::Arc;
use std::time::{Duration, Instant};
use weir_model::Rule;
use weir_model::rule::RuleCommand;
use weir_policy::{Decision, RuleIndex};
use weir_wire::packet::ErrPacket;

/// What the rules say about a command.
#[derive(Debug)]
pub(crate) struct AtHand {
    /// The number of the command.
    pub number: u64,
    command: RuleCommand,
    pub rules: Arc<Rules>,
    /// What is known of the client's text, if that is known.
    pub found: Option<Found>,
    pub cache: Option<RuleIndex>,
    pub denied: Option<RuleIndex>,
    /// The packet that is sent in its place.
    pub rewritten: Option<Vec<u8>>,
    pub rewrite: Option<RuleIndex>,
    timeout: Option<(RuleIndex, Duration)>,
    pub admission: Option<Admission>,
    /// Its text was not looked at.
    pub unread: bool,
}

/// What holds for a statement while it runs.
#[derive(Debug)]
pub(crate) struct Running {
    pub rules: Arc<Rules>,
    pub timeout: Option<(RuleIndex, Duration)>,
    pub ending: Ending,
    /// When the server is to be told again, for the statement may run on.
    pub again: Option<Instant>,
    /// How often that was tried, and has failed.
    pub tries: u32,
    pub failures: u32,
    /// It was told because the rule's time was over.
    pub timed_out: bool,
    /// An operator wants its end.
    pub ordered: bool,
    /// Its places in the limits of rules.
    _places: Vec<Held>,
}

impl Running {
    fn new(rules: Arc<Rules>, timeout: Option<(RuleIndex, Duration)>, places: Vec<Held>) -> Self {
        let ending = Ending::Not;
        Self {
            rules,
            timeout,
            ending,
            again: None,
            tries: 0,
            failures: 0,
            timed_out: false,
            ordered: false,
            _places: places,
        }
    }

    /// For a statement that no rule holds anything about.
    pub fn without_rules(rules: &Arc<Rules>) -> Self {
        Self::new(Arc::clone(rules), None, Vec::new())
    }
}

impl AtHand {
    pub fn new(number: u64, command: RuleCommand, rules: &Arc<Rules>) -> Self {
        let rules = Arc::clone(rules);
        Self {
            number,
            command,
            rules,
            found: None,
            cache: None,
            denied: None,
            rewritten: None,
            rewrite: None,
            timeout: None,
            admission: None,
            unread: false,
        }
    }

    /// What is known of the client's text says nothing about what is sent.
    pub fn with_other_text(mut self: Box<Self>, other: bool) -> Box<Self> {
        if other {
            self.found = None;
        }
        self
    }

    /// Adds what is decided about one of its statements.
    pub fn take(&mut self, decision: &Decision, matched: &mut Vec<RuleIndex>) {
        for rule in decision.matched() {
            if !matched.contains(&rule) {
                matched.push(rule);
            }
        }
        self.denied = self.denied.or(decision.deny);
        let timeout = |rule| Some((rule, self.rule_for(rule)?.timeout?));
        let timeouts = [self.timeout, decision.timeout.and_then(timeout)];
        self.timeout = timeouts.into_iter().flatten().min_by_key(|(_, limit)| *limit);
        let limits = decision.limit.filter(|rule| self.rule_for(*rule).is_some());
        if let Some((rule, limit)) = limits.and_then(|rule| Some((rule, self.rules.limit(rule)?))) {
            self.admission.get_or_insert_with(Admission::new).add(rule, limit);
        }
    }

    /// A rule, unless it is about what runs and nothing does: what prepares a statement is limited by rules for that only.
    fn rule_for(&self, rule: RuleIndex) -> Option<&Rule> {
        let prepares = self.command == RuleCommand::Prepare;
        self.rules.rule(rule).filter(|rule| !prepares || rule.matches.command.is_some())
    }

    pub fn running(self) -> Option<Box<Running>> {
        let places = self.admission.map(Admission::into_places).unwrap_or_default();
        if self.timeout.is_none() && places.is_empty() {
            return None;
        }
        Some(Box::new(Running::new(self.rules, self.timeout, places)))
    }

    pub fn denial(&self, rule: RuleIndex) -> ErrPacket {
        let Some(rule) = self.rules.rule(rule) else {
            return ErrPacket::new(SPECIFIC_ACCESS_DENIED, b"42000", "Access denied");
        };
        let unread = match self.unread {
            true => {
                "; a statement that Weir cannot look at, for its length (limits.statement_bytes), for how much is in it, or because it was prepared \
                     before the rule, is denied where the rule may match"
            }
            false => "",
        };
        let text = rule.deny.as_deref().unwrap_or_default();
        ErrPacket::new(
            SPECIFIC_ACCESS_DENIED,
            b"42000",
            format!("Access denied: {text} (weir: rule `{}`{unread})", rule.name),
        )
    }
}
