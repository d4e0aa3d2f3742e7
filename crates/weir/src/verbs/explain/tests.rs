use super::*;
use crate::verbs::fixture::{answer, keys, with};
use serde_json::{Value, json};

fn rules() -> Value {
    json!([
        {"rule": "slow", "outcome": "no_match", "mismatches": ["user", "schema"], "adds": []},
        {"rule": "note", "outcome": "continues", "mismatches": [], "adds": ["timeout"]},
        {"rule": "stories", "outcome": "decides", "mismatches": [], "adds": ["cache"]},
        {"rule": "last", "outcome": "not_reached", "mismatches": [], "adds": []}
    ])
}

fn actions() -> Value {
    json!([{"action": "timeout", "rule": "note", "detail": "10s"}, {"action": "cache", "rule": "stories", "detail": ""}])
}

fn told() -> Value {
    json!({"digest": {"id": "0123456789abcdef", "text": "SELECT `v` FROM `stories`"},
        "facts": {"kind": "read", "read_only": true, "cacheable": true, "not_cacheable": null, "reads": ["blog.stories"], "writes": [],
            "functions": [], "pins": [], "hints": ["tag=x"], "read_as": "mysql 9.7"},
        "rules": rules(), "actions": actions(),
        "cache": {"verdict": "serve", "refusal": null, "why": "rule `stories` caches it", "rule": "stories", "terms": "ttl = \"30s\"",
            "stored": {"entries": 1, "bytes": 1536}, "provided": ["the session is in no transaction", "the schema is known"], "not_served": 1},
        "key": [{"part": "user", "value": "app"}, {"part": "schema", "value": "blog"}],
        "route": {"server": "main", "address": "127.0.0.1:3306", "trouble": null, "sharing": "transaction"}})
}

#[test]
fn what_is_told_of_a_statement() {
    let explained: Explanation = answer(told());
    insta::assert_snapshot!("cached", show(&explained));
    insta::assert_snapshot!("keys", keys(&explained));
    let facts = with(
        told()["facts"].clone(),
        json!({"read_only": false, "cacheable": false, "not_cacheable": "it writes"}),
    );
    let cache = with(
        told()["cache"].clone(),
        json!({"verdict": "refuse", "refusal": "not_cacheable", "why": "it writes", "rule": null,
        "terms": null, "stored": {"entries": 0, "bytes": 0}, "provided": [], "not_served": 0}),
    );
    let route = with(told()["route"].clone(), json!({"trouble": "connection refused"}));
    let refused =
        json!({"facts": facts, "cache": cache, "route": route, "key": [], "actions": [], "rules": []});
    insta::assert_snapshot!("refused", show(&answer(with(told(), refused))));
}

#[test]
fn what_a_test_of_rules_tells() {
    let told: Tested = answer(
        json!({"digest": told()["digest"], "decides": "stories", "actions": actions(), "tried": rules()}),
    );
    insta::assert_snapshot!("tested", tested(&told));
    insta::assert_snapshot!("tested_keys", keys(&told));
}
