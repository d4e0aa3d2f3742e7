//! What a command is about is taken from all of what says so, however it comes: nobody's statement stands for another's, and no
//! transaction goes on somewhere else.

use crate::kit::*;
use crate::sharing_kit::*;
use command::Param;
use weir_testkit::relay::{Direction, Relay};

const ROWS: [&str; 2] = [
    "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(40))",
    "INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three')",
];

async fn values(server: &Server, name: &str) -> String {
    let mut direct = app(server.addr()).database(name).connect().await.unwrap();
    row(&mut direct, "SELECT GROUP_CONCAT(v ORDER BY id) FROM t").await
}

#[tokio::test]
async fn a_command_in_pieces_is_about_its_own_statement() {
    for (flavor, server) in &both() {
        database(server, "sh_pieces", &ROWS).await;
        // The ring reads what there is, too.
        for io in ["epoll", "auto"] {
            let weir = sharing(server, 1, "", &format!("io = \"{io}\"\n"));
            let relay = Relay::start(weir.addr()).await.unwrap();
            let mut other = app(weir.addr()).database("sh_pieces").connect().await.unwrap();
            let mut sliced = app(relay.addr()).database("sh_pieces").connect().await.unwrap();
            // On the connection this is the first, as that of the other is for Weir.
            let wrong = other.prepare("UPDATE t SET v='wrong' WHERE id=?").await.unwrap().id;
            let own = sliced.prepare("SELECT id FROM t WHERE id=? AND v<>?").await.unwrap().id;
            assert_eq!(wrong, own, "both are the first");
            execute(&mut other, wrong, &[Param::Int(77)], true).await;
            for slice in [1, 3, 5, 7, 9, 11, 13, 15, 17] {
                relay.faults(Direction::ToServer, |faults| faults.slice = slice);
                let at = format!("{flavor:?} {io} in pieces of {slice} bytes");
                for (step, types) in [(1, true), (2, false), (3, true)] {
                    // Another session is on the connection in between.
                    row(&mut other, "SELECT 1").await;
                    let params = if step == 3 {
                        [Param::Text("3".to_owned()), Param::Text("x".to_owned())]
                    } else {
                        [Param::Int(step), Param::Text("x".to_owned())]
                    };
                    let answer = execute(&mut sliced, own, &params, types).await;
                    assert_eq!(answer.err(), None, "{at}");
                    let rows: Vec<i32> =
                        answer.rows().map(|row| i32::from_le_bytes(row[2..].try_into().unwrap())).collect();
                    assert_eq!(rows, [step as i32], "{at}");
                }
                sliced.command(command::INIT_DB, b"sh_pieces").await.unwrap();
                assert_eq!(row(&mut sliced, "SELECT DATABASE()").await, "sh_pieces", "{at}");
            }
            assert_eq!(values(server, "sh_pieces").await, "one,two,three", "{flavor:?} {io}");
        }
    }
}

#[tokio::test]
async fn the_last_statement_is_never_another() {
    let server = server(Flavor::MariaDb);
    database(&server, "sh_last_m", &ROWS).await;
    let weir = sharing(&server, 1, "", "");
    let [mut one, mut two] = clients(&weir, "sh_last_m").await;
    let mut direct = app(server.addr()).database("sh_last_m").connect().await.unwrap();
    let last = [Param::Int(1)];
    // The connection's own last one is another client's.
    one.prepare("DELETE FROM t WHERE id=?").await.unwrap();
    let expected = execute(&mut direct, u32::MAX, &last, true).await.err().cloned();
    assert_eq!(expected.as_ref().map(|err| err.code), Some(1243));
    assert_eq!(execute(&mut two, u32::MAX, &last, true).await.err().cloned(), expected);
    // One that was refused leaves none.
    for client in [&mut one, &mut direct] {
        assert!(client.prepare("SELECT * FROM missing WHERE id=?").await.is_err());
        let refused = execute(client, u32::MAX, &last, true).await.err().cloned();
        assert_eq!(refused, expected);
    }
    assert_eq!(values(&server, "sh_last_m").await, "one,two,three");
    let own = one.prepare("SELECT id FROM t WHERE id=?").await.unwrap().id;
    assert_eq!(execute(&mut one, u32::MAX, &last, true).await.rows().count(), 1);
    assert_eq!(execute(&mut one, own, &last, true).await.rows().count(), 1);
}

#[tokio::test]
async fn a_transaction_is_not_left_for_a_statement_that_cannot_be_prepared_again() {
    for (flavor, server) in &both() {
        for step in ["DROP TABLE gone", "DROP DATABASE sh_again_a"] {
            for without_schema in [false, true] {
                let at = format!("{flavor:?} {step} without a schema: {without_schema}");
                database(server, "sh_again_b", &ROWS).await;
                database(server, "sh_again_a", &["CREATE TABLE gone (i INT)"]).await;
                let weir = sharing(server, 8, "", "");
                let mut one = app(weir.addr()).connect().await.unwrap();
                if !without_schema {
                    one.command(command::INIT_DB, b"sh_again_a").await.unwrap();
                }
                let sql = if without_schema { "SELECT i FROM sh_again_a.gone" } else { "SELECT i FROM gone" };
                let statement = one.prepare(sql).await.unwrap().id;
                one.command(command::INIT_DB, b"sh_again_b").await.unwrap();
                // On a connection that does not have the statement.
                one.run("/*weir: fresh*/ BEGIN").await.unwrap();
                one.run("INSERT INTO t VALUES (10, 'in')").await.unwrap();
                let mut admin = app(server.addr()).database("sh_again_a").connect().await.unwrap();
                admin.run(step).await.unwrap();
                let body =
                    command::Execute { id: statement, flags: 0, params: &[], types: true, attributes: false };
                let answer = one.command(command::STMT_EXECUTE, &body.body()).await.unwrap();
                assert!(answer.err().is_some(), "{at}: {answer:?}");
                numbered(&answer, 1);
                let mut committed = true;
                for sql in ["INSERT INTO t VALUES (11, 'in')", "COMMIT"] {
                    let answer = one.query(sql).await;
                    committed &= answer.is_ok_and(|answer| !answer.closed && answer.err().is_none());
                }
                let expected = if committed { "one,two,three,in,in" } else { "one,two,three" };
                assert_eq!(values(server, "sh_again_b").await, expected, "{at}: committed {committed}");
            }
        }
    }
}

/// The server knows nothing of it: what the statement before has left there is not what is told of this one.
#[tokio::test]
async fn a_statement_that_was_not_even_sent_leaves_the_connection_to_others() {
    for (flavor, server) in &both() {
        for begin in ["SELECT 2", "BEGIN"] {
            let at = format!("{flavor:?} {begin}");
            database(server, "sh_unsent", &[]).await;
            let weir = sharing(server, 8, "", "");
            let mut one = app(weir.addr()).connect().await.unwrap();
            let id = one.prepare("SELECT 1").await.unwrap().id;
            one.command(command::INIT_DB, b"sh_unsent").await.unwrap();
            one.run(&format!("/*weir: fresh*/ {begin}")).await.unwrap();
            let answer = execute(&mut one, id, &[], true).await;
            assert_eq!(answer.err().map(|err| err.code), Some(1243), "{at}: {answer:?}");
            let reasons = shown(&mut one, "pinned").await;
            assert!(!reasons.contains("warnings"), "{at}: {reasons}");
            one.run("COMMIT").await.unwrap();
            free(&mut one, &at).await;
        }
    }
}

#[tokio::test]
async fn a_savepoint_ahead_of_its_transaction_keeps_the_connection() {
    for (flavor, server) in &both() {
        database(server, "sh_ahead", &ROWS).await;
        let weir = sharing(server, 8, "", "");
        let [mut one, mut two] = clients(&weir, "sh_ahead").await;
        one.run("SET autocommit=0").await.unwrap();
        one.run("SAVEPOINT s").await.unwrap();
        two.run("BEGIN").await.unwrap();
        two.run("SELECT * FROM t").await.unwrap();
        one.run("INSERT INTO t VALUES (10, 'in')").await.unwrap();
        one.run("ROLLBACK TO SAVEPOINT s").await.unwrap();
        one.run("RELEASE SAVEPOINT s").await.unwrap();
        one.run("COMMIT").await.unwrap();
        two.run("ROLLBACK").await.unwrap();
        assert_eq!(values(server, "sh_ahead").await, "one,two,three", "{flavor:?}");
        one.run("SET autocommit=1").await.unwrap();
        free(&mut one, "it ends with the transaction").await;
    }
}

/// With autocommit off servers keep the definitions of tables locked until a transaction ends that shows in no flag.
#[tokio::test]
async fn p27_tables_that_are_kept_from_changes_until_a_commit_keep_the_connection() {
    const TABLES: [&str; 2] =
        ["CREATE TABLE m (i INT) ENGINE=MyISAM", "CREATE TABLE n (i INT) ENGINE=InnoDB"];
    for (flavor, server) in &both() {
        database(server, "sh_defined", &TABLES).await;
        let weir = sharing(server, 8, "", "");
        let mut one = client(&weir, "sh_defined").await;
        let mut admin = app(server.addr()).database("sh_defined").connect().await.unwrap();
        admin.run("SET lock_wait_timeout = 1").await.unwrap();
        one.run("SET autocommit = 0").await.unwrap();
        let reads = [
            ("SELECT i FROM m", "COMMIT"),
            ("SELECT i FROM (m)", "COMMIT"),
            ("SELECT m.i FROM (n JOIN m ON n.i = m.i)", "ROLLBACK"),
            ("SELECT (SELECT MAX(i) FROM m)", "ROLLBACK"),
            ("SELECT nothing FROM n", "COMMIT"),
            ("DELETE FROM m", "SET autocommit = 1"),
        ];
        for (sql, end) in reads {
            let wrong = one.query(sql).await.unwrap().err().map(|err| err.code);
            assert_eq!(wrong, sql.contains("nothing").then_some(1054), "{flavor:?} {sql}");
            one.run("SELECT 1").await.unwrap();
            one.run(&format!("/*weir: fresh*/ {end}")).await.unwrap();
            admin.run("ALTER TABLE m COMMENT 'free'").await.unwrap();
            admin.run("ALTER TABLE n COMMENT 'free'").await.unwrap();
        }
        // What opens no table keeps nothing.
        one.run("SELECT i FROM n").await.unwrap();
        one.run("SET autocommit = 0").await.unwrap();
        one.run("SELECT @@autocommit, 1").await.unwrap();
        free(&mut one, "no table").await;
    }
}

#[tokio::test]
async fn what_depends_on_the_connection_under_sql_auto_is_null_keeps_it() {
    for (flavor, server) in &both() {
        database(server, "sh_null", &ROWS).await;
        let weir = sharing(server, 8, "", "");
        let [mut one, mut two] = clients(&weir, "sh_null").await;
        one.run("SET sql_auto_is_null=1").await.unwrap();
        one.run("INSERT INTO t (v) VALUES ('mine')").await.unwrap();
        two.run("INSERT INTO t (v) VALUES ('other')").await.unwrap();
        assert_eq!(row(&mut one, "SELECT v FROM t WHERE id IS NULL").await, "mine", "{flavor:?}");
        two.run("SET sql_auto_is_null=0").await.unwrap();
        free(&mut two, "it is off").await;
    }
}

#[tokio::test]
async fn flags_of_the_optimizer_are_each_sessions_own() {
    for (flavor, server) in &both() {
        database(server, "sh_flags", &[]).await;
        let weir = sharing(server, 1, "", "");
        let mut direct = app(server.addr()).database("sh_flags").connect().await.unwrap();
        let [mut one, mut two] = clients(&weir, "sh_flags").await;
        one.run("SET optimizer_switch='mrr=on'").await.unwrap();
        row(&mut one, "SELECT 1").await;
        for client in [&mut two, &mut direct] {
            client.run("SET optimizer_switch='index_merge=off'").await.unwrap();
            client.run("SET optimizer_switch='mrr=on'").await.unwrap();
        }
        row(&mut one, "SELECT 1").await;
        let told = row(&mut two, "SELECT @@optimizer_switch").await;
        assert_eq!(told, row(&mut direct, "SELECT @@optimizer_switch").await, "{flavor:?}");
        let told = row(&mut one, "SELECT @@optimizer_switch").await;
        assert!(told.contains("index_merge=on") && told.contains("mrr=on"), "{flavor:?} {told}");
    }
}

/// A client that sends more than it may be told no reads its error behind that, not the end of its connection.
#[tokio::test]
async fn what_is_refused_in_pieces_has_its_error_before_the_end() {
    for (flavor, server) in &both() {
        database(server, "sh_refused", &[]).await;
        let limits = "[limits]\nauth_failure_delay = \"20ms\"\nstatement_memory = 0\n";
        let weir = sharing(server, 2, "", limits);
        for _ in 0..5 {
            let [mut one] = clients(&weir, "sh_refused").await;
            let sql = format!("SELECT 1 IN (?{})", ",?".repeat(59_999));
            let id = one.prepare(&sql).await.unwrap().id;
            let params = vec![Param::Text("12345678".to_owned()); 60_000];
            let answer = execute(&mut one, id, &params, true).await;
            let err = answer.err().unwrap_or_else(|| panic!("{flavor:?}: {answer:?}"));
            assert_eq!(err.code, 1153, "{flavor:?}: {err}");
            numbered(&answer, 1);
            assert!(one.stream().read_packet().await.unwrap().is_none(), "{flavor:?}: it goes on");
        }
        // A session is counted when it has lingered.
        until("all are counted", async || {
            (metric(&weir, "weir_client_closed_total{reason=\"denied\"}").await == 5.0).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn long_data_for_no_last_statement_is_dropped() {
    let server = server(Flavor::MariaDb);
    database(&server, "sh_dropped", &ROWS).await;
    let weir = sharing(&server, 1, "", "");
    let [one, mut other] = clients(&weir, "sh_dropped").await;
    let direct = app(server.addr()).database("sh_dropped").connect().await.unwrap();
    // On the connection the last one is another client's.
    let id = other.prepare("SELECT LENGTH(?)").await.unwrap().id;
    for mut client in [direct, one] {
        let data = command::long_data(u32::MAX, 0, &vec![b'x'; 500_000]);
        client.send(command::STMT_SEND_LONG_DATA, &data).await.unwrap();
        assert_eq!(row(&mut client, "SELECT 'it goes on'").await, "it goes on");
    }
    let answer = execute(&mut other, id, &[Param::Text("abc".to_owned())], true).await;
    assert_eq!(answer.rows().next().map(|row| row[2]), Some(3), "{answer:?}");
}

#[tokio::test]
async fn the_last_statement_outlives_one_that_cannot_be_prepared_again() {
    let server = server(Flavor::MariaDb);
    let weir = sharing(&server, 8, "", "");
    for addr in [server.addr(), weir.addr()] {
        database(&server, "sh_outlives", &[&ROWS[..], &["CREATE TABLE gone (id INT)"]].concat()).await;
        let mut one = app(addr).database("sh_outlives").connect().await.unwrap();
        let gone = one.prepare("SELECT * FROM gone WHERE id = ?").await.unwrap().id;
        one.run("/*weir: fresh*/ BEGIN").await.unwrap();
        one.prepare("SELECT id FROM t WHERE id = ?").await.unwrap();
        let mut admin = app(server.addr()).database("sh_outlives").connect().await.unwrap();
        admin.run("DROP TABLE gone").await.unwrap();
        let missing = execute(&mut one, gone, &[Param::Int(1)], true).await;
        assert_eq!(missing.err().map(|err| err.code), Some(1146), "{missing:?}");
        let last = execute(&mut one, u32::MAX, &[Param::Int(1)], true).await;
        assert_eq!((last.err(), last.rows().count()), (None, 1), "{last:?}");
        one.run("COMMIT").await.unwrap();
    }
}

#[tokio::test]
async fn sql_auto_is_null_of_the_server_keeps_the_connection_behind_a_reset_too() {
    for flavor in Flavor::BOTH {
        let server = Server::start(flavor).unwrap();
        let mut admin = app(server.addr()).connect().await.unwrap();
        admin.run("SET GLOBAL sql_auto_is_null = 1").await.unwrap();
        database(&server, "sh_null_global", &ROWS).await;
        let weir = sharing(&server, 8, "", "");
        for change in [false, true] {
            let [mut one, mut two] = clients(&weir, "sh_null_global").await;
            for client in [&mut one, &mut two] {
                if change {
                    let changed = client.change_user("app", "app-pw", "sh_null_global", 45).await.unwrap();
                    assert_eq!(changed.err(), None, "{flavor:?}");
                } else {
                    client.command(command::RESET_CONNECTION, &[]).await.unwrap();
                }
                client.run("SELECT 1").await.unwrap();
            }
            one.run("INSERT INTO t (v) VALUES ('mine')").await.unwrap();
            two.run("INSERT INTO t (v) VALUES ('other')").await.unwrap();
            let at = format!("{flavor:?} change of user: {change}");
            assert_eq!(row(&mut one, "SELECT v FROM t WHERE id IS NULL").await, "mine", "{at}");
        }
    }
}

/// In gbk the backslash may be the second byte of a character, and then hides no quote.
#[tokio::test]
async fn statements_are_read_in_a_character_set_that_only_the_server_could_tell() {
    for (flavor, server) in &both() {
        database(server, "sh_gbk", &[]).await;
        let weir = sharing(server, 2, "", "");
        let [mut one] = clients(&weir, "sh_gbk").await;
        for set in ["SET character_set_client = CONCAT('gb', 'k')", "SET @@session.character_set_client = 28"]
        {
            one.run(set).await.unwrap();
            one.run("DO 0").await.unwrap();
            one.query(&b"SELECT '\xbf\\', GET_LOCK('sh_gbk', 0)"[..]).await.unwrap();
            pinned(&mut one, "user_lock", &format!("{flavor:?} {set}")).await;
            one.run("SELECT RELEASE_ALL_LOCKS()").await.unwrap();
            one.run("SET NAMES utf8mb4").await.unwrap();
            one.command(command::RESET_CONNECTION, &[]).await.unwrap();
        }
    }
}
