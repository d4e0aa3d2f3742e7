use super::caps::{Capabilities as Caps, status};
use super::command::{Execute, Param};
use super::*;
use crate::servers::{Flavor, Server};

const EVERYTHING: Caps = Caps(
    Caps::COMMON.0
        | Caps::SESSION_TRACK.0
        | Caps::DEPRECATE_EOF.0
        | Caps::OPTIONAL_RESULTSET_METADATA.0
        | Caps::QUERY_ATTRIBUTES.0
        | Caps::CONNECT_ATTRS.0
        | Caps::MARIADB_BULK.0
        | Caps::MARIADB_EXTENDED_METADATA.0
        | Caps::MARIADB_CACHE_METADATA.0,
);

fn refused(result: Result<Client>) -> ErrPacket {
    result.err().unwrap().downcast::<LoginRefused>().unwrap().error
}

#[tokio::test]
async fn every_account_logs_in_the_way_it_wants() {
    for flavor in Flavor::BOTH {
        let server = Server::start(flavor).unwrap();
        let own: &[_] = match flavor {
            Flavor::MariaDb => &[("app_native", "native-pw"), ("app_ed", "ed-pw")],
            Flavor::MySql => &[("app_sha", "sha-pw"), ("app_sha256", "sha256-pw")],
        };
        for (user, password) in [("root", ""), ("app", "app-pw"), ("nopw", "")].iter().chain(own) {
            let tcp = ConnectOptions::tcp(server.addr(), user, password);
            let unix = ConnectOptions::unix(server.socket(), user, password);
            // Twice over TCP: MySQL answers the second from its cache.
            let ways = [tcp.clone(), tcp.clone(), unix, tcp.clone().tls(Tls::Unverified)];
            for options in ways {
                let mut client = options.connect().await.unwrap();
                let name = client.scalar("SELECT CURRENT_USER()").await.unwrap().unwrap();
                assert!(name.starts_with(&format!("{user}@")), "{name} for {user}");
                client.quit().await.unwrap();
            }
        }
        let wrong = ConnectOptions::tcp(server.addr(), "app", "wrong").connect().await;
        assert_eq!(refused(wrong).code, 1045);
        let locked = ConnectOptions::tcp(server.addr(), "locked", "locked-pw").connect().await;
        assert!(matches!(refused(locked).code, 3118 | 4151));
        let bare = ConnectOptions::tcp(server.addr(), "app_tls", "tls-pw");
        assert_eq!(refused(bare.connect().await).code, 1045);
        let certs = server.certs();
        bare.tls(Tls::Unverified).connect().await.unwrap();
        let x509 = ConnectOptions::tcp(server.addr(), "app_x509", "x509-pw");
        let shown = Tls::WithClientCert { cert: certs.client_cert, key: certs.client_key };
        x509.tls(shown).connect().await.unwrap();
    }
}

#[tokio::test]
async fn replies_are_understood_with_few_and_with_all_capabilities() {
    for flavor in Flavor::BOTH {
        let server = Server::start(flavor).unwrap();
        for caps in [Caps::COMMON, EVERYTHING] {
            let options = ConnectOptions::tcp(server.addr(), "app", "app-pw").capabilities(caps);
            let mut client = options.connect().await.unwrap();
            replies(&mut client).await;
            statements(&mut client).await;
            client.quit().await.unwrap();
        }
    }
}

async fn replies(client: &mut Client) {
    client.run("DROP DATABASE IF EXISTS d; CREATE DATABASE d; USE d").await.unwrap();
    client.run("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(50))").await.unwrap();
    let insert = client.run("INSERT INTO t (v) VALUES ('a'), ('b')").await.unwrap();
    let ok = insert.ok().unwrap();
    assert_eq!((ok.affected_rows, ok.last_insert_id), (2, 1));
    assert_eq!(ok.info, b"Records: 2  Duplicates: 0  Warnings: 0");
    let several = client.run("SELECT * FROM t; SELECT 1/0; SELECT NULL").await.unwrap();
    let results: Vec<_> = several.results().collect();
    assert_eq!(results.len(), 3);
    assert_eq!(results[0].columns[1].org_name, b"v");
    assert_eq!(bytes::text_row(&results[0].rows[1]).unwrap()[1].as_deref(), Some(&b"b"[..]));
    assert_eq!(
        results[1].end.as_ref().unwrap().status().unwrap() & status::MORE_RESULTS,
        status::MORE_RESULTS
    );
    let error = client.query("SELECT * FROM missing").await.unwrap();
    assert_eq!((error.err().unwrap().code, error.err().unwrap().state.as_str()), (1146, "42S02"));
    let fields = client.command(command::FIELD_LIST, &command::field_list("t", "")).await.unwrap();
    assert_eq!(fields.results().next().unwrap().columns.len(), 2);
    client.local_data = b"7\tseven\n8\teight\n".to_vec();
    client.local_chunk = 5;
    let load = client.run("LOAD DATA LOCAL INFILE 'x' INTO TABLE t").await.unwrap();
    assert_eq!(load.ok().unwrap().affected_rows, 2);
    let text = client.command(command::STATISTICS, &[]).await.unwrap();
    assert!(matches!(&text.outcomes[..], [Outcome::Text(t)] if t.starts_with(b"Uptime")));
    for (code, body) in
        [(command::PING, &[][..]), (command::SET_OPTION, &[0, 0]), (command::RESET_CONNECTION, &[])]
    {
        let response = client.command(code, body).await.unwrap();
        assert!(response.ok().is_some(), "{response:?}");
    }
    let unknown = client.command(0x77, &[]).await.unwrap();
    assert_eq!(unknown.err().unwrap().code, 1047);
    let tracks = client.capabilities().has(Caps::SESSION_TRACK);
    let schema = client.command(command::INIT_DB, b"d").await.unwrap();
    assert_eq!(schema.changes().any(|change| change.kind == 1), tracks);
    for (user, password) in [("nopw", ""), ("app", "app-pw")] {
        let changed = client.change_user(user, password, "d", 45).await.unwrap();
        assert!(changed.err().is_none() && !changed.closed, "{changed:?}");
        assert_eq!(client.scalar("SELECT DATABASE()").await.unwrap().as_deref(), Some("d"));
    }
    let big = client.scalar("SELECT LENGTH(REPEAT('x', 17000000))").await.unwrap();
    assert_eq!(big.as_deref(), Some("17000000"));
    let big = client.run("SELECT REPEAT('x', 17000000)").await.unwrap();
    assert_eq!(big.rows().next().unwrap().len(), 17_000_000 + 9);
    assert!(big.packets.iter().any(|packet| packet.frames == 2));
}

async fn statements(client: &mut Client) {
    let prepared = client.prepare("SELECT ?, ?, id FROM t WHERE id > ?").await.unwrap();
    assert_eq!((prepared.param_count, prepared.column_count), (3, 3));
    let attributes = client.capabilities().has(Caps::QUERY_ATTRIBUTES);
    let params = [Param::Text("é".into()), Param::LongData, Param::Int(0)];
    for chunk in [b"ab", b"cd"] {
        let body = command::long_data(prepared.id, 1, chunk);
        assert_eq!(client.command(command::STMT_SEND_LONG_DATA, &body).await.unwrap(), Response::default());
    }
    let mut execute = Execute { id: prepared.id, flags: 0, params: &params, types: true, attributes };
    let all = client.command(command::STMT_EXECUTE, &execute.body()).await.unwrap();
    assert_eq!(all.rows().count(), 4, "{all:?}");
    assert_eq!(all.rows().next().unwrap()[2..11], *b"\x02\xc3\xa9\x04abcd\x01");
    // Long data is used up by the execution.
    let params = [Param::Null, Param::Bytes(b"x".to_vec()), Param::Int(0)];
    execute = Execute { flags: command::CURSOR_READ_ONLY, params: &params, ..execute };
    let cursor = client.command(command::STMT_EXECUTE, &execute.body()).await.unwrap();
    assert_eq!((cursor.err(), cursor.rows().count()), (None, 0));
    for (want, got) in [(3, 3), (3, 1)] {
        let part = client.command(command::STMT_FETCH, &command::fetch(prepared.id, want)).await.unwrap();
        assert_eq!(part.rows().count(), got, "{part:?}");
    }
    let reset = client.command(command::STMT_RESET, &prepared.id.to_le_bytes()).await.unwrap();
    assert!(reset.ok().is_some());
    client.command(command::STMT_CLOSE, &prepared.id.to_le_bytes()).await.unwrap();
    let closed = client.command(command::STMT_EXECUTE, &execute.body()).await.unwrap();
    assert_eq!(closed.err().unwrap().code, 1243);
}
