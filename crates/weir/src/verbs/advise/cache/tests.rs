use super::*;
use crate::verbs::fixture::{answer, digest, keys, with};
use serde_json::{Value, json};

fn predicted(ttl: &str, seconds: f64) -> Value {
    json!({"ttl": ttl, "ttl_seconds": seconds, "hits": 80.0, "hit_ratio": 0.8, "saved_seconds": seconds / 10.0, "stale_ratio": 0.005, "own_writes_ratio": 0.01,
        "outdated_ratio": 0.1, "entries": 12.0, "bytes": 4096.0})
}

fn advised(more: Value) -> Value {
    let all = json!({"user": "app", "schema": "blog", "cached_by": null, "calls": 100, "server_seconds": 2.5, "unchanged_seconds": 2.0,
        "seconds": 600.0, "keys": 20, "one_of": 1, "best": predicted("10s", 10.0), "command": "weir rules add stories --ttl 10s",
        "ladder": [predicted("1s", 1.0), predicted("10s", 10.0)]});
    with(with(digest(), all), more)
}

#[test]
fn the_tables_about_what_to_cache() {
    let cached = advised(json!({"cached_by": "stories", "best": null, "command": null}));
    let shadow = advised(json!({"cached_by": "tried", "mode": "shadow"}));
    let none = advised(json!({"best": null, "command": null, "one_of": 8, "not_worth": "stale"}));
    let seldom = with(predicted("1h", 3600.0), json!({"hit_ratio": 0.025, "own_writes_ratio": 0.75}));
    let seldom =
        advised(json!({"best": seldom, "not_worth": "seldom_hit", "command": "weir rules add seldom"}));
    let advice: CacheAdvice = answer(
        json!({"enabled": true, "statements": [advised(json!({})), cached, shadow.clone(), none.clone()], "left_out": 2, "least_seconds": 0.5, "least_hit_ratio": 0.1, "server_seconds": 50.0,
            "observed_seconds": 120.0, "watched": 3, "memory": 4096}),
    );
    insta::assert_snapshot!("list", all(&advice));
    insta::assert_snapshot!("list_keys", keys(&advice));
    insta::assert_snapshot!(
        "nothing",
        all(&answer(json!({"enabled": true, "statements": [], "watched": 0, "memory": 0})))
    );
    let little = json!({"enabled": true, "statements": [], "left_out": 1, "least_seconds": 0.5, "least_hit_ratio": 0.1, "server_seconds": 50.0,
        "observed_seconds": 120.0, "watched": 1, "memory": 0});
    insta::assert_snapshot!("little", all(&answer(little)));
    let every = json!({"enabled": true, "statements": [advised(json!({})), none.clone(), seldom.clone()], "watched": 3, "memory": 0});
    insta::assert_snapshot!("every", all(&answer(every)));
    insta::assert_snapshot!("one_seldom", one(&answer(json!({"all": seldom, "rows": []}))));
    let shown: AdvisedShown = answer(json!({"all": advised(json!({})), "rows": [advised(json!({})), none]}));
    insta::assert_snapshot!("one", one(&shown));
    insta::assert_snapshot!("one_keys", keys(&shown));
    insta::assert_snapshot!("one_shadow", one(&answer(json!({"all": shadow, "rows": []}))));
}
