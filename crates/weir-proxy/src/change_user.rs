//! COM_CHANGE_USER: the client proves itself to Weir anew, and Weir to the server, on the connections they have.

use crate::accept::host;
use crate::attach::change_link_user;
use crate::exchange::Answer;
use crate::foreign::Foreign;
use crate::greet::{read_error, refuse};
use crate::login::{Offer, authenticate, pad, refusal};
use crate::question::query;
use crate::session::Session;
use std::io;
use std::sync::Arc;
use tokio::time::{Instant, timeout};
use weir_auth::{Plugin, Secret};
use weir_model::{AuthFailure, CloseReason, ServerFamily};
use weir_net::{PacketError, PacketStream};
use weir_pool::ConnectError;
use weir_session::Schema;
use weir_sql::CharsetClass;
use weir_wire::HEADER;
use weir_wire::command::{self, Shape};
use weir_wire::login::ChangeUser;
use weir_wire::packet::{ErrPacket, parse_ok_head, status};

/// Carries out a COM_CHANGE_USER (trap P17). Where the server refuses, MySQL has ended the session, and the client's
/// connection is closed; MariaDB goes on as the old user, and so does the client. Where Weir itself refuses (a user
/// that is listed or unknown, without pass-through) the connection is closed.
pub(crate) async fn change_user(session: &mut Session, body: Vec<u8>) -> Result<(), CloseReason> {
    let limit = session.limits.login_timeout;
    match timeout(limit, exchange(session, &body)).await {
        Ok(result) => result,
        Err(_) => Err(CloseReason::LoginTimeout),
    }
}

async fn exchange(session: &mut Session, body: &[u8]) -> Result<(), CloseReason> {
    let started = Instant::now();
    let worker = Arc::clone(&session.worker);
    let settings = worker.shared.settings();
    session.begin(command::CHANGE_USER, Shape::Auth);
    session.current.bytes_in = (HEADER + 1 + body.len()) as u64;
    let early = std::mem::take(&mut session.held_up);
    let mut client = PacketStream::new(session.client.take(), early, settings.limits.login_bytes);
    client.set_seq(1);
    let request = match ChangeUser::parse(body, session.client_caps) {
        Ok(request) => request,
        Err(_) => {
            let err = ErrPacket::new(1047, b"08S01", "Unknown command");
            return Err(give_up(session, client, &err, CloseReason::ClientProtocol).await);
        }
    };
    let offer = Offer {
        user: &request.user,
        greeting_plugin: Plugin::CachingSha2,
        plugin: request.plugin.as_deref(),
        response: &request.auth_response,
        nonce: session.client_nonce,
        caps: session.client_caps,
        change_user: true,
    };
    let (identity, nonce) = match authenticate(&worker, &settings, &mut client, offer).await {
        Ok(proven) => proven,
        Err(failure) => {
            worker.stats().auth_failed(failure);
            pad(started, settings.limits.auth_failure_delay).await;
            let err = refusal(failure, &request.user, &host(session.peer), !request.auth_response.is_empty());
            return Err(give_up(session, client, &err, CloseReason::AuthFailed).await);
        }
    };
    session.client_nonce = nonce;
    let changed = at_server(session, &request, identity.candidates()).await;
    let (ok, secret) = match changed {
        Ok(changed) => changed,
        Err(error) => {
            worker.stats().auth_failed(AuthFailure::RefusedByServer);
            identity.rejected(&worker, &error);
            pad(started, settings.limits.auth_failure_delay).await;
            if session.server.family == ServerFamily::MariaDb && matches!(error, ConnectError::Refused { .. })
            {
                begin_anew(session, request.charset);
                if reread(session).await.is_err() {
                    return Err(give_up(session, client, &error.to_client(), CloseReason::ServerGone).await);
                }
                return go_on(session, client, &error.to_client().to_payload()).await;
            }
            return Err(give_up(session, client, &error.to_client(), CloseReason::AuthFailed).await);
        }
    };
    identity.accepted(&worker, &secret);
    worker.stats().login_ok();
    adopt(session, &request, &ok);
    (session.identity, session.secret) = (Arc::new(identity), secret);
    session.entry.handle.set_user(&session.identity);
    session.sharing_changed_user();
    session.live_changed_user();
    let ok = match &session.sharing {
        Some(sharing) => sharing.tracker.shown(ok),
        None => ok,
    };
    go_on(session, client, &ok).await
}

/// Answers the client and goes back to its commands.
async fn go_on(session: &mut Session, mut client: PacketStream, answer: &[u8]) -> Result<(), CloseReason> {
    client.write(answer).await.map_err(|e| read_error(PacketError::Io(e)))?;
    let (stream, held) = client.into_parts();
    session.client = stream;
    session.starved = held.is_empty();
    session.held_up = held;
    session.current.ended = std::time::Instant::now();
    let elapsed = session.current.ended.saturating_duration_since(session.current.started).as_nanos() as u64;
    let (bytes_in, bytes_out) = (session.current.bytes_in, (HEADER + answer.len()) as u64);
    session.worker.stats().command_done(command::CHANGE_USER, elapsed, elapsed, bytes_in, bytes_out);
    session.live_ended(elapsed, bytes_in, bytes_out);
    Ok(())
}

/// Sends COM_CHANGE_USER to the server. MySQL closes after a refusal, so only one password can be tried: the current.
async fn at_server(
    session: &mut Session,
    request: &ChangeUser,
    candidates: &[Secret],
) -> Result<(Vec<u8>, Secret), ConnectError> {
    let secret = candidates.first().cloned().unwrap_or_default();
    let worker = Arc::clone(&session.worker);
    let result = change_link_user(&worker, &mut session.server, request.clone(), secret.clone()).await;
    Ok((result?, secret))
}

/// MariaDB has forgotten the session before it refused: its statements are gone, and its transaction.
fn begin_anew(session: &mut Session, charset: Option<u16>) {
    // COM_RESET_CONNECTION goes back to what was named last, even so.
    if let Some(charset) = charset {
        session.login_charset = CharsetClass::from_collation_id(charset);
    }
    session.statements.clear();
    session.ruled.all_closed();
    session.sharing_unsure(charset.is_some());
}

/// Asks how the server reads statements from here on: MariaDB has gone back to its global variables before it refused. Rules may
/// come that depend on it.
async fn reread(session: &mut Session) -> io::Result<()> {
    // What reads no table leaves the error in the diagnostics area, where the client may look for it.
    let sql = b"SELECT @@SESSION.character_set_client,@@SESSION.sql_mode";
    let Answer::Done { values, .. } = query(&mut session.server, sql).await? else {
        return Err(io::Error::other("how the server reads statements"));
    };
    let value = |at: usize| values.get(at).and_then(Option::as_deref).unwrap_or_default();
    session.charset = CharsetClass::from_name(value(0));
    let modes = || value(1).split(|byte| *byte == b',');
    let mut flags = session.walker.status() & !(status::ANSI_QUOTES | status::NO_BACKSLASH_ESCAPES);
    // What was open is rolled back.
    flags &= !(status::IN_TRANS | status::IN_TRANS_READONLY);
    for (mode, flag) in
        [(&b"ANSI_QUOTES"[..], status::ANSI_QUOTES), (b"NO_BACKSLASH_ESCAPES", status::NO_BACKSLASH_ESCAPES)]
    {
        if modes().any(|set| set == mode) {
            flags |= flag;
        }
    }
    session.walker.set_status(flags);
    if let Some(sharing) = &mut session.sharing {
        sharing.foreign_parts = Foreign::COUNTS;
    }
    Ok(())
}

/// The session starts anew under another user.
fn adopt(session: &mut Session, request: &ChangeUser, ok: &[u8]) {
    if let Ok(head) = parse_ok_head(ok) {
        session.walker.set_status(head.status);
    }
    session.statements.clear();
    session.ruled.changed_user(&request.database);
    let shown = std::mem::replace(&mut session.tally.shown, Schema::None);
    session.tally = session.tally.anew();
    session.tally.shown = shown;
    session.followed.reset();
    if let Some(charset) = request.charset {
        session.login_charset = CharsetClass::from_collation_id(charset);
        // A collation beyond 255 cannot be named in a login; the plan sets it.
        session.charset_id = u8::try_from(charset).unwrap_or(session.charset_id);
    }
    session.charset = session.login_charset;
}

async fn give_up(
    session: &mut Session,
    mut client: PacketStream,
    err: &ErrPacket,
    reason: CloseReason,
) -> CloseReason {
    refuse(&session.worker, &mut client, err).await;
    crate::close::linger(client.into_parts().0).await;
    reason
}
