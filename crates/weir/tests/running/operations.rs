//! What operators see: SHOW WEIR SESSION and /metrics agree with what was done.

use crate::kit::*;
use crate::sharing_kit::*;

#[tokio::test]
async fn show_weir_session_describes_the_session() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir_with(&server, "[server.tls]\nmode = \"required\"\n");
        for more in [Caps::default(), Caps::DEPRECATE_EOF] {
            let mut client = app(weir.addr()).with(more).tls(Tls::Unverified).connect().await.unwrap();
            let id = client.greeting().connection_id.to_string();
            let server_id = client.scalar("SELECT CONNECTION_ID()").await.unwrap().unwrap();
            client.prepare("SELECT 1").await.unwrap();
            client.run("BEGIN").await.unwrap();
            client.run("SELECT 1 FROM mysql.db").await.unwrap();
            // MariaDB's greeting has `5.5.5-` in front, for old replicas.
            let version = client.scalar("SELECT VERSION()").await.unwrap().unwrap();
            for (name, value) in [
                ("client_id", id.as_str()),
                ("user", "app"),
                ("client_host", "127.0.0.1"),
                ("client_compression", "none"),
                ("server", "db1"),
                ("server_version", &version),
                ("server_family", flavor.as_str()),
                ("server_connection_id", &server_id),
                ("in_transaction", "yes"),
                ("autocommit", "yes"),
            ] {
                assert_eq!(shown(&mut client, name).await, value, "{name}");
            }
            assert!(shown(&mut client, "client_tls").await.starts_with("TLS"));
            assert!(shown(&mut client, "server_tls").await.starts_with("TLS"));
            client.run("COMMIT").await.unwrap();
            assert_eq!(shown(&mut client, "in_transaction").await, "no");
            // In other words and other cases too; and as no more than itself.
            client.run("show  weir\n session ;").await.unwrap();
            assert!(client.query("SHOW WEIR SESSIONS").await.unwrap().err().is_some());
        }
    }
}

#[tokio::test]
async fn show_weir_session_tells_the_state_that_moves_with_the_session() {
    for (flavor, server) in &both() {
        database(server, "op_state", &[]).await;
        let weir = sharing(server, 2, "", "");
        let mut client = app(weir.addr()).connect().await.unwrap();
        assert_eq!(shown(&mut client, "schema").await, "NULL");
        assert_eq!(shown(&mut client, "user_variables").await, "0");
        client.run("USE op_state").await.unwrap();
        client.run("SET NAMES latin1, time_zone = '+03:00', sql_mode = 'ANSI_QUOTES'").await.unwrap();
        client
            .run("SET character_set_results = NULL, @b = 'a secret', @a = 1, autocommit = 0")
            .await
            .unwrap();
        client.run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").await.unwrap();
        client.prepare("SELECT 1").await.unwrap();
        for (name, value) in [
            ("schema", "op_state"),
            ("character_set_client", "latin1"),
            ("character_set_results", "NULL"),
            ("collation_connection", "latin1_swedish_ci"),
            ("sql_mode", "ANSI_QUOTES"),
            ("time_zone", "+03:00"),
            ("transaction_isolation", "READ-COMMITTED"),
            ("autocommit", "no"),
            ("user_variables", "2 (a, b)"),
            ("prepared_statements", "1"),
        ] {
            assert_eq!(shown(&mut client, name).await, value, "{flavor:?}: {name}");
        }
        // What is computed is known when it was read back.
        client.run("SET @c = 1 + 1").await.unwrap();
        assert_eq!(shown(&mut client, "user_variables").await, "3 (a, b, c)", "{flavor:?}");
        client.run("SELECT COUNT(*) INTO @d FROM information_schema.SCHEMATA").await.unwrap();
        let told = shown(&mut client, "user_variables").await;
        assert!(
            told.starts_with("3 (a, b, c), and others") && !told.contains("secret"),
            "{flavor:?}: {told}"
        );
        // Nobody follows the state of a client that shares no connection.
        let weir = weir_with(server, "");
        let mut own = app(weir.addr()).connect().await.unwrap();
        assert_eq!(shown(&mut own, "sql_mode").await, "unknown");
    }
}

#[tokio::test]
async fn metrics_reconcile_with_what_was_done() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        let mut clients = Vec::new();
        for i in 0..6 {
            let tls = if i < 2 { Tls::Unverified } else { Tls::Off };
            clients.push(app(weir.addr()).tls(tls).connect().await.unwrap());
        }
        for _ in 0..3 {
            refusal(ConnectOptions::tcp(weir.addr(), "app", "wrong").connect().await);
        }
        for client in &mut clients {
            for _ in 0..10 {
                client.run("SELECT 'some bytes'").await.unwrap();
            }
            client.query("SELECT * FROM missing.t").await.unwrap();
            client.command(command::PING, &[]).await.unwrap();
            let statement = client.prepare("SELECT 1").await.unwrap();
            let body =
                command::Execute { id: statement.id, flags: 0, params: &[], types: true, attributes: false };
            client.command(command::STMT_EXECUTE, &body.body()).await.unwrap();
            client.command(command::STMT_CLOSE, &statement.id.to_le_bytes()).await.unwrap();
        }
        let changed = clients[0].change_user("nopw", "", "", 45).await.unwrap();
        assert_eq!(changed.err(), None);
        for (sample, value) in [
            ("weir_clients_connected", 6.0),
            ("weir_server_connections_open", 6.0),
            ("weir_clients_accepted_total", 9.0),
            ("weir_logins_total", 7.0),
            ("weir_tls_handshakes_total", 2.0),
            ("weir_auth_failures_total{reason=\"refused_by_server\"}", 3.0),
            ("weir_commands_total{command=\"query\"}", 66.0),
            ("weir_commands_total{command=\"ping\"}", 6.0),
            ("weir_commands_total{command=\"stmt_prepare\"}", 6.0),
            ("weir_commands_total{command=\"stmt_execute\"}", 6.0),
            ("weir_commands_total{command=\"stmt_close\"}", 6.0),
            ("weir_errors_total{origin=\"weir\",code=\"1045\"}", 3.0),
            ("weir_kills_sent_total", 0.0),
            ("weir_logins_pending", 0.0),
        ] {
            until(&format!("{sample} {value}"), async || {
                (metric(&weir, sample).await == value).then_some(())
            })
            .await;
        }
        let errors =
            ["1049", "1146"].map(|code| format!("weir_errors_total{{origin=\"server\",code=\"{code}\"}}"));
        assert_eq!(metric(&weir, &errors[0]).await + metric(&weir, &errors[1]).await, 6.0);
        let sent = metric(&weir, "weir_client_sent_bytes_total").await;
        let big = clients[1].run("SELECT REPEAT('x', 1000000)").await.unwrap();
        let bytes: usize = big.packets.iter().map(|packet| packet.payload.len() + 4).sum();
        until("the bytes are counted", async || {
            (metric(&weir, "weir_client_sent_bytes_total").await - sent == bytes as f64).then_some(())
        })
        .await;
        for client in clients {
            client.quit().await.unwrap();
        }
        for (sample, value) in [
            ("weir_clients_connected", 0.0),
            ("weir_server_connections_open", 0.0),
            ("weir_client_closed_total{reason=\"quit\"}", 6.0),
            ("weir_client_closed_total{reason=\"auth_failed\"}", 3.0),
        ] {
            until(&format!("{sample} {value}"), async || {
                (metric(&weir, sample).await == value).then_some(())
            })
            .await;
        }
    }
}
