#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

use super::*;
use crate::testing::{matching, rule};

fn list(names: &str) -> RuleList {
    RuleList::new(names.chars().map(|name| rule(&name.to_string(), matching(""))).collect()).unwrap()
}

fn names(list: &RuleList) -> String {
    list.rules().iter().map(|rule| rule.name.as_str()).collect()
}

fn before(name: &str) -> Place {
    Place::Before(name.to_owned())
}

fn after(name: &str) -> Place {
    Place::After(name.to_owned())
}

#[test]
fn rules_are_added_at_a_place() {
    for (place, expected) in [
        (Place::First, "xabc"),
        (Place::Last, "abcx"),
        (before("b"), "axbc"),
        (after("b"), "abxc"),
        (after("c"), "abcx"),
    ] {
        let mut list = list("abc");
        list.add(rule("x", matching("")), &place).unwrap();
        assert_eq!(names(&list), expected);
    }
}

#[test]
fn rules_are_moved_to_a_place() {
    for (name, place, expected) in [
        ("a", Place::First, "abcd"),
        ("a", Place::Last, "bcda"),
        ("a", before("c"), "bacd"),
        ("a", after("c"), "bcad"),
        ("d", Place::First, "dabc"),
        ("d", before("b"), "adbc"),
        ("c", after("a"), "acbd"),
        ("b", after("a"), "abcd"),
    ] {
        let mut list = list("abcd");
        list.move_to(name, &place).unwrap();
        assert_eq!(names(&list), expected, "{name} {place:?}");
    }
}

#[test]
fn rules_are_replaced_and_removed() {
    let mut list = list("abc");
    let old = list.replace("b", rule("x", matching("user=u"))).unwrap();
    assert_eq!((old.name.as_str(), names(&list).as_str()), ("b", "axc"));
    assert_eq!(list.get("x").unwrap().0, 1);
    list.replace("x", rule("x", matching(""))).unwrap();
    assert_eq!(list.remove("a").unwrap().name, "a");
    assert_eq!(names(&list), "xc");
    assert_eq!(list.into_rules().len(), 2);
}

#[test]
fn what_cannot_be_done_changes_nothing() {
    let unknown = || Err(ListError::UnknownName("z".to_owned()));
    let duplicate = || Err(ListError::DuplicateName("a".to_owned()));
    let mut list = list("abc");
    let kept = list.clone();
    let x = || rule("x", matching(""));
    assert_eq!(list.add(rule("a", matching("")), &Place::Last), duplicate());
    assert_eq!(list.add(x(), &before("z")), unknown());
    assert_eq!(list.move_to("z", &Place::First), unknown());
    assert_eq!(list.move_to("a", &after("z")), unknown());
    assert_eq!(list.move_to("a", &after("a")), Err(ListError::BesideItself("a".to_owned())));
    assert_eq!(list.remove("z").map(drop), unknown());
    assert_eq!(list.replace("z", x()).map(drop), unknown());
    assert_eq!(list.replace("b", rule("a", matching(""))).map(drop), duplicate());
    assert_eq!(list, kept);
    assert_eq!(RuleList::new(vec![x(), x()]), Err(ListError::DuplicateName("x".to_owned())));
    let full: Vec<Rule> = (0..MAX_RULES).map(|number| rule(&number.to_string(), matching(""))).collect();
    let mut full = RuleList::new(full).unwrap();
    assert_eq!(full.add(x(), &Place::First), Err(ListError::Full));
}
