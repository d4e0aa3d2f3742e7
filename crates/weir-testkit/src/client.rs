//! A protocol client that shows everything: every packet with its sequence number, every field of every reply.
//!
//! It chooses its capability flags freely and sends any bytes. It shares no code with `weir-wire`.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::net::{TcpStream, UnixStream};

pub mod bytes;
pub mod caps;
pub mod command;
mod login;
mod packet;
mod read;
mod response;
mod scramble;
mod tls;

pub use login::{Greeting, LoginRefused};
pub use packet::{Packet, PacketStream, frame};
pub use response::{Column, End, ErrPacket, OkPacket, Outcome, Prepared, Response, ResultSet, SessionChange};
pub use tls::Tls;

use caps::Capabilities;

/// Where a server or a Weir listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

/// How to connect and log in.
#[derive(Clone)]
pub struct ConnectOptions {
    pub address: Address,
    pub user: String,
    pub password: String,
    pub database: Option<String>,
    /// What the client asks for. The connection has what the server offers of it, except for flags that the
    /// server never offers.
    pub capabilities: Capabilities,
    /// The collation id of the handshake response: one byte on the wire.
    pub collation: u8,
    pub tls: Tls,
    /// The plugin the client claims to use first; by default the one the server's greeting names.
    pub plugin: Option<String>,
    /// Connection attributes, sent when the capabilities say so.
    pub attributes: Vec<(String, String)>,
    pub max_packet: u32,
    /// Asks for the server's RSA key when caching_sha2_password wants the password over a bare TCP link.
    pub allow_rsa: bool,
    /// No answer may take longer than this.
    pub patience: Duration,
}

impl ConnectOptions {
    /// A plain TCP login with the capabilities most connectors use.
    pub fn tcp(addr: SocketAddr, user: &str, password: &str) -> Self {
        Self::new(Address::Tcp(addr), user, password)
    }

    /// A login over a Unix socket.
    pub fn unix(path: impl Into<PathBuf>, user: &str, password: &str) -> Self {
        Self::new(Address::Unix(path.into()), user, password)
    }

    fn new(address: Address, user: &str, password: &str) -> Self {
        Self {
            address,
            user: user.to_owned(),
            password: password.to_owned(),
            database: None,
            capabilities: Capabilities::COMMON,
            collation: 45,
            tls: Tls::Off,
            plugin: None,
            attributes: Vec::new(),
            max_packet: 64 << 20,
            allow_rsa: true,
            patience: Duration::from_secs(60),
        }
    }

    pub fn database(mut self, name: &str) -> Self {
        self.database = Some(name.to_owned());
        self
    }

    pub fn capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    pub fn with(mut self, more: Capabilities) -> Self {
        self.capabilities = self.capabilities | more;
        self
    }

    pub fn without(mut self, less: Capabilities) -> Self {
        self.capabilities = self.capabilities.minus(less);
        self
    }

    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = tls;
        self
    }

    pub fn plugin(mut self, name: &str) -> Self {
        self.plugin = Some(name.to_owned());
        self
    }

    pub fn collation(mut self, id: u8) -> Self {
        self.collation = id;
        self
    }

    /// Connects and logs in.
    ///
    /// # Errors
    /// [`LoginRefused`] when the server answers with an error packet; anything else when the connection or the
    /// protocol fails.
    pub async fn connect(&self) -> Result<Client> {
        let stream = self.open().await?;
        Client::log_in(stream, self).await
    }

    /// Connects and does nothing more; not even the greeting is read.
    ///
    /// # Errors
    /// When nobody listens.
    pub async fn open(&self) -> Result<PacketStream> {
        Ok(match &self.address {
            Address::Tcp(addr) => {
                let stream =
                    TcpStream::connect(addr).await.with_context(|| format!("cannot connect to {addr}"))?;
                stream.set_nodelay(true)?;
                PacketStream::new(Box::new(stream), self.patience)
            }
            Address::Unix(path) => {
                let stream = UnixStream::connect(path).await;
                let stream = stream.with_context(|| format!("cannot connect to {}", path.display()))?;
                PacketStream::new(Box::new(stream), self.patience)
            }
        })
    }
}

/// A connection that has logged in.
pub struct Client {
    stream: PacketStream,
    greeting: Greeting,
    capabilities: Capabilities,
    login: Response,
    options: ConnectOptions,
    /// What LOAD DATA LOCAL sends, in packets of `local_chunk` bytes.
    pub local_data: Vec<u8>,
    pub local_chunk: usize,
}

impl Client {
    /// What the server said first.
    pub fn greeting(&self) -> &Greeting {
        &self.greeting
    }

    /// The capabilities in force.
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// The packets after the handshake response; the last is the OK.
    pub fn login_reply(&self) -> &Response {
        &self.login
    }

    /// The connection below, to send and receive bytes that no well-behaved client would.
    pub fn stream(&mut self) -> &mut PacketStream {
        &mut self.stream
    }

    /// Sends a text statement and reads everything it answers. With query attributes negotiated, an empty set
    /// of them goes ahead of the text.
    ///
    /// # Errors
    /// When the connection fails or a reply is malformed. An ERR packet is not an error here.
    pub async fn query(&mut self, sql: impl AsRef<[u8]>) -> Result<Response> {
        let body = self.query_body(sql.as_ref());
        self.command(command::QUERY, &body).await
    }

    /// The body of COM_QUERY for this connection.
    pub fn query_body(&self, sql: &[u8]) -> Vec<u8> {
        let mut body = Vec::with_capacity(sql.len() + 2);
        if self.capabilities.has(Capabilities::QUERY_ATTRIBUTES) {
            // No parameters, one set of them.
            body.extend([0, 1]);
        }
        body.extend(sql);
        body
    }

    /// As [`Client::query`], and an ERR packet in the reply is an error.
    ///
    /// # Errors
    /// As [`Client::query`], and the server's error.
    pub async fn run(&mut self, sql: &str) -> Result<Response> {
        let response = self.query(sql).await?;
        match response.err() {
            Some(err) => bail!("`{}`: {err}", &sql[..sql.len().min(200)]),
            None => Ok(response),
        }
    }

    /// The first column of the first row as text; None for NULL or no row.
    ///
    /// # Errors
    /// As [`Client::run`].
    pub async fn scalar(&mut self, sql: &str) -> Result<Option<String>> {
        let response = self.run(sql).await?;
        let Some(row) = response.rows().next() else { return Ok(None) };
        let value = bytes::text_row(row)?.into_iter().next().flatten();
        Ok(value.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Sends a command and reads the whole reply that this command has; empty for those that have none.
    ///
    /// # Errors
    /// When the connection fails or a reply is malformed.
    pub async fn command(&mut self, code: u8, body: &[u8]) -> Result<Response> {
        self.send(code, body).await?;
        self.receive(code).await
    }

    /// Sends a command and does not wait.
    ///
    /// # Errors
    /// When the connection fails.
    pub async fn send(&mut self, code: u8, body: &[u8]) -> Result<()> {
        let mut payload = Vec::with_capacity(body.len() + 1);
        payload.push(code);
        payload.extend_from_slice(body);
        self.stream.write_packet(0, &payload).await
    }

    /// Prepares a statement.
    ///
    /// # Errors
    /// When the connection fails, or the server refuses the statement.
    pub async fn prepare(&mut self, sql: &str) -> Result<Prepared> {
        let response = self.command(command::STMT_PREPARE, sql.as_bytes()).await?;
        match response.outcomes.into_iter().next() {
            Some(Outcome::Prepared(prepared)) => Ok(prepared),
            other => bail!("`{sql}` was not prepared: {other:?}"),
        }
    }

    /// COM_QUIT, and the wait for the server to close.
    ///
    /// # Errors
    /// When the server sends something instead.
    pub async fn quit(mut self) -> Result<()> {
        self.send(command::QUIT, &[]).await?;
        match self.stream.read_packet().await? {
            None => Ok(()),
            Some(packet) => bail!("an answer to COM_QUIT: {packet:?}"),
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client {} of {}", self.greeting.connection_id, self.greeting.version)
    }
}

#[cfg(test)]
mod tests;
