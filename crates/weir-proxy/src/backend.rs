//! The server's side of a session: one connection, and what is known of it.

use crate::renumber::Renumber;
use std::sync::Arc;
use weir_model::ServerFamily;
use weir_net::Stream;
use weir_pool::{Place, ServerConnection, Slot};
use weir_wire::caps::Caps;
use weir_wire::greeting::{Greeting, Nonce};

/// A server connection as a session uses it.
#[derive(Debug)]
pub(crate) struct Backend {
    pub stream: Stream,
    /// Read from the server, not yet judged: part of a packet's head.
    pub held: Vec<u8>,
    /// Present where the link is compressed.
    pub renumber: Option<Renumber>,
    /// Flags agreed with the server, which are those of the client but for the link's.
    pub caps: Caps,
    /// The nonce in force, for COM_CHANGE_USER.
    pub nonce: Nonce,
    /// The server's id of the connection.
    pub id: u32,
    pub family: ServerFamily,
    /// As the servers compare versions in comments: 9.7.4 is 90704.
    pub version: u32,
    pub greeting: Arc<Greeting>,
    /// Which server the connection is with.
    pub place: Place,
    _slot: Slot,
}

impl From<ServerConnection> for Backend {
    fn from(connection: ServerConnection) -> Self {
        let renumber = connection.stream.compression().map(|_| Renumber::default());
        Self {
            stream: connection.stream,
            held: connection.early,
            renumber,
            caps: connection.caps,
            nonce: connection.nonce,
            id: connection.connection_id,
            family: connection.greeting.family(),
            version: version_number(&connection.greeting.version),
            greeting: connection.greeting,
            place: connection.place,
            _slot: connection.slot,
        }
    }
}

/// `9.7.4` -> 90704, `5.5.5-10.11.19-MariaDB` -> 101119: as the servers compare versions in comments.
fn version_number(version: &[u8]) -> u32 {
    let version = version.strip_prefix(b"5.5.5-").unwrap_or(version);
    let mut parts = version.split(|b| !b.is_ascii_digit()).map(|part| {
        part.iter().fold(0u32, |n, digit| n.saturating_mul(10).saturating_add(u32::from(digit - b'0')))
    });
    let mut next = || parts.next().unwrap_or(0).min(999);
    let (major, minor, patch) = (next(), next(), next());
    major * 10_000 + minor * 100 + patch
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_become_the_numbers_of_version_comments() {
        assert_eq!(version_number(b"9.7.4"), 90_704);
        assert_eq!(version_number(b"5.5.5-10.11.19-MariaDB-0+deb12u1"), 101_119);
        assert_eq!(version_number(b"11.8.2-MariaDB"), 110_802);
        assert_eq!(version_number(b"junk"), 0);
    }
}
