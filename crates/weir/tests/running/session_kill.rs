//! `weir kill`: it hits the session or the statement that was meant, and never who has the connection now.

use std::time::Duration;

use serde_json::json;

use crate::api_kit::*;
use crate::cache_kit::table;
use crate::kit::*;
use crate::sharing_kit::*;

const MODES: [&str; 2] = ["sharing = \"session\"\n", "sharing = \"transaction\"\n"];

fn id(client: &Client) -> String {
    client.greeting().connection_id.to_string()
}

fn state(weir: &Weir, client: &Client) -> String {
    let session = told_json(weir, &["sessions", "show", &id(client)]);
    session["state"].as_str().unwrap().to_owned()
}

async fn until_state(weir: &Weir, client: &Client, wanted: &str) {
    until(wanted, async || (state(weir, client) == wanted).then_some(())).await;
}

/// So many sessions are left.
async fn until_sessions(weir: &Weir, count: u64, at: &str) {
    until(&format!("{at}: the others have ended"), async || {
        (told_json(weir, &["sessions"])["total"] == count).then_some(())
    })
    .await;
}

/// So many ends are counted as ends by an order: each is counted when the client and the registry have seen it already.
async fn until_killed(weir: &Weir, count: f64) {
    until("the end is counted", async || {
        (metric(weir, "weir_client_closed_total{reason=\"killed\"}").await == count).then_some(())
    })
    .await;
}

/// What the client of a session that was ended between two commands reads: an error, then the end.
async fn last_words(client: &mut Client) -> u16 {
    let packet = client.stream().read_packet().await.unwrap().expect("an error before the end");
    assert_eq!((packet.seq, packet.payload[0]), (0, 0xFF), "{packet:?}");
    assert!(client.stream().read_packet().await.unwrap().is_none());
    u16::from_le_bytes([packet.payload[1], packet.payload[2]])
}

/// The statement waits at the server for a lock that `holder` has.
async fn until_blocked(holder: &mut Client, mark: &str) {
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '%{mark}%' AND STATE = 'User lock'"
    );
    until("the statement waits", async || (row(holder, &sql).await == "1").then_some(())).await;
}

/// KILL QUERY until the answer comes: MySQL loses one in some hundred that arrive while a wait begins.
async fn killed_answer(weir: &Weir, client: &mut Client) -> Response {
    let id = id(client);
    let mut answer = std::pin::pin!(client.receive(command::QUERY));
    loop {
        told(weir, &["kill", &id, "--query"]);
        if let Ok(answer) = tokio::time::timeout(Duration::from_secs(1), &mut answer).await {
            break answer.unwrap();
        }
    }
}

#[tokio::test]
async fn p43_an_idle_session_ends_with_a_word_and_its_transaction_with_it() {
    for (flavor, server) in &both() {
        for mode in MODES {
            let at = format!("{flavor:?} {mode}");
            database(server, "ki_idle", &["CREATE TABLE t (i INT) ENGINE=InnoDB"]).await;
            let weir = sharing(server, 3, mode, "");
            let [mut idle, mut open, mut other] = clients(&weir, "ki_idle").await;
            let code = if *flavor == Flavor::MariaDb { 1927 } else { 3169 };
            idle.run("SELECT 1").await.unwrap();
            open.run("BEGIN").await.unwrap();
            open.run("INSERT INTO t VALUES (7)").await.unwrap();
            let told_of = told(&weir, &["kill", &id(&idle)]);
            assert!(told_of.contains("it was: idle"), "{at}: {told_of}");
            assert_eq!(last_words(&mut idle).await, code, "{at}");
            assert_eq!(told_json(&weir, &["kill", &id(&open)])["state"], "in_transaction", "{at}");
            assert_eq!(last_words(&mut open).await, code, "{at}");
            until("the transaction is rolled back", async || {
                (row(&mut other, "SELECT COUNT(*) FROM t FOR UPDATE").await == "0").then_some(())
            })
            .await;
            until_killed(&weir, 2.0).await;
            let gone = refused_with(&weir, &["kill", &id(&open)]);
            assert!(gone.contains("no session with the id"), "{at}: {gone}");
            weir.wait_for_line("event=\"session_killed\"", PATIENCE).unwrap();
            weir.wait_for_line(&format!("/sessions/{}/kill", id(&open)), PATIENCE).unwrap();
        }
    }
}

#[tokio::test]
async fn p43_a_statement_that_runs_is_ended_and_its_session_goes_on() {
    for (flavor, server) in &both() {
        for mode in MODES {
            let at = format!("{flavor:?} {mode}");
            database(server, "ki_run", &[]).await;
            let weir = sharing(server, 2, mode, "");
            let mut holder = app(server.addr()).connect().await.unwrap();
            holder.run("SELECT GET_LOCK('ki_run', 60)").await.unwrap();
            let [mut victim, mut other] = clients(&weir, "ki_run").await;
            victim.run("SET @mine = 5").await.unwrap();
            for mark in ["kir1", "kir2"] {
                let sql = format!(
                    "SELECT /* {mark} */ 1 FROM (SELECT GET_LOCK('ki_run', 60) AS l) AS d WHERE l = 1"
                );
                victim.send(command::QUERY, sql.as_bytes()).await.unwrap();
                until_blocked(&mut holder, mark).await;
                let response = killed_answer(&weir, &mut victim).await;
                assert_eq!(response.err().map(|err| err.code), Some(1317), "{at}: {response:?}");
                turn(&mut other).await;
                assert_eq!(row(&mut victim, "SELECT @mine").await, "5", "{at}");
            }
            // Between two commands there is nothing to end, and the next one is not hit.
            let nothing = told(&weir, &["kill", &id(&victim), "--query"]);
            assert!(nothing.contains("no statement to end"), "{at}: {nothing}");
            assert_eq!(row(&mut victim, "SELECT @mine").await, "5", "{at}");
        }
    }
}

#[tokio::test]
async fn p43_a_session_that_runs_a_statement_ends_here_and_at_the_server() {
    for (flavor, server) in &both() {
        for mode in MODES {
            let at = format!("{flavor:?} {mode}");
            database(server, "ki_both", &[]).await;
            let weir = sharing(server, 3, mode, "");
            let mut holder = app(server.addr()).connect().await.unwrap();
            holder.run("SELECT GET_LOCK('ki_both', 60)").await.unwrap();
            let [mut victim, mut other] = clients(&weir, "ki_both").await;
            victim.send(command::QUERY, b"SELECT /* kib */ GET_LOCK('ki_both', 60)").await.unwrap();
            until_blocked(&mut holder, "kib").await;
            let spare = client(&weir, "ki_both").await;
            // The answers to several are one value.
            let killed = told_json(&weir, &["kill", &id(&victim), &id(&spare)]);
            assert_eq!(killed[0]["state"], "running", "{at}");
            assert_eq!(killed[1]["state"], "idle", "{at}");
            let response = victim.receive(command::QUERY).await.unwrap();
            assert!(response.err().is_some_and(|err| matches!(err.code, 1317 | 1927)), "{at}: {response:?}");
            let sql =
                "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT /* kib */%'";
            until("it ends at the server", async || (row(&mut holder, sql).await == "0").then_some(())).await;
            until_sessions(&weir, 1, &at).await;
            until_killed(&weir, 2.0).await;
            turn(&mut other).await;
        }
    }
}

#[tokio::test]
async fn p43_who_waits_is_hit_and_whom_it_waits_for_is_not() {
    for (flavor, server) in &both() {
        database(server, "ki_wait", &[]).await;
        let rule = "[[rule]]\nname = \"one\"\nmatch = { pattern = \"limited\" }\nlimit = { concurrency = 1, queue = \"60s\" }\n";
        let weir = sharing(server, 1, MODES[1], rule);
        let [mut holder, mut waits] = clients(&weir, "ki_wait").await;
        holder.run("BEGIN").await.unwrap();
        waits.send(command::QUERY, b"SELECT 'waits'").await.unwrap();
        until_state(&weir, &waits, "waiting_for_connection").await;
        let response = killed_answer(&weir, &mut waits).await;
        assert_eq!(response.err().map(|err| err.code), Some(1317), "{flavor:?}: {response:?}");
        waits.send(command::QUERY, b"SELECT 'waits'").await.unwrap();
        until_state(&weir, &waits, "waiting_for_connection").await;
        told(&weir, &["kill", &id(&waits)]);
        let response = waits.receive(command::QUERY).await.unwrap();
        let code = if *flavor == Flavor::MariaDb { 1927 } else { 1317 };
        let told_of = response.err().unwrap_or_else(|| panic!("{flavor:?}: {response:?}"));
        assert_eq!(told_of.code, code, "{flavor:?}");
        assert_eq!(row(&mut holder, "SELECT 'holds'").await, "holds", "{flavor:?}");
        holder.run("COMMIT").await.unwrap();

        let mut direct = app(server.addr()).connect().await.unwrap();
        direct.run("SELECT GET_LOCK('ki_wait', 60)").await.unwrap();
        let mut waits = client(&weir, "ki_wait").await;
        holder.send(command::QUERY, b"SELECT GET_LOCK('ki_wait', 60), 'limited'").await.unwrap();
        until_state(&weir, &holder, "running").await;
        waits.send(command::QUERY, b"SELECT 'limited'").await.unwrap();
        until_state(&weir, &waits, "waiting_for_rule").await;
        let response = killed_answer(&weir, &mut waits).await;
        assert_eq!(response.err().map(|err| err.code), Some(1317), "{flavor:?}: {response:?}");
        direct.run("SELECT RELEASE_LOCK('ki_wait')").await.unwrap();
        assert!(holder.receive(command::QUERY).await.unwrap().err().is_none(), "{flavor:?}");
        holder.run("SELECT RELEASE_ALL_LOCKS()").await.unwrap();
        turn(&mut waits).await;
    }
}

/// Also by KILL from another session of the same user.
#[tokio::test]
async fn p43_who_waits_for_another_sessions_answer_is_hit_and_the_other_is_not() {
    for (flavor, server) in &both() {
        table(server, "ki_flight").await;
        let rule =
            "[[rule]]\nname = \"all\"\nmatch = { table = \"ki_flight.t\" }\ncache = { ttl = \"60s\" }\n";
        let weir = sharing(server, 3, MODES[1], rule);
        let [mut asks, mut waits, mut killer] = clients(&weir, "ki_flight").await;
        turn(&mut asks).await;
        asks.run("SELECT v FROM t WHERE id = 1").await.unwrap();
        let mut direct = app(server.addr()).database("ki_flight").connect().await.unwrap();
        direct.run("LOCK TABLES t WRITE").await.unwrap();
        for by in ["kill --query", "KILL QUERY", "KILL", "kill"] {
            let sql = format!("SELECT v, '{by}' FROM t WHERE id = 2");
            asks.send(command::QUERY, sql.as_bytes()).await.unwrap();
            until_state(&weir, &asks, "running").await;
            // It means what runs or waits now, and not what comes next.
            killer.run(&format!("KILL QUERY {}", id(&waits))).await.unwrap();
            waits.send(command::QUERY, sql.as_bytes()).await.unwrap();
            until_state(&weir, &waits, "waiting_for_answer").await;
            match by {
                "kill --query" => drop(told(&weir, &["kill", &id(&waits), "--query"])),
                "kill" => drop(told(&weir, &["kill", &id(&waits)])),
                by => drop(killer.run(&format!("{by} {}", id(&waits))).await.unwrap()),
            };
            let response = waits.receive(command::QUERY).await.unwrap();
            let told_of = response.err().unwrap_or_else(|| panic!("{flavor:?} {by}: {response:?}"));
            assert!(matches!(told_of.code, 1317 | 1927), "{flavor:?} {by}: {response:?}");
            if by.ends_with("--query") || by.ends_with("QUERY") {
                turn(&mut waits).await;
            } else {
                waits = client(&weir, "ki_flight").await;
            }
            direct.run("UNLOCK TABLES").await.unwrap();
            let answer = asks.receive(command::QUERY).await.unwrap();
            assert!(answer.err().is_none(), "{flavor:?} {by}: {answer:?}");
            direct.run("LOCK TABLES t WRITE").await.unwrap();
        }
        direct.run("UNLOCK TABLES").await.unwrap();
    }
}

/// Statements of short duration on few connections, and orders against some of their sessions: the others never notice.
#[tokio::test]
async fn p43_orders_at_random_hit_their_targets_only() {
    for (flavor, server) in &both() {
        table(server, "ki_storm").await;
        let rule = "[[rule]]\nname = \"all\"\nmatch = { pattern = \"cached\" }\ncache = { ttl = \"60s\" }\n";
        for mode in MODES {
            let weir = sharing(server, 8, mode, rule);
            let mut victims: [Client; 3] = clients(&weir, "ki_storm").await;
            let mut others: [Client; 3] = clients(&weir, "ki_storm").await;
            let ids: Vec<_> = victims.iter().map(id).collect();
            let orders = async {
                for n in 0..150 {
                    let line = format!("POST /api/v1/sessions/{}/kill", ids[n % 3]);
                    let headers = "Host: localhost\r\nContent-Type: application/json\r\n";
                    let (status, answer) = request(&weir, &line, headers, r#"{"what": "query"}"#).await;
                    assert_eq!((status, &answer["what"]), (200, &json!("query")), "{answer}");
                }
            };
            let work = |client: &'static str, n: usize| match n % 3 {
                0 => format!("SELECT v, '{client}' FROM t WHERE id = 2"),
                1 => "SELECT 'cached', v FROM t WHERE id = 1".to_owned(),
                _ => "SELECT v FROM t WHERE id = 2 AND SLEEP(0.001) = 0".to_owned(),
            };
            let hit = async {
                let mut n = 0;
                loop {
                    for victim in &mut victims {
                        let response = victim.query(work("victim", n)).await.unwrap();
                        let fine = response.err().is_none_or(|err| err.code == 1317);
                        assert!(fine, "{flavor:?} {mode}: {response:?}");
                        n += 1;
                    }
                }
            };
            let spared = async {
                let mut n = 0;
                loop {
                    for other in &mut others {
                        let response = other.query(work("other", n)).await.unwrap();
                        assert!(response.err().is_none(), "{flavor:?} {mode}: {response:?}");
                        assert_eq!(response.rows().count(), 1, "{flavor:?} {mode}: {response:?}");
                        n += 1;
                    }
                }
            };
            tokio::select! {
                () = orders => {}
                () = hit => {}
                () = spared => {}
            }
        }
    }
}

const SHORT_PATIENCE: &str = "[limits]\nserver_connect_timeout = \"1s\"\nauth_failure_delay = \"20ms\"\n";

#[tokio::test]
async fn p43_a_session_ends_although_its_client_does_not_read() {
    for (flavor, server) in &both() {
        let weir = weir_with(server, SHORT_PATIENCE);
        let mut victim = app(weir.addr()).connect().await.unwrap();
        let sql = "SELECT a.TABLE_NAME, REPEAT('x', 1000) FROM information_schema.COLUMNS a, information_schema.COLUMNS b";
        victim.send(command::QUERY, sql.as_bytes()).await.unwrap();
        victim.stream().read_raw(20_000).await.unwrap();
        told(&weir, &["kill", &id(&victim)]);
        until_sessions(&weir, 0, &format!("{flavor:?}")).await;
    }
}

/// What it has left to finish is ended like everything else.
#[tokio::test]
async fn p43_the_session_of_a_client_that_has_left_is_ended_with_its_statement() {
    for (flavor, server) in &both() {
        database(server, "ki_left", &["CREATE TABLE t (i INT) ENGINE=InnoDB"]).await;
        let mut holder = app(server.addr()).connect().await.unwrap();
        holder.run("SELECT GET_LOCK('ki_left', 60)").await.unwrap();
        for mode in MODES {
            for (mark, query) in [("kil1", false), ("kil2", true)] {
                let at = format!("{flavor:?} {mode} {mark}");
                let weir = sharing(server, 2, mode, "[log]\nlevel = \"debug\"\n");
                let mut victim = client(&weir, "ki_left").await;
                let id = id(&victim);
                let sql = format!("INSERT INTO t SELECT /* {mark} */ GET_LOCK('ki_left', 60)");
                victim.send(command::QUERY, sql.as_bytes()).await.unwrap();
                until_blocked(&mut holder, mark).await;
                drop(victim);
                weir.wait_for_line("event=\"client_vanished\"", PATIENCE).unwrap();
                told(&weir, &[&["kill", &id][..], if query { &["--query"] } else { &[] }].concat());
                let sql = format!(
                    "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'INSERT%{mark}%'"
                );
                until(&at, async || (row(&mut holder, &sql).await == "0").then_some(())).await;
                // The server has ended it before Weir has read that.
                until_sessions(&weir, 0, &at).await;
            }
        }
    }
}

/// A statement may end by itself while the KILL is on its way: nobody else gets the connection that is to end.
#[tokio::test]
async fn p43_who_waits_for_the_connection_of_a_session_that_is_ended_never_notices() {
    for (flavor, server) in &both() {
        database(server, "ki_next", &[]).await;
        let weir = sharing(server, 1, MODES[1], "");
        let mut other = client(&weir, "ki_next").await;
        let ends = async {
            for _ in 0..40 {
                let mut victim = client(&weir, "ki_next").await;
                // Its session is known when it has answered something.
                row(&mut victim, "SELECT 1").await;
                let line = format!("POST /api/v1/sessions/{}/kill", id(&victim));
                let works = async {
                    while victim.query("SELECT SLEEP(0.002)").await.is_ok_and(|answer| answer.err().is_none())
                    {
                    }
                };
                let headers = "Host: localhost\r\nContent-Type: application/json\r\n";
                let order = async {
                    let (status, answer) = request(&weir, &line, headers, r#"{"what": "connection"}"#).await;
                    assert_eq!(status, 200, "{flavor:?}: {answer}");
                };
                tokio::join!(works, order);
            }
        };
        let spared = async {
            for n in 0.. {
                let response = other.query(format!("SELECT {n}")).await.unwrap();
                assert!(response.err().is_none(), "{flavor:?}: {response:?}");
            }
        };
        tokio::select! {
            () = ends => {}
            () = spared => {}
        }
    }
}
