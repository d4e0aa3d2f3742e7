//! What goes wrong around an answer is nobody's trouble: questions of Weir's own that are refused, clients that take nothing,
//! errors of what runs behind an answer.

use std::ops::Range;
use std::time::{Duration, Instant};

use crate::api_kit::*;
use crate::cache_kit::*;
use crate::kit::*;
use crate::sharing_kit::*;
use weir_testkit::relay::{Direction, Relay};

/// What the next session on the connection finds in the diagnostics area, of which it has left nothing there itself.
async fn warnings_of_others(client: &mut Client) -> Vec<String> {
    // On MariaDB it leaves what is there.
    client.run("BEGIN").await.unwrap();
    let answer = client.query("SHOW WARNINGS").await.unwrap();
    client.run("ROLLBACK").await.unwrap();
    answer.rows().map(|row| String::from_utf8_lossy(row).into_owned()).collect()
}

const NOTHING: Vec<String> = Vec::new();

#[tokio::test]
async fn a_question_of_weirs_own_that_the_server_refuses_is_not_the_clients_trouble() {
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ca_refused_t", "ca_refused_s"]) {
            table(server, name).await;
            let weir = sharing(server, 2, mode, ALL);
            let [mut client] = clients(&weir, name).await;
            let at = format!("{flavor:?} {mode}");
            // Enough for one row by its key, and not for what the server is asked about its tables (1104).
            client.run("SET sql_big_selects=0, max_join_size=1").await.unwrap();
            for expected in ["one", "changed"] {
                assert_eq!(value(&mut client, 1).await, expected, "{at}");
                change(server, &format!("UPDATE {name}.t SET v='changed'")).await;
                let told = client.query("SHOW WARNINGS").await.unwrap();
                assert_eq!(told.rows().count(), 0, "{at}");
            }
            let [mut next] = clients(&weir, name).await;
            next.run("SET sql_big_selects=0, max_join_size=1").await.unwrap();
            assert_eq!(value(&mut client, 2).await, "changed", "{at}");
            assert_eq!(warnings_of_others(&mut next).await, NOTHING, "{at}");
            drop(next);
            // What the client is refused itself is its own.
            client.query("SELECT v FROM nowhere").await.unwrap();
            assert_eq!(row(&mut client, "SHOW WARNINGS").await.split('|').nth(1), Some("1146"), "{at}");
        }
    }
}

#[tokio::test]
async fn a_question_of_weirs_own_that_is_never_answered_is_not_the_clients_trouble() {
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ca_silent_t", "ca_silent_s"]) {
            table(server, name).await;
            let at = format!("{flavor:?} {mode}");
            let relay = Relay::start(server.addr()).await.unwrap();
            let more = format!("io = \"epoll\"\n[limits]\nserver_connect_timeout = \"3s\"\n{ALL}");
            let weir =
                Weir::config(sharing_config(&relay.addr().to_string(), 4, mode, &more)).start().unwrap();
            weir.wait_for_line("accepting clients", PATIENCE).unwrap();
            let [mut client] = clients(&weir, name).await;
            // What is asked behind the answer is held until nothing comes back any more.
            relay.stall_behind(Direction::ToServer, "SELECT v FROM t");
            assert_eq!(value(&mut client, 1).await, "one", "{at}");
            relay.stall(Direction::ToClient);
            let accepted = relay.accepted();
            relay.resume(Direction::ToServer);
            let asks = async { value(&mut client, 2).await };
            let resumes = async {
                until("another connection is made", async || (relay.accepted() > accepted).then_some(()))
                    .await;
                relay.heal();
            };
            let (told, ()) = tokio::join!(asks, resumes);
            assert_eq!(told, "two", "{at}");
        }
    }
}

#[tokio::test]
async fn an_error_of_what_runs_behind_an_answer_is_shown_to_nobody() {
    for (flavor, server) in &both() {
        table(server, "ca_behind").await;
        let rules = ALL.replace("ttl = \"1h\"", "ttl = \"1h\", verify = \"100%\"");
        let weir = sharing(server, 1, "", &rules);
        let [mut one, mut two] = clients(&weir, "ca_behind").await;
        for _ in 0..2 {
            // The second waits until the first one's answer is kept.
            assert_eq!(value(&mut one, 1).await, "one", "{flavor:?}");
        }
        change(server, "RENAME TABLE ca_behind.t TO ca_behind.gone").await;
        assert_eq!(value(&mut one, 1).await, "one", "{flavor:?}");
        assert_eq!(warnings_of_others(&mut two).await, NOTHING, "{flavor:?}");
        assert_eq!(warnings_of_others(&mut one).await, NOTHING, "{flavor:?}");
    }
}

/// The server says of an answer how it came by it. Another plan, or a slow run, is no other answer.
#[tokio::test]
async fn an_answer_found_in_another_way_has_not_changed() {
    for (flavor, server) in &both() {
        let create = "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9)) ENGINE=InnoDB";
        let rows = "INSERT INTO t WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < 300) \
                    SELECT i, CONCAT('v', i) FROM n";
        database(server, "ca_plan", &[create, rows]).await;
        let rules = ALL.replace("ttl = \"1h\"", "ttl = \"1h\", verify = \"100%\"");
        let weir = sharing(server, 2, "", &rules);
        let [mut one] = clients(&weir, "ca_plan").await;
        let mut direct = app(server.addr()).database("ca_plan").connect().await.unwrap();
        let sql = "SELECT id FROM t WHERE v = 'v7'";
        let flags = async |direct: &mut Client| direct.query(sql).await.unwrap().status().unwrap();
        let before = flags(&mut direct).await;
        let counted = async || {
            let of = |name| format!("weir_cache_{name}_total{{rule=\"all\"}}");
            [metric(&weir, &of("verified")).await, metric(&weir, &of("mismatched")).await]
        };
        assert_eq!(row(&mut one, sql).await, "7", "{flavor:?}");
        for (change, told) in
            [("CREATE INDEX by_v ON t (v)", [1.0, 0.0]), ("INSERT INTO t VALUES (1000, 'v7')", [2.0, 1.0])]
        {
            direct.run(change).await.unwrap();
            assert_eq!(row(&mut one, sql).await, "7", "{flavor:?}: from memory");
            // What runs behind the answer is over when the next command is taken.
            shown(&mut one, "client_id").await;
            assert_eq!(counted().await, told, "{flavor:?} {change}");
        }
        assert_ne!(flags(&mut direct).await, before, "{flavor:?}: the flags tell them apart");
    }
}

#[tokio::test]
async fn a_client_that_takes_nothing_holds_up_others_once() {
    for (flavor, server) in &both() {
        let rows = (0..40).map(|n| format!("({n})")).collect::<Vec<_>>().join(", ");
        let insert = format!("INSERT INTO many VALUES {rows}");
        database(
            server,
            "ca_stalled",
            &[
                "CREATE TABLE t (v VARCHAR(40))",
                "INSERT INTO t VALUES ('one')",
                "CREATE TABLE many (i INT)",
                &insert,
            ],
        )
        .await;
        let limits = "[cache]\nmemory = \"512MiB\"\nmax_entry = \"64MiB\"\n";
        let weir = sharing(server, 8, "queue_timeout = \"500ms\"\n", &format!("{limits}{ALL}"));
        let [mut stalled, mut one, mut two] = clients(&weir, "ca_stalled").await;
        let sql = "SELECT v, REPEAT('x', 1000000) FROM t, many";
        let first = async |client: &mut Client| {
            let answer = client.query(sql).await.unwrap();
            let rows: Vec<_> = answer.rows().collect();
            assert_eq!(rows.len(), 40, "{flavor:?}");
            String::from_utf8_lossy(&rows[0][1..4]).into_owned()
        };
        stalled.send(command::QUERY, sql.as_bytes()).await.unwrap();
        // Its answer has begun, and it takes no more of it.
        stalled.stream().expect_packet().await.unwrap();
        assert_eq!(first(&mut one).await, "one", "{flavor:?}");
        // What is asked behind the answer is over, and it is kept.
        shown(&mut one, "client_id").await;
        change(server, "UPDATE ca_stalled.t SET v='two'").await;
        // Who asks after the first that has lost its patience has what that one has got.
        assert_eq!(first(&mut two).await, "one", "{flavor:?}");
    }
}

#[tokio::test]
async fn a_tagged_statement_is_not_served_what_its_tag_does_not_find() {
    for (flavor, server) in &both() {
        table(server, "ca_tags").await;
        let weir = sharing(server, 4, "", ALL);
        let [mut client] = clients(&weir, "ca_tags").await;
        let plain = "SELECT v FROM t WHERE id=1";
        let tagged = format!("/*weir: tag=a*/ {plain}");
        assert_eq!(row(&mut client, plain).await, "one", "{flavor:?}");
        change(server, "UPDATE ca_tags.t SET v='changed'").await;
        assert_eq!(row(&mut client, plain).await, "one", "{flavor:?}");
        assert_eq!(row(&mut client, &tagged).await, "changed", "{flavor:?}: what is kept has no tag");
        change(server, "UPDATE ca_tags.t SET v='again'").await;
        assert_eq!(row(&mut client, &tagged).await, "changed", "{flavor:?}: now it has");
        assert_eq!(row(&mut client, plain).await, "changed", "{flavor:?}: who has no tag asks for none");
    }
}

/// An answer that stands in for one that has failed leaves what a run of it would have left, and took as long as its client waited.
#[tokio::test]
async fn what_stands_in_for_a_failed_answer_counts_as_a_run() {
    const UNION: &str = "SELECT 1 UNION SELECT 2";
    const READ: &str = "SELECT v FROM t";
    let rules = ALL.replace("ttl = \"1h\"", "ttl = \"1s\", stale_if_error = \"1h\"");
    let served = "weir_cache_stale_served_total{rule=\"all\"}";
    let seconds = "weir_client_command_seconds_sum";
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ca_stands_in_t", "ca_stands_in_s"]) {
            table(server, name).await;
            let at = format!("{flavor:?} {mode}");
            let relay = Relay::start(server.addr()).await.unwrap();
            let weir =
                Weir::config(sharing_config(&relay.addr().to_string(), 4, mode, &rules)).start().unwrap();
            weir.wait_for_line("accepting clients", PATIENCE).unwrap();
            let [mut client] = clients(&weir, name).await;
            client.run("SET lock_wait_timeout=1").await.unwrap();
            let prepared = client.prepare("SELECT v FROM t WHERE id<9").await.unwrap().id;
            let ask = async |client: &mut Client, prepared: Option<u32>| {
                let answer = match prepared {
                    Some(id) => execute(client, id, &[], true).await,
                    None => client.run(READ).await.unwrap(),
                };
                assert_eq!(answer.rows().count(), 3, "{at}: {answer:?}");
            };
            let mut admin = app(server.addr()).database(name).connect().await.unwrap();
            for how in [None, Some(prepared)] {
                ask(&mut client, how).await;
            }
            // The questions behind the answers are over.
            shown(&mut client, "client_id").await;
            admin.run("LOCK TABLES t WRITE").await.unwrap();
            for how in [None, Some(prepared)] {
                let before = metric(&weir, served).await;
                until("what it was told is too old", async || {
                    client.run(UNION).await.unwrap();
                    let took = metric(&weir, seconds).await;
                    ask(&mut client, how).await;
                    assert_eq!(row(&mut client, "SELECT FOUND_ROWS()").await, "3", "{at} {how:?}");
                    let is_old = metric(&weir, served).await > before;
                    // It has waited for the lock.
                    assert!(!is_old || metric(&weir, seconds).await - took >= 0.9, "{at} {how:?}");
                    is_old.then_some(())
                })
                .await;
            }
            if *mode == MODES[1] {
                // A client's own connection is not replaced.
                continue;
            }
            client.run("SET lock_wait_timeout=1000").await.unwrap();
            for how in [None, Some(prepared)] {
                client.run(UNION).await.unwrap();
                let (of, like) = ("information_schema.PROCESSLIST", "INFO LIKE 'SELECT v FROM t%'");
                let runs = format!("SELECT COALESCE(MAX(ID), 0) FROM {of} WHERE DB='{name}' AND {like}");
                let cut = async {
                    let id = until("it runs", async || {
                        let id = row(&mut admin, &runs).await;
                        (id != "0").then_some(id)
                    })
                    .await;
                    relay.drop_connections();
                    // It would wait on, and nobody for it.
                    admin.run(&format!("KILL {id}")).await.unwrap();
                    until("it is over", async || (row(&mut admin, &runs).await == "0").then_some(())).await;
                };
                tokio::join!(ask(&mut client, how), cut);
                assert_eq!(row(&mut client, "SELECT FOUND_ROWS()").await, "3", "{at} {how:?}: cut");
            }
        }
    }
}

/// An answer that was kept in this time, with a TTL and a bound for failures that add up to `bound`.
struct Old {
    kept: Range<Instant>,
    bound: Duration,
}

impl Old {
    const READ: &str = "SELECT v FROM t WHERE id=1";
    const TERMS: &str = "ttl = \"200ms\", stale_if_error = \"4s\"";

    /// Has it kept.
    async fn keep(client: &mut Client) -> Self {
        let begin = Instant::now();
        assert_eq!(row(client, Self::READ).await, "one");
        // The questions behind it are over.
        shown(client, "client_id").await;
        Self { kept: begin..Instant::now(), bound: Duration::from_millis(4200) }
    }

    /// Asks until it is refused, which is when the bound is reached and not before. Returns the error.
    async fn outlive(&self, weir: &Weir, client: &mut Client, at: &str) -> ErrPacket {
        let of = |name| format!("weir_cache_{name}_total{{rule=\"all\"}}");
        let counted = async || metric(weir, &of("hits")).await + metric(weir, &of("stale_served")).await;
        let before = counted().await;
        let mut served = 0.0;
        let error = until("the bound is reached", async || {
            let begin = Instant::now();
            let answer = client.query(Self::READ).await.unwrap();
            if let Some(error) = answer.err() {
                assert!(self.kept.start.elapsed() >= self.bound, "{at}: within the bound: {error:?}");
                assert_eq!(answer.rows().count(), 0, "{at}: {answer:?}");
                return Some(error.clone());
            }
            assert!(begin - self.kept.end < self.bound, "{at}: past the bound: {answer:?}");
            assert_eq!(answer.rows().next(), Some(&b"\x03one"[..]), "{at}: {answer:?}");
            served += 1.0;
            None
        })
        .await;
        assert_eq!(counted().await - before, served, "{at}");
        assert!(metric(weir, &of("stale_served")).await >= 1.0, "{at}: nothing stood in");
        error
    }

    /// Others are refused it likewise, and nothing is counted as served.
    async fn is_over(weir: &Weir, other: &mut Client, expected: &ErrPacket, at: &str) {
        let stale = "weir_cache_stale_served_total{rule=\"all\"}";
        let before = metric(weir, stale).await;
        let answer = other.query(Self::READ).await.unwrap();
        let error = answer.err().unwrap_or_else(|| panic!("{at}: {answer:?}"));
        assert_eq!((error.code, &error.state), (expected.code, &expected.state), "{at}");
        assert_eq!(metric(weir, stale).await, before, "{at}");
    }
}

#[tokio::test]
async fn past_its_bound_no_answer_stands_in_for_the_error_of_a_locked_table() {
    let rules = &ALL.replace("ttl = \"1h\"", Old::TERMS);
    let run = async |flavor: Flavor, server: &Server, mode: &str, name: &str| {
        let at = &format!("{flavor:?} {mode}");
        table(server, name).await;
        let weir = sharing(server, 4, mode, rules);
        let [mut client, mut other] = clients(&weir, name).await;
        for client in [&mut client, &mut other] {
            client.run("SET lock_wait_timeout=1").await.unwrap();
        }
        let old = Old::keep(&mut client).await;
        let mut admin = app(server.addr()).database(name).connect().await.unwrap();
        admin.run("LOCK TABLES t WRITE").await.unwrap();
        let error = old.outlive(&weir, &mut client, at).await;
        // As the server says it.
        assert_eq!((error.code, error.state.as_str()), (1205, "HY000"), "{at}: {error:?}");
        Old::is_over(&weir, &mut other, &error, at).await;
        admin.run("UPDATE t SET v='after'").await.unwrap();
        admin.run("UNLOCK TABLES").await.unwrap();
        assert_eq!(value(&mut client, 1).await, "after", "{at}");
    };
    let [(mariadb, one), (mysql, two)] = &both();
    // Each takes as long as the bound.
    tokio::join!(
        run(*mariadb, one, MODES[0], "ca_bound_over_t"),
        run(*mariadb, one, MODES[1], "ca_bound_over_s"),
        run(*mysql, two, MODES[0], "ca_bound_over_t"),
        run(*mysql, two, MODES[1], "ca_bound_over_s"),
    );
}

#[tokio::test]
async fn past_its_bound_no_answer_stands_in_for_a_server_that_is_gone() {
    let rules = &ALL.replace("ttl = \"1h\"", Old::TERMS);
    let run = async |flavor: Flavor| {
        let at = &format!("{flavor:?}");
        let mut server = Server::start(flavor).unwrap();
        // What it has written must outlast its end.
        change(&server, "SET GLOBAL innodb_flush_log_at_trx_commit = 1").await;
        table(&server, "ca_bound_gone").await;
        let weir = sharing(&server, 4, "", &format!("[auth]\nrevalidate = \"1h\"\n{rules}"));
        let [mut client, mut other] = clients(&weir, "ca_bound_gone").await;
        let old = Old::keep(&mut client).await;
        server.kill9().unwrap();
        let error = old.outlive(&weir, &mut client, at).await;
        assert_eq!((error.code, error.state.as_str()), (1429, "HY000"), "{at}: {error:?}");
        Old::is_over(&weir, &mut other, &error, at).await;
        server.restart().unwrap();
        change(&server, "UPDATE ca_bound_gone.t SET v='after'").await;
        assert_eq!(value(&mut client, 1).await, "after", "{at}");
    };
    tokio::join!(run(Flavor::MariaDb), run(Flavor::MySql));
}

/// The KILL of a statement beyond its time meets nothing any more when the connection is gone.
#[tokio::test]
async fn a_session_goes_on_behind_what_stands_in_for_a_statement_beyond_its_time() {
    const LONG: usize = 10_000;
    // For the long read alone, and time enough for it where the relay holds nothing up.
    let rules = ALL
        .replace("{ kind = \"read\" }", "{ kind = \"read\", pattern = 'id=1' }")
        .replace("{ ttl = \"1h\" }", "{ ttl = \"1h\", stale_if_error = \"1h\" }\ntimeout = \"3s\"");
    let read = format!("SELECT v FROM t WHERE id=1 /* {} */", "x".repeat(LONG));
    for (flavor, server) in &both() {
        table(server, "ca_overtime").await;
        let relay = Relay::start(server.addr()).await.unwrap();
        let weir = Weir::config(sharing_config(&relay.addr().to_string(), 4, "", &rules)).start().unwrap();
        weir.wait_for_line("accepting clients", PATIENCE).unwrap();
        let [mut client] = clients(&weir, "ca_overtime").await;
        client.run("SET @mine = 5").await.unwrap();
        assert_eq!(row(&mut client, &read).await, "one", "{flavor:?}");
        // It is kept.
        shown(&mut client, "client_id").await;
        relay.faults(Direction::ToServer, |faults| faults.delay = PATIENCE);
        // The relay knows.
        shown(&mut client, "client_id").await;
        let before = relay.bytes(Direction::ToServer);
        client.send(command::QUERY, format!("/*weir: ttl=1ms*/ {read}").as_bytes()).await.unwrap();
        // Its beginning is enough: the relay keeps what it has read for as long as it was told then.
        until("it is on its way", async || (relay.bytes(Direction::ToServer) > before).then_some(())).await;
        relay.heal();
        // The server takes the KILL, and nothing ends.
        let killed = async || metric(&weir, "weir_rule_timed_out_total{rule=\"all\"}").await;
        until("its time is over", async || (killed().await == 1.0).then_some(())).await;
        relay.drop_connections();
        let answer = client.receive(command::QUERY).await.unwrap();
        assert_eq!(answer.rows().next(), Some(&b"\x03one"[..]), "{flavor:?}: {answer:?}");
        assert_eq!(metric(&weir, "weir_cache_stale_served_total{rule=\"all\"}").await, 1.0, "{flavor:?}");
        assert_eq!(row(&mut client, "SELECT @mine").await, "5", "{flavor:?}: the session goes on");
    }
}

/// A definition that is longer than what Weir holds of an answer is the trouble of nobody: nothing is kept then.
#[tokio::test]
async fn a_definition_that_is_too_long_keeps_an_answer_from_being_kept_and_nothing_else() {
    for (flavor, server) in &both() {
        let values: Vec<_> = (0..600).map(|n| format!("'value{n}'")).collect();
        let columns: Vec<_> = (0..200).map(|n| format!("c{n} ENUM({})", values.join(","))).collect();
        let many = format!("CREATE TABLE many (v INT, {})", columns.join(","));
        let all = [many.as_str(), "INSERT INTO many (v) VALUES (0)", "CREATE VIEW w AS SELECT v FROM many"];
        database(server, "ca_definition", &all).await;
        let weir = sharing(server, 4, "", ALL);
        let [mut client] = clients(&weir, "ca_definition").await;
        // It cannot go on with another connection.
        assert_eq!(row(&mut client, "SELECT GET_LOCK('ca_definition', 30)").await, "1", "{flavor:?}");
        for value in ["1", "2"] {
            change(server, &format!("UPDATE ca_definition.many SET v={value}")).await;
            assert_eq!(row(&mut client, "SELECT v FROM w").await, value, "{flavor:?}");
            assert_eq!(row(&mut client, "SELECT IS_FREE_LOCK('ca_definition')").await, "0", "{flavor:?}");
        }
        let told = client.query("SHOW WARNINGS").await.unwrap();
        assert_eq!(told.rows().count(), 0, "{flavor:?}");
        database(server, "ca_definition", &[]).await;
    }
}

#[tokio::test]
async fn a_user_who_asks_for_much_pushes_out_nothing_of_another() {
    for (flavor, server) in &both() {
        table(server, "ca_greedy").await;
        for sql in [
            "DROP USER IF EXISTS ca_greedy",
            "CREATE USER ca_greedy IDENTIFIED BY 'greedy-pw'",
            "GRANT SELECT ON ca_greedy.* TO ca_greedy",
        ] {
            change(server, sql).await;
        }
        let limits = "[cache]\nmemory = \"4MiB\"\nadmission = \"always\"\n";
        let user = "[[user]]\nname = \"ca_greedy\"\npassword = \"greedy-pw\"\n";
        let weir = sharing(server, 4, "", &format!("{limits}user_memory = \"1MiB\"\n{user}{ALL}"));
        let [mut quiet] = clients(&weir, "ca_greedy").await;
        let greedy = ConnectOptions::tcp(weir.addr(), "ca_greedy", "greedy-pw").database("ca_greedy");
        let mut greedy = greedy.connect().await.unwrap();
        assert_eq!(value(&mut quiet, 1).await, "one", "{flavor:?}");
        for n in 0..600 {
            let told = row(&mut greedy, &format!("SELECT REPEAT(v, 5000) AS c{n} FROM t WHERE id=1")).await;
            assert_eq!(told.len(), 15_000, "{flavor:?}");
        }
        // What is asked behind the last answer is over.
        shown(&mut greedy, "client_id").await;
        change(server, "UPDATE ca_greedy.t SET v='now'").await;
        assert_eq!(value(&mut quiet, 1).await, "one", "{flavor:?}: from memory, as before");
        let stats = told_json(&weir, &["cache", "stats"]);
        let users = stats["users"].as_array().unwrap();
        let of = |n: usize| (users[n]["user"].as_str().unwrap(), users[n]["bytes"].as_u64().unwrap());
        assert_eq!((users.len(), of(0).0, of(1).0), (2, "ca_greedy", "app"), "{flavor:?} {stats}");
        assert!((700_000..=1 << 20).contains(&of(0).1), "{flavor:?} {stats}");
        assert!(stats["total"]["evicted"].as_u64().unwrap() > 500, "{flavor:?} {stats}");
        let text = told(&weir, &["cache", "stats"]);
        assert!(text.contains("1.0 MiB at most") && text.contains("ca_greedy "), "{text}");
    }
}
