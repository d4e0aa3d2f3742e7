//! What is told of rules holds for all statements: here for random lists of rules, and statements as Weir reads them.

use std::cell::Cell;
use std::net::IpAddr;
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use weir_model::ServerFamily;
use weir_model::rule::Rewrite;
use weir_sql::{Digest, LexMode, ReadFacts, read_facts, strip_comments};

use super::*;
use crate::testing::{matching, rule};
use crate::{Connection, Decision, RuleSet, Statement, rule_kind};

/// Also such as have one digest with another, and such as break off.
const SQLS: &[&str] = &[
    "select * from t where id = 1",
    "SELECT * FROM `t` WHERE id = 'x' -- c",
    "select * from s.t, u",
    "select * from T 'open",
    "select * from t",
    "select * from t\0 , u",
    "select * from t /*!99997 x */",
    "select * from t /*!50000 , u */",
    "select count(*) from t where id in (1, 2)",
    "select count(*) from `t` where `id` in (NULL)",
    "select count (*) from t",
    "select extract(year from d) from t",
    "select trim(leading 'a' from d) from t",
    "with u as (select 1) select * from u",
    "with u as (select 1) update t set a = 1",
    "select * from t for update",
    "select @a := 1 from t",
    "select now() from t",
    "select md5(a) from t",
    "select `md5`(a) from t",
    "select * from t left join s.u on t.a = u.a where t.b is null",
    "(select * from t) union (select * from u)",
    "table t",
    "select 1",
    "select 'x'",
    "select 1;",
    "select 1; update t set a = 2",
    "update t set a = 1",
    "update t set a = 'b",
    "update `t` set a = NULL",
    "/*!50000 update */ t set a = 1",
    "update t join s.u on t.a = u.a set t.a = 1",
    "update t, (select 1) d set a = 2",
    "delete from s.t where a in (1, 2)",
    "delete t from t join u using (a)",
    "insert into t values (1, 2), (3, 4)",
    "insert into t values (5, 6)",
    "insert into s.t (a) select a from u",
    "replace t set a = 1",
    "truncate table t",
    "drop table t, u",
    "rename table t to u",
    "load data infile 'f' into table t",
    "create table t select * from u",
    "call u()",
    "describe t",
    "#",
];
const NETS: &[&str] = &["10.0.0.0/8", "10.0.0.0/9", "10.128.0.0/9", "10.128.0.0/10", "10.192.0.0/10", "::/0"];
const IPS: &[Option<&str>] =
    &[Some("10.0.0.1"), Some("10.129.0.1"), Some("10.200.0.1"), Some("fd00::1"), None];
const PATTERNS: &[&str] = &["(?i)^select", "(?i)^update", "^update", "t"];
const KINDS: &[RuleKind] = &[RuleKind::Read, RuleKind::Write, RuleKind::Other];

fn servers() -> Vec<LexMode> {
    let ansi = LexMode { ansi_quotes: true, ..LexMode::new(ServerFamily::MySql, 80_044) };
    let new = |family, version| LexMode::new(family, version);
    vec![new(ServerFamily::MySql, 90_700), new(ServerFamily::MariaDb, 101_119), ansi]
}

/// Now and then a key that a rule asks for.
fn key<T: ToString>(key: &'static str, values: &[T], weight: u32) -> BoxedStrategy<String> {
    let pairs: Vec<String> = values.iter().map(|value| format!("{key}={} ", value.to_string())).collect();
    prop_oneof![20 => Just(String::new()), weight => select(pairs)].boxed()
}

fn any_digest() -> impl Strategy<Value = Option<String>> {
    let text = |sql: &str, mode| String::from_utf8(Digest::of(sql.as_bytes(), mode).text).unwrap();
    let some = (select(SQLS), any::<bool>(), select(servers())).prop_map(move |(sql, as_digest, mode)| {
        let sql = if as_digest { text(sql, mode) } else { sql.to_owned() };
        (!sql.is_empty()).then_some(sql)
    });
    prop_oneof![1 => Just(None), 1 => some]
}

/// Without its name and digest.
fn any_rule() -> impl Strategy<Value = Rule> {
    let commands: Vec<&str> = RuleCommand::ALL.iter().map(|command| command.as_str()).collect();
    let kinds: Vec<&str> = KINDS.iter().map(|kind| kind.as_str()).collect();
    let keys = [
        key("user", &["app", "root"], 1),
        key("client", NETS, 5),
        key("schema", &["s", "S", "x"], 2),
        key("table", &["t", "u", "s.t", "s.u", "x.t", "d", "p"], 4),
        key("pattern", PATTERNS, 1),
        key("kind", &kinds, 4),
        key("command", &commands, 5),
    ];
    let [cache, timeout, continues] = [0.5; 3].map(prop::bool::weighted);
    let [deny, rewrite] = [0.2; 2].map(prop::bool::weighted);
    (keys, cache, timeout, continues, deny, rewrite).prop_map(
        |(keys, cache, timeout, continues, deny, rewrite)| {
            let mut rule = rule("", matching(&keys.concat()));
            rule.cache = rule.cache.filter(|_| cache);
            rule.timeout = timeout.then_some(Duration::from_secs(1));
            rule.continues = continues;
            rule.deny = deny.then(|| "no".to_owned());
            rule.rewrite = rewrite.then(|| Rewrite { pattern: "a".to_owned(), with: "b".to_owned() });
            rule
        },
    )
}

/// Often of the same statements.
fn any_rules() -> impl Strategy<Value = Vec<Rule>> {
    let one = (any_rule(), any::<bool>());
    let digests = prop::array::uniform2(any_digest());
    (prop::collection::vec(one, 1..7), digests).prop_map(|(rules, digests)| {
        let mut all = Vec::new();
        for (mut rule, first) in rules {
            rule.name = all.len().to_string();
            rule.matches.digest = digests[usize::from(first)].clone();
            all.push(rule);
        }
        all
    })
}

/// What a text is to the rules.
struct Read {
    digest: Digest,
    text: Vec<u8>,
    facts: ReadFacts,
    kind: RuleKind,
}

impl Read {
    fn new(sql: &str, mode: LexMode) -> Self {
        let mut text = Vec::new();
        strip_comments(sql.as_bytes(), mode, &mut text);
        let kind = rule_kind(weir_sql::Statement::classify(sql.as_bytes(), mode, true).kind);
        let digest = Digest::of(sql.as_bytes(), mode);
        Self { digest, text, facts: read_facts(sql.as_bytes(), mode), kind }
    }

    fn statement(&self, command: RuleCommand) -> Statement<'_> {
        Statement {
            digest: self.digest.id,
            digest_text: &self.digest.text,
            text: &self.text,
            reads: &self.facts.tables,
            writes: &self.facts.writes.tables,
            kind: self.kind,
            command,
        }
    }
}

/// What is done with a statement, by the names of the rules.
fn done(set: &RuleSet, decision: &Decision) -> [Option<String>; 5] {
    let Decision { cache, rewrite, deny, limit, timeout, .. } = decision;
    let all = match deny {
        Some(_) => [*deny, None, None, None, None],
        None => [None, *cache, *rewrite, *limit, *timeout],
    };
    all.map(|rule| rule.and_then(|rule| set.rule(rule)).map(|rule| rule.name.clone()))
}

/// What is told of a rule, and the rules with it and without it.
struct Told<'a> {
    lint: &'a Lint,
    at: usize,
    with: RuleSet,
    without: RuleSet,
}

impl<'a> Told<'a> {
    fn new(rules: &[Rule], lint: &'a Lint, mode: LexMode) -> Self {
        let at = rules.iter().position(|rule| rule.name == lint.rule).unwrap();
        let mode = LexMode { ansi_quotes: false, ..mode };
        let mut others = rules.to_vec();
        others.remove(at);
        let compiled = |rules: &[Rule]| RuleSet::compile(rules, 1, mode).unwrap();
        Self { lint, at, with: compiled(rules), without: compiled(&others) }
    }

    /// Whether it holds for a statement.
    fn check(&self, read: &Read, command: RuleCommand, connection: &Connection<'_>) {
        let statement = read.statement(command);
        let matched = || self.with.decide(&self.with.select(&statement), connection);
        let is_reached = || matched().matched().any(|rule| rule.0 as usize == self.at);
        let unread = match &self.lint.kind {
            LintKind::Shadowed { unread, .. } | LintKind::AddsNothing { unread, .. } => *unread,
            LintKind::DigestOfAnotherKind { .. }
            | LintKind::DigestOfOtherTables
            | LintKind::DigestAgainstPattern(_) => return assert!(!is_reached(), "{:?}", self.lint),
            _ => return,
        };
        if unread && (read.kind == RuleKind::Other || connection.schema_unknown) {
            return;
        }
        if matches!(self.lint.kind, LintKind::Shadowed { .. }) {
            assert!(!is_reached(), "{:?} {:?}", self.lint, statement);
        }
        let of = |set: &RuleSet| done(set, &set.decide(&set.select(&statement), connection));
        assert_eq!(of(&self.with), of(&self.without), "{:?} {:?}", self.lint, statement);
    }

    /// Whether it holds for statements of which not all is known.
    fn check_unread(&self, command: RuleCommand, connection: &Connection<'_>) {
        if !matches!(
            self.lint.kind,
            LintKind::Shadowed { unread: false, .. } | LintKind::AddsNothing { unread: false, .. }
        ) {
            return;
        }
        for kind in KINDS.iter().copied().map(Some).chain([None]) {
            let denies = |set: &RuleSet| {
                let rule = set.may_deny(kind, command, connection);
                rule.and_then(|rule| set.rule(rule)).map(|rule| rule.name.clone())
            };
            assert_eq!(denies(&self.with), denies(&self.without), "{:?} {kind:?}", self.lint);
        }
    }
}

#[test]
fn what_is_told_holds_for_every_statement() {
    let modes = servers();
    let reads: Vec<Vec<Read>> =
        modes.iter().map(|mode| SQLS.iter().map(|sql| Read::new(sql, *mode)).collect()).collect();
    let connection = (
        select(&["app", "root"][..]),
        select(&[None, Some("s"), Some("x")][..]),
        prop::bool::weighted(0.2),
        select(IPS),
        select(RuleCommand::ALL),
    );
    let cases = (any_rules(), prop::collection::vec(connection, 6));
    let [shadowed, added, unread, never] = std::array::from_fn(|_| Cell::new(0));
    let mut runner = TestRunner::new_with_rng(
        Config { cases: 600, failure_persistence: None, ..Config::default() },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let result = runner.run(&cases, |(rules, connections)| {
        for told in lint(&rules) {
            let counted = match &told.kind {
                LintKind::Shadowed { unread: true, .. } | LintKind::AddsNothing { unread: true, .. } => {
                    &unread
                }
                LintKind::Shadowed { .. } => &shadowed,
                LintKind::AddsNothing { .. } => &added,
                _ => &never,
            };
            counted.set(counted.get() + 1);
            let sets: Vec<Told<'_>> = modes.iter().map(|mode| Told::new(&rules, &told, *mode)).collect();
            for (number, (user, schema, unknown, ip, command)) in connections.iter().enumerate() {
                let connection = Connection {
                    user: user.as_bytes(),
                    schema: schema.filter(|_| !unknown).map(str::as_bytes),
                    schema_unknown: *unknown,
                    client_ip: ip.map(|ip| ip.parse::<IpAddr>().unwrap()),
                };
                let at = number % modes.len();
                sets[at].check_unread(*command, &connection);
                reads[at].iter().for_each(|read| sets[at].check(read, *command, &connection));
            }
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    let counts = [&shadowed, &added, &unread, &never].map(Cell::get);
    assert!(counts.iter().all(|count| *count > 10), "{counts:?}");
}
