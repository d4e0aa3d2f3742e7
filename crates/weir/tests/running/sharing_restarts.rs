//! P44, P45, P47 and the pool: connections that end while nobody uses them cost the clients nothing.

use std::time::Duration;

use crate::fake_server::*;
use crate::kit::*;
use crate::sharing_kit::*;

const TABLE: &[&str] = &["CREATE TABLE t (i INT PRIMARY KEY AUTO_INCREMENT, v INT)"];

#[tokio::test]
async fn a_server_that_restarts_under_idle_clients_costs_them_nothing() {
    for flavor in Flavor::BOTH {
        let mut server = Server::start(flavor).unwrap();
        database(&server, "sh_restart", TABLE).await;
        let weir = sharing(&server, 2, "", "");
        let mut all: [Client; 5] = clients(&weir, "sh_restart").await;
        let mut ids = Vec::new();
        for (i, client) in all.iter_mut().enumerate() {
            client.run(&format!("SET @me = {i}, time_zone = '+0{i}:00'")).await.unwrap();
            ids.push(client.prepare("SELECT @me, @@time_zone, ?").await.unwrap().id);
            execute(client, ids[i], &[command::Param::Text("before".into())], true).await;
        }
        for (round, in_order) in [true, false].into_iter().enumerate() {
            match in_order {
                true => server.restart().unwrap(),
                false => {
                    server.kill9().unwrap();
                    server.restart().unwrap();
                }
            }
            for (i, client) in all.iter_mut().enumerate() {
                let what = format!("{flavor:?}, in order: {in_order}, client {i}");
                // The first statement after it: a text, an execution, a write.
                match (i + round) % 3 {
                    0 => {}
                    1 => {
                        let params = [command::Param::Text("after".into())];
                        let response = execute(client, ids[i], &params, false).await;
                        assert_eq!(response.err(), None, "{what}");
                        assert!(response.rows().next().unwrap().ends_with(b"after"), "{what}: {response:?}");
                    }
                    _ => {
                        let response = client.query("INSERT INTO t (v) VALUES (@me)").await.unwrap();
                        assert_eq!(response.ok().map(|ok| ok.affected_rows), Some(1), "{what}: {response:?}");
                    }
                }
                let mine = row(client, "SELECT @me, @@time_zone, DATABASE()").await;
                assert_eq!(mine, format!("{i}|+0{i}:00|sh_restart"), "{what}");
            }
        }
        assert_eq!(metric(&weir, "weir_clients_connected").await, 5.0);
    }
}

#[tokio::test]
async fn p45_a_pooled_connection_that_is_killed_is_replaced_unseen() {
    for (flavor, server) in &both() {
        let mut admin = app(server.addr()).connect().await.unwrap();
        database(server, "sh_p45", TABLE).await;
        admin.run("DROP USER IF EXISTS sh_p45").await.unwrap();
        admin.run("CREATE USER sh_p45 IDENTIFIED BY 'p45-pw'").await.unwrap();
        admin.run("GRANT ALL ON sh_p45.* TO sh_p45").await.unwrap();
        let weir = sharing(server, 2, "", "");
        let options = ConnectOptions::tcp(weir.addr(), "sh_p45", "p45-pw").database("sh_p45");
        let mut all = [options.connect().await.unwrap(), options.connect().await.unwrap()];
        let pooled = "SELECT GROUP_CONCAT(ID) FROM information_schema.PROCESSLIST WHERE USER = 'sh_p45'";
        for client in &mut all {
            free(client, "the login is over").await;
        }
        for round in 0..4 {
            let ids = row(&mut admin, pooled).await;
            assert_ne!(ids, "NULL", "{flavor:?}: nothing is pooled");
            for id in ids.split(',') {
                admin.run(&format!("KILL {id}")).await.unwrap();
            }
            until("the server has ended them", async || {
                (row(&mut admin, pooled).await == "NULL").then_some(())
            })
            .await;
            for client in &mut all {
                let response = client.query("INSERT INTO t (v) VALUES (1)").await.unwrap();
                assert_eq!(
                    response.ok().map(|ok| ok.affected_rows),
                    Some(1),
                    "{flavor:?} {round}: {response:?}"
                );
                // A connection that is asked for the insert id just now is not an idle one.
                free(client, "the statement is over").await;
            }
        }
        assert_eq!(row(&mut all[0], "SELECT COUNT(*) FROM t").await, "8", "{flavor:?}: each ran once");
    }
}

#[tokio::test]
async fn a_pinned_session_ends_with_its_connection() {
    for (flavor, server) in &both() {
        let mut admin = app(server.addr()).connect().await.unwrap();
        database(server, "sh_end", TABLE).await;
        let weir = sharing(server, 2, "", "");
        let [mut one, mut two] = clients(&weir, "sh_end").await;
        one.run("BEGIN").await.unwrap();
        one.run("INSERT INTO t (v) VALUES (1)").await.unwrap();
        let id = pinned(&mut one, "transaction", "BEGIN").await;
        admin.run(&format!("KILL {id}")).await.unwrap();
        // Half a transaction must not go on as a whole one: the session ends, as it does without Weir.
        if let Some(packet) = one.stream().read_packet().await.unwrap() {
            assert_eq!(packet.payload[0], 0xff, "{flavor:?}: {packet:?}");
            assert!(one.stream().read_packet().await.unwrap().is_none());
        }
        assert_eq!(row(&mut two, "SELECT COUNT(*) FROM t").await, "0", "{flavor:?}");
    }
}

#[tokio::test]
async fn p44_idle_connections_are_replaced_before_the_server_ends_them() {
    let [mariadb, mysql] = Flavor::BOTH.map(|flavor| {
        Server::builder(flavor).arg("--wait-timeout=10").arg("--interactive-timeout=10").start().unwrap()
    });
    // Beside each other, as nearly all of it is waiting.
    tokio::join!(
        idle_connections_are_replaced(Flavor::MariaDb, &mariadb),
        idle_connections_are_replaced(Flavor::MySql, &mysql)
    );
}

async fn idle_connections_are_replaced(flavor: Flavor, server: &Server) {
    database(server, "sh_p44", TABLE).await;
    let weir = sharing(server, 2, "min_idle = 2\n", "");
    let [mut one, mut two] = clients(&weir, "sh_p44").await;
    one.run("SET @a = 1").await.unwrap();
    // Time has to pass: less than the limit, about it, more than it. Weir replaces what is idle for 8 s, so what it gives a client
    // lives for 2 s more.
    for pause in [0, 7800, 10_000, 12_000] {
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let response = one.query("SELECT @a").await.unwrap();
        assert_eq!(response.rows().next(), Some(&b"\x011"[..]), "{flavor:?} {pause}: {response:?}");
        let response = two.query("INSERT INTO t (v) VALUES (1)").await.unwrap();
        assert_eq!(response.ok().map(|ok| ok.affected_rows), Some(1), "{flavor:?} {pause}: {response:?}");
    }
    assert_eq!(row(&mut one, "SELECT COUNT(*) FROM t").await, "4", "{flavor:?}");
    assert!(opened(&weir).await > 2.0, "nothing was replaced: the time has not passed");
}

/// What such a server says to all else.
fn usual(request: &[u8]) -> Reply {
    match request {
        [command::QUERY, sql @ ..] if asks_state(sql) => Reply::Bytes(state(sql)),
        [command::QUERY, sql @ ..] if sql.starts_with(b"SELECT 'after'") => {
            Reply::Bytes(result(0, 0, &["after"]).0)
        }
        [command::QUIT, ..] => Reply::Last(Vec::new()),
        _ => Reply::Bytes(packet(1, b"\0\0\0\x02\0\0\0")),
    }
}

/// A client of a Weir that shares its connections.
async fn through(server: &FakeServer) -> (Weir, Client) {
    let weir = Weir::config(sharing_config(&server.addr().to_string(), 4, "", "")).start().unwrap();
    weir.wait_for_line("accepting clients", PATIENCE).unwrap();
    let client = app(weir.addr()).connect().await.unwrap();
    (weir, client)
}

/// An ERR with sequence id 0 crosses the statement on its way: nothing has run, the session goes on, and its client's library finds
/// the packet where it awaits it.
#[tokio::test]
async fn p44_a_last_word_that_crosses_a_statement_is_its_answer() {
    const OURS: &[u8] = b"SELECT 'crossed'";
    let server = FakeServer::start("8.0.99", Caps::COMMON, |request| match request {
        [command::QUERY, sql @ ..] if sql == OURS => Reply::Last(packet(
            0,
            b"\xff\xbf\x0f#HY000The client was disconnected by the server because of inactivity.",
        )),
        _ => usual(request),
    })
    .await;
    let (_weir, mut client) = through(&server).await;
    for _ in 0..3 {
        client.send(command::QUERY, OURS).await.unwrap();
        let told = client.stream().expect_packet().await.unwrap();
        assert_eq!((told.seq, &told.payload[..3]), (1, &b"\xff\xbf\x0f"[..]), "{told:?}");
        assert_eq!(row(&mut client, "SELECT 'after'").await, "after");
    }
}

/// A last word behind an answer that has left a warning, in the same breath or in pieces, is nobody's answer.
#[tokio::test]
async fn p44_a_last_word_behind_an_answer_is_not_taken_for_the_next() {
    const WORD: &[u8] = b"\xff\x1d\x04#08S01Server shutdown in progress";
    let warned = || packet(1, b"\0\0\0\x02\0\x01\0");
    let server = FakeServer::start("8.0.99", Caps::COMMON, move |request| match request {
        [command::QUERY, sql @ ..] if sql == b"DO 'whole'" => {
            Reply::Last([warned(), packet(0, WORD)].concat())
        }
        [command::QUERY, sql @ ..] if sql == b"DO 'a part'" => {
            Reply::Last([warned(), packet(0, WORD)[..9].to_vec()].concat())
        }
        _ => usual(request),
    })
    .await;
    let (_weir, mut client) = through(&server).await;
    for _ in 0..3 {
        for sql in ["DO 'whole'", "DO 'a part'"] {
            client.run(sql).await.unwrap();
            assert_eq!(row(&mut client, "SELECT 'after'").await, "after", "{sql}");
        }
    }
}

/// What the last statement has left keeps a connection; where that ends, the client loses this, and nothing else.
#[tokio::test]
async fn a_server_that_restarts_under_clients_with_warnings_costs_them_these() {
    for flavor in Flavor::BOTH {
        let mut server = Server::start(flavor).unwrap();
        database(&server, "sh_warned", &[TABLE[0], "INSERT INTO t (v) VALUES (1), (2)"]).await;
        let weir = sharing(&server, 8, "", "");
        let mut all: [Client; 3] = clients(&weir, "sh_warned").await;
        for (n, client) in all.iter_mut().enumerate() {
            client.run(&format!("SET @me = {n}")).await.unwrap();
            match n {
                0 => drop(client.query("SELECT nothing FROM nowhere").await.unwrap()),
                1 => drop(client.run("SELECT CAST('x' AS SIGNED)").await.unwrap()),
                _ => drop(client.run("UPDATE t SET v = v + 1").await.unwrap()),
            }
            pinned(client, if n == 2 { "row_count" } else { "warnings" }, "before").await;
        }
        server.restart().unwrap();
        let asked = ["SHOW WARNINGS", "SELECT @me", "SELECT ROW_COUNT()"];
        for (n, (client, sql)) in all.iter_mut().zip(asked).enumerate() {
            let told = client.query(sql).await.unwrap();
            let code = told.err().map(|err| err.code);
            assert_eq!(code, (n != 1).then_some(1105), "{flavor:?} {sql}: {told:?}");
            assert_eq!(row(client, "SELECT @me").await, n.to_string(), "{flavor:?} {sql}");
        }
    }
}
