//! The MySQL client/server protocol as values and machines.
//!
//! This crate turns bytes into meaning and meaning into bytes. It must not own a socket, read a clock, draw a
//! random number or decide anything about users, statements or routes. No function here panics on a peer's
//! bytes: parsers answer with an error or ask for more.
//!
//! Sources: the MySQL 9.7 "Client/Server Protocol" chapter of the source documentation, the MariaDB knowledge
//! base ("Clients & Utilities, protocol"), and what the servers do where the two are silent.

pub mod attributes;
pub mod caps;
pub mod command;
pub mod compress;
pub mod execute;
pub mod frame;
pub mod greeting;
pub mod lenenc;
pub mod login;
pub mod packet;
pub mod proxy_header;
pub mod request;
pub mod response;
pub mod resultset;
pub mod track;

/// The longest payload of one packet; a payload of this length is followed by a continuation packet.
pub const MAX_PAYLOAD: usize = 0xFF_FFFF;

/// A packet header: three bytes of length, one of sequence id.
pub const HEADER: usize = 4;

/// What can be wrong with bytes that a peer sent. The text names the place, never the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed {0}")]
pub struct Malformed(pub &'static str);
