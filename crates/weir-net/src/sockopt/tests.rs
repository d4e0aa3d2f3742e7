use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;

use super::*;

fn check(socket: &impl AsFd, expected: &TcpOptions) {
    let socket = SockRef::from(socket);
    assert_eq!(socket.tcp_nodelay().unwrap(), expected.nodelay);
    assert_eq!(socket.keepalive().unwrap(), expected.keepalive.is_some());
    if let Some(timing) = expected.keepalive {
        assert_eq!(socket.tcp_keepalive_time().unwrap(), timing.idle);
        assert_eq!(socket.tcp_keepalive_interval().unwrap(), timing.interval);
        assert_eq!(socket.tcp_keepalive_retries().unwrap(), timing.count);
    }
    assert_eq!(socket.tcp_user_timeout().unwrap(), expected.user_timeout);
}

fn unlike_the_default() -> TcpOptions {
    TcpOptions {
        nodelay: true,
        keepalive: Some(KeepAlive {
            idle: Duration::from_secs(7),
            interval: Duration::from_secs(3),
            count: 2,
        }),
        user_timeout: Some(Duration::from_millis(90_500)),
    }
}

#[test]
fn options_reach_the_kernel_through_std_sockets() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let plain = TcpOptions { nodelay: false, keepalive: None, user_timeout: None };
    for options in [TcpOptions::default(), unlike_the_default()] {
        options.apply(&client).unwrap();
        check(&client, &options);
    }
    let back = TcpOptions { user_timeout: unlike_the_default().user_timeout, ..plain };
    back.apply(&client).unwrap();
    check(&client, &back);
}

#[tokio::test]
async fn options_reach_the_kernel_through_tokio_sockets() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = tokio::net::TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    unlike_the_default().apply(&client).unwrap();
    check(&client, &unlike_the_default());
}

#[test]
fn fractions_of_seconds_are_rounded_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let brief = KeepAlive { idle: Duration::from_millis(1500), interval: Duration::ZERO, count: 1 };
    TcpOptions { keepalive: Some(brief), ..TcpOptions::default() }.apply(&client).unwrap();
    let whole = KeepAlive { idle: Duration::from_secs(2), interval: Duration::from_secs(1), count: 1 };
    check(&client, &TcpOptions { keepalive: Some(whole), ..TcpOptions::default() });
}

#[test]
fn a_unix_socket_is_refused() {
    let (one, _other) = UnixStream::pair().unwrap();
    assert!(TcpOptions::default().apply(&one).is_err());
}
