//! P21 to P23, P26, P30, P47a: clients that take turns on one connection keep what is theirs, and see nothing of the others.

use crate::kit::*;
use crate::sharing_kit::*;

#[tokio::test]
async fn forty_clients_are_answered_over_two_connections() {
    for (flavor, server) in &both() {
        let mut admin = app(server.addr()).connect().await.unwrap();
        admin.run("DROP USER IF EXISTS sh40").await.unwrap();
        // The server itself refuses a third connection.
        admin.run("CREATE USER sh40 IDENTIFIED BY 'sh40-pw' WITH MAX_USER_CONNECTIONS 2").await.unwrap();
        database(server, "sh40", &["CREATE TABLE t (client INT, step INT)"]).await;
        admin.run("GRANT ALL ON sh40.* TO sh40").await.unwrap();
        let weir = sharing(server, 2, "", "");
        let mut clients = Vec::new();
        for i in 0..40 {
            let options = ConnectOptions::tcp(weir.addr(), "sh40", "sh40-pw").database("sh40");
            let mut client = options.connect().await.unwrap();
            client.run(&format!("SET @me = {i}")).await.unwrap();
            clients.push(client);
        }
        let tasks = clients.into_iter().enumerate().map(|(i, mut client)| {
            tokio::spawn(async move {
                for step in 0..20 {
                    let expected = format!("{i}|{step}|sh40");
                    assert_eq!(row(&mut client, &format!("SELECT @me, {step}, DATABASE()")).await, expected);
                    let insert = format!("INSERT INTO t VALUES (@me, {step})");
                    assert_eq!(client.run(&insert).await.unwrap().ok().unwrap().affected_rows, 1);
                }
                client
            })
        });
        let mut clients = Vec::new();
        for task in tasks.collect::<Vec<_>>() {
            clients.push(task.await.unwrap());
        }
        let sums = "SELECT COUNT(*), COUNT(DISTINCT client, step), SUM(client) FROM t";
        assert_eq!(row(&mut clients[0], sums).await, "800|800|15600", "{flavor:?}");
        assert!(opened(&weir).await <= 2.0, "{flavor:?}: {}", opened(&weir).await);
        assert_eq!(metric(&weir, "weir_clients_connected").await, 40.0);
        for client in &mut clients {
            free(client, "at rest").await;
        }
    }
}

#[tokio::test]
async fn p30_each_client_has_its_own_session_state_on_one_connection() {
    for (flavor, server) in &both() {
        database(server, "sh_p30", &[]).await;
        database(server, "sh_p30b", &[]).await;
        let weir = sharing(server, 1, "", "");
        let [mut one, mut two] = clients(&weir, "sh_p30").await;
        let read = "SELECT @@character_set_client, @@character_set_results, @@collation_connection, @@sql_mode, \
                    @@time_zone, @a, @b, DATABASE(), @@group_concat_max_len";
        let fresh = row(&mut two, read).await;
        assert_eq!(row(&mut one, read).await, fresh, "{flavor:?}: two new sessions");
        for sql in [
            "SET NAMES latin1 COLLATE latin1_german1_ci",
            "SET sql_mode = 'ANSI_QUOTES'",
            "SET time_zone = '+05:30'",
            "SET @a = 7, @b = 'it''s'",
            "USE sh_p30b",
            "SET SESSION group_concat_max_len = 4321",
        ] {
            one.run(sql).await.unwrap();
            assert_eq!(row(&mut two, read).await, fresh, "{flavor:?}: the other after `{sql}`");
        }
        let changed = "latin1|latin1|latin1_german1_ci|ANSI_QUOTES|+05:30|7|it's|sh_p30b|4321";
        for _ in 0..3 {
            assert_eq!(row(&mut one, read).await, changed, "{flavor:?}");
            free(&mut one, "state that can be moved").await;
            assert_eq!(row(&mut two, read).await, fresh, "{flavor:?}");
        }
        // What is read depends on it, not only what is shown.
        one.run("CREATE TABLE \"quoted\" (i INT)").await.unwrap();
        assert_eq!(two.query("SELECT * FROM \"quoted\"").await.unwrap().err().unwrap().code, 1064);
        assert_eq!(row(&mut one, "SELECT COUNT(*) FROM \"quoted\"").await, "0");
        assert_eq!(opened(&weir).await, 1.0, "they did not take turns on one connection");
    }
}

#[tokio::test]
async fn p30_what_is_changed_by_expression_or_back_to_default_is_moved_as_a_value() {
    for (flavor, server) in &both() {
        database(server, "sh_expr", &[]).await;
        let weir = sharing(server, 1, "", "");
        let [mut one, mut two] = clients(&weir, "sh_expr").await;
        let read = "SELECT @@sql_mode LIKE '%NO_ZERO_DATE%', @@div_precision_increment, @@autocommit";
        let fresh = row(&mut two, read).await;
        // Each is read back by the session, with the other one in between.
        for (sql, ask, told) in [
            ("SET div_precision_increment = 2 + 5", "SELECT @@div_precision_increment", "7"),
            ("SET sql_mode = CONCAT(@@sql_mode, ',PIPES_AS_CONCAT')", "SELECT 'a' || 'b'", "ab"),
            ("SET @x = CONCAT('a', 'b')", "SELECT @x", "ab"),
            ("SELECT 5 INTO @y", "SELECT @y", "5"),
            ("/*!50000 SET div_precision_increment = 6 */", "SELECT @@div_precision_increment", "6"),
            ("SET div_precision_increment = DEFAULT", "SELECT @@div_precision_increment", "4"),
            ("SET @y = NULL", "SELECT @y", "NULL"),
        ] {
            one.run(sql).await.unwrap();
            // Where it keeps the connection, the other has to wait: only who is free takes turns.
            if shown(&mut one, "pinned").await == "no" {
                turn(&mut two).await;
            }
            assert_eq!(row(&mut one, ask).await, told, "{flavor:?}: {sql}");
        }
        one.quit().await.unwrap();
        assert_eq!(row(&mut two, read).await, fresh, "{flavor:?}: the next client of the connection");
        assert_eq!(row(&mut two, "SELECT @x, @y, 'a' || 'b'").await, "NULL|NULL|0", "{flavor:?}");
    }
}

#[tokio::test]
async fn p26_what_a_statement_leaves_is_each_clients_own() {
    for (flavor, server) in &both() {
        database(server, "sh_p26", &["CREATE TABLE t (i INT PRIMARY KEY AUTO_INCREMENT, v INT)"]).await;
        let weir = sharing(server, 1, "", "");
        let [mut one, mut two] = clients(&weir, "sh_p26").await;
        let ids = "SELECT LAST_INSERT_ID(), @@identity, @@last_insert_id";
        for round in 0..3 {
            let (first, second) = (1 + round * 3, 3 + round * 3);
            let ok = one.run("INSERT INTO t (v) VALUES (1), (2)").await.unwrap();
            assert_eq!(ok.ok().unwrap().last_insert_id, first);
            let ok = two.run("INSERT INTO t (v) VALUES (3)").await.unwrap();
            assert_eq!(ok.ok().unwrap().last_insert_id, second);
            for _ in 0..2 {
                assert_eq!(row(&mut one, ids).await, format!("{first}|{first}|{first}"), "{flavor:?}");
                assert_eq!(row(&mut two, ids).await, format!("{second}|{second}|{second}"), "{flavor:?}");
            }
        }
        // Who has not inserted has no id.
        let mut three = client(&weir, "sh_p26").await;
        assert_eq!(row(&mut three, ids).await, "0|0|0", "{flavor:?}");

        assert_eq!(opened(&weir).await, 1.0);

        // Each asks after the other's statement, and the answer is that of its own. What cannot be made anew keeps the
        // connection for a while, so there is one for each.
        let weir = sharing(server, 2, "", "");
        let [mut one, mut two] = clients(&weir, "sh_p26").await;
        assert_eq!(
            one.run("UPDATE t SET v = v + 1 WHERE i <= 4").await.unwrap().ok().unwrap().affected_rows,
            4
        );
        two.run("DELETE FROM t WHERE i = 1").await.unwrap();
        assert_eq!(row(&mut one, "SELECT ROW_COUNT()").await, "4", "{flavor:?}");
        assert_eq!(row(&mut two, "SELECT ROW_COUNT()").await, "1", "{flavor:?}");
        one.run("SELECT SQL_CALC_FOUND_ROWS i FROM t LIMIT 2").await.unwrap();
        two.run("SELECT i FROM t LIMIT 3").await.unwrap();
        assert_eq!(row(&mut one, "SELECT FOUND_ROWS()").await, "8", "{flavor:?}");
        assert_eq!(row(&mut two, "SELECT FOUND_ROWS()").await, "3", "{flavor:?}");
        one.run("SELECT 1 / 0").await.unwrap();
        two.query("SELECT * FROM no_such").await.unwrap();
        assert!(row(&mut one, "SHOW WARNINGS").await.starts_with("Warning|1365|"), "{flavor:?}");
        assert!(row(&mut two, "SHOW ERRORS").await.starts_with("Error|1146|"), "{flavor:?}");
    }
}

#[tokio::test]
async fn p26_nobody_is_shown_the_warnings_of_another_session() {
    for (flavor, server) in &both() {
        database(server, "sh_p26d", &["CREATE TABLE t (i INT PRIMARY KEY)"]).await;
        let weir = sharing(server, 1, "", "");
        let [mut one, mut two] = clients(&weir, "sh_p26d").await;
        for leave in ["SELECT 1 / 0", "SELECT * FROM nowhere", "DROP TABLE IF EXISTS nowhere"] {
            one.query(leave).await.unwrap();
            // It waits until the connection that is kept out of courtesy is given away; on MariaDB it leaves what is there.
            two.run("BEGIN").await.unwrap();
            let told = two.query("SHOW WARNINGS").await.unwrap();
            assert_eq!(told.rows().count(), 0, "{flavor:?}: {leave}: {told:?}");
            two.run("ROLLBACK").await.unwrap();
        }
    }
}

#[tokio::test]
async fn p26_what_was_given_away_is_refused_and_never_told_wrong() {
    for (flavor, server) in &both() {
        let rows = "INSERT INTO t VALUES (1), (2), (3)";
        database(server, "sh_p26b", &["CREATE TABLE t (i INT PRIMARY KEY)", rows]).await;
        let weir = sharing(server, 1, "", "");
        let [mut one, mut two] = clients(&weir, "sh_p26b").await;
        for (leave, ask) in [
            ("UPDATE t SET i = i + 10", "SELECT ROW_COUNT()"),
            ("SELECT 1 / 0", "SHOW WARNINGS"),
            ("SELECT 1 / 0", "SHOW COUNT(*) WARNINGS"),
        ] {
            one.run(leave).await.unwrap();
            // Waits until the connection that is kept out of courtesy is given away.
            turn(&mut two).await;
            let err = one.query(ask).await.unwrap().err().cloned();
            assert_eq!(err.map(|err| err.code), Some(1105), "{flavor:?}: {leave}, {ask}");
            // The session goes on.
            assert_eq!(row(&mut one, "SELECT COUNT(*) FROM t").await, "3", "{flavor:?}");
        }
        // On MariaDB a later statement of the same packet may leave them, and tells of none itself.
        if *flavor == Flavor::MariaDb {
            let options = app(weir.addr()).with(Caps::MULTI_STATEMENTS).database("sh_p26b");
            let mut several = options.connect().await.unwrap();
            for leave in ["SELECT 1 / 0; SELECT 'x'", "SELECT 1 / 0; DO 1; SET @a = 1"] {
                several.run(leave).await.unwrap();
                turn(&mut two).await;
                let err = several.query("SHOW WARNINGS").await.unwrap().err().cloned();
                assert_eq!(err.map(|err| err.code), Some(1105), "{leave}");
                several.run(leave).await.unwrap();
                assert!(row(&mut several, "SHOW WARNINGS").await.starts_with("Warning|1365|"), "{leave}");
            }
        }
    }
}

/// FOUND_ROWS() behind a statement that has failed is that of the one before it, never another session's.
#[tokio::test]
async fn p26_after_an_error_found_rows_is_the_sessions_own() {
    for (flavor, server) in &both() {
        let rows = "INSERT INTO t VALUES (1), (2), (3), (4), (5)";
        database(server, "sh_p26c", &["CREATE TABLE t (i INT PRIMARY KEY)", rows]).await;
        let weir = sharing(server, 1, "", "");
        let [mut one, mut two] = clients(&weir, "sh_p26c").await;
        for wrong in ["SELECT * FROM missing", "SELECT SQL_CALC_FOUND_ROWS nothing FROM t LIMIT 1"] {
            one.run("SELECT i FROM t LIMIT 4").await.unwrap();
            two.run("SELECT i FROM t WHERE i = 1").await.unwrap();
            assert!(one.query(wrong).await.unwrap().err().is_some());
            assert_eq!(row(&mut one, "SELECT FOUND_ROWS()").await, "4", "{flavor:?}: {wrong}");
        }
        // What has failed in the middle may have set it or not: on a connection that others have used that is not known.
        one.run("SELECT i FROM t LIMIT 4").await.unwrap();
        two.run("SELECT i FROM t WHERE i = 1").await.unwrap();
        let wrong = "SELECT i FROM t WHERE i = (SELECT i FROM t)";
        assert_eq!(one.query(wrong).await.unwrap().err().unwrap().code, 1242, "{flavor:?}");
        turn(&mut two).await;
        let told = one.query("SELECT FOUND_ROWS()").await.unwrap();
        assert!(told.err().is_some_and(|err| err.code == 1105), "{flavor:?}: {told:?}");
        assert_eq!(row(&mut one, "SELECT COUNT(*) FROM t").await, "5", "{flavor:?}");
    }
}

#[tokio::test]
async fn p47a_a_schema_that_was_dropped_meanwhile_does_not_send_the_statement_to_another() {
    for (flavor, server) in &both() {
        database(server, "sh_p47", &["CREATE TABLE t (i INT)", "INSERT INTO t VALUES (1)"]).await;
        database(server, "sh_p47a_dropped", &["CREATE TABLE t (i INT)", "INSERT INTO t VALUES (1)"]).await;
        let weir = sharing(server, 1, "", "");
        let mut one = client(&weir, "sh_p47").await;
        let mut two = client(&weir, "sh_p47a_dropped").await;
        assert_eq!(row(&mut one, "SELECT COUNT(*) FROM t").await, "1");
        assert_eq!(row(&mut two, "SELECT COUNT(*) FROM t").await, "1");
        let mut admin = app(server.addr()).connect().await.unwrap();
        admin.run("DROP DATABASE sh_p47").await.unwrap();
        let response = one.query("DELETE FROM t").await.unwrap();
        assert!(matches!(response.err().unwrap().code, 1046 | 1049 | 1146), "{flavor:?}: {response:?}");
        assert_eq!(
            row(&mut two, "SELECT COUNT(*) FROM t").await,
            "1",
            "{flavor:?}: another schema was emptied"
        );
    }
}
