//! P23 to P25, P29, P37, P38, P41: what keeps a session on its server connection, when that ends, and that nothing of it is
//! left for the next client.

use crate::kit::*;
use crate::sharing_kit::*;

const TABLE: &[&str] =
    &["CREATE TABLE t (i INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2), (3), (4), (5)"];

#[tokio::test]
async fn p23_p25_p29_p41_a_session_is_pinned_for_its_reason_and_until_that_ends() {
    for (flavor, server) in &both() {
        database(server, "sh_pins", TABLE).await;
        let weir = sharing(server, 2, "", "");
        let [mut one, mut two] = clients(&weir, "sh_pins").await;
        for (begin, reason, end) in [
            ("SELECT GET_LOCK('sh_pins', 0)", "user_lock", "SELECT RELEASE_ALL_LOCKS()"),
            ("LOCK TABLES t READ", "lock_tables", "UNLOCK TABLES"),
            ("BEGIN", "transaction", "COMMIT"),
            ("SET autocommit = 0; SELECT COUNT(*) FROM t", "autocommit_off", "SET autocommit = 1"),
            ("XA START 'sh_pins'", "xa", "XA END 'sh_pins'; XA ROLLBACK 'sh_pins'"),
            ("HANDLER t OPEN", "handler", ""),
            ("PREPARE p FROM 'SELECT 1'", "sql_prepare", ""),
            ("CREATE TEMPORARY TABLE tmp (i INT)", "temporary_table", ""),
        ] {
            free(&mut one, "before").await;
            for sql in begin.split("; ") {
                one.run(sql).await.unwrap();
            }
            let id = pinned(&mut one, reason, &format!("{flavor:?}: {begin}")).await;
            turn(&mut two).await;
            row(&mut one, "SELECT COUNT(*) FROM t").await;
            let again = pinned(&mut one, reason, &format!("{flavor:?}: {begin}, later")).await;
            assert_eq!(again, id, "{flavor:?}: {begin}");
            for sql in end.split("; ").filter(|sql| !sql.is_empty()) {
                one.run(sql).await.unwrap();
            }
            if end.is_empty() {
                // What no statement proves to be gone ends with the reset of the session.
                one.command(command::RESET_CONNECTION, &[]).await.unwrap();
                one.run("USE sh_pins").await.unwrap();
            }
            free(&mut one, &format!("{flavor:?}: after the end of {begin}")).await;
            turn(&mut two).await;
        }
    }
}

#[tokio::test]
async fn p24_p25_what_a_client_leaves_behind_is_gone_for_the_next() {
    for (flavor, server) in &both() {
        database(server, "sh_left", TABLE).await;
        let mut admin = app(server.addr()).database("sh_left").connect().await.unwrap();
        // The next client can only get the connection of the one before, or a new one.
        let weir = sharing(server, 1, "", "");
        for in_order in [true, false] {
            for (leave, reason) in [
                ("SELECT GET_LOCK('sh_left', 0)", "user_lock"),
                ("LOCK TABLES t WRITE", "lock_tables"),
                ("CREATE TEMPORARY TABLE tmp (i INT)", "temporary_table"),
                ("CREATE TEMPORARY TABLE t (hidden INT)", "temporary_table"),
                ("PREPARE p FROM 'SELECT 1'", "sql_prepare"),
                ("HANDLER t OPEN", "handler"),
                ("XA START 'sh_left'", "xa"),
                ("BEGIN; DELETE FROM t", "transaction"),
                ("SET autocommit = 0; SELECT COUNT(*) FROM t", "autocommit_off"),
            ] {
                let what = format!("{flavor:?}: {leave}, in order: {in_order}");
                let mut one = client(&weir, "sh_left").await;
                for sql in leave.split("; ") {
                    one.run(sql).await.unwrap();
                }
                pinned(&mut one, reason, &what).await;
                match in_order {
                    true => one.quit().await.unwrap(),
                    false => drop(one),
                }
                let mut next = client(&weir, "sh_left").await;
                assert_eq!(row(&mut next, "SELECT @@autocommit").await, "1", "{what}");
                assert_eq!(row(&mut next, "SELECT COUNT(i) FROM t").await, "5", "{what}");
                next.run("UPDATE t SET i = i").await.unwrap();
                assert_eq!(
                    next.query("SELECT * FROM tmp").await.unwrap().err().unwrap().code,
                    1146,
                    "{what}"
                );
                assert_eq!(next.query("EXECUTE p").await.unwrap().err().unwrap().code, 1243, "{what}");
                assert!(next.query("HANDLER t READ FIRST").await.unwrap().err().is_some(), "{what}");
                next.run("BEGIN").await.unwrap();
                next.run("COMMIT").await.unwrap();
                // Nor does another connection meet the lock.
                assert_eq!(row(&mut admin, "SELECT IS_FREE_LOCK('sh_left')").await, "1", "{what}");
                admin.run("UPDATE t SET i = i").await.unwrap();
                next.quit().await.unwrap();
            }
        }
    }
}

#[tokio::test]
async fn p38_an_open_cursor_keeps_the_connection_until_it_is_read_or_closed() {
    for (flavor, server) in &both() {
        database(server, "sh_p38", TABLE).await;
        let weir = sharing(server, 2, "", "");
        let [mut one, mut two] = clients(&weir, "sh_p38").await;
        let open = |id| {
            command::Execute {
                id,
                flags: command::CURSOR_READ_ONLY,
                params: &[],
                types: true,
                attributes: false,
            }
            .body()
        };
        let id = one.prepare("SELECT i FROM t ORDER BY i").await.unwrap().id;
        for end in ["read", "reset", "close"] {
            assert_eq!(one.command(command::STMT_EXECUTE, &open(id)).await.unwrap().rows().count(), 0);
            let connection = pinned(&mut one, "cursor", &format!("{flavor:?}")).await;
            let part = one.command(command::STMT_FETCH, &command::fetch(id, 2)).await.unwrap();
            assert_eq!(part.rows().count(), 2, "{flavor:?}");
            turn(&mut two).await;
            assert_eq!(pinned(&mut one, "cursor", &format!("{flavor:?}")).await, connection);
            match end {
                "read" => {
                    let rest = one.command(command::STMT_FETCH, &command::fetch(id, 9)).await.unwrap();
                    assert_eq!(rest.rows().count(), 3, "{flavor:?}");
                }
                "reset" => {
                    let reset = one.command(command::STMT_RESET, &id.to_le_bytes()).await.unwrap();
                    assert!(reset.ok().is_some(), "{flavor:?}: {reset:?}");
                }
                _ => {
                    one.command(command::STMT_CLOSE, &id.to_le_bytes()).await.unwrap();
                }
            }
            freed(&mut one).await;
        }
        // Another that prepares the same text finds no cursor in it, whoever has left one open.
        let id = one.prepare("SELECT i FROM t ORDER BY i").await.unwrap().id;
        one.command(command::STMT_EXECUTE, &open(id)).await.unwrap();
        drop(one);
        let id = two.prepare("SELECT i FROM t ORDER BY i").await.unwrap().id;
        assert_eq!(execute(&mut two, id, &[], false).await.rows().count(), 5, "{flavor:?}");
        let fetched = two.command(command::STMT_FETCH, &command::fetch(id, 1)).await.unwrap();
        assert!(fetched.err().is_some(), "{flavor:?}: {fetched:?}");
    }
}

#[tokio::test]
async fn p37_long_data_keeps_the_connection_until_it_is_used_or_dropped() {
    for (flavor, server) in &both() {
        database(server, "sh_p37", &[]).await;
        let weir = sharing(server, 2, "", "");
        let [mut one, mut two] = clients(&weir, "sh_p37").await;
        let text = "SELECT LENGTH(?)";
        let id = one.prepare(text).await.unwrap().id;
        let other = two.prepare(text).await.unwrap().id;
        let long = [command::Param::LongData];
        let short = [command::Param::Bytes(b"abc".to_vec())];
        // Whatever one has sent ahead is no part of the other's value.
        let length = |response: &Response| {
            assert_eq!(response.err(), None);
            // A packet header, one byte of NULL flags, an integer of 4 or 8 bytes.
            response.rows().next().unwrap()[2..]
                .iter()
                .rev()
                .fold(0u64, |all, byte| all << 8 | u64::from(*byte))
        };
        for end in ["execute", "reset", "close"] {
            for _ in 0..2 {
                let chunk = command::long_data(id, 0, &[b'k'; 1000]);
                one.command(command::STMT_SEND_LONG_DATA, &chunk).await.unwrap();
                let value = execute(&mut two, other, &short, true).await;
                assert_eq!(length(&value), 3, "{flavor:?} {end}");
            }
            pinned(&mut one, "long_data", &format!("{flavor:?} {end}")).await;
            match end {
                "execute" => {
                    assert_eq!(length(&execute(&mut one, id, &long, true).await), 2000, "{flavor:?}")
                }
                "reset" => {
                    one.command(command::STMT_RESET, &id.to_le_bytes()).await.unwrap();
                }
                _ => {
                    one.command(command::STMT_CLOSE, &id.to_le_bytes()).await.unwrap();
                }
            }
            freed(&mut one).await;
        }
        // A client that leaves its data behind.
        let id = one.prepare(text).await.unwrap().id;
        one.command(command::STMT_SEND_LONG_DATA, &command::long_data(id, 0, &[b'k'; 1000])).await.unwrap();
        pinned(&mut one, "long_data", &format!("{flavor:?}")).await;
        one.quit().await.unwrap();
        for _ in 0..2 {
            assert_eq!(length(&execute(&mut two, other, &short, false).await), 3, "{flavor:?}");
        }
    }
}

/// What COM_STMT_PREPARE meets where the state is not known yet can be prepared elsewhere as well: it keeps no connection.
#[tokio::test]
async fn p41_a_statement_that_is_prepared_before_the_state_was_read_back_keeps_nothing() {
    for (flavor, server) in &both() {
        database(server, "sh_unread", TABLE).await;
        let weir = sharing(server, 2, "", "");
        let [mut one, mut two] = clients(&weir, "sh_unread").await;
        let mut begins = vec![&["BEGIN", "SET optimizer_switch = 'index_merge=off'"][..]];
        if *flavor == Flavor::MySql {
            // Warnings keep the connection, and the state is not read back; MySQL clears them when a statement is prepared.
            begins.push(&["SET optimizer_switch = 'mrr=off', max_sort_length = 1, group_concat_max_len = 1"]);
        }
        for begin in begins {
            for sql in begin {
                one.run(sql).await.unwrap();
            }
            pinned(&mut one, "state_unknown", &format!("{flavor:?}: {begin:?}")).await;
            let id = one.prepare("SELECT i FROM t WHERE i > ?").await.unwrap().id;
            one.run("COMMIT").await.unwrap();
            freed(&mut one).await;
            turn(&mut two).await;
            let answer = execute(&mut one, id, &[command::Param::Int(3)], true).await;
            assert_eq!(answer.rows().count(), 2, "{flavor:?}: {begin:?}");
            free(&mut one, &format!("{flavor:?}: {begin:?}")).await;
            let switch = row(&mut one, "SELECT @@optimizer_switch").await;
            assert!(switch.contains("index_merge=off"), "{flavor:?}: {switch}");
        }
    }
}

#[tokio::test]
async fn p25_pins_leave_the_rest_of_the_connections_to_single_statements() {
    for (flavor, server) in &both() {
        database(server, "sh_share", TABLE).await;
        let weir = sharing(server, 2, "pinned_share = 50\nqueue_timeout = \"3s\"\n", "");
        let [mut one, mut two, mut three] = clients(&weir, "sh_share").await;
        one.run("BEGIN").await.unwrap();
        row(&mut one, "SELECT COUNT(*) FROM t").await;
        let err = two.query("BEGIN").await.unwrap().err().cloned();
        assert_eq!(err.map(|err| err.code), Some(1040), "{flavor:?}: half of two is one");
        turn(&mut three).await;
        turn(&mut two).await;
        one.run("COMMIT").await.unwrap();
        two.run("BEGIN").await.unwrap();
        two.run("COMMIT").await.unwrap();
    }
}

/// A statement that does not fit into one read is seen whole, and pins no more than a short one; one that is beyond the limit does.
#[tokio::test]
async fn a_long_statement_pins_only_where_it_is_not_seen_whole() {
    for (flavor, server) in &both() {
        database(server, "sh_long", &["CREATE TABLE t (i INT PRIMARY KEY AUTO_INCREMENT, v LONGTEXT)"]).await;
        let limits = "[limits]\nstatement_bytes = \"2MiB\"\nstatement_memory = \"3MiB\"\n";
        let weir = sharing(server, 2, "", limits);
        let [mut one, mut two] = clients(&weir, "sh_long").await;
        for length in [60_000, 65_536, 131_072, 400_000, 2_000_000] {
            let sql = format!("INSERT INTO t (v) VALUES ('{}')", "x".repeat(length));
            let what = format!("{flavor:?} {length}");
            one.run(&sql).await.unwrap();
            free(&mut one, &what).await;
            turn(&mut two).await;
            let stored = row(&mut one, "SELECT LENGTH(v) FROM t ORDER BY i DESC LIMIT 1").await;
            assert_eq!(stored, length.to_string(), "{what}");
        }
        // The room of those before is free again, or this would find none.
        for _ in 0..3 {
            one.run(&format!("INSERT INTO t (v) VALUES ('{}')", "y".repeat(2_000_000))).await.unwrap();
            free(&mut one, "one after the other").await;
        }
        one.run(&format!("INSERT INTO t (v) VALUES ('{}')", "z".repeat(2_100_000))).await.unwrap();
        pinned(&mut one, "unknown_statement", "beyond the limit").await;
        let rows = row(&mut two, "SELECT COUNT(*) FROM t WHERE LENGTH(v) > 2000000").await;
        assert_eq!(rows, "1", "{flavor:?}");
    }
}

#[tokio::test]
async fn p31_p32_what_is_hidden_behind_a_change_of_mode_keeps_the_connection() {
    for (flavor, server) in &both() {
        database(server, "sh_hidden", &[]).await;
        let weir = sharing(server, 4, "", "");
        let mut one =
            app(weir.addr()).database("sh_hidden").with(Caps::MULTI_STATEMENTS).connect().await.unwrap();
        let hidden =
            "SET sql_mode = 'NO_BACKSLASH_ESCAPES'; SELECT '\\'; CREATE TEMPORARY TABLE x (a INT); -- '";
        assert_eq!(one.query(hidden).await.unwrap().err(), None, "{flavor:?}");
        pinned(&mut one, "unknown_statement", hidden).await;
        assert_eq!(row(&mut one, "/*weir: fresh*/ SELECT COUNT(*) FROM x").await, "0", "{flavor:?}");
    }
}

/// What a server read when it prepared a text counts, however texts are read now.
#[tokio::test]
async fn p31_p41_a_lock_that_was_prepared_in_another_mode_keeps_the_connection() {
    for (flavor, server) in &both() {
        database(server, "sh_slash", &[]).await;
        let weir = sharing(server, 4, "", "");
        let [mut one, mut two] = clients(&weir, "sh_slash").await;
        one.run("SET sql_mode = 'NO_BACKSLASH_ESCAPES'").await.unwrap();
        let id = one.prepare("SELECT 'a\\', GET_LOCK('sh_slash', 0) -- '").await.unwrap().id;
        one.run("SET sql_mode = ''").await.unwrap();
        for _ in 0..2 {
            assert_eq!(execute(&mut one, id, &[], true).await.rows().count(), 1, "{flavor:?}");
            pinned(&mut one, "user_lock", "the lock").await;
            assert_eq!(row(&mut two, "SELECT IS_FREE_LOCK('sh_slash')").await, "0", "{flavor:?}");
            one.run("DO RELEASE_ALL_LOCKS()").await.unwrap();
            free(&mut one, "the lock").await;
        }
    }
}

#[tokio::test]
async fn each_reason_is_counted_once_for_each_time_that_it_keeps_a_session() {
    for (flavor, server) in &both() {
        database(server, "sh_counted", &["CREATE TABLE t (i INT)"]).await;
        let weir = sharing(server, 2, "", "");
        let mut one = client(&weir, "sh_counted").await;
        free(&mut one, "nothing was counted yet").await;
        let cases: [(&str, &[&str]); 7] = [
            ("transaction", &["BEGIN", "SELECT COUNT(*) FROM t", "INSERT INTO t VALUES (1)", "COMMIT"]),
            ("temporary_table", &["CREATE TEMPORARY TABLE tmp (i INT)", "DROP TABLE tmp"]),
            ("lock_tables", &["LOCK TABLES t READ", "SELECT COUNT(*) FROM t", "UNLOCK TABLES"]),
            ("user_lock", &["SELECT GET_LOCK('sh_counted', 1)", "DO RELEASE_ALL_LOCKS()"]),
            ("sql_prepare", &["PREPARE p FROM 'SELECT 1'", "EXECUTE p", "DEALLOCATE PREPARE p"]),
            ("handler", &["HANDLER t OPEN", "HANDLER t CLOSE"]),
            ("next_transaction", &["SET TRANSACTION READ ONLY", "BEGIN", "COMMIT"]),
        ];
        for times in 1..=3 {
            for (reason, statements) in cases {
                let sample = format!("weir_pins_total{{reason=\"{reason}\"}}");
                let before = metric(&weir, &sample).await;
                for sql in statements {
                    one.run(sql).await.unwrap();
                }
                // What lasts until a reset ends here, and what else one might ask for with the next statements.
                one.command(command::RESET_CONNECTION, &[]).await.unwrap();
                one.run("USE sh_counted").await.unwrap();
                one.run("DO 1").await.unwrap();
                free(&mut one, reason).await;
                assert_eq!(metric(&weir, &sample).await - before, 1.0, "{flavor:?}: {reason}, time {times}");
            }
        }
        for (reason, _) in cases {
            // The transaction behind SET TRANSACTION is one as well.
            let expected = if reason == "transaction" { 6.0 } else { 3.0 };
            let counted = metric(&weir, &format!("weir_pins_total{{reason=\"{reason}\"}}")).await;
            assert_eq!(counted, expected, "{flavor:?}: {reason}");
        }
        for reason in ["role", "xa", "cursor", "procedure", "connection_id"] {
            let counted = metric(&weir, &format!("weir_pins_total{{reason=\"{reason}\"}}")).await;
            assert_eq!(counted, 0.0, "{flavor:?}: {reason}");
        }
    }
}
