use std::io::Read;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::*;

/// The first packet of a server: 4 bytes of header, protocol version 10, the version string.
fn greeting(mut stream: impl Read) -> String {
    let mut header = [0; 4];
    stream.read_exact(&mut header).unwrap();
    let mut payload = vec![0; usize::from(header[0])];
    stream.read_exact(&mut payload).unwrap();
    assert_eq!(payload[0], 10, "{payload:?}");
    String::from_utf8_lossy(&payload[1..]).split('\0').next().unwrap().to_owned()
}

#[test]
fn servers_greet_on_port_and_socket_and_leave_nothing() {
    for flavor in Flavor::BOTH {
        let server = Server::start(flavor).unwrap();
        let version = greeting(TcpStream::connect(server.addr()).unwrap());
        assert_eq!(version.contains("MariaDB"), flavor == Flavor::MariaDb, "{version}");
        assert_eq!(greeting(UnixStream::connect(server.socket()).unwrap()), version);
        assert!(server.certs().ca.is_file() && server.certs().client_key.is_file());
        let (addr, home) = (server.addr(), server.home().to_owned());
        drop(server);
        assert!(TcpStream::connect(addr).is_err());
        assert!(!home.exists());
    }
}

#[test]
fn a_crashed_server_comes_back_on_its_port() {
    let mut server = Server::start(Flavor::MariaDb).unwrap();
    let pid = server.pid();
    server.kill9().unwrap();
    assert!(TcpStream::connect(server.addr()).is_err());
    server.restart().unwrap();
    assert_ne!(server.pid(), pid);
    greeting(TcpStream::connect(server.addr()).unwrap());
}

#[test]
fn a_stopped_server_is_silent_until_it_continues() {
    let mut server = Server::start(Flavor::MariaDb).unwrap();
    server.sigstop().unwrap();
    let mut silent = TcpStream::connect(server.addr()).unwrap();
    silent.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    assert!(silent.read(&mut [0; 1]).is_err());
    silent.set_read_timeout(None).unwrap();
    server.sigcont().unwrap();
    greeting(silent);
}

#[test]
fn two_leases_never_share_a_port() {
    let leases: Vec<_> = (0..50).map(|_| PortLease::take().unwrap()).collect();
    let mut numbers: Vec<_> = leases.iter().map(PortLease::number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), leases.len());
}
