//! Rules and statements for tests.

#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

use weir_model::rule::{
    CacheMode, CacheRule, CacheShare, Ratio, Rule, RuleCommand, RuleKind, RuleMatch, TableMatch,
};

use weir_sql::{Digest, LexMode, TableName};

use crate::{RuleSet, Statement};

pub(crate) fn mode() -> LexMode {
    LexMode::new(weir_model::ServerFamily::MySql, 90_700)
}

pub(crate) fn cache() -> CacheRule {
    CacheRule {
        mode: CacheMode::Serve,
        ttl: std::time::Duration::from_secs(10),
        soft_ttl: None,
        stale_if_error: std::time::Duration::ZERO,
        share: CacheShare::User,
        views: false,
        own_writes: true,
        verify: Ratio::ZERO,
    }
}

pub(crate) fn rule(name: &str, matches: RuleMatch) -> Rule {
    Rule {
        name: name.to_owned(),
        matches,
        cache: Some(cache()),
        rewrite: None,
        deny: None,
        limit: None,
        timeout: None,
        continues: false,
    }
}

/// `key=value` pairs: `table=s.t kind=read`.
pub(crate) fn matching(text: &str) -> RuleMatch {
    let mut matches = RuleMatch::default();
    for (key, value) in text.split_whitespace().map(|pair| pair.split_once('=').unwrap()) {
        let owned = Some(value.replace('_', " "));
        match key {
            "schema" => matches.schema = owned,
            "user" => matches.user = owned,
            "client" => matches.client = Some(weir_model::IpNet::parse(value).unwrap()),
            "digest" => matches.digest = owned,
            "pattern" => matches.pattern = owned,
            "table" => matches.table = Some(TableMatch::parse(value).unwrap()),
            "kind" => matches.kind = Some(RuleKind::from_word(value).unwrap()),
            "command" => matches.command = Some(RuleCommand::from_word(value).unwrap()),
            _ => panic!("{key}"),
        }
    }
    matches
}

pub(crate) fn compiled(rules: &[Rule]) -> RuleSet {
    RuleSet::compile(rules, 1, mode()).unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// A SELECT as text, with its digest, which must live as long.
pub(crate) fn read<'a>(sql: &'a str, digest: &'a Digest, tables: &'a [TableName]) -> Statement<'a> {
    Statement {
        digest: digest.id,
        digest_text: &digest.text,
        text: sql.as_bytes(),
        reads: tables,
        writes: &[],
        kind: RuleKind::Read,
        command: RuleCommand::Query,
    }
}

pub(crate) fn digest(sql: &str) -> Digest {
    Digest::of(sql.as_bytes(), mode())
}

/// `t` or `s.t`.
pub(crate) fn table(text: &str) -> TableName {
    let TableMatch { schema, name } = TableMatch::parse(text).unwrap();
    TableName { schema: schema.map(String::into_bytes), name: name.into_bytes() }
}
