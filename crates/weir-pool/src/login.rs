//! Logging in at a server, and changing the user of a connection.

use crate::dial::dial;
use crate::error::{ConnectError, RefusedLogin};
use crate::upstream::{Place, Slot, Target, Upstream};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::time::timeout;
use weir_auth::{Secret, ServerExchange, ServerStep};
use weir_config::{Address, Compression, TlsMode};
use weir_net::{PacketStream, Stream, server_name};
use weir_wire::caps::{self, Caps};
use weir_wire::compress::Algorithm;
use weir_wire::greeting::Greeting;
use weir_wire::login::{ChangeUser, HandshakeResponse};
use weir_wire::packet::{parse_err, parse_ok_head};

/// The level asked for where zstd compresses the link to the server; the servers' default.
const ZSTD_LEVEL: u8 = 3;

/// Who logs in, and what the session shall be like.
#[derive(Debug, Clone)]
pub struct LoginRequest {
    pub user: Vec<u8>,
    pub secret: Secret,
    pub database: Option<Vec<u8>>,
    /// What the client asked for; the server is asked for the same, as far as it concerns sessions.
    pub caps: Caps,
    pub max_packet: u32,
    pub charset: u8,
    pub attributes: Option<Vec<u8>>,
}

/// A connection that is logged in.
#[derive(Debug)]
pub struct ServerConnection {
    pub stream: Stream,
    /// Read beyond the login, normally nothing.
    pub early: Vec<u8>,
    pub caps: Caps,
    pub status: u16,
    /// The server's id of this connection.
    pub connection_id: u32,
    pub greeting: Arc<Greeting>,
    /// The server's OK, as the client shall see it.
    pub ok: Vec<u8>,
    /// The nonce in force, for COM_CHANGE_USER.
    pub nonce: [u8; 20],
    /// What the login said of the longest packet that the client takes.
    pub max_packet: u32,
    pub slot: Slot,
    /// Which server this is.
    pub place: Place,
}

/// Opens a connection for a client and logs in.
pub async fn login(
    upstream: &Arc<Upstream>,
    request: &LoginRequest,
) -> Result<ServerConnection, ConnectError> {
    let target = upstream.target();
    let full = |limit| ConnectError::Full { server: target.name.clone(), limit };
    let slot = upstream.take_slot(target.max_connections).map_err(full)?;
    open(upstream, &target, request, slot, None).await
}

/// Opens a connection of Weir's own, beside the limit of the clients' (the caller bounds how many), to the server of
/// `place` if one is given. The address may have changed since: then it is refused as [`ConnectError::Changed`].
pub async fn login_beside(
    upstream: &Arc<Upstream>,
    request: &LoginRequest,
    place: Option<Place>,
) -> Result<ServerConnection, ConnectError> {
    let target = upstream.target();
    if place.is_some_and(|place| !upstream.is_current(place)) {
        return Err(ConnectError::Changed { server: target.name.clone() });
    }
    open(upstream, &target, request, Slot::beside(), place.and_then(|place| place.peer)).await
}

/// Dials and logs in, and keeps what is known of the server's health true.
async fn open(
    upstream: &Arc<Upstream>,
    target: &Target,
    request: &LoginRequest,
    slot: Slot,
    peer: Option<SocketAddr>,
) -> Result<ServerConnection, ConnectError> {
    match dial(upstream, target, peer).await {
        Ok((packets, greeting, peer)) => {
            let place = upstream.place(peer);
            let version = greeting.version.clone();
            let work = Login { target, request, greeting, place };
            let run = timeout(target.connect_timeout, work.run(packets, slot)).await;
            let result = run.unwrap_or_else(|_| Err(work_timeout(target)));
            match &result {
                Err(error) if error.is_unreachable() => upstream.unreachable(error, true),
                _ => upstream.reached(&version),
            }
            result
        }
        Err(error) => {
            // A refusal in place of a greeting (1040, 1129) meets everybody.
            if error.is_unreachable() || matches!(error, ConnectError::Refused { .. }) {
                upstream.unreachable(&error, false);
            }
            Err(error)
        }
    }
}

fn work_timeout(target: &Target) -> ConnectError {
    ConnectError::Timeout {
        server: target.name.clone(),
        address: target.address.to_string(),
        seconds: target.connect_timeout.as_secs_f64(),
    }
}

struct Login<'a> {
    target: &'a Target,
    request: &'a LoginRequest,
    greeting: Greeting,
    place: Place,
}

impl Login<'_> {
    async fn run(self, mut packets: PacketStream, slot: Slot) -> Result<ServerConnection, ConnectError> {
        let mut response = self.response()?;
        if response.caps & caps::SSL != 0 {
            packets.write(&response.to_ssl_request()).await.map_err(|e| self.packet(e.into()))?;
            packets = self.encrypt(packets).await?;
        }
        let mut exchange = exchange_over(packets.stream(), self.request.secret.clone());
        let initial = exchange.initial_response(&self.greeting.plugin, &self.greeting.nonce);
        let initial = initial.map_err(|source| self.auth(source))?;
        response.plugin = Some(initial.plugin.as_bytes().to_vec());
        response.auth_response = initial.data.to_vec();
        packets.write(&response.to_payload()).await.map_err(|e| self.packet(e.into()))?;
        let ok = run_exchange(self.target, &mut packets, &mut exchange).await?;
        let status = parse_ok_head(&ok).map_err(|e| self.protocol(e.to_string()))?.status;
        let (stream, early) = self.compress(packets, response.caps)?;
        Ok(ServerConnection {
            stream,
            early,
            caps: response.caps,
            status,
            connection_id: self.greeting.connection_id,
            nonce: exchange.nonce(),
            max_packet: self.request.max_packet,
            place: self.place,
            greeting: Arc::new(self.greeting),
            ok,
            slot,
        })
    }

    fn response(&self) -> Result<HandshakeResponse, ConnectError> {
        let request = self.request;
        let changed = |_| ConnectError::Changed { server: self.target.name.clone() };
        let mut flags = caps::requested(request.caps, self.greeting.caps).map_err(changed)?;
        if request.database.is_some() {
            flags |= caps::CONNECT_WITH_DB;
        }
        if self.wants_tls()? {
            flags |= caps::SSL;
        }
        flags |= match self.target.compression {
            Compression::Zlib => caps::COMPRESS & self.greeting.caps,
            Compression::Zstd => caps::ZSTD_COMPRESSION & self.greeting.caps,
            Compression::None => 0,
        };
        Ok(HandshakeResponse {
            caps: flags,
            max_packet: request.max_packet,
            charset: request.charset,
            user: request.user.clone(),
            auth_response: Vec::new(),
            database: request.database.clone(),
            plugin: None,
            attributes: request.attributes.clone(),
            zstd_level: Some(ZSTD_LEVEL),
        })
    }

    fn wants_tls(&self) -> Result<bool, ConnectError> {
        let offered = self.greeting.caps & caps::SSL != 0;
        let local = matches!(self.target.address, Address::Unix(_));
        match self.target.tls_mode {
            TlsMode::Disabled => Ok(false),
            // As MySQL's own clients: a unix socket does not leave the machine.
            TlsMode::Preferred => Ok(offered && !local),
            _ if offered => Ok(true),
            mode => Err(ConnectError::Tls {
                server: self.target.name.clone(),
                what: format!("tls.mode is {}, and the server does not offer TLS", mode.as_str()),
            }),
        }
    }

    async fn encrypt(&self, packets: PacketStream) -> Result<PacketStream, ConnectError> {
        let tls = |what: String| ConnectError::Tls { server: self.target.name.clone(), what };
        let config = self.target.tls.clone().ok_or_else(|| tls("no TLS configuration".to_owned()))?;
        let host = match &self.target.address {
            Address::Tcp { host, .. } => host.clone(),
            Address::Unix(_) => "localhost".to_owned(),
        };
        let name = server_name(&host).map_err(|e| tls(e.to_string()))?;
        packets.upgrade(|stream, _| stream.connect_tls(name, config)).await.map_err(|e| tls(e.to_string()))
    }

    fn compress(&self, packets: PacketStream, flags: Caps) -> Result<(Stream, Vec<u8>), ConnectError> {
        let algorithm = if flags & caps::COMPRESS != 0 {
            Algorithm::Zlib
        } else if flags & caps::ZSTD_COMPRESSION != 0 {
            Algorithm::Zstd(i32::from(ZSTD_LEVEL))
        } else {
            return Ok(packets.into_parts());
        };
        let (stream, early) = packets.into_parts();
        let stream = stream.compressed(algorithm, early).map_err(|e| self.protocol(e.to_string()))?;
        Ok((stream, Vec::new()))
    }

    fn packet(&self, error: weir_net::PacketError) -> ConnectError {
        ConnectError::packet(&self.target.name, &self.target.address.to_string(), error)
    }

    fn auth(&self, source: weir_auth::ServerAuthError) -> ConnectError {
        ConnectError::Auth { server: self.target.name.clone(), source }
    }

    fn protocol(&self, what: String) -> ConnectError {
        ConnectError::Protocol { server: self.target.name.clone(), what }
    }
}

/// Changes the user of a connection (COM_CHANGE_USER). `request.plugin` and `request.auth_response` are filled in
/// here, and `nonce`, the one in force, is replaced by its successor. Returns the server's OK. After a refusal MariaDB
/// keeps the session of the old user; MySQL closes the connection.
pub async fn change_user(
    target: &Target,
    packets: &mut PacketStream,
    flags: Caps,
    mut request: ChangeUser,
    secret: Secret,
    (plugin, nonce): (&[u8], &mut [u8; 20]),
) -> Result<Vec<u8>, ConnectError> {
    let auth = |source| ConnectError::Auth { server: target.name.clone(), source };
    let mut exchange = exchange_over(packets.stream(), secret);
    let initial = exchange.initial_response(plugin, &nonce[..]).map_err(auth)?;
    request.plugin = Some(initial.plugin.as_bytes().to_vec());
    request.auth_response = initial.data.to_vec();
    packets.set_seq(0);
    let written = packets.write(&request.to_payload(flags)).await;
    written.map_err(|e| ConnectError::packet(&target.name, &target.address.to_string(), e.into()))?;
    let result = run_exchange(target, packets, &mut exchange).await;
    *nonce = exchange.nonce();
    result
}

fn exchange_over(stream: &Stream, secret: Secret) -> ServerExchange {
    let exchange = ServerExchange::new(secret, stream.is_secure());
    if stream.is_unix_socket() { exchange.over_unix_socket() } else { exchange }
}

/// Answers the server until it says OK or ERR.
async fn run_exchange(
    target: &Target,
    packets: &mut PacketStream,
    exchange: &mut ServerExchange,
) -> Result<Vec<u8>, ConnectError> {
    let broken = |e| ConnectError::packet(&target.name, &target.address.to_string(), e);
    loop {
        let payload = packets.read().await.map_err(broken)?;
        match exchange.handle(&payload) {
            ServerStep::Send(answer) => packets.write(&answer).await.map_err(|e| broken(e.into()))?,
            ServerStep::Wait => {}
            ServerStep::LoggedIn => return Ok(payload),
            ServerStep::Refused => {
                let err = parse_err(&payload).map_err(|e| ConnectError::Protocol {
                    server: target.name.clone(),
                    what: e.to_string(),
                })?;
                let refusal = RefusedLogin { err, payload };
                return Err(ConnectError::Refused { server: target.name.clone(), refusal });
            }
            ServerStep::Failed(source) => {
                return Err(ConnectError::Auth { server: target.name.clone(), source });
            }
        }
    }
}
