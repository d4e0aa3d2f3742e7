//! Which rules may match a statement, whoever sends it.

use std::sync::Arc;

use weir_model::rule::{Rule, TableMatch};

use crate::bits::{self, Chunk, cut_after_first, insert};
use crate::compile::{RuleSet, TableNeed, fits};
use crate::pattern;
use crate::statement::{Needs, Statement};

/// The rules that match a statement if its connection is the right one. Cheap to clone and to keep.
#[derive(Debug, Clone)]
pub struct Selection {
    pub(crate) generation: u64,
    pub(crate) chunks: Arc<[Chunk]>,
    holds: Holds,
}

/// For which statements of the same command and kind a selection holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holds {
    /// For every one of the same digest: no pattern was looked at, which might have seen a literal. A digest that was cut short
    /// stands for no such statements.
    Digest,
    /// For every one that differs in nothing but its numbers, if each of them has digits (`weir_sql::without_numbers`): no pattern was
    /// looked at that tells one number from another.
    ButNumbers,
    /// For this very text.
    Text,
}

impl Selection {
    pub fn holds(&self) -> Holds {
        self.holds
    }

    /// No rule can match, on whatever connection.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The set that it was made by.
    pub fn generation(&self) -> u64 {
        self.generation
    }
}

impl RuleSet {
    /// Finds the rules that may match. The result holds as long as this set is in force and depends on nothing but
    /// the statement, so it is kept beside the statement's text: only a text that was not seen before costs a search.
    /// The search itself takes time linear in the text's length where there are rules with patterns.
    pub fn select(&self, statement: &Statement<'_>) -> Selection {
        let general = &self.index.general[statement.kind as usize][statement.command as usize];
        let (mut found, mut holds) = (Vec::new(), Holds::Digest);
        self.by_digest(statement, &mut found, &mut holds);
        self.by_table(statement, &mut found, &mut holds);
        let scans = general.first_scan.is_some_and(|first| !self.is_closed_before(first, general, &found));
        if scans {
            holds = holds.max(general.scans_hold);
            let hits = self.scan.matches(pattern::subject(statement.text));
            let hits = hits.iter().filter_map(|hit| self.index.scanned.get(hit).copied());
            found.extend(
                hits.filter(|entry| fits(self.index.rule_of(*entry), statement.kind, statement.command)),
            );
        }
        let chunks = if found.is_empty() {
            general.chunks.clone()
        } else {
            let mut chunks = general.chunks.to_vec();
            insert(&mut chunks, found);
            cut_after_first(&mut chunks, &self.index.closing);
            chunks.into()
        };
        Selection { generation: self.index.generation, chunks, holds }
    }

    /// What the statements that are selected for must tell. It costs time to find out, so nothing else need be.
    pub fn needs(&self) -> Needs {
        self.index.needs
    }

    fn by_digest(&self, statement: &Statement<'_>, found: &mut Vec<u32>, holds: &mut Holds) {
        let index = &self.index;
        let Some(entries) = index.by_digest.get(&statement.digest) else { return };
        let same_text = |entry: &&u32| {
            let rule = index.entries[**entry as usize].rule as usize;
            index.digests[rule].as_ref().is_some_and(|digest| digest.text == statement.digest_text)
        };
        for entry in entries.iter().filter(same_text) {
            self.check(*entry, statement, found, holds);
        }
    }

    fn by_table(&self, statement: &Statement<'_>, found: &mut Vec<u32>, holds: &mut Holds) {
        if self.index.by_table.is_empty() {
            return;
        }
        for table in statement.tables() {
            let Some(entries) = self.index.by_table.get(&table.name.to_ascii_lowercase()) else { continue };
            for entry in entries {
                self.check(*entry, statement, found, holds);
            }
        }
    }

    /// Looks at everything that an entry asks of a statement, but for its digest.
    fn check(&self, number: u32, statement: &Statement<'_>, found: &mut Vec<u32>, holds: &mut Holds) {
        let entry = &self.index.entries[number as usize];
        let rule = &self.index.rules[entry.rule as usize];
        if !fits(rule, statement.kind, statement.command) || !names_table(rule, entry.table, statement) {
            return;
        }
        if let Some(pattern) = &self.alone[number as usize] {
            *holds = (*holds).max(self.index.pattern_holds(number));
            if !pattern.is_match(pattern::subject(statement.text)) {
                return;
            }
        }
        found.push(number);
    }

    /// Whether an entry before this one matches on every connection and ends the search.
    fn is_closed_before(&self, entry: u32, general: &crate::compile::General, found: &[u32]) -> bool {
        let closes = |number: usize| {
            let word = self.index.closing.get(number / 64).copied().unwrap_or(0);
            number < entry as usize && word & 1 << (number % 64) != 0
        };
        found.iter().any(|number| closes(*number as usize))
            || general.chunks.iter().any(|chunk| bits::numbers(*chunk).any(closes))
    }
}

/// Whether a statement names the rule's table in the way that an entry asks for.
fn names_table(rule: &Rule, need: TableNeed, statement: &Statement<'_>) -> bool {
    let Some(TableMatch { schema, name }) = &rule.matches.table else { return true };
    let schema = schema.as_deref().unwrap_or_default().as_bytes();
    statement.tables().filter(|table| table.name.eq_ignore_ascii_case(name.as_bytes())).any(
        |table| match need {
            TableNeed::None | TableNeed::AnySchema => true,
            TableNeed::Qualified => {
                table.schema.as_ref().is_some_and(|of_table| of_table.eq_ignore_ascii_case(schema))
            }
            TableNeed::Unqualified => table.schema.is_none(),
        },
    )
}
