//! Step 2: the greeting, TLS, and the client's answer.

use crate::observe::Shown;
use crate::probe::probe;
use crate::settings::Settings;
use crate::worker::Worker;
use weir_auth::Plugin;
use weir_model::{AuthFailure, CloseReason};
use weir_net::{PacketError, PacketStream};
use weir_wire::caps;
use weir_wire::greeting::{Greeting, Nonce};
use weir_wire::login::{FirstAnswer, HandshakeResponse};
use weir_wire::packet::ErrPacket;

/// A client that has answered the greeting.
#[derive(Debug)]
pub(crate) struct Greeted {
    pub packets: PacketStream,
    pub id: u32,
    pub nonce: Nonce,
    /// What the greeting named. A client whose own default is another one answers it with nothing, and waits.
    pub plugin: Plugin,
    pub response: HandshakeResponse,
}

/// Greets a client after the server behind and reads its answer.
pub(crate) async fn greet(
    worker: &Worker,
    settings: &Settings,
    mut packets: PacketStream,
) -> Result<Greeted, CloseReason> {
    let shared = &worker.shared;
    if shared.clients() >= settings.limits.max_clients {
        refuse_early(worker, &mut packets, &too_many_clients()).await;
        return Err(CloseReason::TooManyClients);
    }
    let server = match probe(shared).await {
        Ok(greeting) => greeting,
        Err(error) => {
            worker.stats().server_failed();
            refuse_early(worker, &mut packets, &error.to_client()).await;
            return Err(CloseReason::ServerUnreachable);
        }
    };
    let id = shared.registry.next_id();
    let nonce = shared.nonce().ok_or(CloseReason::ClientIo)?;
    // Where an answer may be another session's, a server cannot know what a client has kept of a statement's columns.
    let shares = settings.shares() || shared.rules.load().caches();
    let greeting = own_greeting(&server, id, nonce, settings, shares);
    let mut bytes = Vec::new();
    greeting.put(&mut bytes);
    packets.write_first(&bytes, 1).await.map_err(|_| CloseReason::ClientGone)?;
    let payload = packets.read().await.map_err(read_error)?;
    let answer = HandshakeResponse::parse_first(&payload);
    let (packets, mut response) = match answer {
        Ok(FirstAnswer::Login(response)) => (packets, *response),
        Ok(FirstAnswer::SslRequest(_)) => encrypt(worker, settings, packets).await?,
        Err(e) => return Err(bad_handshake(worker, packets, &e.to_string()).await),
    };
    // A flag that was not offered is not agreed, whatever the client sets.
    response.caps &= greeting.caps | caps::CLIENT_MYSQL;
    Ok(Greeted { packets, id, nonce, plugin: Plugin::from_name(&greeting.plugin), response })
}

/// Weir's greeting: the server's, but for what Weir answers itself (`docs/compatibility.md` lists the flags).
fn own_greeting(
    server: &Greeting,
    connection_id: u32,
    nonce: Nonce,
    settings: &Settings,
    shares: bool,
) -> Greeting {
    let withheld = if shares { caps::MARIADB_CACHE_METADATA } else { 0 };
    let caps = caps::offered(server.caps, settings.tls.is_some()) & !withheld;
    let plugin = match Plugin::from_name(&server.plugin) {
        Plugin::Native => server.plugin.clone(),
        _ => b"caching_sha2_password".to_vec(),
    };
    Greeting { connection_id, nonce, caps, plugin, ..server.clone() }
}

async fn encrypt(
    worker: &Worker,
    settings: &Settings,
    packets: PacketStream,
) -> Result<(PacketStream, HandshakeResponse), CloseReason> {
    let Some(config) = settings.tls.clone() else {
        return Err(bad_handshake(worker, packets, "TLS was asked for and is not offered").await);
    };
    let upgraded = packets.upgrade(|stream, early| stream.accept_tls(early, config)).await;
    let mut packets = upgraded.map_err(|e: std::io::Error| {
        tracing::debug!(event = "tls_failed", error = %e, "TLS handshake with a client failed");
        CloseReason::Tls
    })?;
    worker.stats().tls_handshake();
    let payload = packets.read().await.map_err(read_error)?;
    match HandshakeResponse::parse(&payload) {
        Ok(response) => Ok((packets, response)),
        Err(e) => Err(bad_handshake(worker, packets, &e.to_string()).await),
    }
}

/// Refuses clients without TLS where it is required, as a server with require_secure_transport.
pub(crate) async fn check_transport(
    worker: &Worker,
    settings: &Settings,
    packets: &mut PacketStream,
) -> Result<(), CloseReason> {
    if !settings.require_tls || packets.stream().is_secure() {
        return Ok(());
    }
    let text = "Connections using insecure transport are prohibited while tls.require is on in Weir";
    let err = ErrPacket::new(3159, b"HY000", text);
    worker.stats().auth_failed(AuthFailure::TlsRequired);
    refuse(worker, packets, &err).await;
    Err(CloseReason::Tls)
}

/// Sends an error as the first packet of a connection.
async fn refuse_early(worker: &Worker, packets: &mut PacketStream, err: &ErrPacket) {
    worker.stats().own_error(err.code);
    // The client may be gone already; there is nobody else to tell.
    let _ = packets.write(&err.to_early_payload()).await;
}

/// Sends an error during the login.
pub(crate) async fn refuse(worker: &Worker, packets: &mut PacketStream, err: &ErrPacket) {
    worker.stats().own_error(err.code);
    let _ = packets.write(&err.to_payload()).await;
}

async fn bad_handshake(worker: &Worker, mut packets: PacketStream, what: &str) -> CloseReason {
    let text = format!("Bad handshake ({what})");
    refuse(worker, &mut packets, &ErrPacket::new(1043, b"08S01", text)).await;
    crate::close::linger(packets.into_parts().0).await;
    CloseReason::ClientProtocol
}

/// ER_CON_COUNT_ERROR.
pub(crate) fn too_many_clients() -> ErrPacket {
    ErrPacket::new(1040, b"08004", "Too many connections (weir: limits.max_clients)")
}

pub(crate) fn read_error(error: PacketError) -> CloseReason {
    match error {
        PacketError::Closed => CloseReason::ClientGone,
        PacketError::Io(_) => CloseReason::ClientIo,
        PacketError::TooLong(_) | PacketError::OutOfOrder { .. } => CloseReason::ClientProtocol,
    }
}

/// The error for a login that is refused by Weir itself, in the server's words.
pub(crate) fn access_denied(user: &[u8], host: &str, with_password: bool) -> ErrPacket {
    let user = Shown(user);
    let using = if with_password { "YES" } else { "NO" };
    ErrPacket::new(
        1045,
        b"28000",
        format!("Access denied for user '{user}'@'{host}' (using password: {using})"),
    )
}
