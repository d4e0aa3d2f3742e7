use super::*;
use crate::verbs::fixture::{answer, keys, with};
use serde_json::json;

#[test]
fn the_tables_about_pins() {
    let reason = json!({"reason": "user_variable", "times": 12, "seconds": 340.0, "sessions_now": 2, "advice": "do not set @variables"});
    let statement = json!({"id": "0123456789abcdef", "digest": "SET @`a` = ?", "user": "app", "schema": "blog",
        "times": {"user_variable": 12}, "seconds": {"user_variable": 340.0, "transaction": 1.0}, "kept_seconds": 340.0,
        "connections": 0.57});
    let user = json!({"user": "app", "kept_seconds": 340.0, "connections": 0.57, "sessions_now": 2, "reason": "user_variable"});
    let all = json!({"enabled": true, "observed_seconds": 600.0, "connections": 0.57, "sessions_now": 2, "reasons": [reason],
        "statements": [statement], "users": [user]});
    let advice: PinAdvice = answer(all.clone());
    insta::assert_snapshot!("pins", pins(&advice));
    insta::assert_snapshot!(
        "pins_off",
        pins(&answer(with(all.clone(), json!({"enabled": false, "statements": []}))))
    );
    insta::assert_snapshot!("pins_none", pins(&answer(with(all, json!({"reasons": []})))));
    insta::assert_snapshot!("pins_keys", keys(&advice));
}
