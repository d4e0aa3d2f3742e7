use super::*;
use crate::verbs::fixture::{answer, digest, keys, no_times, times, with};
use serde_json::{Value, json};

fn period(from: u64) -> Value {
    json!({"from": from, "to": from + 120, "covered_seconds": 90.0, "asked_from": from + 20, "asked_to": from + 120})
}

/// Moments are shown in the zone of the machine, which is any.
fn zoneless(text: &str) -> String {
    let words = text.split_inclusive([' ', '\n', ',']);
    let hide = |word: &str| {
        if word.contains(':') && word.starts_with(|c: char| c.is_ascii_digit()) {
            "TIME ".to_owned()
        } else {
            word.to_owned()
        }
    };
    let date = |word: &str| word.starts_with("2023-11-1");
    words.filter(|word| !date(word)).map(hide).collect()
}

#[test]
fn the_table_of_totals() {
    let point = json!({"at": 1_700_000_040, "covered_seconds": 30.0, "statements": 900, "errors": 3, "hits": 60, "misses": 20,
        "bytes_in": 61440, "bytes_out": 614_400, "logins": 2, "server_opened": 1, "cpu_seconds": 1.5, "clients": 12,
        "server_connections": 4, "total": times(900, 0.0025), "server_time": times(800, 0.002)});
    let quiet = json!({"at": 1_700_000_100, "covered_seconds": 60.0, "statements": 0, "errors": 0, "hits": 0, "misses": 0, "bytes_in": 0,
        "bytes_out": 0, "logins": 0, "server_opened": 0, "cpu_seconds": 0.0, "clients": 0, "server_connections": 0,
        "total": no_times(), "server_time": no_times()});
    let state = json!({"file": "history.db", "writing": true, "trouble": null, "why": null, "bytes": 4096});
    let all = json!({"period": period(1_700_000_040), "step_seconds": 60, "points": [point, quiet], "state": state});
    let shown: HistoryShown = answer(all.clone());
    insta::assert_snapshot!("totals", zoneless(&totals(&shown)));
    insta::assert_snapshot!("totals_keys", keys(&shown));
    let full = with(state, json!({"writing": false, "trouble": "full", "why": "the disk is full"}));
    insta::assert_snapshot!(
        "totals_trouble",
        zoneless(&totals(&answer(with(all, json!({"points": [], "state": full})))))
    );
}

#[test]
fn the_tables_of_a_comparison() {
    let counts = |calls: u64, mean: f64| {
        json!({"calls": calls, "calls_per_second": calls as f64 / 90.0, "errors": 0, "hits": 0, "rows_sent": 9, "rows_affected": 0,
            "total": times(calls, mean)})
    };
    let query = with(
        digest(),
        json!({"user": "app", "schema": "blog", "server": "main", "now": counts(90, 0.02), "then": counts(45, 0.01),
            "added_seconds": 0.9, "won_seconds": 0.0, "added_calls": 45, "fewer_calls": 0}),
    );
    let faster = with(
        query.clone(),
        json!({"now": counts(45, 0.014), "then": counts(90, 0.154), "added_seconds": 0.0, "won_seconds": 6.3, "added_calls": 0,
            "fewer_calls": 45}),
    );
    let gone = with(
        query.clone(),
        json!({"now": counts(0, 0.0), "added_seconds": 0.0, "added_calls": 0, "fewer_calls": 40}),
    );
    let list = |rows: u64| json!({"rows": rows, "queries": [query.clone()]});
    let none = json!({"rows": 0, "queries": []});
    let told: Compared = answer(
        json!({"now": period(1_700_000_040), "then": period(1_699_999_920), "new": none, "gone": {"rows": 1, "queries": [gone]},
        "slower": list(1), "faster": {"rows": 1, "queries": [faster]}, "more_often": list(25), "less_often": none, "offset": 0, "unchanged": 3, "others_now": 1, "others_then": 0}),
    );
    insta::assert_snapshot!("compared", zoneless(&compared(&told)));
    insta::assert_snapshot!("compared_keys", keys(&told));
    insta::assert_snapshot!("compared_page", zoneless(&compared(&Compared { offset: 20, ..told })));
}
