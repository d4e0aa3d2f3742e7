//! A TCP relay that does to a connection what bad networks and bad peers do.
//!
//! Positions count the bytes of one connection in one direction, from its first. Faults can be changed while
//! connections run; those that a connection has passed already do not come back.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// Which way bytes flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    ToServer,
    ToClient,
}

/// What happens to the bytes of one direction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults {
    /// Each read is held this long before it is passed on.
    pub delay: Duration,
    /// Bytes are passed on in writes of this many; 0 passes on what was read.
    pub slice: usize,
    /// Nothing is read while this is true.
    pub stalled: bool,
    /// The direction stalls behind the next read that has this text in it, which still gets through.
    pub stall_behind: Option<String>,
    /// After this many bytes both sockets are closed.
    pub cut_at: Option<u64>,
    /// When `cut_at` strikes, both peers get a reset instead of an end of file.
    pub cut_with_reset: bool,
    /// After this many bytes the receiver sees the end of the stream; the other direction goes on.
    pub half_close_at: Option<u64>,
    /// At this position these bytes are put in.
    pub garbage_at: Option<(u64, Vec<u8>)>,
}

/// A running relay. Dropping it closes its port and its connections.
pub struct Relay {
    addr: SocketAddr,
    shared: Arc<Shared>,
    acceptor: JoinHandle<()>,
}

struct Shared {
    upstream: SocketAddr,
    source: Option<Ipv4Addr>,
    to_server: Lane,
    to_client: Lane,
    /// Raised to end every connection of an earlier generation.
    generation: watch::Sender<u64>,
    accepted: AtomicU64,
    open: watch::Sender<usize>,
}

struct Lane {
    faults: watch::Sender<Faults>,
    bytes: AtomicU64,
}

impl Relay {
    /// Listens on a free port of 127.0.0.1 and connects each client to `upstream`.
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn start(upstream: SocketAddr) -> Result<Self> {
        Self::with_source(upstream, None).await
    }

    /// As [`Relay::start`]; connections to `upstream` come from `source`, for example 127.0.0.2, which a
    /// server does not take for its own host.
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn with_source(upstream: SocketAddr, source: Option<Ipv4Addr>) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("cannot listen")?;
        let addr = listener.local_addr()?;
        let shared = Arc::new(Shared {
            upstream,
            source,
            to_server: Lane::new(),
            to_client: Lane::new(),
            generation: watch::Sender::new(0),
            accepted: AtomicU64::new(0),
            open: watch::Sender::new(0),
        });
        let acceptor = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self { addr, shared, acceptor })
    }

    /// Where clients connect.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Changes the faults of a direction, for running connections too.
    pub fn faults(&self, direction: Direction, change: impl FnOnce(&mut Faults)) {
        self.shared.lane(direction).faults.send_modify(change);
    }

    /// Both directions pass bytes untouched again.
    pub fn heal(&self) {
        for direction in [Direction::ToServer, Direction::ToClient] {
            self.faults(direction, |faults| *faults = Faults::default());
        }
    }

    /// The direction stalls behind the next read that has `text` in it, which still gets through: a statement, say, and not
    /// what happens to be sent ahead of it.
    pub fn stall_behind(&self, direction: Direction, text: &str) {
        self.faults(direction, |faults| faults.stall_behind = Some(text.to_owned()));
    }

    pub fn stall(&self, direction: Direction) {
        self.faults(direction, |faults| faults.stalled = true);
    }

    pub fn resume(&self, direction: Direction) {
        self.faults(direction, |faults| faults.stalled = false);
    }

    /// Closes every connection now.
    pub fn drop_connections(&self) {
        self.shared.generation.send_modify(|generation| *generation += 1);
    }

    /// Bytes read from the sender of a direction, over all connections.
    pub fn bytes(&self, direction: Direction) -> u64 {
        self.shared.lane(direction).bytes.load(Ordering::Relaxed)
    }

    /// Connections accepted since the start.
    pub fn accepted(&self) -> u64 {
        self.shared.accepted.load(Ordering::Relaxed)
    }

    /// Connections open now.
    pub fn open(&self) -> usize {
        *self.shared.open.borrow()
    }

    /// Waits until the number of open connections satisfies `enough`.
    pub async fn wait_open(&self, enough: impl FnMut(&usize) -> bool) {
        // The sender lives in `self`, so the wait cannot fail.
        self.shared.open.subscribe().wait_for(enough).await.ok();
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.acceptor.abort();
    }
}

impl Shared {
    fn lane(&self, direction: Direction) -> &Lane {
        match direction {
            Direction::ToServer => &self.to_server,
            Direction::ToClient => &self.to_client,
        }
    }

    async fn connect(&self) -> io::Result<TcpStream> {
        let socket = if self.upstream.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        if let Some(source) = self.source {
            socket.bind(SocketAddr::new(IpAddr::V4(source), 0))?;
        }
        socket.connect(self.upstream).await
    }
}

impl Lane {
    fn new() -> Self {
        Self { faults: watch::Sender::new(Faults::default()), bytes: AtomicU64::new(0) }
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Connections live in this set, so that they end with the relay.
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        shared.accepted.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            shared.open.send_modify(|open| *open += 1);
            // An error here is a peer that went away, which is what the relay is for.
            serve(client, &shared).await.ok();
            shared.open.send_modify(|open| *open -= 1);
        });
    }
}

async fn serve(mut client: TcpStream, shared: &Shared) -> io::Result<()> {
    let mut generation = shared.generation.subscribe();
    let mut server = shared.connect().await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    // Borrowed halves: dropping them sends no end of stream ahead of a reset.
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let both = async {
        tokio::try_join!(
            pump(from_client, to_server, &shared.to_server),
            pump(from_server, to_client, &shared.to_client)
        )
    };
    tokio::select! {
        ended = both => ended.map(drop),
        _ = generation.changed() => Ok(()),
    }
}

/// Moves one direction until its end. An error ends the whole connection.
async fn pump(mut from: ReadHalf<'_>, mut to: WriteHalf<'_>, lane: &Lane) -> io::Result<()> {
    let mut changes = lane.faults.subscribe();
    let mut buffer = vec![0; 64 * 1024];
    let mut position = 0;
    loop {
        let faults = match changes.wait_for(|faults| !faults.stalled).await {
            Ok(faults) => faults.clone(),
            Err(_) => return Ok(()),
        };
        if strike(&faults, position, &from, &mut to).await? {
            return Ok(());
        }
        let limit = next_event(&faults, position).map_or(buffer.len(), |n| n.min(buffer.len()));
        let count = tokio::select! {
            biased;
            // A stall or a nearer fault may have been set while nothing came: what comes behind it is subject to it.
            _ = changes.changed() => continue,
            count = from.read(&mut buffer[..limit]) => count?,
        };
        if count == 0 {
            return to.shutdown().await;
        }
        lane.bytes.fetch_add(count as u64, Ordering::Relaxed);
        if !faults.delay.is_zero() {
            tokio::time::sleep(faults.delay).await;
        }
        // Ahead of passing it on: who sees the answer to it finds the stall set, and can end it.
        if faults.stall_behind.as_ref().is_some_and(|text| has(&buffer[..count], text.as_bytes())) {
            lane.faults.send_modify(|faults| (faults.stalled, faults.stall_behind) = (true, None));
        }
        pass_on(&buffer[..count], &faults, &mut to).await?;
        position += count as u64;
    }
}

fn has(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

async fn pass_on(bytes: &[u8], faults: &Faults, to: &mut WriteHalf<'_>) -> io::Result<()> {
    let slice = if faults.slice == 0 { bytes.len() } else { faults.slice };
    for part in bytes.chunks(slice) {
        to.write_all(part).await?;
        // Lets the receiver run between two slices, so that it really sees them apart.
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// Does what is due at this position; true when the direction is over.
async fn strike(
    faults: &Faults,
    position: u64,
    from: &ReadHalf<'_>,
    to: &mut WriteHalf<'_>,
) -> io::Result<bool> {
    if let Some((at, garbage)) = &faults.garbage_at
        && *at == position
    {
        to.write_all(garbage).await?;
    }
    if faults.cut_at.is_some_and(|at| position >= at) {
        if faults.cut_with_reset {
            from.as_ref().set_zero_linger()?;
            to.as_ref().set_zero_linger()?;
        }
        return Err(io::ErrorKind::ConnectionAborted.into());
    }
    if faults.half_close_at.is_some_and(|at| position >= at) {
        to.shutdown().await?;
        return Ok(true);
    }
    Ok(false)
}

/// How many bytes may pass before the next fault is due.
fn next_event(faults: &Faults, position: u64) -> Option<usize> {
    let garbage = faults.garbage_at.as_ref().map(|(at, _)| *at);
    let positions = [faults.cut_at, faults.half_close_at, garbage];
    let next = positions.into_iter().flatten().filter(|at| *at > position).min()?;
    usize::try_from(next - position).ok()
}

#[cfg(test)]
mod tests;
