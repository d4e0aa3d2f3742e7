use serde_json::json;

use super::*;
use crate::parse_rule;

#[test]
fn a_rule_is_the_same_as_json_and_as_toml() {
    let toml = "name = \"c\"\nmatch = { client = \"10.0.0.0/8\", pattern = '(?i)^a\\s\"\\x00', table = '`a.b`.c', kind = \"read\" }\n\
                cache = { ttl = \"10s\", views = true, verify = \"0.5%\" }\ncontinue = true\n";
    let rule = parse_rule("rule", toml).unwrap_or_else(|report| panic!("{report}"));
    let written = rule_json(&rule);
    let expected = json!({
        "name": "c",
        "match": { "client": "10.0.0.0/8", "pattern": "(?i)^a\\s\"\\x00", "table": "`a.b`.c", "kind": "read" },
        "cache": { "ttl": "10s", "views": true, "verify": "0.5%" },
        "continue": true,
    });
    assert_eq!(written, expected);
    assert_eq!(rule_from_json("rule", &written).ok(), Some(rule));
}

#[test]
fn a_rule_from_json_is_checked() {
    let with_null = json!({ "name": "a", "match": { "user": null }, "cache": null });
    let rule = rule_from_json("rule", &with_null).unwrap_or_else(|report| panic!("{report}"));
    assert_eq!((rule.cache, rule.matches), (None, weir_model::rule::RuleMatch::default()));
    for (value, expected) in [
        (json!([]), "a rule is an object"),
        (json!({ "match": {} }), "`name` is missing"),
        (json!({ "name": "a", "match": { "user": 7 } }), "`user` takes a name in quotes, not a number"),
        (json!({ "name": "a", "match": { "user": [null] } }), "`user` takes a name in quotes, not a list"),
        (json!({ "name": "a", "match": { "user": 1.5e300 } }), "not a fraction"),
        (json!({ "name": "a", "match": {}, "x\ny = 1\n[z]": 1 }), "there is no such key in `[[rule]]`"),
        (json!({ "name": "a", "match": {}, "rewrite": { "pattern": "a" } }), "`with` is missing"),
        (json!({ "name": "a\u{0}", "match": {} }), "control character"),
    ] {
        let report = rule_from_json("rule", &value).map(drop).map_err(|report| report.to_string());
        assert!(report.as_ref().is_err_and(|report| report.contains(expected)), "{value}: {report:?}");
    }
}
