//! Sessions whose variables differ: what one is answered is nobody else's, unless no read can depend on the difference.

use crate::cache_kit::*;
use crate::kit::*;
use crate::sharing_kit::*;

/// What a session sets, and a read that the server itself then answers otherwise.
const PAIRS: [(&str, &str); 13] = [
    ("SET NAMES latin1", "SELECT v FROM t WHERE id=1"),
    ("SET character_set_results=latin1", "SELECT v FROM t WHERE id=1"),
    ("SET time_zone='+05:00'", "SELECT FROM_UNIXTIME(0) FROM t WHERE id=1"),
    ("SET sql_mode='ANSI_QUOTES'", "SELECT \"v\" FROM t WHERE id=1"),
    ("SET sql_mode='PIPES_AS_CONCAT'", "SELECT 1 || 0 FROM t WHERE id=1"),
    ("SET div_precision_increment=9", "SELECT id/3 FROM t WHERE id=1"),
    ("SET group_concat_max_len=4", "SELECT GROUP_CONCAT(v) FROM t"),
    ("SET sql_select_limit=1", "SELECT v FROM t ORDER BY id"),
    ("SET lc_time_names='de_DE'", "SELECT DATE_FORMAT('2026-03-01', '%M') FROM t WHERE id=1"),
    ("USE ca_vary2", "SELECT v FROM t WHERE id=1"),
    ("SET default_week_format=1", "SELECT WEEK('2026-01-01') FROM t WHERE id=1"),
    ("SET max_join_size=1", "SELECT SUM(a.id * b.id) FROM t a, t b"),
    // Every statement is a slow one then, and its answer says so.
    ("SET long_query_time=0", "SELECT v FROM t WHERE id=1"),
];

/// Those that say how the server finds the rows, and so in which order they come.
const ORDER: [(Flavor, &str, &str); 4] = [
    (Flavor::MariaDb, "SET max_sort_length=64", "SELECT id FROM t ORDER BY CONCAT(REPEAT('x', 100), 9-id)"),
    (Flavor::MariaDb, "SET join_cache_level=0", "SELECT a.id, b.id FROM t a STRAIGHT_JOIN t b"),
    (
        Flavor::MariaDb,
        "SET optimizer_switch='outer_join_with_cache=off'",
        "SELECT a.id, b.id FROM t a LEFT JOIN t b ON b.id+0 < a.id+9",
    ),
    (
        Flavor::MySql,
        "SET optimizer_switch='block_nested_loop=off'",
        "SELECT a.id, b.id FROM t a STRAIGHT_JOIN t b",
    ),
];

#[tokio::test]
async fn sessions_that_differ_in_what_answers_depend_on_share_nothing() {
    for (flavor, server) in &both() {
        table(server, "ca_vary").await;
        database(server, "ca_vary2", &["CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(40))"]).await;
        change(server, "INSERT INTO ca_vary2.t VALUES (1, 'of the other schema')").await;
        change(server, "UPDATE ca_vary.t SET v='\u{e9}' WHERE id=1").await;
        let weir = sharing(server, 4, "", ALL);
        let order = ORDER.into_iter().filter(|(of, ..)| of == flavor).map(|(_, vary, sql)| (vary, sql));
        for (vary, sql) in PAIRS.into_iter().chain(order) {
            let at = format!("{flavor:?}: {vary}");
            let mut direct = app(server.addr()).database("ca_vary").connect().await.unwrap();
            let [mut plain, mut other] = clients(&weir, "ca_vary").await;
            for client in [&mut direct, &mut plain] {
                client.run("SET NAMES utf8mb4").await.unwrap();
            }
            other.run("SET NAMES utf8mb4").await.unwrap();
            let expected = direct.query(sql).await.unwrap();
            for _ in 0..2 {
                assert_eq!(plain.query(sql).await.unwrap(), expected, "{at}");
            }
            direct.run(vary).await.unwrap();
            other.run(vary).await.unwrap();
            let varied = direct.query(sql).await.unwrap();
            assert_ne!(varied, expected, "{at}: it should matter");
            for _ in 0..2 {
                assert_eq!(other.query(sql).await.unwrap(), varied, "{at}");
                assert_eq!(plain.query(sql).await.unwrap(), expected, "{at}");
            }
        }
    }
}

/// With sql_auto_is_null a comparison with NULL finds the row that the session has inserted last.
#[tokio::test]
async fn a_session_for_which_null_is_its_last_row_is_not_served_what_others_are() {
    let sql = "SELECT id>0 FROM a WHERE id IS NULL";
    for (flavor, server) in &both() {
        database(server, "ca_is_null", &["CREATE TABLE a (id INT AUTO_INCREMENT PRIMARY KEY)"]).await;
        let weir = sharing(server, 4, "", ALL);
        let mut direct = app(server.addr()).database("ca_is_null").connect().await.unwrap();
        let [mut plain, mut other] = clients(&weir, "ca_is_null").await;
        for client in [&mut direct, &mut other] {
            client.run("SET sql_auto_is_null=1").await.unwrap();
        }
        for round in 0..2 {
            for _ in 0..2 {
                assert_eq!(plain.run(sql).await.unwrap().rows().count(), 0, "{flavor:?} {round}");
            }
            for client in [&mut direct, &mut other] {
                client.run("INSERT INTO a () VALUES ()").await.unwrap();
            }
            // MariaDB finds it once.
            for asking in 0..2 {
                let (there, here) = (direct.run(sql).await.unwrap(), other.run(sql).await.unwrap());
                assert_eq!(here, there, "{flavor:?} {round} {asking}");
                assert!(asking == 1 || here.rows().count() == 1, "{flavor:?} {round}");
            }
        }
    }
}

/// Programs set these each to values of its own.
#[tokio::test]
async fn sessions_that_differ_in_what_no_read_depends_on_share_answers() {
    for (flavor, server) in &both() {
        table(server, "ca_alike").await;
        let weir = sharing(server, 4, "", ALL);
        let [mut plain, mut other] = clients(&weir, "ca_alike").await;
        let sets = "SET wait_timeout=777, interactive_timeout=778, net_write_timeout=99, net_read_timeout=98, \
            lock_wait_timeout=60, innodb_lock_wait_timeout=7, foreign_key_checks=0, unique_checks=0, \
            auto_increment_increment=2, auto_increment_offset=2";
        other.run(sets).await.unwrap();
        assert_eq!(value(&mut plain, 1).await, "one", "{flavor:?}");
        change(server, "UPDATE ca_alike.t SET v='changed'").await;
        assert_eq!(value(&mut other, 1).await, "one", "{flavor:?}: from memory");
    }
}
