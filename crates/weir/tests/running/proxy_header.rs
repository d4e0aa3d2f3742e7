//! P13: PROXY headers, believed from listed sources and from nobody else.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpSocket;
use weir_testkit::client::PacketStream;

use crate::kit::*;

/// Only this source may send a header.
const LISTED: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

async fn open(weir: &Weir, source: Ipv4Addr) -> PacketStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from((source, 0))).unwrap();
    let stream = socket.connect(weir.addr()).await.unwrap();
    stream.set_nodelay(true).unwrap();
    PacketStream::new(Box::new(stream), PATIENCE)
}

fn v2(version_command: u8, family: u8, addresses: &[u8], tlvs: &[u8]) -> Vec<u8> {
    let len = (addresses.len() + tlvs.len()) as u16;
    [&b"\r\n\r\n\0\r\nQUIT\n"[..], &[version_command, family], &len.to_be_bytes(), addresses, tlvs].concat()
}

fn proxied_weir(server: &Server, login_timeout: &str) -> Weir {
    let listen = "[listen]\nmysql = [\"$LISTEN\"]\nadmin = \"$ADMIN\"\nproxy_protocol = [\"127.0.0.2/32\"]\n";
    let limits = format!("[limits]\nlogin_timeout = \"{login_timeout}\"\nauth_failure_delay = \"20ms\"\n");
    weir_with(server, &format!("{listen}{limits}"))
}

#[tokio::test]
async fn p13_a_listed_source_names_the_client() {
    let server = server(Flavor::MariaDb);
    let weir = proxied_weir(&server, "30s");
    let v4 = [203, 0, 113, 9, 127, 0, 0, 1, 0x9c, 0x40, 0x17, 0x91];
    let mut v6 = [0; 36];
    (v6[0], v6[1], v6[15]) = (0x20, 0x01, 9);
    for (header, host) in [
        (b"PROXY TCP4 203.0.113.9 127.0.0.1 40000 6033\r\n".to_vec(), "203.0.113.9"),
        (b"PROXY TCP6 2001::9 ::1 40000 6033\r\n".to_vec(), "2001::9"),
        (b"PROXY UNKNOWN\r\n".to_vec(), "127.0.0.2"),
        (b"PROXY UNKNOWN 203.0.113.9 127.0.0.1 40000 6033\r\n".to_vec(), "127.0.0.2"),
        (v2(0x21, 0x11, &v4, b""), "203.0.113.9"),
        (v2(0x21, 0x11, &v4, b"\x04\0\x03abc"), "203.0.113.9"),
        (v2(0x21, 0x21, &v6, b""), "2001::9"),
        (v2(0x20, 0x00, b"", b""), "127.0.0.2"),
        (v2(0x20, 0x11, &v4, b""), "127.0.0.2"),
    ] {
        for tls in [Tls::Off, Tls::Unverified] {
            for slice in [1, 5, usize::MAX] {
                let mut stream = open(&weir, LISTED).await;
                for part in header.chunks(slice.min(header.len())) {
                    stream.write_raw(part).await.unwrap();
                }
                let options = app(weir.addr()).tls(tls.clone());
                let mut client = Client::log_in(stream, &options).await.unwrap();
                assert_eq!(shown(&mut client, "client_host").await, host, "{}", header.escape_ascii());
            }
        }
    }
}

#[tokio::test]
async fn p13_malformed_and_missing_headers_of_a_listed_source_end_the_connection() {
    let server = server(Flavor::MariaDb);
    let weir = proxied_weir(&server, "1s");
    let long = [&b"PROXY TCP4 "[..], &[b'1'; 200]].concat();
    for bytes in [
        &b"PROXY TCP4 999.0.113.9 127.0.0.1 40000 6033\r\n"[..],
        b"PROXY TCP4 203.0.113.9 127.0.0.1 40000\r\n",
        b"PROXY TCP5 203.0.113.9 127.0.0.1 40000 6033\r\n",
        b"proxy TCP4 203.0.113.9 127.0.0.1 40000 6033\r\n",
        &long,
        &v2(0x31, 0x11, &[0; 12], b""),
        &v2(0x21, 0x11, &[0; 4], b""),
        &v2(0x21, 0x11, &[0; 12], &[1; 60_000]),
        b"\x01\0\0\x01\x0e",
        b"",
    ] {
        let mut stream = open(&weir, LISTED).await;
        stream.write_raw(bytes).await.unwrap();
        // Without any bytes it is the login's time limit that ends it.
        let came = stream.read_packet().await;
        assert!(matches!(came, Ok(None) | Err(_)), "a greeting after {}: {came:?}", bytes.escape_ascii());
    }
    app(weir.addr()).connect().await.unwrap();
}

#[tokio::test]
async fn p13_a_header_of_anyone_else_is_no_header() {
    let server = server(Flavor::MariaDb);
    let weir = proxied_weir(&server, "30s");
    for header in [
        b"PROXY TCP4 203.0.113.9 127.0.0.1 40000 6033\r\n".to_vec(),
        v2(0x21, 0x11, &[203, 0, 113, 9, 127, 0, 0, 1, 0x9c, 0x40, 0x17, 0x91], b""),
    ] {
        let mut stream = open(&weir, Ipv4Addr::LOCALHOST).await;
        stream.write_raw(&header).await.unwrap();
        assert!(Client::log_in(stream, &app(weir.addr())).await.is_err(), "the header was taken");
    }
    assert!(!weir.log().contains("203.0.113.9"), "a claim of an unlisted source reached the log");
    let mut plain = app(weir.addr()).connect().await.unwrap();
    assert_eq!(shown(&mut plain, "client_host").await, "127.0.0.1");
}
