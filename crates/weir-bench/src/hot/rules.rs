//! What rules cost a statement whose digest is known: the same however many there are.

use std::hint::black_box;

use anyhow::{Result, anyhow, ensure};
use weir_model::rule::{Rule, RuleCommand, RuleKind, RuleMatch};
use weir_policy::{Connection, RuleIndex, RuleSet, Statement};
use weir_sql::Digest;

/// Rules by digest; the last one is that of the statement.
pub(super) fn select(rules: usize, times: u32) -> Result<()> {
    let digest = Digest::of(sql(rules - 1).as_bytes(), super::MODE());
    let set = compiled(rules, |number| RuleMatch { digest: Some(sql(number)), ..RuleMatch::default() })?;
    let statement = statement(&digest);
    for _ in 0..times {
        black_box(set.select(black_box(&statement)));
    }
    ensure!(!set.select(&statement).is_empty(), "no rule was selected");
    Ok(())
}

/// Rules by digest and user, as many as there are digests; the last one is that of the statement.
pub(super) fn decide(rules: usize, times: u32) -> Result<()> {
    let digest = Digest::of(sql(rules - 1).as_bytes(), super::MODE());
    let set = compiled(rules, |number| RuleMatch {
        digest: Some(sql(number)),
        user: Some("app".to_owned()),
        ..RuleMatch::default()
    })?;
    let selection = set.select(&statement(&digest));
    let connection = set.connection(&Connection {
        user: b"app",
        schema: Some(b"shop"),
        client_ip: None,
        schema_unknown: false,
    });
    for _ in 0..times {
        black_box(set.decide_known(black_box(&selection), black_box(&connection)));
    }
    let decided = set.decide_known(&selection, &connection).first;
    ensure!(decided == Some(RuleIndex(rules as u32 - 1)), "the wrong rule decided");
    Ok(())
}

fn compiled(rules: usize, matches: impl Fn(usize) -> RuleMatch) -> Result<RuleSet> {
    let rule = |number: usize| Rule {
        name: number.to_string(),
        matches: matches(number),
        cache: None,
        rewrite: None,
        deny: Some("no".to_owned()),
        limit: None,
        timeout: None,
        continues: false,
    };
    let rules: Vec<Rule> = (0..rules).map(rule).collect();
    RuleSet::compile(&rules, 1, super::MODE()).map_err(|errors| anyhow!("{errors:?}"))
}

fn statement(digest: &Digest) -> Statement<'_> {
    Statement {
        digest: digest.id,
        digest_text: &digest.text,
        text: super::POINT_SELECT,
        reads: &[],
        writes: &[],
        kind: RuleKind::Read,
        command: RuleCommand::Query,
    }
}

/// As long for each number.
fn sql(number: usize) -> String {
    format!("SELECT c FROM sbtest{number:04} WHERE id=12345")
}
