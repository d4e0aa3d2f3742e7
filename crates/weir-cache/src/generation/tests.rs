use super::*;
use crate::rule::Rule;

#[test]
fn only_what_was_wiped_since_and_covers_it_counts() {
    let budget = Budget::new(0);
    let generations = Generations::new(&budget);
    let scope = Scope::new(Rule::new("a"), 1, "u");
    let before = generations.now();
    assert!(!generations.wiped(before, &scope));
    generations.record(Selector::all().rule("b"));
    assert!(!generations.wiped(before, &scope));
    generations.record(Selector::all().rule("a"));
    let after = generations.now();
    assert!(generations.wiped(before, &scope));
    assert!(!generations.wiped(after, &scope));
    generations.record(Selector::all().rule("b"));
    assert!(!generations.wiped(after, &scope));
}

#[test]
fn what_is_forgotten_counts_as_wiped_and_the_list_is_bounded() {
    let budget = Budget::new(0);
    let generations = Generations::new(&budget);
    let scope = Scope::new(Rule::new("a"), 1, "u");
    let before = generations.now();
    let mut full = 0;
    for n in 0..REMEMBERED {
        generations.record(Selector::all().rule("b"));
        assert!(!generations.wiped(before, &scope), "after {n}");
        full = budget.used();
    }
    generations.record(Selector::all().rule("b"));
    assert!(generations.wiped(before, &scope));
    assert!(!generations.wiped(generations.now(), &scope));
    assert_eq!(budget.used(), full);
}
