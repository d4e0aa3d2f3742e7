//! From a list of rules to an index of them.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::FixedState;
use regex::bytes::{Regex, RegexSet};
use weir_model::rule::{CacheRule, MAX_PATTERNS_BYTES, MAX_RULES, Rule, RuleCommand, RuleKind, TableMatch};

use weir_model::DigestId;
use weir_sql::{Digest, LexMode};

use crate::bits::{Chunk, cut_after_first, dense, insert};
use crate::blind::is_blind;
use crate::decide::Actions;
use crate::pattern;
use crate::select::Holds;
use crate::statement::Needs;

/// The rules in force, ready to be matched.
///
/// A clone shares the index but has scratch memory of its own for patterns: give each worker a clone, or they take
/// turns at it.
#[derive(Debug, Clone)]
pub struct RuleSet {
    pub(crate) index: Arc<Index>,
    /// Those of `index.scanned`, in one automaton.
    pub(crate) scan: RegexSet,
    /// By entry: the pattern of an entry that is found by its digest or table.
    pub(crate) alone: Vec<Option<Regex>>,
    /// By rule: the pattern of its rewrite.
    pub(crate) rewrites: Vec<Option<Regex>>,
}

/// Where a rule stands in its list, from 0. It means something only to the set that gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleIndex(pub u32);

/// Why a list of rules cannot take effect. The names are those of the rules.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error("rule {0}: there is already a rule of this name")]
    DuplicateName(String),
    #[error("rule {name}: `{key}` is not a regular expression: {reason}")]
    BadPattern { name: String, key: &'static str, reason: String },
    #[error("rule {name}: `{key}` is too large when compiled; repeat less, for nested counts multiply")]
    PatternTooLarge { name: String, key: &'static str },
    #[error("rule {0}: with its pattern, the patterns of all rules are too large when compiled")]
    PatternsTooLarge(String),
    #[error("there are {0} rules, and {MAX_RULES} are allowed")]
    TooManyRules(usize),
}

#[derive(Debug, Default)]
pub(crate) struct Index {
    pub generation: u64,
    pub rules: Vec<Rule>,
    /// By rule.
    pub digests: Vec<Option<Digest>>,
    /// By rule: its pattern takes one number for another.
    pub blind: Vec<bool>,
    /// By rule.
    pub actions: Vec<(Actions, bool)>,
    /// In the order of their rules.
    pub entries: Vec<Entry>,
    /// Entries with a digest.
    pub by_digest: HashMap<DigestId, Vec<u32>, FixedState>,
    /// Entries without a digest and with a table, by its name in lower case.
    pub by_table: HashMap<Vec<u8>, Vec<u32>, FixedState>,
    /// Entries with neither of them and no pattern.
    pub general: [[General; RuleCommand::ALL.len()]; RuleKind::ALL.len()],
    /// Entries with a pattern and neither of them, in the order of [`RuleSet::scan`].
    pub scanned: Vec<u32>,
    /// Entries that match on every connection and let no later rule add anything.
    pub closing: Box<[u64]>,
    pub needs: Needs,
    /// Some rule looks at the connection.
    pub asks_connection: bool,
}

/// One way for a rule to match. A rule has one, but for a rule with `schema.table`: its statement may name the
/// schema, or else the session may be in it.
#[derive(Debug)]
pub(crate) struct Entry {
    pub rule: u32,
    pub table: TableNeed,
    /// All of these must be the current schema. In lower case.
    pub schemas: Vec<Vec<u8>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableNeed {
    None,
    AnySchema,
    /// The statement names the schema of the rule.
    Qualified,
    /// The statement names no schema.
    Unqualified,
}

/// What holds for all statements of one kind and command.
#[derive(Debug)]
pub(crate) struct General {
    pub chunks: Arc<[Chunk]>,
    /// The first entry of [`Index::scanned`] that asks for no other kind or command.
    pub first_scan: Option<u32>,
    /// What a search with all of those holds for.
    pub scans_hold: Holds,
}

impl Default for General {
    fn default() -> Self {
        Self { chunks: Arc::default(), first_scan: None, scans_hold: Holds::Digest }
    }
}

impl RuleSet {
    /// Makes the index.
    ///
    /// `generation` is a number that no other set of this process has: selections and connections of another set are
    /// then told from this one's. `mode` is that of a fresh session at the server, by which the statements of `digest`
    /// are read.
    ///
    /// # Errors
    /// All that is wrong, by the rules' names. A set with one bad rule does not come to be.
    pub fn compile(rules: &[Rule], generation: u64, mode: LexMode) -> Result<Self, Vec<RuleError>> {
        let errors = errors(rules, MAX_PATTERNS_BYTES);
        if !errors.is_empty() {
            return Err(errors);
        }
        let digests: Vec<Option<Digest>> = rules
            .iter()
            .map(|rule| rule.matches.digest.as_deref())
            .map(|sql| sql.map(|sql| Digest::meant(sql.as_bytes(), mode)))
            .collect();
        let entries: Vec<Entry> =
            rules.iter().zip(0..).flat_map(|(rule, number)| entries(rule, number)).collect();
        let mut index = Index {
            generation,
            rules: rules.to_vec(),
            needs: Needs::of(rules),
            blind: rules.iter().map(|rule| rule.matches.pattern.as_deref().is_some_and(is_blind)).collect(),
            actions: rules.iter().map(|rule| (Actions::of(rule), rule.continues)).collect(),
            digests,
            entries,
            ..Index::default()
        };
        index.fill();
        let patterns =
            index.scanned.iter().filter_map(|entry| index.rule_of(*entry).matches.pattern.as_deref());
        // A part of what was found to fit, so this does not fail.
        let scan = pattern::set(patterns, MAX_PATTERNS_BYTES)
            .map_err(|_| vec![RuleError::TooManyRules(rules.len())])?;
        let alone = index.entries.iter().map(|entry| index.alone(entry)).collect();
        let rewrite =
            |rule: &Rule| rule.rewrite.as_ref().and_then(|rewrite| pattern::one(&rewrite.pattern).ok());
        let rewrites = rules.iter().map(rewrite).collect();
        Ok(Self { index: Arc::new(index), scan, alone, rewrites })
    }

    /// No rule. Its generation is 0.
    pub fn empty() -> Self {
        Self { index: Arc::default(), scan: RegexSet::empty(), alone: Vec::new(), rewrites: Vec::new() }
    }

    /// The number given to [`compile`](Self::compile).
    pub fn generation(&self) -> u64 {
        self.index.generation
    }

    /// The rules in their order.
    pub fn rules(&self) -> &[Rule] {
        &self.index.rules
    }

    /// The rule at a place; `None` for the index of another set.
    pub fn rule(&self, index: RuleIndex) -> Option<&Rule> {
        self.index.rules.get(index.0 as usize)
    }

    /// The rule of a name.
    pub fn find(&self, name: &str) -> Option<RuleIndex> {
        let mut named = self.index.rules.iter().zip(0..).filter(|(rule, _)| rule.name == name);
        named.next().map(|(_, index)| RuleIndex(index))
    }

    /// What a rule says about the cache.
    pub fn cache(&self, index: RuleIndex) -> Option<&CacheRule> {
        self.rule(index)?.cache.as_ref()
    }
}

impl Index {
    pub(crate) fn rule_of(&self, entry: u32) -> &Rule {
        &self.rules[self.entries[entry as usize].rule as usize]
    }

    /// What a look for the pattern of an entry holds for.
    pub(crate) fn pattern_holds(&self, entry: u32) -> Holds {
        match self.blind[self.entries[entry as usize].rule as usize] {
            true => Holds::ButNumbers,
            false => Holds::Text,
        }
    }

    fn fill(&mut self) {
        let mut general = Vec::new();
        for (entry, number) in self.entries.iter().zip(0..) {
            let rule = &self.rules[entry.rule as usize];
            if let Some(digest) = &self.digests[entry.rule as usize] {
                self.by_digest.entry(digest.id).or_default().push(number);
            } else if let Some(table) = &rule.matches.table {
                self.by_table.entry(lower(&table.name)).or_default().push(number);
            } else if rule.matches.pattern.is_some() {
                self.scanned.push(number);
            } else {
                general.push(number);
            }
        }
        let closing = |number: usize| {
            let rule = self.rule_of(number as u32);
            !rule.continues && !self.entries[number].asks_connection(rule)
        };
        self.closing = dense(self.entries.len(), closing);
        self.asks_connection =
            self.entries.iter().any(|entry| entry.asks_connection(&self.rules[entry.rule as usize]));
        let mut filled: [[General; RuleCommand::ALL.len()]; RuleKind::ALL.len()] = Default::default();
        for (row, kind) in filled.iter_mut().zip(RuleKind::ALL) {
            for (cell, command) in row.iter_mut().zip(RuleCommand::ALL) {
                let fits = |number: &u32| fits(self.rule_of(*number), *kind, *command);
                let mut chunks = Vec::new();
                insert(&mut chunks, general.iter().copied().filter(fits));
                cut_after_first(&mut chunks, &self.closing);
                let mut scans = self.scanned.iter().copied().filter(fits);
                let scans_hold = scans.clone().map(|number| self.pattern_holds(number)).max();
                let scans_hold = scans_hold.unwrap_or(Holds::Digest);
                *cell = General { chunks: chunks.into(), first_scan: scans.next(), scans_hold };
            }
        }
        self.general = filled;
    }

    /// The pattern of an entry that is not scanned for with the others.
    fn alone(&self, entry: &Entry) -> Option<Regex> {
        let matches = &self.rules[entry.rule as usize].matches;
        let found = matches.digest.is_some() || matches.table.is_some();
        matches.pattern.as_deref().filter(|_| found).and_then(|pattern| pattern::one(pattern).ok())
    }
}

impl Entry {
    pub(crate) fn asks_connection(&self, rule: &Rule) -> bool {
        !self.schemas.is_empty() || rule.matches.user.is_some() || rule.matches.client.is_some()
    }
}

/// Whether a rule asks for no other kind or command.
pub(crate) fn fits(rule: &Rule, kind: RuleKind, command: RuleCommand) -> bool {
    rule.matches.kind.is_none_or(|wanted| wanted == kind)
        && rule.matches.command.is_none_or(|wanted| wanted == command)
}

pub(crate) fn lower(text: &str) -> Vec<u8> {
    text.as_bytes().to_ascii_lowercase()
}

fn entries(rule: &Rule, number: u32) -> Vec<Entry> {
    let schema = rule.matches.schema.as_deref().map(lower);
    let entry = |table, schemas| Entry { rule: number, table, schemas };
    match &rule.matches.table {
        None => vec![entry(TableNeed::None, schema.into_iter().collect())],
        Some(TableMatch { schema: None, .. }) => {
            vec![entry(TableNeed::AnySchema, schema.into_iter().collect())]
        }
        Some(TableMatch { schema: Some(of_table), .. }) => {
            let mut both: Vec<Vec<u8>> = schema.iter().cloned().collect();
            both.push(lower(of_table));
            both.dedup();
            vec![
                entry(TableNeed::Qualified, schema.into_iter().collect()),
                entry(TableNeed::Unqualified, both),
            ]
        }
    }
}

/// All that is wrong with a list. `limit` is that of all patterns, in bytes.
fn errors(rules: &[Rule], limit: usize) -> Vec<RuleError> {
    let mut errors = Vec::new();
    if rules.len() > MAX_RULES {
        errors.push(RuleError::TooManyRules(rules.len()));
    }
    let mut names = BTreeSet::new();
    let duplicates = rules.iter().filter(|rule| !names.insert(rule.name.as_str()));
    errors.extend(duplicates.map(|rule| RuleError::DuplicateName(rule.name.clone())));
    for rule in rules {
        let rewritten = rule.rewrite.as_ref().map(|rewrite| ("rewrite.pattern", rewrite.pattern.as_str()));
        let matched = rule.matches.pattern.as_deref().map(|pattern| ("match.pattern", pattern));
        for (key, text) in matched.into_iter().chain(rewritten) {
            let name = rule.name.clone();
            errors.extend(match pattern::one(text) {
                Ok(_) => None,
                Err(regex::Error::CompiledTooBig(_)) => Some(RuleError::PatternTooLarge { name, key }),
                Err(error) => Some(RuleError::BadPattern { name, key, reason: error.to_string() }),
            });
        }
    }
    if errors.is_empty() {
        let matching = rules.iter().filter_map(|rule| Some((rule, rule.matches.pattern.as_deref()?)));
        let rewriting = rules.iter().filter_map(|rule| Some((rule, rule.rewrite.as_ref()?.pattern.as_str())));
        let all: [(Vec<&Rule>, Vec<&str>); 2] = [matching.unzip(), rewriting.unzip()];
        for (owners, patterns) in all {
            if pattern::set(patterns.iter().copied(), limit).is_err() {
                let first = owners.get(pattern::fitting(&patterns, limit));
                errors.extend(first.map(|rule| RuleError::PatternsTooLarge(rule.name.clone())));
            }
        }
    }
    errors
}

#[cfg(test)]
mod tests;
