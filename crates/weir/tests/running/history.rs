//! What was counted over time, and that nothing about its file keeps clients from being served.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};
use serde_json::{Value, json};

use crate::api_kit::*;
use crate::cache_kit::*;
use crate::full_disk::SmallDisk;
use crate::kit::*;
use crate::sharing_kit::*;

const POINT: &str = "SELECT `v` FROM `t` WHERE `id` = ?";
const HISTORY: &str = "[history]\nfile = \"history.db\"\n";

fn with_history(server: &Server) -> Weir {
    weir_with(server, HISTORY)
}

fn db(weir: &Weir) -> PathBuf {
    weir.home().join("history.db")
}

/// The row of point selects in a window.
fn calls(weir: &Weir, schema: &str, window: &str) -> u64 {
    let told = told_json(weir, &["queries", "--window", window, "--schema", schema, "--limit", "1000"]);
    let rows = told["queries"].as_array().unwrap().iter();
    rows.filter(|row| row["digest"] == POINT).map(|row| row["calls"].as_u64().unwrap()).sum()
}

/// Waits until the row of point selects tells of so many, and holds that it tells of no more. What a client has taken is
/// counted in the same moment, not before; and an answer goes without what the file could not take in two seconds.
async fn calls_become(weir: &Weir, schema: &str, count: u64) {
    let found = until("point selects are told", async || {
        let found = calls(weir, schema, "15m");
        (found >= count).then_some(found)
    })
    .await;
    assert_eq!(found, count, "{schema}");
}

/// The same of all statements that Weir has counted since it began, by minutes and by seconds.
async fn all_are_told(weir: &Weir) {
    until("all statements are told", async || {
        let counted = metric(weir, "weir_commands_total{command=\"query\"}").await as u64;
        let found = statements(weir);
        assert!(found.iter().all(|found| *found <= counted), "{found:?} of {counted}");
        (found == [counted, counted]).then_some(())
    })
    .await;
}

/// All statements of the last hour, by minutes and by seconds.
fn statements(weir: &Weir) -> [u64; 2] {
    ["1m", "1s"].map(|step| {
        let told = told_json(weir, &["history", "--window", "1h", "--step", step]);
        told["points"].as_array().unwrap().iter().map(|point| point["statements"].as_u64().unwrap()).sum()
    })
}

async fn select(client: &mut Client, times: u32) {
    for id in 0..times {
        client.run(&format!("SELECT v FROM t WHERE id = {id} /* 'secret-literal' */")).await.unwrap();
    }
}

/// Statements that the file tells of, without asking Weir.
fn written(weir: &Weir) -> u64 {
    let sum = "SELECT coalesce(sum(statements), 0) FROM minute";
    Connection::open(db(weir)).unwrap().query_row(sum, (), |row| row.get(0)).unwrap()
}

/// What all files of the history hold.
fn bytes(weir: &Weir) -> Vec<u8> {
    let entries = fs::read_dir(weir.home()).unwrap().map(|entry| entry.unwrap());
    let of_history = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("history.db"));
    of_history.flat_map(|entry| fs::read(entry.path()).unwrap()).collect()
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

#[tokio::test]
async fn a_window_and_the_totals_tell_what_was_counted_and_a_reset_takes_nothing_of_it() {
    for (flavor, server) in &both() {
        table(server, "hi_window").await;
        let mut weir = with_history(server);
        let mut client = client(&weir, "hi_window").await;
        select(&mut client, 20).await;
        client.query("SELECT v FROM missing WHERE v = 'secret-literal'").await.unwrap();
        calls_become(&weir, "hi_window", 20).await;
        all_are_told(&weir).await;
        told(&weir, &["queries", "reset"]);
        assert_eq!(calls(&weir, "hi_window", "15m"), 20, "{flavor:?}");
        select(&mut client, 30).await;
        calls_become(&weir, "hi_window", 50).await;
        all_are_told(&weir).await;

        let told_all = told_json(&weir, &["history", "--window", "10m", "--step", "10m"]);
        let points = told_all["points"].as_array().unwrap();
        let sum = |name: &str| points.iter().map(|point| point[name].as_f64().unwrap()).sum::<f64>();
        assert_eq!((sum("errors"), sum("logins")), (1.0, 1.0), "{flavor:?}");
        assert!(
            sum("bytes_in") > 2000.0 && sum("bytes_out") > 2000.0 && sum("cpu_seconds") > 0.0,
            "{points:?}"
        );
        assert_eq!(told_all["state"]["writing"], true);
        let text = told(&weir, &["history", "--window", "10m"]);
        assert!(text.contains("statements/s") && text.contains("in steps of 10s"), "{text}");
        let text = told(&weir, &["queries", "--window", "10m"]);
        assert!(text.contains(POINT) && text.contains("counted for"), "{text}");
        let period = &told_json(&weir, &["queries", "--window", "90s"])["period"];
        let second = |name: &str| period[name].as_u64().unwrap();
        assert_eq!(
            (second("asked_to") - second("asked_from"), second("from") % 60, second("to") % 60),
            (90, 0, 0)
        );
        assert!(second("from") <= second("asked_from") && second("asked_to") <= second("to"), "{period:#}");

        assert_eq!(weir.terminate(PATIENCE).unwrap().code(), Some(0), "{flavor:?}");
        let bytes = bytes(&weir);
        assert!(holds(&bytes, POINT) && !holds(&bytes, "secret-literal"), "{flavor:?}");
    }
}

#[tokio::test]
async fn after_a_kill_under_load_weir_serves_at_once_and_the_history_is_there() {
    for (flavor, server) in &both() {
        table(server, "hi_kill").await;
        let mut weir = with_history(server);
        let mut first = client(&weir, "hi_kill").await;
        select(&mut first, 100).await;
        calls_become(&weir, "hi_kill", 100).await;
        // These are whole minutes from here on; the others are of the minute that is under way.
        age(&db(&weir), 300);
        select(&mut first, 20).await;
        calls_become(&weir, "hi_kill", 120).await;
        let load: Vec<_> = {
            let mut tasks = Vec::new();
            for _ in 0..4 {
                let mut client = client(&weir, "hi_kill").await;
                tasks.push(tokio::spawn(async move {
                    // Another digest: a minute may end meanwhile, and then some of these are in the file.
                    while client.run("SELECT id FROM t WHERE id = 1").await.is_ok() {
                        // Others need the machine too.
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                }));
            }
            tasks
        };
        // Some of the load is written without anybody asking Weir.
        let before = written(&weir);
        until("seconds are written", async || (written(&weir) > before + 100).then_some(())).await;
        weir.kill9().unwrap();
        for task in load {
            task.await.unwrap();
        }
        let kept = written(&weir);
        weir.restart().unwrap();
        let mut again = client(&weir, "hi_kill").await;
        select(&mut again, 7).await;
        calls_become(&weir, "hi_kill", 127).await;
        let counted = metric(&weir, "weir_commands_total{command=\"query\"}").await as u64;
        until("both are written together", async || (statements(&weir) == [kept + counted; 2]).then_some(()))
            .await;
        let check: String = Connection::open(db(&weir))
            .unwrap()
            .query_row("PRAGMA integrity_check", (), |row| row.get(0))
            .unwrap();
        assert_eq!(check, "ok", "{flavor:?}");
        assert!(!weir.log().contains("corrupt"), "{}", weir.log());
    }
}

/// Makes all of the history so many seconds older.
fn age(path: &Path, seconds: u64) {
    let mut connection = Connection::open(path).unwrap();
    connection.busy_timeout(PATIENCE).unwrap();
    let all = connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    for table in ["minute", "second", "digest_minute"] {
        all.execute(&format!("UPDATE {table} SET at = at - {seconds}"), ()).unwrap();
    }
    all.commit().unwrap();
}

#[tokio::test]
async fn two_times_are_compared() {
    for (flavor, server) in &both() {
        table(server, "hi_compare").await;
        let mut weir = with_history(server);
        let mut one = client(&weir, "hi_compare").await;
        select(&mut one, 10).await;
        for _ in 0..10 {
            one.run("SELECT id FROM t WHERE SLEEP(0) = 1").await.unwrap();
        }
        one.run("SELECT COUNT(*) FROM t").await.unwrap();
        weir.terminate(PATIENCE).unwrap();
        age(&db(&weir), 3600);
        // As if they had come in ten minutes, so that the rates do not hang on the machine.
        let slowly = "UPDATE minute SET covered_ms = 600000 WHERE at = (SELECT min(at) FROM minute)";
        assert_eq!(Connection::open(db(&weir)).unwrap().execute(slowly, ()).unwrap(), 1);
        weir.restart().unwrap();
        let mut two = client(&weir, "hi_compare").await;
        select(&mut two, 400).await;
        for _ in 0..10 {
            two.run("SELECT id FROM t WHERE SLEEP(0.1) = 1").await.unwrap();
        }
        two.run("SELECT MAX(id) FROM t").await.unwrap();
        let compare = ["queries", "--window", "30m", "--compare", "1h", "--schema", "hi_compare"];
        let found = until("the last statement is told", async || {
            let found = told_json(&weir, &compare);
            (found["new"]["rows"] == 1).then_some(found)
        })
        .await;
        let texts = |list: &str| -> Vec<String> {
            let rows = found[list]["queries"].as_array().unwrap().iter();
            rows.map(|row| row["digest"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(texts("new"), ["SELECT MAX ( `id` ) FROM `t`"], "{flavor:?} {found:#}");
        assert_eq!(texts("gone"), ["SELECT COUNT ( * ) FROM `t`"], "{flavor:?} {found:#}");
        // Others may have become slower too: how fast the machine is at that minute is not ours.
        let slept = "SELECT `id` FROM `t` WHERE `SLEEP` (?) = ?";
        let at = texts("slower").iter().position(|text| text == slept);
        let at = at.unwrap_or_else(|| panic!("{flavor:?} {found:#}"));
        assert!(texts("more_often").contains(&POINT.to_owned()), "{flavor:?} {found:#}");
        let slower = &found["slower"]["queries"][at];
        assert_eq!((&slower["now"]["calls"], &slower["then"]["calls"]), (&json!(10), &json!(10)));
        // Three rows, and 100 ms more for each, ten times; some of it is what the first ten have taken beside.
        let added = slower["added_seconds"].as_f64().unwrap();
        assert!((0.1..=60.0).contains(&added), "{slower:#}");
        let behind = told_json(&weir, &[&compare[..], &["--offset", "1"]].concat());
        assert_eq!(
            (&behind["new"]["rows"], &behind["new"]["queries"]),
            (&json!(1), &json!([])),
            "{behind:#}"
        );
        let text = told(&weir, &compare);
        assert!(text.contains("slower: ") && text.contains("SLEEP") && text.contains("then  20"), "{text}");
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        // Seen from an hour ago the statement that is slower now was faster.
        let (from, to) = (now - 4200, now + 120);
        let path = format!("from={from}&to={}&against_from={}&against_to={to}", now - 3000, now - 600);
        let line = format!("GET /api/v1/queries/compare?{path}&schema=hi_compare");
        let (_, back): (u16, Value) = request(&weir, &line, "Host: localhost\r\n", "").await;
        let all = back["faster"]["queries"].as_array().unwrap_or_else(|| panic!("{back:#}"));
        let faster = all.iter().find(|row| row["digest"] == slept).unwrap_or_else(|| panic!("{back:#}"));
        let won = faster["won_seconds"].as_f64().unwrap();
        assert!((won - added).abs() < 1e-6 && faster["added_seconds"] == 0.0, "{faster:#}");
        let (from, to) = (now - 4200, now - 3000);
        let path = format!("/api/v1/queries/compare?window=20m&against_from={from}&against_to={to}");
        let (status, found): (u16, Value) =
            request(&weir, &format!("GET {path}"), "Host: localhost\r\n", "").await;
        assert_eq!((status, &found["gone"]["rows"]), (200, &json!(1)), "{flavor:?} {found:#}");
    }
}

/// Fills the file with rows of an hour, an hour ago. They tell nothing: nobody must read them.
fn fill(path: &Path, rows: u32) {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(PATIENCE).unwrap();
    let rows = connection
        .execute(
            "WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n + 1 < ?1)
             INSERT INTO digest_minute
             SELECT m.at - 7200 + 60 * (n % 60), 1000 + n, 1, 1, 0, 0, 1, zeroblob(900)
             FROM n, (SELECT max(at) AS at FROM minute) AS m",
            [rows],
        )
        .unwrap();
    assert!(rows > 0);
}

#[tokio::test]
async fn a_reload_changes_how_much_is_kept_and_not_where() {
    let (_, server) = &both()[0];
    table(server, "hi_reload").await;
    let mut weir = with_history(server);
    select(&mut client(&weir, "hi_reload").await, 5).await;
    calls_become(&weir, "hi_reload", 5).await;
    fill(&db(&weir), 50_000);
    // It is written every five seconds, and looked at then.
    let bytes = async || metric(&weir, "weir_history_bytes").await;
    let most = f64::from(32 << 20);
    until("the file is known to be large", async || (bytes().await > most).then_some(())).await;
    let before = file(&weir);
    let keys = "max_size = \"32MiB\"\nminutes = \"2h\"\nseconds = \"10m\"\ndigests = 20\n";
    fs::write(weir.home().join("weir.toml"), before.replace(HISTORY, &format!("{HISTORY}{keys}"))).unwrap();
    let said = told(&weir, &["reload"]);
    for key in ["max_size", "minutes", "seconds", "digests"] {
        assert!(said.contains(&format!("history.{key}")), "{said}");
    }
    until("what is old has made room", async || (bytes().await <= most).then_some(())).await;
    calls_become(&weir, "hi_reload", 5).await;
    let refused = [
        ("history.enabled", format!("{HISTORY}enabled = false\n")),
        ("history.file", HISTORY.replace("history.db", "moved.db")),
    ];
    for (key, keys) in refused {
        fs::write(weir.home().join("weir.toml"), before.replace(HISTORY, &keys)).unwrap();
        let said = refused_with(&weir, &["reload"]);
        assert!(said.contains(key) && said.contains("restart Weir"), "{said}");
    }
    weir.terminate(PATIENCE).unwrap();
}

#[tokio::test]
async fn without_a_file_there_is_no_history_and_it_is_said() {
    let (_, server) = &both()[0];
    let weir = weir(server);
    assert!(weir.log().contains("no history is kept"), "{}", weir.log());
    let said = refused_with(&weir, &["history"]);
    assert!(said.contains("history.file"), "{said}");
    refused_with(&weir, &["queries", "--window", "15m"]);
    told(&weir, &["queries"]);
    assert!(!http(&weir, "/metrics").await.1.contains("weir_history"));
}

/// The state directory that systemd gives is where it goes by itself.
#[tokio::test]
async fn the_state_directory_is_used_where_there_is_one() {
    let (_, server) = &both()[0];
    let state = tempfile::tempdir().unwrap();
    let text = config(&server.addr().to_string(), "");
    let weir = Weir::config(text).env("STATE_DIRECTORY", state.path().display().to_string()).start().unwrap();
    weir.wait_for_line("the history is written", PATIENCE).unwrap();
    told(&weir, &["history"]);
    assert!(state.path().join("weir-history.db").exists());
}

/// The reason that `/metrics` gives.
async fn trouble(weir: &Weir) -> String {
    let text = http(weir, "/metrics").await.1;
    let lines = text.lines().filter_map(|line| line.strip_prefix("weir_history_trouble{reason=\""));
    lines.filter_map(|line| line.strip_suffix("\"} 1")).collect()
}

#[tokio::test]
async fn a_file_that_cannot_be_written_or_is_not_ours_keeps_nobody_from_being_served() {
    for (flavor, server) in &both() {
        table(server, "hi_bad").await;
        let mut weir = with_history(server);
        weir.wait_for_line("the history is written", PATIENCE).unwrap();
        weir.terminate(PATIENCE).unwrap();
        let connection = Connection::open(db(&weir)).unwrap();
        connection.execute_batch("PRAGMA user_version = 99").unwrap();
        drop(connection);
        let before = fs::read(db(&weir)).unwrap();
        weir.restart().unwrap();
        weir.wait_for_line("no history is written", PATIENCE).unwrap();
        assert_eq!((trouble(&weir).await, metric(&weir, "weir_history_up").await), ("newer".to_owned(), 0.0));
        let mut one = client(&weir, "hi_bad").await;
        select(&mut one, 3).await;
        let said = refused_with(&weir, &["history"]);
        assert!(said.contains("a newer Weir"), "{said}");
        weir.terminate(PATIENCE).unwrap();
        assert_eq!(fs::read(db(&weir)).unwrap(), before, "{flavor:?}: it was not touched");

        let text = "this is no database at all, and never was one; ".repeat(200);
        fs::write(db(&weir), &text).unwrap();
        weir.restart().unwrap();
        weir.wait_for_line("file of another program", PATIENCE).unwrap();
        assert_eq!(trouble(&weir).await, "foreign");
        weir.terminate(PATIENCE).unwrap();
        assert_eq!(fs::read_to_string(db(&weir)).unwrap(), text, "{flavor:?}: it was not touched");

        // What says whose it is is left of it.
        let mut damaged = before;
        damaged[100..].fill(0xa5);
        fs::write(db(&weir), damaged).unwrap();
        weir.restart().unwrap();
        weir.wait_for_line("it was set aside and is begun anew", PATIENCE).unwrap();
        let mut two = client(&weir, "hi_bad").await;
        select(&mut two, 3).await;
        calls_become(&weir, "hi_bad", 3).await;
        assert_eq!(metric(&weir, "weir_history_corrupt_total").await, 1.0);
        let names: Vec<_> =
            fs::read_dir(weir.home()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        let aside = names.iter().filter(|name| name.to_string_lossy().starts_with("history.db.corrupt-"));
        assert_eq!(aside.count(), 1, "{names:?}");

        let missing = weir_with(server, "[history]\nfile = \"missing/history.db\"\n");
        missing.wait_for_line("no history is written", PATIENCE).unwrap();
        assert_eq!(trouble(&missing).await, "unwritable");
        let warned = told_json(&missing, &["status"])["warnings"].clone();
        let is_said = |warning: &Value| warning["warning"] == "history_stopped";
        assert!(warned.as_array().unwrap().iter().any(is_said), "{flavor:?}: {warned:#}");
        select(&mut client(&missing, "hi_bad").await, 3).await;
    }
}

#[tokio::test]
async fn two_with_one_file_do_not_mix_and_the_second_goes_on_when_the_first_ends() {
    let (_, server) = &both()[0];
    table(server, "hi_two").await;
    let mut one = with_history(server);
    one.wait_for_line("the history is written", PATIENCE).unwrap();
    let two = weir_with(server, &format!("[history]\nfile = \"{}\"\n", db(&one).display()));
    two.wait_for_line("another Weir writes it", PATIENCE).unwrap();
    assert_eq!(trouble(&two).await, "in_use");
    select(&mut client(&two, "hi_two").await, 5).await;
    one.terminate(PATIENCE).unwrap();
    two.wait_for_line("the history is written again", PATIENCE).unwrap();
    assert_eq!(trouble(&two).await, "");
    // What it has counted meanwhile is not lost.
    calls_become(&two, "hi_two", 5).await;
}

#[tokio::test]
async fn a_full_disk_is_said_once_and_clients_are_served() {
    let Some(disk) = SmallDisk::new() else { return };
    for (flavor, server) in &both() {
        let name = format!("hi_full_{}", format!("{flavor:?}").to_lowercase());
        table(server, &name).await;
        let file = disk.path().join(format!("{name}.db"));
        let weir = weir_with(server, &format!("[history]\nfile = \"{}\"\n", file.display()));
        let mut client = client(&weir, &name).await;
        select(&mut client, 5).await;
        calls_become(&weir, &name, 5).await;
        let filler = disk.path().join("filler");
        // Writes what there is room for.
        let _ = fs::write(&filler, vec![1u8; 2 << 20]);
        until("the disk is full", async || {
            select(&mut client, 1).await;
            told(&weir, &["history"]);
            weir.log().contains("no history is written").then_some(())
        })
        .await;
        assert_eq!((trouble(&weir).await, metric(&weir, "weir_history_up").await), ("full".to_owned(), 0.0));
        select(&mut client, 10).await;
        fs::remove_file(&filler).unwrap();
        weir.wait_for_line("the history is written again", PATIENCE).unwrap();
        assert_eq!(weir.log().matches("no history is written").count(), 1, "{}", weir.log());
        assert_eq!(trouble(&weir).await, "");
        // Nothing was lost, for it was not long.
        all_are_told(&weir).await;
    }
}
