//! A TLS client and a TLS server on loopback, for tests.

use std::sync::Arc;

use rustls::{ClientConfig, HandshakeKind, ProtocolVersion, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::tls_client::server_name;

/// What both ends saw.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub client: Result<Seen, String>,
    pub server: Result<Seen, String>,
}

#[derive(Debug)]
pub(crate) struct Seen {
    pub version: ProtocolVersion,
    pub kind: HandshakeKind,
    /// Certificates the other end showed.
    pub certificates: usize,
}

impl Outcome {
    /// Both ends finished and exchanged a byte each way.
    pub fn is_ok(&self) -> bool {
        self.client.is_ok() && self.server.is_ok()
    }

    pub fn client_error(self) -> String {
        self.client.expect_err("the client refuses")
    }

    pub fn server_error(self) -> String {
        self.server.expect_err("the server refuses")
    }
}

/// One connection: handshake, a byte to the client, a byte back. In TLS 1.3 a client learns that its certificate was
/// refused only when it reads.
pub(crate) async fn connect(server: Arc<ServerConfig>, client: Arc<ClientConfig>, host: &str) -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let name = server_name(host).unwrap();
    let serving = async {
        let (socket, _) = listener.accept().await.unwrap();
        let mut stream = TlsAcceptor::from(server).accept(socket).await.map_err(text)?;
        stream.write_all(b"s").await.map_err(text)?;
        stream.read_u8().await.map_err(text)?;
        let (_, connection) = stream.get_ref();
        Ok(seen(connection))
    };
    let asking = async {
        let socket = TcpStream::connect(address).await.unwrap();
        let mut stream = TlsConnector::from(client).connect(name, socket).await.map_err(text)?;
        stream.read_u8().await.map_err(text)?;
        stream.write_all(b"c").await.map_err(text)?;
        let (_, connection) = stream.get_ref();
        Ok(seen(connection))
    };
    let (server, client) = tokio::join!(serving, asking);
    Outcome { client, server }
}

fn seen(connection: &rustls::CommonState) -> Seen {
    Seen {
        version: connection.protocol_version().unwrap(),
        kind: connection.handshake_kind().unwrap(),
        certificates: connection.peer_certificates().map_or(0, <[_]>::len),
    }
}

fn text(error: std::io::Error) -> String {
    error.to_string()
}
