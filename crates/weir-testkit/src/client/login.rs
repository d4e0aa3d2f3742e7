//! Greeting, handshake response, authentication; COM_CHANGE_USER, which repeats the last.

use std::fmt;

use anyhow::{Context, Result, bail};

use super::bytes::{Fields, put_lenenc, put_lenenc_bytes, put_nul};
use super::caps::Capabilities;
use super::packet::PacketStream;
use super::response::{ErrPacket, OkPacket, Outcome, Response};
use super::scramble::Link;
use super::{Address, Client, ConnectOptions, Tls, command, scramble, tls};

/// The first packet of a server, all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    pub protocol: u8,
    pub version: String,
    pub connection_id: u32,
    pub nonce: Vec<u8>,
    pub capabilities: Capabilities,
    pub collation: u8,
    pub status: u16,
    pub plugin: String,
}

/// The server answered a login, or the connection itself, with an error packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginRefused {
    pub error: ErrPacket,
    /// The refusal came before or instead of the greeting.
    pub before_greeting: bool,
}

impl fmt::Display for LoginRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the login was refused: {}", self.error)
    }
}

impl std::error::Error for LoginRefused {}

impl Greeting {
    /// Reads a greeting off a fresh connection.
    ///
    /// # Errors
    /// [`LoginRefused`] for an error packet; anything else when it is malformed or nothing comes.
    pub async fn read(stream: &mut PacketStream) -> Result<Self> {
        let packet = stream.expect_packet().await.context("waiting for the greeting")?;
        if packet.payload.first() == Some(&0xff) {
            let error = ErrPacket::parse(&packet.payload)?;
            return Err(LoginRefused { error, before_greeting: true }.into());
        }
        Self::parse(&packet.payload).with_context(|| format!("the greeting {packet:?}"))
    }

    fn parse(payload: &[u8]) -> Result<Self> {
        let mut fields = Fields(payload);
        let protocol = fields.u8()?;
        let version = String::from_utf8_lossy(fields.nul_bytes()?).into_owned();
        let connection_id = fields.u32()?;
        let mut nonce = fields.take(8)?.to_vec();
        fields.u8()?;
        let low = fields.int(2)?;
        let collation = fields.u8()?;
        let status = fields.u16()?;
        let high = fields.int(2)?;
        let nonce_length = usize::from(fields.u8()?);
        fields.take(6)?;
        let extended = fields.int(4)?;
        let mut capabilities = Capabilities(low | high << 16);
        // MariaDB announces its extended flags in filler bytes, and only while it clears the lowest flag.
        if !capabilities.has(Capabilities::MYSQL) {
            capabilities = capabilities | Capabilities(extended << 32);
        }
        nonce.extend_from_slice(fields.take(nonce_length.saturating_sub(8).max(13))?);
        let plugin = fields.nul_bytes().unwrap_or_default();
        let plugin = String::from_utf8_lossy(plugin).into_owned();
        Ok(Self { protocol, version, connection_id, nonce, capabilities, collation, status, plugin })
    }
}

impl Client {
    /// Logs in over a stream that nothing was read from yet.
    ///
    /// # Errors
    /// As [`ConnectOptions::connect`].
    pub async fn log_in(mut stream: PacketStream, options: &ConnectOptions) -> Result<Self> {
        let greeting = Greeting::read(&mut stream).await?;
        let capabilities = negotiate(options, &greeting);
        let mut seq = 1;
        if options.tls != Tls::Off {
            stream.write_packet(seq, &response_head(options, capabilities)).await?;
            stream = tls::wrap(stream, &options.tls).await?;
            seq += 1;
        }
        let mut client = Self {
            stream,
            greeting,
            capabilities,
            login: Response::default(),
            options: options.clone(),
            local_data: Vec::new(),
            local_chunk: 16 * 1024,
        };
        let plugin = options.plugin.clone().unwrap_or_else(|| client.greeting.plugin.clone());
        let nonce = client.greeting.nonce.clone();
        let proof = scramble::answer(&plugin, &options.password, &nonce, client.link())?;
        let response = handshake_response(options, capabilities, &plugin, &proof);
        client.stream.write_packet(seq, &response).await?;
        let password = options.password.clone();
        client.login = client.authenticate(plugin, &password, nonce).await?;
        match client.login.err() {
            None if client.login.closed => bail!("the connection was closed during the login"),
            None => Ok(client),
            Some(error) => Err(LoginRefused { error: error.clone(), before_greeting: false }.into()),
        }
    }

    /// COM_CHANGE_USER with all of its fields. The reply holds every packet of the exchange.
    ///
    /// # Errors
    /// When the connection or the protocol fails; a refusal is not an error here.
    pub async fn change_user(
        &mut self,
        user: &str,
        password: &str,
        database: &str,
        collation: u16,
    ) -> Result<Response> {
        let plugin = self.options.plugin.clone().unwrap_or_else(|| self.greeting.plugin.clone());
        // The nonce of the greeting still counts until the server sends another.
        let nonce = self.greeting.nonce.clone();
        let proof = scramble::answer(&plugin, password, &nonce, self.link())?;
        let mut body = Vec::new();
        put_nul(&mut body, user.as_bytes());
        body.push(u8::try_from(proof.len())?);
        body.extend_from_slice(&proof);
        put_nul(&mut body, database.as_bytes());
        body.extend_from_slice(&collation.to_le_bytes());
        put_nul(&mut body, plugin.as_bytes());
        if self.capabilities.has(Capabilities::CONNECT_ATTRS) {
            put_lenenc_bytes(&mut body, &attributes(&self.options));
        }
        self.send(command::CHANGE_USER, &body).await?;
        self.authenticate(plugin, password, nonce).await
    }

    /// Answers what the server asks until it says OK or ERR.
    async fn authenticate(
        &mut self,
        mut plugin: String,
        password: &str,
        mut nonce: Vec<u8>,
    ) -> Result<Response> {
        let mut response = Response::default();
        loop {
            let Some(packet) = self.stream.read_packet().await? else {
                response.closed = true;
                return Ok(response);
            };
            let (payload, next) = (packet.payload.clone(), packet.seq.wrapping_add(1));
            response.packets.push(packet);
            let answer = match payload.first() {
                Some(0x00) => {
                    response.outcomes.push(Outcome::Ok(OkPacket::parse(&payload, self.capabilities)?));
                    return Ok(response);
                }
                Some(0xff) => {
                    response.outcomes.push(Outcome::Err(ErrPacket::parse(&payload)?));
                    return Ok(response);
                }
                Some(0xfe) => {
                    let mut fields = Fields(&payload[1..]);
                    plugin = String::from_utf8_lossy(fields.nul_bytes()?).into_owned();
                    nonce = fields.rest().to_vec();
                    // A later COM_CHANGE_USER starts from the newest nonce.
                    self.greeting.nonce.clone_from(&nonce);
                    Some(scramble::answer(&plugin, password, &nonce, self.link())?)
                }
                Some(0x01) => self.more_data(&plugin, password, &nonce, &payload[1..])?,
                _ => bail!("{:?} in an authentication", response.packets.last()),
            };
            response.outcomes.push(Outcome::Auth(payload));
            if let Some(answer) = answer {
                self.stream.write_packet(next, &answer).await?;
            }
        }
    }

    /// What caching_sha2_password and sha256_password ask besides the first proof.
    fn more_data(&self, plugin: &str, password: &str, nonce: &[u8], data: &[u8]) -> Result<Option<Vec<u8>>> {
        const FAST_OK: &[u8] = &[3];
        const FULL: &[u8] = &[4];
        const ASK_FOR_KEY: u8 = 2;
        Ok(match data {
            FAST_OK => None,
            FULL if self.link() != Link::Bare => Some([password.as_bytes(), &[0]].concat()),
            FULL if self.options.allow_rsa => Some(vec![ASK_FOR_KEY]),
            FULL => bail!("full authentication on a bare link, and RSA is not allowed"),
            key if key.starts_with(b"-----") => Some(scramble::under_rsa(password, nonce, key)?),
            other => bail!("{plugin} asks \"{}\"", other.escape_ascii()),
        })
    }

    fn link(&self) -> Link {
        match (&self.options.tls, &self.options.address) {
            (Tls::Off, Address::Tcp(_)) => Link::Bare,
            (Tls::Off, Address::Unix(_)) => Link::Socket,
            _ => Link::Tls,
        }
    }
}

/// What the client asks for, less what the server does not offer.
fn negotiate(options: &ConnectOptions, greeting: &Greeting) -> Capabilities {
    let mut wanted = options.capabilities;
    if options.tls != Tls::Off {
        wanted = wanted | Capabilities::SSL;
    }
    if options.database.is_some() {
        wanted = wanted | Capabilities::CONNECT_WITH_DB;
    }
    let extended = Capabilities(wanted.0 >> 32 << 32);
    let mut agreed = wanted.intersection(greeting.capabilities);
    if greeting.capabilities.has(Capabilities::MYSQL) || extended == Capabilities::default() {
        // The lowest flag is only meaningful to MySQL; keep what was asked for.
        return agreed | wanted.intersection(Capabilities::MYSQL);
    }
    // Extended flags count for MariaDB only while the client, too, clears the lowest flag.
    agreed = agreed.minus(Capabilities::MYSQL);
    agreed
}

/// The part that an SSL request and a handshake response share.
fn response_head(options: &ConnectOptions, capabilities: Capabilities) -> Vec<u8> {
    let mut out = (capabilities.0 as u32).to_le_bytes().to_vec();
    out.extend_from_slice(&options.max_packet.to_le_bytes());
    out.push(options.collation);
    out.extend_from_slice(&[0; 19]);
    out.extend_from_slice(&((capabilities.0 >> 32) as u32).to_le_bytes());
    out
}

fn handshake_response(
    options: &ConnectOptions,
    capabilities: Capabilities,
    plugin: &str,
    proof: &[u8],
) -> Vec<u8> {
    let mut out = response_head(options, capabilities);
    put_nul(&mut out, options.user.as_bytes());
    if capabilities.has(Capabilities::PLUGIN_AUTH_LENENC) {
        put_lenenc(&mut out, proof.len() as u64);
    } else {
        out.push(proof.len() as u8);
    }
    out.extend_from_slice(proof);
    if let Some(database) =
        options.database.as_ref().filter(|_| capabilities.has(Capabilities::CONNECT_WITH_DB))
    {
        put_nul(&mut out, database.as_bytes());
    }
    if capabilities.has(Capabilities::PLUGIN_AUTH) {
        put_nul(&mut out, plugin.as_bytes());
    }
    if capabilities.has(Capabilities::CONNECT_ATTRS) {
        put_lenenc_bytes(&mut out, &attributes(options));
    }
    out
}

fn attributes(options: &ConnectOptions) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in &options.attributes {
        put_lenenc_bytes(&mut out, name.as_bytes());
        put_lenenc_bytes(&mut out, value.as_bytes());
    }
    out
}
