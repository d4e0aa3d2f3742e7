//! Taking connections from listeners. The accept loops run on the first worker, so that what stays there needs no other
//! thread, and the rest is handed to the least loaded.

use crate::worker::Dispatcher;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;
use tokio::time::sleep;
use weir_net::{KeepAlive, TcpOptions, accept_tcp, accept_unix};

/// After the system refused a connection for want of descriptors or memory: long enough to let some go.
const REST: Duration = Duration::from_millis(100);

/// A socket that listens for clients.
#[derive(Debug)]
pub enum Listener {
    /// With the keep-alive that its connections inherit (see [`client_options`]).
    Tcp(std::net::TcpListener, Duration),
    Unix(std::os::unix::net::UnixListener),
}

impl Listener {
    /// A TCP listener whose connections begin with the options of clients: the kernel copies them from the listening
    /// socket, which saves five system calls for each connection.
    pub fn tcp(listener: std::net::TcpListener, keepalive: Duration) -> io::Result<Listener> {
        client_options(keepalive).apply(&listener)?;
        Ok(Listener::Tcp(listener, keepalive))
    }
}

/// What is set on a client's socket.
pub(crate) fn client_options(idle: Duration) -> TcpOptions {
    let keepalive = (!idle.is_zero()).then(|| KeepAlive { idle, ..KeepAlive::default() });
    TcpOptions { keepalive, ..TcpOptions::default() }
}

/// A connection that was taken and that no runtime knows yet.
#[derive(Debug)]
pub(crate) enum Taken {
    /// `inherited` is the keep-alive of its listener.
    Tcp {
        socket: std::net::TcpStream,
        peer: SocketAddr,
        inherited: Duration,
    },
    Unix(std::os::unix::net::UnixStream),
}

/// Takes connections until it is told to stop.
pub(crate) async fn accept_all(listener: Listener, dispatcher: Dispatcher, mut stop: watch::Receiver<bool>) {
    let accepting = async {
        match listener {
            Listener::Tcp(listener, inherited) => {
                let listener = watch_for_clients(listener)?;
                loop {
                    match listener.async_io(Interest::READABLE, accept_tcp).await {
                        Ok((socket, peer)) => dispatcher.hand_over(Taken::Tcp { socket, peer, inherited }),
                        Err(e) => rest(&e).await,
                    }
                }
            }
            Listener::Unix(listener) => {
                let listener = watch_for_clients(listener)?;
                loop {
                    match listener.async_io(Interest::READABLE, accept_unix).await {
                        Ok(socket) => dispatcher.hand_over(Taken::Unix(socket)),
                        Err(e) => rest(&e).await,
                    }
                }
            }
        }
    };
    tokio::select! {
        biased;
        // An error means that the sender is gone, which is the end as well.
        _ = stop.wait_for(|stop| *stop) => {}
        ended = accepting => {
            let ended: io::Result<()> = ended;
            tracing::error!(event = "accept_failed", error = ?ended.err(), "a listener has failed");
        }
    }
}

#[expect(
    deprecated,
    reason = "its successor is unsafe because a type may change its descriptor; std's listeners cannot"
)]
fn watch_for_clients<L: AsRawFd>(listener: L) -> io::Result<AsyncFd<L>> {
    AsyncFd::with_interest(listener, Interest::READABLE)
}

async fn rest(error: &io::Error) {
    // A client that left between its SYN and our accept is no trouble of ours.
    if error.kind() == io::ErrorKind::ConnectionAborted {
        return;
    }
    tracing::error!(
        event = "accept_failed",
        error = %error,
        "cannot accept connections; if it is the number of open files, raise LimitNOFILE or ulimit -n"
    );
    sleep(REST).await;
}
