#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

use std::net::IpAddr;

use proptest::prelude::*;
use weir_model::rule::{Rule, RuleCommand, RuleKind, RuleMatch};

use super::*;
use crate::testing::{compiled, digest, matching, mode, read, rule, table};
use crate::{Holds, Needs, Outcome, Statement};
use weir_model::DigestId;
use weir_sql::TableName;

const SQLS: [&str; 6] = [
    "select 1 from t",
    "select 2 from t",
    "SELECT * FROM s.t, u",
    "update u set a = 3",
    "\t/*x*/ select 'from t'\n",
    "select 1 from r",
];
const SCHEMAS: [&str; 3] = ["s", "S", "x"];
const USERS: [&str; 2] = ["app", "root"];
const IPS: [&str; 3] = ["10.0.0.1", "10.9.0.1", "fd00::1"];
const PATTERNS: [&str; 5] = ["(?i)^select", "from t$", "^update", "1", "."];
const NETS: [&str; 3] = ["10.0.0.0/8", "10.0.0.0/16", "::/0"];
const TABLES: [&str; 5] = ["t", "s.t", "x.t", "U", "S.u"];

fn perhaps<T: Clone + std::fmt::Debug + 'static>(values: &[T]) -> impl Strategy<Value = Option<T>> + use<T> {
    let some = prop::sample::select(values.to_vec()).prop_map(Some);
    prop_oneof![3 => Just(None), 1 => some]
}

/// As [`perhaps`], and often enough that tables and schemas meet.
fn often<T: Clone + std::fmt::Debug + 'static>(values: &[T]) -> impl Strategy<Value = Option<T>> + use<T> {
    prop_oneof![1 => Just(None), 2 => prop::sample::select(values.to_vec()).prop_map(Some)]
}

fn any_rule() -> impl Strategy<Value = Rule> {
    let matches = (
        (perhaps(&SCHEMAS), perhaps(&USERS), perhaps(&NETS), perhaps(&SQLS)),
        (prop_oneof![2 => Just(None), 1 => perhaps(&PATTERNS)], often(&TABLES)),
        perhaps(&[RuleKind::Read, RuleKind::Write]),
        perhaps(&[RuleCommand::Query, RuleCommand::Execute]),
    );
    let actions = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (matches, actions).prop_map(|(matches, (continues, cache, deny, timeout))| {
        let ((schema, user, client, sql), (pattern, table), kind, command) = matches;
        let matches = RuleMatch {
            schema: schema.map(str::to_owned),
            user: user.map(str::to_owned),
            client: client.map(|net| weir_model::IpNet::parse(net).unwrap()),
            digest: sql.map(str::to_owned),
            pattern: pattern.map(str::to_owned),
            table: table.map(|table| weir_model::rule::TableMatch::parse(table).unwrap()),
            kind,
            command,
        };
        let mut rule = rule("", matches);
        rule.continues = continues;
        rule.cache = rule.cache.filter(|_| cache);
        rule.deny = deny.then(|| "no".to_owned());
        rule.timeout = timeout.then_some(std::time::Duration::from_secs(1));
        rule
    })
}

/// What an explanation comes to.
fn told(rules: &RuleSet, statement: &Statement<'_>, connection: &Connection<'_>) -> Decision {
    let mut decision = Decision::default();
    for verdict in rules.explain(statement, connection) {
        if matches!(verdict.outcome, Outcome::Decides | Outcome::Continues) {
            decision.add(verdict.rule, Actions::of(rules.rule(verdict.rule).unwrap()));
        }
    }
    decision
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// The index decides as if each rule were tried in its order; a selection of one statement holds for all of its
    /// digest if it says so.
    #[test]
    fn the_index_decides_as_the_rules_do(
        mut rules in prop_oneof![
            3 => prop::collection::vec(any_rule(), 0..5),
            1 => prop::collection::vec(any_rule(), 0..100),
        ],
        sql in prop::sample::select(&SQLS[..]),
        names in prop::collection::vec((often(&SCHEMAS), prop::sample::select(&["t", "T", "u", "v"][..])), 0..3),
        kind in prop::sample::select(&[RuleKind::Read, RuleKind::Write, RuleKind::Other][..]),
        command in prop::sample::select(RuleCommand::ALL),
        schema in often(&SCHEMAS),
        user in prop::sample::select(&USERS[..]),
        ip in often(&IPS),
    ) {
        for (number, rule) in rules.iter_mut().enumerate() {
            rule.name = number.to_string();
        }
        let rules = compiled(&rules);
        let mut tables: Vec<TableName> = names
            .iter()
            .map(|(schema, name)| TableName { schema: schema.map(|s| s.as_bytes().to_vec()), name: name.as_bytes().to_vec() })
            .collect();
        let written = tables.split_off(tables.len() / 2);
        let text = digest(sql);
        let mut statement = Statement { kind, command, writes: &written, ..read(sql, &text, &tables) };
        let connection = Connection {
            user: user.as_bytes(),
            schema: schema.map(str::as_bytes),
            client_ip: ip.map(|ip| ip.parse::<IpAddr>().unwrap()),
 schema_unknown: false,
        };
        let Needs { digest: asks_digest, text: asks_text, tables: asks_tables } = rules.needs();
        if !asks_digest {
            (statement.digest, statement.digest_text) = (DigestId(0), b"");
        }
        if !asks_text {
            statement.text = b"";
        }
        if !asks_tables {
            (statement.reads, statement.writes) = (&[], &[]);
        }
        let selection = rules.select(&statement);
        let full = Statement { kind, command, writes: &written, ..read(sql, &text, &tables) };
        let expected = told(&rules, &full, &connection);
        prop_assert_eq!(&rules.decide(&selection, &connection), &expected);
        prop_assert_eq!(&rules.decide_known(&selection, &rules.connection(&connection)), &expected);
        if selection.holds() == Holds::Digest {
            for other in SQLS.into_iter().filter(|other| digest(other) == text) {
                let statement = Statement { text: other.as_bytes(), ..full };
                prop_assert_eq!(&rules.decide(&selection, &connection), &told(&rules, &statement, &connection));
            }
        }
        if expected.first.is_some() {
            prop_assert!(!selection.is_empty());
        }
    }
}

#[test]
fn a_selection_of_another_set_says_nothing() {
    let list = [rule("r", matching("user=app"))];
    let (old, new) = (compiled(&list), RuleSet::compile(&list, 2, mode()).unwrap());
    let text = digest("select 1");
    let statement = read("select 1", &text, &[]);
    let connection = Connection { user: b"app", schema: None, client_ip: None, schema_unknown: false };
    let (selection, known) = (old.select(&statement), old.connection(&connection));
    assert!(old.decide_known(&selection, &known).cache.is_some());
    assert_eq!(new.decide(&selection, &connection), Decision::default());
    assert_eq!(new.decide_known(&selection, &known), Decision::default());
    assert_eq!(new.decide_known(&new.select(&statement), &known), Decision::default());
    assert_eq!(new.decide_known(&selection, &new.connection(&connection)), Decision::default());
    assert_eq!(RuleSet::empty().select(&statement).generation(), 0);
    assert!(RuleSet::empty().select(&statement).is_empty());
}

#[test]
fn a_selection_is_of_a_digest_until_a_pattern_is_looked_at_and_of_the_text_if_it_sees_numbers() {
    let cases = [
        (vec![""], Holds::Digest),
        (vec!["pattern=a"], Holds::ButNumbers),
        (vec!["pattern=5"], Holds::Text),
        (vec!["pattern=a", "pattern=5"], Holds::Text),
        (vec!["pattern=a", "pattern=5 kind=write"], Holds::ButNumbers),
        (vec!["digest=select_1", "pattern=5"], Holds::Digest),
        (vec!["digest=select_1 user=app", "pattern=a"], Holds::ButNumbers),
        (vec!["digest=select_1 pattern=a"], Holds::ButNumbers),
        (vec!["digest=select_1 pattern=5"], Holds::Text),
        (vec!["digest=update pattern=5"], Holds::Digest),
        (vec!["table=t pattern=5"], Holds::Digest),
        (vec!["table=v pattern=5"], Holds::Text),
        (vec!["kind=write pattern=5"], Holds::Digest),
        (vec!["", "pattern=5"], Holds::Digest),
    ];
    let tables = [table("v")];
    for (matches, expected) in cases {
        let rules: Vec<Rule> =
            matches.iter().enumerate().map(|(n, text)| rule(&n.to_string(), matching(text))).collect();
        let selection = compiled(&rules).select(&read("select 1", &digest("select 1"), &tables));
        assert_eq!(selection.holds(), expected, "{matches:?}");
    }
}

#[test]
fn a_rule_that_matches_in_two_ways_matches_once() {
    let mut first = rule("a", matching("table=s.t"));
    first.continues = true;
    let rules = compiled(&[first, rule("b", matching(""))]);
    let (text, reads) = (digest("select 1"), [table("s.t"), table("t")]);
    let selection = rules.select(&read("select 1", &text, &reads));
    for (schema, matched) in [("s", [RuleIndex(0), RuleIndex(1)]), ("x", [RuleIndex(0), RuleIndex(1)])] {
        let connection =
            Connection { user: b"", schema: Some(schema.as_bytes()), client_ip: None, schema_unknown: false };
        let decision = rules.decide(&selection, &connection);
        assert_eq!(decision.matched().collect::<Vec<_>>(), matched, "{schema}");
    }
}

#[test]
fn statements_are_bytes() {
    let rules = compiled(&[rule("r", matching("pattern=^select.*from.t"))]);
    let connection = Connection { user: b"", schema: None, client_ip: None, schema_unknown: false };
    let none = digest("");
    let mut statement = read("", &none, &[]);
    statement.text = b" \n select '\xff\xfe\x00' from t";
    assert!(rules.decide(&rules.select(&statement), &connection).cache.is_some());
    statement.text = b"\xff select '' from t";
    assert!(rules.decide(&rules.select(&statement), &connection).cache.is_none());
}
