//! P27, P28 and the queue of `[pool]`: a transaction has one connection, and the others wait in the order they came.

use std::time::Instant;

use crate::kit::*;
use crate::sharing_kit::*;

const TABLE: &str = "CREATE TABLE t (i INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(10))";

#[tokio::test]
async fn p28_a_transaction_runs_on_one_connection() {
    for (flavor, server) in &both() {
        database(server, "sh_p28", &[TABLE]).await;
        let weir = sharing(server, 3, "", "");
        let [mut one, mut two] = clients(&weir, "sh_p28").await;
        for (begin, end) in [
            ("BEGIN", "ROLLBACK"),
            ("START TRANSACTION WITH CONSISTENT SNAPSHOT", "COMMIT"),
            ("SET autocommit = 0", "ROLLBACK"),
            ("BEGIN", "CREATE TABLE IF NOT EXISTS implicit (i INT)"),
        ] {
            one.run(begin).await.unwrap();
            one.run("INSERT INTO t (v) VALUES ('mine')").await.unwrap();
            let reason = if begin.starts_with("SET") { "autocommit_off" } else { "transaction" };
            let id = pinned(&mut one, reason, begin).await;
            for i in 0..5 {
                one.run(&format!("SAVEPOINT s{i}")).await.unwrap();
                assert_eq!(
                    row(&mut two, "SELECT COUNT(*) FROM t").await,
                    "0",
                    "{flavor:?} {begin}: isolation"
                );
                let seen = "SELECT COUNT(*) FROM t";
                assert_eq!(row(&mut one, seen).await, "1", "{flavor:?} {begin}: its own row");
                assert_eq!(shown(&mut one, "server_connection_id").await, id, "{flavor:?} {begin}");
            }
            one.run("ROLLBACK TO s2").await.unwrap();
            let gone = one.query("ROLLBACK TO s3").await.unwrap();
            assert_eq!(gone.err().unwrap().code, 1305, "{flavor:?} {begin}");
            one.run(end).await.unwrap();
            one.run("SET autocommit = 1").await.unwrap();
            // On MariaDB neither of these replaces the error that SHOW WARNINGS would tell.
            one.run("DELETE FROM t").await.unwrap();
            free(&mut one, end).await;
        }
        // A client that leaves in a transaction takes it along.
        one.run("BEGIN").await.unwrap();
        one.run("INSERT INTO t (v) VALUES ('gone')").await.unwrap();
        drop(one);
        until("the row's lock is gone", async || {
            let left = row(&mut two, "SELECT COUNT(*) FROM t FOR UPDATE").await;
            (left == "0").then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn p27_set_transaction_is_for_the_next_one_of_that_client() {
    for (flavor, server) in &both() {
        database(server, "sh_p27", &[TABLE]).await;
        let weir = sharing(server, 2, "", "");
        let [mut one, mut two] = clients(&weir, "sh_p27").await;
        one.run("SET TRANSACTION READ ONLY").await.unwrap();
        two.run("INSERT INTO t (v) VALUES ('x')").await.unwrap();
        one.run("START TRANSACTION").await.unwrap();
        let refused = one.query("INSERT INTO t (v) VALUES ('x')").await.unwrap();
        assert_eq!(refused.err().map(|err| err.code), Some(1792), "{flavor:?}: {refused:?}");
        one.run("COMMIT").await.unwrap();
        one.run("INSERT INTO t (v) VALUES ('x')").await.unwrap();
        free(&mut one, "the next one is over").await;
    }
}

#[tokio::test]
async fn statements_wait_for_a_connection_in_the_order_they_came() {
    for (flavor, server) in &both() {
        database(server, "sh_fifo", &[TABLE]).await;
        let weir = sharing(server, 1, "", "");
        let [mut holder, mut witness] = clients(&weir, "sh_fifo").await;
        let mut waiting: [Client; 6] = clients(&weir, "sh_fifo").await;
        holder.run("BEGIN").await.unwrap();
        holder.run("INSERT INTO t (v) VALUES ('holder')").await.unwrap();
        // Not in the order of their logins.
        let order = [3, 0, 5, 1, 4, 2];
        for i in order {
            let sql = format!("INSERT INTO t (v) VALUES ('{i}')");
            waiting[i].send(command::QUERY, sql.as_bytes()).await.unwrap();
            taken(&mut witness).await;
        }
        holder.run("COMMIT").await.unwrap();
        for client in &mut waiting {
            let response = client.receive(command::QUERY).await.unwrap();
            assert_eq!(response.ok().map(|ok| ok.affected_rows), Some(1), "{response:?}");
        }
        let came = row(&mut witness, "SELECT GROUP_CONCAT(v ORDER BY i) FROM t").await;
        assert_eq!(came, "holder,3,0,5,1,4,2", "{flavor:?}");
        assert_eq!(opened(&weir).await, 1.0);
    }
}

#[tokio::test]
async fn who_waits_too_long_is_told_1040_and_may_ask_again() {
    for (flavor, server) in &both() {
        database(server, "sh_late", &[TABLE]).await;
        let weir = sharing(server, 1, "queue_timeout = \"3s\"\n", "");
        let [mut holder, mut late] = clients(&weir, "sh_late").await;
        let id = late.prepare("SELECT ?").await.unwrap().id;
        holder.run("BEGIN").await.unwrap();
        holder.run("INSERT INTO t (v) VALUES ('holder')").await.unwrap();
        let begun = Instant::now();
        let err = late.query("INSERT INTO t (v) VALUES ('late')").await.unwrap().err().cloned().unwrap();
        assert_eq!((err.code, err.state.as_str()), (1040, "08004"), "{err}");
        assert!(err.message.contains("pool.queue_timeout"), "{err}");
        assert!(begun.elapsed().as_secs() >= 3, "{:?}", begun.elapsed());
        for (code, body) in [
            (command::INIT_DB, b"sh_late".to_vec()),
            (command::STMT_PREPARE, b"SELECT 1".to_vec()),
            (command::STMT_EXECUTE, {
                let params = [command::Param::Int(1)];
                command::Execute { id, flags: 0, params: &params, types: true, attributes: false }.body()
            }),
        ] {
            let response = late.command(code, &body).await.unwrap();
            assert_eq!(response.err().map(|err| err.code), Some(1040), "{flavor:?} {code:#x}: {response:?}");
            numbered(&response, 1);
        }
        // A login waits as a statement does.
        let refused = refusal(app(weir.addr()).connect().await);
        assert_eq!((refused.code, refused.state.as_str()), (1040, "08004"), "{refused}");
        holder.run("COMMIT").await.unwrap();
        assert_eq!(row(&mut late, "SELECT GROUP_CONCAT(v) FROM t").await, "holder", "{flavor:?}");
        let params = [command::Param::Int(1)];
        assert_eq!(execute(&mut late, id, &params, true).await.rows().count(), 1);
    }
}

#[tokio::test]
async fn each_wait_has_its_own_deadline() {
    for (flavor, server) in &both() {
        database(server, "sh_deadline", &[TABLE]).await;
        let weir = sharing(server, 1, "queue_timeout = \"3s\"\n", "");
        let [mut holder, mut late] = clients(&weir, "sh_deadline").await;
        // The timer of this wait still runs when the next begins.
        holder.run("BEGIN").await.unwrap();
        let (served, ()) = tokio::join!(late.query("SELECT 1"), async {
            until("it waits", async || (metric(&weir, "weir_pool_waiting").await == 1.0).then_some(())).await;
            holder.run("COMMIT").await.unwrap();
        });
        assert!(served.unwrap().err().is_none(), "{flavor:?}");
        holder.run("BEGIN").await.unwrap();
        let begun = Instant::now();
        let err = late.query("SELECT 1").await.unwrap().err().cloned().unwrap();
        assert_eq!(err.code, 1040, "{flavor:?}: {err}");
        let waited = begun.elapsed().as_secs_f64();
        assert!((3.0..30.0).contains(&waited), "{flavor:?}: {waited} s");
    }
}

#[tokio::test]
async fn who_leaves_the_queue_frees_its_place() {
    for (flavor, server) in &both() {
        database(server, "sh_leave", &[TABLE]).await;
        let weir = sharing(server, 1, "max_waiting = 1\n", "");
        let [mut holder, mut first, mut second, mut witness] = clients(&weir, "sh_leave").await;
        holder.run("BEGIN").await.unwrap();
        holder.run("INSERT INTO t (v) VALUES ('holder')").await.unwrap();
        first.send(command::QUERY, b"INSERT INTO t (v) VALUES ('first')").await.unwrap();
        taken(&mut witness).await;
        let err = second.query("INSERT INTO t (v) VALUES ('second')").await.unwrap().err().cloned().unwrap();
        assert_eq!((err.code, err.state.as_str()), (1040, "08004"), "{err}");
        assert!(err.message.contains("pool.max_waiting"), "{err}");
        drop(first);
        until("Weir has seen that the client left", async || {
            (metric(&weir, "weir_clients_connected").await == 3.0).then_some(())
        })
        .await;
        second.send(command::QUERY, b"INSERT INTO t (v) VALUES ('second')").await.unwrap();
        taken(&mut witness).await;
        holder.run("COMMIT").await.unwrap();
        let response = second.receive(command::QUERY).await.unwrap();
        assert_eq!(response.ok().map(|ok| ok.affected_rows), Some(1), "{flavor:?}: {response:?}");
        // What the one that left had asked for was not run.
        let all = row(&mut witness, "SELECT GROUP_CONCAT(v ORDER BY i) FROM t").await;
        assert_eq!(all, "holder,second", "{flavor:?}");
    }
}

#[tokio::test]
async fn with_max_waiting_0_nobody_waits() {
    for (_flavor, server) in &both() {
        database(server, "sh_full", &[TABLE]).await;
        let weir = sharing(server, 1, "max_waiting = 0\nqueue_timeout = \"1h\"\n", "");
        let [mut holder, mut other] = clients(&weir, "sh_full").await;
        holder.run("BEGIN").await.unwrap();
        holder.run("INSERT INTO t (v) VALUES ('holder')").await.unwrap();
        // It would be an hour otherwise.
        let err = other.query("SELECT 1").await.unwrap().err().cloned().unwrap();
        assert_eq!((err.code, err.state.as_str()), (1040, "08004"), "{err}");
        assert!(err.message.contains("pool.max_waiting"), "{err}");
        assert_eq!(refusal(app(weir.addr()).connect().await).code, 1040);
        holder.run("COMMIT").await.unwrap();
        // What the connection alone knows is read back before it is free.
        free(&mut holder, "COMMIT").await;
        turn(&mut other).await;
    }
}

#[tokio::test]
async fn who_leaves_behind_a_long_statement_frees_its_place_too() {
    for (flavor, server) in &both() {
        database(server, "sh_leave_long", &["CREATE TABLE t (v LONGTEXT)"]).await;
        let weir = sharing(server, 1, "queue_timeout = \"50s\"\n", "");
        let [mut holder] = clients(&weir, "sh_leave_long").await;
        for bytes in [20_000, 60_000, 300_000] {
            let mut leaves = client(&weir, "sh_leave_long").await;
            holder.run("BEGIN").await.unwrap();
            holder.run("SELECT COUNT(*) FROM t").await.unwrap();
            let sql = format!("INSERT INTO t VALUES ('{}')", "x".repeat(bytes));
            leaves.send(command::QUERY, sql.as_bytes()).await.unwrap();
            let waiting = async |count: f64| {
                until("so many wait", async || {
                    (metric(&weir, "weir_pool_waiting").await == count).then_some(())
                })
                .await;
            };
            waiting(1.0).await;
            // What is sent ahead is held, and its end seen.
            leaves.send(command::PING, b"").await.unwrap();
            drop(leaves);
            waiting(0.0).await;
            holder.run("COMMIT").await.unwrap();
        }
        assert_eq!(row(&mut holder, "SELECT COUNT(*) FROM t").await, "0", "{flavor:?}");
    }
}

#[tokio::test]
async fn p44_the_rest_of_a_short_command_is_not_awaited_for_ever() {
    let server = server(Flavor::MariaDb);
    database(&server, "sh_rest", &[]).await;
    let limits = "[limits]\nauth_failure_delay = \"20ms\"\nclient_read_timeout = \"1s\"\n";
    for mode in ["sharing = \"transaction\"\n", "sharing = \"session\"\n"] {
        let weir = sharing(&server, 2, mode, limits);
        for part in [&b"\x09\x00\x00"[..], b"\x09\x00\x00\x00\x03SEL"] {
            let mut one = client(&weir, "sh_rest").await;
            one.run("SELECT 1").await.unwrap();
            one.stream().write_raw(part).await.unwrap();
            let told = one.stream().expect_packet().await.unwrap();
            assert_eq!(ErrPacket::parse(&told.payload).unwrap().code, 1159, "{mode}");
            assert!(one.stream().read_packet().await.unwrap().is_none(), "{mode}");
        }
    }
}
