//! A connection that one client has left and another gets: `pool.reuse_timeout` for clients with a connection of their own.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::kit::*;
use crate::sharing_kit::{both, database, execute, row, sharing};

const TABLE: &[&str] = &["CREATE TABLE t (i INT PRIMARY KEY AUTO_INCREMENT)", "INSERT INTO t VALUES (41)"];

/// One worker, so that a connection is always there that another client can be given.
fn reusing(server: &Server, pool: &str, connections: u32) -> Weir {
    let text = config(&server.addr().to_string(), &format!("[pool]\n{pool}\n[runtime]\nworkers = 1\n"))
        .replace("max_connections = 1000", &format!("max_connections = {connections}"));
    let weir = Weir::config(text).start().unwrap();
    weir.wait_for_line("accepting clients", PATIENCE).unwrap();
    weir
}

/// A user who may do everything in one schema, and nothing elsewhere.
async fn user(server: &Server, name: &str, more: &str) -> Client {
    let mut admin = app(server.addr()).connect().await.unwrap();
    for sql in [
        format!("DROP USER IF EXISTS {name}"),
        format!("CREATE USER {name} IDENTIFIED BY '{name}-pw' {more}"),
        format!("GRANT ALL ON {name}.* TO {name}"),
    ] {
        admin.run(&sql).await.unwrap();
    }
    admin
}

fn as_user(addr: std::net::SocketAddr, name: &str) -> ConnectOptions {
    ConnectOptions::tcp(addr, name, &format!("{name}-pw"))
}

async fn id(client: &mut Client) -> String {
    row(client, "SELECT CONNECTION_ID()").await
}

async fn leave(weir: &Weir, client: Client) {
    client.quit().await.unwrap();
    until("the client has left", async || {
        (metric(weir, "weir_clients_connected").await == 0.0).then_some(())
    })
    .await;
}

async fn reused(weir: &Weir) -> f64 {
    metric(weir, "weir_server_connections_reused_total").await
}

/// The OK that ended the login.
fn welcome(client: &Client) -> Vec<u8> {
    client.login_reply().packets.last().map(|packet| packet.payload.to_vec()).unwrap_or_default()
}

/// All session variables but those that differ between any two connections.
async fn variables(client: &mut Client) -> BTreeMap<String, String> {
    let response = client.run("SHOW SESSION VARIABLES").await.unwrap();
    let text = |value: Option<Vec<u8>>| String::from_utf8(value.unwrap_or_default()).unwrap();
    let rows = response.rows().map(|row| {
        let mut values = weir_testkit::client::bytes::text_row(row).unwrap().into_iter().map(text);
        (values.next().unwrap(), values.next().unwrap())
    });
    let own = ["pseudo_thread_id", "timestamp", "rand_seed1", "rand_seed2", "statement_id"];
    let global =
        |name: &str| name.starts_with("innodb_") || name.starts_with("gtid_") || name.contains("binlog");
    rows.filter(|(name, _)| !own.contains(&name.as_str()) && !global(name)).collect()
}

/// What a session asks of itself.
const ASKED: [&str; 9] = [
    "SELECT LAST_INSERT_ID(), @a, @b",
    "SELECT @@identity, @@insert_id, @@last_insert_id",
    "SELECT DATABASE(), SUBSTRING_INDEX(CURRENT_USER(), '@', 1), SUBSTRING_INDEX(USER(), '@', 1)",
    "SELECT @@autocommit, @@sql_mode, @@time_zone, @@collation_connection",
    "SELECT IS_USED_LOCK('reuse')",
    "SELECT @@warning_count, @@error_count",
    "SHOW WARNINGS",
    "SELECT 1 FROM DUAL WHERE @@session.sql_auto_is_null",
    "SELECT @@session.sql_safe_updates, @@session.max_join_size, @@session.sql_select_limit",
];

#[tokio::test]
async fn the_next_client_finds_nothing_of_the_one_before() {
    for (flavor, server) in &both() {
        database(server, "reuse_one", TABLE).await;
        let mut admin = user(server, "reuse_one", "").await;
        for more in [Caps::default(), SHAPING] {
            let weir = reusing(server, "reuse_timeout = \"1m\"", 10);
            let mut one = app(weir.addr()).database("reuse_one").with(more).connect().await.unwrap();
            let mine = id(&mut one).await;
            for sql in [
                "SET @a = 1, @b = 'of app'",
                "SET SESSION sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES', time_zone = '+05:00'",
                "SET NAMES latin1",
                "SET SESSION TRANSACTION READ ONLY",
                "SET SESSION sql_safe_updates = 1, max_join_size = 77, sql_select_limit = 3",
                "SET SESSION TRANSACTION READ WRITE",
                "INSERT INTO t VALUES ()",
                "SELECT GET_LOCK('reuse', 0)",
                "SELECT SQL_CALC_FOUND_ROWS * FROM t LIMIT 1",
                "SET autocommit = 0",
                "UPDATE t SET i = i WHERE i = 41",
                "COMMIT",
                "USE mysql",
                "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
                "SELECT CAST('x' AS SIGNED)",
            ] {
                let response = one.query(sql).await.unwrap();
                assert_eq!(response.err(), None, "{flavor:?}: {sql}");
            }
            let statement = one.prepare("SELECT 'of app'").await.unwrap().id;
            one.run("ROLLBACK").await.unwrap();
            assert_eq!(row(&mut admin, "SELECT IS_USED_LOCK('reuse')").await, mine, "{flavor:?}");
            leave(&weir, one).await;
            // As at the end of a connection, and not when the next client comes.
            until("the lock is free", async || {
                (row(&mut admin, "SELECT IS_USED_LOCK('reuse')").await == "NULL").then_some(())
            })
            .await;

            let mut two = as_user(weir.addr(), "reuse_one").with(more).connect().await.unwrap();
            let mut direct = as_user(server.addr(), "reuse_one").with(more).connect().await.unwrap();
            assert_eq!(welcome(&two), welcome(&direct), "{flavor:?}");
            assert_eq!(reused(&weir).await, 1.0, "{flavor:?}");
            for sql in ASKED {
                let (there, here) = (direct.query(sql).await.unwrap(), two.query(sql).await.unwrap());
                same(there, here, &format!("{flavor:?}: {sql}"));
            }
            let gone = execute(&mut two, statement, &[], true).await;
            assert_eq!(gone.err().map(|err| err.code), Some(1243), "{flavor:?}: {gone:?}");
            assert_eq!(variables(&mut two).await, variables(&mut direct).await, "{flavor:?}");
            let refused = two.query("SELECT * FROM mysql.user").await.unwrap();
            assert_eq!(refused.err().map(|err| err.code), Some(1142), "{flavor:?}: {refused:?}");
            assert_eq!(id(&mut two).await, mine, "{flavor:?}: another connection");
            leave(&weir, two).await;

            // The first user again, with a schema and a collation of its own.
            let again = |addr| app(addr).database("reuse_one").collation(33).with(more);
            let mut three = again(weir.addr()).connect().await.unwrap();
            let mut direct = again(server.addr()).connect().await.unwrap();
            assert_eq!(welcome(&three), welcome(&direct), "{flavor:?}");
            assert_eq!(variables(&mut three).await, variables(&mut direct).await, "{flavor:?}");
            assert_eq!(
                row(&mut three, "SELECT DATABASE(), CONNECTION_ID()").await,
                format!("reuse_one|{mine}")
            );
            leave(&weir, three).await;
            assert_eq!(metric(&weir, "weir_server_connections_open").await, 1.0, "{flavor:?}");
        }
    }
}

#[tokio::test]
async fn what_nobody_comes_for_is_closed_after_its_time() {
    for (flavor, server) in &both() {
        for (pool, time) in [("", 2000), ("reuse_timeout = \"100ms\"", 100)] {
            let weir = reusing(server, pool, 10);
            let client = app(weir.addr()).connect().await.unwrap();
            let begun = Instant::now();
            leave(&weir, client).await;
            until("nobody has come for it", async || {
                (metric(&weir, "weir_server_connections_open").await == 0.0).then_some(())
            })
            .await;
            assert!(
                begun.elapsed() >= Duration::from_millis(time),
                "{flavor:?} {pool}: {:?}",
                begun.elapsed()
            );
        }
    }
}

#[tokio::test]
async fn p19_the_server_judges_every_password_that_is_given_on_a_reused_connection() {
    for (flavor, server) in &both() {
        let mut admin = user(server, "reuse_p19", "").await;
        let weir = reusing(server, "reuse_timeout = \"1m\"", 10);
        let login = async || as_user(weir.addr(), "reuse_p19").connect().await;
        for _ in 0..3 {
            leave(&weir, login().await.unwrap()).await;
            let wrong = ConnectOptions::tcp(weir.addr(), "reuse_p19", "wrong").connect().await;
            let err = refusal(wrong);
            assert_eq!((err.code, err.state.as_str()), (1045, "28000"), "{flavor:?}: {err}");
            leave(&weir, login().await.unwrap()).await;
        }
        assert!(reused(&weir).await > 0.0, "{flavor:?}");
        admin.run("ALTER USER reuse_p19 ACCOUNT LOCK").await.unwrap();
        let locked = refusal(login().await);
        let direct = refusal(as_user(server.addr(), "reuse_p19").connect().await);
        assert_eq!(locked.code, direct.code, "{flavor:?}: {locked}");
        leave(&weir, app(weir.addr()).connect().await.unwrap()).await;
        admin.run("DROP USER reuse_p19").await.unwrap();
        assert_eq!(refusal(login().await).code, 1045, "{flavor:?}");
    }
}

#[tokio::test]
async fn what_may_leave_traces_is_not_reused() {
    for (flavor, server) in &both() {
        database(server, "reuse_not", &["CREATE TABLE t (i INT)", "CREATE PROCEDURE p() DO 1"]).await;
        let weir = reusing(server, "reuse_timeout = \"1m\"", 10);
        let login = async || app(weir.addr()).database("reuse_not").connect().await.unwrap();
        for sql in [
            "CALL p()",
            "BEGIN",
            "CREATE TEMPORARY TABLE tmp (i INT)",
            "LOCK TABLES t READ",
            "PREPARE s FROM 'SELECT 1'",
            "SET profiling = 1",
            "SET ROLE NONE",
            "FLUSH STATUS",
            "(SELECT 1)",
        ] {
            let mut one = login().await;
            let mine = id(&mut one).await;
            one.run(sql).await.unwrap();
            leave(&weir, one).await;
            let mut two = login().await;
            assert_ne!(id(&mut two).await, mine, "{flavor:?}: {sql}");
            leave(&weir, two).await;
        }
        let mut one = login().await;
        let mine = id(&mut one).await;
        let changed = one.change_user("app", "app-pw", "reuse_not", 45).await.unwrap();
        assert_eq!(changed.err(), None, "{flavor:?}");
        leave(&weir, one).await;
        let mut two = login().await;
        assert_ne!(id(&mut two).await, mine, "{flavor:?}: COM_CHANGE_USER");
        leave(&weir, two).await;
        // COM_SET_OPTION; and a client that is gone without a word.
        let mut one = login().await;
        let mine = id(&mut one).await;
        one.command(command::SET_OPTION, &[1, 0]).await.unwrap();
        leave(&weir, one).await;
        let mut two = login().await;
        let next = id(&mut two).await;
        assert_ne!(next, mine, "{flavor:?}");
        drop(two);
        until("the client is gone", async || {
            (metric(&weir, "weir_clients_connected").await == 0.0).then_some(())
        })
        .await;
        assert_ne!(id(&mut login().await).await, next, "{flavor:?}");
    }
}

#[tokio::test]
async fn nothing_is_kept_where_the_time_is_zero() {
    let server = server(Flavor::MariaDb);
    let weir = reusing(&server, "reuse_timeout = \"0s\"", 10);
    for _ in 0..3 {
        leave(&weir, app(weir.addr()).connect().await.unwrap()).await;
        assert_eq!(metric(&weir, "weir_server_connections_open").await, 0.0);
    }
    assert_eq!(reused(&weir).await, 0.0);
}

#[tokio::test]
async fn what_waits_for_a_client_takes_no_place_from_one() {
    for (flavor, server) in &both() {
        user(server, "reuse_max", "WITH MAX_USER_CONNECTIONS 1").await;
        // Weir's limit, then the server's for this user. MariaDB takes a reset connection out of that count, MySQL does not.
        for (connections, options) in
            [(1, app as fn(std::net::SocketAddr) -> ConnectOptions), (10, |addr| as_user(addr, "reuse_max"))]
        {
            let weir = reusing(server, "reuse_timeout = \"1m\"", connections);
            for round in 0..4 {
                let options = options(weir.addr());
                // A connection that the next client cannot use.
                let options = match round % 2 {
                    0 => options.with(Caps::FOUND_ROWS),
                    _ => options.without(Caps::FOUND_ROWS),
                };
                // A server takes a moment to forget a connection that was closed; what waits would do so for a minute.
                let mut client = until("there is a place", async || match options.connect().await {
                    Ok(client) => Some(client),
                    Err(error) => {
                        assert_eq!(refusal(Err(error)).code, 1226, "{flavor:?}");
                        None
                    }
                })
                .await;
                client.run("SELECT 1").await.unwrap();
                leave(&weir, client).await;
                let open = metric(&weir, "weir_server_connections_open").await;
                assert!(open == 1.0 || connections > 1 && *flavor == Flavor::MariaDb, "{flavor:?}: {open}");
            }
        }
    }
}

#[tokio::test]
async fn a_server_with_init_connect_gets_new_connections() {
    for flavor in Flavor::BOTH {
        let server = Server::start(flavor).unwrap();
        let mut admin = user(&server, "reuse_init", "").await;
        let weir = reusing(&server, "reuse_timeout = \"1m\"", 10);
        let login = async || as_user(weir.addr(), "reuse_init").connect().await.unwrap();
        leave(&weir, login().await).await;
        leave(&weir, login().await).await;
        assert_eq!(reused(&weir).await, 1.0, "{flavor:?}");
        admin.run("SET GLOBAL init_connect = 'SET @init = 7'").await.unwrap();
        until("every client gets a new connection", async || {
            let mut client = login().await;
            let init = row(&mut client, "SELECT @init").await;
            leave(&weir, client).await;
            (init == "7").then_some(())
        })
        .await;
        let before = reused(&weir).await;
        for _ in 0..5 {
            let mut client = login().await;
            assert_eq!(row(&mut client, "SELECT @init").await, "7", "{flavor:?}");
            leave(&weir, client).await;
        }
        assert_eq!(reused(&weir).await, before, "{flavor:?}");
        // Where connections are shared, a login on an idle one is a COM_CHANGE_USER as well.
        let weir = sharing(&server, 3, "", "");
        for _ in 0..5 {
            let mut client = as_user(weir.addr(), "reuse_init").connect().await.unwrap();
            assert_eq!(row(&mut client, "SELECT @init").await, "7", "{flavor:?}, shared");
            leave(&weir, client).await;
        }
    }
}

#[tokio::test]
async fn p45_a_server_that_restarts_meanwhile_costs_the_next_client_nothing() {
    for flavor in Flavor::BOTH {
        let mut server = Server::start(flavor).unwrap();
        let weir = reusing(&server, "reuse_timeout = \"1m\"", 10);
        leave(&weir, app(weir.addr()).connect().await.unwrap()).await;
        server.restart().unwrap();
        let mut client = app(weir.addr()).connect().await.unwrap();
        assert_eq!(row(&mut client, "SELECT 1").await, "1", "{flavor:?}");
        assert_eq!(reused(&weir).await, 0.0, "{flavor:?}");
    }
}
