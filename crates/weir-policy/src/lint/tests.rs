mod properties;
mod together;

use super::*;
use crate::testing::{matching, rule};

fn lints(rules: &[Rule]) -> Vec<String> {
    lint(rules).iter().map(ToString::to_string).collect()
}

/// Whether the first of two rules shadows the second.
fn shadowed(first: &str, second: &str) -> bool {
    let told = lints(&[rule("a", matching(first)), rule("b", matching(second))]);
    assert!(told.len() <= 1, "{told:?}");
    told.iter().any(|text| {
        assert_eq!(
            text,
            "rule `b` is never reached: rule `a` before it matches all that it matches, and decides; put it before that one, or remove it"
        );
        true
    })
}

#[test]
fn a_rule_that_another_one_covers_is_told() {
    for (first, second) in [
        ("", ""),
        ("", "user=u table=t"),
        ("user=u", "user=u schema=s"),
        ("schema=S", "schema=s"),
        ("client=10.0.0.0/8", "client=10.1.0.0/16"),
        ("client=0.0.0.0/0", "client=10.1.0.1"),
        ("digest=select_1", "digest=select_2"),
        ("pattern=a", "pattern=a user=u"),
        ("table=t", "table=s.T"),
        ("table=s.t", "table=S.t"),
        ("command=query kind=read", "kind=read command=query"),
    ] {
        assert!(shadowed(first, second), "{first} | {second}");
    }
}

#[test]
fn a_rule_with_something_left_is_not() {
    for (first, second) in [
        ("user=u", ""),
        ("user=u", "user=U"),
        ("client=10.1.0.0/16", "client=10.0.0.0/8"),
        ("client=::/0", "client=10.0.0.0/8"),
        ("digest=select_1", "digest=select_1_from_t"),
        ("kind=read command=query", "kind=read"),
        ("pattern=a", "pattern=aa"),
        ("table=s.t", "table=t"),
        ("table=t", "table=u"),
        ("kind=read", "table=t"),
    ] {
        assert!(!shadowed(first, second), "{first} | {second}");
    }
}

#[test]
fn a_rule_that_can_never_match_or_does_nothing_is_told() {
    let nobody = "rule `r` can never match: no client has an address in `client`";
    for (matches, expected) in [
        (
            "digest=insert_into_t_values_(1) kind=read",
            "rule `r` can never match: the statement of `digest` is of kind \"write\", not \"read\"",
        ),
        (
            "digest=select_*_from_t table=u",
            "rule `r` can never match: the statement of `digest` does not name the table of `table`",
        ),
        (
            "digest=select_*_from_s.t table=v.t",
            "rule `r` can never match: the statement of `digest` does not name the table of `table`",
        ),
        ("client=0.0.0.0", nobody),
        ("client=::", nobody),
        ("client=239.0.0.0/8", nobody),
        ("client=ff02::1", nobody),
        ("client=::ffff:10.0.0.0/104", nobody),
        ("digest=delete_from_t", "rule `r` caches nothing: only reads are cached, and it matches \"write\""),
        ("kind=ddl", "rule `r` caches nothing: only reads are cached, and it matches \"ddl\""),
        (
            "command=prepare",
            "rule `r` caches nothing: \"prepare\" has no answer to cache; the command is \"execute\"",
        ),
    ] {
        assert_eq!(lints(&[rule("r", matching(matches))]), [expected], "{matches}");
        // What a rule cannot see of itself is not also told as shadowed.
        assert_eq!(lints(&[rule("r", matching(matches)), rule("s", matching("user=u"))]).len(), 1);
    }
    for matches in [
        "client=0.0.0.0/0",
        "client=::/0",
        "kind=read digest=select_1",
        "digest=SELECT_COUNT_(_*_)_FROM_`t`_WHERE_`a`_LIKE_?",
        "kind=read digest=SELECT_COUNT_(_*_)_FROM_`t`",
        "client=10.0.0.0/8",
        "digest=select_*_from_t_join_u_using_(a) table=s.U",
        "digest=select_*_from_s.t table=t",
        "",
    ] {
        assert_eq!(lints(&[rule("r", matching(matches))]), Vec::<String>::new(), "{matches}");
    }
    let mut idle = rule("r", matching(""));
    (idle.cache, idle.continues) = (None, true);
    assert_eq!(lints(&[idle.clone()]), ["rule `r` does nothing: it has no action, and `continue`"]);
    idle.continues = false;
    let below = rule("s", matching("user=u"));
    idle.matches = matching("user=u table=t");
    assert_eq!(
        lints(&[idle.clone(), below]),
        Vec::<String>::new(),
        "an exception from the rules below is no mistake"
    );
    let last = "rule `r` does nothing: it has no action, and there is no rule below it that it might keep off its statements";
    assert_eq!(lints(&[rule("s", matching("user=v")), idle]), [last]);
}

#[test]
fn actions_that_cannot_do_anything_are_told() {
    use weir_model::rule::{LimitRule, Rewrite};
    let with = |change: &dyn Fn(&mut Rule)| {
        let mut rule = rule("r", matching("command=execute"));
        rule.cache = None;
        change(&mut rule);
        lint(&[rule]).iter().map(|lint| lint.kind.as_str()).collect::<Vec<_>>()
    };
    let limit = LimitRule { concurrency: None, rate: None, queue: std::time::Duration::from_secs(1) };
    let rewrite = Rewrite { pattern: "(a)".to_owned(), with: "$1b".to_owned() };
    assert_eq!(with(&|rule| rule.deny = Some("no".to_owned())), [""; 0]);
    assert_eq!(with(&|rule| rule.limit = Some(limit.clone())), ["limits_nothing"]);
    assert_eq!(with(&|rule| rule.rewrite = Some(rewrite.clone())), ["rewrites_execute", "no_such_group"]);
    let both = |rule: &mut Rule| {
        rule.deny = Some("no".to_owned());
        rule.timeout = Some(std::time::Duration::from_secs(1));
    };
    assert_eq!(with(&both), ["denies_and_more"]);
}
