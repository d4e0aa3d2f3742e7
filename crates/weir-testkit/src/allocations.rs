//! Counts what a piece of work allocates: for tests of work that promises to allocate nothing.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, with each allocation counted for the thread that asks for it. A test program that uses [`counted`] makes it
/// its own:
///
/// ```ignore
/// #[global_allocator]
/// static ALLOCATOR: Counting = Counting;
/// ```
#[derive(Debug)]
pub struct Counting;

thread_local! {
    // It needs neither memory nor an end, so that the allocator may look at it whenever it is called.
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    COUNT.with(|count| count.set(count.get() + 1));
}

// SAFETY: every call goes to the system's allocator as it came, which keeps what the trait asks for; counting touches none of it, neither
// allocates nor panics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps what the trait asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the same.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the same.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// What the work returns, and how often this thread has allocated meanwhile, growing what was there included.
///
/// # Panics
/// When [`Counting`] is not the allocator of the program.
pub fn counted<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let before = COUNT.get();
    drop(std::hint::black_box(Box::new(before)));
    let begin = COUNT.get();
    assert_eq!(begin, before + 1, "another allocator is at work");
    let result = work();
    (result, COUNT.get() - begin)
}
