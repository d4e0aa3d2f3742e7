//! Step 10: what is counted and logged. One event for each command, one line for each login and each end.

use crate::session::Session;
use std::net::SocketAddr;
use std::time::Instant;
use weir_model::CloseReason;
use weir_net::Stream;
use weir_stats::Timing;

/// Bytes of a user name that are logged. MySQL's names have at most 32 characters; a client that has not logged in may
/// send thousands.
const USER_SHOWN: usize = 96;

impl Session {
    /// A command's answer is complete; it was so at `answered_at`. `whole` is all of it, where one read has brought it.
    pub(crate) fn observe_done(&mut self, answered_at: Instant, whole: Option<&[u8]>) {
        self.ruled.over();
        let current = &mut self.current;
        let server_ns = answered_at.duration_since(current.started).as_nanos() as u64;
        // Another look at the clock only where the client has not taken all of it yet.
        current.ended = if self.to_client.is_empty() { answered_at } else { Instant::now() };
        let client_ns = current.ended.duration_since(current.started).as_nanos() as u64;
        let stats = self.worker.stats();
        let (time, bytes_in, bytes_out) = (Timing::new(client_ns), current.bytes_in, current.bytes_out);
        let at_once = client_ns == server_ns && server_ns != 0;
        if at_once {
            stats.command_answered(current.command, time, bytes_in, bytes_out);
        } else {
            stats.command_done(current.command, client_ns, server_ns, bytes_in, bytes_out);
        }
        let queue_ns = self.tally.queue_ns();
        match self.walker.error() {
            None if at_once => self.tally_answered_at_once(time, whole),
            error => {
                if let Some(code) = error {
                    stats.server_error(code);
                }
                self.tally_answered(client_ns, server_ns, whole);
            }
        }
        self.rules_took(client_ns + queue_ns);
        self.live_ended(client_ns, bytes_in, bytes_out);
    }
}

/// A client has logged in.
pub(crate) fn logged_in(user: &[u8], id: u32, server_id: u32, peer: Option<SocketAddr>, client: &Stream) {
    tracing::info!(event = "client_login", client = id, user = %Shown(user), peer = %Peer(peer),
        tls = client.tls_version().unwrap_or("none"), server_connection = server_id, "client logged in");
}

/// A client has gone, or was sent away, before it had logged in.
pub(crate) fn not_logged_in(peer: Option<SocketAddr>, reason: CloseReason) {
    tracing::info!(event = "client_refused", peer = %Peer(peer), reason = reason.as_str(), "client did not log in");
}

/// A session has ended.
pub(crate) fn closed(session: &Session, peer: Option<SocketAddr>, reason: CloseReason) {
    tracing::info!(event = "client_closed", client = session.entry.handle.id(),
        user = %Shown(&session.identity.user), peer = %Peer(peer), reason = reason.as_str(),
        commands = session.commands, seconds = session.began.elapsed().as_secs_f64(), "client connection ended");
}

/// A name that a client gave, as it may stand in a log line: short, and without line breaks or control characters.
pub(crate) struct Shown<'a>(pub &'a [u8]);

impl std::fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = &self.0[..self.0.len().min(USER_SHOWN)];
        write!(f, "{}", String::from_utf8_lossy(shown).escape_debug())?;
        if shown.len() < self.0.len() { f.write_str("...") } else { Ok(()) }
    }
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
