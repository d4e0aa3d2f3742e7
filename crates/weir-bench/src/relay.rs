//! A relay that copies bytes both ways and knows no protocol: the least that a proxy on this runtime can cost.
//!
//! It is laid out like Weir's data plane: one thread per core with a single-threaded runtime of its own, a connection
//! goes to the worker that has the fewest, and each worker reads into one scratch buffer that all its connections
//! share. Its sockets are weir-net's, on the worker's ring where the kernel gives one.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::net::TcpStream;
use tokio::sync::mpsc;
use weir_net::{Socket, Stream, ring, with_scratch};

/// Accepts at `listen` and relays each connection to `backend`, with `epoll` without rings; returns only with an error.
///
/// # Errors
/// When the address cannot be bound or a worker cannot be started.
pub fn run(listen: SocketAddr, backend: SocketAddr, epoll: bool) -> io::Result<()> {
    let listener = std::net::TcpListener::bind(listen)?;
    let cores = std::thread::available_parallelism()?.get();
    let workers = (0..cores).map(|_| worker(backend, epoll)).collect::<io::Result<Vec<_>>>()?;
    loop {
        let (client, _) = listener.accept()?;
        client.set_nonblocking(true)?;
        let least = workers.iter().min_by_key(|(load, _)| load.load(Ordering::Relaxed));
        let Some((load, queue)) = least else { return Err(io::ErrorKind::NotFound.into()) };
        load.fetch_add(1, Ordering::Relaxed);
        queue.send(client).map_err(io::Error::other)?;
    }
}

type Worker = (Arc<AtomicUsize>, mpsc::UnboundedSender<std::net::TcpStream>);

fn worker(backend: SocketAddr, epoll: bool) -> io::Result<Worker> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (queue, mut clients) = mpsc::unbounded_channel::<std::net::TcpStream>();
    let load = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&load);
    std::thread::Builder::new().name("relay".into()).spawn(move || {
        runtime.block_on(async {
            if !epoll && let Err(e) = ring::start() {
                eprintln!("no ring, so epoll is used: {e}");
            }
            while let Some(client) = clients.recv().await {
                let count = Arc::clone(&count);
                tokio::spawn(async move {
                    // A connection that breaks ends; its peers see that it closed.
                    let _ = relay(client, backend).await;
                    count.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
    })?;
    Ok((load, queue))
}

async fn relay(client: std::net::TcpStream, backend: SocketAddr) -> io::Result<()> {
    let client = TcpStream::from_std(client)?;
    let server = TcpStream::connect(backend).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut client, mut server) = (Stream::Plain(Socket::Tcp(client)), Stream::Plain(Socket::Tcp(server)));
    client.upgrade();
    server.upgrade();
    let (mut up, mut down) = (Way::default(), Way::default());
    poll_fn(|cx| {
        let up = up.poll(cx, &mut client, &mut server)?;
        let down = down.poll(cx, &mut server, &mut client)?;
        if up.is_ready() && down.is_ready() { Poll::Ready(Ok(())) } else { Poll::Pending }
    })
    .await
}

/// One direction of a connection.
#[derive(Default)]
struct Way {
    /// What was read and not yet taken by the other side.
    rest: Vec<u8>,
    ended: bool,
    /// The other side has been told of the end.
    told: bool,
}

impl Way {
    /// Copies what there is; ready once the side that is read from has ended and the other has been told.
    fn poll(&mut self, cx: &mut Context<'_>, from: &mut Stream, to: &mut Stream) -> Poll<io::Result<()>> {
        while !self.ended {
            while !self.rest.is_empty() {
                let taken = ready!(to.poll_write(cx, &self.rest))?;
                self.rest.drain(..taken);
            }
            self.ended = ready!(with_scratch(|buffer| {
                let got = ready!(from.poll_read(cx, buffer))?;
                let bytes = buffer.get(..got).unwrap_or_default();
                let taken = match bytes {
                    [] => 0,
                    _ => match to.poll_write(cx, bytes)? {
                        Poll::Ready(taken) => taken,
                        Poll::Pending => 0,
                    },
                };
                self.rest = bytes.get(taken..).unwrap_or_default().to_vec();
                Poll::Ready(Ok::<_, io::Error>(got == 0))
            }))?;
        }
        if !self.told {
            ready!(to.poll_shutdown(cx))?;
            self.told = true;
        }
        Poll::Ready(Ok(()))
    }
}
