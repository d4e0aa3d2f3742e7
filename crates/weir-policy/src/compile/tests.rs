use super::*;
use crate::testing::{compiled, matching, mode, rule};

fn refused(rules: &[Rule]) -> Vec<String> {
    let errors = RuleSet::compile(rules, 1, mode()).err().unwrap_or_default();
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn a_bad_rule_is_named_and_the_set_does_not_come_to_be() {
    let good = rule("good", matching("pattern=a"));
    let large = rule("large", matching("pattern=((a{100}){100}){100}"));
    let bad = rule("bad", matching("pattern=(a"));
    let errors = refused(&[good.clone(), large, good.clone(), bad]);
    assert_eq!(errors.len(), 3, "{errors:?}");
    assert_eq!(errors[0], "rule good: there is already a rule of this name");
    assert!(errors[1].starts_with("rule large: `match.pattern` is too large when compiled"), "{errors:?}");
    assert!(errors[2].starts_with("rule bad: `match.pattern` is not a regular expression"), "{errors:?}");
    let mut rewriting = good;
    rewriting.rewrite = Some(weir_model::rule::Rewrite { pattern: "(?=a)".to_owned(), with: String::new() });
    assert!(refused(&[rewriting])[0].contains("`rewrite.pattern`"));
}

#[test]
fn the_rule_with_which_patterns_become_too_large_is_named() {
    let rules: Vec<Rule> = (0..20)
        .map(|number| rule(&number.to_string(), matching(&format!("table=t pattern=({number}[a-z]{{100}})"))))
        .collect();
    let limited = |rules: &[Rule]| errors(rules, 64 << 10);
    let all = limited(&rules);
    let [RuleError::PatternsTooLarge(name)] = &all[..] else { panic!("{all:?}") };
    let first: usize = name.parse().unwrap_or_default();
    assert!((1..20).contains(&first), "{all:?}");
    assert_eq!(limited(&rules[..first]), []);
    assert_eq!(limited(&rules[..=first]), all);
    assert_eq!(errors(&rules, MAX_PATTERNS_BYTES), []);
}

#[test]
fn too_many_rules_are_refused() {
    let rules: Vec<Rule> =
        (0..=MAX_RULES).map(|number| rule(&number.to_string(), matching("kind=ddl"))).collect();
    assert_eq!(refused(&rules), ["there are 10001 rules, and 10000 are allowed"]);
    assert!(refused(&rules[1..]).is_empty());
}

#[test]
fn rules_are_found_by_name_and_index() {
    let rules = compiled(&[rule("a", matching("")), rule("b", matching("user=u"))]);
    assert_eq!((rules.find("b"), rules.find("c")), (Some(RuleIndex(1)), None));
    assert_eq!(rules.rule(RuleIndex(1)).map(|rule| rule.name.as_str()), Some("b"));
    assert!(rules.cache(RuleIndex(0)).is_some());
    assert_eq!((rules.rule(RuleIndex(2)), rules.rules().len(), rules.generation()), (None, 2, 1));
}
