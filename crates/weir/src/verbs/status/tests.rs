use super::*;
use crate::verbs::fixture::{answer, keys, with};
use serde_json::{Value, json};

fn well() -> Value {
    json!({"version": "1.2.3", "started": 1_700_000_000, "uptime_seconds": 9000.0, "config_file": "/etc/weir/weir.toml", "draining": false,
        "server": {"name": "main", "address": "127.0.0.1:3306", "family": "mysql", "version": "9.7.0", "reachable": true, "error": null},
        "clients": {"connected": 12, "limit": 1000, "logging_in": 1, "waiting": 2, "running": 3, "in_transaction": 4, "pinned": 5, "not_served": 2},
        "connections": {"open": 20, "limit": 100, "in_use": 8, "idle": 12, "pinned": 5, "waiting": 0},
        "traffic": {"seconds": 10.0, "statements_per_second": 1234.5, "errors_per_second": 0.1, "bytes_in_per_second": 2048.0,
            "bytes_out_per_second": 1_048_576.0, "hit_ratio": 0.75},
        "cache": {"memory": 268_435_456, "used": 1_572_864, "entries": 321, "hit_ratio": 0.5},
        "process": {"resident_bytes": 33_554_432, "cpu_seconds": 12.5, "open_files": 60, "max_files": 1024, "threads": 4},
        "rules": 7, "last_reload": null, "warnings": [], "suggestions": []})
}

/// What lies ahead is shown as now, on any day.
const A_CLOCK_AHEAD: u64 = 9_000_000_000;

fn unwell() -> Value {
    let server = json!({"name": "main", "address": "127.0.0.1:3306", "family": null, "version": null, "reachable": false,
        "error": "connection refused"});
    let process = json!({"resident_bytes": null, "cpu_seconds": null, "open_files": null, "max_files": null, "threads": null});
    let warning = json!({"warning": "server_unreachable", "text": "main cannot be reached", "advice": "look whether it runs"});
    with(
        well(),
        json!({"config_file": null, "draining": true, "server": server, "process": process, "warnings": [warning],
            "suggestions": [{"suggestion": "cache_rules", "text": "the cache advisor suggests 2 rules", "advice": "`weir advise cache` shows them"}],
            "last_reload": {"at": A_CLOCK_AHEAD, "applied": false, "said": ["weir.toml:3: unknown key", "and another"]}}),
    )
}

#[test]
fn the_screen() {
    insta::assert_snapshot!("well", show(&answer(well())));
    let quiet = json!({"traffic": with(well()["traffic"].clone(), json!({"hit_ratio": null}))});
    insta::assert_snapshot!("quiet", show(&answer(with(well(), quiet))));
    let cache =
        with(well()["cache"].clone(), json!({"hit_ratio": null, "shadow_seen": 400, "shadow_hits": 300}));
    let traffic = with(well()["traffic"].clone(), json!({"hit_ratio": null}));
    let shadow = json!({"traffic": traffic, "cache": cache, "shadow_rules": 2});
    insta::assert_snapshot!("shadow", show(&answer(with(well(), shadow))));
    insta::assert_snapshot!("unwell", show(&answer(unwell())));
    insta::assert_snapshot!("keys", keys(&answer::<Status>(unwell())));
}
