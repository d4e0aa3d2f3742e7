//! The one place with unsafe code: a ring of the kernel's (io_uring_setup(2)) and the memory that it reads and writes.
//!
//! The kernel may touch the memory of an operation from the moment it is submitted until its completion is seen here.
//! So all of that memory is one [`Arena`], of which only numbers leave this file: [`Buffer`] is a piece of it that the
//! kernel has filled, [`Slot`] one that it may send. Neither can be copied, made elsewhere, or turned into a
//! reference; bytes are copied in and out. The arena is given back to the system only if no operation is under way.
#![allow(unsafe_code)]

use io_uring::squeue::{Entry, Flags};
use io_uring::types::{BufRingEntry, Fd, Timespec};
use io_uring::{IoUring, cqueue, opcode};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Bytes of a buffer and of a slot. 16 KiB: what fits needs one system call less; what does not is moved without the
/// ring, where a call costs little beside the copying.
pub(super) const PIECE: usize = 16 * 1024;

/// Buffers for reading that have been filled and not been taken, at most; beyond, a socket is read without the ring. A
/// power of two. 256: as many sessions as are likely to be ready at once. Only what is used takes memory.
const BUFFERS: u16 = 256;
/// Sends under way at once, at most; beyond, a socket is written to without the ring.
const SLOTS: u16 = 256;
/// Operations that are gathered before the kernel is called in the middle of a turn.
const ENTRIES: u32 = 512;
/// Completions that the kernel keeps without memory of its own; it keeps more, for a price.
const COMPLETIONS: u32 = 4096;
/// `IORING_RECVSEND_POLL_FIRST` (io_uring_enter(2)): wait at once instead of trying to read first.
const POLL_FIRST: u16 = 1;
/// `IORING_ENTER_GETEVENTS`.
const GET_EVENTS: u32 = 1;
/// How long bytes that were taken may wait for a peer that does not read, once their stream is gone.
static GRACE: Timespec = Timespec::new().sec(5);

/// What an operation is, in its completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Receive,
    Readable,
    Send,
    Writable,
    Grace,
    Cancel,
}

impl Kind {
    fn tag(self, key: u32) -> u64 {
        u64::from(key) << 8 | self as u64
    }

    fn of(tag: u64) -> Self {
        [Self::Receive, Self::Readable, Self::Send, Self::Writable, Self::Grace]
            .into_iter()
            .find(|kind| *kind as u64 == tag & 0xFF)
            .unwrap_or(Self::Cancel)
    }
}

/// A piece of the arena that the kernel has filled.
#[derive(Debug)]
pub(super) struct Buffer(u16);

/// A piece of the arena to send from.
#[derive(Debug)]
pub(super) struct Slot(u16);

/// An operation has ended.
#[derive(Debug)]
pub(super) struct Completion {
    pub key: u32,
    pub kind: Kind,
    /// Bytes moved, or what [`Kind`] defines.
    pub result: Result<usize, i32>,
    pub buffer: Option<Buffer>,
    /// More bytes were there than were received.
    pub more: bool,
}

/// A ring with its memory. It belongs to the thread that made it.
pub(super) struct Ring {
    ring: IoUring,
    /// Signalled when an operation can complete outside of [`Self::enter`].
    event: OwnedFd,
    arena: Arena,
    /// How many buffers have ever been given to the kernel, modulo 65,536.
    given: u16,
    free: Vec<u16>,
    /// Operations that were pushed and whose completion was not seen.
    under_way: usize,
    unsubmitted: u32,
}

impl Ring {
    /// # Errors
    /// What the kernel says: it has no such rings (`ENOSYS`) or is too old (`EINVAL`), they are forbidden (`EPERM`: a
    /// filter of system calls, or `kernel.io_uring_disabled`), no memory may be had.
    pub fn new() -> io::Result<Self> {
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .setup_submit_all()
            .setup_cqsize(COMPLETIONS)
            .build(ENTRIES)?;
        let arena = Arena::new()?;
        // SAFETY: the address is that of `BUFFERS` entries, page-aligned, and stays mapped as long as this ring lives:
        // `arena` is a field of the ring and is unmapped in its `Drop` only, after the ring was closed.
        unsafe {
            ring.submitter().register_buf_ring_with_flags(arena.entries() as u64, BUFFERS, 0, 0)?;
        }
        // SAFETY: a new descriptor, which nobody else has.
        let event = unsafe {
            let fd = libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        ring.submitter().register_eventfd(event.as_raw_fd())?;
        let free = (0..SLOTS).rev().collect();
        let mut made = Self { ring, event, arena, given: 0, free, under_way: 0, unsubmitted: 0 };
        (0..BUFFERS).for_each(|number| made.give_back(Buffer(number)));
        Ok(made)
    }

    /// A descriptor that is signalled when an operation can complete outside of [`Self::enter`]. It need not be read
    /// where edges are watched.
    pub fn watch(&self) -> io::Result<AsyncFd<OwnedFd>> {
        let event = self.event.try_clone()?;
        // SAFETY: an `OwnedFd` names one open descriptor until it is dropped.
        Ok(unsafe { AsyncFd::register_with_interest(event, Interest::READABLE) }?)
    }

    /// Gives a buffer to the kernel, to be filled again.
    pub fn give_back(&mut self, buffer: Buffer) {
        self.arena.offer(self.given, buffer.0);
        self.given = self.given.wrapping_add(1);
    }

    /// Copies out of a buffer, from byte `from` on.
    pub fn copy_out(&self, buffer: &Buffer, from: usize, to: &mut [u8]) {
        self.arena.copy_out(usize::from(buffer.0), from, to);
    }

    /// A slot, unless all are under way.
    pub fn slot(&mut self) -> Option<Slot> {
        self.free.pop().map(Slot)
    }

    pub fn free_slot(&mut self, slot: Slot) {
        self.free.push(slot.0);
    }

    /// Copies into a slot, from its byte `at` on.
    pub fn copy_in(&mut self, slot: &Slot, at: usize, bytes: &[u8]) {
        self.arena.copy_in(usize::from(BUFFERS) + usize::from(slot.0), at, bytes);
    }

    /// Receives into a buffer of the kernel's choice once there is something.
    pub fn receive(&mut self, key: u32, fd: RawFd) {
        let operation = opcode::Recv::new(Fd(fd), std::ptr::null_mut(), 0).buf_group(0).ioprio(POLL_FIRST);
        self.push(operation.build().flags(Flags::BUFFER_SELECT), Kind::Receive, key);
    }

    /// Sends `slot[at..end]`. The slot must not be freed before this has completed: its bytes would be overwritten.
    pub fn send(&mut self, key: u32, fd: RawFd, slot: &Slot, at: usize, end: usize) {
        let from = self.arena.address(usize::from(BUFFERS) + usize::from(slot.0), at, end.saturating_sub(at));
        let operation = opcode::Send::new(Fd(fd), from, end.saturating_sub(at) as u32)
            .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL);
        self.push(operation.build(), Kind::Send, key);
    }

    pub fn await_readable(&mut self, key: u32, fd: RawFd) {
        let events = (libc::POLLIN | libc::POLLRDHUP) as u32;
        self.push(opcode::PollAdd::new(Fd(fd), events).build(), Kind::Readable, key);
    }

    pub fn await_writable(&mut self, key: u32, fd: RawFd) {
        self.push(opcode::PollAdd::new(Fd(fd), libc::POLLOUT as u32).build(), Kind::Writable, key);
    }

    /// Completes after [`GRACE`].
    pub fn await_grace(&mut self, key: u32) {
        self.push(opcode::Timeout::new(&GRACE).build(), Kind::Grace, key);
    }

    /// Ends an operation early; it completes all the same.
    pub fn cancel(&mut self, key: u32, kind: Kind) {
        self.push(opcode::AsyncCancel::new(kind.tag(key)).build(), Kind::Cancel, key);
    }

    fn push(&mut self, entry: Entry, kind: Kind, key: u32) {
        let entry = entry.user_data(kind.tag(key));
        // SAFETY: what the operation may read or write lives long enough: it is a piece of the arena (whose `Drop`
        // leaves it mapped while operations are under way), the static `GRACE`, or nothing. A descriptor is a number:
        // at worst the kernel refuses it.
        while unsafe { self.ring.submission().push(&entry) }.is_err() {
            // The queue is full. Where the kernel takes none, it is out of memory, and there is nothing to do but to
            // ask again.
            let _ = self.enter(0);
        }
        self.under_way += 1;
        self.unsubmitted += 1;
    }

    /// Whether operations wait to be submitted.
    pub fn has_unsubmitted(&self) -> bool {
        self.unsubmitted > 0
    }

    /// Submits what was pushed and lets the kernel complete what it can; waits for `wait` completions.
    ///
    /// # Errors
    /// What the kernel says. Nothing is lost: what was not submitted is the next time.
    pub fn enter(&mut self, wait: u32) -> io::Result<()> {
        self.ring.completion().disable_eventfd();
        // SAFETY: no argument is passed, and the entries are safe to submit since `push`.
        let taken = unsafe {
            self.ring.submitter().enter::<libc::sigset_t>(self.unsubmitted, wait, GET_EVENTS, None)
        };
        self.ring.completion().enable_eventfd();
        std::sync::atomic::fence(Ordering::SeqCst);
        self.unsubmitted = self.unsubmitted.saturating_sub(taken? as u32);
        Ok(())
    }

    /// Whether the kernel has something that the next [`Self::enter`] completes. It says so before it signals.
    pub fn has_work(&mut self) -> bool {
        let submission = self.ring.submission();
        submission.taskrun() || submission.cq_overflow()
    }

    /// The next operation that has ended.
    pub fn completion(&mut self) -> Option<Completion> {
        let entry = self.ring.completion().next()?;
        self.under_way = self.under_way.saturating_sub(1);
        let result = entry.result();
        Some(Completion {
            key: (entry.user_data() >> 8) as u32,
            kind: Kind::of(entry.user_data()),
            result: usize::try_from(result).map_err(|_| -result),
            buffer: cqueue::buffer_select(entry.flags()).map(Buffer),
            more: cqueue::sock_nonempty(entry.flags()),
        })
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.arena.in_use = self.under_way > 0;
    }
}

/// The entries of the ring of buffers (io_uring_register_buf_ring(3)), then the buffers, then the slots.
struct Arena {
    start: NonNull<u8>,
    /// The kernel may still write here: the memory must never be used for anything else.
    in_use: bool,
}

const ENTRY_BYTES: usize = BUFFERS as usize * size_of::<BufRingEntry>();
const PIECES: usize = BUFFERS as usize + SLOTS as usize;
const ARENA: usize = PIECES * PIECE + ENTRY_BYTES;

impl Arena {
    fn new() -> io::Result<Self> {
        // SAFETY: a new anonymous mapping touches nothing that exists.
        let start = unsafe {
            let (flags, rights) =
                (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, libc::PROT_READ | libc::PROT_WRITE);
            libc::mmap(std::ptr::null_mut(), ARENA, rights, flags, -1, 0)
        };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => Ok(Self { start, in_use: false }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The entries stand behind the pieces, whose size keeps them aligned to pages.
    fn entries(&self) -> *mut BufRingEntry {
        // SAFETY: the offset is within the mapping.
        unsafe { self.start.as_ptr().add(PIECES * PIECE).cast() }
    }

    /// Bytes `at..at + len` of a piece.
    fn address(&self, piece: usize, at: usize, len: usize) -> *mut u8 {
        assert!(piece < PIECES && at <= PIECE && len <= PIECE - at, "outside of the arena");
        // SAFETY: the assertion holds the offset within the mapping.
        unsafe { self.start.as_ptr().add(piece * PIECE + at) }
    }

    /// Makes a buffer the kernel's; `given` have been before.
    fn offer(&mut self, given: u16, buffer: u16) {
        let address = self.address(usize::from(buffer), 0, PIECE);
        // SAFETY: the entry is within the mapping, aligned, initialised (zeros are valid), and ours: the kernel reads
        // entries only up to the tail, and no more than `BUFFERS` are given at once as each exists once. The tail is
        // read by the kernel alone and lies in a field that entries do not otherwise use.
        unsafe {
            let entry = &mut *self.entries().add(usize::from(given & (BUFFERS - 1)));
            entry.set_addr(address as u64);
            entry.set_len(PIECE as u32);
            entry.set_bid(buffer);
            let tail = &*BufRingEntry::tail(self.entries()).cast::<AtomicU16>();
            tail.store(given.wrapping_add(1), Ordering::Release);
        }
    }

    fn copy_out(&self, piece: usize, from: usize, to: &mut [u8]) {
        let address = self.address(piece, from, to.len());
        // SAFETY: `address` checks the bounds; a buffer that the kernel has filled is not written to before it is
        // given back, and nothing refers to the arena, so the two do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(address, to.as_mut_ptr(), to.len()) }
    }

    fn copy_in(&mut self, piece: usize, at: usize, bytes: &[u8]) {
        let address = self.address(piece, at, bytes.len());
        // SAFETY: as in `copy_out`.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address, bytes.len()) }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        if !self.in_use {
            // SAFETY: the mapping is ours, nothing refers to it, and the kernel has ended all operations on it.
            unsafe { libc::munmap(self.start.as_ptr().cast(), ARENA) };
        }
    }
}

/// Reads what is there without waiting (`WouldBlock`).
pub(super) fn receive_now(socket: BorrowedFd<'_>, to: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the kernel writes at most `to.len()` bytes into `to`, which is borrowed for the time of the call.
    let got = unsafe { libc::recv(socket.as_raw_fd(), to.as_mut_ptr().cast(), to.len(), libc::MSG_DONTWAIT) };
    usize::try_from(got).map_err(|_| io::Error::last_os_error())
}

/// Writes what is taken without waiting (`WouldBlock`).
pub(super) fn send_now(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the kernel reads `bytes`, which are borrowed for the time of the call.
    let taken = unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
    usize::try_from(taken).map_err(|_| io::Error::last_os_error())
}
