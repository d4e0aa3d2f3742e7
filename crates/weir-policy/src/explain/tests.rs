#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

use std::net::IpAddr;

use super::*;
use crate::testing::{compiled, digest, matching, read, rule, table};

const SQL: &str = "  SELECT a\nFROM t WHERE id = 7 ";

/// Each part of `match` against one statement on one connection: `app` in `Shop` from 10.1.2.3, reading `t` and `x.u`.
#[test]
fn each_part_of_match_is_told() {
    let cases: &[(&str, &[Mismatch])] = &[
        ("", &[]),
        ("schema=shop", &[]),
        ("schema=other", &[Mismatch::Schema]),
        ("user=app", &[]),
        ("user=App", &[Mismatch::User]),
        ("client=10.0.0.0/8", &[]),
        ("client=10.0.0.0/16", &[Mismatch::Client]),
        ("client=::/0", &[Mismatch::Client]),
        ("digest=SELECT_a_FROM", &[Mismatch::Digest]),
        ("pattern=^SELECT.a.FROM", &[]),
        ("pattern=^select", &[Mismatch::Pattern]),
        ("pattern=(?i)^select.*7$", &[]),
        ("pattern=WHERE", &[]),
        ("table=T", &[]),
        ("table=shop.t", &[]),
        ("table=SHOP.T", &[]),
        ("table=x.t", &[Mismatch::Table]),
        ("table=x.u", &[]),
        ("table=u", &[]),
        ("table=shop.u", &[Mismatch::Table]),
        ("kind=read", &[]),
        ("kind=write", &[Mismatch::Kind]),
        ("command=query", &[]),
        ("command=execute", &[Mismatch::Command]),
        ("user=x kind=ddl table=v", &[Mismatch::User, Mismatch::Table, Mismatch::Kind]),
    ];
    let text = digest(SQL);
    let (reads, writes) = ([table("t")], [table("x.u")]);
    let statement = Statement { writes: &writes, ..read(SQL, &text, &reads) };
    let connection = Connection {
        user: b"app",
        schema: Some(b"Shop"),
        client_ip: Some("10.1.2.3".parse::<IpAddr>().unwrap()),
        schema_unknown: false,
    };
    for (matches, expected) in cases {
        let rules = compiled(&[rule("r", matching(matches))]);
        let [verdict] = &rules.explain(&statement, &connection)[..] else { panic!("one rule") };
        assert_eq!(verdict.mismatches, *expected, "{matches}");
        let decision = rules.decide(&rules.select(&statement), &connection);
        assert_eq!(decision.cache.is_some(), expected.is_empty(), "{matches}");
    }
}

#[test]
fn a_digest_is_that_of_any_literal_form() {
    let text = digest("select 9");
    let rules = compiled(&[rule("r", matching("digest=select_1"))]);
    let connection = Connection { user: b"", schema: None, client_ip: None, schema_unknown: false };
    let same = read("select 9", &text, &[]);
    assert_eq!(rules.explain(&same, &connection)[0].outcome, Outcome::Decides);
    // A text of the same number is not the same statement.
    let collision = Statement { digest_text: b"SELECT", ..same };
    assert_eq!(rules.explain(&collision, &connection)[0].mismatches, [Mismatch::Digest]);
    assert!(rules.select(&collision).is_empty());
}

#[test]
fn a_connection_without_schema_or_address_matches_no_rule_that_asks_for_one() {
    let tables = [table("t")];
    let text = digest("select 1");
    let statement = read("select 1", &text, &tables);
    let connection = Connection { user: b"app", schema: None, client_ip: None, schema_unknown: false };
    for (matches, expected) in [
        ("schema=s", Mismatch::Schema),
        ("client=0.0.0.0/0", Mismatch::Client),
        ("table=s.t", Mismatch::Table),
    ] {
        let rules = compiled(&[rule("r", matching(matches))]);
        assert_eq!(rules.explain(&statement, &connection)[0].mismatches, [expected]);
        assert_eq!(rules.decide(&rules.select(&statement), &connection), Decision::default());
    }
}

#[test]
fn the_first_match_decides_and_continue_adds_what_is_open() {
    let mut first = rule("first", matching(""));
    first.continues = true;
    first.cache = None;
    first.timeout = Some(std::time::Duration::from_secs(1));
    let mut second = rule("second", matching("kind=write"));
    second.deny = Some("no".to_owned());
    let mut third = rule("third", matching("kind=read"));
    third.timeout = Some(std::time::Duration::from_secs(2));
    let fourth = rule("fourth", matching(""));
    let rules = compiled(&[first, second, third, fourth]);
    let connection = Connection { user: b"", schema: None, client_ip: None, schema_unknown: false };
    let text = digest("select 1");
    let statement = read("select 1", &text, &[]);
    let told: Vec<(Outcome, Vec<&str>)> = rules
        .explain(&statement, &connection)
        .into_iter()
        .map(|verdict| (verdict.outcome, verdict.adds.names().collect()))
        .collect();
    assert_eq!(
        told,
        [
            (Outcome::Continues, vec!["timeout"]),
            (Outcome::NoMatch, vec![]),
            (Outcome::Decides, vec!["cache"]),
            (Outcome::NotReached, vec![]),
        ]
    );
    let decision = rules.decide(&rules.select(&statement), &connection);
    assert_eq!((decision.timeout, decision.cache), (Some(RuleIndex(0)), Some(RuleIndex(2))));
    assert_eq!(decision.matched().collect::<Vec<_>>(), [RuleIndex(0), RuleIndex(2)]);
    assert_eq!((decision.deny, decision.rewrite, decision.limit), (None, None, None));
}
