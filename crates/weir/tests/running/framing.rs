//! Packet boundaries: sizes around 16 MiB, sequence numbers, what is larger than the server takes.

use aws_lc_rs::digest::{SHA256, digest};
use weir_testkit::client::bytes::text_row;
use weir_wire::compress::Algorithm;

use crate::kit::*;
use crate::packed_link::packed;

/// Payloads around one and two full packets.
const SIZES: [usize; 12] = [
    0xff_fffa, 0xff_fffb, 0xff_fffc, 0xff_fffd, 0xff_fffe, 0xff_ffff, 0x100_0000, 0x100_0001, 0x1ff_fffd,
    0x1ff_fffe, 0x1ff_ffff, 0x200_0000,
];

/// Where a full packet ends and one byte more or less decides.
const EDGES: [usize; 4] = [0xff_fffe, 0xff_ffff, 0x100_0000, 0x1ff_fffe];

/// A statement whose request and whose only row have exactly `size` bytes of payload, and the row's value.
fn statement(size: usize) -> (Vec<u8>, Vec<u8>) {
    // A row of one column is its length, 4 or 9 bytes, and its value.
    let value_len = if size - 4 <= 0xff_ffff { size - 4 } else { size - 9 };
    let mut sql = b"SELECT CONCAT(SHA2('".to_vec();
    let tail = format!("', 256), REPEAT('y', {})) c", value_len - 64);
    let pad_len = size - 1 - sql.len() - tail.len();
    // 251 is prime: a piece that is lost, doubled or moved changes the digest.
    let piece: Vec<u8> = (0..251).map(|i| b'a' + (i % 26) as u8).collect();
    // Whole pieces at a time: byte by byte, unoptimised code takes seconds for it.
    let mut pad = piece.repeat(pad_len / piece.len() + 1);
    pad.truncate(pad_len);
    sql.extend_from_slice(&pad);
    sql.extend_from_slice(tail.as_bytes());
    let mut value: Vec<u8> =
        digest(&SHA256, &pad).as_ref().iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect();
    value.extend_from_slice(&b"y".repeat(value_len - value.len()));
    (sql, value)
}

async fn there_and_back(client: &mut Client, size: usize) {
    let (sql, value) = statement(size);
    let response = client.query(&sql).await.unwrap();
    let rows: Vec<_> = response.rows().collect();
    assert_eq!(rows.len(), 1, "{size:#x}: {:?}", response.err());
    assert_eq!(rows[0].len(), size);
    let got = text_row(rows[0]).unwrap();
    assert!(got[0].as_deref() == Some(&value[..]), "{size:#x}: the value differs");
    // The request of 0xFFFFFF takes two packets, so the answer begins with number 2. Under compression a server
    // counts frames instead, and no client looks.
    if !client.capabilities().has(Caps::COMPRESS) && !client.capabilities().has(Caps::ZSTD) {
        numbered(&response, 1 + (size / 0xff_ffff) as u8);
    }
    let answer = client.command(command::PING, &[]).await.unwrap();
    assert!(answer.ok().is_some(), "{size:#x}: {answer:?}");
}

#[tokio::test]
async fn p1_payloads_around_full_packets_on_plain_links() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        let mut client = app(weir.addr()).connect().await.unwrap();
        for size in SIZES {
            there_and_back(&mut client, size).await;
        }
    }
}

#[tokio::test]
async fn p1_payloads_around_full_packets_under_tls_zlib_and_zstd() {
    let mysql = server(Flavor::MySql);
    let tls = weir_with(&mysql, "[server.tls]\nmode = \"required\"\n");
    let mut client = app(tls.addr()).tls(Tls::Unverified).connect().await.unwrap();
    for size in EDGES {
        there_and_back(&mut client, size).await;
    }
    for (algorithm, name) in [(Algorithm::Zlib, "zlib"), (Algorithm::Zstd(1), "zstd")] {
        let address = mysql.addr().to_string();
        let text = config(&address, "").replace("tls =", &format!("compression = \"{name}\"\ntls ="));
        let weir = Weir::config(text).start().unwrap();
        for size in EDGES {
            let mut client = app(weir.addr()).connect().await.unwrap();
            there_and_back(&mut client, size).await;
        }
        let mut client = packed(&app(weir.addr()), algorithm).await.unwrap();
        assert_eq!(shown(&mut client, "server_compression").await, name);
        for size in EDGES {
            there_and_back(&mut client, size).await;
        }
    }
}

#[tokio::test]
async fn p1_the_smallest_payloads() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        let mut twin = Twin::open(&server, &weir, |o| o).await;
        for (payload, expected) in [(&b""[..], 1047), (b"\x03", 1065), (b"\x0e", 0)] {
            let mut codes = Vec::new();
            for client in [&mut twin.direct, &mut twin.weir] {
                client.stream().write_packet(0, payload).await.unwrap();
                let response = client.receive(command::PING).await.unwrap();
                numbered(&response, 1);
                codes.push(response.err().map_or(0, |err| err.code));
            }
            assert_eq!(codes, [expected, expected], "{payload:?}");
        }
    }
}

#[tokio::test]
async fn p1_p37_parameters_around_full_packets() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        let mut twin = Twin::open(&server, &weir, |o| o).await;
        let ids = twin.prepare("SELECT LENGTH(?), SHA2(?, 256)").await;
        for size in EDGES {
            // The whole COM_STMT_SEND_LONG_DATA has `size` bytes of payload.
            let chunk = vec![b'q'; size - 7];
            for param in [0, 1] {
                twin.on(ids, command::STMT_SEND_LONG_DATA, |id| command::long_data(id, param, &chunk)).await;
            }
            let execute = |id, params: &[command::Param]| {
                command::Execute { id, flags: 0, params, types: true, attributes: false }.body()
            };
            let params = [command::Param::LongData, command::Param::LongData];
            let response = twin.on(ids, command::STMT_EXECUTE, |id| execute(id, &params)).await;
            assert_eq!(response.rows().count(), 1, "{size:#x}: {:?}", response.err());
            // As a value of the execution, whose payload then has about that size.
            let blob = [command::Param::Null, command::Param::Bytes(vec![b'r'; size - 40])];
            let response = twin.on(ids, command::STMT_EXECUTE, |id| execute(id, &blob)).await;
            assert_eq!(response.rows().count(), 1, "{size:#x}: {:?}", response.err());
        }
    }
}

#[tokio::test]
async fn p2_sequence_numbers_wrap_in_long_results() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        for more in [Caps::default(), Caps::DEPRECATE_EOF] {
            let mut twin = Twin::open(&server, &weir, |o| o.with(more)).await;
            twin.run("CREATE TEMPORARY TABLE digits (d INT)").await;
            twin.run("INSERT INTO digits VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)").await;
            twin.run("CREATE TEMPORARY TABLE digits2 AS SELECT * FROM digits").await;
            twin.run("CREATE TEMPORARY TABLE digits3 AS SELECT * FROM digits").await;
            let sql = "SELECT a.d, b.d, c.d FROM digits a, digits2 b, digits3 c ORDER BY 1, 2, 3";
            let response = twin.run(sql).await;
            assert_eq!(response.rows().count(), 1000);
            numbered(&response, 1);
            let next = twin.run("SELECT 1").await;
            numbered(&next, 1);
        }
    }
}

#[tokio::test]
async fn p3_more_than_max_allowed_packet_is_the_servers_error_1153() {
    for flavor in Flavor::BOTH {
        let server = server(flavor);
        let weir = weir(&server);
        // The kit's servers take 64 MiB.
        let sql = vec![b' '; 70 << 20];
        for addr in [server.addr(), weir.addr()] {
            let mut client = app(addr).connect().await.unwrap();
            // The server stops reading and closes, so the rest of the request may not go out any more.
            client.send(command::QUERY, &sql).await.ok();
            let packet = client.stream().expect_packet().await.unwrap();
            let err = ErrPacket::parse(&packet.payload).unwrap();
            assert_eq!((err.code, err.state.as_str()), (1153, "08S01"), "{flavor:?} at {addr}: {err}");
        }
        // 50 MB pass, and Weir does not hold them.
        let before = weir.resident_bytes().unwrap();
        let mut client = app(weir.addr()).connect().await.unwrap();
        let sql = format!("SELECT LENGTH('{}')", "x".repeat(50_000_000));
        assert_eq!(client.scalar(&sql).await.unwrap().as_deref(), Some("50000000"));
        let grown = weir.resident_bytes().unwrap().saturating_sub(before);
        assert!(grown < 8 << 20, "Weir grew by {grown} bytes");
    }
}
