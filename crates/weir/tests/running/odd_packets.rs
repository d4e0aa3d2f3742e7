//! P50: what no client should send is answered as the server answers it.

use crate::cache_kit::MODES;
use crate::kit::*;
use crate::sharing_kit::*;

/// Commands that no client sends, with bodies that hold too little.
fn oddities() -> Vec<(u8, Vec<u8>)> {
    let mut all = Vec::new();
    for code in [0x00, 0x0b, 0x0f, 0x10, 0x14, 0x1d, 0x24, 0x40, 0x7f, 0x80, 0xf9, 0xfb, 0xfc, 0xff] {
        all.push((code, Vec::new()));
        all.push((code, b"junk".to_vec()));
    }
    for len in [0, 1, 3, 4, 8] {
        for code in [command::STMT_EXECUTE, command::STMT_FETCH, command::STMT_RESET] {
            all.push((code, vec![9; len]));
        }
    }
    for body in [&b""[..], b"\0", b"\x07\0", b"\x01\0\0\0\0"] {
        all.push((command::SET_OPTION, body.to_vec()));
    }
    for code in [command::INIT_DB, command::STMT_PREPARE, command::QUERY, command::FIELD_LIST] {
        all.push((code, Vec::new()));
        all.push((code, b"\0\xff\xfe'\"`\\".to_vec()));
    }
    all.push((command::STATISTICS, b"more".to_vec()));
    all.push((command::PING, b"more".to_vec()));
    all.push((command::RESET_CONNECTION, b"more".to_vec()));
    all
}

#[tokio::test]
async fn p50_unknown_and_malformed_commands_get_the_servers_answer() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        let mut twin = Twin::open(&server, &weir, |o| o).await;
        for (code, body) in oddities() {
            // The numbers in COM_STATISTICS are never the same twice.
            if code == command::STATISTICS {
                twin.direct.command(code, &body).await.unwrap();
                let response = twin.weir.command(code, &body).await.unwrap();
                assert!(response.packets[0].payload.starts_with(b"Uptime"));
                continue;
            }
            let response = twin.command(code, &body).await;
            if response.closed {
                twin = Twin::open(&server, &weir, |o| o).await;
                continue;
            }
            let alive = twin.command(command::PING, &[]).await;
            if alive.closed {
                twin = Twin::open(&server, &weir, |o| o).await;
            }
        }
    }
}

/// Also where it shares connections, and has none when it comes.
#[tokio::test]
async fn p50_an_empty_packet_gets_the_servers_answer() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        for mode in MODES {
            let weir = sharing(&server, 4, mode, "");
            let mut twin = Twin::open(&server, &weir, |o| o).await;
            for before in ["SELECT 1", "SET @a = 1", "not a statement"] {
                let mut answers = Vec::new();
                for client in [&mut twin.direct, &mut twin.weir] {
                    client.query(before).await.unwrap();
                    client.stream().write_packet(0, b"").await.unwrap();
                    answers.push(client.stream().expect_packet().await.unwrap().payload);
                    // The session goes on.
                    answers.push(row(client, "SELECT @@autocommit").await.into_bytes());
                }
                let err = ErrPacket::parse(&answers[0]).unwrap();
                assert_eq!((err.code, &answers[..2]), (1047, &answers[2..]), "{flavor:?} {mode} {before}");
            }
            // One that leaves behind it leaves nothing.
            let before = metric(&weir, "weir_clients_connected").await;
            let mut other = app(weir.addr()).connect().await.unwrap();
            other.run("SELECT 1").await.unwrap();
            other.stream().write_packet(0, b"").await.unwrap();
            drop(other);
            until("it is gone", async || {
                (metric(&weir, "weir_clients_connected").await == before).then_some(())
            })
            .await;
        }
    }
}

/// It waits for a connection as anything else does, and hears what comes of that.
#[tokio::test]
async fn p50_an_empty_packet_that_gets_no_connection_is_told_so() {
    for (flavor, server) in both() {
        database(&server, "odd_full", &["CREATE TABLE t (i INT)"]).await;
        for (pool, told) in
            [("max_waiting = 0\n", "pool.max_waiting"), ("queue_timeout = \"1s\"\n", "pool.queue_timeout")]
        {
            let weir = sharing(&server, 1, pool, "");
            let [mut one, mut two] = clients(&weir, "odd_full").await;
            one.run("BEGIN").await.unwrap();
            one.run("INSERT INTO t VALUES (1)").await.unwrap();
            two.stream().write_packet(0, b"").await.unwrap();
            let packet = two.stream().expect_packet().await.unwrap();
            let err = ErrPacket::parse(&packet.payload).unwrap();
            assert!(err.message.contains(told), "{flavor:?} {err}");
            one.run("ROLLBACK").await.unwrap();
            // That was for the empty packet, and for nothing behind it.
            assert_eq!(row(&mut two, "SELECT COUNT(*) FROM t").await, "0", "{flavor:?} {pool}");
        }
    }
}

/// MariaDB takes -1 as the statement that was prepared last, here too; MySQL as an id that nobody has.
#[tokio::test]
async fn p50_the_id_minus_one_closes_what_it_closes_at_the_server() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        for mode in MODES {
            let weir = sharing(&server, 4, mode, "");
            let mut twin = Twin::open(&server, &weir, |o| o).await;
            let mut answers = Vec::new();
            for client in [&mut twin.direct, &mut twin.weir] {
                let ids = [
                    client.prepare("SELECT 1").await.unwrap().id,
                    client.prepare("SELECT 2").await.unwrap().id,
                ];
                for id in [u32::MAX, u32::MAX, ids[0]] {
                    client.send(command::STMT_CLOSE, &id.to_le_bytes()).await.unwrap();
                }
                for id in ids {
                    let execution =
                        command::Execute { id, flags: 0, params: &[], types: false, attributes: false };
                    let answer = client.command(command::STMT_EXECUTE, &execution.body()).await.unwrap();
                    answers.push(answer.err().map(|err| err.code));
                }
            }
            let closed = Some(1243);
            let last = if flavor == Flavor::MariaDb { closed } else { None };
            assert_eq!(answers, [closed, last, closed, last], "{flavor:?} {mode}");
        }
    }
}

#[tokio::test]
async fn p50_a_wrong_sequence_number_ends_the_connection_as_at_the_server() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        for payload in [&b"\x0e"[..], b"\x03SELECT 1"] {
            let mut twin = Twin::open(&server, &weir, |o| o).await;
            let mut answers = Vec::new();
            for client in [&mut twin.direct, &mut twin.weir] {
                client.stream().write_packet(5, payload).await.unwrap();
                let mut packets = Vec::new();
                // MySQL says 1156 first, MariaDB resets.
                while let Ok(Some(packet)) = client.stream().read_packet().await {
                    packets.push(packet);
                }
                answers.push(packets);
            }
            assert_eq!(answers[0], answers[1], "{flavor:?}");
        }
    }
}

#[tokio::test]
async fn p50_a_truncated_change_user_is_refused_and_ends_the_connection() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        for body in [&b""[..], b"app", b"app\0\x14abc"] {
            let mut client = app(weir.addr()).connect().await.unwrap();
            client.send(command::CHANGE_USER, body).await.unwrap();
            let packet = client.stream().expect_packet().await.unwrap();
            let err = ErrPacket::parse(&packet.payload).unwrap();
            assert!(matches!(err.code, 1047 | 1045 | 1043), "{body:?}: {err}");
            assert!(client.stream().read_packet().await.unwrap().is_none());
        }
    }
}
