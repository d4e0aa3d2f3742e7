//! P51: LOAD DATA LOCAL, and servers that ask for files nobody offered.

use weir_testkit::client::Outcome;

use crate::fake_server::{FakeServer, Reply, packet};
use crate::kit::*;
use crate::sharing_kit::database;

const TABLE: &str = "CREATE TEMPORARY TABLE p51 (a VARCHAR(200), b VARCHAR(200)) CHARACTER SET latin1";

/// Loads on both sides in packets of `chunk` bytes and compares what the server then holds.
async fn load(twin: &mut Twin, data: &[u8], chunk: usize, sql: &str) -> Response {
    for client in [&mut twin.direct, &mut twin.weir] {
        client.local_data = data.to_vec();
        client.local_chunk = chunk;
    }
    let response = twin.query(sql).await;
    twin.run("SELECT COUNT(*), COUNT(b), SUM(LENGTH(a)), SUM(CRC32(a)) FROM p51").await;
    response
}

#[tokio::test]
async fn p51_data_that_looks_like_commands_is_data() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        let mut twin = Twin::open(&server, &weir, |o| o).await;
        twin.run(TABLE).await;
        let lines: Vec<u8> = (0..2000).flat_map(|i| format!("{i}\tvalue {i}\n").into_bytes()).collect();
        // COM_QUIT, COM_QUERY and an ERR as whole packets and as chunks.
        let commands = b"\x01\n\x03DROP TABLE p51\n\xff\x01\0\n\0\0\0\0\n\x01\0\0\0\x01\n";
        for data in [&b""[..], b"one\ttwo\n", b"no newline", &lines, commands, &commands.repeat(2000)] {
            for chunk in [1, 7, 1000, 16 * 1024, 1 << 20] {
                if data.len() / chunk > 5000 {
                    continue;
                }
                let loaded = load(
                    &mut twin,
                    data,
                    chunk,
                    "LOAD DATA LOCAL INFILE 'any' INTO TABLE p51 CHARACTER SET latin1",
                )
                .await;
                assert!(
                    loaded.err().is_none() && matches!(loaded.outcomes[0], Outcome::LocalFile(_)),
                    "{loaded:?}"
                );
            }
        }
        // Behind a comment, in an executable comment, and twice in one text.
        for sql in [
            "/* LOAD */ LOAD /*!50000 DATA */ LOCAL INFILE 'any' INTO TABLE p51",
            "LOAD DATA LOCAL INFILE 'a' INTO TABLE p51; SELECT 1; LOAD DATA LOCAL INFILE 'b' INTO TABLE p51; DO 2",
        ] {
            let loaded = load(&mut twin, b"x\ty\nz\tw\n", 3, sql).await;
            assert!(loaded.err().is_none(), "{sql}: {loaded:?}");
        }
        let big = b"0123456789012345678901234567890123456789\tb\n".repeat(200_000);
        let loaded = load(&mut twin, &big, 0xff_fffe, "LOAD DATA LOCAL INFILE 'big' INTO TABLE p51").await;
        assert_eq!(loaded.ok().unwrap().affected_rows, 200_000);
    }
}

/// What is learned of one text must not be taken for another's, whoever sends what between them.
#[tokio::test]
async fn p51_a_load_behind_a_long_statement_is_still_a_load() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        let mut twin = Twin::open(&server, &weir, |o| o).await;
        twin.run(TABLE).await;
        let long = format!("SELECT '{}' AS echoed", "x".repeat(20_000));
        for client in [&mut twin.direct, &mut twin.weir] {
            client.local_data = b"a\n".to_vec();
        }
        for _ in 0..3 {
            let loaded = twin.query("LOAD DATA LOCAL INFILE 'a' INTO TABLE p51").await;
            assert_eq!(loaded.err(), None, "{flavor:?}");
            // Its worker has looked for the one before last.
            twin.run(&long).await;
        }
    }
}

#[tokio::test]
async fn p51_loads_that_fail_leave_the_session_usable() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        let mut twin = Twin::open(&server, &weir, |o| o).await;
        twin.run(TABLE).await;
        twin.run("ALTER TABLE p51 ADD PRIMARY KEY (a)").await;
        twin.run("SET sql_mode = 'STRICT_ALL_TABLES'").await;
        let data = b"x\ty\n".repeat(50_000);
        // No such table: no file is asked for. Too many columns, too long values: an error in the middle.
        for sql in [
            "LOAD DATA LOCAL INFILE 'a' INTO TABLE missing",
            "LOAD DATA LOCAL INFILE 'a' INTO TABLE p51 (a, b, c)",
            "LOAD DATA LOCAL INFILE 'a' INTO TABLE p51 SET b = (SELECT 1 UNION SELECT 2)",
            "LOAD DATA LOCAL INFILE 'a' IGNORE INTO TABLE p51",
            "LOAD DATA LOCAL INFILE '/no/such/file' INTO TABLE p51 SET b = REPEAT('x', 300)",
        ] {
            load(&mut twin, &data, 1000, sql).await;
            twin.command(command::PING, &[]).await;
        }
    }
}

#[tokio::test]
async fn p51_a_client_that_leaves_amid_its_file_loads_nothing() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        let mut admin = app(server.addr()).connect().await.unwrap();
        for sql in [
            "CREATE DATABASE IF NOT EXISTS it",
            "DROP TABLE IF EXISTS it.p51gone",
            "CREATE TABLE it.p51gone (a INT)",
        ] {
            admin.run(sql).await.unwrap();
        }
        let mut client = app(weir.addr()).connect().await.unwrap();
        client.send(command::QUERY, b"LOAD DATA LOCAL INFILE 'a' INTO TABLE it.p51gone").await.unwrap();
        let asked = client.stream().expect_packet().await.unwrap();
        client.stream().write_packet(asked.seq + 1, b"1\n2\n3\n").await.unwrap();
        drop(client);
        until("the server connection ends", async || {
            (metric(&weir, "weir_server_connections_open").await == 0.0).then_some(())
        })
        .await;
        // The server ends the statement when it notices; until then the table is locked or empty.
        assert_eq!(admin.scalar("SELECT COUNT(*) FROM it.p51gone").await.unwrap().as_deref(), Some("0"));
    }
}

/// How long the server waits for the next part of a file is its own affair: Weir passes its end on.
#[tokio::test]
async fn p44_p51_a_client_that_falls_silent_amid_its_file_is_ended_by_the_server() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        let mut admin = app(server.addr()).connect().await.unwrap();
        database(&server, "p51silent", &["CREATE TABLE t (a INT) ENGINE=InnoDB"]).await;
        let mut client = app(weir.addr()).connect().await.unwrap();
        client.run("SET SESSION net_read_timeout = 1").await.unwrap();
        let begun = std::time::Instant::now();
        client.send(command::QUERY, b"LOAD DATA LOCAL INFILE 'a' INTO TABLE p51silent.t").await.unwrap();
        let asked = client.stream().expect_packet().await.unwrap();
        client.stream().write_packet(asked.seq + 1, b"1\n2\n3\n").await.unwrap();
        // An error or none, as the server likes; then the end.
        while let Ok(Some(packet)) = client.stream().read_packet().await {
            assert_eq!(packet.payload[0], 0xff, "{flavor:?}: {packet:?}");
        }
        assert!(begun.elapsed() > std::time::Duration::from_millis(900), "{flavor:?}");
        until("the session has ended", async || {
            (metric(&weir, "weir_clients_connected").await == 0.0).then_some(())
        })
        .await;
        assert_eq!(admin.scalar("SELECT COUNT(*) FROM p51silent.t").await.unwrap().as_deref(), Some("0"));
    }
}

#[tokio::test]
async fn p51_without_the_flag_or_the_statement_no_file_is_asked_for() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        let mut twin = Twin::open(&server, &weir, |o| o.without(Caps::LOCAL_FILES)).await;
        twin.run(TABLE).await;
        let refused = twin.query("LOAD DATA LOCAL INFILE 'a' INTO TABLE p51").await;
        assert!(refused.err().is_some(), "{refused:?}");
    }
}

#[tokio::test]
async fn p51_a_rogue_server_gets_no_file() {
    let asked = || Reply::Bytes(packet(1, b"\xfb/etc/passwd"));
    let ok = || Reply::Bytes(packet(1, b"\0\0\0\x02\0\0\0"));
    let server = FakeServer::start("8.0.99", Caps::COMMON, move |request| match request {
        [command::QUERY, b'S', ..]
        | [command::PING | command::INIT_DB | command::STMT_PREPARE | command::STMT_EXECUTE, ..] => asked(),
        [command::QUERY, ..] => ok(),
        _ => Reply::Last(Vec::new()),
    })
    .await;
    let weir = Weir::config(config(&server.addr().to_string(), "")).start().unwrap();
    let statement = command::Execute { id: 1, flags: 0, params: &[], types: true, attributes: false };
    for (code, body) in [
        (command::QUERY, b"SELECT 1".to_vec()),
        (command::QUERY, b"SELECT 'LOAD DATA LOCAL INFILE'".to_vec()),
        (command::QUERY, b"SELECT 1 /* LOAD DATA LOCAL INFILE 'x' INTO TABLE t */".to_vec()),
        (command::PING, Vec::new()),
        (command::STMT_PREPARE, b"SELECT 1".to_vec()),
        (command::INIT_DB, b"LOAD DATA LOCAL INFILE 'x' INTO TABLE t".to_vec()),
        (command::STMT_EXECUTE, statement.body()),
    ] {
        let mut client = app(weir.addr()).connect().await.unwrap();
        client.run("DO 1").await.unwrap();
        client.send(code, &body).await.unwrap();
        let packet = client.stream().expect_packet().await.unwrap();
        assert_eq!(packet.payload[0], 0xff, "{code:#x}: the request for a file came through: {packet:?}");
        assert!(client.stream().read_packet().await.unwrap().is_none(), "the session went on");
    }
}

/// In gbk the bytes BF 5C are one character; read in another character set, the backslash would hide the quote behind
/// it, and the statement after it.
#[tokio::test]
async fn p31_p51_the_lexer_follows_set_names() {
    let texts: [&[u8]; 5] = [
        b"SET NAMES gbk",
        b"/*!40101 SET @was = @@character_set_client, character_set_client = 'gbk' */",
        b"SELECT 1; SET NAMES gbk",
        b"SET CHARACTER SET gbk",
        b"",
    ];
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        for set in texts {
            let mut twin = Twin::open(&server, &weir, |o| o).await;
            twin.run(TABLE).await;
            if set.is_empty() {
                let ids = twin.prepare("SET NAMES gbk").await;
                let execute = |id| {
                    command::Execute { id, flags: 0, params: &[], types: true, attributes: false }.body()
                };
                twin.on(ids, command::STMT_EXECUTE, execute).await;
            } else {
                twin.query(set).await;
            }
            let sql = b"SELECT '\xbf\\'; LOAD DATA LOCAL INFILE 'any' INTO TABLE p51";
            for client in [&mut twin.direct, &mut twin.weir] {
                client.local_data = b"one\ttwo\n".to_vec();
            }
            let loaded = twin.query(sql).await;
            let is_loaded = loaded.outcomes.iter().any(|outcome| matches!(outcome, Outcome::LocalFile(_)));
            assert!(is_loaded && loaded.err().is_none(), "{flavor:?} {}: {loaded:?}", set.escape_ascii());
            // The character set of the login is back: the quote is hidden, and nothing follows.
            twin.command(command::RESET_CONNECTION, b"").await;
            let hidden = twin.query(sql).await;
            assert!(
                !hidden.outcomes.iter().any(|outcome| matches!(outcome, Outcome::LocalFile(_))),
                "{hidden:?}"
            );
        }
    }
}
