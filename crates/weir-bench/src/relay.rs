//! A relay that copies bytes both ways and knows no protocol: the least that a proxy on this runtime can cost.
//!
//! It is laid out like Weir's data plane: one thread per core with a single-threaded runtime of its own, a connection
//! goes to the worker that has the fewest, and each worker reads into one scratch buffer that all its connections share.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

/// As large as Weir's: a larger one would make the relay faster than it and the comparison unfair.
const SCRATCH: usize = 64 * 1024;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; SCRATCH]);
}

/// Accepts at `listen` and relays each connection to `backend`; returns only with an error.
///
/// # Errors
/// When the address cannot be bound or a worker cannot be started.
pub fn run(listen: SocketAddr, backend: SocketAddr) -> io::Result<()> {
    let listener = std::net::TcpListener::bind(listen)?;
    let cores = std::thread::available_parallelism()?.get();
    let workers = (0..cores).map(|_| worker(backend)).collect::<io::Result<Vec<_>>>()?;
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

fn worker(backend: SocketAddr) -> io::Result<Worker> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (queue, mut clients) = mpsc::unbounded_channel::<std::net::TcpStream>();
    let load = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&load);
    std::thread::Builder::new().name("relay".into()).spawn(move || {
        runtime.block_on(async {
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
    let mut client = TcpStream::from_std(client)?;
    let mut server = TcpStream::connect(backend).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    tokio::try_join!(copy(&mut from_client, &mut to_server), copy(&mut from_server, &mut to_client))?;
    Ok(())
}

async fn copy(from: &mut (impl AsyncRead + Unpin), to: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    while let Some(rest) = poll_fn(|cx| step(cx, &mut *from, &mut *to)).await? {
        if !rest.is_empty() {
            to.write_all(&rest).await?;
        }
    }
    to.shutdown().await
}

/// One read and one write; gives back what the write did not take, or nothing at the end of the stream.
fn step(
    cx: &mut std::task::Context<'_>,
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> Poll<io::Result<Option<Vec<u8>>>> {
    BUFFER.with_borrow_mut(|scratch| {
        let mut buffer = ReadBuf::new(scratch);
        ready!(Pin::new(from).poll_read(cx, &mut buffer))?;
        let bytes = buffer.filled();
        if bytes.is_empty() {
            return Poll::Ready(Ok(None));
        }
        let taken = match Pin::new(to).poll_write(cx, bytes) {
            Poll::Ready(taken) => taken?,
            Poll::Pending => 0,
        };
        Poll::Ready(Ok(Some(bytes.get(taken..).unwrap_or_default().to_vec())))
    })
}
