//! Taking connections as plain sockets, which no runtime knows yet: whoever serves one registers it, once.

use rustix::net::{SocketFlags, accept_with, acceptfrom_with};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};

/// Close-on-exec and nonblocking in the same system call (accept4(2)).
const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);

/// Takes one connection from a listener; the socket is nonblocking.
///
/// # Errors
/// What the kernel says: `WouldBlock` where none waits, `ConnectionAborted` where the client has left already, and
/// others where descriptors or memory have run out.
pub fn accept_tcp(listener: &TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
    let (socket, peer) = acceptfrom_with(listener, FLAGS)?;
    let peer = peer.ok_or(io::ErrorKind::ConnectionAborted)?;
    let peer = SocketAddr::try_from(peer)?;
    Ok((socket.into(), peer))
}

/// As [`accept_tcp`], on a Unix socket.
///
/// # Errors
/// As [`accept_tcp`].
pub fn accept_unix(listener: &UnixListener) -> io::Result<UnixStream> {
    Ok(accept_with(listener, FLAGS)?.into())
}
