//! Sockets, TLS, scratch buffers.
//!
//! Everything that names a socket type lives here; above, a connection is a [`Stream`]. This crate must not know
//! users, statements or configuration files.

mod accept;
mod cert_chain;
mod cert_name;
mod compressed;
mod connect;
mod direct;
mod handshake_signature;
pub mod listen;
pub mod packet_stream;
mod pem_files;
pub mod ring;
mod scratch;
mod self_signed;
pub mod sockopt;
mod stream;
#[cfg(test)]
mod test_certs;
#[cfg(test)]
mod test_tls;
mod tls_client;
mod tls_error;
mod tls_server;
mod verifiers;

pub use accept::{accept_tcp, accept_unix};
pub use connect::begin_connect;
pub use direct::{send_at_once, send_before_close};
pub use listen::{BoundUnix, ListenError, SocketFile, bind_tcp, bind_unix, bind_unix_with_mode};
pub use packet_stream::{PacketError, PacketStream, write_all};
pub use pem_files::MAX_PEM_FILE_BYTES;
pub use scratch::{SCRATCH, with_scratch};
pub use sockopt::{KeepAlive, TcpOptions};
pub use stream::{Socket, Stream};
pub use tls_client::{ClientCertificate, ClientTlsMode, ClientTlsOptions, client_config, server_name};
pub use tls_error::TlsError;
pub use tls_server::{ServerTlsContext, ServerTlsOptions, TlsVersions};
