//! Whether a cache rule helps, and how that is told.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_testkit::client::command;

use crate::api_kit::*;
use crate::cache_kit::*;
use crate::kit::*;
use crate::sharing_kit::*;

const TRANSACTION: &str = "sharing = \"transaction\"\n";
const POINT: &str = "SELECT v FROM t WHERE id=1";

/// The rows of all statements in this schema that read the point.
fn point(weir: &Weir, schema: &str) -> Value {
    let told = told_json(weir, &["queries", "--limit", "1000", "--schema", schema]);
    let rows = told["queries"].as_array().unwrap();
    rows.iter().find(|row| row["digest"] == "SELECT `v` FROM `t` WHERE `id` = ?").unwrap().clone()
}

/// What this session has run is counted.
async fn counted(client: &mut Client) {
    assert!(client.command(command::PING, b"").await.unwrap().err().is_none());
}

/// The answer that is stored is that of a run which took far longer than others: a hit does not save so much.
#[tokio::test]
async fn one_slow_run_is_not_what_each_hit_saves() {
    for (flavor, server) in &both() {
        table(server, "proof_slow").await;
        let weir = sharing(server, 4, TRANSACTION, &ALL.replace("kind = \"read\"", "table = \"elsewhere\""));
        let mut client = client(&weir, "proof_slow").await;
        let mut slowest = Duration::ZERO;
        for _ in 0..5 {
            let began = Instant::now();
            client.run(POINT).await.unwrap();
            counted(&mut client).await;
            slowest = slowest.max(began.elapsed());
        }
        let id = point(&weir, "proof_slow")["id"].as_str().unwrap().to_owned();
        told(&weir, &["rules", "add", "--from-digest", &id, "--cache", "5m"]);
        let mut holder = app(server.addr()).database("proof_slow").connect().await.unwrap();
        let mut watcher = app(server.addr()).connect().await.unwrap();
        holder.run("LOCK TABLES t WRITE").await.unwrap();
        client.send(command::QUERY, POINT.as_bytes()).await.unwrap();
        until("it waits for the lock", async || {
            let waits = "SELECT COUNT(*) FROM information_schema.processlist WHERE db = 'proof_slow' AND state LIKE '%lock%'";
            (watcher.scalar(waits).await.unwrap().as_deref() == Some("1")).then_some(())
        })
        .await;
        // It takes as long as the table is locked.
        tokio::time::sleep(4 * slowest + Duration::from_millis(50)).await;
        holder.run("UNLOCK TABLES").await.unwrap();
        client.receive(command::QUERY).await.unwrap();
        for _ in 0..10 {
            client.run(POINT).await.unwrap();
        }
        counted(&mut client).await;
        let shown = point(&weir, "proof_slow");
        assert_eq!((&shown["hits"], &shown["misses"]), (&json!(10), &json!(1)), "{flavor:?}");
        let saved = shown["saved_seconds"].as_f64().unwrap();
        // Buckets are an eighth of a power of two wide.
        let most = 10.0 * slowest.as_secs_f64() * 1.125;
        assert!(saved > 0.0 && saved <= most, "{flavor:?}: {saved} of {most}");
        let rule = told_json(&weir, &["rules", "show", &format!("digest-{id}")]);
        let of_rule = rule["cache"]["saved_seconds"].as_f64().unwrap();
        assert!((saved - of_rule).abs() < 1.1e-5, "{flavor:?} {saved} {of_rule}");
        let effect = &rule["effect"];
        let (before, now) = (&effect["before"], &effect["now"]);
        assert_eq!((&before["calls"], &before["hits"]), (&json!(5), &json!(0)), "{flavor:?} {effect:#}");
        assert_eq!((&now["calls"], &now["hits"], &now["misses"]), (&json!(11), &json!(10), &json!(1)));
        let counts =
            ["without_server", "with_server", "server_time"].map(|of| now[of]["count"].as_u64().unwrap());
        assert_eq!(counts, [10, 1, 1], "{flavor:?} {effect:#}");
        let sum = |of: &Value| of["sum_seconds"].as_f64().unwrap();
        let parts = sum(&now["without_server"]) + sum(&now["with_server"]);
        assert!((sum(&now["total"]) - parts).abs() < 1e-6, "{effect:#}");
        // Each of the hits was faster than the one that was locked out, and nothing else is counted under them.
        assert!(sum(&now["without_server"]) > 0.0 && sum(&now["with_server"]) > 4.0 * slowest.as_secs_f64());
        assert!((now["saved_seconds"].as_f64().unwrap() - saved).abs() < 1e-9, "{effect:#}");
        let text = told(&weir, &["rules", "show", &format!("digest-{id}")]);
        assert!(text.contains("before the rule") && text.contains("from the cache"), "{text}");
        // A rule by table matches the same and what else reads it; one that looks at literals cannot be told by digests.
        client.run("SELECT MAX(v) FROM t").await.unwrap();
        counted(&mut client).await;
        let named = ["--match-table", "proof_slow.t", "--ttl", "1m"];
        told(&weir, &[&["rules", "add", "--name", "by-table"][..], &named].concat());
        told(
            &weir,
            &[&["rules", "add", "--name", "by-text", "--match-pattern", "id=1"][..], &named].concat(),
        );
        let by = |name: &str| told_json(&weir, &["rules", "show", name])["effect"].clone();
        assert_eq!(by("by-table")["before"]["calls"], 17, "{flavor:?}");
        assert_eq!((by("by-table")["now"]["calls"].clone(), by("by-text")), (json!(0), Value::Null));
        // Made again it begins anew, and so it does where the statistics do.
        told(&weir, &["rules", "remove", &format!("digest-{id}")]);
        told(&weir, &["rules", "add", "--from-digest", &id, "--cache", "5m"]);
        let again = told_json(&weir, &["rules", "show", &format!("digest-{id}")]);
        assert_eq!((&again["cache"]["hits"], &again["cache"]["misses"]), (&json!(0), &json!(0)));
        assert_eq!(
            (&again["effect"]["before"]["calls"], &again["effect"]["now"]["calls"]),
            (&json!(16), &json!(0))
        );
        told(&weir, &["queries", "reset"]);
        assert_eq!(by("by-table")["before"], Value::Null, "{flavor:?}");
    }
}

/// One digest has as many rows as there are users and schemas.
#[tokio::test]
async fn rows_of_a_digest_come_in_pages() {
    let server = server(Flavor::MariaDb);
    let schemas = ["proof_page_1", "proof_page_2", "proof_page_3"];
    for schema in schemas {
        table(&server, schema).await;
    }
    let weir = sharing(&server, 4, TRANSACTION, "");
    for (schema, calls) in schemas.into_iter().zip(1..) {
        let mut client = client(&weir, schema).await;
        for _ in 0..calls {
            client.run(POINT).await.unwrap();
        }
        counted(&mut client).await;
    }
    let id = point(&weir, "proof_page_1")["id"].as_str().unwrap().to_owned();
    let show = |more: &[&str]| told_json(&weir, &[&["queries", "show", &id][..], more].concat());
    let all = show(&[]);
    let rows = all["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &all["total"], &all["all"]["calls"]), (3, &json!(3), &json!(6)), "{all:#}");
    let time = |row: &Value| row["total"]["sum_seconds"].as_f64().unwrap();
    assert!(rows.is_sorted_by(|a, b| time(a) >= time(b)), "{all:#}");
    let page = show(&["--limit", "1", "--offset", "1"]);
    assert_eq!(page["rows"].as_array().unwrap(), &rows[1..2]);
    assert_eq!((&page["total"], &page["offset"], &page["all"]), (&json!(3), &json!(1), &all["all"]));
    let text = told(&weir, &["queries", "show", &id, "--limit", "2"]);
    assert!(text.contains("1 to 2 of 3 rows"), "{text}");
    let text = refused_with(&weir, &["queries", "show", &id, "--limit", "0"]);
    assert!(text.contains("limit is from 1 to 10000"), "{text}");
}

#[tokio::test]
async fn answers_that_have_changed_are_counted_with_their_age() {
    let server = server(Flavor::MariaDb);
    table(&server, "api_stale").await;
    let verified =
        "[[rule]]\nname = \"t\"\nmatch = { table = \"t\" }\ncache = { ttl = \"1h\", verify = \"100%\" }\n";
    let weir = sharing(&server, 4, "", verified);
    let [mut client] = clients(&weir, "api_stale").await;
    assert_eq!(value(&mut client, 1).await, "one");
    assert_eq!(value(&mut client, 1).await, "one");
    // What runs behind the answer is over when the next command is taken.
    shown(&mut client, "client_id").await;
    change(&server, "UPDATE api_stale.t SET v='new'").await;
    assert_eq!(value(&mut client, 1).await, "one");
    until("it is compared", async || {
        (metric(&weir, "weir_cache_stale_age_seconds_count{rule=\"t\"}").await == 1.0).then_some(())
    })
    .await;
    let all = "weir_cache_stale_age_seconds_bucket{rule=\"t\",le=\"+Inf\"}";
    assert_eq!(metric(&weir, all).await, 1.0);
    assert_eq!(metric(&weir, "weir_cache_mismatched_total{rule=\"t\"}").await, 1.0);
    let counts = told_json(&weir, &["cache", "stats"])["total"].clone();
    assert_eq!((&counts["verified"], &counts["mismatched"]), (&json!(2), &json!(1)), "{counts}");
    let ages: u64 =
        counts["stale_ages"].as_array().unwrap().iter().map(|age| age["answers"].as_u64().unwrap()).sum();
    assert_eq!(ages, 1, "{counts}");
    assert!(told(&weir, &["rules", "show", "t"]).contains("stale after"));
    let warns = || {
        told(&weir, &["status"])
            .contains("1 answer from the cache was found to differ from the server's, by `t`")
    };
    assert!(warns());
    told(&weir, &["rules", "remove", "t"]);
    let rules = told_json(&weir, &["cache", "stats"])["rules"].clone();
    assert_eq!((warns(), rules), (false, json!([])));
}
