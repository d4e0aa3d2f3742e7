//! Taking connections from listeners and handing them to workers.

use crate::worker::Dispatcher;
use std::io;
use std::time::Duration;
use tokio::net::{TcpListener, UnixListener};
use tokio::time::sleep;

/// After the system refused a connection for want of descriptors or memory: long enough to let some go.
const REST: Duration = Duration::from_millis(100);

/// Takes TCP connections for ever.
pub async fn accept_tcp(listener: std::net::TcpListener, dispatcher: Dispatcher) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let accepted = listener.accept().await;
        match accepted.and_then(|(socket, peer)| Ok((socket.into_std()?, peer))) {
            Ok((socket, peer)) => dispatcher.tcp(socket, peer),
            Err(e) => rest(&e).await,
        }
    }
}

/// Takes unix socket connections for ever.
pub async fn accept_unix(
    listener: std::os::unix::net::UnixListener,
    dispatcher: Dispatcher,
) -> io::Result<()> {
    let listener = UnixListener::from_std(listener)?;
    loop {
        match listener.accept().await.and_then(|(socket, _)| socket.into_std()) {
            Ok(socket) => dispatcher.unix(socket),
            Err(e) => rest(&e).await,
        }
    }
}

async fn rest(error: &io::Error) {
    // A client that left between its SYN and our accept is no trouble of ours.
    if error.kind() == io::ErrorKind::ConnectionAborted {
        return;
    }
    tracing::error!(event = "accept_failed", error = %error,
        "cannot accept connections; if it is the number of open files, raise LimitNOFILE or ulimit -n");
    sleep(REST).await;
}
