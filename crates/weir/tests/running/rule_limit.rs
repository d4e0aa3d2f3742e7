//! Rules with `limit`: how many run at once, how often, who waits how long, and that no place is lost.

use std::time::{Duration, Instant};

use crate::api_kit::told_json;
use crate::cache_kit::MODES;
use crate::kit::*;
use crate::sharing_kit::*;

const ONE: &str = "[[rule]]\nname = \"one\"\nmatch = { pattern = \"GATED\" }\nlimit = { concurrency = 1, queue = \"20s\" }\n";

/// Two workers, so that a limit is one for all of them.
fn weir_of(server: &Server, mode: &str, rules: &str) -> Weir {
    let text =
        sharing_config(&server.addr().to_string(), 20, mode, rules).replace("workers = 1", "workers = 2");
    let weir = Weir::config(text).start().unwrap();
    weir.wait_for_line("accepting clients", PATIENCE).unwrap();
    weir
}

fn refused(response: &Response, rule: &str) {
    let error = response.err().unwrap_or_else(|| panic!("not refused: {response:?}"));
    assert_eq!((error.code, error.state.as_str()), (1226, "42000"), "{error:?}");
    assert!(error.message.contains(&format!("rule `{rule}`")), "{error:?}");
}

async fn count(weir: &Weir, what: &str, rule: &str) -> f64 {
    metric(weir, &format!("weir_rule_{what}_total{{rule=\"{rule}\"}}")).await
}

/// Until so many statements wait, or have waited, for the rule.
async fn waited(weir: &Weir, rule: &str, so_many: f64) {
    until("a statement waits for its rule", async || {
        (count(weir, "waited", rule).await >= so_many).then_some(())
    })
    .await;
}

/// A statement that runs until its lock is free.
const HOLD: &str = "SELECT 'GATED', GET_LOCK('DB', 60), RELEASE_LOCK('DB')";

/// Its client waits for an answer, and a connection that just ends is none.
#[tokio::test]
async fn p47_who_waits_for_a_rule_is_told_that_the_connection_has_gone() {
    for (flavor, server) in both() {
        database(&server, "rule_limit9", &["CREATE TABLE t (id INT)"]).await;
        let mut direct = app(server.addr()).database("rule_limit9").connect().await.unwrap();
        for mode in MODES {
            let at = format!("{flavor:?} {mode}");
            direct.run("SELECT GET_LOCK('rule_limit9', 60)").await.unwrap();
            let weir = weir_of(&server, mode, ONE);
            let [mut holds, mut waits] = clients(&weir, "rule_limit9").await;
            waits.run("BEGIN").await.unwrap();
            holds.send(command::QUERY, HOLD.replace("DB", "rule_limit9").as_bytes()).await.unwrap();
            let held = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'User lock' AND DB = 'rule_limit9'";
            until("the place is taken", async || (row(&mut direct, held).await == "1").then_some(())).await;
            waits.send(command::QUERY, b"INSERT INTO t SELECT 1 AS GATED").await.unwrap();
            waited(&weir, "one", 1.0).await;
            let id = waits.greeting().connection_id.to_string();
            let server_id = &told_json(&weir, &["sessions", "show", &id])["server_connection_id"];
            direct.run(&format!("KILL {server_id}")).await.unwrap();
            let response = waits.receive(command::QUERY).await.unwrap();
            let error = response.err().unwrap_or_else(|| panic!("{at}: {response:?}"));
            // MariaDB says so itself.
            assert!(matches!(error.code, 1158 | 1927), "{at}: {error:?}");
            numbered(&response, 1);
            assert!(waits.stream().read_packet().await.unwrap().is_none(), "{at}: the session goes on");
            direct.run("SELECT RELEASE_LOCK('rule_limit9')").await.unwrap();
            assert_eq!(holds.receive(command::QUERY).await.unwrap().err(), None, "{at}");
            assert_eq!(row(&mut direct, "SELECT COUNT(*) FROM t").await, "0", "{at}");
        }
    }
}

#[tokio::test]
async fn no_more_run_at_once_than_may_on_all_workers_together() {
    for (flavor, server) in both() {
        database(&server, "rule_limit1", &[]).await;
        for mode in MODES {
            let weir = weir_of(&server, mode, ONE);
            let mut tasks = Vec::new();
            // The lock is there for each of them only if no other runs.
            let sql = "SELECT CONCAT(GET_LOCK('rule_limit1', 0), SLEEP(0.01), RELEASE_LOCK('rule_limit1')) AS GATED";
            for _ in 0..12 {
                let mut client = client(&weir, "rule_limit1").await;
                tasks.push(tokio::spawn(async move {
                    for _ in 0..5 {
                        assert_eq!(row(&mut client, sql).await, "101", "another ran");
                    }
                    let id = client.prepare(sql).await.unwrap().id;
                    for _ in 0..3 {
                        let response = execute(&mut client, id, &[], true).await;
                        let rows: Vec<&[u8]> = response.rows().collect();
                        assert!(rows.concat().ends_with(b"101"), "another ran: {response:?}");
                    }
                }));
            }
            for task in tasks {
                task.await.unwrap();
            }
            assert!(count(&weir, "waited", "one").await > 0.0, "{flavor:?} {mode}");
            assert_eq!(count(&weir, "rejected", "one").await, 0.0);
        }
    }
}

#[tokio::test]
async fn a_place_is_free_again_however_its_statement_ends_and_whoever_waits_gives_up() {
    for (flavor, server) in both() {
        let name = "rule_limit2";
        database(&server, name, &[]).await;
        for mode in MODES {
            let weir = weir_of(&server, mode, ONE);
            let hold = HOLD.replace("DB", name);
            let mut holder = app(server.addr()).connect().await.unwrap();
            // It ends by an error.
            let mut one = client(&weir, name).await;
            assert!(one.query("SELECT 'GATED' FROM nothing").await.unwrap().err().is_some());
            row(&mut one, "SELECT 'GATED'").await;
            for way in ["client leaves", "killed", "waiter leaves", "waiter is killed"] {
                row(&mut holder, &format!("SELECT GET_LOCK('{name}', 10)")).await;
                let before = count(&weir, "waited", "one").await;
                let mut running = client(&weir, name).await;
                let running_id = row(&mut running, "SELECT CONNECTION_ID()").await;
                running.send(command::QUERY, &running.query_body(hold.as_bytes())).await.unwrap();
                let look = format!(
                    "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '%{name}'', 60)%' AND ID <> CONNECTION_ID()"
                );
                let mut direct = app(server.addr()).connect().await.unwrap();
                until("it runs", async || (row(&mut direct, &look).await == "1").then_some(())).await;
                let mut waiter = client(&weir, name).await;
                let mut killer = client(&weir, name).await;
                let waiter_id = format!("{}", waiter.greeting().connection_id);
                waiter.send(command::QUERY, &waiter.query_body(b"SELECT 'GATED'")).await.unwrap();
                waited(&weir, "one", before + 1.0).await;
                match way {
                    "client leaves" => drop(running),
                    "killed" => drop(direct.query(&format!("KILL {running_id}")).await.unwrap()),
                    "waiter leaves" => drop(waiter),
                    _ => {
                        killer.run(&format!("KILL QUERY {waiter_id}")).await.unwrap();
                        let response = waiter.receive(command::QUERY).await.unwrap();
                        let error = response.err().unwrap();
                        assert_eq!(error.code, 1317, "{flavor:?} {mode} {error:?}");
                        // The session goes on.
                        row(&mut waiter, "SELECT 1").await;
                    }
                }
                row(&mut holder, &format!("SELECT RELEASE_LOCK('{name}')")).await;
                // Whoever comes now has its turn: no place and no ticket is left behind.
                let mut next = client(&weir, name).await;
                let began = Instant::now();
                row(&mut next, "SELECT 'GATED'").await;
                assert!(began.elapsed() < Duration::from_secs(15), "{flavor:?} {mode} {way}");
            }
            assert_eq!(count(&weir, "rejected", "one").await, 0.0);
        }
    }
}

#[tokio::test]
async fn who_waits_too_long_is_told_and_its_transaction_stays_open() {
    for (_, server) in both() {
        let name = "rule_limit3";
        database(&server, name, &["CREATE TABLE t (id INT) ENGINE=InnoDB"]).await;
        for mode in MODES {
            let weir = weir_of(&server, mode, &ONE.replace("20s", "200ms"));
            let mut holder = app(server.addr()).connect().await.unwrap();
            row(&mut holder, &format!("SELECT GET_LOCK('{name}', 10)")).await;
            let [mut running, mut other] = clients(&weir, name).await;
            let hold = HOLD.replace("DB", name);
            running.send(command::QUERY, &running.query_body(hold.as_bytes())).await.unwrap();
            let mut direct = app(server.addr()).connect().await.unwrap();
            let look = format!(
                "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '%{name}'', 60)%' AND ID <> CONNECTION_ID()"
            );
            until("it runs", async || (row(&mut direct, &look).await == "1").then_some(())).await;
            other.run("BEGIN").await.unwrap();
            other.run("INSERT INTO t VALUES (1)").await.unwrap();
            let response = other.query("SELECT 'GATED'").await.unwrap();
            refused(&response, "one");
            assert!(response.err().unwrap().message.contains("within its queue of 200ms"), "{response:?}");
            assert_eq!(row(&mut other, "SELECT COUNT(*) FROM t").await, "1");
            other.run("ROLLBACK").await.unwrap();
            row(&mut holder, &format!("SELECT RELEASE_LOCK('{name}')")).await;
            assert!(running.receive(command::QUERY).await.unwrap().err().is_none());
            row(&mut other, "SELECT 'GATED'").await;
            assert_eq!(count(&weir, "rejected", "one").await, 1.0);
        }
    }
}

#[tokio::test]
async fn a_rate_counts_hits_of_the_cache_and_a_place_is_not_needed_for_them() {
    for (_, server) in both() {
        database(&server, "rule_limit4", &["CREATE TABLE t (id INT)", "INSERT INTO t VALUES (5)"]).await;
        for mode in MODES {
            let rules = "[[rule]]\nname = \"few\"\nmatch = { table = \"rule_limit4.t\" }\ncache = { ttl = \"1h\" }\n\
                         limit = { concurrency = 1, rate = \"4/h\" }\n";
            let weir = weir_of(&server, mode, rules);
            let mut client = client(&weir, "rule_limit4").await;
            for _ in 0..4 {
                assert_eq!(row(&mut client, "SELECT id FROM t").await, "5");
            }
            assert_eq!(metric(&weir, "weir_cache_hits_total{rule=\"few\"}").await, 3.0);
            refused(&client.query("SELECT id FROM t").await.unwrap(), "few");
            // Other terms hold at once; what has been let through stays counted.
            let more = rules.replace("4/h", "1000000/s");
            assert_eq!(row(&mut client, "SELECT 1").await, "1");
            let body = serde_json::json!({ "toml": more }).to_string();
            let headers =
                format!("Host: {}\r\nContent-Type: application/json\r\nIf-Match: *\r\n", weir.admin_addr());
            let (status, answer) =
                crate::api_kit::request(&weir, "PUT /api/v1/rules/few", &headers, &body).await;
            assert_eq!(status, 200, "{answer}");
            assert_eq!(row(&mut client, "SELECT id FROM t").await, "5");
        }
    }
}

/// As often as it was driven, at `/metrics` as in the API.
#[tokio::test]
async fn what_waited_and_what_was_refused_is_counted_alike_in_metrics_and_the_api() {
    let few = "[[rule]]\nname = \"few\"\nmatch = { pattern = \"RATED\" }\nlimit = { rate = \"3/h\" }\n";
    for (flavor, server) in both() {
        let name = "rule_limit10";
        database(&server, name, &[]).await;
        for mode in MODES {
            let weir = weir_of(&server, mode, &format!("{ONE}{few}"));
            let counted = async |rule: &str, matched: u64, waited: u64, rejected: u64| {
                let at = format!("{flavor:?} {mode} {rule}");
                let told = told_json(&weir, &["rules", "show", rule]);
                let told = [&told["hits"], &told["done"]["waited"], &told["done"]["rejected"]];
                assert_eq!(told, [matched, waited, rejected], "{at}");
                for (what, expected) in [("hits", matched), ("waited", waited), ("rejected", rejected)] {
                    assert_eq!(count(&weir, what, rule).await, expected as f64, "{at}: {what}");
                }
            };
            let mut holder = app(server.addr()).connect().await.unwrap();
            row(&mut holder, &format!("SELECT GET_LOCK('{name}', 60)")).await;
            let mut running = clients::<3>(&weir, name).await;
            for (n, client) in running.iter_mut().enumerate() {
                client.send(command::QUERY, HOLD.replace("DB", name).as_bytes()).await.unwrap();
                match n {
                    0 => {
                        until("it has its place", async || {
                            (count(&weir, "hits", "one").await == 1.0).then_some(())
                        })
                        .await;
                    }
                    n => waited(&weir, "one", n as f64).await,
                }
            }
            row(&mut holder, &format!("SELECT RELEASE_LOCK('{name}')")).await;
            for client in &mut running {
                assert_eq!(client.receive(command::QUERY).await.unwrap().err(), None, "{flavor:?} {mode}");
            }
            counted("one", 3, 2, 0).await;
            let [mut client, ..] = running;
            for n in 0..5 {
                let answer = client.query("SELECT 'RATED'").await.unwrap();
                match n {
                    0..3 => assert_eq!(answer.err(), None, "{flavor:?} {mode}"),
                    _ => refused(&answer, "few"),
                }
            }
            counted("few", 5, 0, 2).await;
            counted("one", 3, 2, 0).await;
        }
    }
}
