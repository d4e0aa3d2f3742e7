//! What the operator's rules say about a statement.
//!
//! [`RuleSet::compile`] makes an index of a list of rules. [`RuleSet::select`] finds those that may match a statement,
//! whoever sends it; its caller keeps the [`Selection`] beside the statement's text. [`RuleSet::decide`] then tells
//! what holds for one connection. [`RuleSet::explain`] says the same by trying each rule in its order, and the two
//! agree on every statement. [`RuleList`] changes a list, [`lint`] finds rules that do nothing.
//!
//! This crate must not do I/O, read a clock, draw random numbers or carry out what a rule says. It never counts: who
//! applies a decision counts it. It reads no SQL of its own: digests, tables and kinds are told to it.

mod bits;
mod blind;
mod compile;
mod decide;
mod doubt;
mod explain;
mod limiter;
mod lint;
mod list;
mod pattern;
mod rewrite;
mod select;
mod statement;

#[cfg(test)]
mod testing;

pub use compile::{RuleError, RuleIndex, RuleSet};
pub use decide::{Actions, ConnectionRules, Decision};
pub use explain::{Mismatch, Outcome, RuleVerdict};
pub use limiter::{Limiter, Ticket, Turn, Waited};
pub use lint::{Lint, LintKind, lint};
pub use list::{ListError, Place, RuleList};
pub use rewrite::{MAX_REWRITTEN, Rewritten};
pub use select::{Holds, Selection};
pub use statement::{Connection, Needs, Statement, rule_kind};
