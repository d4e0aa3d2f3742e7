//! Prepared statements, results of several kinds, pipelining, the reset of a session.

use weir_testkit::client::caps::status;

use crate::kit::*;

fn execute(id: u32) -> Vec<u8> {
    command::Execute { id, flags: 0, params: &[], types: true, attributes: false }.body()
}

#[tokio::test]
async fn p33_results_of_a_call_text_and_binary_with_out_parameters() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        let mut admin = app(server.addr()).connect().await.unwrap();
        for sql in [
            "CREATE DATABASE IF NOT EXISTS it",
            "DROP PROCEDURE IF EXISTS it.p33",
            "CREATE PROCEDURE it.p33(IN a INT, OUT b INT, INOUT c INT) BEGIN SELECT a; SELECT a, 'x' UNION SELECT 2, 'y'; \
             SET b = 41, c = c + 1; SIGNAL SQLSTATE '01000'; END",
        ] {
            admin.run(sql).await.unwrap();
        }
        for more in [Caps::default(), Caps::DEPRECATE_EOF] {
            let mut twin = Twin::open(&server, &weir, |o| o.with(more)).await;
            twin.run("SET @c = 5").await;
            let response = twin.run("CALL p33(1, @b, @c)").await;
            assert_eq!((response.results().count(), response.outcomes.len()), (2, 3));
            twin.run("SHOW WARNINGS").await;
            let ids = twin.prepare("CALL p33(?, ?, ?)").await;
            let params = [command::Param::Int(1), command::Param::Int(2), command::Param::Int(3)];
            let body = |id| {
                command::Execute { id, flags: 0, params: &params, types: true, attributes: false }.body()
            };
            for _ in 0..2 {
                let response = twin.on(ids, command::STMT_EXECUTE, body).await;
                assert_eq!(response.results().count(), 3, "the OUT parameters are a result");
                // Without DEPRECATE_EOF MySQL announces no more behind them and sends an OK all the same.
                assert!(response.ok().is_some(), "{response:?}");
            }
            twin.run("SELECT @b, @c").await;
        }
    }
}

#[tokio::test]
async fn p36_p39_commands_without_answer_and_ids_that_do_not_exist() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        let mut twin = Twin::open(&server, &weir, |o| o).await;
        let bad = 4711u32;
        for (code, body) in [
            (command::STMT_CLOSE, bad.to_le_bytes().to_vec()),
            (command::STMT_SEND_LONG_DATA, command::long_data(bad, 0, b"data")),
            (command::STMT_SEND_LONG_DATA, command::long_data(bad, 0, &vec![b'x'; 3_000_000])),
            (command::PING, Vec::new()),
            (command::STMT_EXECUTE, execute(bad)),
            (command::STMT_FETCH, command::fetch(bad, 1)),
            (command::STMT_RESET, bad.to_le_bytes().to_vec()),
            (command::PING, Vec::new()),
        ] {
            let response = twin.command(code, &body).await;
            if matches!(code, command::STMT_EXECUTE | command::STMT_FETCH | command::STMT_RESET) {
                assert_eq!(response.err().unwrap().code, 1243, "{code:#x}");
            }
            assert!(!response.closed);
        }
    }
}

#[tokio::test]
async fn p39_execute_of_the_statement_just_prepared() {
    let server = server(Flavor::MariaDb);
    let weir = weir(&server);
    let mut twin = Twin::open(&server, &weir, |o| o).await;
    let body = execute(u32::MAX);
    let mut answers = Vec::new();
    for client in [&mut twin.direct, &mut twin.weir] {
        // Both commands leave in one write: the id is not known yet.
        client.send(command::STMT_PREPARE, b"SELECT 40 + 2, 'x'").await.unwrap();
        client.send(command::STMT_EXECUTE, &body).await.unwrap();
        let prepared = client.receive(command::STMT_PREPARE).await.unwrap();
        let executed = client.receive(command::STMT_EXECUTE).await.unwrap();
        assert!(matches!(prepared.outcomes[..], [Outcome::Prepared(_)]), "{prepared:?}");
        assert_eq!(executed.rows().count(), 1, "{executed:?}");
        answers.push(executed);
    }
    assert_eq!(answers[0], answers[1]);
}

#[tokio::test]
async fn p37_p38_long_data_and_cursors() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        let mut twin = Twin::open(&server, &weir, |o| o).await;
        let ids = twin.prepare("SELECT LENGTH(?), LEFT(?, 5)").await;
        let params = [command::Param::LongData, command::Param::LongData];
        let body =
            |id| command::Execute { id, flags: 0, params: &params, types: true, attributes: false }.body();
        let send = async |twin: &mut Twin, chunks: usize| {
            for _ in 0..chunks {
                for param in [0, 1] {
                    let chunk = |id| command::long_data(id, param, &[b'k'; 64 * 1024]);
                    twin.on(ids, command::STMT_SEND_LONG_DATA, chunk).await;
                }
            }
        };
        send(&mut twin, 100).await;
        let response = twin.on(ids, command::STMT_EXECUTE, body).await;
        assert_eq!(response.rows().count(), 1);
        // More than max_allowed_packet of one parameter: the error comes with the execution.
        send(&mut twin, 1100).await;
        let response = twin.on(ids, command::STMT_EXECUTE, body).await;
        assert!(response.err().is_some(), "{flavor:?}: {response:?}");
        // A reset drops what was sent.
        send(&mut twin, 2).await;
        twin.on(ids, command::STMT_RESET, |id| id.to_le_bytes().to_vec()).await;
        twin.command(command::PING, &[]).await;

        twin.run("CREATE TEMPORARY TABLE p38 (d INT)").await;
        let values: Vec<_> = (0..500).map(|i| format!("({i})")).collect();
        twin.run(&format!("INSERT INTO p38 VALUES {}", values.join(","))).await;
        let ids = twin.prepare("SELECT d, REPEAT('w', d) FROM p38 ORDER BY d").await;
        let open = |id| command::Execute { id, flags: 1, params: &[], types: true, attributes: false }.body();
        let opened = twin.on(ids, command::STMT_EXECUTE, open).await;
        assert_eq!(opened.rows().count(), 0, "the cursor was ignored");
        let mut seen = 0;
        loop {
            let part = twin.on(ids, command::STMT_FETCH, |id| command::fetch(id, 90)).await;
            seen += part.rows().count();
            // Other statements may run while the cursor is open.
            twin.run("SELECT 1").await;
            if part.status().unwrap() & status::LAST_ROW_SENT != 0 || seen >= 500 {
                break;
            }
        }
        assert_eq!(seen, 500);
    }
}

#[tokio::test]
async fn p42_a_reset_forgets_what_the_server_forgets() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        let mut twin = Twin::open(&server, &weir, |o| o.collation(8)).await;
        // A client of the round before may still be on its way out.
        let lock = |name: &str| format!("SELECT GET_LOCK('p42_{name}', 10)");
        for _ in 0..2 {
            let ids = twin.prepare("SELECT 1").await;
            twin.run("SET NAMES utf8mb4, @u = 7, sql_mode = 'ANSI', time_zone = '+01:00'").await;
            twin.run("CREATE TEMPORARY TABLE p42 (i INT PRIMARY KEY AUTO_INCREMENT)").await;
            twin.run("INSERT INTO p42 VALUES (NULL), (NULL)").await;
            twin.run("BEGIN").await;
            for (client, name) in [(&mut twin.direct, "direct"), (&mut twin.weir, "weir")] {
                assert_eq!(client.scalar(&lock(name)).await.unwrap().as_deref(), Some("1"));
            }
            twin.command(command::RESET_CONNECTION, &[]).await;
            for sql in [
                "SELECT @u, LAST_INSERT_ID(), @@sql_mode, @@time_zone, @@collation_connection, @@in_transaction",
                "SELECT @u, LAST_INSERT_ID(), @@sql_mode, @@time_zone, @@collation_connection, DATABASE()",
                "SELECT * FROM p42",
            ] {
                twin.query(sql).await;
            }
            twin.query("USE it").await;
            // The error names the statement's id, which each session counts by itself.
            for (client, id) in [(&mut twin.direct, ids.direct), (&mut twin.weir, ids.weir)] {
                let executed = client.command(command::STMT_EXECUTE, &execute(id)).await.unwrap();
                assert_eq!(executed.err().unwrap().code, 1243);
            }
            let mut other = app(server.addr()).connect().await.unwrap();
            assert_eq!(other.scalar(&lock("weir")).await.unwrap().as_deref(), Some("1"));
        }
    }
}

#[tokio::test]
async fn p49_pipelined_commands_are_answered_in_order() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        let mut client = app(weir.addr()).connect().await.unwrap();
        client.run("CREATE DATABASE IF NOT EXISTS it; USE it").await.unwrap();
        client.run("CREATE TEMPORARY TABLE p49 (i INT, v LONGTEXT)").await.unwrap();
        let mut wire = Vec::new();
        let statements: Vec<_> = std::iter::once("START TRANSACTION READ ONLY".to_owned())
            .chain((0..50).map(|i| format!("SELECT {i}, @@autocommit")))
            .chain(["COMMIT".to_owned()])
            .collect();
        for sql in &statements {
            let payload = [&[command::QUERY], sql.as_bytes()].concat();
            wire.extend(crate::fake_server::packet(0, &payload));
        }
        client.stream().write_raw(&wire).await.unwrap();
        for (i, sql) in statements.iter().enumerate() {
            let response = client.receive(command::QUERY).await.unwrap();
            numbered(&response, 1);
            assert_eq!(response.err(), None, "{sql}");
            if let Some(row) = response.rows().next() {
                assert!(row.starts_with(&crate::kit::lenenc_text(&(i - 1).to_string())), "{sql}: {row:?}");
            }
        }
        // Ten commands of 2 MB in one go.
        for i in 0..10 {
            let sql = format!("INSERT INTO p49 VALUES ({i}, '{}')", "v".repeat(2_000_000));
            client.send(command::QUERY, sql.as_bytes()).await.unwrap();
        }
        for i in 0..10 {
            let response = client.receive(command::QUERY).await.unwrap();
            assert_eq!(response.ok().map(|ok| ok.affected_rows), Some(1), "{i}: {response:?}");
        }
        let sum = client.scalar("SELECT SUM(LENGTH(v)) FROM p49").await.unwrap();
        assert_eq!(sum.as_deref(), Some("20000000"));
    }
}
