use super::*;
use crate::verbs::fixture::{answer, digest, keys, no_times, times, with};
use serde_json::{Value, json};

fn counts() -> Value {
    json!({"calls": 120, "errors": 3, "error_codes": {"1054": 2, "1205": 1}, "rows_sent": 300, "rows_affected": 0,
        "bytes_in": 4096, "bytes_out": 123_456, "hits": 40, "misses": 5, "refused": {"transaction": 2},
        "answered_by_weir": 0, "pins": {"transaction": 4}, "total": times(120, 0.0025), "queue": no_times(),
        "server_time": times(80, 0.002), "saved_seconds": 0.1, "regret_seconds": 1.5, "first_seen": null, "last_seen": null})
}

fn row() -> Value {
    let more = json!({"user": "app", "schema": "blog", "server": "main", "quadrant": "often_fast", "cacheable": true, "sample": null});
    with(with(digest(), more), counts())
}

fn told() -> Value {
    let quadrant = |name: &str, rows: u64| json!({"quadrant": name, "rows": rows, "calls": rows * 120, "total_seconds": 0.3});
    let quadrants = [
        quadrant("often_slow", 0),
        quadrant("often_fast", 1),
        quadrant("seldom_slow", 0),
        quadrant("seldom_fast", 0),
    ];
    json!({"enabled": true, "queries": [row()], "rows": 9, "selected": 7, "offset": 4, "other": counts(), "quadrants": quadrants,
        "evicted": 2, "memory": 65536, "period": null})
}

#[test]
fn tables_of_statements() {
    let queries: Queries = answer(told());
    insta::assert_snapshot!("list", all(&queries, "total"));
    insta::assert_snapshot!("quadrants", by_quadrant(&queries, 5, "total"));
    insta::assert_snapshot!(
        "nothing",
        all(&answer(with(told(), json!({"queries": [], "selected": 0, "offset": 0}))), "total")
    );
    insta::assert_snapshot!("off", all(&answer(with(told(), json!({"enabled": false}))), "total"));
    insta::assert_snapshot!("by_rows", all(&queries, "rows"));
    insta::assert_snapshot!("by_regret", all(&queries, "regret"));
    insta::assert_snapshot!("list_keys", keys(&queries));
    let sampled = with(row(), json!({"sample": "SELECT v FROM stories WHERE id = 7"}));
    let shown: QueryShown = answer(with(digest(), json!({"all": counts(), "rows": [sampled]})));
    insta::assert_snapshot!("one", one(&shown));
    insta::assert_snapshot!("one_keys", keys(&shown));
    insta::assert_snapshot!("one_part", one(&QueryShown { total: 21, offset: 20, ..shown }));
}
