//! Rules that are good by themselves and do nothing where they stand.

use std::fmt;
use std::net::IpAddr;

use weir_model::ServerFamily;
use weir_model::rule::{CacheMode, Rule, RuleCommand, RuleKind, TableMatch};
use weir_sql::{Digest, LexMode, TableName};

use crate::compile::lower;
use crate::decide::Actions;
use crate::statement::rule_kind;

/// Something that an operator will want to know about a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lint {
    /// The rule.
    pub rule: String,
    pub kind: LintKind,
}

/// What it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LintKind {
    /// The statement of `digest` is of another kind than `kind`.
    DigestOfAnotherKind { digest: RuleKind, kind: RuleKind },
    /// The statement of `digest` does not name the table of `table`.
    DigestOfOtherTables,
    /// No client has an address in this network.
    NoClient,
    /// A rule before it matches whatever this one does, and decides.
    Shadowed { by: String },
    /// It has no action, and does not keep rules below it from theirs.
    NoAction,
    /// It has no action, and there is no rule below it.
    NoneToKeepOff,
    /// Only reads are cached, and it matches none.
    CachesNoRead(RuleKind),
    /// Only executed statements have an answer to cache.
    CachesPrepare,
    /// A statement that it denies is not cached, rewritten, limited or timed.
    DeniesAndMore,
    /// Its limit has neither `concurrency` nor `rate`.
    LimitsNothing,
    /// A prepared statement is rewritten when it is prepared.
    RewritesExecute,
    /// `with` names a group that the pattern has not: nothing stands in its place.
    NoSuchGroup(String),
}

impl LintKind {
    /// The word in commands and the API.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::DigestOfAnotherKind { .. } => "digest_of_another_kind",
            Self::DigestOfOtherTables => "digest_of_other_tables",
            Self::NoClient => "no_client",
            Self::Shadowed { .. } => "shadowed",
            Self::NoAction => "no_action",
            Self::NoneToKeepOff => "none_to_keep_off",
            Self::CachesNoRead(_) => "caches_no_read",
            Self::CachesPrepare => "caches_prepare",
            Self::DeniesAndMore => "denies_and_more",
            Self::LimitsNothing => "limits_nothing",
            Self::RewritesExecute => "rewrites_execute",
            Self::NoSuchGroup(_) => "no_such_group",
        }
    }
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule `{}` ", self.rule)?;
        match &self.kind {
            LintKind::DigestOfAnotherKind { digest, kind } => {
                let (digest, kind) = (digest.as_str(), kind.as_str());
                write!(
                    f,
                    "can never match: the statement of `digest` is of kind \"{digest}\", not \"{kind}\""
                )
            }
            LintKind::DigestOfOtherTables => {
                f.write_str("can never match: the statement of `digest` does not name the table of `table`")
            }
            LintKind::NoClient => f.write_str("can never match: no client has an address in `client`"),
            LintKind::Shadowed { by } => {
                write!(f, "is never reached: rule `{by}` before it matches all that it matches, and decides")
            }
            LintKind::NoAction => f.write_str("does nothing: it has no action, and `continue`"),
            LintKind::NoneToKeepOff => f.write_str(
                "does nothing: it has no action, and there is no rule below it that it might keep off its statements",
            ),
            LintKind::CachesNoRead(kind) => {
                write!(f, "caches nothing: only reads are cached, and it matches \"{}\"", kind.as_str())
            }
            LintKind::CachesPrepare => {
                f.write_str("caches nothing: \"prepare\" has no answer to cache; the command is \"execute\"")
            }
            LintKind::DeniesAndMore => {
                f.write_str("only denies: what else it says is about statements that run")
            }
            LintKind::LimitsNothing => f.write_str("limits nothing: give `concurrency` or `rate`"),
            LintKind::RewritesExecute => f.write_str(
                "rewrites nothing: a prepared statement is rewritten when it is prepared, not at \"execute\"",
            ),
            LintKind::NoSuchGroup(group) => {
                write!(
                    f,
                    "has nothing to put in place of `${group}` in `with`: its pattern has no such group; a name ends \
                    where no letter, digit or `_` follows, so `${{1}}a` is the first group and an `a`"
                )
            }
        }
    }
}

/// Finds rules that can never match, that a rule before them shadows, or that do nothing, in the order of the list.
/// It tells only what is certain: a rule that is not told of may do nothing all the same.
///
/// It need not know the server: what it tells holds for MySQL and MariaDB.
pub fn lint(rules: &[Rule]) -> Vec<Lint> {
    let facts: Vec<Facts<'_>> = rules.iter().map(Facts::of).collect();
    let mut lints = Vec::new();
    for (at, facts_of_one) in facts.iter().enumerate() {
        let mut kinds = alone(facts_of_one);
        if kinds.is_empty() {
            let by = facts.iter().take(at).find(|earlier| shadows(earlier, facts_of_one));
            let shadowed = by.map(|by| LintKind::Shadowed { by: by.rule.name.clone() });
            let idle = at + 1 == facts.len() && Actions::of(facts_of_one.rule) == Actions::default();
            kinds.extend(shadowed.or(idle.then_some(LintKind::NoneToKeepOff)));
        }
        lints.extend(kinds.into_iter().map(|kind| Lint { rule: facts_of_one.rule.name.clone(), kind }));
    }
    lints
}

/// What is known of a rule before any statement comes.
struct Facts<'a> {
    rule: &'a Rule,
    /// On each of the servers.
    digest: Option<[Digest; 2]>,
    /// The kind that each matching statement has, as its digest tells.
    digest_kind: Option<RuleKind>,
}

impl<'a> Facts<'a> {
    fn of(rule: &'a Rule) -> Self {
        let sql = rule.matches.digest.as_deref();
        Self {
            rule,
            digest: sql.map(|sql| modes().map(|mode| Digest::meant(sql.as_bytes(), mode))),
            digest_kind: sql.and_then(kind_of),
        }
    }

    /// The kind of all that it matches.
    fn kind(&self) -> Option<RuleKind> {
        self.rule.matches.kind.or(self.digest_kind)
    }
}

/// One for each family, in its newest version that Weir knows.
fn modes() -> [LexMode; 2] {
    [LexMode::new(ServerFamily::MySql, 90_700), LexMode::new(ServerFamily::MariaDb, 120_000)]
}

/// The kind of a statement, if it is the same on either server. That of a digest's text may not show: `COUNT ( * )` of one reads as a
/// call of a stored function.
fn kind_of(sql: &str) -> Option<RuleKind> {
    let kinds = modes().map(|mode| rule_kind(weir_sql::Statement::classify(sql.as_bytes(), mode, true).kind));
    let [on_mysql, on_mariadb] = kinds;
    (on_mysql == on_mariadb && on_mysql != RuleKind::Other).then_some(on_mysql)
}

/// Whether the digest's statement is a read that names other tables only, on either server.
fn reads_others(digest: &str, table: &TableMatch) -> bool {
    let is_it = |named: &TableName| {
        let schemas = (table.schema.as_deref(), named.schema.as_deref());
        let may_be = |(of_rule, of_name): (&str, &[u8])| of_rule.as_bytes().eq_ignore_ascii_case(of_name);
        named.name.eq_ignore_ascii_case(table.name.as_bytes()) && schemas.0.zip(schemas.1).is_none_or(may_be)
    };
    modes().into_iter().all(|mode| {
        let facts = weir_sql::read_facts(digest.as_bytes(), mode);
        facts.verdict.is_ok() && !facts.cut && !facts.tables.iter().any(is_it)
    })
}

/// What can be told without the other rules.
fn alone(facts: &Facts<'_>) -> Vec<LintKind> {
    let Rule { matches, cache, continues, .. } = facts.rule;
    let mut kinds = Vec::new();
    if let (Some(digest), Some(kind)) = (facts.digest_kind, matches.kind)
        && digest != kind
    {
        kinds.push(LintKind::DigestOfAnotherKind { digest, kind });
    }
    if let (Some(digest), Some(table)) = (&matches.digest, &matches.table)
        && reads_others(digest, table)
    {
        kinds.push(LintKind::DigestOfOtherTables);
    }
    if matches.client.is_some_and(|net| is_nobody(net.address(), net.prefix())) {
        kinds.push(LintKind::NoClient);
    }
    if *continues && Actions::of(facts.rule) == Actions::default() {
        kinds.push(LintKind::NoAction);
    }
    kinds.extend(of_actions(facts.rule));
    if kinds.is_empty() && cache.as_ref().is_some_and(|cache| cache.mode != CacheMode::Off) {
        if let Some(kind) = facts.kind().filter(|kind| *kind != RuleKind::Read) {
            kinds.push(LintKind::CachesNoRead(kind));
        }
        if matches.command == Some(RuleCommand::Prepare) {
            kinds.push(LintKind::CachesPrepare);
        }
    }
    kinds
}

/// What the actions of a rule cannot do.
fn of_actions(rule: &Rule) -> Vec<LintKind> {
    let mut kinds = Vec::new();
    let more = Actions { deny: false, ..Actions::of(rule) };
    if rule.deny.is_some() && more != Actions::default() {
        kinds.push(LintKind::DeniesAndMore);
    }
    if rule.limit.as_ref().is_some_and(|limit| limit.concurrency.is_none() && limit.rate.is_none()) {
        kinds.push(LintKind::LimitsNothing);
    }
    if let Some(rewrite) = &rule.rewrite {
        if rule.matches.command == Some(RuleCommand::Execute) {
            kinds.push(LintKind::RewritesExecute);
        }
        kinds.extend(crate::rewrite::missing_group(rewrite).map(LintKind::NoSuchGroup));
    }
    kinds
}

/// Networks that no connection comes from: a single unspecified address, what lies within multicast, and IPv4 written as
/// IPv6 (`::ffff:10.0.0.0/104`), for an IPv4 client is always taken as one.
fn is_nobody(address: IpAddr, prefix: u8) -> bool {
    let (whole, multicast) = match address {
        IpAddr::V4(_) => (32, 4),
        IpAddr::V6(_) => (128, 8),
    };
    let mapped = matches!(address, IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some() && prefix >= 96);
    mapped || (address.is_unspecified() && prefix == whole) || (address.is_multicast() && prefix >= multicast)
}

/// Whether `earlier` matches whatever `later` matches, and lets nothing through.
fn shadows(earlier: &Facts<'_>, later: &Facts<'_>) -> bool {
    let (a, b) = (&earlier.rule.matches, &later.rule.matches);
    !earlier.rule.continues
        && implied(&a.user, &b.user, |a, b| a == b)
        && implied(&a.schema, &b.schema, |a, b| a.eq_ignore_ascii_case(b))
        && implied(&a.client, &b.client, |a, b| a.prefix() <= b.prefix() && a.contains(b.address()))
        && implied(&earlier.digest, &later.digest, |a, b| a == b)
        && implied(&a.pattern, &b.pattern, |a, b| a == b)
        && implied(&a.table, &b.table, includes)
        && implied(&a.kind, &later.kind(), |a, b| a == b)
        && implied(&a.command, &b.command, |a, b| a == b)
}

/// Whether what the later rule asks for answers what the earlier one asks for.
fn implied<T>(earlier: &Option<T>, later: &Option<T>, answers: impl Fn(&T, &T) -> bool) -> bool {
    match (earlier, later) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(a), Some(b)) => answers(a, b),
    }
}

fn includes(wide: &TableMatch, narrow: &TableMatch) -> bool {
    lower(&wide.name) == lower(&narrow.name)
        && implied(&wide.schema, &narrow.schema, |a, b| a.eq_ignore_ascii_case(b))
}

#[cfg(test)]
mod tests;
