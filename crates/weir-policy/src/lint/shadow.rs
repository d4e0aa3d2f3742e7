//! Rules to which those before them leave nothing.
//!
//! What a rule matches is cut into cells, one for each kind and command, and where it has a `client`, into networks. The rule
//! does nothing where in each of these, rules before it match all the rest that it matches and either end the search or, with
//! `continue`, have each of its actions.

use weir_model::IpNet;
use weir_model::rule::{Rule, RuleCommand, RuleKind, TableMatch};

use super::LintKind;
use super::facts::Facts;
use crate::decide::Actions;

/// Rules that are looked at together, and rules about a part of the network that are looked at. Kinds and commands take no more than 42.
const TOGETHER: usize = 64;

/// A set of actions and of what stands beside them, a bit for each.
type Says = u8;
const DENIES: Says = 1 << 2;
const ALL_ACTIONS: Says = (1 << 5) - 1;
/// No rule below is looked at.
const ENDS: Says = 1 << 5;

/// A set of kinds with commands, a bit for each pair.
type Cells = u64;
const ALL_COMMANDS: Cells = (1 << RuleCommand::ALL.len()) - 1;
const ALL_CELLS: Cells = (1 << (RuleCommand::ALL.len() * RuleKind::ALL.len())) - 1;

/// What is looked for in the rules before one.
struct Asked {
    cells: Cells,
    /// `None`: on all connections.
    network: Option<IpNet>,
    needed: Says,
}

/// A rule before another one, as far as it takes from that.
struct Before<'a> {
    rule: &'a Rule,
    cells: Cells,
    /// `None`: on all connections of the other one.
    client: Option<IpNet>,
    says: Says,
    /// That is so also where not all is known of a statement.
    sure: bool,
}

/// What becomes of `later` by the rules before it. `below`: all actions of the rules behind it.
pub(super) fn shadow(later: &Facts<'_>, earlier: &[Facts<'_>], below: Actions) -> Option<LintKind> {
    let Rule { matches, continues, .. } = later.rule;
    let before = gathered(later, earlier);
    let sure: Vec<&Before<'_>> = before.iter().filter(|before| before.sure).collect();
    // A rule that ends the search keeps those below it off its statements.
    let kept_off = if *continues { 0 } else { bits(below) };
    let needed = bits(Actions::of(later.rule)) | kept_off;
    let names = |rules: Vec<&Before<'_>>| rules.iter().map(|before| before.rule.name.clone()).collect();
    for (kind, rules, unread) in
        [(matches.kind, sure, false), (later.kind_of_all(), before.iter().collect(), true)]
    {
        let asked = |needed| Asked { cells: cells(kind, matches.command), network: matches.client, needed };
        if let Some(by) = asked(ENDS).by(&rules) {
            return Some(LintKind::Shadowed { by: names(by), unread });
        }
        if needed != 0
            && let Some(by) = asked(needed).by(&rules)
        {
            return Some(LintKind::AddsNothing { by: names(by), unread });
        }
    }
    None
}

/// The rules before one that may take something from it, without those that take nothing that another before them does not.
fn gathered<'a>(later: &Facts<'_>, earlier: &[Facts<'a>]) -> Vec<Before<'a>> {
    let mut all: Vec<Before<'a>> = Vec::new();
    for one in earlier.iter().filter_map(|facts| Before::of(facts, later)) {
        let has_room = one.client.is_none() || all.len() < TOGETHER;
        if has_room && !all.iter().any(|known| known.takes_all_of(&one)) {
            all.push(one);
        }
    }
    all
}

impl Asked {
    /// The first rule that says what is needed, or else several that do so together and of which none can be left out.
    fn by<'b, 'a>(&self, rules: &[&'b Before<'a>]) -> Option<Vec<&'b Before<'a>>> {
        let is_enough = |one: &&&Before<'_>| one.client.is_none() && self.is_said(&[**one]);
        if let Some(one) = rules.iter().find(is_enough) {
            return Some(vec![*one]);
        }
        let mut together: Vec<&Before<'_>> = rules.iter().copied().take(TOGETHER).collect();
        if !self.is_said(&together) {
            return None;
        }
        for at in (0..together.len()).rev() {
            let left_out = together.remove(at);
            if !self.is_said(&together) {
                together.insert(at, left_out);
            }
        }
        Some(together)
    }

    /// Whether the rules say it in each of the cells, all over the network.
    fn is_said(&self, rules: &[&Before<'_>]) -> bool {
        let is_everywhere = |before: &Before<'_>| {
            before.client.is_none_or(|client| self.network.is_some_and(|network| client.covers(&network)))
        };
        let everywhere: Vec<&Before<'_>> =
            rules.iter().copied().filter(|before| is_everywhere(before)).collect();
        let has = |bit: Says| {
            let saying = everywhere.iter().filter(|before| before.says & bit != 0);
            self.cells & !saying.fold(0, |cells, before| cells | before.cells) == 0
        };
        if (0..Says::BITS).map(|bit| 1 << bit).filter(|bit| self.needed & bit != 0).all(has) {
            return true;
        }
        if everywhere.len() == rules.len() {
            return false;
        }
        let Some(halves) = self.network.and_then(|network| network.halves()) else { return false };
        halves.into_iter().all(|half| {
            let meets = |client: IpNet| client.covers(&half) || half.covers(&client);
            let meeting = rules.iter().copied().filter(|before| before.client.is_none_or(meets));
            Self { network: Some(half), ..*self }.is_said(&meeting.collect::<Vec<_>>())
        })
    }
}

impl<'a> Before<'a> {
    /// `None` where it leaves something of everything to the later rule.
    fn of(earlier: &Facts<'a>, later: &Facts<'_>) -> Option<Self> {
        let (a, b) = (&earlier.rule.matches, &later.rule.matches);
        let asks_same = implied(&a.user, &b.user, |a, b| a == b)
            && implied(&a.digest, &b.digest, |_, _| earlier.has_digest_of(later))
            && implied(&a.schema, &b.schema, |a, b| a.eq_ignore_ascii_case(b))
            && implied(&a.pattern, &b.pattern, |a, b| a == b);
        if !asks_same {
            return None;
        }
        let of_rule = implied(&a.table, &b.table, includes);
        if !of_rule && !a.table.as_ref().is_some_and(|table| later.surely_names(table)) {
            return None;
        }
        let client = match (a.client, b.client) {
            (None, _) => None,
            (Some(a), Some(b)) if a.covers(&b) => None,
            (Some(a), Some(b)) if b.covers(&a) => Some(a),
            _ => return None,
        };
        let cells = cells(a.kind, a.command);
        let sure = of_rule && (later.rule.deny.is_none() || decides_blindly(earlier.rule));
        let meets = cells & self::cells(b.kind, b.command) != 0;
        meets.then_some(Self { rule: earlier.rule, cells, client, says: says(earlier.rule), sure })
    }

    /// Whether it takes all that the other one does.
    fn takes_all_of(&self, other: &Self) -> bool {
        let covers = |client: IpNet| other.client.is_some_and(|narrow| client.covers(&narrow));
        other.cells & !self.cells == 0
            && other.says & !self.says == 0
            && self.sure >= other.sure
            && self.client.is_none_or(covers)
    }
}

/// Whether a rule comes before one with `deny` also for a statement of which not all is known (see `doubt.rs`): then what may be denied is.
fn decides_blindly(rule: &Rule) -> bool {
    let wanted = &rule.matches;
    let asks_statement = wanted.digest.is_some() || wanted.pattern.is_some() || wanted.table.is_some();
    rule.deny.is_some() || !(asks_statement || wanted.kind.is_some() || wanted.schema.is_some())
}

/// What a rule that matches leaves to no other: its actions; all of them where it ends the search, or denies.
fn says(rule: &Rule) -> Says {
    let own = bits(Actions::of(rule));
    match (rule.continues, own & DENIES != 0) {
        (false, _) => ALL_ACTIONS | ENDS,
        (true, true) => ALL_ACTIONS,
        (true, false) => own,
    }
}

fn bits(actions: Actions) -> Says {
    let Actions { cache, rewrite, deny, limit, timeout } = actions;
    let all = [cache, rewrite, deny, limit, timeout];
    all.iter().rev().fold(0, |bits, has| bits << 1 | Says::from(*has))
}

/// Those of a kind and a command, or of all.
fn cells(kind: Option<RuleKind>, command: Option<RuleCommand>) -> Cells {
    let of_kind = kind.map_or(ALL_CELLS, |kind| ALL_COMMANDS << (RuleCommand::ALL.len() * kind as usize));
    let of_command = command.map_or(ALL_CELLS, |command| (ALL_CELLS / ALL_COMMANDS) << command as usize);
    of_kind & of_command
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
    wide.name.eq_ignore_ascii_case(&narrow.name)
        && implied(&wide.schema, &narrow.schema, |a, b| a.eq_ignore_ascii_case(b))
}
