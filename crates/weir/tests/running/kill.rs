//! P43: KILL by Weir's ids and by the server's, of one's own account and of others.

use std::time::Duration;

use weir_testkit::process::Signal;

use crate::kit::*;

/// A session, its id as Weir greeted it, and the id of its server connection.
async fn victim(options: &ConnectOptions) -> (Client, u32, u32) {
    let mut client = options.connect().await.unwrap();
    let weir_id = client.greeting().connection_id;
    let server_id = client.scalar("SELECT CONNECTION_ID()").await.unwrap().unwrap().parse().unwrap();
    assert_eq!(shown(&mut client, "server_connection_id").await, format!("{server_id}"));
    assert_eq!(shown(&mut client, "client_id").await, format!("{weir_id}"));
    (client, weir_id, server_id)
}

async fn until_running(admin: &mut Client, server_id: u32) {
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {server_id} AND INFO LIKE 'SELECT SLEEP%'"
    );
    until("the statement runs", async || {
        (admin.scalar(&sql).await.unwrap().as_deref() == Some("1")).then_some(())
    })
    .await;
}

async fn kill_query(killer: &mut Client, id: u32, prepared: bool, by_weirs_id: bool) {
    let sql = format!("/* a comment */ KILL QUERY {id}");
    if prepared && by_weirs_id {
        // The server knows its own ids only, and the text of a prepared statement is the server's.
        let plain = killer.query(&sql).await.unwrap();
        assert!(plain.ok().is_some(), "{plain:?}");
    } else if prepared {
        let id = killer.prepare(&format!("KILL QUERY {id}")).await.unwrap().id;
        let body = command::Execute { id, flags: 0, params: &[], types: true, attributes: false };
        let response = killer.command(command::STMT_EXECUTE, &body.body()).await.unwrap();
        assert!(response.ok().is_some(), "{response:?}");
    } else {
        killer.run(&sql).await.unwrap();
    }
}

#[tokio::test]
async fn p43_kill_query_interrupts_the_statement_by_either_id() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        let mut killer = app(weir.addr()).connect().await.unwrap();
        for prepared in [false, true] {
            for by_weirs_id in [true, false] {
                let (mut client, weir_id, server_id) = victim(&app(weir.addr())).await;
                client.send(command::QUERY, b"SELECT SLEEP(60)").await.unwrap();
                until_running(&mut killer, server_id).await;
                let id = if by_weirs_id { weir_id } else { server_id };
                // MySQL loses one KILL QUERY in some hundred that arrive while SLEEP starts, so it is sent until the
                // answer comes; nobody's answer comes of itself before the 60 s are over.
                let response = {
                    let mut answer = std::pin::pin!(client.receive(command::QUERY));
                    loop {
                        kill_query(&mut killer, id, prepared, by_weirs_id).await;
                        if let Ok(answer) = tokio::time::timeout(Duration::from_secs(1), &mut answer).await {
                            break answer.unwrap();
                        }
                    }
                };
                // SLEEP answers 1 where it is interrupted, on both servers; MariaDB raises 1317.
                let interrupted = response.err().map(|err| err.code) == Some(1317)
                    || response.rows().next() == Some(&b"\x011"[..]);
                assert!(interrupted, "{flavor:?} {id}: {response:?}");
                assert_eq!(client.scalar("SELECT 7").await.unwrap().as_deref(), Some("7"));
            }
        }
    }
}

#[tokio::test]
async fn p43_kill_ends_the_session_by_either_id() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        let mut killer = app(weir.addr()).connect().await.unwrap();
        for kill in ["KILL", "kill connection", "KILL /*! CONNECTION */"] {
            for by_weirs_id in [true, false] {
                let (mut client, weir_id, server_id) = victim(&app(weir.addr())).await;
                let id = if by_weirs_id { weir_id } else { server_id };
                killer.run(&format!("{kill} {id}")).await.unwrap();
                let end = client.stream().read_packet().await.unwrap();
                // MariaDB says 1927 to an idle connection, MySQL may say nothing.
                if let Some(packet) = end {
                    assert_eq!(packet.payload[0], 0xff, "{packet:?}");
                    assert!(client.stream().read_packet().await.unwrap().is_none());
                }
            }
        }
        // One's own session.
        let (mut client, weir_id, _) = victim(&app(weir.addr())).await;
        let response = client.query(format!("KILL {weir_id}")).await.unwrap();
        assert!(response.closed || matches!(response.err().unwrap().code, 1317 | 1927), "{response:?}");
        // Ids that nobody has.
        for id in [u32::MAX, 0x8fff_ffff, 1_999_999_999] {
            assert_eq!(killer.query(format!("KILL {id}")).await.unwrap().err().unwrap().code, 1094, "{id}");
        }
    }
}

#[tokio::test]
async fn p43_com_process_kill_maps_ids_where_the_server_has_it() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        let mut killer = app(weir.addr()).connect().await.unwrap();
        let (mut client, weir_id, _) = victim(&app(weir.addr())).await;
        let response = killer.command(command::PROCESS_KILL, &weir_id.to_le_bytes()).await.unwrap();
        match flavor {
            Flavor::MariaDb => {
                assert!(response.ok().is_some(), "{response:?}");
                while let Some(packet) = client.stream().read_packet().await.unwrap() {
                    assert_eq!(packet.payload[0], 0xff, "{packet:?}");
                }
            }
            Flavor::MySql => {
                assert_eq!(response.err().unwrap().code, 1047);
                assert_eq!(client.scalar("SELECT 7").await.unwrap().as_deref(), Some("7"));
            }
        }
        assert!(killer.command(command::PROCESS_KILL, b"\x01").await.unwrap().err().is_some());
    }
}

#[tokio::test]
async fn p43_an_account_without_privileges_kills_its_own_only() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        let mut admin = app(server.addr()).connect().await.unwrap();
        admin.run("DROP USER IF EXISTS p43").await.unwrap();
        admin.run("CREATE USER p43 IDENTIFIED BY 'p43-pw'").await.unwrap();
        let small = ConnectOptions::tcp(weir.addr(), "p43", "p43-pw");
        let mut killer = small.connect().await.unwrap();
        let (mut foreign, weir_id, server_id) = victim(&app(weir.addr())).await;
        for id in [weir_id, server_id] {
            for kill in ["KILL", "KILL QUERY"] {
                let err = killer.query(format!("{kill} {id}")).await.unwrap().err().cloned().unwrap();
                assert_eq!(err.code, 1095, "{err}");
            }
        }
        assert_eq!(foreign.scalar("SELECT 7").await.unwrap().as_deref(), Some("7"));
        let (mut own, weir_id, _) = victim(&small).await;
        killer.run(&format!("KILL {weir_id}")).await.unwrap();
        while let Some(packet) = own.stream().read_packet().await.unwrap() {
            assert_eq!(packet.payload[0], 0xff, "{packet:?}");
        }
    }
}

#[tokio::test]
async fn p43_fifty_kills_at_once_hit_their_targets_and_nobody_else() {
    let server = server(Flavor::MySql);
    let weir = weir(&server);
    let mut bystander = app(weir.addr()).connect().await.unwrap();
    let mut victims = Vec::new();
    for _ in 0..50 {
        let mut client = app(weir.addr()).connect().await.unwrap();
        client.send(command::QUERY, b"SELECT SLEEP(60)").await.unwrap();
        victims.push(client);
    }
    let kills: Vec<_> = victims
        .iter()
        .map(|client| {
            let (id, options) = (client.greeting().connection_id, app(weir.addr()));
            tokio::spawn(async move {
                options.connect().await.unwrap().run(&format!("KILL {id}")).await.unwrap();
            })
        })
        .collect();
    for kill in kills {
        kill.await.unwrap();
    }
    for mut client in victims {
        while let Some(packet) = client.stream().read_packet().await.unwrap() {
            assert_eq!(packet.payload[0], 0xff, "{packet:?}");
        }
    }
    assert_eq!(bystander.scalar("SELECT 7").await.unwrap().as_deref(), Some("7"));
}

#[tokio::test]
async fn a_statement_sent_after_the_server_closed_is_not_passed_on() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let mut weir = weir(&server);
        let (mut client, _, server_id) = victim(&app(weir.addr())).await;
        let mut admin = app(server.addr()).connect().await.unwrap();
        // Weir learns of both at the same moment, as it may under load: of the end first, then of the statement.
        weir.signal(Signal::Stop).unwrap();
        admin.run(&format!("KILL {server_id}")).await.unwrap();
        let gone = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {server_id}");
        until("the connection is gone", async || {
            (admin.scalar(&gone).await.unwrap().as_deref() == Some("0")).then_some(())
        })
        .await;
        client.send(command::QUERY, b"SELECT 1").await.unwrap();
        weir.signal(Signal::Continue).unwrap();
        // The client hears what it would hear from the server: nothing, or MariaDB's own words. Not 1158, which says
        // that the statement may have run.
        if let Ok(response) = client.receive(command::QUERY).await {
            assert!(response.closed || response.err().is_some_and(|err| err.code == 1927), "{response:?}");
            assert_ne!(response.err().map(|err| err.code), Some(1158), "{flavor:?}");
        }
    }
}
