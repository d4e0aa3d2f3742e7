//! Rules to which several before them leave nothing, and what digests tell.

use super::*;
use crate::testing::{matching, rule};

/// Rules by what they match and do: `kind=read: cache timeout continue`. They are called `a`, `b`, ...
fn rules(texts: &[&str]) -> Vec<Rule> {
    let one = |(text, name): (&&str, char)| {
        let (matches, does) =
            text.rsplit_once(':').filter(|(_, does)| !does.contains(['/', '='])).unwrap_or((text, "cache"));
        let mut rule = rule(&name.to_string(), matching(matches));
        let does = |word: &str| does.split_whitespace().any(|said| said == word);
        rule.cache = rule.cache.filter(|_| does("cache"));
        rule.deny = does("deny").then(|| "no".to_owned());
        rule.timeout = does("timeout").then_some(std::time::Duration::from_secs(1));
        rule.continues = does("continue");
        rule
    };
    texts.iter().zip('a'..='z').map(one).collect()
}

/// What is told of the last rule: `shadowed a b`, with a `?` where that is so but for what is not read whole. Nothing is told of others.
fn last(texts: &[&str]) -> String {
    let rules = rules(texts);
    let told = lint(&rules);
    assert!(told.len() <= 1 && told.iter().all(|told| told.rule == rules.last().unwrap().name), "{told:?}");
    told.first().map_or_else(String::new, |told| match &told.kind {
        LintKind::Shadowed { by, unread } | LintKind::AddsNothing { by, unread } => {
            let mark = if *unread { "?" } else { "" };
            format!("{}{mark} {}", told.kind.as_str(), by.join(" "))
        }
        kind => kind.as_str().to_owned(),
    })
}

#[test]
fn a_rule_whose_actions_come_from_others_is_told() {
    for (texts, expected) in [
        (&[":cache continue", "user=u"][..], "adds_nothing a"),
        (&[":cache continue", "user=u:cache timeout"], ""),
        (&[":cache continue", ":timeout continue", "user=u:cache timeout"], "adds_nothing a b"),
        (&[":cache timeout continue", "user=v:deny", "user=u:cache timeout"], "adds_nothing a"),
        (&["user=u:cache continue", ""], ""),
        // What is denied is neither cached nor timed.
        (&[":deny continue", "user=u:cache timeout"], "adds_nothing a"),
        (&[":cache continue", "user=u:deny"], ""),
        // One ends the search where the other does not match.
        (
            &[
                "command=query",
                "command=prepare:timeout",
                "command=execute:timeout continue",
                ":cache timeout",
            ],
            "",
        ),
        (
            &["command=query", "command=prepare:timeout", "command=execute:timeout continue", ":timeout"],
            "adds_nothing a b c",
        ),
    ] {
        assert_eq!(last(texts), expected, "{texts:?}");
    }
}

#[test]
fn a_rule_that_keeps_another_off_is_not() {
    let told = |texts: &[&str]| lint(&rules(texts)).len();
    // `b` is an exception from the timeout of `c`.
    assert_eq!(told(&[":cache continue", "user=u", ":timeout"]), 0);
    assert_eq!(told(&[":cache continue", "user=u:cache continue", ":timeout"]), 1);
    // What `c` could do comes from `a`.
    assert_eq!(told(&[":cache timeout continue", "user=u", "user=v:timeout"]), 2);
    assert_eq!(told(&[":cache timeout continue", "user=u:", "user=v:timeout deny"]), 1);
}

#[test]
fn rules_that_leave_nothing_together_are_told() {
    let commands = ["command=query", "command=prepare:timeout", "command=execute"];
    let kinds: Vec<String> =
        RuleKind::ALL.iter().map(|kind| format!("kind={}:timeout", kind.as_str())).collect();
    let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
    let with = |before: &[&str], later: &str| last(&[before, &[later]].concat());
    assert_eq!(with(&commands, "user=u"), "shadowed a b c");
    assert_eq!(with(&commands[1..], "user=u"), "");
    assert_eq!(with(&commands[1..], "command=execute"), "shadowed b");
    assert_eq!(with(&kinds, "table=t"), "shadowed a b c d e f g h i j k l m n");
    assert_eq!(with(&kinds[1..], "table=t"), "");
    assert_eq!(with(&kinds, "kind=read"), "shadowed a");
    for (texts, expected) in [
        (&["client=10.0.0.0/9", "client=10.128.0.0/9", "client=10.0.0.0/8"][..], "shadowed a b"),
        (&["client=10.0.0.0/9", "client=10.128.0.0/9", "client=10.127.0.0/16"], "shadowed a"),
        (&["client=10.0.0.0/9", "client=10.128.0.0/10", "client=10.0.0.0/8"], ""),
        (
            &["client=10.0.0.0/9", "client=10.128.0.0/10", "client=10.192.0.0/10", "client=10.0.0.0/8"],
            "shadowed a b c",
        ),
        (&["client=10.0.0.0/9", "client=10.128.0.0/9 user=u", "client=10.0.0.0/8"], ""),
        (&["client=10.0.0.0/9", "client=10.128.0.0/9 user=u", "client=10.0.0.0/8 user=u"], "shadowed a b"),
        (&["client=fd00::/9", "client=fd80::/9", "client=fd00::/8"], "shadowed a b"),
        // A client of a unix socket has no address.
        (&["client=0.0.0.0/0", "client=::/0", "user=u"], ""),
        (
            &[
                "client=10.0.0.0/9 command=query",
                "command=prepare:timeout",
                "command=execute",
                "client=10.0.0.0/8",
            ],
            "",
        ),
        (
            &[
                "client=10.0.0.0/9 command=query",
                "client=10.128.0.0/9 command=query",
                "command=prepare:timeout",
                "command=execute",
                "client=10.0.0.0/8",
            ],
            "shadowed a b c d",
        ),
    ] {
        assert_eq!(last(texts), expected, "{texts:?}");
    }
}

#[test]
fn what_a_digest_tells_of_its_statements_counts() {
    for (first, digest, expected) in [
        ("kind=read", "select_2", "shadowed? a"),
        ("kind=write:timeout", "select_2", ""),
        ("table=t", "select_*_from_t_where_a_in_(1,2)", "shadowed? a"),
        ("table=t", "SELECT_*_FROM_`t`_WHERE_`a`_IN_(...)", "shadowed? a"),
        ("table=t", "SELECT_COUNT_(_*_)_FROM_`t`", "shadowed? a"),
        ("table=t", "select_*_from_s.T,_u", "shadowed? a"),
        ("table=s.t", "select_*_from_S.t", "shadowed? a"),
        ("table=s.t", "select_*_from_t schema=s", "shadowed? a"),
        ("table=s.t", "select_*_from_t", ""),
        ("table=s.t", "select_*_from_t schema=x", ""),
        ("table=s.t", "select_*_from_x.t schema=s", ""),
        ("table=u", "select_*_from_t", ""),
        ("table=t user=v", "select_*_from_t", ""),
        ("table=t command=query", "select_*_from_t", ""),
        // No table is read by that name.
        ("table=t", "with_t_as_(select_1)_select_*_from_t", ""),
        ("table=d", "select_extract(year_from_d)_from_t", ""),
        ("table=d", "SELECT_EXTRACT_(_YEAR_FROM_`d`_)_FROM_`t`", ""),
        // On some servers only.
        ("table=u", "select_*_from_t_/*!50000_,_u_*/", ""),
        ("kind=read", "select_1_/*!50000_for_update_*/", ""),
        // Literals may tell how the second one is read.
        ("kind=read", "select_1;_select_2", ""),
    ] {
        assert_eq!(last(&[first, &format!("digest={digest}")]), expected, "{first} | {digest}");
    }
    for (first, digest, expected) in [
        ("table=t", "update_t_set_a_=_1", "shadowed? a"),
        ("table=t", "insert_into_t_values_(1),_(2)", "shadowed? a"),
        ("table=t", "INSERT_INTO_`t`_VALUES_(...)_/*_,_..._*/", "shadowed? a"),
        ("table=u", "insert_into_t_select_*_from_u", ""),
        ("table=u", "update_t,_(select_*_from_u)_d_set_a_=_1", ""),
    ] {
        let later = format!("digest={digest}:timeout");
        assert_eq!(last(&[first, &later]), expected, "{first} | {digest}");
    }
}

#[test]
fn what_is_denied_where_not_all_is_known_is_told_as_that() {
    for (first, later, expected) in [
        ("user=u", "user=u:deny", "shadowed a"),
        ("kind=read", "kind=read:deny", "shadowed? a"),
        ("schema=s", "schema=s:deny", "shadowed? a"),
        ("table=t", "table=t:deny", "shadowed? a"),
        ("table=t:deny", "table=t:deny", "shadowed a"),
        ("schema=s:deny continue", "schema=s:deny", "adds_nothing a"),
        ("schema=s:deny", "schema=s", "shadowed a"),
    ] {
        assert_eq!(last(&[first, later]), expected, "{first} | {later}");
    }
}

#[test]
fn a_digest_that_its_rule_excludes_is_told() {
    let told = |matches: &str| last(&[&format!("{matches}:timeout")]);
    for (matches, expected) in [
        ("digest=update_t_set_a_=_1 table=u", "digest_of_other_tables"),
        ("digest=insert_into_s.t_values_(1),_(2) table=x.t", "digest_of_other_tables"),
        ("digest=delete_t_from_t_join_u_using_(a) table=v", "digest_of_other_tables"),
        ("digest=update_t_join_u_on_t.a_=_u.a_set_t.a_=_1 table=u", ""),
        ("digest=insert_into_t_select_*_from_u table=t", ""),
        // It is not known what stands within parentheses.
        ("digest=update_t,_(select_1)_d_set_a_=_1 table=u", ""),
        ("digest=call_p() table=u", ""),
        ("digest=update_t_set_a_=_1 pattern=(?i)^select", "digest_against_pattern"),
        ("digest=update_t_set_a_=_1 pattern=(?i)^update", ""),
        ("digest=update_t_set_a_=_1 pattern=select", ""),
        ("digest=(select_1) pattern=^update", ""),
        ("digest=select_1 kind=other", ""),
        ("digest=select_1 kind=set", "digest_of_another_kind"),
    ] {
        assert_eq!(told(matches), expected, "{matches}");
    }
}

#[test]
fn a_warning_names_the_rules_and_says_what_to_do() {
    for (texts, expected) in [
        (
            &["kind=read", "digest=select_1"][..],
            "rule `b` is reached only by statements that Weir cannot read whole: rule `a` before it matches all others that it \
             matches, and decides; put it before that one",
        ),
        (
            &["client=10.0.0.0/9", "client=10.128.0.0/9", "client=10.0.0.0/8"],
            "rule `c` is never reached: rules `a` and `b` before it together match all that it matches, and decide; put it before \
             them, or remove it",
        ),
        (
            &[":cache continue", "user=u"],
            "rule `b` adds nothing: rule `a` before it matches what it matches, and what that rule does comes first; put it before \
             that one, or remove it",
        ),
        (
            &[
                "user=u:cache continue",
                "table=t:timeout continue",
                "user=u digest=select_*_from_t:cache timeout",
            ],
            "rule `c` adds nothing, but for statements that Weir cannot read whole: rules `a` and `b` before it together match what \
             it matches, and what these rules do comes first; put it before them",
        ),
    ] {
        assert_eq!(lints(&rules(texts)), [expected]);
    }
    let names: Vec<String> = "abcdefgh".chars().map(String::from).collect();
    assert_eq!(named(&names[..3]), "rules `a`, `b` and `c`");
    assert_eq!(named(&names), "rules `a`, `b`, `c`, `d`, `e` and 3 more");
}
