//! What the rules say about a statement on one connection.

use std::sync::Arc;

use weir_model::Rule;

use crate::bits::{Chunk, dense};
use crate::compile::{Entry, RuleIndex, RuleSet};
use crate::select::Selection;
use crate::statement::Connection;

/// What is to be done with a statement: for each action the rule that says so, or `None` where no rule does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    pub cache: Option<RuleIndex>,
    pub rewrite: Option<RuleIndex>,
    pub deny: Option<RuleIndex>,
    pub limit: Option<RuleIndex>,
    pub timeout: Option<RuleIndex>,
    /// The first rule that matched.
    pub first: Option<RuleIndex>,
    /// Those that matched after it, because each before them has `continue`.
    pub more: Vec<RuleIndex>,
}

impl Decision {
    /// The rules that matched, in their order: each of them has a hit.
    pub fn matched(&self) -> impl Iterator<Item = RuleIndex> {
        self.first.into_iter().chain(self.more.iter().copied())
    }

    /// Adds what a rule that matches says and no rule before it did.
    pub(crate) fn add(&mut self, rule: RuleIndex, actions: Actions) {
        let parts = [
            (&mut self.cache, actions.cache),
            (&mut self.rewrite, actions.rewrite),
            (&mut self.deny, actions.deny),
            (&mut self.limit, actions.limit),
            (&mut self.timeout, actions.timeout),
        ];
        for (part, says) in parts {
            if says && part.is_none() {
                *part = Some(rule);
            }
        }
        match self.first {
            None => self.first = Some(rule),
            Some(_) => self.more.push(rule),
        }
    }
}

/// The actions of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Actions {
    pub cache: bool,
    pub rewrite: bool,
    pub deny: bool,
    pub limit: bool,
    pub timeout: bool,
}

impl Actions {
    /// Those that a rule has.
    pub fn of(rule: &Rule) -> Self {
        Self {
            cache: rule.cache.is_some(),
            rewrite: rule.rewrite.is_some(),
            deny: rule.deny.is_some(),
            limit: rule.limit.is_some(),
            timeout: rule.timeout.is_some(),
        }
    }

    /// Those of either.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            cache: self.cache || other.cache,
            rewrite: self.rewrite || other.rewrite,
            deny: self.deny || other.deny,
            limit: self.limit || other.limit,
            timeout: self.timeout || other.timeout,
        }
    }

    /// Their names as in `weir.toml`.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let all = [
            (self.cache, "cache"),
            (self.rewrite, "rewrite"),
            (self.deny, "deny"),
            (self.limit, "limit"),
            (self.timeout, "timeout"),
        ];
        all.into_iter().filter(|(has, _)| *has).map(|(_, name)| name)
    }
}

/// Which rules may match on a connection, whatever the statement. A session keeps it until its user, its schema or the
/// set of rules changes; then a decision costs the same with a thousand rules as with one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionRules {
    generation: u64,
    /// `None`: no rule looks at the connection.
    entries: Option<Arc<[u64]>>,
}

impl ConnectionRules {
    /// The set that it was made by.
    pub fn generation(&self) -> u64 {
        self.generation
    }
}

impl RuleSet {
    /// Finds the rules that may match on a connection. Where no rule looks at it, this costs nothing.
    pub fn connection(&self, connection: &Connection<'_>) -> ConnectionRules {
        let index = &self.index;
        let holds = |number: usize| {
            let entry = &index.entries[number];
            holds(entry, &index.rules[entry.rule as usize], connection)
        };
        let entries = index.asks_connection.then(|| dense(index.entries.len(), holds).into());
        ConnectionRules { generation: index.generation, entries }
    }

    /// What holds for a statement on a connection. A selection of another set says nothing, so that nothing is done.
    pub fn decide(&self, selection: &Selection, connection: &Connection<'_>) -> Decision {
        self.first_match(selection, |chunk| {
            let mut bits = 0;
            for number in crate::bits::numbers(chunk) {
                let entry = &self.index.entries[number];
                let holds = holds(entry, &self.index.rules[entry.rule as usize], connection);
                bits |= u64::from(holds) << (number % 64);
            }
            bits
        })
    }

    /// As [`decide`](Self::decide), for a connection whose rules are known. Does not allocate, but where several rules
    /// match one after the other.
    pub fn decide_known(&self, selection: &Selection, connection: &ConnectionRules) -> Decision {
        if connection.generation != self.index.generation {
            return Decision::default();
        }
        match &connection.entries {
            None => self.first_match(selection, |chunk| chunk.bits),
            Some(entries) => self.first_match(selection, |chunk| {
                chunk.bits & entries.get(chunk.word as usize).copied().unwrap_or(0)
            }),
        }
    }

    /// Goes through the entries of a selection that hold, in their order.
    fn first_match(&self, selection: &Selection, holding: impl Fn(Chunk) -> u64) -> Decision {
        let mut decision = Decision::default();
        if selection.generation != self.index.generation {
            return decision;
        }
        let mut last = None;
        for chunk in selection.chunks.iter() {
            for number in crate::bits::numbers(Chunk { bits: holding(*chunk), ..*chunk }) {
                let rule = RuleIndex(self.index.entries[number].rule);
                // A rule with two entries matches once.
                if last.replace(rule) == Some(rule) {
                    continue;
                }
                let (actions, continues) = self.index.actions[rule.0 as usize];
                decision.add(rule, actions);
                if !continues {
                    return decision;
                }
            }
        }
        decision
    }
}

fn holds(entry: &Entry, rule: &Rule, connection: &Connection<'_>) -> bool {
    entry.schemas.iter().all(|wanted| in_schema(wanted, rule, connection)) && is_about(rule, connection)
}

/// Whether the session may be in a schema that a rule asks for.
pub(crate) fn in_schema(wanted: &[u8], rule: &Rule, connection: &Connection<'_>) -> bool {
    match connection.schema {
        Some(schema) => schema.eq_ignore_ascii_case(wanted),
        None => connection.schema_unknown && rule.deny.is_some(),
    }
}

/// Whether a rule is about this user and address.
pub(crate) fn is_about(rule: &Rule, connection: &Connection<'_>) -> bool {
    rule.matches.user.as_deref().is_none_or(|user| user.as_bytes() == connection.user)
        && rule.matches.client.is_none_or(|net| connection.client_ip.is_some_and(|ip| net.contains(ip)))
}

#[cfg(test)]
mod tests;
