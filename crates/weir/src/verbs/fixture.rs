//! What tests of the tables begin with: answers of the API that do not change.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// An answer as the API sends it.
pub fn answer<T: DeserializeOwned>(json: Value) -> T {
    serde_json::from_value(json).unwrap()
}

/// Every key that `--json` prints of an answer, with its path. Who reads it in a script relies on each.
pub fn keys(answer: &impl Serialize) -> String {
    let mut found = BTreeSet::new();
    collect("", &serde_json::to_value(answer).unwrap(), &mut found);
    found.into_iter().collect::<Vec<_>>().join("\n")
}

fn collect(at: &str, value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let path = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
                found.insert(path.clone());
                collect(&path, value, found);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| collect(&format!("{at}[]"), value, found)),
        _ => {}
    }
}

/// `first` with the keys of `second` put in or over.
pub fn with(mut first: Value, second: Value) -> Value {
    if let (Value::Object(into), Value::Object(more)) = (&mut first, second) {
        into.extend(more);
    }
    first
}

pub fn times(count: u64, mean: f64) -> Value {
    json!({"count": count, "sum_seconds": count as f64 * mean, "mean_seconds": mean, "p50_seconds": mean, "p95_seconds": mean * 2.0,
        "p99_seconds": mean * 4.0})
}

/// Nothing was counted.
pub fn no_times() -> Value {
    json!({"count": 0, "sum_seconds": 0.0, "mean_seconds": null, "p50_seconds": null, "p95_seconds": null, "p99_seconds": null})
}

pub fn digest() -> Value {
    json!({"id": "0123456789abcdef", "digest": "SELECT `v` FROM `stories` WHERE `id` = ?", "digest_cut": false})
}

pub fn cache_counts() -> Value {
    json!({"entries": 2, "bytes": 1536, "hits": 90, "misses": 8, "waits": 2, "hit_ratio": 0.9, "saved_seconds": 1.25, "hit_bytes": 70000,
        "fills": 9, "evicted": 1, "expired": 2, "replaced": 1, "wiped": 3, "refreshes": 0, "stale_served": 0, "verified": 10, "mismatched": 1,
        "shadow_seen": 0, "shadow_hits": 0, "shadow_stale": 0, "shadow_saved_seconds": 0.0,
        "stale_ages": [{"up_to_seconds": 1.0, "answers": 1}], "stale_age_seconds": 0.5,
        "refused": {"nondeterministic_function": 4, "transaction": 1}, "dropped": {"too_large": 2}})
}
