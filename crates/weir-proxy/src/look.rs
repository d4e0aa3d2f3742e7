//! What the operator's rules say about a statement: one that is there, or of which not all is known.

use crate::analyse::MULTI;
use crate::at_hand::AtHand;
use crate::session::Session;
use std::sync::Arc;
use weir_model::rule::{RuleCommand, RuleKind};
use weir_policy::Connection;
use weir_sql::{Digest, Facts, LexMode};

impl Session {
    /// What the rules say about a text.
    pub(crate) fn look(&mut self, sql: &[u8], mode: LexMode, command: RuleCommand) -> Box<AtHand> {
        let worker = Arc::clone(&self.worker);
        let mut learned = worker.learned.lock();
        let learned = &mut *learned;
        learned.follow(&worker.shared.rules.load(), (self.server.family, self.server.version));
        let kind = || Facts::of(sql, mode, MULTI).kind();
        let found = learned.judgements.of(sql, None, mode, (kind, command));
        let (set, rules) = (&learned.rules.set, &learned.rules.rules);
        let mut at_hand = AtHand::new(self.commands, command, rules);
        let anywhere = (!found.judged.parts.is_empty()).then(|| {
            set.connection(&Connection { schema: None, schema_unknown: true, ..self.as_connection() })
        });
        let connection = self.connection_rules(set);
        let selection = found.judged.selection(set, sql, mode, found.exact);
        let mut matched = Vec::new();
        let decision = set.decide_known(&selection, connection);
        (at_hand.cache, at_hand.rewrite) = (decision.cache, decision.rewrite);
        at_hand.take(&decision, &mut matched);
        let mut moved = false;
        for (at, part) in &found.judged.parts {
            let selection = part.selection(set, &sql[at.clone()], mode, true);
            let connection = anywhere.as_ref().filter(|_| moved).unwrap_or(connection);
            at_hand.take(&set.decide_known(&selection, connection), &mut matched);
            // Behind these the schema may be another.
            moved |=
                matches!(part.kind, RuleKind::Use | RuleKind::Call | RuleKind::PrepareText | RuleKind::Other);
        }
        // A table that nobody has read the name of may be a rule's.
        let unread = found.judged.unread().filter(|_| at_hand.denied.is_none());
        if let Some(rule) = unread.and_then(|kind| set.may_deny(kind, command, &self.as_connection())) {
            (at_hand.denied, at_hand.unread) = (Some(rule), true);
            matched.push(rule);
        }
        self.matches(rules, matched.into_iter());
        at_hand.found = Some(found);
        Box::new(at_hand)
    }

    /// What they say about a statement of which no more is known than this.
    pub(crate) fn look_blindly(&mut self, kind: Option<RuleKind>, command: RuleCommand) -> Box<AtHand> {
        let worker = Arc::clone(&self.worker);
        let mut learned = worker.learned.lock();
        let learned = &mut *learned;
        learned.follow(&worker.shared.rules.load(), (self.server.family, self.server.version));
        let (set, rules) = (&learned.rules.set, &learned.rules.rules);
        let mut at_hand = AtHand::new(self.commands, command, rules);
        let nothing = Digest::of(b"", self.lex_mode());
        let selection = set.select(&weir_policy::Statement {
            digest: nothing.id,
            digest_text: &nothing.text,
            text: b"",
            reads: &[],
            writes: &[],
            kind: kind.unwrap_or(RuleKind::Other),
            command,
        });
        let mut matched = Vec::new();
        at_hand.take(&set.decide_known(&selection, self.connection_rules(set)), &mut matched);
        at_hand.denied = set.may_deny(kind, command, &self.as_connection());
        at_hand.unread = true;
        if let Some(rule) = at_hand.denied.filter(|rule| !matched.contains(rule)) {
            matched.push(rule);
        }
        self.matches(rules, matched.into_iter());
        Box::new(at_hand)
    }
}
