//! Answers that are under way while others ask or wipe: a lock on the table holds the statement at the server for as long as needed.

use std::time::Duration;

use tokio::time::timeout;

use crate::api_kit::*;
use crate::cache_kit::*;
use crate::kit::*;
use crate::sharing_kit::*;

/// The connections of this database on which the server runs the statement at hand.
async fn running(watch: &mut Client, database_name: &str) -> Vec<String> {
    let sql = format!(
        "SELECT ID FROM information_schema.PROCESSLIST WHERE DB='{database_name}' AND INFO LIKE '%SELECT v FROM t WHERE id=1'"
    );
    let answer = watch.run(&sql).await.unwrap();
    let id = |row: &[u8]| weir_testkit::client::bytes::text_row(row).unwrap().remove(0).unwrap();
    answer.rows().map(|row| String::from_utf8(id(row)).unwrap()).collect()
}

/// The server's connection on which a client's statement is run again, if that is so: then the client's next command waits, and is
/// given up here.
async fn renews(client: &mut Client, watch: &mut Client, database_name: &str) -> Option<String> {
    let mut next = std::pin::pin!(shown(client, "client_id"));
    loop {
        if let Some(id) = running(watch, database_name).await.pop() {
            return Some(id);
        }
        if timeout(Duration::from_millis(10), &mut next).await.is_ok() {
            return None;
        }
    }
}

/// From behind its soft time on one session renews an answer and the others are served; if that fails another one does.
#[tokio::test]
async fn one_of_many_renews_an_answer_and_another_one_when_that_has_failed() {
    let rules = ALL.replace("ttl = \"1h\"", "ttl = \"1h\", soft_ttl = \"200ms\"");
    for (flavor, server) in &both() {
        for (mode, name) in MODES.iter().zip(["ca_renew_t", "ca_renew_s"]) {
            table(server, name).await;
            let at = format!("{flavor:?} {mode}");
            let weir = sharing(server, 12, mode, &rules);
            let (mut idle, mut held) = (Vec::from(clients::<8>(&weir, name).await), Vec::new());
            let mut admin = app(server.addr()).database(name).connect().await.unwrap();
            let mut watch = app(server.addr()).connect().await.unwrap();
            assert_eq!(value(&mut idle[0], 1).await, "one", "{at}");
            // What was asked behind the answer is over.
            shown(&mut idle[0], "client_id").await;
            admin.run("LOCK TABLES t WRITE").await.unwrap();
            admin.run("UPDATE t SET v='renewed' WHERE id=1").await.unwrap();
            for round in 0..2 {
                let at = format!("{at}, round {round}");
                let asked = until(&at, async || {
                    let mut client = idle.pop().unwrap();
                    assert_eq!(value(&mut client, 1).await, "one", "{at}");
                    match renews(&mut client, &mut watch, name).await {
                        None => idle.insert(0, client),
                        // It stays, or its statement would be ended.
                        Some(id) => {
                            held.push(client);
                            return Some(id);
                        }
                    }
                    None
                })
                .await;
                for client in &mut idle {
                    assert_eq!(value(client, 1).await, "one", "{at}: others are served meanwhile");
                }
                assert_eq!(running(&mut watch, name).await.len(), 1, "{at}: and ask nobody");
                if round == 0 {
                    // MySQL loses one now and then that comes while a wait begins.
                    until(&at, async || {
                        let still = running(&mut watch, name).await.contains(&asked);
                        if still {
                            watch.run(&format!("KILL QUERY {asked}")).await.unwrap();
                        }
                        (!still).then_some(())
                    })
                    .await;
                }
            }
            admin.run("UNLOCK TABLES").await.unwrap();
            until(&at, async || (value(&mut idle[0], 1).await == "renewed").then_some(())).await;
        }
    }
}

/// What was asked before a wipe is not kept after it, by whatever it was wiped.
#[tokio::test]
async fn a_wipe_by_anything_covers_the_statement_that_runs() {
    let sql = "/*weir: tag=red*/ SELECT v FROM t WHERE id=1";
    for (flavor, server) in &both() {
        table(server, "ca_held").await;
        let weir = sharing(server, 12, "", ALL);
        let [mut client] = clients(&weir, "ca_held").await;
        let mut admin = app(server.addr()).database("ca_held").connect().await.unwrap();
        let mut watch = app(server.addr()).connect().await.unwrap();
        let selectors: [&[&str]; 8] = [
            &["--tag", "red"],
            &["--user", "app"],
            &["--digest", "SELECT v FROM t WHERE id=7"],
            &["--schema", "ca_held"],
            &["--table", "ca_held.t"],
            &["--rule", "all"],
            &["--all", "--yes"],
            // A hint, in a session that asks the server and keeps nothing itself.
            &[],
        ];
        for (n, args) in selectors.into_iter().enumerate() {
            let at = format!("{flavor:?} {args:?}");
            // All the names are known from then on.
            change(server, "UPDATE ca_held.t SET v='before'").await;
            row(&mut client, &format!("/*wipe*/ {sql}")).await;
            told(&weir, &["cache", "wipe", "--all", "--yes"]);
            let [mut asks, mut hints] = clients(&weir, "ca_held").await;
            hints.run("START TRANSACTION READ ONLY").await.unwrap();
            admin.run("LOCK TABLES t WRITE").await.unwrap();
            asks.send(command::QUERY, sql.as_bytes()).await.unwrap();
            until(&at, async || running(&mut watch, "ca_held").await.pop()).await;
            if args.is_empty() {
                hints.send(command::QUERY, format!("/*wipe*/ {sql}").as_bytes()).await.unwrap();
                let both = async || (running(&mut watch, "ca_held").await.len() == 2).then_some(());
                until(&at, both).await;
            } else {
                told(&weir, &[&["cache", "wipe"], args].concat());
            }
            admin.run("UNLOCK TABLES").await.unwrap();
            let answer = asks.receive(command::QUERY).await.unwrap();
            assert_eq!(answer.rows().next(), Some(&lenenc_text("before")[..]), "{at}");
            if args.is_empty() {
                hints.receive(command::QUERY).await.unwrap();
            }
            // Whatever is asked behind the answer is over.
            shown(&mut asks, "client_id").await;
            let after = format!("after {n}");
            change(server, &format!("UPDATE ca_held.t SET v='{after}'")).await;
            assert_eq!(row(&mut client, sql).await, after, "{at}: it was asked for before the wipe");
        }
    }
}
