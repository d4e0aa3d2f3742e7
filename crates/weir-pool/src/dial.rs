//! Connecting to a server, as far as its greeting.

use crate::error::{ConnectError, RefusedLogin};
use crate::upstream::{Target, Upstream};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio::time::timeout;
use weir_config::Address;
use weir_net::{KeepAlive, PacketStream, Socket, Stream, TcpOptions};
use weir_wire::MAX_PAYLOAD;
use weir_wire::greeting::{FirstPacket, Greeting};

/// A connection, how its server greeted, and the address that answered.
pub type Dialled = (PacketStream, Greeting, Option<SocketAddr>);

/// Connects and reads the greeting. The server counts a connection that ends here as an error against Weir's
/// address (`max_connect_errors`), so the caller goes on to log in. With `peer` that address is dialled, whatever the
/// target's name now stands for. Returns the address that answered, too; `None` for a unix socket.
pub async fn dial(
    upstream: &Upstream,
    target: &Target,
    peer: Option<SocketAddr>,
) -> Result<Dialled, ConnectError> {
    let result = match timeout(target.connect_timeout, connect_and_greet(target, peer)).await {
        Ok(result) => result,
        Err(_) => Err(ConnectError::Timeout {
            server: target.name.clone(),
            address: target.address.to_string(),
            seconds: target.connect_timeout.as_secs_f64(),
        }),
    };
    if let Ok((_, greeting, _)) = &result {
        upstream.greeted(greeting);
    }
    result
}

async fn connect_and_greet(target: &Target, peer: Option<SocketAddr>) -> Result<Dialled, ConnectError> {
    let connected = match peer {
        Some(peer) => connect_tcp(peer, target.keepalive).await,
        None => connect(&target.address, target.keepalive).await,
    };
    let (stream, peer) = connected.map_err(|source| ConnectError::Unreachable {
        server: target.name.clone(),
        address: target.address.to_string(),
        source,
    })?;
    let mut packets = PacketStream::new(stream, Vec::new(), MAX_PAYLOAD);
    let read = packets.read().await;
    let payload = read.map_err(|e| ConnectError::packet(&target.name, &target.address.to_string(), e))?;
    match Greeting::parse_first(&payload) {
        Ok(FirstPacket::Greeting(greeting)) => Ok((packets, *greeting, peer)),
        Ok(FirstPacket::Refused(err)) => {
            let payload = err.to_payload();
            Err(ConnectError::Refused { server: target.name.clone(), refusal: RefusedLogin { err, payload } })
        }
        Err(e) => Err(ConnectError::Protocol { server: target.name.clone(), what: e.to_string() }),
    }
}

async fn connect(address: &Address, keepalive: Duration) -> io::Result<(Stream, Option<SocketAddr>)> {
    match address {
        Address::Unix(path) => Ok((Stream::Plain(Socket::Unix(UnixStream::connect(path).await?)), None)),
        Address::Tcp { host, port } => {
            let mut last = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
            for candidate in lookup_host((host.as_str(), *port)).await? {
                match connect_tcp(candidate, keepalive).await {
                    Ok(connected) => return Ok(connected),
                    Err(e) => last = e,
                }
            }
            Err(last)
        }
    }
}

async fn connect_tcp(peer: SocketAddr, keepalive: Duration) -> io::Result<(Stream, Option<SocketAddr>)> {
    let tcp = TcpStream::connect(peer).await?;
    if peer.ip().is_loopback() {
        // The kernel tells at once when a process of this machine ends; there is nobody to send probes to.
        tcp.set_nodelay(true)?;
    } else {
        tcp_options(keepalive).apply(&tcp)?;
    }
    Ok((Stream::Plain(Socket::Tcp(tcp)), Some(peer)))
}

fn tcp_options(idle: Duration) -> TcpOptions {
    let keepalive = (!idle.is_zero()).then(|| KeepAlive { idle, ..KeepAlive::default() });
    TcpOptions { keepalive, ..TcpOptions::default() }
}
