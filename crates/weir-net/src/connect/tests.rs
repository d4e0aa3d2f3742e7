use super::*;
use crate::sockopt::KeepAlive;
use crate::{PacketError, PacketStream, Socket as AnySocket, Stream};
use std::io::Write;
use std::net::TcpListener;
use std::time::Duration;

fn packets(tcp: TcpStream) -> PacketStream {
    PacketStream::new(Stream::Plain(AnySocket::Tcp(tcp)), Vec::new(), 1024)
}

#[tokio::test]
async fn the_first_read_waits_for_the_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = packets(begin_connect(listener.local_addr().unwrap(), &TcpOptions::default()).unwrap());
    let (mut server, _) = listener.accept().unwrap();
    server.write_all(&[2, 0, 0, 0, b'h', b'i']).unwrap();
    assert_eq!(client.read().await.unwrap(), b"hi");
}

#[tokio::test]
async fn the_first_read_fails_as_the_connection_did() {
    // Bound and not listening: the port refuses, and nobody else can take it.
    let bound = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    bound.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    let peer = bound.local_addr().unwrap().as_socket().unwrap();
    let refused = match begin_connect(peer, &TcpOptions::default()) {
        Ok(tcp) => packets(tcp).read().await.unwrap_err(),
        Err(e) => PacketError::Io(e),
    };
    assert!(
        matches!(&refused, PacketError::Io(e) if e.kind() == io::ErrorKind::ConnectionRefused),
        "{refused:?}"
    );
}

#[tokio::test]
async fn options_are_set_before_the_connection_is_there() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let idle = Duration::from_secs(9);
    for keepalive in [None, Some(KeepAlive { idle, ..KeepAlive::default() })] {
        let options = TcpOptions { keepalive, ..TcpOptions::default() };
        let tcp = begin_connect(listener.local_addr().unwrap(), &options).unwrap();
        let socket = socket2::SockRef::from(&tcp);
        assert!(socket.tcp_nodelay().unwrap());
        assert_eq!(socket.keepalive().unwrap(), keepalive.is_some());
        assert!(keepalive.is_none() || socket.tcp_keepalive_time().unwrap() == idle);
    }
}
