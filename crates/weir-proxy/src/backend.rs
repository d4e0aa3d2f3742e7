//! The server's side of a session: one connection, and what is known of it.

use crate::renumber::Renumber;
use std::sync::Arc;
use std::time::Instant;
use weir_auth::NONCE_LEN;
use weir_model::{ServerFamily, version_number};
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
    /// The longest packet that the client takes, by the login.
    pub max_packet: u32,
    pub born: Instant,
    /// The answer to a command of Weir's own has not been read to its end: nobody else may be given the connection.
    pub owes: bool,
    _slot: Option<Slot>,
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
            max_packet: connection.max_packet,
            born: Instant::now(),
            owes: false,
            _slot: Some(connection.slot),
        }
    }
}

impl Backend {
    /// Brings what stays with a session that is to give this connection back up to date.
    pub fn stays_in(&self, away: &mut Self) {
        (away.caps, away.place, away.max_packet) = (self.caps, self.place, self.max_packet);
        (away.family, away.version, away.born) = (self.family, self.version, self.born);
        if !Arc::ptr_eq(&away.greeting, &self.greeting) {
            away.greeting = Arc::clone(&self.greeting);
        }
    }

    /// What stays with a session that has given its connection back: what it agreed on, and no connection.
    pub fn away(&self) -> Self {
        Self {
            stream: Stream::Closed,
            held: Vec::new(),
            renumber: None,
            caps: self.caps,
            nonce: [0; NONCE_LEN],
            id: 0,
            family: self.family,
            version: self.version,
            greeting: Arc::clone(&self.greeting),
            place: self.place,
            max_packet: self.max_packet,
            born: self.born,
            owes: false,
            _slot: None,
        }
    }
}
