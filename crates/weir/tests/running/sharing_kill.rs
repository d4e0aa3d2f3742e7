//! P43 where connections are shared: KILL hits the client that was meant, and never who has its connection now.

use std::time::Duration;

use crate::kit::*;
use crate::sharing_kit::*;

async fn until_sleeping(admin: &mut Client, mark: &str) {
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT /* {mark} */%' AND STATE = 'User sleep'"
    );
    until("the statement runs", async || (row(admin, &sql).await == "1").then_some(())).await;
}

#[tokio::test]
async fn p43_kill_query_hits_the_client_that_runs_and_leaves_it_its_session() {
    for (flavor, server) in &both() {
        let mut admin = app(server.addr()).connect().await.unwrap();
        database(server, "sh_kill", &[]).await;
        let weir = sharing(server, 3, "", "");
        let [mut victim, mut killer, mut bystander] = clients(&weir, "sh_kill").await;
        victim.run("SET @mine = 5").await.unwrap();
        let id = victim.greeting().connection_id;
        for mark in ["shk1", "shk2"] {
            victim.send(command::QUERY, format!("SELECT /* {mark} */ SLEEP(60)").as_bytes()).await.unwrap();
            let long = format!("SELECT /* by{mark} */ SLEEP(0.3)");
            bystander.send(command::QUERY, long.as_bytes()).await.unwrap();
            until_sleeping(&mut admin, mark).await;
            let response = {
                let mut answer = std::pin::pin!(victim.receive(command::QUERY));
                loop {
                    // MySQL loses one in some hundred that arrive while SLEEP starts.
                    killer.query(format!("KILL QUERY {id}")).await.unwrap();
                    if let Ok(answer) = tokio::time::timeout(Duration::from_secs(1), &mut answer).await {
                        break answer.unwrap();
                    }
                }
            };
            let interrupted = response.err().map(|err| err.code) == Some(1317)
                || response.rows().next() == Some(&b"\x011"[..]);
            assert!(interrupted, "{flavor:?}: {response:?}");
            let other = bystander.receive(command::QUERY).await.unwrap();
            assert_eq!(other.rows().next(), Some(&b"\x010"[..]), "{flavor:?}: {other:?}");
            assert_eq!(row(&mut victim, "SELECT @mine, DATABASE()").await, "5|sh_kill", "{flavor:?}");
        }
    }
}

#[tokio::test]
async fn p43_kill_connection_ends_the_client_that_runs() {
    for (flavor, server) in &both() {
        let mut admin = app(server.addr()).connect().await.unwrap();
        database(server, "sh_killc", &[]).await;
        let weir = sharing(server, 3, "", "");
        let [mut victim, mut killer, mut bystander] = clients(&weir, "sh_killc").await;
        victim.send(command::QUERY, b"SELECT /* shkc */ SLEEP(60)").await.unwrap();
        until_sleeping(&mut admin, "shkc").await;
        let id = victim.greeting().connection_id;
        killer.run(&format!("KILL {id}")).await.unwrap();
        if let Ok(response) = victim.receive(command::QUERY).await {
            assert!(response.err().is_some() || response.closed, "{flavor:?}: {response:?}");
        }
        until("the client is gone", async || {
            (metric(&weir, "weir_clients_connected").await == 2.0).then_some(())
        })
        .await;
        turn(&mut bystander).await;
        // The id is nobody's now.
        let again = killer.query(format!("KILL {id}")).await.unwrap();
        assert_eq!(again.err().map(|err| err.code), Some(1094), "{flavor:?}: {again:?}");
    }
}

#[tokio::test]
async fn p43_a_kill_of_an_idle_client_never_hits_who_has_its_connection_now() {
    for (flavor, server) in &both() {
        let mut admin = app(server.addr()).connect().await.unwrap();
        database(server, "sh_killi", &["CREATE TABLE t (i INT)"]).await;
        let weir = sharing(server, 2, "", "");
        let [mut busy, mut killer] = clients(&weir, "sh_killi").await;
        // MySQL has no COM_PROCESS_KILL any more.
        let kills = ["KILL QUERY", "KILL", "KILL CONNECTION", "COM_PROCESS_KILL"];
        let kinds = if *flavor == Flavor::MariaDb { &kills[..] } else { &kills[..3] };
        for (i, kill) in kinds.iter().copied().enumerate() {
            // The connection that the idle client was the last to use is that of the busy one now: no other is open.
            let mut idle = client(&weir, "sh_killi").await;
            turn(&mut idle).await;
            free(&mut idle, "idle").await;
            admin.run("LOCK TABLES sh_killi.t WRITE").await.unwrap();
            busy.send(command::QUERY, format!("SELECT /* shki{i} */ COUNT(*) FROM t").as_bytes())
                .await
                .unwrap();
            let sql = format!(
                "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT /* shki{i} */%' AND STATE LIKE 'Waiting for %'"
            );
            until("the statement waits", async || (row(&mut admin, &sql).await == "1").then_some(())).await;
            let id = idle.greeting().connection_id;
            let response = match kill {
                "COM_PROCESS_KILL" => killer.command(command::PROCESS_KILL, &id.to_le_bytes()).await,
                _ => killer.query(format!("{kill} {id}")).await,
            };
            assert_eq!(response.unwrap().err(), None, "{flavor:?}: {kill}");
            admin.run("UNLOCK TABLES").await.unwrap();
            let other = busy.receive(command::QUERY).await.unwrap();
            assert_eq!(other.rows().next(), Some(&b"\x010"[..]), "{flavor:?}: {kill}: {other:?}");
            turn(&mut busy).await;
            turn(&mut killer).await;
            if kill == "KILL QUERY" {
                turn(&mut idle).await;
            } else if let Some(packet) = idle.stream().read_packet().await.unwrap() {
                assert_eq!(packet.payload[0], 0xff, "{flavor:?}: {packet:?}");
            }
        }
    }
}

#[tokio::test]
async fn p43_one_kills_oneself() {
    for (flavor, server) in &both() {
        database(server, "sh_kills", &[]).await;
        let weir = sharing(server, 1, "", "");
        let [mut one, mut two] = clients(&weir, "sh_kills").await;
        let id = one.greeting().connection_id;
        let response = one.query(format!("KILL {id}")).await.unwrap();
        assert!(response.err().is_none_or(|err| matches!(err.code, 1317 | 1927)), "{flavor:?}: {response:?}");
        if !response.closed {
            assert!(one.stream().read_packet().await.unwrap().is_none(), "{flavor:?}: the session goes on");
        }
        turn(&mut two).await;
    }
}

#[tokio::test]
async fn p43_kills_at_random_hit_their_targets_only() {
    for (flavor, server) in &both() {
        database(server, "sh_storm", &[]).await;
        let weir = sharing(server, 6, "", "");
        let mut victims: [Client; 4] = clients(&weir, "sh_storm").await;
        let mut workers: [Client; 4] = clients(&weir, "sh_storm").await;
        let mut killer = client(&weir, "sh_storm").await;
        let ids: Vec<_> = victims.iter().map(|victim| victim.greeting().connection_id).collect();
        let storm = async {
            for i in 0..100 {
                let response = killer.query(format!("KILL QUERY {}", ids[i % 4])).await.unwrap();
                assert!(response.err().is_none_or(|err| matches!(err.code, 1094 | 1317)), "{response:?}");
            }
        };
        let hit = async {
            // They come and go all the time, and their connections are those of the others.
            for i in 0..200 {
                let victim = &mut victims[i % 4];
                let response = victim.query("SELECT 'v', SLEEP(0.001)").await.unwrap();
                let fine = response.err().is_none_or(|err| err.code == 1317);
                assert!(fine, "{flavor:?}: {response:?}");
            }
        };
        let spared = async {
            for i in 0..300 {
                let response = workers[i % 4].query(format!("SELECT {i}, SLEEP(0.001)")).await.unwrap();
                let expected =
                    [crate::kit::lenenc_text(&i.to_string()), crate::kit::lenenc_text("0")].concat();
                assert_eq!(response.rows().next(), Some(&expected[..]), "{flavor:?}: {response:?}");
            }
        };
        tokio::join!(storm, hit, spared);
    }
}

/// A KILL is most urgent where what it is to end holds the last connection.
#[tokio::test]
async fn p43_a_kill_does_not_wait_for_the_connection_that_it_is_to_free() {
    for (flavor, server) in &both() {
        let mut admin = app(server.addr()).connect().await.unwrap();
        database(server, "sh_killq", &[]).await;
        let weir = sharing(server, 1, "queue_timeout = \"50s\"\n", "");
        let [mut victim, mut killer] = clients(&weir, "sh_killq").await;
        let id = victim.greeting().connection_id;
        let kills = ["KILL QUERY", "/* now */ kill query", "KILL", "COM_PROCESS_KILL"];
        let kinds = if *flavor == Flavor::MariaDb { &kills[..] } else { &kills[..3] };
        for (i, kill) in kinds.iter().copied().enumerate() {
            let mut other = client(&weir, "sh_killq").await;
            let ends = i >= 2;
            let id = if ends { other.greeting().connection_id } else { id };
            let target = if ends { &mut other } else { &mut victim };
            let mark = format!("shkq{i}");
            target.send(command::QUERY, format!("SELECT /* {mark} */ SLEEP(60)").as_bytes()).await.unwrap();
            until_sleeping(&mut admin, &mark).await;
            let answered = async {
                let mut answer = std::pin::pin!(target.receive(command::QUERY));
                loop {
                    let response = match kill {
                        "COM_PROCESS_KILL" => killer.command(command::PROCESS_KILL, &id.to_le_bytes()).await,
                        _ => killer.query(format!("{kill} {id}")).await,
                    };
                    let err = response.unwrap().err().map(|err| err.code);
                    // 1094: of two that were sent the first was enough.
                    assert!(matches!(err, None | Some(1094)), "{flavor:?} {kill}: {err:?}");
                    if let Ok(answer) = tokio::time::timeout(Duration::from_secs(1), &mut answer).await {
                        break answer;
                    }
                }
            };
            let response = tokio::time::timeout(Duration::from_secs(40), answered).await;
            let response = response.unwrap_or_else(|_| panic!("{flavor:?}: {kill} has not ended it"));
            if !ends {
                let response = response.unwrap();
                let interrupted = response.err().map(|err| err.code) == Some(1317)
                    || response.rows().next() == Some(&b"\x011"[..]);
                assert!(interrupted, "{flavor:?}: {response:?}");
                turn(&mut victim).await;
            }
            turn(&mut killer).await;
        }
    }
}

/// One command waits for a connection.
async fn waits(weir: &Weir) {
    until("it waits", async || (metric(weir, "weir_pool_waiting").await == 1.0).then_some(())).await;
}

#[tokio::test]
async fn p43_kill_query_ends_the_command_that_waits_for_a_connection() {
    for (flavor, server) in &both() {
        database(server, "sh_killw", &["CREATE TABLE t (v VARCHAR(10))"]).await;
        let weir = sharing(server, 1, "queue_timeout = \"50s\"\n", "");
        let [mut holder, mut victim, mut killer] = clients(&weir, "sh_killw").await;
        let statement = victim.prepare("INSERT INTO t VALUES ('prepared')").await.unwrap().id;
        let body = |id| command::Execute { id, flags: 0, params: &[], types: true, attributes: false }.body();
        let commands = [
            (command::QUERY, b"INSERT INTO t VALUES ('text')".to_vec()),
            (command::STMT_EXECUTE, body(statement)),
            (command::STMT_PREPARE, b"SELECT 'it waits'".to_vec()),
            (command::QUERY, b"SELECT 'it waits'".to_vec()),
        ];
        let id = victim.greeting().connection_id;
        // It means what runs or waits now, and nobody does.
        killer.run(&format!("KILL QUERY {id}")).await.unwrap();
        turn(&mut victim).await;
        holder.run("BEGIN").await.unwrap();
        holder.run("INSERT INTO t VALUES ('holder')").await.unwrap();
        for (code, body) in &commands {
            // Not of the next one either.
            killer.run(&format!("KILL QUERY {id}")).await.unwrap();
            victim.send(*code, body).await.unwrap();
            waits(&weir).await;
            killer.run(&format!("KILL QUERY {id}")).await.unwrap();
            let response = victim.receive(*code).await.unwrap();
            let err = response.err().unwrap_or_else(|| panic!("{flavor:?} {code:#x}: {response:?}"));
            let text = "Query execution was interrupted";
            assert_eq!((err.code, err.state.as_str(), err.message.as_str()), (1317, "70100", text), "{err}");
            numbered(&response, 1);
        }
        assert_eq!(metric(&weir, "weir_pool_waiting").await, 0.0, "{flavor:?}");
        holder.run("COMMIT").await.unwrap();
        assert_eq!(row(&mut victim, "SELECT GROUP_CONCAT(v) FROM t").await, "holder", "{flavor:?}");
        assert_eq!(execute(&mut victim, statement, &[], true).await.err(), None);
        assert_eq!(opened(&weir).await, 1.0);
    }
}

#[tokio::test]
async fn p43_kill_ends_the_session_whose_command_waits_for_a_connection() {
    for (flavor, server) in &both() {
        database(server, "sh_killv", &["CREATE TABLE t (v VARCHAR(10))"]).await;
        let weir = sharing(server, 1, "queue_timeout = \"50s\"\n", "");
        let [mut holder, mut killer] = clients(&weir, "sh_killv").await;
        holder.run("BEGIN").await.unwrap();
        holder.run("INSERT INTO t VALUES ('holder')").await.unwrap();
        // MySQL has no COM_PROCESS_KILL any more.
        let kills = ["KILL", "KILL CONNECTION", "COM_PROCESS_KILL"];
        let kinds = if *flavor == Flavor::MariaDb { &kills[..] } else { &kills[..2] };
        for kill in kinds {
            holder.run("COMMIT").await.unwrap();
            let mut victim = client(&weir, "sh_killv").await;
            holder.run("BEGIN").await.unwrap();
            holder.run("INSERT INTO t VALUES ('holder')").await.unwrap();
            victim.send(command::QUERY, b"INSERT INTO t VALUES ('victim')").await.unwrap();
            waits(&weir).await;
            let id = victim.greeting().connection_id;
            let response = match *kill {
                "COM_PROCESS_KILL" => killer.command(command::PROCESS_KILL, &id.to_le_bytes()).await,
                _ => killer.query(format!("{kill} {id}")).await,
            };
            assert_eq!(response.unwrap().err(), None, "{flavor:?}: {kill}");
            let response = victim.receive(command::QUERY).await.unwrap();
            let expected = if *flavor == Flavor::MariaDb { 1927 } else { 1317 };
            let err = response.err().map(|err| (err.code, err.state.as_str()));
            assert_eq!(err, Some((expected, "70100")), "{flavor:?} {kill}: {response:?}");
            numbered(&response, 1);
            assert!(victim.stream().read_packet().await.unwrap().is_none(), "{flavor:?} {kill}: it goes on");
        }
        holder.run("COMMIT").await.unwrap();
        let ran = row(&mut killer, "SELECT COUNT(*) FROM t WHERE v = 'victim'").await;
        assert_eq!(ran, "0", "{flavor:?}");
    }
}

/// Where connections that are not shared are as many as there may be, the wait is for one of those to end.
#[tokio::test]
async fn p43_kill_query_ends_the_command_that_waits_for_others_to_leave() {
    for (flavor, server) in &both() {
        database(server, "sh_killo", &[]).await;
        let mut admin = app(server.addr()).connect().await.unwrap();
        admin.run("DROP USER IF EXISTS sh_killo").await.unwrap();
        admin.run("CREATE USER sh_killo IDENTIFIED BY 'own-pw'").await.unwrap();
        let own = "[[user]]\nname = \"sh_killo\"\npassword = \"own-pw\"\nsharing = \"session\"\n";
        let weir = sharing(server, 2, "queue_timeout = \"50s\"\n", own);
        let [mut other, mut victim, mut killer] = clients(&weir, "sh_killo").await;
        other.run("BEGIN").await.unwrap();
        let mut holder = ConnectOptions::tcp(weir.addr(), "sh_killo", "own-pw").connect().await.unwrap();
        victim.send(command::QUERY, b"SELECT 'it waits'").await.unwrap();
        // It does not wait in the queue: the pool has let it open a connection.
        taken(&mut killer).await;
        assert_eq!(metric(&weir, "weir_pool_waiting").await, 0.0, "{flavor:?}");
        let id = victim.greeting().connection_id;
        killer.run(&format!("KILL QUERY {id}")).await.unwrap();
        let response = victim.receive(command::QUERY).await.unwrap();
        assert_eq!(response.err().map(|err| err.code), Some(1317), "{flavor:?}: {response:?}");
        turn(&mut holder).await;
        holder.quit().await.unwrap();
        turn(&mut victim).await;
        other.run("COMMIT").await.unwrap();
    }
}

/// What Weir asks between two statements is nobody's, and a KILL QUERY that comes late ends nothing.
#[tokio::test]
async fn p43_a_kill_query_behind_its_statement_leaves_the_session() {
    for (flavor, server) in &both() {
        database(server, "sh_behind", &["CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY)"]).await;
        let weir = sharing(server, 1, "", "");
        let [mut one] = clients(&weir, "sh_behind").await;
        let mut killer = app(server.addr()).connect().await.unwrap();
        let id = row(
            &mut killer,
            "SELECT GROUP_CONCAT(ID) FROM information_schema.PROCESSLIST WHERE DB = 'sh_behind'",
        )
        .await;
        let kill = format!("KILL QUERY {id}");
        for i in 0..1000 {
            one.send(command::QUERY, b"INSERT INTO t VALUES ()").await.unwrap();
            let response = if i % 2 == 0 {
                killer.send(command::QUERY, kill.as_bytes()).await.unwrap();
                one.receive(command::QUERY).await.unwrap()
            } else {
                let response = one.receive(command::QUERY).await.unwrap();
                killer.send(command::QUERY, kill.as_bytes()).await.unwrap();
                response
            };
            killer.receive(command::QUERY).await.unwrap();
            let fine = response.err().is_none_or(|err| err.code == 1317);
            assert!(fine && !response.closed, "{flavor:?} {i}: {response:?}");
            let own = one.query("SELECT LAST_INSERT_ID()").await.unwrap();
            assert!(own.err().is_none() && !own.closed, "{flavor:?} {i}: {own:?}");
        }
    }
}
