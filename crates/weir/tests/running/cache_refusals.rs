//! What is never taken from memory nor kept: for each line the row is changed where only the server knows, the statement is asked
//! twice, both answers are the server's own, and the reason is counted.

use weir_testkit::client::End;
use weir_testkit::relay::{Direction, Relay};

use crate::cache_kit::*;
use crate::kit::*;
use crate::sharing_kit::*;

async fn refused(weir: &Weir, reason: &str) -> f64 {
    metric(weir, &format!("weir_cache_refused_total{{rule=\"all\",reason=\"{reason}\"}}")).await
}

/// A session at the server and one through Weir.
async fn pair(server: &Server, weir: &Weir, name: &str) -> [Client; 2] {
    let options = |addr| app(addr).database(name).with(Caps::MULTI_STATEMENTS);
    [options(server.addr()).connect().await.unwrap(), options(weir.addr()).connect().await.unwrap()]
}

/// Both answers, packet by packet; returns one.
async fn equal([direct, through]: &mut [Client; 2], sql: &str, at: &str) -> Response {
    let expected = direct.query(sql).await.unwrap();
    same(expected, through.query(sql).await.unwrap(), at)
}

/// Takes away what SHOW WARNINGS would tell.
const CLEARS: &str = "/*nocache*/ SELECT id FROM t WHERE id=3";

/// A statement, what is asked right after it, and why it is refused.
const STATEMENTS: [(&str, &str, &str); 17] = [
    ("/*nocache*/ SELECT v FROM t WHERE id=1", "", "bypass"),
    ("SELECT SQL_NO_CACHE v FROM t WHERE id=1", "", "bypass"),
    ("SELECT v FROM t WHERE id=1 FOR UPDATE", "", "locking_read"),
    ("SELECT v FROM t WHERE id=1 LOCK IN SHARE MODE", "", "locking_read"),
    ("SELECT v FROM t WHERE id=1; SELECT 2", "", "multi_statement"),
    ("SELECT v INTO @x FROM t WHERE id=1", "SELECT @x", "into"),
    ("SELECT v, @x FROM t WHERE id=1", "", "user_variable"),
    ("SELECT v, @@sql_mode FROM t WHERE id=1", "", "system_variable"),
    ("SELECT v, RAND() >= 0 FROM t WHERE id=1", "", "nondeterministic_function"),
    ("SELECT v, LAST_INSERT_ID() FROM t WHERE id=1", "", "session_function"),
    ("SELECT v, f() FROM t WHERE id=1", "", "stored_function"),
    (
        "SELECT v FROM t WHERE id=1 AND EXISTS (SELECT 1 FROM information_schema.SCHEMATA)",
        "",
        "system_schema",
    ),
    ("SELECT v, TIME '10:00:00' FROM t WHERE id=1", "", "time_value"),
    ("DO 1", "SELECT ROW_COUNT()", "not_a_read"),
    // What the answer itself shows.
    ("SELECT v, CONCAT(v, 'x') + 0 FROM t WHERE id=1", "SHOW WARNINGS", "warnings"),
    ("SELECT v, REPEAT('x', 70000) FROM t WHERE id=1", "", "too_large"),
    ("SELECT v, IF(id = 3, (SELECT s.id FROM t s WHERE s.id < t.id), 1) FROM t ORDER BY id", "", "error"),
];

#[tokio::test]
async fn what_a_statement_or_its_answer_shows_keeps_it_out() {
    let rules = ALL.replace("kind = \"read\"", "");
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ca_never_t", "ca_never_s"]) {
            table(server, name).await;
            change(server, &format!("CREATE FUNCTION {name}.f() RETURNS INT NO SQL RETURN 1")).await;
            let weir = sharing(server, 8, mode, &format!("[cache]\nmax_entry = \"64KiB\"\n{rules}"));
            for (sql, then, reason) in STATEMENTS {
                let at = format!("{flavor:?} {mode} {sql}");
                let mut pair = pair(server, &weir, name).await;
                let before = refused(&weir, reason).await;
                for n in 0..2 {
                    change(server, &format!("UPDATE {name}.t SET v='{n}'")).await;
                    let answer = equal(&mut pair, sql, &at).await;
                    let rows: Vec<_> = answer.rows().collect();
                    if let Some(row) = rows.first() {
                        assert_eq!(row[..2], [1, b'0' + n], "{at}: the row as it is now");
                    }
                    if reason == "error" {
                        let ends = answer.results().next().map(|result| &result.end);
                        assert!(
                            rows.len() == 2 && matches!(ends, Some(Some(End::Err(_)))),
                            "{at}: {answer:?}"
                        );
                    }
                    if !then.is_empty() {
                        equal(&mut pair, then, &at).await;
                    }
                    // Who has warnings to ask for is not served at all, and what names no table leaves them there.
                    equal(&mut pair, CLEARS, &at).await;
                }
                assert!(refused(&weir, reason).await >= before + 2.0, "{at}: {reason}");
            }
        }
    }
}

/// What a session has done, what ends it, the word for it, and how often it is asked then.
const SESSIONS: [(&str, &str, &str, usize); 8] = [
    ("LOCK TABLES t READ", "UNLOCK TABLES", "locked_tables", 2),
    ("CREATE TEMPORARY TABLE other (i INT)", "DROP TEMPORARY TABLE other", "temporary_table", 2),
    ("START TRANSACTION READ ONLY", "COMMIT", "in_transaction", 2),
    ("SET autocommit=0", "SET autocommit=1", "in_transaction", 2),
    ("SET ROLE ca_states", "SET ROLE NONE", "session_unknown", 2),
    ("SET rand_seed1=5", "DO 0", "session_unknown", 2),
    ("CALL p()", "DO 0", "session_unknown", 2),
    // Warnings that may be asked for; the next statement clears them.
    ("SELECT CONCAT(v, 'x') + 0 FROM t WHERE id=2", CLEARS, "session_unknown", 1),
];

#[tokio::test]
async fn a_session_in_which_answers_may_mean_something_else_is_not_served() {
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ca_states_t", "ca_states_s"]) {
            table(server, name).await;
            change(server, &format!("CREATE PROCEDURE {name}.p() DO 1")).await;
            for sql in ["DROP ROLE IF EXISTS ca_states", "CREATE ROLE ca_states", "GRANT ca_states TO app"] {
                // MariaDB has granted it to its maker.
                let granted = app(server.addr()).connect().await.unwrap().query(sql).await.unwrap();
                assert!(granted.err().is_none() || sql.starts_with("GRANT"), "{flavor:?}: {granted:?}");
            }
            let weir = sharing(server, 8, mode, ALL);
            let [mut plain] = clients(&weir, name).await;
            for (n, (begin, end, reason, times)) in SESSIONS.into_iter().enumerate() {
                let at = format!("{flavor:?} {mode} {begin}");
                let sql = format!("SELECT v AS c{n} FROM t WHERE id=1");
                let kept = row(&mut plain, &sql).await;
                change(server, &format!("UPDATE {name}.t SET v='{n}'")).await;
                assert_eq!(row(&mut plain, &sql).await, kept, "{at}: it is kept");
                let mut pair = pair(server, &weir, name).await;
                equal(&mut pair, begin, &at).await;
                let before = refused(&weir, reason).await;
                for _ in 0..times {
                    let answer = equal(&mut pair, &sql, &at).await;
                    let expected = lenenc_text(&n.to_string());
                    assert_eq!(answer.rows().next(), Some(&expected[..]), "{at}: not from memory");
                }
                assert!(refused(&weir, reason).await >= before + times as f64, "{at}: {reason}");
                equal(&mut pair, end, &at).await;
                assert_eq!(row(&mut plain, &sql).await, kept, "{at}: nor kept in place of what others have");
            }
        }
    }
}

#[tokio::test]
async fn executions_with_a_cursor_or_a_time_or_data_in_pieces_are_not_kept() {
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ca_bound_t", "ca_bound_s"]) {
            table(server, name).await;
            let weir = sharing(server, 8, mode, ALL);
            let time = [command::Param::Time(false, 0, 1, 2, 3)];
            let long = [command::Param::LongData];
            let cases: [(&str, u8, &[command::Param], &str); 3] = [
                ("SELECT v FROM t WHERE id=1", command::CURSOR_READ_ONLY, &[], "cursor"),
                ("SELECT v, ? FROM t WHERE id=1", 0, &time, "time_value"),
                ("SELECT v, ? FROM t WHERE id=1", 0, &long, "session_unknown"),
            ];
            for (sql, flags, params, reason) in cases {
                let at = format!("{flavor:?} {mode} {reason}");
                let mut pair = pair(server, &weir, name).await;
                let mut ids = Vec::new();
                for client in &mut pair {
                    ids.push(client.prepare(sql).await.unwrap().id);
                }
                let before = refused(&weir, reason).await;
                for n in 0..2 {
                    change(server, &format!("UPDATE {name}.t SET v='{n}'")).await;
                    let mut answers = Vec::new();
                    for (client, id) in pair.iter_mut().zip(&ids) {
                        if reason == "session_unknown" {
                            let piece = command::long_data(*id, 0, b"a piece");
                            client.send(command::STMT_SEND_LONG_DATA, &piece).await.unwrap();
                        }
                        let body =
                            command::Execute { id: *id, flags, params, types: true, attributes: false };
                        let mut answer = client.command(command::STMT_EXECUTE, &body.body()).await.unwrap();
                        if flags != 0 {
                            let fetch = command::fetch(*id, 9);
                            answer = client.command(command::STMT_FETCH, &fetch).await.unwrap();
                        }
                        answers.push(answer);
                    }
                    let (through, direct) = (answers.pop().unwrap(), answers.pop().unwrap());
                    let row = through.rows().next().unwrap_or_else(|| panic!("{at}: {through:?}")).to_vec();
                    same(direct, through, &at);
                    assert_eq!(row[2..4], [1, b'0' + n], "{at}: the row as it is now");
                }
                assert!(refused(&weir, reason).await >= before + 2.0, "{at}");
            }
        }
    }
}

/// The size of one answer of [`large`].
const LARGE: u64 = 40_000_000;

/// A table of which a statement makes an answer that no buffer between here and the server holds.
async fn large(server: &Server, name: &str) -> String {
    let rows = (0..40).map(|n| format!("({n})")).collect::<Vec<_>>().join(", ");
    let insert = format!("INSERT INTO many VALUES {rows}");
    database(
        server,
        name,
        &[
            "CREATE TABLE t (v VARCHAR(40))",
            "INSERT INTO t VALUES ('one')",
            "CREATE TABLE many (i INT)",
            &insert,
        ],
    )
    .await;
    "SELECT v, REPEAT('x', 1000000) FROM t, many".to_owned()
}

/// The value of each row, if all came.
async fn whole(client: &mut Client, sql: &str) -> String {
    let answer = client.run(sql).await.unwrap();
    let rows: Vec<_> = answer.rows().collect();
    assert_eq!(rows.len(), 40);
    let length = usize::from(rows[0][0]);
    String::from_utf8_lossy(&rows[39][1..=length]).into_owned()
}

#[tokio::test]
async fn an_answer_that_was_cut_behind_its_first_row_is_not_kept() {
    let limits = "[cache]\nmemory = \"512MiB\"\nmax_entry = \"64MiB\"\n";
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ca_cut_t", "ca_cut_s"]) {
            let at = format!("{flavor:?} {mode}");
            let sql = large(server, name).await;
            let relay = Relay::start(server.addr()).await.unwrap();
            let more = format!("{limits}{ALL}");
            let weir =
                Weir::config(sharing_config(&relay.addr().to_string(), 8, mode, &more)).start().unwrap();
            weir.wait_for_line("accepting clients", PATIENCE).unwrap();
            let [mut cut, mut leaves] = clients(&weir, name).await;
            let end = relay.bytes(Direction::ToClient) + LARGE / 2;
            relay.faults(Direction::ToClient, |faults| faults.cut_at = Some(end));
            let before = refused(&weir, "cut").await;
            let got = cut.query(&sql).await;
            assert!(
                !got.is_ok_and(|answer| answer.err().is_none() && !answer.closed),
                "{at}: it was not cut"
            );
            until(&at, async || (refused(&weir, "cut").await > before).then_some(())).await;
            relay.heal();
            change(server, &format!("UPDATE {name}.t SET v='two'")).await;
            // The client has the first rows, and goes.
            leaves.send(command::QUERY, sql.as_bytes()).await.unwrap();
            for _ in 0..5 {
                leaves.stream().expect_packet().await.unwrap();
            }
            leaves.stream().shutdown().await.unwrap();
            drop(leaves);
            let left = "weir_cache_dropped_total{rule=\"all\",reason=\"abandoned\"}";
            until(&at, async || (metric(&weir, left).await == 1.0).then_some(())).await;
            assert_eq!(metric(&weir, "weir_cache_stored_entries").await, 0.0, "{at}");
            change(server, &format!("UPDATE {name}.t SET v='three'")).await;
            let [mut other] = clients(&weir, name).await;
            assert_eq!(whole(&mut other, &sql).await, "three", "{at}");
            change(server, &format!("UPDATE {name}.t SET v='four'")).await;
            assert_eq!(whole(&mut other, &sql).await, "three", "{at}: one that was not cut is");
        }
    }
}

/// The most memory that a process has had, in bytes.
fn peak(weir: &Weir) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", weir.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}

#[tokio::test]
async fn an_answer_that_is_too_large_passes_by_without_being_held() {
    for (flavor, server) in &both() {
        let sql = large(server, "ca_passes").await;
        let weir = sharing(server, 8, "", &format!("[cache]\nmax_entry = \"64KiB\"\n{ALL}"));
        let [mut client] = clients(&weir, "ca_passes").await;
        assert_eq!(row(&mut client, "SELECT v FROM t").await, "one", "{flavor:?}");
        let before = peak(&weir);
        assert_eq!(whole(&mut client, &sql).await, "one", "{flavor:?}");
        change(server, "UPDATE ca_passes.t SET v='two'").await;
        assert_eq!(whole(&mut client, &sql).await, "two", "{flavor:?}");
        let grown = peak(&weir) - before;
        assert!(grown < LARGE / 2, "{flavor:?}: {grown} bytes for answers of {LARGE}");
        assert_eq!(refused(&weir, "too_large").await, 2.0, "{flavor:?}");
    }
}
