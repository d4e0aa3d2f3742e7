//! Who is at the other end of a connection.

use std::fmt;
use std::net::SocketAddr;

use tokio::net::{TcpStream, UnixStream};

/// The other end of a connection to the admin address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    Tcp(SocketAddr),
    /// The user of the process that connected, as the kernel knows it (SO_PEERCRED, unix(7)).
    Unix(Option<u32>),
    Unknown,
}

/// A connection that can tell who is at its other end.
pub trait FromPeer {
    fn peer(&self) -> Peer;
}

impl FromPeer for TcpStream {
    fn peer(&self) -> Peer {
        self.peer_addr().map_or(Peer::Unknown, Peer::Tcp)
    }
}

impl FromPeer for UnixStream {
    fn peer(&self) -> Peer {
        Peer::Unix(self.peer_cred().ok().map(|credentials| credentials.uid()))
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(Some(uid)) => write!(f, "unix, uid {uid}"),
            Self::Unix(None) | Self::Unknown => f.write_str("unknown"),
        }
    }
}
