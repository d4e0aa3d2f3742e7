//! How a socket leaves its ring, to go on elsewhere.

use super::{Driver, Kind, Reading, Writing, entry, gone, store};
use std::io;
use std::net::TcpStream;
use std::task::{Context, Poll};

impl Driver {
    /// Whether somebody waits for bytes of a socket.
    pub fn is_awaited(&mut self, key: u32) -> bool {
        let reading = entry(&mut self.entries, key).map(|entry| &entry.reading);
        matches!(reading, Some(Reading::Receiving | Reading::Awaiting))
    }

    /// Ends that; ready when it has ended, with bytes or without.
    pub fn poll_still(&mut self, key: u32, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(entry) = entry(&mut self.entries, key) else { return Poll::Ready(Err(gone())) };
        let kind = match entry.reading {
            Reading::Receiving => Kind::Receive,
            Reading::Awaiting => Kind::Readable,
            Reading::Failed(libc::ECANCELED) => {
                entry.reading = Reading::Idle;
                return Poll::Ready(Ok(()));
            }
            _ => return Poll::Ready(Ok(())),
        };
        store(&mut entry.reader, cx);
        // Asked once more, it finds nothing.
        self.ring.cancel(key, kind);
        self.notify();
        Poll::Pending
    }

    /// Takes a socket off the ring, if nothing of it is under way and it is in order.
    pub fn remove(&mut self, key: u32) -> Option<TcpStream> {
        entry(&mut self.entries, key).filter(|entry| {
            entry.operations == 0
                && entry.failed.is_none()
                && matches!(entry.writing, Writing::Idle)
                && matches!(entry.reading, Reading::Idle | Reading::Ready)
        })?;
        self.vacant.push(key);
        self.entries[key as usize].take().map(|entry| entry.socket)
    }
}
