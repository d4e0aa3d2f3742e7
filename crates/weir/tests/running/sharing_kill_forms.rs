//! P43: the forms of KILL whose target is no id of Weir's, where connections are shared: KILL USER, MariaDB's KILL QUERY ID, ids that are
//! expressions. The server carries them out, and no client is hit that was not meant.

use std::time::Duration;

use crate::kit::*;
use crate::sharing_kit::*;

/// A session of an account of its own.
async fn session(weir: &Weir, user: &str) -> Client {
    ConnectOptions::tcp(weir.addr(), user, "forms-pw").connect().await.unwrap()
}

async fn accounts(server: &Server, names: [&str; 2]) -> String {
    let mut admin = app(server.addr()).connect().await.unwrap();
    let mut users = String::new();
    for name in names {
        admin.run(&format!("DROP USER IF EXISTS {name}")).await.unwrap();
        admin.run(&format!("CREATE USER {name} IDENTIFIED BY 'forms-pw'")).await.unwrap();
        users += &format!("[[user]]\nname = \"{name}\"\npassword = \"forms-pw\"\n");
    }
    users
}

/// The statement that waits for a lock that the admin has.
fn waiting(lock: &str, mark: &str) -> String {
    format!("SELECT /* {mark} */ 'run' FROM (SELECT GET_LOCK('{lock}', 60) AS l) AS d WHERE l = 1")
}

/// What the list of processes says about it.
async fn until_blocked(admin: &mut Client, column: &str, mark: &str) -> String {
    let sql = format!(
        "SELECT {column} FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT /* {mark} */%' AND STATE = 'User lock'"
    );
    until("the statement waits", async || {
        let response = admin.run(&sql).await.unwrap();
        let row = response.rows().next()?;
        let value = weir_testkit::client::bytes::text_row(row).unwrap().swap_remove(0);
        Some(String::from_utf8(value.unwrap()).unwrap())
    })
    .await
}

/// The session has ended: with an error or without a word.
async fn ended(mut client: Client, what: &str) {
    if let Ok(response) = client.receive(command::QUERY).await {
        assert!(response.closed || response.err().is_some(), "{what}: {response:?}");
        assert!(response.closed || client.stream().read_packet().await.unwrap().is_none(), "{what}");
    }
}

#[tokio::test]
async fn p43_kill_user_ends_what_the_user_runs_and_nobody_elses() {
    for flavor in Flavor::BOTH {
        // KILL USER looks at every session of its server.
        let server = Server::start(flavor).unwrap();
        let users = accounts(&server, ["sh_meant", "sh_spared"]).await;
        let mut admin = app(server.addr()).connect().await.unwrap();
        let weir = sharing(&server, 4, "pinned_share = 100\n", &users);
        let mut killer = app(weir.addr()).connect().await.unwrap();
        // MySQL has no such statement: its error is passed on, and nobody is hit.
        let allowed = flavor == Flavor::MariaDb;
        for (i, kill) in ["KILL USER sh_meant", "KILL HARD USER sh_meant", "KILL QUERY USER sh_meant"]
            .into_iter()
            .enumerate()
        {
            let what = format!("{flavor:?}: {kill}");
            admin.run("SELECT GET_LOCK('sh_forms', 60)").await.unwrap();
            // The idle one was the last to use a connection that the spared one has now: each login uses the only one that is free.
            let mut idle = session(&weir, "sh_meant").await;
            idle.run("SET @mine = 5").await.unwrap();
            free(&mut idle, &what).await;
            let mut spared = session(&weir, "sh_spared").await;
            spared.send(command::QUERY, waiting("sh_forms", &format!("spared{i}")).as_bytes()).await.unwrap();
            until_blocked(&mut admin, "ID", &format!("spared{i}")).await;
            let mut victim = session(&weir, "sh_meant").await;
            shown(&mut victim, "client_id").await;
            victim.send(command::QUERY, waiting("sh_forms", &format!("meant{i}")).as_bytes()).await.unwrap();
            until_blocked(&mut admin, "ID", &format!("meant{i}")).await;
            let response = killer.query(kill).await.unwrap();
            if !allowed {
                let err = response.err().unwrap_or_else(|| panic!("{what}: {response:?}"));
                assert_eq!((err.code, err.state.as_str()), (1064, "42000"), "{what}: {err}");
            } else {
                assert_eq!(response.err(), None, "{what}");
            }
            if allowed && kill.contains("QUERY") {
                let answer = victim.receive(command::QUERY).await.unwrap();
                assert_eq!(answer.err().map(|err| err.code), Some(1317), "{what}: {answer:?}");
                turn(&mut victim).await;
            } else if allowed {
                ended(victim, &what).await;
            }
            admin.run("DO RELEASE_LOCK('sh_forms')").await.unwrap();
            let answer = spared.receive(command::QUERY).await.unwrap();
            assert_eq!(answer.rows().next(), Some(&b"\x03run"[..]), "{what}: {answer:?}");
            turn(&mut spared).await;
            spared.run("DO RELEASE_ALL_LOCKS()").await.unwrap();
            // It had nothing at the server that could have been ended.
            assert_eq!(row(&mut idle, "SELECT @mine").await, "5", "{what}");
            turn(&mut killer).await;
            spared.quit().await.unwrap();
        }
    }
}

#[tokio::test]
async fn p43_kill_query_id_ends_that_query_and_no_later_one() {
    let server = server(Flavor::MariaDb);
    let users = accounts(&server, ["sh_qid_one", "sh_qid_two"]).await;
    let mut admin = app(server.addr()).connect().await.unwrap();
    let weir = sharing(&server, 2, "pinned_share = 100\n", &users);
    let mut killer = app(weir.addr()).connect().await.unwrap();
    let mut victim = session(&weir, "sh_qid_one").await;
    let mut next = session(&weir, "sh_qid_two").await;
    victim.run("SET @mine = 5").await.unwrap();
    let mut late = None;
    for round in 0..4 {
        admin.run("SELECT GET_LOCK('sh_qid', 60)").await.unwrap();
        let mark = format!("shqid{round}");
        victim.send(command::QUERY, waiting("sh_qid", &mark).as_bytes()).await.unwrap();
        let query = until_blocked(&mut admin, "QUERY_ID", &mark).await;
        let kill = format!("KILL QUERY ID {query}");
        killer.run(&kill).await.unwrap();
        let answer = victim.receive(command::QUERY).await.unwrap();
        assert_eq!(answer.err().map(|err| err.code), Some(1317), "{round}: {answer:?}");
        assert_eq!(row(&mut victim, "SELECT @mine").await, "5", "{round}");
        // Its connection runs somebody else's now; the old number is nobody's, as on a direct connection.
        victim.run("DO RELEASE_ALL_LOCKS()").await.unwrap();
        let mark = format!("shqnx{round}");
        next.send(command::QUERY, waiting("sh_qid", &mark).as_bytes()).await.unwrap();
        until_blocked(&mut admin, "ID", &mark).await;
        for kill in [Some(kill.clone()), late.replace(kill)].into_iter().flatten() {
            let err = killer.query(&kill).await.unwrap().err().cloned().unwrap();
            let direct = admin.query(&kill).await.unwrap().err().cloned().unwrap();
            assert_eq!((err.code, &err.state, &err.message), (direct.code, &direct.state, &direct.message));
            assert_eq!(err.code, 1957, "{err}");
        }
        admin.run("DO RELEASE_LOCK('sh_qid')").await.unwrap();
        let answer = next.receive(command::QUERY).await.unwrap();
        assert_eq!(answer.rows().next(), Some(&b"\x03run"[..]), "{answer:?}");
        next.run("DO RELEASE_ALL_LOCKS()").await.unwrap();
        turn(&mut next).await;
    }
}

/// An id that is an expression is the server's to know: Weir's ids are nobody's there, also where one is killed that has no connection.
#[tokio::test]
async fn p43_a_kill_by_an_expression_never_hits_by_weirs_id() {
    for (flavor, server) in &both() {
        let mut admin = app(server.addr()).connect().await.unwrap();
        let lock = "sh_expr";
        let weir = sharing(server, 3, "pinned_share = 100\n", "");
        let mut killer = app(weir.addr()).connect().await.unwrap();
        let mut victim = app(weir.addr()).connect().await.unwrap();
        let id = victim.greeting().connection_id;
        admin.run(&format!("SELECT GET_LOCK('{lock}', 60)")).await.unwrap();
        victim.send(command::QUERY, waiting(lock, "shexpr").as_bytes()).await.unwrap();
        let server_id = until_blocked(&mut admin, "ID", "shexpr").await;
        for kill in ["KILL QUERY ", "KILL CONNECTION ", "KILL "] {
            for expression in [format!("({id})"), format!("{id} + 0")] {
                let err = killer.query(format!("{kill}{expression}")).await.unwrap().err().cloned();
                let err = err.unwrap_or_else(|| panic!("{flavor:?}: {kill}{expression}"));
                assert_eq!((err.code, err.state.as_str()), (1094, "HY000"), "{flavor:?}: {err}");
                assert!(err.message.contains(&id.to_string()), "{err}");
            }
        }
        // The server's own id is understood so, and hits the one that runs.
        let answer = {
            let mut answer = std::pin::pin!(victim.receive(command::QUERY));
            loop {
                killer.query(format!("KILL QUERY ({server_id})")).await.unwrap();
                if let Ok(answer) = tokio::time::timeout(Duration::from_secs(1), &mut answer).await {
                    break answer.unwrap();
                }
            }
        };
        assert_eq!(answer.err().map(|err| err.code), Some(1317), "{flavor:?}: {answer:?}");
        admin.run(&format!("DO RELEASE_LOCK('{lock}')")).await.unwrap();
        turn(&mut victim).await;
        turn(&mut killer).await;
    }
}
