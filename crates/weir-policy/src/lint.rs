//! Rules that are good by themselves and do nothing where they stand.

mod begins;
mod facts;
mod shadow;

use std::fmt;
use std::net::IpAddr;

use weir_model::rule::{CacheMode, Rule, RuleCommand, RuleKind};

use crate::decide::Actions;
use facts::Facts;

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
    /// The statements of `digest` begin with this word, and `pattern` matches none that does.
    DigestAgainstPattern(&'static str),
    /// No client has an address in this network.
    NoClient,
    /// Rules before it match whatever this one does, one alone or all together, and decide. `unread`: but for statements of which
    /// not all is known.
    Shadowed { by: Vec<String>, unread: bool },
    /// Rules before it match whatever this one does, and all that it could do comes from them, for they have `continue` and its actions.
    AddsNothing { by: Vec<String>, unread: bool },
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
            Self::DigestAgainstPattern(_) => "digest_against_pattern",
            Self::NoClient => "no_client",
            Self::Shadowed { .. } => "shadowed",
            Self::AddsNothing { .. } => "adds_nothing",
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
            LintKind::DigestAgainstPattern(word) => write!(
                f,
                "can never match: the statement of `digest` begins with {word}, and `pattern` with other letters"
            ),
            LintKind::Shadowed { by, unread } => f.write_str(&shadowed(by, *unread)),
            LintKind::AddsNothing { by, unread } => f.write_str(&adds_nothing(by, *unread)),
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

fn shadowed(by: &[String], unread: bool) -> String {
    let (reached, all) = match unread {
        true => ("reached only by statements that Weir cannot read whole", "all others"),
        false => ("never reached", "all"),
    };
    let matches = match by {
        [by] => format!("rule `{by}` before it matches {all} that it matches, and decides"),
        _ => format!("{} before it together match {all} that it matches, and decide", named(by)),
    };
    format!("is {reached}: {matches}; {}", way_out(by, unread))
}

fn adds_nothing(by: &[String], unread: bool) -> String {
    let but = if unread { ", but for statements that Weir cannot read whole" } else { "" };
    let matches = match by {
        [by] => format!("rule `{by}` before it matches what it matches, and what that rule does comes first"),
        _ => format!(
            "{} before it together match what it matches, and what these rules do comes first",
            named(by)
        ),
    };
    format!("adds nothing{but}: {matches}; {}", way_out(by, unread))
}

/// What to do about a rule to which others leave nothing, or only what is not read whole: that may be what it is there for.
fn way_out(by: &[String], unread: bool) -> String {
    let them = if by.len() == 1 { "that one" } else { "them" };
    let or = if unread { "" } else { ", or remove it" };
    format!("put it before {them}{or}")
}

/// Rules by their names; of many, some.
fn named(rules: &[String]) -> String {
    const SHOWN: usize = 5;
    let quoted: Vec<String> = rules.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    match (rules.len().saturating_sub(SHOWN), quoted.split_last()) {
        (0, Some((last, [first @ .., second]))) => {
            let first: String = first.iter().map(|name| format!("{name}, ")).collect();
            format!("rules {first}{second} and {last}")
        }
        (0, _) => format!("rule {}", quoted.concat()),
        (more, _) => format!("rules {} and {more} more", quoted.join(", ")),
    }
}

/// Finds rules that can never match, that a rule before them shadows, or that do nothing, in the order of the list.
/// It tells only what is certain: a rule that is not told of may do nothing all the same.
///
/// It need not know the server: what it tells holds for MySQL and MariaDB.
pub fn lint(rules: &[Rule]) -> Vec<Lint> {
    let asks_tables = rules.iter().any(|rule| rule.matches.table.is_some());
    let facts: Vec<Facts<'_>> = rules.iter().map(|rule| Facts::of(rule, asks_tables)).collect();
    let mut rest = facts.as_slice();
    let mut below = Actions::default();
    let mut found = Vec::new();
    while let Some((last, earlier)) = rest.split_last() {
        let mut kinds = alone(last);
        if kinds.is_empty() {
            let idle = earlier.len() + 1 == facts.len() && Actions::of(last.rule) == Actions::default();
            let shadowed = shadow::shadow(last, earlier, below);
            kinds.extend(shadowed.or(idle.then_some(LintKind::NoneToKeepOff)));
        }
        found.extend(kinds.into_iter().rev().map(|kind| Lint { rule: last.rule.name.clone(), kind }));
        below = below.and(Actions::of(last.rule));
        rest = earlier;
    }
    found.reverse();
    found
}

/// What can be told without the other rules.
fn alone(facts: &Facts<'_>) -> Vec<LintKind> {
    let Rule { matches, cache, continues, .. } = facts.rule;
    let mut kinds = of_digest(facts);
    if matches.client.is_some_and(|net| is_nobody(net.address(), net.prefix())) {
        kinds.push(LintKind::NoClient);
    }
    if *continues && Actions::of(facts.rule) == Actions::default() {
        kinds.push(LintKind::NoAction);
    }
    kinds.extend(of_actions(facts.rule));
    if kinds.is_empty() && cache.as_ref().is_some_and(|cache| cache.mode != CacheMode::Off) {
        if let Some(kind) = facts.kind_of_all().filter(|kind| *kind != RuleKind::Read) {
            kinds.push(LintKind::CachesNoRead(kind));
        }
        if matches.command == Some(RuleCommand::Prepare) {
            kinds.push(LintKind::CachesPrepare);
        }
    }
    kinds
}

/// What the statement of `digest` cannot be.
fn of_digest(facts: &Facts<'_>) -> Vec<LintKind> {
    let matches = &facts.rule.matches;
    let mut kinds = Vec::new();
    if let (Some(digest), Some(kind)) = (facts.kind, matches.kind)
        && digest != kind
        // A text that breaks off is of that kind, whatever stands at its front.
        && kind != RuleKind::Other
    {
        kinds.push(LintKind::DigestOfAnotherKind { digest, kind });
    }
    if matches.table.as_ref().is_some_and(|table| facts.names_others(table)) {
        kinds.push(LintKind::DigestOfOtherTables);
    }
    if let (Some(word), Some(pattern)) = (facts.first_word(), &matches.pattern)
        && begins::excludes(pattern, word)
    {
        kinds.push(LintKind::DigestAgainstPattern(word));
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

#[cfg(test)]
mod tests;
