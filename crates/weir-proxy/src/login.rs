//! Step 3: the login. The client proves its password to Weir, Weir logs in to the server with it, and the
//! server's word is the client's answer.

use crate::accept::host;
use crate::greet::{Greeted, access_denied, check_transport, refuse, too_many_clients};
use crate::observe::Shown;
use crate::open::{Opened, open};
use crate::settings::Settings;
use crate::shared::{ClientCount, Shared};
use crate::worker::Worker;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};
use weir_auth::{ClientConfig, ClientExchange, Plugin, Proof, Secret, Step, Then};
use weir_model::{AuthFailure, CloseReason};
use weir_net::{PacketError, PacketStream, Stream};
use weir_pool::{ConnectError, LoginRequest};
use weir_wire::caps::{self, Caps};
use weir_wire::compress::Algorithm;
use weir_wire::greeting::Nonce;
use weir_wire::packet::ErrPacket;

/// ER_ACCESS_DENIED_ERROR: the only refusal after which another password of the user is tried.
const ACCESS_DENIED: u16 = 1045;

/// A user who has proven a password to Weir, or given one for the server to judge.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub user: Vec<u8>,
    /// Passwords to try at the server, in this order.
    candidates: Vec<Secret>,
    listed: bool,
    /// May use replication commands.
    pub replication: bool,
}

/// What a client offers as proof, at the login or in COM_CHANGE_USER.
#[derive(Debug)]
pub(crate) struct Offer<'a> {
    pub user: &'a [u8],
    /// What the greeting named; not looked at in COM_CHANGE_USER.
    pub greeting_plugin: Plugin,
    pub plugin: Option<&'a [u8]>,
    pub response: &'a [u8],
    pub nonce: Nonce,
    pub caps: Caps,
    pub change_user: bool,
}

/// A client that is logged in, and its server connection.
#[derive(Debug)]
pub(crate) struct LoggedIn {
    pub client: Stream,
    /// Read beyond the login.
    pub early: Vec<u8>,
    pub id: u32,
    pub nonce: Nonce,
    pub caps: Caps,
    pub charset: u8,
    pub identity: Arc<Identity>,
    pub secret: Secret,
    pub opened: Opened,
    pub count: ClientCount,
    /// The schema that it has named.
    pub schema: Option<Vec<u8>>,
}

/// Takes a client from its answer to the greeting to a session.
pub(crate) async fn login(
    worker: &Arc<Worker>,
    settings: &Settings,
    greeted: Greeted,
    peer: Option<SocketAddr>,
) -> Result<LoggedIn, CloseReason> {
    let started = Instant::now();
    let Greeted { mut packets, id, nonce, plugin, response } = greeted;
    check_transport(worker, settings, &mut packets).await?;
    let offer = Offer {
        user: &response.user,
        greeting_plugin: plugin,
        plugin: response.plugin.as_deref(),
        response: &response.auth_response,
        nonce,
        caps: response.caps,
        change_user: false,
    };
    let (mut identity, nonce) = match authenticate(worker, settings, &mut packets, offer).await {
        Ok(proven) => proven,
        Err(failure) => {
            let err = refusal(failure, &response.user, &host(peer), !response.auth_response.is_empty());
            return Err(fail(worker, settings, packets, started, (failure, err)).await);
        }
    };
    let Some(count) = worker.shared.count_client(settings.limits.max_clients) else {
        refuse(worker, &mut packets, &too_many_clients()).await;
        crate::close::linger(packets.into_parts().0).await;
        return Err(CloseReason::TooManyClients);
    };
    let request = LoginRequest {
        user: identity.user.clone(),
        secret: Secret::default(),
        database: response.database.clone(),
        caps: response.caps,
        max_packet: response.max_packet,
        charset: response.charset,
        attributes: response.attributes.clone(),
    };
    let (opened, secret) = match open(worker, settings, &identity, request).await {
        Ok(opened) => opened,
        Err(error) => {
            log_refusal(&error, &identity.user, &host(peer));
            let failure = (AuthFailure::RefusedByServer, error.to_client());
            if matches!(error, ConnectError::Refused { .. }) {
                return Err(fail(worker, settings, packets, started, failure).await);
            }
            refuse(worker, &mut packets, &failure.1).await;
            crate::close::linger(packets.into_parts().0).await;
            return Err(CloseReason::ServerUnreachable);
        }
    };
    packets.write(&opened.ok).await.map_err(|_| CloseReason::ClientGone)?;
    worker.stats().login_ok();
    let (client, early) = compress(packets, &response)?;
    // The session keeps the password that was taken, and no other.
    identity.candidates = Vec::new();
    let identity = Arc::new(identity);
    let (caps, charset, schema) = (response.caps, response.charset, response.database);
    Ok(LoggedIn { client, early, id, nonce, caps, charset, identity, secret, opened, count, schema })
}

/// Runs the exchange with the client. Returns who it is and the nonce now in force.
pub(crate) async fn authenticate(
    worker: &Worker,
    settings: &Settings,
    packets: &mut PacketStream,
    offer: Offer<'_>,
) -> Result<(Identity, Nonce), AuthFailure> {
    let shared = &worker.shared;
    let listed = settings.users.get(offer.user);
    let known = match &listed {
        Some(user) => user.passwords.clone(),
        None => shared.remembered.get(offer.user).map(|known| (*known).clone()).into_iter().collect(),
    };
    let config = ClientConfig {
        greeting_plugin: offer.greeting_plugin,
        secure: packets.stream().is_secure(),
        change_user: offer.change_user,
        plugin_auth: offer.caps & caps::PLUGIN_AUTH != 0,
        greeting_nonce: offer.nonce,
        // As the servers do: a switch repeats the nonce in force. Some clients (sqlx) go on with the first they saw.
        fresh_nonce: offer.nonce,
        known: known.iter().map(|known| Arc::clone(&known.verifier)).collect(),
        listed: listed.is_some(),
        passthrough: settings.passthrough,
        rsa: Arc::clone(&shared.rsa),
    };
    let (mut exchange, mut step) = ClientExchange::start(config, offer.plugin, offer.response);
    let proof = loop {
        step = match step {
            Step::Send { payload, then: Then::Await } => {
                packets.write(&payload).await.map_err(|_| AuthFailure::Abandoned)?;
                let reply = packets.read().await.map_err(abandoned)?;
                let step;
                (exchange, step) = judge(shared, exchange, reply).await?;
                step
            }
            Step::Send { payload, then: Then::Continue } => {
                packets.put(&payload);
                exchange.resume()
            }
            Step::Proven(proof) => break proof,
            Step::Refused(failure) => return Err(failure),
        }
    };
    let candidates = match proof {
        Proof::Known { .. } => known.into_iter().map(|known| known.secret).collect(),
        Proof::Password(password) => vec![password],
    };
    let replication = match &listed {
        Some(user) => user.replication,
        None => settings.replication_users.contains(offer.user),
    };
    let identity = Identity { user: offer.user.to_vec(), candidates, listed: listed.is_some(), replication };
    Ok((identity, exchange.last_nonce()))
}

/// Hands a reply to the exchange. What takes long is done on another thread, a few at once: a flood of logins then
/// waits for itself, and sessions and logins that need no RSA go on.
async fn judge(
    shared: &Shared,
    mut exchange: ClientExchange,
    reply: Vec<u8>,
) -> Result<(ClientExchange, Step), AuthFailure> {
    if !exchange.is_costly(&reply) {
        let step = exchange.handle_reply(&reply);
        return Ok((exchange, step));
    }
    // Neither the semaphore is ever closed nor the task aborted; a panic in it ends this login.
    let turn = Arc::clone(&shared.decrypting).acquire_owned().await.map_err(|_| AuthFailure::Abandoned)?;
    let decrypting = tokio::task::spawn_blocking(move || {
        // Held to the end even if the login runs out of time meanwhile.
        let _turn = turn;
        let step = exchange.handle_reply(&reply);
        (exchange, step)
    });
    decrypting.await.map_err(|_| AuthFailure::Abandoned)
}

fn abandoned(error: PacketError) -> AuthFailure {
    match error {
        PacketError::Closed | PacketError::Io(_) => AuthFailure::Abandoned,
        PacketError::TooLong(_) | PacketError::OutOfOrder { .. } => AuthFailure::Malformed,
    }
}

pub(crate) fn is_access_denied(error: &ConnectError) -> bool {
    matches!(error, ConnectError::Refused { refusal, .. } if refusal.err.code == ACCESS_DENIED)
}

impl Identity {
    pub fn candidates(&self) -> &[Secret] {
        &self.candidates
    }

    /// The server took this password.
    pub fn accepted(&self, worker: &Worker, secret: &Secret) {
        if !self.listed {
            worker.shared.remembered.remember(&self.user, secret);
        }
    }

    /// The server took none of the passwords. If what is remembered was among them it is of no further use; a wrong
    /// password of somebody else's changes nothing.
    pub fn rejected(&self, worker: &Worker, error: &ConnectError) {
        if !self.listed && is_access_denied(error) {
            self.candidates.iter().for_each(|tried| worker.shared.remembered.forget(&self.user, tried));
        }
        if is_access_denied(error) {
            self.candidates.iter().for_each(|tried| worker.shared.confirmed.forget(&self.user, tried));
        }
    }
}

/// What a client is told whose login Weir refuses. Text and code do not tell why (trap P18).
pub(crate) fn refusal(failure: AuthFailure, user: &[u8], host: &str, with_password: bool) -> ErrPacket {
    match failure {
        AuthFailure::UnsupportedPlugin => {
            let text = "Client does not support authentication protocol requested by server; \
                        consider upgrading MySQL client";
            ErrPacket::new(1251, b"08004", text)
        }
        AuthFailure::Malformed => ErrPacket::new(1043, b"08S01", "Bad handshake"),
        _ => access_denied(user, host, with_password),
    }
}

/// Refuses a login at an age that is a multiple of `limits.auth_failure_delay`, whoever the user is.
async fn fail(
    worker: &Worker,
    settings: &Settings,
    mut packets: PacketStream,
    started: Instant,
    (failure, err): (AuthFailure, ErrPacket),
) -> CloseReason {
    worker.stats().auth_failed(failure);
    if failure == AuthFailure::Abandoned {
        return CloseReason::ClientGone;
    }
    pad(started, settings.limits.auth_failure_delay).await;
    refuse(worker, &mut packets, &err).await;
    crate::close::linger(packets.into_parts().0).await;
    CloseReason::AuthFailed
}

/// Waits until the age is a multiple of `quantum`.
pub(crate) async fn pad(started: Instant, quantum: Duration) {
    if quantum.is_zero() {
        return;
    }
    let age = started.elapsed().as_nanos();
    let turns = age / quantum.as_nanos() + 1;
    let turns = u32::try_from(turns).unwrap_or(u32::MAX);
    sleep_until(started + quantum * turns).await;
}

fn log_refusal(error: &ConnectError, user: &[u8], host: &str) {
    tracing::warn!(event = "login_refused", user = %Shown(user), host, why = %error, "login did not reach the server, or was refused by it");
}

/// Puts compression on the client's connection, as it asked: zlib where both are asked for, as the servers do.
fn compress(
    packets: PacketStream,
    response: &weir_wire::login::HandshakeResponse,
) -> Result<(Stream, Vec<u8>), CloseReason> {
    let algorithm = if response.caps & caps::COMPRESS != 0 {
        Algorithm::Zlib
    } else if response.caps & caps::ZSTD_COMPRESSION != 0 {
        Algorithm::Zstd(i32::from(response.zstd_level.unwrap_or(3).clamp(1, 22)))
    } else {
        return Ok(packets.into_parts());
    };
    let (stream, early) = packets.into_parts();
    let stream = stream.compressed(algorithm, early).map_err(|_| CloseReason::ClientIo)?;
    Ok((stream, Vec::new()))
}
