//! Reload, drain, service notifications.
//!
//! This crate decides when something changes and tells whether it may; carrying it out is the roof's. It must not
//! touch a connection.

mod notify;
mod reload;
mod watch;

pub use notify::Service;
pub use reload::{Outcome, Reloader};
pub use watch::FileWatch;
