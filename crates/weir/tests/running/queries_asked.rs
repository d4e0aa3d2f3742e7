//! Which rows of the statistics are shown, in which order, and what is added up.

use serde_json::{Value, json};

use crate::api_kit::*;
use crate::cache_kit::*;
use crate::kit::*;
use crate::queries::{POINT, SESSION, counted, row_of};
use crate::sharing_kit::*;

#[tokio::test]
async fn what_is_asked_for_is_shown() {
    let server = server(Flavor::MariaDb);
    table(&server, "qu_asked").await;
    let weir = sharing(&server, 4, SESSION, "");
    let [mut client] = clients(&weir, "qu_asked").await;
    for _ in 0..5 {
        client.run("SELECT v FROM t WHERE id=1").await.unwrap();
    }
    client.run("SELECT COUNT(*) FROM t").await.unwrap();
    client.run("SELECT SLEEP(0.05)").await.unwrap();
    // The same in another schema, and one whose answer is another each time.
    table(&server, "qu_asked_too").await;
    let [mut other] = clients(&weir, "qu_asked_too").await;
    other.run("SELECT v FROM t WHERE id=1").await.unwrap();
    for time in 0..3 {
        change(&server, &format!("UPDATE qu_asked_too.t SET v='time {time}'")).await;
        other.run("SELECT id, v FROM t WHERE id=2").await.unwrap();
    }
    for session in [&mut client, &mut other] {
        counted(session).await;
    }
    let of = |row: &Value, figure: &str| row.pointer(figure).and_then(Value::as_f64).unwrap();
    for (sort, figure) in [
        ("calls", "/calls"),
        ("total", "/total/sum_seconds"),
        ("mean", "/total/mean_seconds"),
        ("p99", "/total/p99_seconds"),
        ("saved", "/saved_seconds"),
        ("regret", "/regret_seconds"),
        ("errors", "/errors"),
        ("rows", "/rows_sent"),
    ] {
        let told = told_json(&weir, &["queries", "--sort", sort, "--schema", "qu_asked"]);
        let rows = told["queries"].as_array().unwrap();
        assert_eq!(rows.len(), 3, "{rows:#?}");
        assert!(rows.is_sorted_by(|a, b| of(a, figure) >= of(b, figure)), "{sort}: {rows:#?}");
    }
    assert!(told_json(&weir, &["queries", "--user", "nobody"])["queries"].as_array().unwrap().is_empty());
    let here = told_json(&weir, &["queries", "--schema", "qu_asked"])["queries"].clone();
    let here = here.as_array().unwrap();
    let (point, sleep) = (row_of(here, POINT), row_of(here, "SELECT `SLEEP` (?)"));
    assert_eq!(sleep["quadrant"], "seldom_slow");
    assert!(point["quadrant"].as_str().unwrap().starts_with("often_"), "{point:#}");
    let (regret, all) = (of(&point, "/regret_seconds"), of(&point, "/server_time/sum_seconds"));
    assert!(regret > 0.0 && regret < all, "the first answer had to come from the server: {regret} of {all}");
    assert_eq!(sleep["regret_seconds"], 0.0, "its text speaks against it");
    let there = told_json(&weir, &["queries", "--schema", "qu_asked_too"])["queries"].clone();
    let changing = row_of(there.as_array().unwrap(), "SELECT `id` , `v` FROM `t` WHERE `id` = ?");
    assert_eq!((&changing["calls"], &changing["regret_seconds"]), (&json!(3), &json!(0.0)));
    // By digest alone, whoever has sent it.
    let by_digest = told_json(&weir, &["queries", "--by", "digest", "--sort", "calls", "--user", "app"]);
    let row = row_of(by_digest["queries"].as_array().unwrap(), POINT);
    let together = json!({"rows": 2, "users": 1, "schemas": 2, "servers": 1});
    assert_eq!((&row["calls"], &row["together"]), (&json!(6), &together));
    assert_eq!((&row["user"], &row["schema"]), (&json!("app"), &json!("")));
    assert_eq!(row["total"]["count"], 6);
    let text = told(&weir, &["queries", "--by", "digest", "--user", "app"]);
    assert!(text.lines().any(|line| line.contains("(2)") && line.contains(POINT)), "{text}");
    let text = told(&weir, &["queries", "--quadrants"]);
    for heading in ["often and slow", "often and fast", "seldom and slow", "seldom and fast"] {
        assert!(text.contains(heading), "{text}");
    }
    assert!(refused_with(&weir, &["queries", "show", "0123456789abcdef"]).contains("0123456789abcdef"));
    for bad in ["sort=cost", "limit=0", "limit=x", "what=1"] {
        let host = format!("Host: {}\r\n", weir.admin_addr());
        let (status, body) = request(&weir, &format!("GET /api/v1/queries?{bad}"), &host, "").await;
        assert_eq!((status, &body["error"]["code"]), (400, &json!("bad_request")), "{bad} {body}");
    }
}
