//! What a session reads back from its connection before it gives it to others.

use crate::attach::sync;
use crate::foreign::Foreign;
use crate::question::{ask, clean, read_state, read_user_variables};
use crate::session::{Exit, Session};
use crate::sharing::{Rebase, plan};
use crate::up::AHEAD_MAX;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::time::{Instant, sleep};
use weir_model::{CloseReason, ServerFamily};
use weir_net::{Stream, with_scratch};
use weir_session::{Plan, State};

/// Reads back what only the connection knows, before it is given back.
pub(crate) async fn settle(session: &mut Session) -> Result<(), Exit> {
    if session.has_done_filling() {
        return crate::fill::finish(session).await;
    }
    let done = patiently(session, read_back).await?;
    done.map_err(|error| {
        tracing::debug!(event = "read_back_failed", client = session.entry.handle.id(), error = %error);
        Exit::Close(CloseReason::ServerGone)
    })
}

/// Asks the server what the session cannot go on without, be it that its client waits for nothing. That may take as long as a
/// statement (`limits.server_read_timeout`), and ends with the session; for a client that has left it takes no longer than what
/// Weir asks otherwise.
pub(crate) async fn patiently<T>(
    session: &mut Session,
    work: impl AsyncFnOnce(&mut Session) -> io::Result<T>,
) -> Result<io::Result<T>, Exit> {
    let (limit, least) = (session.limits.server_read_timeout, session.limits.server_connect_timeout);
    let handle = Arc::clone(&session.entry.handle);
    let (mut client, mut ahead) = (session.client.take(), std::mem::take(&mut session.held_up));
    let (held, mut is_there, mut limited) = (ahead.len(), true, !limit.is_zero());
    let done = {
        let mut working = pin!(work(session));
        let mut silence = pin!(sleep(limit));
        poll_fn(|cx| {
            if let Poll::Ready(done) = working.as_mut().poll(cx) {
                return Poll::Ready(Some(done));
            }
            if handle.orders.ends() > 0 || handle.ended() {
                return Poll::Ready(None);
            }
            if is_there && !hears(&mut client, cx, &mut ahead) {
                let latest = Instant::now() + least;
                if !limited || silence.deadline() > latest {
                    silence.as_mut().reset(latest);
                }
                (is_there, limited) = (false, true);
            }
            let is_late = limited && silence.as_mut().poll(cx).is_ready();
            if is_late { Poll::Ready(Some(Err(io::ErrorKind::TimedOut.into()))) } else { Poll::Pending }
        })
        .await
    };
    session.starved &= ahead.len() == held;
    (session.client, session.held_up) = (client, ahead);
    done.ok_or_else(|| match handle.orders.ends() {
        0 => session.shut_down(),
        _ => Exit::Tell(CloseReason::Killed, session.killed_told()),
    })
}

/// Takes what a client sends ahead, as far as there is room. False: it is gone.
fn hears(client: &mut Stream, cx: &mut Context<'_>, ahead: &mut Vec<u8>) -> bool {
    while ahead.len() < AHEAD_MAX {
        let room = AHEAD_MAX - ahead.len();
        let read = with_scratch(|scratch| {
            let read = client.poll_read(cx, &mut scratch[..room]);
            if let Poll::Ready(Ok(n)) = read {
                ahead.extend_from_slice(&scratch[..n]);
            }
            read
        });
        match read {
            Poll::Pending => return true,
            Poll::Ready(Ok(0)) | Poll::Ready(Err(_)) => return false,
            Poll::Ready(Ok(_)) => {}
        }
    }
    true
}

/// The session is new, and its connection is as read.
async fn start_anew(session: &mut Session, rebase: Rebase, read: State) -> io::Result<()> {
    let Some(sharing) = &mut session.sharing else { return Ok(()) };
    sharing.wanted = read.clone();
    if rebase == Rebase::ChangeUser {
        sharing.login = Some(read);
        sharing.keep_for_null_ids();
        return Ok(());
    }
    if session.server.family == ServerFamily::MariaDb {
        match &sharing.login {
            // The connection has gone back to what its own login had agreed on.
            Some(login) => sharing.wanted.take_names(login),
            None => sharing.login = Some(read.clone()),
        }
    }
    if let Some(charset) = sharing.client_charset() {
        session.charset = charset;
    }
    sharing.actual = Some(read);
    let planned = plan(sharing, &session.worker.learned.lock().memory);
    if let Plan::Sync(steps) = planned {
        let wanted = sharing.wanted.clone();
        let synced = sync(session, &wanted, steps).await;
        synced.map_err(|trouble| io::Error::other(format!("{trouble:?}")))?;
    }
    if let Some(sharing) = &mut session.sharing {
        sharing.actual = None;
        sharing.keep_for_null_ids();
    }
    Ok(())
}

async fn read_back(session: &mut Session) -> io::Result<()> {
    read(session).await?;
    if session.sharing.as_ref().is_none_or(|sharing| !sharing.is_attached()) {
        return Ok(());
    }
    // While it was idle, its end was waited for.
    poll_fn(|cx| session.server.stream.poll_still(cx)).await
}

async fn read(session: &mut Session) -> io::Result<()> {
    let worker = session.worker.clone();
    let Some(sharing) = &mut session.sharing else { return Ok(()) };
    if let Some(rebase) = sharing.rebase.take() {
        let read = read_state(&worker, &mut session.server).await?;
        return start_anew(session, rebase, read).await;
    }
    read_leftovers(session).await?;
    let Some(sharing) = &mut session.sharing else { return Ok(()) };
    if !sharing.wanted.is_known() {
        read_state_back(session).await?;
        if let Some(sharing) = &mut session.sharing
            && sharing.succeeded
        {
            let mut learned = worker.learned.lock();
            sharing.doing.with(|statement| learned.memory.remember(statement, &sharing.wanted));
        }
    }
    if let Some(sharing) = &mut session.sharing
        && sharing.has_unread()
        && read_user_variables(&mut session.server, &mut sharing.unread, &mut sharing.wanted).await?
    {
        sharing.pins.level(weir_session::PinReason::UserVariable, false);
    }
    if session.sharing.as_ref().is_some_and(|sharing| sharing.must_clean())
        && let Err(error) = clean(&mut session.server).await
    {
        if session.sharing.as_ref().is_some_and(|sharing| sharing.keeps_more_than_state()) {
            return Err(error);
        }
        // Nothing of the session is on it any more.
        session.drop_link();
    }
    if let Some(sharing) = &mut session.sharing {
        // For one that goes on using the connection.
        (sharing.foreign_parts, sharing.unclean) = (Foreign::ALL, false);
    }
    Ok(())
}

/// Reads back what is not known of the session's state, while it goes on using the connection.
pub(crate) async fn read_back_state(session: &mut Session) -> io::Result<()> {
    read_leftovers(session).await?;
    read_state_back(session).await?;
    if let Some(sharing) = &mut session.sharing {
        sharing.foreign_parts = Foreign::ALL;
    }
    Ok(())
}

async fn read_state_back(session: &mut Session) -> io::Result<()> {
    let Some(sharing) = &mut session.sharing else { return Ok(()) };
    let values = ask(&mut session.server, sharing.wanted.read_back_text().as_bytes()).await?;
    let row: Vec<Option<&[u8]>> = values.iter().map(Option::as_deref).collect();
    sharing.wanted.read_back(&row).map_err(io::Error::other)?;
    if let Some(charset) = sharing.client_charset() {
        // What a statement has made of it was a guess.
        session.charset = charset;
    }
    sharing.pins.level(weir_session::PinReason::StateUnknown, false);
    sharing.keep_for_null_ids();
    Ok(())
}

/// Reads what the last statement left, if only the connection knows. False: there was nothing to read.
pub(crate) async fn read_leftovers(session: &mut Session) -> io::Result<bool> {
    let Some(sharing) = &mut session.sharing else { return Ok(false) };
    let owes = !sharing.leftovers.owes().is_none();
    if owes {
        let values = ask(&mut session.server, sharing.leftovers.read_back_text().as_bytes()).await?;
        let row: Vec<Option<&[u8]>> = values.iter().map(Option::as_deref).collect();
        if !sharing.leftovers.read_back(&row) {
            return Err(io::Error::other("the row of LAST_INSERT_ID() and FOUND_ROWS()"));
        }
        // The session's own may be another, where no statement of it has asked for it here.
        let there = row.first().copied().flatten();
        sharing.insert_id_there = there.and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
        sharing.leftovers_read();
    }
    Ok(owes)
}
