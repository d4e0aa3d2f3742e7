//! Step 10: what is counted and logged. One event for each command, one line for each login and each end.

use crate::session::Session;
use std::net::SocketAddr;
use std::time::Instant;
use weir_model::CloseReason;
use weir_net::Stream;

impl Session {
    /// A command's answer is complete; it was so at `answered_at`.
    pub(crate) fn observe_done(&mut self, answered_at: Instant) {
        let current = &mut self.current;
        let server_ns = answered_at.duration_since(current.started).as_nanos() as u64;
        current.ended = Instant::now();
        let client_ns = current.ended.duration_since(current.started).as_nanos() as u64;
        let stats = self.worker.stats();
        stats.command_done(current.command, client_ns, server_ns, current.bytes_in, current.bytes_out);
        if let Some(code) = self.walker.error() {
            stats.server_error(code);
        }
        if !current.text.is_empty() {
            current.text = Vec::new();
        }
    }
}

/// A client has logged in.
pub(crate) fn logged_in(user: &[u8], id: u32, server_id: u32, peer: Option<SocketAddr>, client: &Stream) {
    tracing::info!(event = "client_login", client = id, user = %String::from_utf8_lossy(user), peer = %Peer(peer),
        tls = client.tls_version().unwrap_or("none"), server_connection = server_id, "client logged in");
}

/// A client has gone, or was sent away, before it had logged in.
pub(crate) fn not_logged_in(peer: Option<SocketAddr>, reason: CloseReason) {
    tracing::info!(event = "client_refused", peer = %Peer(peer), reason = reason.as_str(), "client did not log in");
}

/// A session has ended.
pub(crate) fn closed(session: &Session, peer: Option<SocketAddr>, reason: CloseReason) {
    tracing::info!(event = "client_closed", client = session.entry.handle.id(),
        user = %String::from_utf8_lossy(&session.identity.user), peer = %Peer(peer), reason = reason.as_str(),
        commands = session.commands, seconds = session.began.elapsed().as_secs_f64(), "client connection ended");
}

/// An address as it stands in the log.
struct Peer(Option<SocketAddr>);

impl std::fmt::Display for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(peer) => peer.fmt(f),
            None => f.write_str("unix"),
        }
    }
}
