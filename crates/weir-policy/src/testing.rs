//! Rules for tests, and a digest that is easy to foresee.

#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

use weir_model::rule::{
    CacheMode, CacheRule, CacheShare, Ratio, Rule, RuleCommand, RuleKind, RuleMatch, TableMatch,
};

use crate::{RuleSet, Statement, TableRef};

/// The text without digits, and its length: texts that differ in digits have one digest.
pub(crate) fn digest(sql: &str) -> (u64, Vec<u8>) {
    let text: Vec<u8> = sql.bytes().filter(|byte| !byte.is_ascii_digit()).collect();
    (text.len() as u64, text)
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
    RuleSet::compile(rules, 1, digest).unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// A SELECT as text; `digest_text` must live as long, so it is an argument.
pub(crate) fn read<'a>(sql: &'a str, digest_text: &'a [u8], tables: &'a [TableRef<'a>]) -> Statement<'a> {
    Statement {
        digest: digest_text.len() as u64,
        digest_text,
        text: sql.as_bytes(),
        tables,
        kind: RuleKind::Read,
        command: RuleCommand::Query,
    }
}
