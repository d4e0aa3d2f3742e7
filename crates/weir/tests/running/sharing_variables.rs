//! P23: user variables that a statement computes are read back, and are the same on another connection, type and all; what cannot be
//! moved keeps the session where it is.

use crate::kit::*;
use crate::sharing_kit::*;
use weir_testkit::client::command::{Execute, Param};

/// One of each type, and where types end.
const VALUES: &[&str] = &[
    "1 + 1",
    "-7 DIV 2",
    "-9223372036854775807",
    "CAST(5 AS UNSIGNED)",
    "18446744073709551613 + 1",
    "10 / 4",
    "CAST(12 AS DECIMAL(10,0))",
    "-0.0000000001 * 3",
    "CAST('99999999999999999999999999999999999.999999999999999999999999999999' AS DECIMAL(65,30)) + 0",
    "1e0 / 3",
    "-1e0 * 0",
    "1e300 * 1e5",
    "2e0 + 2",
    "1.5e-30 * 1",
    "CONCAT('a', '''', '\\\\')",
    "UPPER(_utf8mb4'h\u{e9}llo \u{4e2d}')",
    "CONVERT('caf\u{e9}' USING latin1) COLLATE latin1_german1_ci",
    "CAST('binary' AS BINARY)",
    "UNHEX('00FF27')",
    "''",
    "DATE'2026-11-20'",
    "CAST('12:30:00.25' AS TIME(2))",
    "JSON_OBJECT('a', 1)",
    "@@sql_mode",
    "LAST_INSERT_ID()",
    "IF(TRUE, 'x', 1)",
    "TRUE OR FALSE",
    "_gbk X'61' COLLATE gbk_bin",
];

const READS: [&str; 2] =
    ["SELECT @v", "SELECT @v + 1, CONCAT(@v, 'x'), COLLATION(@v), COERCIBILITY(@v), HEX(@v), @v IS NULL"];

/// What a client sees of an answer with rows.
fn seen(response: &Response) -> String {
    assert_eq!(response.err(), None);
    let results = response.results().map(|set| (&set.columns, &set.rows));
    format!("{:?}", results.collect::<Vec<_>>())
}

async fn same(shared: &mut Client, direct: &mut Client, at: &str) {
    for sql in READS {
        let (mine, theirs) = (shared.run(sql).await.unwrap(), direct.run(sql).await.unwrap());
        assert_eq!(seen(&mine), seen(&theirs), "{at}: {sql}");
    }
}

#[tokio::test]
async fn p23_what_a_statement_computes_is_the_same_on_another_connection() {
    for (flavor, server) in &both() {
        let weir = sharing(server, 1, "", "");
        let [mut one, mut other] = clients(&weir, "mysql").await;
        let mut direct = app(server.addr()).database("mysql").connect().await.unwrap();
        for value in VALUES {
            for set in [
                format!("SET @v = {value}"),
                format!("SELECT {value} INTO @v"),
                format!("SELECT @v := {value}"),
            ] {
                let at = format!("{flavor:?} {set}");
                one.run(&set).await.unwrap();
                direct.run(&set).await.unwrap();
                // MySQL warns of `:=`, and a warning keeps the connection until others have waited for it.
                one.run("SELECT 1").await.unwrap();
                // There is only this connection: the other client gets it as soon as nothing keeps it.
                turn(&mut other).await;
                same(&mut one, &mut direct, &at).await;
                // Text in place of a number is warned of.
                one.run("SELECT 1").await.unwrap();
                freed(&mut one).await;
            }
        }
        for n in 0..5 {
            let sql = "SET @v = IFNULL(@v, 0) + 1.5e0";
            for client in [&mut one, &mut direct] {
                client.run(if n == 0 { "SET @v = 0" } else { sql }).await.unwrap();
            }
            turn(&mut other).await;
            same(&mut one, &mut direct, sql).await;
        }
        assert_eq!(row(&mut other, "SELECT @v").await, "NULL", "{flavor:?}");
        assert_eq!(opened(&weir).await, 1.0, "{flavor:?}");
    }
}

#[tokio::test]
async fn p23_a_variable_that_a_prepared_statement_or_a_transaction_computes_is_moved() {
    for (flavor, server) in &both() {
        let weir = sharing(server, 1, "", "");
        let [mut one, mut other] = clients(&weir, "mysql").await;
        for (sql, n) in [("SET @a = ?", 4), ("SELECT ? + 1 INTO @a", 3), ("SELECT @a := ?", 4)] {
            let id = one.prepare(sql).await.unwrap().id;
            let body = Execute { id, flags: 0, params: &[Param::Int(n)], types: true, attributes: false };
            let answer = one.command(command::STMT_EXECUTE, &body.body()).await.unwrap();
            assert_eq!(answer.err(), None, "{flavor:?} {sql}");
            turn(&mut other).await;
            assert_eq!(row(&mut one, "SELECT @a").await, "4", "{flavor:?} {sql}");
            freed(&mut one).await;
        }
        one.run("BEGIN").await.unwrap();
        one.run("SET @a = @a * 10, @`b` = CONCAT('b', 40)").await.unwrap();
        pinned(&mut one, "user_variable", "in a transaction").await;
        one.run("COMMIT").await.unwrap();
        turn(&mut other).await;
        assert_eq!(row(&mut one, "SELECT @A, @B").await, "40|b40", "{flavor:?}");
        freed(&mut one).await;
        // What Weir asked between two statements is not seen by the second.
        one.run("SET sql_select_limit = 0, @a = @a + 1").await.unwrap();
        turn(&mut other).await;
        assert_eq!(
            row(&mut one, "SELECT @a, FOUND_ROWS(), ROW_COUNT() LIMIT 1").await,
            "41|1|0",
            "{flavor:?}"
        );
    }
}

#[tokio::test]
async fn p23_what_cannot_be_moved_keeps_the_session_where_it_is() {
    for (flavor, server) in &both() {
        let tables = ["CREATE TABLE t (i INT)", "INSERT INTO t VALUES (7)"];
        database(server, "sh_computed", &tables).await;
        let mut admin = app(server.addr()).database("sh_computed").connect().await.unwrap();
        admin
            .run(
                "CREATE FUNCTION sh_computed.makes() RETURNS INT NO SQL BEGIN SET @hidden = 6; RETURN 5; END",
            )
            .await
            .unwrap();
        let weir = sharing(server, 4, "", "");
        let [mut one, mut other] = clients(&weir, "sh_computed").await;
        for (set, reason, value) in [
            ("SET @v = IF(TRUE, NULL, 1)", "user_variable", "NULL|NULL"),
            ("SELECT i INTO @v FROM t", "user_variable", "7|NULL"),
            ("SET @v = (SELECT MAX(i) FROM t)", "user_variable", "7|NULL"),
            ("SET @v = makes()", "procedure", "5|6"),
            ("SET @`\u{e1}` = 1 + 1, @v = 1", "user_variable", "1|NULL"),
            ("SET @v = REPEAT('x', 5000) = 'x', @w = REPEAT('x', 5000)", "user_variable", "0|NULL"),
            ("UPDATE t SET i = (@v := 7)", "user_variable", "7|NULL"),
            ("SET @v = 7, @gbk = CONCAT(_gbk X'D6D0')", "user_variable", "7|NULL"),
        ] {
            let at = format!("{flavor:?} {set}");
            one.run(set).await.unwrap();
            turn(&mut other).await;
            assert_eq!(row(&mut one, "SELECT @v, @hidden").await, value, "{at}");
            pinned(&mut one, reason, &at).await;
            // What comes later is not read back either.
            one.run("SET @v = 2 + 2").await.unwrap();
            turn(&mut other).await;
            pinned(&mut one, reason, &at).await;
            let reset = one.command(command::RESET_CONNECTION, b"").await.unwrap();
            assert_eq!(reset.err(), None, "{at}");
            freed(&mut one).await;
            one.run("USE sh_computed").await.unwrap();
            one.run("SET @v = 2 + 2").await.unwrap();
            freed(&mut one).await;
            assert_eq!(row(&mut one, "SELECT @v, @hidden").await, "4|NULL", "{at}");
        }
    }
}

/// MySQL takes the digits of a number for text in the collation that the connection had when the variable was set.
#[tokio::test]
async fn p23_a_number_keeps_the_collation_under_which_it_was_set() {
    for (flavor, server) in &both() {
        let weir = sharing(server, 1, "", "");
        let [mut one, mut other] = clients(&weir, "mysql").await;
        let mut direct = app(server.addr()).database("mysql").connect().await.unwrap();
        other.run("SET @l = 5, @c = 2").await.unwrap();
        for sql in [
            "SET NAMES latin1",
            "SET @l = 5, @d = -1.50",
            "SET @c = 1 + 1",
            "SET NAMES gbk",
            "SET @g = 7, collation_connection = utf8mb4_bin, @u = 8",
            "SET @c = @c + 0, @w = CAST(12 AS DECIMAL(10,0))",
            "SET NAMES utf8mb4",
            "SET @l = 5",
        ] {
            for client in [&mut one, &mut direct] {
                client.run(sql).await.unwrap();
            }
            // The same values, set under others.
            turn(&mut other).await;
            for name in ["l", "d", "c", "g", "u", "w"] {
                let read =
                    format!("SELECT @{name}, COLLATION(CONCAT(@{name}, 'x')), CHARSET(CONCAT(@{name}))");
                let (mine, theirs) = (one.run(&read).await.unwrap(), direct.run(&read).await.unwrap());
                assert_eq!(seen(&mine), seen(&theirs), "{flavor:?} {sql}: {read}");
            }
            freed(&mut one).await;
        }
        assert_eq!(opened(&weir).await, 1.0, "{flavor:?}");
    }
}
