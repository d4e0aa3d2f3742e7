//! What is known of a rule before any statement comes.

use weir_model::ServerFamily;
use weir_model::rule::{Rule, RuleKind, TableMatch};
use weir_sql::{Digest, LexMode, TableName, as_called, read_facts};

use super::begins;
use crate::statement::rule_kind;

/// A digest's text that is longer may have been cut, and stands for statements that go on in different ways. In bytes: a token
/// takes no more than five quarters of its text of [`weir_sql::MAX_DIGEST_LENGTH`].
const LONGEST: usize = 8_000;

const SERVERS: usize = 4;

/// What is known of a rule.
pub(super) struct Facts<'a> {
    pub rule: &'a Rule,
    /// On each of the servers.
    pub digest: Option<[Digest; SERVERS]>,
    /// The kind of the statements of the digest, on any server. That of one in which there is something that Weir is not sure of is
    /// [`RuleKind::Other`].
    pub kind: Option<RuleKind>,
    /// The tables that rules see of each statement of the digest which is read to its end, on any server.
    pub tables: Option<Vec<TableName>>,
}

impl<'a> Facts<'a> {
    /// `asks_tables`: some rule has a `table`.
    pub fn of(rule: &'a Rule, asks_tables: bool) -> Self {
        let Some(sql) = rule.matches.digest.as_deref() else {
            return Self { rule, digest: None, kind: None, tables: None };
        };
        let digest = servers().map(|mode| Digest::meant(sql.as_bytes(), mode));
        let samples = samples(sql, &digest);
        let tables = if asks_tables { tables(&samples) } else { None };
        Self { rule, kind: kind(&samples), tables, digest: Some(digest) }
    }

    /// The kind of all that it matches.
    pub fn kind_of_all(&self) -> Option<RuleKind> {
        self.rule.matches.kind.or(self.kind)
    }

    /// With what each statement of the digest begins.
    pub fn first_word(&self) -> Option<&'static str> {
        let [first, rest @ ..] = self.digest.as_ref()?;
        let word = begins::first_word(&first.text)?;
        rest.iter().all(|digest| begins::first_word(&digest.text) == Some(word)).then_some(word)
    }

    /// Whether two rules with a digest have the same.
    pub fn has_digest_of(&self, other: &Self) -> bool {
        let (own, others) = (&self.rule.matches.digest, &other.rule.matches.digest);
        let depends = |sql: &Option<String>| sql.as_deref().is_some_and(depends_on_version);
        own == others || (self.digest == other.digest && !depends(own) && !depends(others))
    }

    /// Whether the tables of the digest are known, and this is none of them.
    pub fn names_others(&self, table: &TableMatch) -> bool {
        let may_be = |named: &TableName| {
            let schemas = table.schema.as_deref().zip(named.schema.as_deref());
            is_named(table, named) && schemas.is_none_or(|(a, b)| a.as_bytes().eq_ignore_ascii_case(b))
        };
        self.tables.as_ref().is_some_and(|tables| !tables.iter().any(may_be))
    }

    /// Whether each statement that the rule matches names the table, as its digest tells.
    pub fn surely_names(&self, table: &TableMatch) -> bool {
        let in_schema = self.rule.matches.schema.as_deref().map(str::as_bytes);
        let is_it = |named: &TableName| {
            let schema = named.schema.as_deref().or(in_schema);
            is_named(table, named)
                && table.schema.as_deref().is_none_or(|wanted| {
                    schema.is_some_and(|schema| schema.eq_ignore_ascii_case(wanted.as_bytes()))
                })
        };
        self.tables.as_ref().is_some_and(|tables| tables.iter().any(is_it))
    }
}

/// The oldest and the newest of each family.
fn servers() -> [LexMode; SERVERS] {
    [
        LexMode::new(ServerFamily::MySql, 50_700),
        LexMode::new(ServerFamily::MySql, 90_700),
        LexMode::new(ServerFamily::MariaDb, 100_400),
        LexMode::new(ServerFamily::MariaDb, 120_000),
    ]
}

/// Statements that have the digest on every server, written in the ways that a digest does not tell apart: as it was given, with all
/// names in quotes, and with none of them so. None where statements of one digest need not be alike: where the digest may have been cut,
/// is of several statements, or depends on the server's version.
fn samples(sql: &str, digest: &[Digest; SERVERS]) -> Vec<Vec<u8>> {
    let text = str::from_utf8(&digest[0].text).unwrap_or_default();
    if text.is_empty() || text.len() > LONGEST || text.contains(';') || depends_on_version(sql) {
        return Vec::new();
    }
    let quoted = as_called(with_values(text).as_bytes());
    let bare = quoted.iter().copied().filter(|byte| *byte != b'`').collect();
    let mut samples = vec![sql.as_bytes().to_vec(), bare, quoted];
    samples.retain(|sample| {
        servers().iter().zip(digest).all(|(mode, digest)| Digest::of(sample, *mode).text == digest.text)
    });
    samples
}

/// A digest's text with values where it has only marks of them. What else looks like such a mark makes no sample.
fn with_values(text: &str) -> String {
    let marks = [
        ("(...) /* , ... */", "(?, ?), (?, ?)"),
        ("(?) /* , ... */", "(?), (?)"),
        ("(...)", "(?, ?)"),
        ("...", "?"),
    ];
    marks.iter().fold(text.to_owned(), |text, (mark, values)| text.replace(mark, values))
}

/// Whether it has a version comment.
fn depends_on_version(sql: &str) -> bool {
    sql.contains("/*!") || sql.contains("/*M!")
}

fn kind(samples: &[Vec<u8>]) -> Option<RuleKind> {
    let of_one = |sample: &Vec<u8>| {
        let kinds = servers().map(|mode| rule_kind(weir_sql::Statement::classify(sample, mode, true).kind));
        let [first, ..] = kinds;
        (first != RuleKind::Other && kinds.iter().all(|kind| *kind == first)).then_some(first)
    };
    let mut kinds = samples.iter().filter_map(of_one);
    let first = kinds.next()?;
    kinds.all(|kind| kind == first).then_some(first)
}

fn tables(samples: &[Vec<u8>]) -> Option<Vec<TableName>> {
    if !samples.iter().all(|sample| sample.is_ascii()) {
        return None;
    }
    let mut all = samples.iter().flat_map(|sample| servers().map(|mode| tables_of(sample, mode)));
    let first = all.next()??;
    all.all(|tables| tables.as_ref() == Some(&first)).then_some(first)
}

/// The tables of a statement that is understood.
fn tables_of(sql: &[u8], mode: LexMode) -> Option<Vec<TableName>> {
    let facts = read_facts(sql, mode);
    let is_write = !facts.writes.unsure && !facts.writes.tables.is_empty();
    match facts.verdict {
        _ if facts.cut => None,
        Ok(()) => Some(facts.tables),
        Err(_) => is_write.then_some(facts.writes.tables),
    }
}

fn is_named(table: &TableMatch, named: &TableName) -> bool {
    named.name.eq_ignore_ascii_case(table.name.as_bytes())
}
