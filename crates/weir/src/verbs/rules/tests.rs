use super::*;
use crate::verbs::fixture::{keys, times, with};
use serde_json::json;

fn table() -> RuleTable {
    let cache = json!({
        "entries": 2, "bytes": 1536, "hits": 90, "misses": 8, "waits": 2, "hit_ratio": 0.9, "saved_seconds": 1.25, "hit_bytes": 70000,
        "fills": 9, "evicted": 1, "expired": 2, "replaced": 1, "wiped": 3, "refreshes": 0, "stale_served": 0, "verified": 10, "mismatched": 1,
        "shadow_seen": 0, "shadow_hits": 0, "shadow_stale": 0, "shadow_saved_seconds": 0.0,
        "stale_ages": [{"up_to_seconds": 1.0, "answers": 1}],
        "refused": {"nondeterministic_function": 4, "transaction": 1}, "dropped": {"too_large": 2}
    });
    let rule = |name: &str, at: usize, rule: Value, cache: Value, warnings: &[&str]| {
        json!({"name": name, "position": at, "rule": rule, "toml": format!("[[rule]]\nname = \"{name}\"\n"), "hits": at * 100,
            "last_hit": null, "time_seconds": 0.5 * at as f64, "warnings": warnings, "cache": cache, "not_served": 2 - at})
    };
    let stories = json!({"name": "stories", "match": {"table": "blog.stories"}, "cache": {"ttl": "30s"}});
    let slow = json!({"name": "slow", "match": {}, "limit": {"concurrent": 5}, "timeout": "10s"});
    let rules = [
        rule("stories", 1, stories, cache, &[]),
        rule("slow", 2, slow, Value::Null, &["rule `slow` is never reached"]),
    ];
    serde_json::from_value(
        json!({"rules": rules, "total": 2, "offset": 0, "version": "7", "file": null, "not_served": 3}),
    )
    .unwrap()
}

fn effect() -> Value {
    let mean = |count: u64, mean: f64| json!({"count": count, "sum_seconds": count as f64 * mean, "mean_seconds": mean});
    let counts = |calls: u64, hits: u64, time: f64| {
        json!({"calls": calls, "hits": hits, "misses": 3, "total": times(calls, time), "without_server": mean(hits, 0.0001),
            "with_server": mean(calls - hits, 0.151), "server_time": mean(calls - hits, 0.150), "saved_seconds": hits as f64 * 0.15})
    };
    // Later than any day on which this runs, so that each tells the same of it.
    json!({"since": 4_102_444_800u64, "before": counts(40, 0, 0.154), "now": counts(100, 91, 0.0137)})
}

#[test]
fn tables_of_rules() {
    let part = |offset| RuleTable {
        rules: table().rules.into_iter().skip(offset).take(1).collect(),
        offset,
        ..table()
    };
    insta::assert_snapshot!("list", list(&table()));
    insta::assert_snapshot!("list_part", list(&part(1)));
    insta::assert_snapshot!("list_beyond", list(&part(7)));
    insta::assert_snapshot!("one", one(&table().rules[0]));
    let helped: RuleState =
        serde_json::from_value(with(json!(table().rules[0]), json!({"effect": effect()}))).unwrap();
    insta::assert_snapshot!("one_effect", one(&helped));
    insta::assert_snapshot!("one_keys", keys(&helped));
    let mut unknown = helped;
    unknown.effect.as_mut().unwrap().before = None;
    insta::assert_snapshot!("one_effect_unknown", one(&unknown));
    let done = json!({"rule": "stories", "position": 1, "file": "weir.toml", "warnings": ["rule `slow` is never reached"], "not_served": 12});
    insta::assert_snapshot!("changed", changed("added", &serde_json::from_value(done).unwrap()));
}

#[test]
fn an_error_in_a_file_names_the_file() {
    let report = weir_config::parse_rule("the rule", "nam = \"a\"\n").unwrap_err().to_string();
    let refused = |code| anyhow::Error::new(Refused(weir_admin::ApiError::new(code, report.clone())));
    let said = about(Some("r1.toml".to_owned()), refused(Code::BadRule)).to_string();
    assert!(said.contains("--> r1.toml:1:1") && said.contains("\nr1.toml: "), "{said}");
    assert!(!said.contains("the rule:") && !said.starts_with("error: "), "{said}");
    assert!(about(None, refused(Code::BadRule)).to_string().contains("--> the rule:1:1"));
}
