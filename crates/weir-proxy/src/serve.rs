//! One client, top to bottom.

use crate::accept::{Accepted, accept};
use crate::greet::greet;
use crate::login::login;
use crate::observe;
use crate::session::Session;
use crate::settings::Settings;
use crate::worker::Worker;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::time::timeout;
use weir_model::CloseReason;

/// Serves a client from its first byte to its last. The login's state is given back before the session begins, so
/// that an idle session holds little.
pub(crate) async fn serve(worker: Arc<Worker>, accepted: Accepted) {
    worker.stats().client_accepted();
    let mut peer = accepted.peer;
    let opened = open(&worker, accepted, &mut peer).await;
    let reason = match opened {
        Ok(session) => Session::run(session, peer).await,
        Err(reason) => {
            observe::not_logged_in(peer, reason);
            reason
        }
    };
    worker.stats().client_closed(reason);
}

/// Steps 1 to 3, within `limits.login_timeout` and as long as the login is not the oldest of too many.
async fn open(
    worker: &Arc<Worker>,
    accepted: Accepted,
    peer: &mut Option<SocketAddr>,
) -> Result<Box<Session>, CloseReason> {
    let settings = worker.shared.settings();
    let (pending, evicted) = worker.pend(settings.limits.max_pending_logins);
    let limit = settings.limits.login_timeout;
    // Of its kilobytes nothing is moved once they stand in the box.
    let steps = Box::pin(steps(worker, &settings, accepted, peer));
    let opened = tokio::select! {
        biased;
        opened = timeout(limit, steps) => opened.unwrap_or(Err(CloseReason::LoginTimeout)),
        _ = wait_evicted(evicted) => Err(CloseReason::LoginEvicted),
    };
    drop(pending);
    opened
}

async fn steps(
    worker: &Arc<Worker>,
    settings: &Settings,
    accepted: Accepted,
    peer: &mut Option<SocketAddr>,
) -> Result<Box<Session>, CloseReason> {
    let arrived = accept(accepted, settings).await?;
    *peer = arrived.peer;
    let greeted = greet(worker, settings, arrived.packets).await?;
    let logged_in = login(worker, settings, greeted, *peer).await?;
    Ok(Session::new(worker, settings, logged_in, *peer))
}

async fn wait_evicted(evicted: oneshot::Receiver<()>) {
    // The sender is dropped only together with the pending login itself.
    if evicted.await.is_err() {
        std::future::pending::<()>().await;
    }
}
