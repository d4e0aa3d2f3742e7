use crate::statement::Connection;
use crate::testing::{compiled, matching, rule};
use weir_model::rule::{Rule, RuleCommand, RuleKind};

fn denies(rules: &[(&str, bool, bool)], kind: Option<RuleKind>) -> Option<u32> {
    let rules: Vec<Rule> = rules
        .iter()
        .enumerate()
        .map(|(number, (matches, deny, continues))| {
            let mut rule = rule(&format!("r{number}"), matching(matches));
            rule.deny = deny.then(|| "no".to_owned());
            rule.continues = *continues;
            rule
        })
        .collect();
    let connection = Connection { user: b"app", schema: None, schema_unknown: true, client_ip: None };
    compiled(&rules).may_deny(kind, RuleCommand::Query, &connection).map(|rule| rule.0)
}

#[test]
fn what_is_not_known_may_be_what_is_denied() {
    let read = Some(RuleKind::Read);
    for (rules, kind, expected) in [
        (&[("pattern=drop", true, false)][..], read, Some(0)),
        (&[("table=t", true, false)], read, Some(0)),
        (&[("schema=s", true, false)], read, Some(0)),
        (&[("kind=ddl", true, false)], read, None),
        (&[("kind=ddl", true, false)], None, Some(0)),
        (&[("user=root", true, false)], None, None),
        (&[("command=execute", true, false)], None, None),
        (&[("pattern=drop", false, false)], read, None),
        // What surely matches before it decides; what only may does not.
        (&[("user=app", false, false), ("table=t", true, false)], read, None),
        (&[("user=app", false, true), ("table=t", true, false)], read, Some(1)),
        (&[("pattern=a", false, false), ("table=t", true, false)], read, Some(1)),
        (&[("kind=read", false, false), ("table=t", true, false)], read, None),
        (&[("kind=read", false, false), ("table=t", true, false)], None, Some(1)),
    ] {
        assert_eq!(denies(rules, kind), expected, "{rules:?} {kind:?}");
    }
}
