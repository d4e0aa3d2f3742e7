//! Connecting to a server, as far as its greeting.

use crate::error::{ConnectError, RefusedLogin};
use crate::upstream::{Target, Upstream};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{UnixStream, lookup_host};
use tokio::time::timeout;
use weir_config::Address;
use weir_net::{KeepAlive, PacketStream, Socket, Stream, TcpOptions, begin_connect};
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
    let unreachable = |source| ConnectError::Unreachable {
        server: target.name.clone(),
        address: target.address.to_string(),
        source,
    };
    match (&target.address, peer) {
        (_, Some(peer)) => greet_by_tcp(target, peer).await,
        (Address::Unix(path), None) => {
            let unix = UnixStream::connect(path).await.map_err(unreachable)?;
            greet(target, Stream::Plain(Socket::Unix(unix)), None).await
        }
        (Address::Tcp { host, port }, None) => {
            let none = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
            let mut last = unreachable(none);
            for candidate in lookup_host((host.as_str(), *port)).await.map_err(unreachable)? {
                match greet_by_tcp(target, candidate).await {
                    // Whoever does not answer there may do so at the next address; whoever greets or refuses has.
                    Err(error @ ConnectError::Unreachable { .. }) => last = error,
                    answered => return answered,
                }
            }
            Err(last)
        }
    }
}

async fn greet_by_tcp(target: &Target, peer: SocketAddr) -> Result<Dialled, ConnectError> {
    let tcp = begin_connect(peer, &tcp_options(peer, target.keepalive));
    let tcp = tcp.map_err(|source| ConnectError::Unreachable {
        server: target.name.clone(),
        address: target.address.to_string(),
        source,
    })?;
    greet(target, Stream::Plain(Socket::Tcp(tcp)), Some(peer)).await
}

async fn greet(target: &Target, stream: Stream, peer: Option<SocketAddr>) -> Result<Dialled, ConnectError> {
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

fn tcp_options(peer: SocketAddr, idle: Duration) -> TcpOptions {
    // On loopback the kernel tells at once when a process ends; there is nobody to send probes to.
    let probed = !idle.is_zero() && !peer.ip().is_loopback();
    let keepalive = probed.then(|| KeepAlive { idle, ..KeepAlive::default() });
    TcpOptions { keepalive, ..TcpOptions::default() }
}
