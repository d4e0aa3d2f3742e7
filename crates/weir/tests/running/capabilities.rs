//! Flags of the handshake: whatever a client agrees on, it sees what the server would send it.

use weir_testkit::client::End;
use weir_testkit::client::bytes::{put_lenenc, put_lenenc_bytes};

use crate::fake_server::{FakeServer, Reply, packet};
use crate::kit::*;

/// Tables and procedures in schema `it`, made once for each test.
async fn prepare_schema(server: &Server, name: &str) {
    let mut client = app(server.addr()).connect().await.unwrap();
    client.run("CREATE DATABASE IF NOT EXISTS it").await.unwrap();
    for sql in [
        format!("DROP TABLE IF EXISTS it.{name}"),
        format!("CREATE TABLE it.{name} (id INT PRIMARY KEY, v VARCHAR(30) DEFAULT 'dflt', b BLOB)"),
        format!("INSERT INTO it.{name} VALUES (1, 'one', 'x'), (2, NULL, ''), (3, 'trois é', NULL)"),
        format!("DROP PROCEDURE IF EXISTS it.{name}_p"),
        format!(
            "CREATE PROCEDURE it.{name}_p(IN a INT, OUT b INT) BEGIN SELECT * FROM it.{name} WHERE id <= a; \
             SELECT 'second', a; SET b = a + 1; END"
        ),
    ] {
        client.run(&sql).await.unwrap();
    }
}

/// Every kind of answer that there is.
async fn all_kinds_of_answers(twin: &mut Twin, name: &str) {
    twin.run("CREATE TEMPORARY TABLE d1 AS SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3").await;
    twin.run("CREATE TEMPORARY TABLE d2 AS SELECT * FROM d1").await;
    twin.run(&format!("SELECT * FROM {name}; SELECT 1/0; DO 1; SELECT NULL")).await;
    twin.run(&format!("CALL {name}_p(2, @b)")).await;
    twin.run("SELECT @b").await;
    let fields = command::field_list(name, "");
    twin.command(command::FIELD_LIST, &fields).await;
    twin.command(command::FIELD_LIST, &command::field_list("missing", "")).await;
    // An error behind rows that have been sent.
    let late = "SELECT d, IF(d = 3, (SELECT d2.d FROM d2 WHERE d2.d > d1.d - 9), 1) FROM d1 ORDER BY d";
    assert_eq!(twin.query(late).await.err().unwrap().code, 1242);
    assert_eq!(twin.query("SELECT * FROM missing").await.err().unwrap().code, 1146);
    // A row of 16 MiB and more begins with 0xFE, as the end of rows does.
    twin.run("SELECT REPEAT('x', 16777300), 2").await;
    twin.command(command::INIT_DB, b"it").await;
    twin.run("SET autocommit = 0").await;
    twin.run(&format!("SELECT COUNT(*) FROM {name}")).await;
    twin.run("COMMIT").await;
    twin.run("SET autocommit = 1, @@sql_mode = 'ANSI'").await;
    twin.run("SET sql_mode = ''").await;
    for (code, body) in
        [(command::PING, &[][..]), (command::SET_OPTION, &[1, 0]), (command::SET_OPTION, &[0, 0])]
    {
        twin.command(code, body).await;
    }
    prepared_statements(twin, name, late).await;
    twin.command(command::RESET_CONNECTION, &[]).await;
    twin.query("SELECT @b, DATABASE()").await;
}

async fn prepared_statements(twin: &mut Twin, name: &str, late: &str) {
    let attributes = twin.weir.capabilities().has(Caps::QUERY_ATTRIBUTES);
    let ids = twin.prepare(&format!("SELECT *, ? FROM {name} WHERE id > ?")).await;
    let params = [command::Param::Text("é".into()), command::Param::Int(0)];
    let execute = |id, flags| command::Execute { id, flags, params: &params, types: true, attributes }.body();
    // The second time the metadata may be left out (MARIADB_CLIENT_CACHE_METADATA).
    for _ in 0..2 {
        let response = twin.on(ids, command::STMT_EXECUTE, |id| execute(id, 0)).await;
        assert_eq!(response.rows().count(), 3, "{:?}", response.err());
    }
    let response = twin.on(ids, command::STMT_EXECUTE, |id| execute(id, command::CURSOR_READ_ONLY)).await;
    assert_eq!((response.err(), response.rows().count()), (None, 0));
    for rows in [2, 1, 5] {
        twin.on(ids, command::STMT_FETCH, |id| command::fetch(id, rows)).await;
    }
    for code in [command::STMT_RESET, command::STMT_CLOSE] {
        twin.on(ids, code, |id| id.to_le_bytes().to_vec()).await;
    }
    for sql in [late, &format!("CALL {name}_p(1, @b)"), "DO 1", "SELECT 1 FROM DUAL WHERE 0"] {
        let ids = twin.prepare(sql).await;
        let body = |id| command::Execute { id, flags: 0, params: &[], types: true, attributes }.body();
        twin.on(ids, command::STMT_EXECUTE, body).await;
    }
    twin.prepare("INSERT INTO d1 VALUES (?)").await;
    twin.command(command::STMT_PREPARE, b"SELECT * FROM missing").await;
}

#[tokio::test]
async fn p4_p5_p6_p8_every_answer_under_every_set_of_flags() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        prepare_schema(&server, "p4").await;
        let sets = [
            Caps::default(),
            Caps::DEPRECATE_EOF,
            Caps::SESSION_TRACK,
            Caps::DEPRECATE_EOF | Caps::QUERY_ATTRIBUTES,
            SHAPING,
        ];
        for more in sets {
            let mut twin = Twin::open(&server, &weir, |o| o.with(more)).await;
            all_kinds_of_answers(&mut twin, "p4").await;
        }
    }
}

#[tokio::test]
async fn p5_session_changes_reach_those_who_asked_and_nobody_else() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        for tracks in [false, true] {
            let more = if tracks { Caps::SESSION_TRACK } else { Caps::default() };
            let mut twin = Twin::open(&server, &weir, |o| o.with(more).database("mysql")).await;
            let mut changes = 0;
            twin.run("SET session_track_system_variables = 'autocommit,time_zone,sql_mode', session_track_schema = 1").await;
            twin.run(
                "SET session_track_state_change = 1, session_track_transaction_info = 'CHARACTERISTICS'",
            )
            .await;
            for sql in [
                "SET time_zone = '+03:00', sql_mode = 'ANSI'",
                "USE it",
                "START TRANSACTION READ ONLY",
                "COMMIT",
                "SET @a = 1",
                "CREATE TEMPORARY TABLE p5 (i INT)",
            ] {
                changes += twin.run(sql).await.changes().count();
            }
            assert_eq!(changes > 0, tracks, "{flavor:?}");
        }
    }
}

#[tokio::test]
async fn p6_progress_reports_pass_and_end_nothing() {
    let progress = [&[0xff, 0xff, 0xff, 1, 1, 2, 0x10, 0, 0][..], b"\x05stage"].concat();
    let answer = move |request: &[u8]| match request {
        [command::QUERY, b'A', ..] => {
            let ok = packet(1, b"\0\x07\0\x02\0\0\0");
            Reply::Bytes([packet(1, &progress), packet(1, &progress), ok].concat())
        }
        [command::QUERY | command::PING, ..] => Reply::Bytes(packet(1, b"\0\0\0\x02\0\0\0")),
        _ => Reply::Last(Vec::new()),
    };
    let server =
        FakeServer::start("5.5.5-10.11.99-MariaDB", Caps::COMMON | Caps::MARIADB_PROGRESS, answer).await;
    let weir = Weir::config(config(&server.addr().to_string(), "")).start().unwrap();
    let options = app(weir.addr()).with(Caps::MARIADB_PROGRESS);
    let mut client = options.connect().await.unwrap();
    assert!(client.capabilities().has(Caps::MARIADB_PROGRESS));
    for _ in 0..2 {
        let response = client.query("ALTER TABLE t ENGINE=InnoDB").await.unwrap();
        let kinds: Vec<_> = response.outcomes.iter().map(|o| matches!(o, Outcome::Progress(_))).collect();
        assert_eq!(kinds, [true, true, false], "{response:?}");
        assert_eq!(response.ok().unwrap().affected_rows, 7);
        assert!(client.command(command::PING, &[]).await.unwrap().ok().is_some());
    }
}

#[tokio::test]
async fn p7_bulk_execute_is_mariadbs_and_passes() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        let mut twin = Twin::open(&server, &weir, |o| o.with(Caps::MARIADB_BULK)).await;
        assert_eq!(twin.weir.capabilities().has(Caps::MARIADB_BULK), flavor == Flavor::MariaDb);
        twin.run("CREATE TEMPORARY TABLE p7 (a BIGINT, b VARCHAR(10))").await;
        let ids = twin.prepare("INSERT INTO p7 VALUES (?, ?)").await;
        // Flag 128: the types follow. Each value has an indicator byte; 1 is NULL.
        let mut body = vec![128, 0, 8, 0, 0xfd, 0];
        for i in 0..3000u64 {
            body.push(0);
            body.extend(i.to_le_bytes());
            match i % 3 {
                0 => body.push(1),
                _ => {
                    body.push(0);
                    put_lenenc_bytes(&mut body, b"abc");
                }
            }
        }
        let on = |id: u32| [&id.to_le_bytes()[..], &body].concat();
        let response = twin.on(ids, command::STMT_BULK_EXECUTE, on).await;
        match flavor {
            Flavor::MariaDb => assert_eq!(response.ok().unwrap().affected_rows, 3000),
            Flavor::MySql => assert_eq!(response.err().unwrap().code, 1047),
        }
        twin.run("SELECT COUNT(*), COUNT(b), SUM(a) FROM p7").await;
        assert!(twin.command(command::STMT_BULK_EXECUTE, &on(4711)).await.err().is_some());
    }
}

/// COM_QUERY with one query attribute.
fn with_attribute(value: &[u8], sql: &str) -> Vec<u8> {
    let mut body = Vec::new();
    put_lenenc(&mut body, 1);
    put_lenenc(&mut body, 1);
    body.extend([0, 1, 0xfd, 0]);
    put_lenenc_bytes(&mut body, b"name");
    put_lenenc_bytes(&mut body, value);
    body.extend(sql.bytes());
    body
}

#[tokio::test]
async fn p8_statements_hidden_in_query_attributes_mean_nothing() {
    let server = server(Flavor::MySql);
    let weir = weir(&server);
    let mut twin = Twin::open(&server, &weir, |o| o.with(Caps::QUERY_ATTRIBUTES)).await;
    assert!(twin.weir.capabilities().has(Caps::QUERY_ATTRIBUTES));
    let kill = format!("KILL {}", twin.weir.greeting().connection_id);
    for hidden in
        ["SHOW WEIR SESSION", &kill, "LOAD DATA LOCAL INFILE 'x' INTO TABLE t", "\0\0\0SELECT 'other"]
    {
        let body = with_attribute(hidden.as_bytes(), "SELECT 'mine'");
        let response = twin.command(command::QUERY, &body).await;
        assert_eq!(response.rows().next(), Some(&b"\x04mine"[..]), "{hidden}: {response:?}");
    }
    // Weir reads the statement behind the attributes.
    let body = with_attribute(b"SELECT 1", "SHOW WEIR SESSION");
    let response = twin.weir.command(command::QUERY, &body).await.unwrap();
    assert!(response.rows().count() > 5, "{response:?}");
    // Attributes that end too early are the server's to refuse.
    for cut in [1, 2, 4, 9, 12] {
        let body = &with_attribute(b"value", "SELECT 1")[..cut];
        let response = twin.command(command::QUERY, body).await;
        if response.closed {
            twin = Twin::open(&server, &weir, |o| o.with(Caps::QUERY_ATTRIBUTES)).await;
        }
    }
}

#[tokio::test]
async fn p9_collations_of_the_handshake_and_of_change_user() {
    let ask = "SELECT @@collation_connection, @@character_set_client, @@character_set_results, 'é'";
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        for id in [0, 1, 8, 28, 33, 45, 47, 63, 83, 192, 224, 247, 253, 255] {
            let mut twin = Twin::open(&server, &weir, |o| o.collation(id)).await;
            twin.query(ask).await;
        }
        let mut twin = Twin::open(&server, &weir, |o| o).await;
        for id in [8, 33, 45, 224, 255, 256, 303, 2304, 60000] {
            for client in [&mut twin.direct, &mut twin.weir] {
                let changed = client.change_user("nopw", "", "it", id).await.unwrap();
                assert!(changed.err().is_none(), "{flavor:?} {id}: {changed:?}");
            }
            twin.query(ask).await;
        }
    }
}

#[tokio::test]
async fn p10_weir_greets_as_the_server_does() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        let twin = Twin::open(&server, &weir, |o| o).await;
        let (direct, through) = (twin.direct.greeting(), twin.weir.greeting());
        assert_eq!(direct.version, through.version);
        assert_eq!((direct.protocol, direct.collation), (through.protocol, through.collation));
        assert_eq!(direct.status, through.status);
        assert_eq!(through.nonce.len(), 21);
        assert!(!through.nonce[..20].contains(&0), "a nonce with a NUL: {:?}", through.nonce);
        // What the server offers and Weir does not: these need more than a proxy can keep.
        let withheld = Caps(1 << 28 | 1 << 29 | 1 << 30).0 | Caps::MARIADB_COM_MULTI.0;
        assert_eq!(direct.capabilities.0 & !through.capabilities.0 & !withheld, 0);
        // What Weir offers and the server does not: compression and TLS are each link's own.
        let own = Caps::COMPRESS.0 | Caps::ZSTD.0 | Caps::SSL.0 | Caps::CONNECT_ATTRS.0;
        assert_eq!(through.capabilities.0 & !direct.capabilities.0 & !own, 0);
    }
}

#[tokio::test]
async fn p34_rows_ahead_of_an_error_arrive() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        for more in [Caps::default(), Caps::DEPRECATE_EOF] {
            let mut twin = Twin::open(&server, &weir, |o| o.with(more)).await;
            twin.run("CREATE TEMPORARY TABLE d1 (d INT, pad VARCHAR(2000))").await;
            let rows: Vec<_> = (0..60).map(|d| format!("({d}, REPEAT('x', 2000))")).collect();
            twin.run(&format!("INSERT INTO d1 VALUES {}", rows.join(","))).await;
            twin.run("CREATE TEMPORARY TABLE d2 (d INT)").await;
            twin.run("INSERT INTO d2 VALUES (1), (2)").await;
            let sql = "SELECT d, pad, IF(d = 55, (SELECT d2.d FROM d2 WHERE d2.d < d1.d), 1) FROM d1";
            let response = twin.query(sql).await;
            let result = response.results().next().unwrap();
            assert!(!result.rows.is_empty(), "{flavor:?}: the error came first");
            assert!(matches!(&result.end, Some(End::Err(err)) if err.code == 1242));
            twin.run("SELECT 'usable'").await;
        }
    }
}
