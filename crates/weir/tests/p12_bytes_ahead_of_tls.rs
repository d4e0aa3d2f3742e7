//! Trap P12: what stands behind the request for TLS in the same segment was sent by whoever sits on the line.

#![allow(clippy::unwrap_used)]

use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use weir_testkit::{Flavor, Server, Weir};

/// PROTOCOL_41, SSL, SECURE_CONNECTION, PLUGIN_AUTH.
const FLAGS: u32 = 1 << 9 | 1 << 11 | 1 << 15 | 1 << 19;

/// Flags, longest packet, collation, filler: an SSLRequest, and the beginning of a handshake response.
fn head() -> Vec<u8> {
    let mut head = FLAGS.to_le_bytes().to_vec();
    head.extend_from_slice(&(1u32 << 24).to_le_bytes());
    head.push(45);
    head.extend_from_slice(&[0; 23]);
    head
}

fn put(out: &mut Vec<u8>, seq: u8, payload: &[u8]) {
    out.extend_from_slice(&u32::try_from(payload.len()).unwrap().to_le_bytes()[..3]);
    out.push(seq);
    out.extend_from_slice(payload);
}

#[tokio::test]
async fn p12_a_login_ahead_of_tls_goes_into_the_tls_handshake_and_ends_there() {
    let server = Server::start(Flavor::MariaDb).unwrap();
    let weir = Weir::in_front_of(&server).unwrap();
    let mut tcp = TcpStream::connect(weir.addr()).await.unwrap();
    let mut header = [0; 4];
    tcp.read_exact(&mut header).await.unwrap();
    let mut greeting = vec![0; usize::from(header[0])];
    tcp.read_exact(&mut greeting).await.unwrap();

    let mut segment = Vec::new();
    put(&mut segment, 1, &head());
    let mut login = head();
    login.extend_from_slice(b"nopw\0\0mysql_native_password\0");
    put(&mut segment, 2, &login);
    tcp.write_all(&segment).await.unwrap();

    let mut said = Vec::new();
    // A reset is an end as well.
    let _ = tcp.read_to_end(&mut said).await;
    // A TLS alert, if anything: the login was not taken for one.
    assert!(said.is_empty() || said[0] == 0x15, "{said:?}");
    weir.wait_for_line("reason=\"tls\"", Duration::from_secs(30)).unwrap();
}
