//! Step 6, before the cache is asked: a statement whose like are seldom asked for again passes it by the first time
//! ([ADR 0024](../../../docs/adr/0024-what-is-asked-once.md)). Most of what a statement costs that the cache has no answer to is so not spent.

use crate::judged::{Found, Judged};
use crate::rules::Rules;
use crate::session::Session;
use crate::texts::Texts;
use crate::wish::{Wish, text_refusal};
use std::sync::Arc;
use weir_cache::{Cache, Chance, Key, Refusal};
use weir_model::ServerFamily;
use weir_model::rule::{CacheMode, CacheRule, RuleCommand};
use weir_policy::{ConnectionRules, Decision, Holds, RuleIndex, Selection};
use weir_sql::LexMode;
use weir_wire::attributes::statement_offset;
use weir_wire::command as com;

/// What holds for a text whose like are seldom asked for again, whatever its numbers are.
#[derive(Debug)]
pub(crate) struct Passing {
    judged: Arc<Judged>,
    /// What the rules say about it, and where.
    rules: Arc<Rules>,
    decision: Decision,
    rule: RuleIndex,
    connection: ConnectionRules,
    server: (ServerFamily, u32),
}

/// Whether such texts are known to be seldom asked for again. What rules decide by the numbers holds for one text only.
pub(crate) fn is_seldom(cache: &Cache, judged: &Judged, selection: &Selection) -> bool {
    selection.holds() <= Holds::ButNumbers && cache.is_choosy(&judged.experience)
}

/// Whether a rule's answers may be left out at their first asking.
fn may_pass(cache: &CacheRule, judged: &Judged) -> bool {
    // An outage asks for what nobody has asked for twice.
    cache.mode == CacheMode::Serve && cache.stale_if_error.is_zero() && !judged.hints.any()
}

impl Texts {
    /// Keeps what holds for the like of a query, if that is what was looked for last.
    pub(crate) fn pass(
        &mut self,
        mode: LexMode,
        Found { judged, exact }: &Found,
        rules: &Arc<Rules>,
        (decision, connection): (&Decision, &ConnectionRules),
        server: (ServerFamily, u32),
    ) {
        if *exact || judged.command != RuleCommand::Query {
            return;
        }
        let Some(text) = self.last_known().filter(|text| text.mode == mode) else { return };
        let is_known = |known: &Arc<Passing>| {
            Arc::ptr_eq(&known.judged, judged)
                && known.rules.generation == rules.generation
                && known.connection == *connection
        };
        if !text.passing.as_ref().is_some_and(is_known) {
            let passing = Passing::new(judged, rules, decision, connection, server);
            text.passing = passing.map(Arc::new);
        }
    }

    /// Forgets that for all texts: other rules are in force.
    pub(crate) fn none_passes(&mut self) {
        for text in self.all_mut() {
            text.passing = None;
        }
    }

    /// Forgets that for what was looked for last.
    pub(crate) fn pass_no_more(&mut self) {
        if let Some(text) = self.last_known() {
            text.passing = None;
        }
    }
}

impl Passing {
    /// `None`: such a text is looked at each time.
    fn new(
        judged: &Arc<Judged>,
        rules: &Arc<Rules>,
        decision: &Decision,
        connection: &ConnectionRules,
        server: (ServerFamily, u32),
    ) -> Option<Self> {
        let rule = decision.cache?;
        let cache = rules.terms(rule)?;
        let passes =
            may_pass(&cache, judged) && text_refusal(&cache, None, &judged.facts, judged.kind).is_none();
        let (judged, rules, connection) = (Arc::clone(judged), Arc::clone(rules), connection.clone());
        passes.then(|| Self { judged, rules, decision: decision.clone(), rule, connection, server })
    }
}

impl Session {
    /// Whether the query at hand was looked at as one of those that are seldom asked for again.
    pub(crate) fn is_taken_for_seldom(&self) -> bool {
        self.sharing.as_ref().is_some_and(|sharing| sharing.cache.chance.is_some())
    }

    /// Whether the query at hand passes the cache by. Everything is counted then.
    pub(crate) fn passes_by(&mut self, payload: &[u8]) -> bool {
        let Some(sharing) = &mut self.sharing else { return false };
        let Some(passing) = sharing.cache.passing.take() else { return false };
        let shared = &self.worker.shared;
        let cache = shared.cache();
        if !cache.is_choosy(&passing.judged.experience)
            || self.ruled.at_hand.is_some()
            || self.walker.in_transaction()
            || shared.rules.load().generation != passing.rules.generation
            || (self.server.family, self.server.version) != passing.server
            || self.known_connection_rules() != Some(&passing.connection)
        {
            return false;
        }
        let Ok(offset) = statement_offset(payload, self.server.caps) else { return false };
        let chance = cache.chance(&cache.key(&payload[offset..]), &passing.judged.experience);
        if let Some(sharing) = &mut self.sharing {
            sharing.cache.chance = Some(chance);
            sharing.cache.wipes.clear();
        }
        if chance != Chance::First {
            return false;
        }
        self.matches(&passing.rules, passing.decision.matched());
        if let Some(rule) = passing.rules.cached(passing.rule) {
            self.pass(rule);
        }
        true
    }

    /// What this asking for an answer is; `None` where it makes no difference.
    pub(crate) fn chance(
        &mut self,
        (command, payload): (u8, &[u8]),
        key: &Key<'_>,
        wish: &Wish,
    ) -> Option<Chance> {
        let known = self.sharing.as_mut().and_then(|sharing| sharing.cache.chance.take());
        if !may_pass(&wish.cache, &wish.judged) {
            return None;
        }
        let cache = self.worker.shared.cache();
        Some(known.unwrap_or_else(|| {
            // A query is marked by its text, as where no key is made of it.
            let offset = (command == com::QUERY).then(|| statement_offset(payload, self.server.caps));
            let text = offset.and_then(Result::ok).map(|offset| cache.key(&payload[offset..]));
            cache.chance(text.as_ref().unwrap_or(key), &wish.judged.experience)
        }))
    }

    /// Counts that the statement at hand passes the cache by.
    pub(crate) fn pass(&mut self, rule: &weir_cache::Rule) {
        rule.pass(self.worker.index());
        self.tally.refused(Refusal::SeldomAskedAgain);
    }
}
