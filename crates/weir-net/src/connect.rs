//! Connecting by TCP without waiting for it.

use crate::sockopt::TcpOptions;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::SocketAddr;
use tokio::net::TcpStream;

/// Begins to connect to `peer`. Nobody need wait for the connection itself: the first read waits for it, and fails as
/// it failed (refused, unreachable, timed out). MySQL servers speak first, so waiting for both apart would cost a
/// wake-up and a system call for each connection.
///
/// # Errors
/// What the kernel says at once: no descriptors or ports left, no route.
pub fn begin_connect(peer: SocketAddr, options: &TcpOptions) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(peer), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    options.apply_to_new(&socket)?;
    match socket.connect(&peer.into()) {
        Err(e) if e.raw_os_error() != Some(libc::EINPROGRESS) => Err(e),
        _ => TcpStream::from_std(socket.into()),
    }
}

#[cfg(test)]
mod tests;
