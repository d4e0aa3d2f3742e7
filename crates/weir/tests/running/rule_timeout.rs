//! Rules with `timeout`: the statement ends at the server, and nothing else does.

use std::time::{Duration, Instant};

use crate::api_kit::{told, told_json};
use crate::cache_kit::MODES;
use crate::kit::*;
use crate::sharing_kit::*;
use weir_testkit::relay::{Direction, Relay};

const RULES: &str = "[[rule]]\nname = \"slow\"\nmatch = { pattern = \"SLOW\" }\ntimeout = \"1s\"\n\
                     [[rule]]\nname = \"ends\"\nmatch = { pattern = \"NEARLY\" }\ntimeout = \"20ms\"\n";

/// Of the rule `slow`: long enough that the statement has begun to wait when it is ended, also on a busy machine. MySQL loses a KILL QUERY
/// now and then that arrives while a wait begins.
const LIMIT: Duration = Duration::from_secs(1);

/// Part of a statement: alone, SLEEP() answers 1 when it is ended.
const SLOW: &str = "SELECT 'SLOW', SLEEP(60) FROM (SELECT 1 UNION SELECT 2) two";

fn timed_out(flavor: Flavor, response: &Response) {
    let error = response.err().unwrap_or_else(|| panic!("it was not ended: {response:?}"));
    let expected = match flavor {
        Flavor::MariaDb => (1969, "70100"),
        Flavor::MySql => (3024, "HY000"),
    };
    assert_eq!((error.code, error.state.as_str()), expected, "{error:?}");
    assert!(error.message.ends_with("(weir: rule `slow`, timeout 1s)"), "{error:?}");
}

#[tokio::test]
async fn a_statement_that_runs_too_long_is_ended_and_its_transaction_is_not() {
    for (flavor, server) in both() {
        database(&server, "rule_timeout1", &["CREATE TABLE t (id INT) ENGINE=InnoDB"]).await;
        for mode in MODES {
            let weir = sharing(&server, 4, mode, RULES);
            let mut client = client(&weir, "rule_timeout1").await;
            let id = row(&mut client, "SELECT CONNECTION_ID()").await;
            client.run("BEGIN").await.unwrap();
            client.run("INSERT INTO t VALUES (1)").await.unwrap();
            let began = Instant::now();
            timed_out(flavor, &client.query(SLOW).await.unwrap());
            assert!((LIMIT..LIMIT + PATIENCE).contains(&began.elapsed()), "{:?}", began.elapsed());
            let prepared = client.prepare(SLOW).await.unwrap();
            timed_out(flavor, &execute(&mut client, prepared.id, &[], true).await);
            assert_eq!(row(&mut client, "SELECT COUNT(*) FROM t").await, "1");
            client.run("ROLLBACK").await.unwrap();
            assert_eq!(row(&mut client, "SELECT CONNECTION_ID()").await, id, "{flavor:?} {mode}");
            assert_eq!(metric(&weir, "weir_rule_timed_out_total{rule=\"slow\"}").await, 2.0);
            // The error is counted that the client was told.
            let queries = told_json(&weir, &["queries", "--schema", "rule_timeout1"]);
            let code = if flavor == Flavor::MySql { "3024" } else { "1969" };
            let codes =
                queries["queries"].as_array().unwrap().iter().filter_map(|row| row["error_codes"].get(code));
            assert_eq!(codes.collect::<Vec<_>>(), [&serde_json::json!(2)], "{queries}");
            // Nothing of it runs any more.
            let mut direct = app(server.addr()).connect().await.unwrap();
            let running = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '%''SLOW%SLEEP(60)%' \
                           AND DB = 'rule_timeout1' AND ID <> CONNECTION_ID()";
            assert_eq!(row(&mut direct, running).await, "0");
        }
    }
}

/// What the client sends is at its server some time later; who is told of it comes ahead of it.
async fn held(relay: &Relay, direct: &mut Client, client: &mut Client, sql: &str) {
    relay.faults(Direction::ToServer, |faults| faults.delay = Duration::from_millis(2500));
    // The relay knows.
    row(direct, "SELECT 1").await;
    let before = relay.bytes(Direction::ToServer);
    client.send(command::QUERY, sql.as_bytes()).await.unwrap();
    until("it is on its way", async || (relay.bytes(Direction::ToServer) > before).then_some(())).await;
    relay.heal();
}

/// MySQL loses a KILL QUERY that comes between two statements, as it loses one now and then that comes while a wait begins.
#[tokio::test]
async fn p43_a_kill_that_the_server_loses_is_sent_again() {
    for (flavor, server) in both() {
        database(&server, "rule_timeout4", &[]).await;
        let mut direct = app(server.addr()).connect().await.unwrap();
        for mode in MODES {
            let at = format!("{flavor:?} {mode}");
            let relay = Relay::start(server.addr()).await.unwrap();
            let weir = Weir::config(sharing_config(&relay.addr().to_string(), 4, mode, RULES));
            let weir = weir.start().unwrap();
            weir.wait_for_line("accepting clients", PATIENCE).unwrap();
            let mut client = client(&weir, "rule_timeout4").await;
            let id = row(&mut client, "SELECT CONNECTION_ID()").await;
            held(&relay, &mut direct, &mut client, SLOW).await;
            timed_out(flavor, &client.receive(command::QUERY).await.unwrap());
            // However often it was sent.
            assert_eq!(row(&mut client, "SELECT CONNECTION_ID()").await, id, "{at}");
            assert_eq!(metric(&weir, "weir_rule_timed_out_total{rule=\"slow\"}").await, 1.0, "{at}");

            let session = client.greeting().connection_id.to_string();
            // Of no rule.
            held(&relay, &mut direct, &mut client, &SLOW.replace("SLOW", "OTHER")).await;
            told(&weir, &["kill", &session, "--query"]);
            let response = client.receive(command::QUERY).await.unwrap();
            assert_eq!(response.err().map(|err| err.code), Some(1317), "{at}: {response:?}");
            assert_eq!(row(&mut client, "SELECT CONNECTION_ID()").await, id, "{at}");
        }
    }
}

/// A server at which nobody can log in for a while: no KILL of those who waited for that can come later.
#[tokio::test]
async fn a_kill_that_was_never_sent_ends_no_session() {
    for (flavor, server) in both() {
        database(&server, "rule_timeout5", &[]).await;
        let mut direct = app(server.addr()).connect().await.unwrap();
        for mode in MODES {
            let at = format!("{flavor:?} {mode}");
            let relay = Relay::start(server.addr()).await.unwrap();
            let rules = RULES.replace("1s", "10s") + "[limits]\nserver_connect_timeout = \"1s\"\n";
            let weir = Weir::config(sharing_config(&relay.addr().to_string(), 4, mode, &rules));
            let weir = weir.start().unwrap();
            weir.wait_for_line("accepting clients", PATIENCE).unwrap();
            let mut client = client(&weir, "rule_timeout5").await;
            client.run("SET @mine = 5").await.unwrap();
            client.send(command::QUERY, SLOW.replace("SLOW", "SLOW5").as_bytes()).await.unwrap();
            let running = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '%''SLOW5%SLEEP(60)%' \
                           AND ID <> CONNECTION_ID()";
            until("it runs", async || (row(&mut direct, running).await == "1").then_some(())).await;
            relay.stall(Direction::ToServer);
            weir.wait_for_line("event=\"timeout_kill_failed\"", PATIENCE).unwrap();
            relay.resume(Direction::ToServer);
            let response = client.receive(command::QUERY).await.unwrap();
            let code = if flavor == Flavor::MySql { 3024 } else { 1969 };
            assert_eq!(response.err().map(|err| err.code), Some(code), "{at}: {response:?}");
            assert_eq!(row(&mut client, "SELECT @mine").await, "5", "{at}");
        }
    }
}

#[tokio::test]
async fn p43_a_kill_that_comes_late_meets_no_other_statement() {
    let mut all = (0.0, 0.0);
    for (flavor, server) in both() {
        database(&server, "rule_timeout2", &[]).await;
        for mode in MODES {
            // One connection: whoever comes next gets that of the statement before.
            let connections = if mode.contains("transaction") { 1 } else { 4 };
            let weir = sharing(&server, connections, mode, RULES);
            let [mut one, mut two] = clients(&weir, "rule_timeout2").await;
            let mut ended = 0;
            for round in 0..25 {
                // About as long as it may run.
                let micros = 19_000 + round * 120;
                let sql = format!("SELECT 'NEARLY', SLEEP({}) FROM (SELECT 1) one", f64::from(micros) / 1e6);
                let response = one.query(&sql).await.unwrap();
                ended += u32::from(response.err().is_some());
                for client in [&mut one, &mut two] {
                    let response =
                        client.query("SELECT SLEEP(0.001) + 1 FROM (SELECT 1) next").await.unwrap();
                    assert!(response.err().is_none(), "{flavor:?} {mode} round {round}: {response:?}");
                }
            }
            all.0 += metric(&weir, "weir_rule_timed_out_total{rule=\"ends\"}").await;
            all.1 += f64::from(ended);
        }
    }
    let (killed, ended) = all;
    assert!(killed > ended, "no KILL came late: {killed} were sent, {ended} statements ended");
}

#[tokio::test]
async fn what_is_within_its_time_or_only_prepared_or_of_no_rule_is_left_alone() {
    let rules = RULES.replace("1s", "4s");
    for (_, server) in both() {
        database(&server, "rule_timeout3", &[]).await;
        for mode in MODES {
            let weir = sharing(&server, 4, mode, &rules);
            let mut client = client(&weir, "rule_timeout3").await;
            assert_eq!(row(&mut client, "SELECT 'SLOW'").await, "SLOW");
            // The timer of the statement before is no matter of this one.
            assert_eq!(row(&mut client, "SELECT SLEEP(4.5)").await, "0");
            assert_eq!(metric(&weir, "weir_rule_timed_out_total{rule=\"slow\"}").await, 0.0);
        }
    }
}
