use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::{AdminState, FromPeer, routes};

/// What strangers on the admin port can take from Weir at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Connections at once; further ones wait in the kernel's queue. 64: a few scrapers, probes and people.
    pub connections: usize,
    /// Bytes of a request's head; what is longer gets status 431. 16 KiB: browsers stay below 8.
    pub head_bytes: usize,
    /// To send a whole head, and to stay silent between requests. 5 s: below that of common scrape timeouts.
    pub head_time: Duration,
    /// The age at which a connection is cut. 60 s: a client that never reads its answer goes then.
    pub age: Duration,
    /// What is under way at shutdown is given this long. 1 s: every answer is made in milliseconds.
    pub farewell: Duration,
}

pub(crate) const BOUNDS: Bounds = Bounds {
    connections: 64,
    head_bytes: 16 * 1024,
    head_time: Duration::from_secs(5),
    age: Duration::from_secs(60),
    farewell: Duration::from_secs(1),
};

/// Answers HTTP/1.1 on `listener` (TCP or a Unix socket) until `shutdown` completes; then stops accepting,
/// lets what is under way end within a second, and returns. Must run within a tokio runtime.
pub async fn serve<L: Listener<Io: FromPeer>>(
    listener: L,
    state: Arc<AdminState>,
    shutdown: impl Future<Output = ()>,
) {
    serve_within(BOUNDS, listener, state, shutdown).await;
}

pub(crate) async fn serve_within<L: Listener<Io: FromPeer>>(
    bounds: Bounds,
    mut listener: L,
    state: Arc<AdminState>,
    shutdown: impl Future<Output = ()>,
) {
    let router = routes::router(state);
    let slots = Arc::new(Semaphore::new(bounds.connections));
    let (stop, stopped) = watch::channel(());
    let mut connections = JoinSet::new();
    tokio::pin!(shutdown);
    loop {
        let accepted = async {
            // The slot first, so that a connection beyond the bound is not even accepted.
            let slot = Arc::clone(&slots).acquire_owned().await;
            (slot, listener.accept().await.0)
        };
        tokio::select! {
            () = &mut shutdown => break,
            Some(_) = connections.join_next() => {}
            (slot, stream) = accepted => {
                // Every request of this connection carries who is at its other end.
                let router = router.clone().layer(Extension(stream.peer()));
                let connection = one(bounds, stream, router, stopped.clone());
                connections.spawn(async move {
                    connection.await;
                    drop(slot);
                });
            }
        }
    }
    drop(stop);
    let all_gone = async { while connections.join_next().await.is_some() {} };
    if timeout(bounds.farewell, all_gone).await.is_err() {
        tracing::debug!("admin connections were cut at shutdown");
    }
}

/// Serves one connection until it ends, is too old, or `stopped` says so.
async fn one<S>(bounds: Bounds, stream: S, router: Router, mut stopped: watch::Receiver<()>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.head_time)
        .max_buf_size(bounds.head_bytes)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    tokio::pin!(connection);
    let served = async {
        tokio::select! {
            result = &mut connection => return result,
            // An error means that the sender is gone, which is the signal.
            _ = stopped.changed() => {}
        }
        connection.as_mut().graceful_shutdown();
        connection.await
    };
    match timeout(bounds.age, served).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "an admin connection failed"),
        Err(_) => tracing::debug!(age = ?bounds.age, "an admin connection was cut at its greatest age"),
    }
}

#[cfg(test)]
mod tests;
