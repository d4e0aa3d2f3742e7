//! Why a rule matches or does not. It tries the rules one by one, without the index, so that it can be held against it.

use weir_model::rule::{Rule, TableMatch};

use weir_sql::Digest;

use crate::compile::{RuleIndex, RuleSet};
use crate::decide::{Actions, Decision, in_schema};
use crate::pattern;
use crate::statement::{Connection, Statement};

/// What became of one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleVerdict {
    pub rule: RuleIndex,
    pub name: String,
    pub outcome: Outcome,
    /// What did not fit, if anything; told of every rule, also of those that were not reached.
    pub mismatches: Vec<Mismatch>,
    /// What it does in this case: its actions that no rule before it has decided.
    pub adds: Actions,
}

/// How far a rule came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It matches, and no later rule is looked at.
    Decides,
    /// It matches, and later rules may add something.
    Continues,
    /// It does not match.
    NoMatch,
    /// A rule before it has decided.
    NotReached,
}

impl Outcome {
    /// The word in commands and the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Decides => "decides",
            Self::Continues => "continues",
            Self::NoMatch => "no_match",
            Self::NotReached => "not_reached",
        }
    }
}

/// A part of `match` that does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mismatch {
    Schema,
    User,
    Client,
    Digest,
    Pattern,
    /// The statement names the table in no way, or in another schema.
    Table,
    Kind,
    Command,
}

impl Mismatch {
    /// Every one, in the order in which they are told.
    pub const ALL: [Self; 8] = [
        Self::Schema,
        Self::User,
        Self::Client,
        Self::Digest,
        Self::Pattern,
        Self::Table,
        Self::Kind,
        Self::Command,
    ];

    /// The key in `match`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::User => "user",
            Self::Client => "client",
            Self::Digest => "digest",
            Self::Pattern => "pattern",
            Self::Table => "table",
            Self::Kind => "kind",
            Self::Command => "command",
        }
    }
}

impl RuleSet {
    /// Tries each rule in its order. Says the same as [`decide`](Self::decide), slowly and with reasons.
    pub fn explain(&self, statement: &Statement<'_>, connection: &Connection<'_>) -> Vec<RuleVerdict> {
        let mut decided = false;
        let mut before = Decision::default();
        let rules = self.index.rules.iter().zip(&self.index.digests).zip(0..);
        let verdict = |((rule, digest), number): ((&Rule, &Option<Digest>), u32)| {
            let index = RuleIndex(number);
            let mismatches = mismatches(rule, digest.as_ref(), statement, connection);
            let outcome = match (decided, mismatches.is_empty(), rule.continues) {
                (true, _, _) => Outcome::NotReached,
                (false, false, _) => Outcome::NoMatch,
                (false, true, true) => Outcome::Continues,
                (false, true, false) => Outcome::Decides,
            };
            decided |= outcome == Outcome::Decides;
            if matches!(outcome, Outcome::Decides | Outcome::Continues) {
                before.add(index, Actions::of(rule));
            }
            let adds = Actions {
                cache: before.cache == Some(index),
                rewrite: before.rewrite == Some(index),
                deny: before.deny == Some(index),
                limit: before.limit == Some(index),
                timeout: before.timeout == Some(index),
            };
            RuleVerdict { rule: index, name: rule.name.clone(), outcome, mismatches, adds }
        };
        rules.map(verdict).collect()
    }
}

/// All parts of a rule's `match` that do not fit.
fn mismatches(
    rule: &Rule,
    digest: Option<&Digest>,
    statement: &Statement<'_>,
    connection: &Connection<'_>,
) -> Vec<Mismatch> {
    let wanted = &rule.matches;
    let in_schema = |name: &String| in_schema(name.as_bytes(), rule, connection);
    let fits = |part: Mismatch| match part {
        Mismatch::Schema => wanted.schema.as_ref().is_none_or(in_schema),
        Mismatch::User => wanted.user.as_ref().is_none_or(|user| user.as_bytes() == connection.user),
        Mismatch::Client => match (wanted.client, connection.client_ip) {
            (Some(network), Some(ip)) => network.contains(ip),
            (Some(_), None) => false,
            (None, _) => true,
        },
        Mismatch::Digest => {
            digest.is_none_or(|digest| digest.id == statement.digest && digest.text == statement.digest_text)
        }
        Mismatch::Pattern => wanted.pattern.as_ref().is_none_or(|text| {
            pattern::one(text).is_ok_and(|pattern| pattern.is_match(pattern::subject(statement.text)))
        }),
        Mismatch::Table => {
            wanted.table.as_ref().is_none_or(|table| names(table, rule, statement, connection))
        }
        Mismatch::Kind => wanted.kind.is_none_or(|kind| kind == statement.kind),
        Mismatch::Command => wanted.command.is_none_or(|command| command == statement.command),
    };
    Mismatch::ALL.into_iter().filter(|part| !fits(*part)).collect()
}

/// Whether a statement on this connection uses the table.
fn names(wanted: &TableMatch, rule: &Rule, statement: &Statement<'_>, connection: &Connection<'_>) -> bool {
    statement.tables().filter(|table| table.name.eq_ignore_ascii_case(wanted.name.as_bytes())).any(|table| {
        match (&wanted.schema, &table.schema) {
            (None, _) => true,
            (Some(wanted), Some(named)) => named.eq_ignore_ascii_case(wanted.as_bytes()),
            (Some(wanted), None) => in_schema(wanted.as_bytes(), rule, connection),
        }
    })
}

#[cfg(test)]
mod tests;
