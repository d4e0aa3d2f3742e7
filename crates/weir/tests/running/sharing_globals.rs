//! P30, P44: SET GLOBAL while connections wait in the pool. Whoever was there keeps what he had, whoever logs in gets what a
//! login at the server gets, on whichever connection.

use std::time::Duration;

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
