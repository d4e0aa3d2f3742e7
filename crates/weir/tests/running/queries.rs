//! What is counted of statements by digest, and how it is shown.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use weir_testkit::client::command::{self, Param};

use crate::api_kit::*;
use crate::cache_kit::*;
use crate::kit::*;
use crate::sharing_kit::*;

pub const SESSION: &str = "sharing = \"session\"\n";
const TRANSACTION: &str = "sharing = \"transaction\"\n";
pub const POINT: &str = "SELECT `v` FROM `t` WHERE `id` = ?";

/// The rows of all statements in this schema.
fn rows(weir: &Weir, schema: &str) -> Vec<Value> {
    let told = told_json(weir, &["queries", "--limit", "1000", "--schema", schema]);
    told["queries"].as_array().unwrap().clone()
}

/// What this session has run is counted: that is done behind the answer, and ahead of the next command.
pub async fn counted(client: &mut Client) {
    assert!(client.command(command::PING, b"").await.unwrap().err().is_none());
}

/// The row of this digest.
#[track_caller]
pub fn row_of(rows: &[Value], digest: &str) -> Value {
    let mut found = rows.iter().filter(|row| row["digest"] == digest);
    let row = found.next().unwrap_or_else(|| panic!("{digest}: {rows:#?}"));
    assert!(found.next().is_none(), "{digest}: {rows:#?}");
    row.clone()
}

fn sum(rows: &[Value], name: &str) -> u64 {
    rows.iter().map(|row| row[name].as_u64().unwrap()).sum()
}

/// What is counted in this row: calls, errors, rows sent and affected.
fn told_of(row: &Value) -> [u64; 4] {
    ["calls", "errors", "rows_sent", "rows_affected"].map(|name| row[name].as_u64().unwrap())
}

/// Bytes of packets with their headers, as a client has sent and read them.
#[derive(Default)]
struct Books {
    of: BTreeMap<String, [u64; 2]>,
    statements: u64,
}

impl Books {
    /// Sends a command whose statement has this digest, and books it.
    async fn send(&mut self, client: &mut Client, digest: &str, code: u8, body: &[u8]) -> Response {
        let response = client.command(code, body).await.unwrap();
        let read = response.packets.iter().map(|packet| packet.payload.len() + 4 * packet.frames);
        let [sent, got] = self.of.entry(digest.to_owned()).or_default();
        *sent += body.len() as u64 + 5;
        *got += read.sum::<usize>() as u64;
        self.statements += 1;
        response
    }

    async fn query(&mut self, client: &mut Client, digest: &str, sql: &str) -> Response {
        let body = client.query_body(sql.as_bytes());
        self.send(client, digest, command::QUERY, &body).await
    }

    fn total(&self) -> [u64; 2] {
        self.of.values().fold([0; 2], |[sent, got], [more, read]| [sent + more, got + read])
    }
}

/// The bytes of a row, in and out.
fn bytes_of(row: &Value) -> [u64; 2] {
    ["bytes_in", "bytes_out"].map(|name| row[name].as_u64().unwrap())
}

/// Nanoseconds of all lines of the query log about this digest in this schema, and how many there are.
fn logged(lines: &[Value], row: &Value, times: &str) -> (u64, u64) {
    let of_row = |line: &&Value| line["id"] == row["id"] && line["schema"] == row["schema"];
    let times = lines.iter().filter(of_row).map(|line| nanos(&line[times])).filter(|time| *time > 0);
    times.fold((0, 0), |(count, sum), time| (count + 1, sum + time))
}

fn nanos(seconds: &Value) -> u64 {
    (seconds.as_f64().unwrap() * 1e9).round() as u64
}

/// What a client counts of a workload, byte by byte, is what Weir counts of it.
#[tokio::test]
async fn counters_say_what_a_workload_did() {
    const INSERT: &str = "INSERT INTO `t` VALUES (...)";
    const MANY: &str = "INSERT INTO `t` VALUES (...) /* , ... */";
    const UPDATE: &str = "UPDATE `t` SET `v` = ? WHERE `id` IN (...)";
    const BY_ONE: &str = "SELECT `v` FROM `t` ORDER BY 1 LIMIT ?";
    const BY_TWO: &str = "SELECT `v` FROM `t` ORDER BY 2 LIMIT ?";
    const OWN: &str = "SHOW `WEIR` SESSION";
    const ELSEWHERE: &str = "elsewhere";
    const LOG: &str = "[query_log]\nfile = \"queries.json\"\nsample = \"100%\"\n";
    for (flavor, server) in &both() {
        for (mode, name) in [(SESSION, "qu_work_s"), (TRANSACTION, "qu_work_t")] {
            let at = format!("{flavor:?} {mode}");
            table(server, name).await;
            let other = format!("{name}_2");
            table(server, &other).await;
            let weir = sharing(server, 4, mode, LOG);
            let [mut one, mut two] = clients(&weir, name).await;
            let mut books = Books::default();
            for id in [1, 2, 3, 17] {
                books.query(&mut one, POINT, &format!("SELECT v FROM t WHERE id={id}")).await;
            }
            let prepared = two.prepare("select v from t where id = ?").await.unwrap();
            for id in [2, 3, 17] {
                let params = [Param::Int(id)];
                let execute = command::Execute {
                    id: prepared.id,
                    flags: 0,
                    params: &params,
                    types: true,
                    attributes: false,
                };
                books.send(&mut two, POINT, command::STMT_EXECUTE, &execute.body()).await;
            }
            two.command(command::PING, b"").await.unwrap();
            books.query(&mut one, INSERT, "INSERT INTO t VALUES (4, 'four')").await;
            books.query(&mut one, MANY, "INSERT INTO t VALUES (5, 'x'), (6, 'y'), (7, 'z')").await;
            for _ in 0..2 {
                let twice = books.query(&mut one, INSERT, "INSERT INTO t VALUES (1, 'again')").await;
                assert!(twice.err().is_some());
            }
            books.query(&mut one, UPDATE, "UPDATE t SET v = 'five' WHERE id IN (4, 5)").await;
            books.query(&mut one, BY_ONE, "SELECT v FROM t ORDER BY 1 LIMIT 2").await;
            assert!(
                books.query(&mut one, BY_TWO, "SELECT v FROM t ORDER BY 2 LIMIT 2").await.err().is_some()
            );
            books.query(&mut one, OWN, "SHOW WEIR SESSION").await;
            books.query(&mut one, ELSEWHERE, &format!("USE {other}")).await;
            books.query(&mut one, ELSEWHERE, "SELECT v FROM t WHERE id=1").await;
            one.command(command::INIT_DB, name.as_bytes()).await.unwrap();
            books.query(&mut one, POINT, "SELECT v FROM t WHERE id=1").await;
            for client in [&mut one, &mut two] {
                counted(client).await;
            }

            let counted = rows(&weir, name);
            let point = row_of(&counted, POINT);
            assert_eq!(told_of(&point), [8, 0, 6, 0], "{at}");
            let insert = row_of(&counted, INSERT);
            assert_eq!(told_of(&insert), [3, 2, 0, 1], "{at}");
            assert_eq!(insert["error_codes"], json!({"1062": 2}), "{at}");
            assert_eq!(told_of(&row_of(&counted, MANY)), [1, 0, 0, 3], "{at}");
            assert_eq!(told_of(&row_of(&counted, UPDATE)), [1, 0, 0, 2], "{at}");
            assert_eq!(told_of(&row_of(&counted, BY_ONE)), [1, 0, 2, 0], "{at}");
            assert_eq!(told_of(&row_of(&counted, BY_TWO)), [1, 1, 0, 0], "{at}");
            assert_eq!(told_of(&row_of(&rows(&weir, &other), POINT)), [1, 0, 1, 0], "{at}");
            let own = row_of(&counted, OWN);
            assert_eq!((&own["answered_by_weir"], &own["calls"]), (&json!(1), &json!(1)), "{at}");
            for digest in [POINT, INSERT, MANY, UPDATE, BY_ONE, BY_TWO, OWN] {
                assert_eq!(bytes_of(&row_of(&counted, digest)), books.of[digest], "{at}: {digest}");
            }

            let all = told_json(&weir, &["queries", "--limit", "1000"]);
            let all = all["queries"].as_array().unwrap();
            let queries = metric(&weir, "weir_commands_total{command=\"query\"}").await;
            let executions = metric(&weir, "weir_commands_total{command=\"stmt_execute\"}").await;
            assert_eq!(
                (sum(all, "calls"), books.statements as f64),
                (books.statements, queries + executions),
                "{at}"
            );
            assert_eq!([sum(all, "bytes_in"), sum(all, "bytes_out")], books.total(), "{at}");
            let path = weir.home().join("queries.json");
            let lines = until("all are logged", async || {
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                let whole = text.rfind('\n').map_or("", |end| &text[..end]);
                let lines: Vec<Value> =
                    whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
                (lines.len() as u64 >= books.statements).then_some(lines)
            })
            .await;
            for row in all {
                // Each histogram holds what the log tells of the same statements one by one.
                for (figure, of_line) in [
                    ("total", "total_seconds"),
                    ("server_time", "server_seconds"),
                    ("queue", "queue_seconds"),
                ] {
                    let told = (row[figure]["count"].as_u64().unwrap(), nanos(&row[figure]["sum_seconds"]));
                    assert_eq!(told, logged(&lines, row, of_line), "{at} {figure} {row:#}");
                }
                let by_weir = row["answered_by_weir"].as_u64().unwrap();
                let calls = row["calls"].as_u64().unwrap();
                assert_eq!(row["total"]["count"], calls, "{at}");
                assert_eq!(row["server_time"]["count"], calls - by_weir, "{at} {row:#}");
                assert_eq!((&row["queue"]["count"], &row["sample"]), (&json!(0), &Value::Null), "{at}");
                assert!(row["first_seen"].as_u64() <= row["last_seen"].as_u64(), "{at}");
            }
        }
    }
}

/// With several workers, and statements that end in an order of their own, no count is lost.
#[tokio::test]
async fn all_workers_are_added_up() {
    for (flavor, server) in &both() {
        table(server, "qu_workers").await;
        let weir = weir_with(server, "[runtime]\nworkers = 3\n");
        let mut tasks = tokio::task::JoinSet::new();
        for n in 0..6u32 {
            let mut client = client(&weir, "qu_workers").await;
            tasks.spawn(async move {
                for id in 0..50 {
                    client.run(&format!("SELECT v FROM t WHERE id = {}", id * n)).await.unwrap();
                }
                counted(&mut client).await;
                client
            });
        }
        tasks.join_all().await;
        let rows = rows(&weir, "qu_workers");
        let point = row_of(&rows, POINT);
        assert_eq!(point["calls"], 300, "{flavor:?}");
        assert_eq!((&point["total"]["count"], &point["server_time"]["count"]), (&json!(300), &json!(300)));
    }
}

#[tokio::test]
async fn what_the_cache_did_is_told_and_a_rule_is_made_of_a_digest() {
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["qu_cache_t", "qu_cache_s"]) {
            let at = format!("{flavor:?} {mode}");
            table(server, name).await;
            // A rule for this user makes even sessions of their own such that they can be served.
            let elsewhere = ALL.replace("kind = \"read\"", "table = \"elsewhere\"");
            let weir = sharing(server, 4, mode, &elsewhere);
            let [mut client] = clients(&weir, name).await;
            for _ in 0..3 {
                assert_eq!(value(&mut client, 1).await, "one");
            }
            counted(&mut client).await;
            let point = row_of(&rows(&weir, name), POINT);
            assert!(point["regret_seconds"].as_f64().unwrap() > 0.0, "{at}");
            assert_eq!((&point["hits"], &point["cacheable"]), (&json!(0), &json!(true)), "{at}");

            let id = point["id"].as_str().unwrap();
            let said = told(&weir, &["rules", "add", "--from-digest", id, "--cache", "5m"]);
            assert!(said.contains(&format!("rule digest-{id} added")), "{said}");
            assert!(file(&weir).contains(POINT) && file(&weir).contains("ttl = \"5m\""), "{}", file(&weir));
            for _ in 0..5 {
                assert_eq!(value(&mut client, 1).await, "one");
            }
            client.run("/*nocache*/ SELECT v FROM t WHERE id=1").await.unwrap();
            counted(&mut client).await;
            let shown = told_json(&weir, &["queries", "show", id]);
            let all = &shown["all"];
            assert_eq!(
                (&all["calls"], &all["hits"], &all["misses"]),
                (&json!(9), &json!(4), &json!(1)),
                "{at}"
            );
            assert_eq!(all["refused"], json!({"bypass": 1}), "{at}");
            assert_eq!((&all["rows_sent"], &all["server_time"]["count"]), (&json!(9), &json!(5)), "{at}");
            let saved = all["saved_seconds"].as_f64().unwrap();
            let rule = told_json(&weir, &["rules", "show", &format!("digest-{id}")]);
            let of_rule = rule["cache"]["saved_seconds"].as_f64().unwrap();
            // The rule counts whole microseconds.
            assert!(saved > 0.0 && (saved - of_rule).abs() < 5e-6, "{at} {saved} {of_rule}");
            let text = told(&weir, &["queries", "show", id]);
            assert!(text.contains(POINT) && text.contains("4 hits, 1 misses"), "{text}");
        }
    }
}

/// Who waits for the answer to another's statement waits as long as the server takes.
#[tokio::test]
async fn an_answer_that_was_waited_for_has_saved_nothing() {
    for (flavor, server) in &both() {
        table(server, "qu_flight").await;
        let weir = sharing(server, 4, TRANSACTION, ALL);
        let mut all: [Client; 3] = clients(&weir, "qu_flight").await;
        let mut holder = app(server.addr()).database("qu_flight").connect().await.unwrap();
        holder.run("LOCK TABLES t WRITE").await.unwrap();
        for client in &mut all {
            client.send(command::QUERY, b"SELECT v FROM t WHERE id=1").await.unwrap();
        }
        until("two wait for the first", async || {
            (metric(&weir, "weir_cache_waits_total{rule=\"all\"}").await == 2.0).then_some(())
        })
        .await;
        holder.run("UNLOCK TABLES").await.unwrap();
        for client in &mut all {
            assert_eq!(client.receive(command::QUERY).await.unwrap().rows().count(), 1, "{flavor:?}");
            counted(client).await;
        }
        let point = row_of(&rows(&weir, "qu_flight"), POINT);
        assert_eq!((&point["hits"], &point["misses"]), (&json!(2), &json!(1)), "{flavor:?}");
        let rule = told_json(&weir, &["rules", "show", "all"]);
        let saved = (&point["saved_seconds"], &rule["cache"]["saved_seconds"]);
        assert_eq!(saved, (&json!(0.0), &json!(0.0)), "{flavor:?}");
    }
}

#[tokio::test]
async fn pins_and_waits_are_told() {
    let server = server(Flavor::MySql);
    table(&server, "qu_pins").await;
    let weir = sharing(&server, 1, TRANSACTION, "");
    let [mut one, mut two] = clients(&weir, "qu_pins").await;
    let mut holder = app(server.addr()).database("qu_pins").connect().await.unwrap();
    holder.run("LOCK TABLES t WRITE").await.unwrap();
    let running = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO = 'SELECT MAX(v) FROM t'";
    let (first, second, ()) = tokio::join!(
        one.run("SELECT MAX(v) FROM t"),
        async {
            let mut direct = app(server.addr()).connect().await.unwrap();
            until("the first has the connection", async || {
                (row(&mut direct, running).await == "1").then_some(())
            })
            .await;
            two.run("SELECT v FROM t WHERE id=1").await
        },
        async {
            until("the second waits for it", async || {
                (metric(&weir, "weir_pool_waiting").await == 1.0).then_some(())
            })
            .await;
            holder.run("UNLOCK TABLES").await.unwrap();
        }
    );
    first.unwrap();
    second.unwrap();
    one.run("BEGIN").await.unwrap();
    one.run("COMMIT").await.unwrap();
    for client in [&mut one, &mut two] {
        counted(client).await;
    }
    let counted = rows(&weir, "qu_pins");
    let point = row_of(&counted, POINT);
    assert_eq!(point["queue"]["count"], 1, "{point:#}");
    let (queue, total) = (&point["queue"]["sum_seconds"], &point["total"]["sum_seconds"]);
    assert!(queue.as_f64() > Some(0.0) && queue.as_f64() < total.as_f64(), "{point:#}");
    assert_eq!(row_of(&counted, "BEGIN")["pins"], json!({"transaction": 1}));
}

#[tokio::test]
async fn the_table_is_bounded_and_sums_stay_exact() {
    let server = server(Flavor::MariaDb);
    table(&server, "qu_bound").await;
    for mode in [SESSION, TRANSACTION] {
        let weir = sharing(&server, 4, mode, "[analytics]\ndigests = 100\nsamples = true\n");
        let [mut client] = clients(&weir, "qu_bound").await;
        for n in 0..400 {
            client.run(&format!("SELECT v AS c{n} FROM t WHERE id = 1")).await.unwrap();
            client.run(&format!("SELECT id FROM t WHERE v = '{n}'")).await.unwrap();
        }
        counted(&mut client).await;
        let told = told_json(&weir, &["queries", "--limit", "1000"]);
        let rows = told["queries"].as_array().unwrap();
        assert_eq!((rows.len(), &told["rows"]), (100, &json!(100)), "{mode}");
        assert_eq!(sum(rows, "calls") + told["other"]["calls"].as_u64().unwrap(), 800, "{mode}");
        let busy = row_of(rows, "SELECT `id` FROM `t` WHERE `v` = ?");
        assert_eq!(
            (&busy["calls"], &busy["sample"]),
            (&json!(400), &json!("SELECT id FROM t WHERE v = '0'"))
        );
        assert_eq!(metric(&weir, "weir_digests_rows").await, 100.0);
        assert_eq!(metric(&weir, "weir_digests_evicted_total").await, 301.0);
        let bytes = metric(&weir, "weir_digests_memory_bytes").await;
        assert!((10_000.0..200_000.0).contains(&bytes), "{bytes}");
        assert!(told_text(&weir).contains("others: 301 calls"), "{}", told_text(&weir));

        assert!(self::told(&weir, &["queries", "reset"]).contains("forgot 100 rows"));
        assert_eq!(self::told(&weir, &["queries"]), "no statement was counted\n");
        client.run("SELECT id FROM t WHERE v = 'again'").await.unwrap();
        counted(&mut client).await;
        assert_eq!(row_of(&self::rows(&weir, "qu_bound"), "SELECT `id` FROM `t` WHERE `v` = ?")["calls"], 1);
    }
}

fn told_text(weir: &Weir) -> String {
    told(weir, &["queries", "--sort", "calls", "--limit", "3"])
}

#[tokio::test]
async fn nothing_is_counted_where_it_is_off() {
    let server = server(Flavor::MariaDb);
    table(&server, "qu_off").await;
    let weir = sharing(&server, 4, SESSION, "[analytics]\nenabled = false\n");
    let [mut client] = clients(&weir, "qu_off").await;
    assert_eq!(value(&mut client, 1).await, "one");
    assert!(told(&weir, &["queries"]).contains("analytics.enabled is off"));
    assert_eq!(told_json(&weir, &["queries"])["enabled"], false);
}

/// However many statements are told apart, who reads takes no more memory for it than for a page.
#[tokio::test]
async fn who_looks_at_many_rows_takes_little_memory() {
    const ROWS: usize = 6_000;
    const TEXTS: usize = 9_000;
    let server = server(Flavor::MariaDb);
    database(&server, "qu_many", &[]).await;
    let weir = Arc::new(sharing(&server, 4, SESSION, &format!("[analytics]\ndigests = {ROWS}\n")));
    let [mut client] = clients(&weir, "qu_many").await;
    for n in 0..TEXTS {
        client.run(&format!("SELECT 1 AS c{n}")).await.unwrap();
    }
    let paths =
        ["/queries?limit=1", "/queries?limit=1&sort=regret", "/advise/pins", "/advise/cache", "/status"];
    let ask = async |weir: &Weir, path: &str| {
        let host = format!("Host: {}\r\n", weir.admin_addr());
        request(weir, &format!("GET /api/v1{path}"), &host, "").await
    };
    // What is made at the first question is there from now on.
    for path in paths {
        assert_eq!(ask(&weir, path).await.0, 200, "{path}");
    }
    let before = weir.resident_bytes().unwrap();
    let process = format!("/proc/{}", weir.pid());
    // From here on the most counts.
    std::fs::write(format!("{process}/clear_refs"), "5").unwrap();
    let mut readers = tokio::task::JoinSet::new();
    for n in 0..20 {
        let weir = Arc::clone(&weir);
        readers.spawn(async move {
            let host = format!("Host: {}\r\n", weir.admin_addr());
            for path in paths.iter().cycle().skip(n).take(3) {
                let (status, told) = request(&weir, &format!("GET /api/v1{path}"), &host, "").await;
                assert_eq!(status, 200, "{path}: {told}");
            }
        });
    }
    for _ in 0..200 {
        client.run("SELECT 1 AS c0").await.unwrap();
    }
    readers.join_all().await;
    let status = std::fs::read_to_string(format!("{process}/status")).unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let most = most.split_whitespace().next().unwrap().parse::<u64>().unwrap() << 10;
    // A line in the form that is quick to add to takes 8 KiB, so all rows would be 46 MiB for each of those who ask.
    let taken = most.saturating_sub(before);
    assert!(taken < 32 << 20, "{taken} bytes beyond {before}");

    counted(&mut client).await;
    let told = told_json(&weir, &["queries", "--limit", "10000"]);
    let rows = told["queries"].as_array().unwrap();
    assert_eq!((rows.len(), told["rows"].as_u64()), (ROWS, Some(ROWS as u64)));
    let others = told["other"]["calls"].as_u64().unwrap();
    assert_eq!(sum(rows, "calls") + others, (TEXTS + 200) as u64);
}
