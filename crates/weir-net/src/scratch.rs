//! The worker's read buffer: one for each thread, so that an idle connection owns none.

use std::cell::RefCell;

/// Bytes read from a socket in one call, less what is held in front of them. 128 KiB: room for the longest
/// statement that is looked at (64 KiB) and as much again, and it stays in the second-level cache.
pub const SCRATCH: usize = 128 * 1024;

thread_local! {
    static BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; SCRATCH].into_boxed_slice());
}

/// Lends the thread's buffer for the time of one poll. What is to be kept must be copied out. A nested call
/// gets a buffer of its own, at the price of an allocation.
pub fn with_scratch<T>(f: impl FnOnce(&mut [u8]) -> T) -> T {
    BUFFER.with(|cell| match cell.try_borrow_mut() {
        Ok(mut buffer) => f(&mut buffer),
        Err(_) => f(&mut vec![0; SCRATCH]),
    })
}
