//! KILL and `weir kill` of what waits in Weir: they mean what waits when they come, and nothing that comes later.

use crate::api_kit::*;
use crate::cache_kit::{MODES, table};
use crate::kit::*;
use crate::sharing_kit::*;

fn id(client: &Client) -> String {
    client.greeting().connection_id.to_string()
}

async fn until_state(weir: &Weir, client: &Client, wanted: &str) {
    until(wanted, async || {
        let session = told_json(weir, &["sessions", "show", &id(client)]);
        (session["state"] == wanted).then_some(())
    })
    .await;
}

/// A session with a connection of its own waits in Weir too: there is nothing to end at the server.
#[tokio::test]
async fn p43_kill_query_ends_the_wait_for_another_sessions_answer_and_nothing_behind_it() {
    for (flavor, server) in &both() {
        table(server, "kw_flight").await;
        let rule =
            "[[rule]]\nname = \"all\"\nmatch = { table = \"kw_flight.t\" }\ncache = { ttl = \"60s\" }\n";
        let mut direct = app(server.addr()).database("kw_flight").connect().await.unwrap();
        for mode in MODES {
            let weir = sharing(server, 4, mode, rule);
            let [mut asks, mut waits, mut killer] = clients(&weir, "kw_flight").await;
            turn(&mut asks).await;
            asks.run("SELECT v FROM t WHERE id = 1").await.unwrap();
            direct.run("LOCK TABLES t WRITE").await.unwrap();
            for n in 0..3 {
                let sql = format!("SELECT v, {n} FROM t WHERE id = 2");
                asks.send(command::QUERY, sql.as_bytes()).await.unwrap();
                until_state(&weir, &asks, "running").await;
                waits.send(command::QUERY, sql.as_bytes()).await.unwrap();
                until_state(&weir, &waits, "waiting_for_answer").await;
                killer.run(&format!("KILL QUERY {}", id(&waits))).await.unwrap();
                let response = waits.receive(command::QUERY).await.unwrap();
                let code = response.err().map(|err| err.code);
                assert_eq!(code, Some(1317), "{flavor:?} {mode}: {response:?}");
                // The next one waits as well, and is not meant.
                waits.send(command::QUERY, sql.as_bytes()).await.unwrap();
                until_state(&weir, &waits, "waiting_for_answer").await;
                direct.run("UNLOCK TABLES").await.unwrap();
                for client in [&mut asks, &mut waits] {
                    let answer = client.receive(command::QUERY).await.unwrap();
                    assert_eq!(answer.err(), None, "{flavor:?} {mode}");
                }
                direct.run("LOCK TABLES t WRITE").await.unwrap();
            }
            direct.run("UNLOCK TABLES").await.unwrap();
        }
    }
}

/// What runs behind an answer from the cache waits, and its client has the answer: it is told as one that does nothing.
#[tokio::test]
async fn p43_a_session_that_has_its_answer_is_not_told_that_its_statement_did_not_run() {
    for (flavor, server) in &both() {
        table(server, "kw_behind").await;
        let rule = "[[rule]]\nname = \"all\"\nmatch = { kind = \"read\" }\ncache = { ttl = \"1h\", verify = \"100%\" }\n";
        let weir = sharing(server, 1, MODES[0], rule);
        let [mut holder, mut victim] = clients(&weir, "kw_behind").await;
        victim.run("SELECT v FROM t WHERE id = 1").await.unwrap();
        holder.run("BEGIN").await.unwrap();
        victim.run("SELECT v FROM t WHERE id = 1").await.unwrap();
        until("the comparison waits", async || {
            (metric(&weir, "weir_pool_waiting").await == 1.0).then_some(())
        })
        .await;
        let nothing = told(&weir, &["kill", &id(&victim), "--query"]);
        assert!(nothing.contains("no statement to end"), "{flavor:?}: {nothing}");
        assert_eq!(told_json(&weir, &["kill", &id(&victim)])["state"], "idle", "{flavor:?}");
        let packet = victim.stream().read_packet().await.unwrap().expect("an error before the end");
        let err = ErrPacket::parse(&packet.payload).unwrap();
        let code = if *flavor == Flavor::MariaDb { 1927 } else { 3169 };
        assert_eq!((packet.seq, err.code), (0, code), "{flavor:?}: {err}");
        assert!(!err.message.contains("did not run"), "{flavor:?}: {err}");
        assert!(victim.stream().read_packet().await.unwrap().is_none(), "{flavor:?}");
        holder.run("COMMIT").await.unwrap();
        turn(&mut holder).await;
    }
}

/// An execution that is too long to be held waits as every other.
#[tokio::test]
async fn p43_a_long_packet_that_waits_is_seen_and_ended() {
    for (flavor, server) in &both() {
        database(server, "kw_long", &["CREATE TABLE t (v LONGTEXT)"]).await;
        let weir = sharing(server, 1, MODES[0], "");
        let [mut holder, mut victim] = clients(&weir, "kw_long").await;
        let statement = victim.prepare("INSERT INTO t VALUES (?)").await.unwrap().id;
        holder.run("BEGIN").await.unwrap();
        let params = [command::Param::Text("x".repeat(100_000))];
        let body =
            command::Execute { id: statement, flags: 0, params: &params, types: true, attributes: false };
        victim.send(command::STMT_EXECUTE, &body.body()).await.unwrap();
        until_state(&weir, &victim, "waiting_for_connection").await;
        let killed = told_json(&weir, &["kill", &id(&victim)]);
        assert_eq!(killed["state"], "waiting_for_connection", "{flavor:?}");
        until("the session has ended", async || {
            (told_json(&weir, &["sessions"])["total"] == 1).then_some(())
        })
        .await;
        holder.run("COMMIT").await.unwrap();
        assert_eq!(row(&mut holder, "SELECT COUNT(*) FROM t").await, "0", "{flavor:?}");
    }
}
