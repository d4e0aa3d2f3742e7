//! Sockets, TLS, PROXY protocol, scratch buffers.
//!
//! Everything that names a socket type lives here; above, a connection is a [`Stream`]. This crate must not know
//! users, statements or configuration files.

mod compressed;
pub mod packet_stream;
mod scratch;
mod stream;

pub use packet_stream::{PacketError, PacketStream, write_all};
pub use scratch::{SCRATCH, with_scratch};
pub use stream::{Socket, Stream};
