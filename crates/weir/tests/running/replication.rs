//! P52: replication commands are for those who may.

use crate::api_kit::*;
use crate::kit::*;

/// An event of the stream holds these bytes.
async fn until_event(replica: &mut Client, mark: &[u8]) {
    loop {
        let event = replica.stream().expect_packet().await.unwrap();
        assert_eq!(event.payload[0], 0, "{event:?}");
        if event.payload.windows(mark.len()).any(|bytes| bytes == mark) {
            break;
        }
    }
}

const ALLOWED: &str = "[auth]\nreplication_users = [\"app\"]\n[[user]]\nname = \"root\"\npassword = \"\"\n";

#[tokio::test]
async fn p52_replication_commands_need_a_permission() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir_with(&server, ALLOWED);
        // Listed without `replication`, and passed through without being named.
        for (user, password) in [("root", ""), ("nopw", "")] {
            let mut client = ConnectOptions::tcp(weir.addr(), user, password).connect().await.unwrap();
            for (code, body) in [
                (command::REGISTER_SLAVE, vec![1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
                (command::BINLOG_DUMP, vec![4, 0, 0, 0, 0, 0, 1, 0, 0, 0]),
                (0x1e, vec![0; 30]),
                (0x13, Vec::new()),
            ] {
                client.send(code, &body).await.unwrap();
                let packet = client.stream().expect_packet().await.unwrap();
                let err = ErrPacket::parse(&packet.payload).unwrap();
                assert_eq!((packet.seq, err.code), (1, 1227), "{flavor:?} {code:#x}: {err}");
                assert_eq!(client.scalar("SELECT 7").await.unwrap().as_deref(), Some("7"));
            }
        }
    }
}

#[tokio::test]
async fn p52_a_permitted_user_registers_and_reads_the_binary_log() {
    for flavor in Flavor::BOTH {
        let builder = Server::builder(flavor).arg("--log-bin=binlog").arg("--server-id=7");
        let server = builder.start().unwrap();
        let weir = weir_with(&server, ALLOWED);
        let mut client = app(weir.addr()).connect().await.unwrap();
        let sql = match flavor {
            Flavor::MariaDb => "SHOW MASTER STATUS",
            Flavor::MySql => "SHOW BINARY LOG STATUS",
        };
        let file = client.scalar(sql).await.unwrap().unwrap();
        client.run("SET @source_binlog_checksum = 'NONE', @master_binlog_checksum = 'NONE'").await.unwrap();
        client.run("SET @mariadb_slave_capability = 4").await.unwrap();
        let mut register = 99u32.to_le_bytes().to_vec();
        register.extend([0; 3 + 2 + 4 + 4]);
        let registered = client.command(command::REGISTER_SLAVE, &register).await.unwrap();
        assert!(registered.ok().is_some(), "{flavor:?}: {registered:?}");
        // From position 4, to block at the end.
        let mut dump = 4u32.to_le_bytes().to_vec();
        dump.extend([0, 0]);
        dump.extend(99u32.to_le_bytes());
        dump.extend(file.bytes());
        client.send(command::BINLOG_DUMP, &dump).await.unwrap();
        let mut admin = app(weir.addr()).connect().await.unwrap();
        admin.run("CREATE DATABASE replicated_marker").await.unwrap();
        until_event(&mut client, b"replicated_marker").await;
        // The stream is no statement, and whoever wants it to end is told what ends it.
        let id = client.greeting().connection_id.to_string();
        assert_eq!(told_json(&weir, &["sessions", "show", &id])["state"], "binlog", "{flavor:?}");
        let refused = refused_with(&weir, &["kill", &id, "--query"]);
        assert!(refused.contains(&format!("`weir kill {id}`")), "{flavor:?}: {refused}");
        let line = format!("POST /api/v1/sessions/{id}/kill");
        let headers = "Host: localhost\r\nContent-Type: application/json\r\n";
        let (status, answer) = request(&weir, &line, headers, r#"{"what": "query"}"#).await;
        assert_eq!((status, answer["error"]["code"].as_str()), (409, Some("sends_binlog")), "{flavor:?}");
        // Nobody should end it for the cache's sake: of the two sessions only the other might be served after another login.
        told(&weir, &["rules", "add", "--name", "all", "--match-kind", "read", "--ttl", "1s"]);
        assert_eq!(told_json(&weir, &["status"])["clients"]["not_served"], 1, "{flavor:?}");
        admin.run("CREATE DATABASE replicated_behind").await.unwrap();
        until_event(&mut client, b"replicated_behind").await;
        // Another session sees the stream, and ending it ends the replica's connection.
        match flavor {
            Flavor::MariaDb => drop(admin.run(&format!("KILL {id}")).await.unwrap()),
            Flavor::MySql => drop(told(&weir, &["kill", &id])),
        }
        while let Ok(Some(_)) = client.stream().read_packet().await {}
        until("the server has ended the stream", async || {
            let dumps =
                "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'";
            (admin.scalar(dumps).await.unwrap().as_deref() == Some("0")).then_some(())
        })
        .await;
    }
}
