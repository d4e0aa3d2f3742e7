//! TCP through io_uring: a thread's sockets share a ring, and what its tasks read and write in one turn of the runtime
//! costs one system call together.
//!
//! [`start`] makes the ring of the calling thread; [`RingSocket::new`] puts a socket on it. The ring is turned by a task
//! of the thread's own runtime.

mod driver;
mod sys;

use driver::Driver;
use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use tokio::io::unix::AsyncFd;

thread_local! {
    static DRIVER: RefCell<Option<Driver>> = const { RefCell::new(None) };
}

/// Makes the calling thread's ring, and a task on the runtime that turns it. The runtime must be of a single thread.
///
/// # Errors
/// When the kernel gives no ring, with what it says.
pub fn start() -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let driver = Driver::new(NEXT.fetch_add(1, Ordering::Relaxed))?;
    let watch = driver.watch()?;
    DRIVER.with(|cell| cell.replace(Some(driver)));
    tokio::spawn(turn_on(watch));
    Ok(())
}

/// Ends when all bytes of streams that are gone have left. Meant for the end of a runtime: it asks again and again.
pub async fn drained() {
    while with_driver(|driver| driver.has_leaving()).unwrap_or(false) {
        tokio::task::yield_now().await;
    }
}

/// Whether this thread has a ring.
pub fn is_running() -> bool {
    with_driver(|_| ()).is_some()
}

async fn turn_on(watch: AsyncFd<OwnedFd>) {
    let mut wakers = Vec::new();
    poll_fn(|cx| {
        // Only what says "not ready" wakes this task again. One turn is enough for all that was signalled.
        loop {
            match watch.poll_read_ready(cx) {
                Poll::Ready(Ok(mut ready)) => ready.clear_ready(),
                Poll::Ready(Err(_)) => return Poll::Ready(()),
                Poll::Pending => break,
            }
        }
        let alive = with_driver(|driver| {
            driver.set_turner(cx);
            if driver.turn(&mut wakers).is_err() {
                cx.waker().wake_by_ref();
            }
        });
        wakers.drain(..).for_each(std::task::Waker::wake);
        if alive.is_some() { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
}

fn with_driver<T>(f: impl FnOnce(&mut Driver) -> T) -> Option<T> {
    DRIVER.try_with(|cell| cell.try_borrow_mut().ok()?.as_mut().map(f)).ok().flatten()
}

/// The number of no ring.
const NOWHERE: u64 = u64::MAX;

/// A TCP connection on the ring of the thread that made it, and of no use on another.
#[derive(Debug)]
pub struct RingSocket {
    ring: u64,
    key: u32,
}

impl RingSocket {
    /// Puts a socket on this thread's ring; gives it back where there is none.
    ///
    /// # Errors
    /// The socket, as it was.
    pub fn new(socket: TcpStream) -> Result<Self, TcpStream> {
        match socket.set_nonblocking(false) {
            Ok(()) => Self::of_blocking(socket),
            Err(_) => Err(socket),
        }
    }

    /// As [`Self::new`], for a socket in blocking mode.
    ///
    /// # Errors
    /// The socket, as it was.
    pub(crate) fn of_blocking(socket: TcpStream) -> Result<Self, TcpStream> {
        let mut socket = Some(socket);
        let made = with_driver(|driver| {
            let taken = socket.take()?;
            Some(Self { ring: driver.id, key: driver.insert(taken) })
        });
        match (made.flatten(), socket) {
            (Some(made), _) => Ok(made),
            (None, Some(socket)) => Err(socket),
            (None, None) => unreachable!("a socket is taken only to make a RingSocket"),
        }
    }

    /// Takes the socket off the ring, in blocking mode.
    ///
    /// # Errors
    /// Itself, while something of it is under way.
    pub(crate) fn into_socket(mut self) -> Result<TcpStream, Self> {
        let taken = with_driver(|driver| (driver.id == self.ring).then(|| driver.remove(self.key)).flatten());
        let Some(socket) = taken.flatten() else { return Err(self) };
        // There is nothing left on the ring for the drop to release.
        self.ring = NOWHERE;
        Ok(socket)
    }

    #[inline]
    fn on<T>(&self, f: impl FnOnce(&mut Driver, u32) -> Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        let call = with_driver(|driver| (driver.id == self.ring).then(|| f(driver, self.key))).flatten();
        call.unwrap_or_else(|| {
            Poll::Ready(Err(io::Error::other("a socket was taken to another thread than its ring's")))
        })
    }

    #[inline]
    pub(crate) fn poll_read(&mut self, cx: &mut Context<'_>, to: &mut [u8]) -> Poll<io::Result<usize>> {
        self.on(|driver, key| driver.poll_read(key, cx, to))
    }

    #[inline]
    pub(crate) fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.on(|driver, key| driver.poll_write(key, cx, bytes))
    }

    pub(crate) fn is_awaited(&self) -> bool {
        with_driver(|driver| driver.id == self.ring && driver.is_awaited(self.key)).unwrap_or(false)
    }

    pub(crate) fn poll_still(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.on(|driver, key| driver.poll_still(key, cx))
    }

    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.on(|driver, key| driver.poll_flush(key, cx))
    }

    pub(crate) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.on(|driver, key| driver.poll_shutdown(key, cx))
    }
}

impl Drop for RingSocket {
    fn drop(&mut self) {
        with_driver(|driver| {
            if driver.id == self.ring {
                driver.release(self.key);
            }
        });
    }
}

#[cfg(test)]
mod tests;
