use super::*;
use crate::StatementKind::*;
use crate::testing::{all_modes, both, mariadb, mysql};
use crate::{CharsetClass, quick};
use proptest::prelude::*;

/// One statement, on both families, with multi-statements on and off.
#[track_caller]
fn check(expected: StatementKind, sqls: &[&str]) {
    for mode in both() {
        check_in(mode, expected, sqls);
    }
}

#[track_caller]
fn check_in(mode: LexMode, expected: StatementKind, sqls: &[&str]) {
    for sql in sqls {
        for multi in [false, true] {
            let found = Statement::classify(sql.as_bytes(), mode, multi);
            assert_eq!(found.kind, expected, "{sql}");
            assert_eq!(found.statements, Statements::One, "{sql}");
            assert_eq!(found.weir, None, "{sql}");
        }
    }
}

#[test]
fn p53_reads_promise_that_killing_them_loses_nothing() {
    check(
        Read,
        &[
            "SELECT 1",
            "select * from t where a in (1,2) and (b = 2 or c not in (select d from e)) limit 5;",
            "SELECT COUNT(*), max(a), now(), sleep(5), `a` FROM `t` JOIN u USING (id) GROUP BY a HAVING sum(b) > 1",
            "(SELECT 1) UNION (SELECT 2) ORDER BY 1",
            "((SELECT 1))",
            "WITH x AS (SELECT 1) SELECT * FROM x",
            "WITH x AS (SELECT 1) (SELECT * FROM x)",
            "TABLE t",
            "VALUES ROW (1)",
            "SHOW TABLES",
            "SHOW CREATE TABLE t",
            "SHOW CREATE PROCEDURE p",
            "SHOW GRANTS FOR u",
            "show variables like 'a%'",
            "DESC t",
            "DESCRIBE t a",
            "EXPLAIN SELECT 1",
            "EXPLAIN FORMAT=JSON UPDATE t SET a = 1",
            "EXPLAIN INSERT INTO t VALUES (1)",
            "EXPLAIN FOR CONNECTION 5",
            "HELP 'a'",
            "DO 1",
            "DO SLEEP(1)",
            "",
            ";",
            " ; ",
            "/* a */",
            "-- a",
            "SELECT 'INTO', \"FOR UPDATE\", `into`, t.into, t.update FROM t",
            "SELECT @a, @@b, LAST_INSERT_ID()",
            "SELECT IF(a, REPLACE(b, 'c', 'd'), INSERT(e, 1, 2, 'f')) FROM t FORCE INDEX (i) PARTITION (p)",
            "SELECT CAST(a AS DECIMAL(10,2)), CONVERT(b, CHAR(5)) FROM t WHERE MATCH(c) AGAINST ('d')",
            "SELECT ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) FROM t",
            "SELECT/**/1",
            "SELECT(1)",
            "SELECT -1",
            "SELECT 1 /* INTO OUTFILE */ -- FOR UPDATE",
            "SELECT /*!999999 a() */ 1",
            "SELECT '\\'; DELETE FROM t' ",
        ],
    );
    check_in(mysql(), Read, &["EXPLAIN ANALYZE SELECT 1", "SELECT /*+ SET_VAR(a=1) */ 1"]);
    check_in(
        mariadb(),
        Read,
        &["ANALYZE FORMAT=JSON SELECT 1", "SET STATEMENT max_statement_time=1 FOR SELECT 1"],
    );
}

#[test]
fn p53_a_query_that_does_more_is_no_read() {
    check(
        Write,
        &[
            "SELECT 1 FROM t FOR UPDATE",
            "SELECT 1 FROM t FOR SHARE",
            "SELECT 1 FROM t FOR UPDATE SKIP LOCKED",
            "SELECT 1 FROM t LOCK IN SHARE MODE",
            "(SELECT 1 FROM t FOR/**/UPDATE)",
            "SELECT 1 INTO @a",
            "SELECT 1 INTO OUTFILE '/x'",
            "SELECT @a := 1",
            "SELECT @a:=@a+1 FROM t",
            "TABLE t INTO OUTFILE '/x'",
            "WITH x AS (SELECT 1) UPDATE t SET a = 1",
            "WITH x AS (SELECT 1) DELETE FROM t",
            "SELECT 1 /*!40000 FOR UPDATE */",
            "SELECT 1 /*! INTO @a */",
            "DO @a := 1",
            "EXPLAIN FORMAT=JSON INTO @a SELECT 1",
        ],
    );
    check_in(
        mysql(),
        Write,
        &[
            "EXPLAIN ANALYZE UPDATE t, u SET t.a = 1",
            "SELECT 1 1.e FOR UPDATE",
            "SELECT 1 /*!80000 FOR UPDATE */",
        ],
    );
    check_in(
        mariadb(),
        Write,
        &[
            "ANALYZE DELETE FROM t",
            "ANALYZE FORMAT=JSON REPLACE t VALUES (1)",
            "SELECT 1 /*M!100000 FOR UPDATE */",
        ],
    );
    check_in(mariadb(), Read, &["SELECT 1 /*!80000 FOR UPDATE */"]);
    check_in(mysql(), Read, &["SELECT 1 /*M!100000 FOR UPDATE */"]);
}

#[test]
fn p53_what_a_query_calls_must_be_known() {
    check(
        Other,
        &[
            "SELECT f(1)",
            "SELECT a.concat('b')",
            "SELECT `concat`('b')",
            "SELECT count (1)",
            "SELECT GET_LOCK('a', 1)",
            "SELECT RELEASE_LOCK('a')",
            "SELECT LAST_INSERT_ID(5)",
            "SELECT NEXTVAL(s)",
            "SELECT NEXT VALUE FOR s",
            "SELECT s.nextval",
            "SELECT PREVIOUS VALUE FOR s",
            "DO f()",
            "SHOW TABLES WHERE f(1)",
            "EXPLAIN SELECT f(1)",
            "SELECT 1 /*! + f(1) */",
            "SET a = f(1)",
            "SELECT * FROM t PROCEDURE ANALYSE()",
            "SELECT 1 + (SELECT f (2))",
        ],
    );
}

#[test]
fn p53_statements_go_by_their_first_words() {
    check(
        Write,
        &[
            "INSERT INTO t VALUES (1)",
            "insert t select 1",
            "UPDATE t SET a = f(1)",
            "DELETE FROM t",
            "REPLACE t VALUES (1)",
            "/*a*/INSERT INTO t VALUES (';')",
            "/*! INSERT */ INTO t VALUES (1)",
        ],
    );
    check(
        Ddl,
        &[
            "CREATE TABLE t (a int)",
            "ALTER TABLE t",
            "DROP TABLE t",
            "RENAME TABLE t TO u",
            "TRUNCATE t",
            "DROP USER u",
            "create temporary table t select 1",
        ],
    );
    check(
        TransactionControl,
        &[
            "BEGIN",
            "BEGIN WORK;",
            "START TRANSACTION READ ONLY",
            "COMMIT AND CHAIN",
            "ROLLBACK TO a",
            "SAVEPOINT a",
            "RELEASE SAVEPOINT a",
        ],
    );
    check(
        Set,
        &[
            "SET a = 1",
            "SET NAMES utf8mb4",
            "SET @v = (SELECT 1), autocommit = 0",
            "/*!40101 SET NAMES utf8 */",
            "SET TRANSACTION READ ONLY",
            "SET ROLE NONE",
        ],
    );
    check(Use, &["USE db", "use `db`;"]);
    check(Kill, &["KILL 5", "KILL USER u", "KILL QUERY f()"]);
    check(Load, &["LOAD DATA INFILE 'a' INTO TABLE t", "LOAD XML LOCAL INFILE 'a' INTO TABLE t"]);
    check(Call, &["CALL p()", "call a.p"]);
    check(
        PrepareText,
        &[
            "PREPARE s FROM 'SELECT 1'",
            "EXECUTE s USING @a",
            "DEALLOCATE PREPARE s",
            "DROP PREPARE s",
            "EXECUTE IMMEDIATE 'COMMIT'",
        ],
    );
    check(Lock, &["LOCK TABLES t READ", "UNLOCK TABLES", "LOCK INSTANCE FOR BACKUP", "BACKUP STAGE START"]);
    check(Xa, &["XA START 'a'", "XA RECOVER"]);
    check(
        Admin,
        &[
            "FLUSH TABLES",
            "ANALYZE TABLE t",
            "ANALYZE LOCAL TABLE t",
            "GRANT ALL ON *.* TO u",
            "SET PASSWORD = 'a'",
            "SET DEFAULT ROLE r TO u",
            "START REPLICA",
            "STOP SLAVE",
            "RESET MASTER",
            "LOAD INDEX INTO CACHE t",
            "SHUTDOWN",
            "OPTIMIZE TABLE t",
            "CHECK TABLE t",
        ],
    );
    check(
        Other,
        &[
            "HANDLER t OPEN",
            "SIGNAL SQLSTATE '45000'",
            "IF 1 THEN SELECT 1",
            "BEGIN NOT ATOMIC",
            "BEGIN SELECT 1",
            "l: LOOP",
            "SELEC 1",
            "`SELECT` 1",
            "'SELECT' 1",
            "(INSERT INTO t VALUES (1))",
            "(KILL 5)",
            "1",
            "?",
            "@a",
            ".SELECT",
            "SELECT '",
            "SELECT 1 /*",
            "COMMIT \0 a",
            "SELECT /*! 1",
            "UPDATE t SET a = \"",
            "((",
            "SELECT @@ a",
        ],
    );
}

#[test]
fn p53_set_statement_is_what_it_runs() {
    check_in(
        mariadb(),
        Write,
        &[
            "SET STATEMENT a=1, b=(SELECT 1 FROM t) FOR DELETE FROM t",
            "SET STATEMENT a=1 FOR SET STATEMENT b=2 FOR INSERT t VALUES (1)",
        ],
    );
    check_in(
        mariadb(),
        Other,
        &[
            "SET STATEMENT a=1",
            "SET STATEMENT a=1 FOR",
            "SET STATEMENT a=1 FOR f",
            "SET STATEMENT a=(1 FOR SELECT 1",
        ],
    );
    check_in(mariadb(), Set, &["SET STATEMENT = 1", "SET STATEMENT := 1"]);
    check_in(mysql(), Set, &["SET STATEMENT a=1 FOR SELECT 1"]);
}

#[test]
fn p53_galera_decides_what_its_mark_means() {
    check_in(mariadb(), Other, &["SELECT 1 /*!99997 FOR UPDATE */"]);
    check_in(mysql(), Read, &["SELECT 1 /*!99997 FOR UPDATE */"]);
}

#[track_caller]
fn check_many(sql: &str, kind: StatementKind, kinds: &[StatementKind]) {
    for mode in both() {
        let found = Statement::classify(sql.as_bytes(), mode, true);
        assert_eq!(found.kind, kind, "{sql}");
        assert_eq!(found.statements, Statements::Many, "{sql}");
        let listed: Vec<_> = StatementKind::ALL.into_iter().filter(|k| found.kinds.contains(*k)).collect();
        assert_eq!(listed, kinds, "{sql}");
        let single = Statement::classify(sql.as_bytes(), mode, false);
        assert_eq!((single.kind, single.statements), (Other, Statements::One), "{sql}");
    }
}

#[test]
fn p32_the_strongest_statement_stands_for_the_packet() {
    check_many("SELECT 1; DELETE FROM t", Write, &[Read, Write]);
    check_many("DELETE FROM t; SELECT 1;", Write, &[Read, Write]);
    check_many("SET a=1; SELECT ';'; COMMIT", TransactionControl, &[Read, Set, TransactionControl]);
    check_many("SELECT 1; f", Other, &[Read, Other]);
    check_many("CREATE PROCEDURE p() BEGIN SELECT 1; END", Other, &[Ddl, Other]);
    check_many("BEGIN NOT ATOMIC SELECT 1; END", Other, &[Other]);
    // A version comment that is open at a `;` is a syntax error with multi-statements.
    check_many("SELECT /*! 1; SELECT 2 */", Other, &[Read, Other]);
    check_many("USE a;;SELECT 1", Use, &[Read, Use]);
}

#[test]
fn p32_a_comment_behind_the_semicolon_is_no_second_statement() {
    for (sql, kind) in [("SELECT 1; -- a", Read), ("/*c*/ KILL 0;#;;;\0", Kill), ("SELECT 1;/*! */;", Read)] {
        for mode in both() {
            let many = Statement::classify(sql.as_bytes(), mode, true);
            assert_eq!((many.kind, many.statements), (kind, Statements::Many), "{sql}");
            let single = Statement::classify(sql.as_bytes(), mode, false);
            assert_eq!((single.kind, single.statements), (kind, Statements::One), "{sql}");
        }
    }
    let hidden = Statement::classify(b"SELECT 1;/*! SELECT 2 */", mysql(), false);
    assert_eq!(hidden.kind, Other);
}

#[track_caller]
fn check_local(mode: LexMode, expected: bool, sqls: &[&str]) {
    for sql in sqls {
        for multi in [false, true] {
            assert_eq!(Statement::classify(sql.as_bytes(), mode, multi).local_infile, expected, "{sql}");
            let needs_full = quick(sql.as_bytes(), mode, multi).needs_full;
            assert!(needs_full || !expected, "{sql}");
        }
    }
}

#[test]
fn p51_a_file_is_sent_only_where_the_client_loads_one() {
    for mode in both() {
        check_local(
            mode,
            true,
            &[
                "LOAD DATA LOCAL INFILE 'a' INTO TABLE t",
                "load xml low_priority local infile 'a' into table t;",
                "LOAD/**/DATA CONCURRENT LOCAL INFILE 'a'",
                "/*a*/ LOAD DATA /*!40000 LOCAL */ INFILE 'a'",
                "/*! LOAD DATA LOCAL INFILE 'a' */",
                "LOAD DATA LOCAL INFILE 'a'; SELECT 1",
                "\x0bLOAD DATA LOCAL INFILE 'a'",
                "LOAD DATA FROM LOCAL INFILE 'a'",
            ],
        );
        check_local(
            mode,
            false,
            &[
                "LOAD DATA INFILE 'LOCAL'",
                "LOAD DATA INFILE 'a' INTO TABLE LOCAL",
                "SELECT 'LOAD DATA LOCAL INFILE'",
                "/*LOAD DATA LOCAL INFILE*/ SELECT 1",
                "LOAD INDEX INTO CACHE t",
                "-- LOAD DATA LOCAL INFILE",
                "LOAD DATA /*LOCAL*/ INFILE 'a'",
                "LOAD DATA /*!999999 LOCAL */ INFILE 'a'",
                "EXPLAIN LOAD DATA LOCAL INFILE 'a'",
                "(LOAD DATA LOCAL INFILE 'a')",
                "EXECUTE IMMEDIATE 'SELECT 1'",
                "PREPARE s FROM 'LOAD DATA LOCAL INFILE'",
                "`LOAD` DATA LOCAL INFILE 'a'",
                "",
            ],
        );
        let second = b"SELECT 1; LOAD DATA LOCAL INFILE 'a' INTO TABLE t; SELECT 2";
        assert!(Statement::classify(second, mode, true).local_infile && quick(second, mode, true).needs_full);
        assert!(!Statement::classify(second, mode, false).local_infile);
    }
    check_local(
        mariadb(),
        true,
        &[
            "SET STATEMENT a=1 FOR LOAD DATA LOCAL INFILE 'a'",
            "EXECUTE IMMEDIATE 'load data local infile ''a'' into table t'",
        ],
    );
    check_local(mysql(), true, &["LOAD DATA /*!080000 LOCAL */ INFILE 'a'"]);
    check_local(mariadb(), false, &["LOAD DATA /*!080000 LOCAL */ INFILE 'a'"]);
}

#[test]
fn p31_p51_a_trail_byte_does_not_hide_a_statement() {
    let gbk = LexMode { charset: CharsetClass::Gbk, ..mysql() };
    let sql = b"SELECT '\x81\\'; LOAD DATA LOCAL INFILE 'a' INTO TABLE t -- '";
    assert!(Statement::classify(sql, gbk, true).local_infile);
    assert!(!Statement::classify(sql, mysql(), true).local_infile);
}

#[test]
fn show_weir_session_is_for_weir() {
    for mode in both() {
        for sql in
            ["SHOW WEIR SESSION", " show/*a*/weir -- b\n session ; # c", "/*weir: a*/SHOW WEIR SESSION;"]
        {
            assert_eq!(weir_command(sql.as_bytes(), mode), Some(WeirCommand::ShowSession), "{sql}");
            for multi in [false, true] {
                assert!(quick(sql.as_bytes(), mode, multi).needs_full, "{sql}");
            }
            assert_eq!(
                Statement::classify(sql.as_bytes(), mode, true).weir,
                Some(WeirCommand::ShowSession),
                "{sql}"
            );
        }
        for sql in [
            "SHOW WEIR",
            "SHOW WEIR SESSIONS",
            "SHOW WEIR SESSION LIKE 'a'",
            "SHOW WEIR SESSION; SELECT 1",
            "SHOW `WEIR` SESSION",
            "SHOW WEIR SESSION '",
            "",
        ] {
            assert_eq!(weir_command(sql.as_bytes(), mode), None, "{sql}");
        }
    }
}

fn statement() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "SELECT 1",
        "SELECT f(1)",
        "SELECT 1 FOR UPDATE",
        "(SELECT 1)",
        "INSERT INTO t VALUES (1)",
        "WITH a AS (SELECT 1) DELETE FROM t",
        "SET a = 1",
        "LOAD DATA LOCAL INFILE 'a' INTO TABLE t",
        "BEGIN",
        "KILL 5",
        "f",
        "SHOW TABLES",
        "EXPLAIN SELECT 1",
        "CALL p()",
    ])
}

fn leading_trivia() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        " ",
        "\t",
        "\n",
        "/**/",
        "/* SET a; */",
        "-- COMMIT\n",
        "# '\n",
        "/*!999999 KILL */",
        "/*nocache*/",
    ]);
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn p21_leading_comments_and_blanks_change_nothing(sql in statement(), before in leading_trivia(), multi: bool) {
        for mode in both() {
            let bare = Statement::classify(sql.as_bytes(), mode, multi);
            prop_assert_eq!(Statement::classify(format!("{before}{sql}").as_bytes(), mode, multi), bare);
            let wrapped = format!("{before}/*! {sql} */");
            prop_assert_eq!(Statement::classify(wrapped.as_bytes(), mode, multi), bare);
        }
    }

    #[test]
    fn p32_a_packet_is_its_statements(sqls in prop::collection::vec(statement(), 2..5)) {
        for mode in both() {
            let alone: Vec<_> = sqls.iter().map(|s| Statement::classify(s.as_bytes(), mode, true)).collect();
            let packet = Statement::classify(sqls.join(";").as_bytes(), mode, true);
            prop_assert_eq!(Some(packet.kind), alone.iter().map(|c| c.kind).max());
            prop_assert_eq!(packet.local_infile, alone.iter().any(|c| c.local_infile));
            prop_assert_eq!(packet.statements, Statements::Many);
        }
    }

    #[test]
    fn no_bytes_make_it_fail(sql in prop::collection::vec(any::<u8>(), 0..64), multi: bool) {
        for mode in all_modes() {
            let found = Statement::classify(&sql, mode, multi);
            prop_assert!(found.kinds.contains(found.kind));
            let fast = quick(&sql, mode, multi);
            prop_assert!(fast.needs_full || (!found.local_infile && found.weir.is_none()));
            prop_assert!(fast.needs_full || crate::parse_kill(&sql, mode).is_none());
            let _hints = crate::hints(&sql, mode).count();
        }
    }
}

#[test]
fn p21_what_ends_a_packet_is_no_second_statement() {
    for end in ["", ";", ";;;;", " ; ; ", "\0", ";\0", ";;;\0", ";\0 ;", "\0;"] {
        let sql = format!("KILL 0{end}");
        for mode in both() {
            let found = Statement::classify(sql.as_bytes(), mode, false);
            assert_eq!((found.kind, found.statements), (Kill, Statements::One), "{sql:?}");
            assert!(crate::parse_kill(sql.as_bytes(), mode).is_some(), "{sql:?}");
        }
    }
    for more in [";\0\0", "; a", ";\0 a"] {
        let sql = format!("KILL 0{more}");
        assert_eq!(Statement::classify(sql.as_bytes(), mysql(), false).kind, StatementKind::Other, "{sql:?}");
        assert_eq!(crate::parse_kill(sql.as_bytes(), mysql()), None, "{sql:?}");
    }
}
