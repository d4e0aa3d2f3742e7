//! What is told of rules before there are any, against what they then do.

use serde_json::{Value, json};
use weir_testkit::client::command::{self, Param};

use crate::api_kit::*;
use crate::cache_kit::*;
use crate::kit::*;
use crate::sharing_kit::*;

const POINT: &str = "SELECT `v` FROM `t` WHERE `id` = ?";
const BOUND: &str = "SELECT `id` FROM `t` WHERE `v` = ?";

/// What is told of a digest, when so many executions of it are counted.
async fn advised(weir: &Weir, digest: &str, calls: u64) -> Value {
    until(&format!("{calls} executions of {digest} are counted"), async || {
        let told = told_json(weir, &["advise", "cache", "--all"]);
        let found = told["statements"].as_array().unwrap().iter().find(|one| one["digest"] == digest);
        found.filter(|found| found["calls"] == calls).cloned()
    })
    .await
}

/// What is told of a rule with a TTL of an hour.
fn hour(advised: &Value) -> Value {
    advised["ladder"].as_array().unwrap().iter().find(|step| step["ttl"] == "1h").unwrap().clone()
}

/// Eleven reads of two rows by two clients. Under a rule for an hour two are misses because they are the first and one because its
/// session has written; two hits are out of date.
async fn reads(server: &Server, weir: &Weir, name: &str, round: &str) -> [Client; 2] {
    let [mut one, mut two] = clients(weir, name).await;
    for id in [1, 1, 2, 1] {
        value(&mut one, id).await;
    }
    for id in [1, 2, 2] {
        value(&mut two, id).await;
    }
    change(server, &format!("UPDATE {name}.t SET v = 'behind, {round}' WHERE id = 1")).await;
    value(&mut one, 1).await;
    value(&mut two, 1).await;
    two.run(&format!("UPDATE t SET v = 'through, {round}' WHERE id = 2")).await.unwrap();
    value(&mut two, 2).await;
    value(&mut one, 2).await;
    [one, two]
}

#[tokio::test]
async fn what_was_told_of_a_rule_is_what_it_does() {
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ad_fact_t", "ad_fact_s"]) {
            let at = format!("{flavor:?} {mode}");
            table(server, name).await;
            let weir = sharing(server, 4, mode, "");
            let [mut one, mut two] = reads(server, &weir, name, "without a rule").await;
            // Nobody would cache these.
            one.run("BEGIN").await.unwrap();
            value(&mut one, 3).await;
            one.run("COMMIT").await.unwrap();
            one.run("SELECT v, NOW() FROM t").await.unwrap();
            one.run("SELECT v FROM t WHERE id = 1 FOR UPDATE").await.unwrap();
            let prepared = two.prepare("SELECT id FROM t WHERE v = ?").await.unwrap();
            for v in ["x", "y", "x", "x"] {
                execute(&mut two, prepared.id, &[Param::Text(v.to_owned())], true).await;
            }

            let bound = advised(&weir, BOUND, 4).await;
            assert_eq!(hour(&bound)["hits"], 2.0, "{at} {bound:#}");
            let point = advised(&weir, POINT, 11).await;
            let step = hour(&point);
            assert_eq!((&step["hits"], &step["stale_ratio"]), (&json!(8.0), &json!(0.25)), "{at} {point:#}");
            let own_writes = step["own_writes_ratio"].as_f64().unwrap() * 11.0;
            assert!((own_writes - 1.0).abs() < 1e-9, "{at} {point:#}");
            assert_eq!(
                (&step["entries"], &point["keys"], &point["one_of"]),
                (&json!(2.0), &json!(2), &json!(1))
            );
            let all = told_json(&weir, &["advise", "cache", "--all", "--stale", "100"]);
            let all = all["statements"].as_array().unwrap();
            let digests: Vec<_> = all.iter().map(|one| one["digest"].as_str().unwrap()).collect();
            assert!(digests.iter().all(|digest| [POINT, BOUND].contains(digest)), "{at} {digests:?}");

            let command = all.iter().find(|one| one["digest"] == POINT).unwrap()["command"].as_str().unwrap();
            let ttl = command.rsplit(' ').next().unwrap();
            let add: Vec<_> =
                command.split(' ').skip(1).map(|word| if word == ttl { "1h" } else { word }).collect();
            told(&weir, &add);
            drop((one, two));
            reads(server, &weir, name, "with a rule").await;
            let rule = format!("digest-{}", point["id"].as_str().unwrap());
            let rule = told_json(&weir, &["rules", "show", &rule]);
            let cache = &rule["cache"];
            assert_eq!((&cache["hits"], &cache["misses"]), (&json!(8), &json!(3)), "{at} {rule:#}");
            let point = advised(&weir, POINT, 11).await;
            assert_eq!(point["cached_by"], rule["name"], "{at}: what a rule names is not counted any more");
        }
    }
}

/// What is sure of one schema's statement tells nothing of another's with the same text.
#[tokio::test]
async fn the_same_text_in_another_schema_is_another_statement() {
    for (flavor, server) in &both() {
        for (mode, names) in MODES.iter().zip([["ad_one_t", "ad_two_t"], ["ad_one_s", "ad_two_s"]]) {
            for name in names {
                table(server, name).await;
            }
            let weir = sharing(server, 4, mode, "");
            let [mut one, _] = clients(&weir, names[0]).await;
            let [mut two, _] = clients(&weir, names[1]).await;
            for _ in 0..30 {
                value(&mut one, 1).await;
            }
            value(&mut two, 1).await;
            let point = advised(&weir, POINT, 31).await;
            assert_eq!(hour(&point)["hits"], 29.0, "{flavor:?} {mode} {point:#}");
        }
    }
}

/// Whether Weir follows a session, as it does where connections are shared, or not.
#[tokio::test]
async fn what_a_session_has_set_tells_its_statements_from_others() {
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ad_set_t", "ad_set_s"]) {
            table(server, name).await;
            let weir = sharing(server, 6, mode, "");
            let [mut one, mut two, mut three, mut four] = clients(&weir, name).await;
            for client in [&mut one, &mut three] {
                client.run("SET time_zone = '+01:00'").await.unwrap();
            }
            four.run("CREATE TEMPORARY TABLE own (id INT)").await.unwrap();
            for client in [&mut one, &mut two, &mut three, &mut four] {
                value(client, 1).await;
                value(client, 1).await;
            }
            // The third finds what the first has stored, and a session with temporary tables is not served.
            let point = advised(&weir, POINT, 8).await;
            let step = hour(&point);
            let memory = metric(&weir, "weir_advisor_memory_bytes").await;
            assert!((500.0..50_000.0).contains(&memory), "{memory} bytes");
            assert_eq!(
                (&step["hits"], &point["keys"]),
                (&json!(4.0), &json!(2)),
                "{flavor:?} {mode} {point:#}"
            );
        }
    }
}

/// Executions whose values are elsewhere, or of a type that the cache refuses, and reads in system schemas are not looked at; comments
/// behind a statement make no other of it.
#[tokio::test]
async fn what_the_cache_would_refuse_is_not_counted() {
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ad_none_t", "ad_none_s"]) {
            table(server, name).await;
            let weir = sharing(server, 4, mode, "");
            let [mut one] = clients(&weir, name).await;
            let long = one.prepare("SELECT id FROM t WHERE v = ?").await.unwrap().id;
            for value in [b"x", b"y"] {
                let chunk = command::long_data(long, 0, value);
                one.command(command::STMT_SEND_LONG_DATA, &chunk).await.unwrap();
                execute(&mut one, long, &[Param::LongData], true).await;
            }
            let timed = one.prepare("SELECT id FROM t WHERE v > ?").await.unwrap().id;
            for types in [true, false] {
                execute(&mut one, timed, &[Param::Time(false, 0, 1, 2, 3)], types).await;
            }
            let [mut system] = clients(&weir, "information_schema").await;
            system.run("SELECT SCHEMA_NAME FROM SCHEMATA").await.unwrap();
            for comment in ["", " -- a", " -- b", " # c", " /* d */"] {
                one.run(&format!("SELECT v FROM t WHERE id=1{comment}")).await.unwrap();
            }

            let point = advised(&weir, POINT, 5).await;
            assert_eq!(hour(&point)["hits"], 4.0, "{flavor:?} {mode} {point:#}");
            let all = told_json(&weir, &["advise", "cache", "--all", "--stale", "100"]);
            assert_eq!(all["statements"].as_array().unwrap().len(), 1, "{flavor:?} {mode} {all:#}");
            let part = told_json(&weir, &["advise", "cache", "--all", "--stale", "100", "--offset", "1"]);
            assert_eq!((&part["statements"], &part["total"]), (&json!([]), &json!(1)), "{flavor:?} {mode}");
        }
    }
}

/// A rule is told of where it saves what is worth the while, and `weir status` names it.
#[tokio::test]
async fn only_rules_that_are_worth_their_while_are_told() {
    for (flavor, server) in &both() {
        table(server, "ad_worth").await;
        let weir = sharing(server, 8, "", "");
        let [mut one] = clients(&weir, "ad_worth").await;
        let joined: Vec<String> = (0..13).map(|n| format!("t AS t{n}")).collect();
        let slow = format!("SELECT COUNT(*) FROM {}", joined.join(", "));
        for _ in 0..3 {
            value(&mut one, 1).await;
            one.run(&slow).await.unwrap();
        }
        // Time that no rule saves: a hundredth of it is more than reading a row takes, on a busy machine too.
        let mut sleepers: [Client; 8] = clients(&weir, "ad_worth").await;
        for sleeper in &mut sleepers {
            sleeper.send(command::QUERY, b"SELECT SLEEP(2)").await.unwrap();
        }
        for sleeper in &mut sleepers {
            assert_eq!(sleeper.receive(command::QUERY).await.unwrap().err(), None);
        }
        advised(&weir, POINT, 3).await;
        // The slow statement is done when it is counted, and takes nearly all of the time.
        let advice = until("the slow one is told", async || {
            one.run(&slow).await.unwrap();
            let advice = told_json(&weir, &["advise", "cache"]);
            (advice["statements"] != json!([])).then_some(advice)
        })
        .await;
        let digests: Vec<_> = advice["statements"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["digest"].as_str().unwrap())
            .collect();
        assert!(matches!(digests[..], [digest] if digest.contains("COUNT")), "{flavor:?}: {digests:?}");
        assert_eq!(advice["left_out"], 1, "{flavor:?}: {advice:#}");
        let least = advice["least_seconds"].as_f64().unwrap();
        let share = advice["server_seconds"].as_f64().unwrap() * 0.01;
        let of_the_time = advice["observed_seconds"].as_f64().unwrap() * 0.001;
        assert!((least - share.max(of_the_time)).abs() < 1e-6, "{flavor:?}: {advice:#}");
        let saved = advice["statements"][0]["best"]["saved_seconds"].as_f64().unwrap();
        assert!(saved >= least, "{flavor:?}: {advice:#}");
        let text = told(&weir, &["advise", "cache"]);
        assert!(text.contains("1 statement is left out") && text.contains("--all"), "{flavor:?}: {text}");
        let status = told_json(&weir, &["status"]);
        assert_eq!(status["suggestions"][0]["suggestion"], "cache_rules", "{flavor:?}: {status:#}");
        let screen = told(&weir, &["status"]);
        assert!(
            screen.contains("suggests 1 rule,") && screen.contains("weir advise cache"),
            "{flavor:?}: {screen}"
        );
        let id = advice["statements"][0]["id"].as_str().unwrap();
        // How it begins is enough, for every verb.
        let begins = &id[..8];
        assert_eq!(told_json(&weir, &["queries", "show", begins])["id"], id, "{flavor:?}");
        assert_eq!(told_json(&weir, &["advise", "cache", &begins[..4]])["all"]["id"], id, "{flavor:?}");
        let added = told_json(&weir, &["rules", "add", "--from-digest", begins, "--cache", "5m"]);
        assert_eq!(added["rule"], format!("digest-{id}"), "{flavor:?}");
        until("an answer is stored, and found by how its digest begins", async || {
            one.run(&slow).await.unwrap();
            let found = cli(&[
                "cache",
                "preview",
                "--digest",
                begins,
                "--json",
                "--admin",
                &weir.admin_addr().to_string(),
            ]);
            let found: Value = serde_json::from_slice(&found.stdout).unwrap_or_default();
            (found["entries"] == 1).then_some(())
        })
        .await;
        let other = if begins.starts_with("0000") { "ffff0" } else { "00000" };
        for args in [&["queries", "show", other][..], &["cache", "wipe", "--digest", other]] {
            assert!(refused_with(&weir, args).contains(other), "{flavor:?} {args:?}");
        }
        assert_eq!(told_json(&weir, &["status"])["suggestions"], json!([]), "{flavor:?}");
        let again = refused_with(&weir, &["rules", "add", "--from-digest", id, "--cache", "1h"]);
        assert!(again.contains(&format!("`weir rules edit digest-{id}`")), "{flavor:?}: {again}");
        // One for all reads covers it as well: in its digest a space stands behind COUNT.
        told(&weir, &["rules", "remove", &format!("digest-{id}")]);
        told(&weir, &["rules", "add", "--name", "reads", "--match-kind", "read", "--ttl", "1m"]);
        let advice = told_json(&weir, &["advise", "cache", "--all"]);
        let all = advice["statements"].as_array().unwrap();
        let counts = all.iter().find(|one| one["id"] == id).unwrap();
        assert_eq!(counts["cached_by"], "reads", "{flavor:?}: {counts:#}");
    }
}
