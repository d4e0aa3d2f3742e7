use super::*;
use crate::verbs::fixture::{answer, keys, with};
use serde_json::{Value, json};

fn idle() -> Value {
    json!({"id": 1_073_741_824, "user": "app", "client": "unix", "tls": null, "schema": null, "state": "idle", "state_seconds": 90.0,
        "age_seconds": 7300.0, "commands": 3, "bytes_in": 100, "bytes_out": 2048, "pins": [], "pinned_seconds": null,
        "server": null, "server_connection_id": null, "statement": null})
}

fn busy() -> Value {
    let statement =
        json!({"id": "0123456789abcdef", "digest": "UPDATE `t` SET `v` = ?", "text": "UPDATE t SET v = 7"});
    with(
        idle(),
        json!({"id": 5, "client": "10.0.0.7:40000", "tls": "TLSv1.3", "schema": "blog", "state": "running", "state_seconds": 0.25,
            "pins": ["transaction", "user_variable"], "pinned_seconds": 3.5, "server": "main", "server_connection_id": 77,
            "statement": statement}),
    )
}

#[test]
fn tables_of_sessions() {
    let list = |sessions: &[Value], offset: usize| -> Sessions {
        answer(
            json!({"sessions": sessions, "total": 2, "offset": offset, "not_served": u8::from(offset == 0)}),
        )
    };
    insta::assert_snapshot!("list", all(&list(&[busy(), idle()], 0)));
    insta::assert_snapshot!("list_part", all(&list(&[idle()], 1)));
    insta::assert_snapshot!("list_beyond", all(&list(&[], 9)));
    insta::assert_snapshot!("list_keys", keys(&list(&[busy(), idle()], 0)));
    insta::assert_snapshot!("one_busy", one(&answer(busy())));
    insta::assert_snapshot!("one_idle", one(&answer(idle())));
    insta::assert_snapshot!(
        "one_not_served",
        one(&answer(with(idle(), json!({"not_served": "logged_in_before"}))))
    );
}

#[test]
fn what_a_kill_tells() {
    let told =
        |what: &str, state: &str| -> SessionKilled { answer(json!({"id": 5, "what": what, "state": state})) };
    insta::assert_snapshot!(
        "killed",
        [("connection", "in_transaction"), ("query", "running"), ("query", "idle")]
            .map(|(what, state)| killed(&told(what, state)))
            .concat()
    );
    insta::assert_snapshot!("killed_keys", keys(&told("query", "running")));
}
