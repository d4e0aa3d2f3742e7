//! What the threads of a pool share data and time by.
//!
//! With the feature `shuttle`, which only a test sets, each use of it is a point at which another thread may be the next
//! to run, as the test's scheduler decides; and time passes only as the test says.

#[cfg(not(feature = "shuttle"))]
pub(crate) use parking_lot::Mutex;
#[cfg(not(feature = "shuttle"))]
pub(crate) use tokio::sync::oneshot;

#[cfg(feature = "shuttle")]
mod scheduled;
#[cfg(feature = "shuttle")]
pub(crate) use scheduled::{Mutex, oneshot};
#[cfg(feature = "shuttle")]
pub use scheduled::{begin, now, pass};

/// What time it is.
#[cfg(not(feature = "shuttle"))]
pub(crate) fn now() -> std::time::Instant {
    std::time::Instant::now()
}
