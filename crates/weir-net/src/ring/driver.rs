//! What a thread's ring is doing for each of its sockets.

mod leave;

use super::sys::{Buffer, Completion, Kind, PIECE, Ring, Slot, receive_now, send_now};
use std::collections::VecDeque;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::task::{Context, Poll, Waker, ready};
use tokio::io::unix::AsyncFd;
use tokio::task::coop::poll_proceed;

/// The ring of a thread and the sockets on it.
pub(super) struct Driver {
    pub id: u64,
    ring: Ring,
    entries: Vec<Option<Entry>>,
    vacant: Vec<u32>,
    /// Sockets with a send that is not yet pushed: what is written meanwhile joins it.
    staged: Vec<u32>,
    /// Sockets whose stream is gone while bytes of it are under way.
    leaving: VecDeque<u32>,
    /// Whoever turns the ring.
    turner: Option<Waker>,
    turner_woken: bool,
    /// To be woken at the end of the turn.
    wakers: Vec<Waker>,
}

#[derive(Debug)]
struct Entry {
    socket: TcpStream,
    reading: Reading,
    writing: Writing,
    /// The last read was a big one, so the next will be: it goes into the caller's buffer.
    bulk: bool,
    /// Operations under way.
    operations: u32,
    /// The stream is gone.
    orphan: bool,
    timed: bool,
    /// Why bytes that were taken could not be sent.
    failed: Option<i32>,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

#[derive(Debug)]
enum Reading {
    Idle,
    /// Bytes are there, to be read without the ring.
    Ready,
    Receiving,
    Awaiting,
    Filled {
        buffer: Buffer,
        at: usize,
        end: usize,
        more: bool,
    },
    Ended,
    Failed(i32),
}

#[derive(Debug)]
enum Writing {
    Idle,
    /// In a slot, not yet pushed.
    Staged {
        slot: Slot,
        end: usize,
    },
    Sending {
        slot: Slot,
        at: usize,
        end: usize,
    },
    Awaiting,
}

impl Driver {
    pub fn new(id: u64) -> io::Result<Self> {
        Ok(Self {
            id,
            ring: Ring::new()?,
            entries: Vec::new(),
            vacant: Vec::new(),
            staged: Vec::new(),
            leaving: VecDeque::new(),
            turner: None,
            turner_woken: false,
            wakers: Vec::new(),
        })
    }

    /// A descriptor that becomes readable when [`Self::turn`] would find something.
    pub fn watch(&self) -> io::Result<AsyncFd<OwnedFd>> {
        self.ring.watch()
    }

    /// Takes a socket over. It must be in blocking mode: the ring would not wait on it otherwise.
    pub fn insert(&mut self, socket: TcpStream) -> u32 {
        let entry = Entry {
            socket,
            reading: Reading::Idle,
            writing: Writing::Idle,
            bulk: false,
            operations: 0,
            orphan: false,
            timed: false,
            failed: None,
            reader: None,
            writer: None,
        };
        match self.vacant.pop() {
            Some(key) => {
                self.entries[key as usize] = Some(entry);
                key
            }
            None => {
                self.entries.push(Some(entry));
                (self.entries.len() - 1) as u32
            }
        }
    }

    /// The stream of a socket is gone: what it wrote still leaves, then the socket is closed.
    pub fn release(&mut self, key: u32) {
        let Some(entry) = entry(&mut self.entries, key) else { return };
        entry.orphan = true;
        (entry.reader, entry.writer) = (None, None);
        match std::mem::replace(&mut entry.reading, Reading::Ended) {
            Reading::Receiving => self.ring.cancel(key, Kind::Receive),
            Reading::Awaiting => self.ring.cancel(key, Kind::Readable),
            Reading::Filled { buffer, .. } => self.ring.give_back(buffer),
            Reading::Idle | Reading::Ready | Reading::Ended | Reading::Failed(_) => {}
        }
        match entry.writing {
            Writing::Awaiting => self.ring.cancel(key, Kind::Writable),
            Writing::Staged { .. } | Writing::Sending { .. } => self.leaving.push_back(key),
            Writing::Idle => {}
        }
        self.close_if_done(key);
        self.notify();
    }

    /// Whether bytes of streams that are gone are still under way.
    pub fn has_leaving(&self) -> bool {
        !self.leaving.is_empty()
    }

    pub fn poll_read(&mut self, key: u32, cx: &mut Context<'_>, to: &mut [u8]) -> Poll<io::Result<usize>> {
        let Some(entry) = entry(&mut self.entries, key) else { return Poll::Ready(Err(gone())) };
        if to.is_empty() {
            return Poll::Ready(Ok(0));
        }
        match &mut entry.reading {
            Reading::Filled { buffer, at, end, more } => {
                let n = to.len().min(*end - *at);
                self.ring.copy_out(buffer, *at, &mut to[..n]);
                *at += n;
                if *at == *end {
                    let next = if *more { Reading::Ready } else { Reading::Idle };
                    if let Reading::Filled { buffer, .. } = std::mem::replace(&mut entry.reading, next) {
                        self.ring.give_back(buffer);
                    }
                }
                return Poll::Ready(Ok(n));
            }
            Reading::Ready => {
                // A stream whose bytes never end leaves others their turn.
                let budget = ready!(poll_proceed(cx));
                match entry.read_now(to) {
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => entry.reading = Reading::Idle,
                    done => {
                        budget.made_progress();
                        return Poll::Ready(done);
                    }
                }
            }
            Reading::Ended => {
                return Poll::Ready(entry.failed.map_or(Ok(0), |e| Err(io::Error::from_raw_os_error(e))));
            }
            Reading::Failed(e) => {
                let e = *e;
                entry.reading = Reading::Ended;
                return Poll::Ready(Err(io::Error::from_raw_os_error(e)));
            }
            Reading::Idle | Reading::Receiving | Reading::Awaiting => {}
        }
        store(&mut entry.reader, cx);
        if matches!(entry.reading, Reading::Idle) {
            entry.operations += 1;
            let fd = entry.socket.as_raw_fd();
            if entry.bulk {
                entry.reading = Reading::Awaiting;
                self.ring.await_readable(key, fd);
            } else {
                entry.reading = Reading::Receiving;
                self.ring.receive(key, fd);
            }
            self.notify();
        }
        Poll::Pending
    }

    pub fn poll_write(&mut self, key: u32, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Some(entry) = entry(&mut self.entries, key) else { return Poll::Ready(Err(gone())) };
        if let Some(e) = entry.failed {
            return Poll::Ready(Err(io::Error::from_raw_os_error(e)));
        }
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        match &mut entry.writing {
            Writing::Staged { slot, end } if bytes.len() <= PIECE - *end => {
                self.ring.copy_in(slot, *end, bytes);
                *end += bytes.len();
                return Poll::Ready(Ok(bytes.len()));
            }
            Writing::Staged { .. } | Writing::Sending { .. } | Writing::Awaiting => {
                store(&mut entry.writer, cx);
                return Poll::Pending;
            }
            Writing::Idle => {}
        }
        if bytes.len() <= PIECE
            && let Some(slot) = self.ring.slot()
        {
            self.ring.copy_in(&slot, 0, bytes);
            entry.writing = Writing::Staged { slot, end: bytes.len() };
            self.staged.push(key);
            self.notify();
            return Poll::Ready(Ok(bytes.len()));
        }
        let budget = ready!(poll_proceed(cx));
        match retry(|| send_now(entry.socket.as_fd(), bytes)) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                entry.writing = Writing::Awaiting;
                entry.operations += 1;
                store(&mut entry.writer, cx);
                self.ring.await_writable(key, entry.socket.as_raw_fd());
                self.notify();
                Poll::Pending
            }
            done => {
                budget.made_progress();
                Poll::Ready(done)
            }
        }
    }

    /// Ready once the kernel has all that was written.
    pub fn poll_flush(&mut self, key: u32, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(entry) = entry(&mut self.entries, key) else { return Poll::Ready(Err(gone())) };
        match (entry.failed, &entry.writing) {
            (Some(e), _) => Poll::Ready(Err(io::Error::from_raw_os_error(e))),
            (None, Writing::Staged { .. } | Writing::Sending { .. }) => {
                store(&mut entry.writer, cx);
                Poll::Pending
            }
            (None, Writing::Idle | Writing::Awaiting) => Poll::Ready(Ok(())),
        }
    }

    pub fn poll_shutdown(&mut self, key: u32, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_flush(key, cx))?;
        let Some(entry) = entry(&mut self.entries, key) else { return Poll::Ready(Err(gone())) };
        Poll::Ready(entry.socket.shutdown(Shutdown::Write))
    }

    /// Whoever turns the ring is woken when there is something to submit.
    pub fn set_turner(&mut self, cx: &Context<'_>) {
        store(&mut self.turner, cx);
        self.turner_woken = false;
    }

    /// Submits what has gathered and takes what has completed, if there is any of either. Whoever waits for that is in
    /// `wakers` afterwards.
    pub fn turn(&mut self, wakers: &mut Vec<Waker>) -> io::Result<()> {
        self.push_staged();
        let mut done = Ok(());
        if self.ring.has_work() || self.ring.has_unsubmitted() {
            done = self.ring.enter(0);
        }
        while let Some(completion) = self.ring.completion() {
            self.complete(completion);
        }
        self.see_off();
        // The signal was off during the call, and completions may have led to more.
        if self.ring.has_work() || self.ring.has_unsubmitted() {
            self.notify();
        }
        std::mem::swap(&mut self.wakers, wakers);
        done
    }

    fn push_staged(&mut self) {
        for key in self.staged.drain(..) {
            let Some(entry) = entry(&mut self.entries, key) else { continue };
            match std::mem::replace(&mut entry.writing, Writing::Idle) {
                Writing::Staged { slot, end } => {
                    entry.operations += 1;
                    self.ring.send(key, entry.socket.as_raw_fd(), &slot, 0, end);
                    entry.writing = Writing::Sending { slot, at: 0, end };
                }
                other => entry.writing = other,
            }
        }
    }

    fn complete(&mut self, completion: Completion) {
        let Completion { key, kind, result, buffer, more } = completion;
        let Some(entry) = entry(&mut self.entries, key).filter(|_| kind != Kind::Cancel) else {
            return;
        };
        entry.operations = entry.operations.saturating_sub(1);
        match kind {
            Kind::Receive => {
                let (next, unused) = received(result, buffer, more, entry.orphan);
                if let Some(buffer) = unused {
                    self.ring.give_back(buffer);
                }
                entry.reading = next;
                self.wakers.extend(entry.reader.take());
            }
            Kind::Readable if result == Err(libc::ECANCELED) => {
                entry.reading = Reading::Failed(libc::ECANCELED);
                self.wakers.extend(entry.reader.take());
            }
            Kind::Readable => {
                entry.reading = Reading::Ready;
                self.wakers.extend(entry.reader.take());
            }
            Kind::Writable => {
                entry.writing = Writing::Idle;
                self.wakers.extend(entry.writer.take());
            }
            Kind::Send => self.sent(key, result),
            Kind::Grace => {
                if matches!(entry.writing, Writing::Sending { .. }) {
                    self.ring.cancel(key, Kind::Send);
                }
            }
            Kind::Cancel => {}
        }
        self.close_if_done(key);
    }

    fn sent(&mut self, key: u32, result: Result<usize, i32>) {
        let Some(entry) = entry(&mut self.entries, key) else { return };
        let Writing::Sending { slot, at, end } = std::mem::replace(&mut entry.writing, Writing::Idle) else {
            return;
        };
        match result {
            Ok(n) if at + n < end && n > 0 => {
                entry.operations += 1;
                self.ring.send(key, entry.socket.as_raw_fd(), &slot, at + n, end);
                entry.writing = Writing::Sending { slot, at: at + n, end };
                return;
            }
            Ok(n) if at + n >= end => {}
            other => {
                entry.failed = Some(other.err().unwrap_or(libc::EPIPE));
                // What the peer said last can still be read, and then the reader sees the end.
                let _ = entry.socket.shutdown(Shutdown::Both);
            }
        }
        self.ring.free_slot(slot);
        self.wakers.extend(entry.writer.take());
        if entry.timed {
            self.ring.cancel(key, Kind::Grace);
        }
    }

    /// Sockets whose last bytes do not leave at once are given a time.
    fn see_off(&mut self) {
        for _ in 0..self.leaving.len() {
            let Some(key) = self.leaving.pop_front() else { return };
            let Some(entry) = entry(&mut self.entries, key).filter(|entry| entry.orphan) else { continue };
            match entry.writing {
                Writing::Sending { .. } if !entry.timed => {
                    entry.timed = true;
                    entry.operations += 1;
                    self.ring.await_grace(key);
                }
                Writing::Sending { .. } | Writing::Staged { .. } => {}
                Writing::Idle | Writing::Awaiting => continue,
            }
            self.leaving.push_back(key);
        }
    }

    fn close_if_done(&mut self, key: u32) {
        let Some(entry) = entry(&mut self.entries, key) else { return };
        if entry.orphan && entry.operations == 0 && matches!(entry.writing, Writing::Idle) {
            self.entries[key as usize] = None;
            self.vacant.push(key);
        }
    }

    fn notify(&mut self) {
        if !self.turner_woken
            && let Some(turner) = &self.turner
        {
            turner.wake_by_ref();
            self.turner_woken = true;
        }
    }
}

impl Entry {
    fn read_now(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let got = retry(|| receive_now(self.socket.as_fd(), to))?;
        self.bulk = got >= PIECE;
        self.reading = match got {
            0 => Reading::Ended,
            // A read that did not fill the buffer is not repeated.
            _ if got < to.len() => Reading::Idle,
            _ => Reading::Ready,
        };
        Ok(got)
    }
}

/// What a socket's reading becomes, and the buffer if there is nothing in it.
fn received(
    result: Result<usize, i32>,
    buffer: Option<Buffer>,
    more: bool,
    orphan: bool,
) -> (Reading, Option<Buffer>) {
    match (result, buffer) {
        (_, buffer) if orphan => (Reading::Ended, buffer),
        (Ok(0), buffer) => (Reading::Ended, buffer),
        (Ok(end), Some(buffer)) => (Reading::Filled { buffer, at: 0, end, more: more || end == PIECE }, None),
        // All buffers are filled: the bytes wait in the socket.
        (Err(libc::ENOBUFS | libc::EAGAIN | libc::EINTR), buffer) => (Reading::Ready, buffer),
        (Err(e), buffer) => (Reading::Failed(e), buffer),
        (Ok(_), None) => (Reading::Failed(libc::EIO), None),
    }
}

fn entry(entries: &mut [Option<Entry>], key: u32) -> Option<&mut Entry> {
    entries.get_mut(key as usize)?.as_mut()
}

fn store(place: &mut Option<Waker>, cx: &Context<'_>) {
    match place {
        Some(waker) => waker.clone_from(cx.waker()),
        None => *place = Some(cx.waker().clone()),
    }
}

fn gone() -> io::Error {
    io::ErrorKind::NotConnected.into()
}

fn retry(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}
