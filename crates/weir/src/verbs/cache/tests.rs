use super::*;
use crate::verbs::fixture::{answer, cache_counts, keys, with};
use serde_json::json;

#[test]
fn the_table_of_the_cache() {
    let state = json!({"memory": 1_048_576, "used": 262_144, "max_entry": 65536, "user_memory": 131_072, "users": [{"user": "app", "bytes": 1536}, {"user": "reports", "bytes": 700}], "entries": 2, "past_ttl": {"entries": 1, "bytes": 700}, "flights": 1, "total": cache_counts()});
    let rules = [with(json!({"rule": "stories"}), cache_counts())];
    let told: CacheState = answer(with(state.clone(), json!({"rules": rules})));
    insta::assert_snapshot!("stats", stats(&told));
    insta::assert_snapshot!("stats_no_rules", stats(&answer(with(state, json!({"rules": []})))));
    insta::assert_snapshot!("stats_keys", keys(&told));
}
