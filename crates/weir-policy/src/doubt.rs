//! Statements whose text is not known, or not all of it.

use weir_model::rule::{RuleCommand, RuleKind};

use crate::compile::{RuleIndex, RuleSet};
use crate::decide::{in_schema, is_about};
use crate::statement::Connection;

impl RuleSet {
    /// The rule that denies a statement of which no more is known than this, or that may do so for all that is known. `kind`:
    /// `None` where that is not known either.
    ///
    /// It tries all rules in their order, so it is for what is rare.
    pub fn may_deny(
        &self,
        kind: Option<RuleKind>,
        command: RuleCommand,
        connection: &Connection<'_>,
    ) -> Option<RuleIndex> {
        for (rule, number) in self.rules().iter().zip(0..) {
            let wanted = &rule.matches;
            let schema = wanted.schema.as_ref();
            let possible = wanted.command.is_none_or(|wanted| wanted == command)
                && wanted.kind.is_none_or(|wanted| kind.is_none_or(|kind| kind == wanted))
                && is_about(rule, connection)
                && schema.is_none_or(|schema| in_schema(schema.as_bytes(), rule, connection));
            if !possible {
                continue;
            }
            if rule.deny.is_some() {
                return Some(RuleIndex(number));
            }
            let asks_text = wanted.digest.is_some() || wanted.pattern.is_some() || wanted.table.is_some();
            let certain = !asks_text && (wanted.kind.is_none() || kind.is_some());
            if certain && !rule.continues {
                return None;
            }
        }
        None
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
