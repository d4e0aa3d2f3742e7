//! P30, P44: SET GLOBAL while connections wait in the pool. Whoever was there keeps what he had, whoever logs in gets what a
//! login at the server gets, on whichever connection.

use std::time::Duration;

use weir_testkit::process::Signal;

use crate::kit::*;
use crate::sharing_kit::*;

const NOW: &str = "SELECT CONCAT_WS('|', @@sql_mode, @@time_zone, @@wait_timeout, @@interactive_timeout, @@sql_safe_updates, \
    @@character_set_server, @@collation_server, @@character_set_client, @@collation_connection, @@group_concat_max_len, \
    @@div_precision_increment, @@foreign_key_checks)";

/// What shows the variables at work.
const AT_WORK: [&str; 4] =
    ["SELECT FROM_UNIXTIME(86400), 1 / 7", "SELECT \"i\" FROM t", "DO 0", "SELECT /* */ @@SESSION.sql_mode"];

async fn ask(twin: &mut Twin, fresh: bool) -> Vec<u8> {
    let hint = if fresh { "/*weir: fresh*/ " } else { "" };
    let response = twin.run(&format!("{hint}{NOW}")).await;
    for sql in AT_WORK {
        twin.run(sql).await;
    }
    response.rows().next().unwrap().to_vec()
}

#[tokio::test]
async fn p30_set_global_is_for_those_who_log_in_after_it() {
    for flavor in Flavor::BOTH {
        let server = Server::start(flavor).unwrap();
        let mut admin = app(server.addr()).connect().await.unwrap();
        for sql in ["CREATE DATABASE it", "CREATE TABLE it.t (i INT)", "INSERT INTO it.t VALUES (7)"] {
            admin.run(sql).await.unwrap();
        }
        let weir = sharing(&server, 3, "min_idle = 3\n", "");
        let change = [
            ["SET GLOBAL sql_mode = 'ANSI_QUOTES,NO_ZERO_DATE'", "SET GLOBAL time_zone = '+03:00'"],
            ["SET GLOBAL wait_timeout = 602", "SET GLOBAL interactive_timeout = 603"],
            ["SET GLOBAL character_set_server = latin1", "SET GLOBAL div_precision_increment = 6"],
            ["SET GLOBAL sql_safe_updates = 1", "SET GLOBAL group_concat_max_len = 2000"],
        ];
        let mut twins = vec![Twin::open(&server, &weir, |options| options).await];
        let mut known = vec![ask(&mut twins[0], false).await];
        for statements in change {
            for sql in statements {
                admin.run(sql).await.unwrap();
            }
            // It is there before the others have used the connections again, and after that.
            for others_first in [false, true] {
                if others_first {
                    for (i, twin) in twins.iter_mut().enumerate() {
                        assert_eq!(
                            ask(twin, false).await,
                            known[i],
                            "{flavor:?}: session {i} after {statements:?}"
                        );
                    }
                }
                let mut twin = Twin::open(&server, &weir, |options| options).await;
                let now = ask(&mut twin, others_first).await;
                assert_ne!(Some(&now), known.first(), "{flavor:?}: {statements:?} had no effect");
                twins.push(twin);
                known.push(now);
            }
            // Each on one connection after the other.
            for fresh in [true, false, true] {
                for (i, twin) in twins.iter_mut().enumerate() {
                    assert_eq!(
                        ask(twin, fresh).await,
                        known[i],
                        "{flavor:?}: session {i} after {statements:?}"
                    );
                }
            }
        }
        assert!(opened(&weir).await <= 20.0, "{flavor:?}: {} connections", opened(&weir).await);
        // A reset makes one who was there before everything as new as the last.
        twins[0].command(command::RESET_CONNECTION, b"").await;
        let reset = ask(&mut twins[0], false).await;
        twins[0].command(command::INIT_DB, b"it").await;
        assert_ne!(reset, known[0], "{flavor:?}");
    }
}

#[tokio::test]
async fn p30_autocommit_that_is_off_for_all_is_off_for_those_who_log_in_after_it() {
    for flavor in Flavor::BOTH {
        let server = Server::start(flavor).unwrap();
        database(&server, "sh_gauto", &["CREATE TABLE t (i INT)"]).await;
        let weir = sharing(&server, 4, "min_idle = 4\n", "");
        let mut admin = app(server.addr()).database("sh_gauto").connect().await.unwrap();
        let mut one = client(&weir, "sh_gauto").await;
        one.run("INSERT INTO t VALUES (0)").await.unwrap();
        admin.run("SET GLOBAL autocommit = 0").await.unwrap();
        let mut count = 1;
        for round in 0..3 {
            let mut late = client(&weir, "sh_gauto").await;
            for (end, more) in [("ROLLBACK", 0), ("COMMIT", 1)] {
                late.run("INSERT INTO t VALUES (1)").await.unwrap();
                let told = row(&mut admin, "SELECT COUNT(*) FROM t").await;
                assert_eq!(told, count.to_string(), "{flavor:?} {round}: it was committed at once");
                late.run(end).await.unwrap();
                count += more;
                // On the connection that the other has used, if it was given back.
                one.run("INSERT INTO t VALUES (2)").await.unwrap();
                count += 1;
                let told = row(&mut admin, "SELECT COUNT(*) FROM t").await;
                assert_eq!(told, count.to_string(), "{flavor:?} {round}: {end}");
            }
        }
    }
}

#[tokio::test]
async fn p44_a_shorter_wait_timeout_of_the_server_costs_those_who_were_there_nothing() {
    let [mariadb, mysql] = Flavor::BOTH.map(|flavor| Server::start(flavor).unwrap());
    // Beside each other, as nearly all of it is waiting.
    tokio::join!(
        a_shorter_wait_timeout(Flavor::MariaDb, &mariadb),
        a_shorter_wait_timeout(Flavor::MySql, &mysql)
    );
}

async fn a_shorter_wait_timeout(flavor: Flavor, server: &Server) {
    database(server, "sh_gwait", &["CREATE TABLE t (i INT)"]).await;
    let weir = sharing(server, 3, "min_idle = 3\n", "");
    let mut admin = app(server.addr()).connect().await.unwrap();
    let mut all: [Client; 4] = clients(&weir, "sh_gwait").await;
    for (i, client) in all.iter_mut().enumerate() {
        client.run(&format!("SET @me = {i}")).await.unwrap();
    }
    for sql in ["SET GLOBAL wait_timeout = 10", "SET GLOBAL interactive_timeout = 10"] {
        admin.run(sql).await.unwrap();
    }
    let mut rows = 0;
    for round in 0..2 {
        // Its login makes a connection of before one of after, which the server ends in ten seconds.
        let mut late = client(&weir, "sh_gwait").await;
        late.run("INSERT INTO t VALUES (-1)").await.unwrap();
        rows += 1;
        // Time has to pass.
        tokio::time::sleep(Duration::from_millis(12_500)).await;
        for (i, client) in all.iter_mut().enumerate() {
            let response = client.query("INSERT INTO t VALUES (@me)").await.unwrap();
            assert_eq!(response.ok().map(|ok| ok.affected_rows), Some(1), "{flavor:?} {round}: {response:?}");
            rows += 1;
            let mine = row(client, "SELECT CONCAT_WS('|', @me, @@wait_timeout, @@interactive_timeout)").await;
            assert_eq!(mine, format!("{i}|28800|28800"), "{flavor:?} {round}");
        }
    }
    assert_eq!(
        row(&mut all[0], "SELECT COUNT(*) FROM t").await,
        rows.to_string(),
        "{flavor:?}: each ran once"
    );
}

#[tokio::test]
async fn p44_pooled_connections_that_the_server_has_ended_after_two_seconds_are_replaced_unseen() {
    let [mariadb, mysql] = Flavor::BOTH.map(|flavor| Server::start(flavor).unwrap());
    // Beside each other, as nearly all of it is waiting.
    tokio::join!(
        a_wait_timeout_of_two_seconds(Flavor::MariaDb, &mariadb),
        a_wait_timeout_of_two_seconds(Flavor::MySql, &mysql)
    );
}

async fn a_wait_timeout_of_two_seconds(flavor: Flavor, server: &Server) {
    database(server, "sh_gwait2", &["CREATE TABLE t (i INT)"]).await;
    let mut weir = sharing(server, 1, "min_idle = 1\n", "");
    let mut admin = app(server.addr()).connect().await.unwrap();
    let mut early = client(&weir, "sh_gwait2").await;
    early.run("SET @me = 'early'").await.unwrap();
    for sql in ["SET GLOBAL wait_timeout = 2", "SET GLOBAL interactive_timeout = 2"] {
        admin.run(sql).await.unwrap();
    }
    let mut late = client(&weir, "sh_gwait2").await;
    late.run("SET @me = 'late'").await.unwrap();
    let mine = "SELECT CONCAT_WS('|', @me, @@wait_timeout)";
    let ids = [early.prepare(mine).await.unwrap().id, late.prepare(mine).await.unwrap().id];
    let pooled = "SELECT GROUP_CONCAT(ID) FROM information_schema.PROCESSLIST WHERE DB = 'sh_gwait2'";
    // While Weir is stopped the server is the first to end it, with error 4031 where it has that; else Weir may be.
    for (round, stopped) in [true, false, true, true].into_iter().enumerate() {
        // The only connection is now like the session of the late one.
        assert_eq!(row(&mut late, mine).await, "late|2", "{flavor:?}");
        let connection = row(&mut admin, pooled).await;
        if stopped {
            weir.signal(Signal::Stop).unwrap();
        }
        let gone = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {connection}");
        until("the idle connection has ended", async || (row(&mut admin, &gone).await == "0").then_some(()))
            .await;
        let (client, id, expected) =
            if round == 3 { (&mut late, ids[1], "late|2") } else { (&mut early, ids[0], "early|28800") };
        let what = format!("{flavor:?}, round {round}");
        if round == 0 {
            client.send(command::QUERY, b"INSERT INTO t VALUES (1)").await.unwrap();
            weir.signal(Signal::Continue).unwrap();
            let response = client.receive(command::QUERY).await.unwrap();
            assert_eq!(response.ok().map(|ok| ok.affected_rows), Some(1), "{what}: {response:?}");
        } else {
            let body = command::Execute { id, flags: 0, params: &[], types: true, attributes: false }.body();
            client.send(command::STMT_EXECUTE, &body).await.unwrap();
            weir.signal(Signal::Continue).unwrap();
            let response = client.receive(command::STMT_EXECUTE).await.unwrap();
            assert_eq!(response.err(), None, "{what}");
            assert!(response.rows().next().unwrap().ends_with(expected.as_bytes()), "{what}: {response:?}");
        }
        assert_eq!(row(client, mine).await, expected, "{what}");
    }
    assert_eq!(row(&mut early, "SELECT COUNT(*) FROM t").await, "1", "{flavor:?}: it ran once");
    assert_eq!(metric(&weir, "weir_clients_connected").await, 2.0, "{flavor:?}");
}
