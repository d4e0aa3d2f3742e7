//! The query log: slow statements and a share of the others, with why they took their way.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use weir_testkit::client::command::Param;
use weir_testkit::process::Signal;

use crate::cache_kit::table;
use crate::kit::*;
use crate::sharing_kit::*;

const MODES: [&str; 2] = ["sharing = \"session\"\n", "sharing = \"transaction\"\n"];

fn path(weir: &Weir) -> PathBuf {
    weir.home().join("queries.json")
}

/// The lines of a file that have been written, each of which must be whole.
fn lines(path: &PathBuf) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    // What is being written now has no end yet.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

/// The lines once there are so many.
async fn so_many(weir: &Weir, count: usize) -> Vec<Value> {
    until("the lines are there", async || Some(lines(&path(weir))).filter(|lines| lines.len() >= count)).await
}

fn log(keys: &str) -> String {
    format!("[query_log]\nfile = \"queries.json\"\n{keys}")
}

#[tokio::test]
async fn every_statement_stands_there_with_its_way() {
    for (flavor, server) in &both() {
        for mode in MODES {
            let at = format!("{flavor:?} {mode}");
            table(server, "ql_way").await;
            let rules = "[[rule]]\nname = \"keep\"\nmatch = { table = \"ql_way.t\", kind = \"read\" }\ncache = { ttl = \"60s\" }\n\
                         [[rule]]\nname = \"no\"\nmatch = { pattern = \"forbidden\" }\ndeny = \"not this\"\n\
                         [[rule]]\nname = \"rate\"\nmatch = { pattern = \"rated\" }\nlimit = { rate = \"2/s\", queue = \"20s\" }\n";
            let weir = sharing(server, 2, mode, &format!("{}{rules}", log("sample = \"100%\"\n")));
            let [mut one] = clients(&weir, "ql_way").await;
            one.run("SELECT v FROM t WHERE id = 1").await.unwrap();
            one.run("SELECT v FROM t WHERE id = 1").await.unwrap();
            one.run("SELECT v, NOW() IS NULL, 'secret' FROM t WHERE id = 1").await.unwrap();
            one.query("SELECT 'forbidden'").await.unwrap();
            one.query("INSERT INTO t VALUES (1, 'again')").await.unwrap();
            one.run("BEGIN").await.unwrap();
            one.run("UPDATE t SET v = 'x' WHERE id < 3").await.unwrap();
            one.run("ROLLBACK").await.unwrap();
            let prepared = one.prepare("SELECT v FROM t WHERE id > ? FOR UPDATE").await.unwrap();
            execute(&mut one, prepared.id, &[Param::Int(1)], true).await;
            let lines = so_many(&weir, 9).await;
            let file = fs::read_to_string(path(&weir)).unwrap();
            assert!(!file.contains("secret") && !file.contains("again"), "{at}: {file}");
            let [miss, hit, refused, denied, error, begin, update, _, executed] = &lines[..] else {
                panic!("{at}: {} lines: {lines:#?}", lines.len())
            };
            let way = |line: &Value| {
                ["answered_by", "cache", "refused"].map(|name| line[name].as_str().unwrap_or("-").to_owned())
            };
            assert_eq!(way(miss), ["server", "miss", "-"], "{at}");
            assert_eq!(way(hit), ["cache", "hit", "-"], "{at}");
            assert_eq!(way(refused)[..2], ["server", "refused"], "{at}: {refused}");
            assert_eq!(way(denied), ["weir", "-", "-"], "{at}");
            assert_eq!(
                (&denied["action"], &hit["action"], &error["action"]),
                (&json!("denied"), &Value::Null, &Value::Null)
            );
            assert_eq!((&miss["rules"], &denied["rules"]), (&json!(["keep"]), &json!(["no"])), "{at}");
            assert_eq!(hit["rules"], json!(["keep"]), "{at}");
            assert_eq!((&hit["rows_sent"], &hit["server_seconds"]), (&json!(1), &json!(0.0)), "{at}");
            assert!(miss["server_seconds"].as_f64() > Some(0.0), "{at}: {miss}");
            assert!(miss["total_seconds"].as_f64() >= miss["server_seconds"].as_f64(), "{at}: {miss}");
            assert_eq!((&denied["error"], &error["error"]), (&json!(1227), &json!(1062)), "{at}");
            assert_eq!((&update["rows_affected"], &update["rules"]), (&json!(2), &json!([])), "{at}");
            let pin = if mode == MODES[0] { "session_mode" } else { "transaction" };
            for line in [begin, update] {
                assert!(line["pins"].as_array().unwrap().contains(&json!(pin)), "{at}: {line}");
            }
            assert_eq!(
                (&executed["command"], &executed["rows_sent"]),
                (&json!("stmt_execute"), &json!(2)),
                "{at}"
            );
            assert_eq!(executed["digest"], "SELECT `v` FROM `t` WHERE `id` > ? FOR UPDATE", "{at}");
            for line in &lines {
                assert_eq!(
                    (&line["user"], &line["schema"]),
                    (&json!("app"), &json!("ql_way")),
                    "{at}: {line}"
                );
                assert_eq!((&line["why"], &line["statement"]), (&json!("sample"), &Value::Null), "{at}");
                assert_eq!(line["session"], one.greeting().connection_id, "{at}");
                assert_eq!(line["id"].as_str().unwrap().len(), 16, "{at}");
            }
            assert!(lines.iter().all(|line| line["waited_for_rule_seconds"] == 0.0), "{at}: {lines:#?}");
            let written = metric(&weir, "weir_log_lines_total").await;
            assert!(written >= 9.0, "{at}: {written}");
            // Some of these have to wait for the rate, and nothing else is queued for.
            for _ in 0..4 {
                one.run("SELECT 'rated'").await.unwrap();
            }
            let rated = so_many(&weir, 13).await.split_off(9);
            let wait = |line: &Value| line["waited_for_rule_seconds"].as_f64().unwrap();
            assert!(rated.iter().any(|line| wait(line) > 0.0), "{at}: {rated:#?}");
            assert!(
                rated.iter().all(|line| Some(wait(line)) <= line["queue_seconds"].as_f64()),
                "{at}: {rated:#?}"
            );
            one.run("SELECT 1").await.unwrap();
            assert_eq!(wait(&so_many(&weir, 14).await[13]), 0.0, "{at}");
            assert_eq!(metric(&weir, "weir_log_dropped_total{reason=\"queue_full\"}").await, 0.0, "{at}");
        }
    }
}

#[tokio::test]
async fn slow_ones_stand_there_with_their_text_where_that_is_asked_for() {
    for (flavor, server) in &both() {
        database(server, "ql_slow", &[]).await;
        let weir = sharing(server, 1, MODES[1], &log("slow = \"2s\"\nliterals = true\n"));
        let [mut one, mut two] = clients(&weir, "ql_slow").await;
        one.run("SELECT 'fast'").await.unwrap();
        one.run("BEGIN").await.unwrap();
        two.send(command::QUERY, b"SELECT 'waits'").await.unwrap();
        until("it waits", async || (metric(&weir, "weir_pool_waiting").await == 1.0).then_some(())).await;
        one.run("SELECT SLEEP(3), 'slow'").await.unwrap();
        one.run("COMMIT").await.unwrap();
        two.receive(command::QUERY).await.unwrap();
        let lines = so_many(&weir, 2).await;
        let texts: Vec<&str> = lines.iter().filter_map(|line| line["statement"].as_str()).collect();
        assert_eq!(texts, ["SELECT SLEEP(3), 'slow'", "SELECT 'waits'"], "{flavor:?}");
        assert!(lines.iter().all(|line| line["why"] == "slow"), "{flavor:?}: {lines:#?}");
        assert!(lines[0]["server_seconds"].as_f64() >= Some(3.0), "{flavor:?}");
        assert!(lines[1]["queue_seconds"].as_f64() >= Some(2.9), "{flavor:?}");
        assert_eq!(lines[1]["waited_for_rule_seconds"], 0.0, "{flavor:?}");
        assert!(lines[1]["server_seconds"].as_f64() < Some(2.0), "{flavor:?}");
    }
}

/// A text is that of the statement whose line it stands in, and of no other; once it is not wanted any more none is written.
#[tokio::test]
async fn no_line_has_the_text_of_another_statement_or_one_that_is_not_wanted_any_more() {
    for (flavor, server) in &both() {
        table(server, "ql_other").await;
        let keys = log("slow = \"2s\"\nliterals = true\n");
        let mut weir = sharing(server, 2, MODES[1], &keys);
        let [mut one] = clients(&weir, "ql_other").await;
        let prepared = one.prepare("SELECT SLEEP(?)").await.unwrap();
        one.run("UPDATE t SET v = 'secret' WHERE id = 1").await.unwrap();
        execute(&mut one, prepared.id, &[Param::Double(2.2)], true).await;
        let executed = so_many(&weir, 1).await;
        assert_eq!(executed[0]["command"], "stmt_execute", "{flavor:?}: {executed:#?}");
        assert_eq!(executed[0]["statement"], Value::Null, "{flavor:?}: {executed:#?}");

        one.send(command::QUERY, b"SELECT SLEEP(3), 'secret'").await.unwrap();
        let text = sharing_config(
            &server.addr().to_string(),
            2,
            MODES[1],
            &keys.replace("literals = true", "literals = false"),
        );
        weir.reload(&text).unwrap();
        weir.wait_for_line("event=\"reloaded\"", PATIENCE).unwrap();
        one.receive(command::QUERY).await.unwrap();
        let lines = so_many(&weir, 2).await;
        assert_eq!(
            (&lines[1]["command"], &lines[1]["statement"]),
            (&json!("query"), &Value::Null),
            "{flavor:?}"
        );
        assert!(!fs::read_to_string(path(&weir)).unwrap().contains("secret"), "{flavor:?}");
    }
}

/// A file that is full goes on as `.1`, `.2`; no line is lost or torn, and a reload opens the file anew.
#[tokio::test]
async fn files_are_exchanged_and_opened_anew_and_lines_stay_whole() {
    let server = server(Flavor::MariaDb);
    database(&server, "ql_turn", &[]).await;
    let mut weir =
        sharing(&server, 2, MODES[1], &log("sample = \"100%\"\nmax_size = \"64KiB\"\nfiles = 2\n"));
    let [mut one] = clients(&weir, "ql_turn").await;
    let numbered = |n: u32| weir.home().join(format!("queries.json.{n}"));
    for _ in 0..600 {
        one.run("SELECT 1").await.unwrap();
    }
    until("all is written", async || (metric(&weir, "weir_log_lines_total").await >= 600.0).then_some(()))
        .await;
    let kept: Vec<Value> = [numbered(2), numbered(1), path(&weir)].iter().flat_map(lines).collect();
    assert!(!numbered(3).exists() && kept.len() > 200 && kept.len() < 600, "{}", kept.len());
    for file in [numbered(1), numbered(2), path(&weir)] {
        let size = fs::metadata(&file).unwrap().len();
        assert!(size <= 64 * 1024, "{size}");
    }
    let times: Vec<f64> = kept.iter().map(|line| line["time"].as_f64().unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");

    let away = weir.home().join("away.json");
    fs::rename(path(&weir), &away).unwrap();
    let before = lines(&away).len();
    weir.signal(Signal::Hup).unwrap();
    until("it was opened anew", async || {
        one.run("SELECT 'anew'").await.unwrap();
        path(&weir).exists().then_some(())
    })
    .await;
    assert!(lines(&away).len() >= before);
    assert!(!so_many(&weir, 1).await.is_empty());
}

/// The proxy goes on, says so once, counts what is lost, and writes again when it can.
#[tokio::test]
async fn a_file_that_cannot_be_written_stops_nobody() {
    let server = server(Flavor::MySql);
    database(&server, "ql_full", &[]).await;
    let weir =
        sharing(&server, 2, MODES[1], "[query_log]\nfile = \"gone/queries.json\"\nsample = \"100%\"\n");
    let [mut one] = clients(&weir, "ql_full").await;
    for _ in 0..50 {
        one.run("SELECT 1").await.unwrap();
    }
    weir.wait_for_line("event=\"query_log_not_written\"", PATIENCE).unwrap();
    let dropped = "weir_log_dropped_total{reason=\"not_written\"}";
    until("they are counted", async || (metric(&weir, dropped).await >= 50.0).then_some(())).await;
    fs::create_dir(weir.home().join("gone")).unwrap();
    one.run("SELECT 'again'").await.unwrap();
    weir.wait_for_line("event=\"query_log_written\"", PATIENCE).unwrap();
    assert!(!lines(&weir.home().join("gone/queries.json")).is_empty());
    let said = weir.log().lines().filter(|line| line.contains("query_log_not_written")).count();
    assert_eq!(said, 1);
}
