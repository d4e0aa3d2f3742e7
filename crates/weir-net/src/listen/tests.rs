use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::net::UnixStream;

use super::*;

fn reaches(address: SocketAddr, listener: &TcpListener) {
    let mut client = TcpStream::connect(address).unwrap();
    listener.set_nonblocking(false).unwrap();
    let (mut accepted, _) = listener.accept().unwrap();
    client.write_all(b"x").unwrap();
    let mut byte = [0];
    accepted.read_exact(&mut byte).unwrap();
    assert_eq!(&byte, b"x");
}

fn message(error: ListenError) -> String {
    error.to_string()
}

#[test]
fn tcp_by_ipv4_address() {
    let listeners = bind_tcp("127.0.0.1", 0).unwrap();
    assert_eq!(listeners.len(), 1);
    assert_eq!(listeners[0].accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    assert!(socket2::SockRef::from(&listeners[0]).reuse_address().unwrap());
    reaches(listeners[0].local_addr().unwrap(), &listeners[0]);
}

#[test]
fn tcp_by_name_gives_every_address_on_one_port() {
    let listeners = bind_tcp("localhost", 0).unwrap();
    let port = listeners[0].local_addr().unwrap().port();
    assert_ne!(port, 0);
    for listener in &listeners {
        let address = listener.local_addr().unwrap();
        assert_eq!(address.port(), port);
        assert!(address.ip().is_loopback());
        reaches(address, listener);
    }
}

#[test]
fn tcp_on_all_addresses_takes_ipv4_too() {
    let listeners = bind_tcp("*", 0).unwrap();
    let port = listeners[0].local_addr().unwrap().port();
    reaches((Ipv4Addr::LOCALHOST, port).into(), &listeners[0]);
}

#[test]
fn tcp_ipv6_with_brackets_and_without() {
    // A machine without IPv6 answers with an error that says so; it must then do so for both spellings.
    match (bind_tcp("[::1]", 0), bind_tcp("::1", 0)) {
        (Ok(one), Ok(other)) => {
            reaches(one[0].local_addr().unwrap(), &one[0]);
            assert!(other[0].local_addr().unwrap().is_ipv6());
        }
        (one, other) => assert!(message(one.unwrap_err()).contains("[::1]:0") && other.is_err()),
    }
}

#[test]
fn tcp_errors_say_where_and_what_to_do() {
    let taken = bind_tcp("127.0.0.1", 0).unwrap();
    let address = taken[0].local_addr().unwrap();
    let text = message(bind_tcp("127.0.0.1", address.port()).unwrap_err());
    assert!(text.contains(&address.to_string()) && text.contains("ss -ltnp"), "{text}");
    let text = message(bind_tcp("192.0.2.1", 0).unwrap_err());
    assert!(text.contains("192.0.2.1:0") && text.contains("no such address"), "{text}");
    let text = message(bind_tcp("no-such-host.invalid", 6033).unwrap_err());
    assert!(text.contains("no-such-host.invalid:6033") && text.contains("cannot be resolved"), "{text}");
}

#[test]
fn unix_socket_is_open_to_all_and_gone_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mysql.sock");
    let bound = bind_unix(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o777);
    assert_eq!(bound.listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    let _client = UnixStream::connect(bound.file.path()).unwrap();
    bound.listener.accept().unwrap();
    drop(bound);
    assert!(!path.exists());
}

#[test]
fn unix_stale_socket_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mysql.sock");
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists(), "the standard library leaves the file behind, as a killed process does");
    let bound = bind_unix(&path).unwrap();
    UnixStream::connect(&path).unwrap();
    bound.listener.accept().unwrap();
}

#[test]
fn unix_socket_in_use_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mysql.sock");
    let first = bind_unix(&path).unwrap();
    let text = message(bind_unix(&path).unwrap_err());
    assert!(text.contains(path.to_str().unwrap()) && text.contains("another process answers"), "{text}");
    UnixStream::connect(&path).unwrap();
    drop(first);
}

#[test]
fn unix_socket_with_a_full_queue_counts_as_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mysql.sock");
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
    socket.bind(&SockAddr::unix(&path).unwrap()).unwrap();
    socket.listen(0).unwrap();
    let waiting = UnixStream::connect(&path).unwrap();
    let text = message(bind_unix(&path).unwrap_err());
    assert!(text.contains("another process answers"), "{text}");
    drop(waiting);
}

#[test]
fn unix_other_files_are_never_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mysql.sock");
    fs::write(&path, "precious").unwrap();
    let text = message(bind_unix(&path).unwrap_err());
    assert!(text.contains("not a socket"), "{text}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
}

#[test]
fn unix_errors_say_where_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("absent/mysql.sock");
    let text = message(bind_unix(&path).unwrap_err());
    assert!(text.contains(path.to_str().unwrap()) && text.contains("directory exists"), "{text}");
    let path = folder.path().join("x".repeat(200));
    let text = message(bind_unix(&path).unwrap_err());
    assert!(text.contains("at most 107"), "{text}");
}

#[test]
fn unix_socket_of_a_successor_survives_our_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mysql.sock");
    let first = bind_unix(&path).unwrap();
    fs::rename(&path, folder.path().join("moved")).unwrap();
    let second = bind_unix(&path).unwrap();
    drop(first);
    UnixStream::connect(&path).unwrap();
    second.listener.accept().unwrap();
}

#[test]
fn what_the_system_says_is_told_once_and_where_another_port_is_chosen() {
    let taken = bind_tcp("127.0.0.1", 0).unwrap();
    let port = taken[0].local_addr().unwrap().port();
    let error = bind_tcp("127.0.0.1", port).unwrap_err();
    assert!(std::error::Error::source(&error).is_none(), "who prints the sources would say it twice");
    let said = error.to_string();
    assert!(said.contains("os error") && said.contains("[listen]") && said.contains("--listen"), "{said}");
}
