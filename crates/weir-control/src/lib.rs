//! Reload, drain, service notifications, and the rules' way back into the file.
//!
//! This crate decides when something changes and tells whether it may; carrying it out is the roof's. It must not
//! touch a connection. `log_file.rs` is the file of the query log.

mod log_file;
mod notify;
mod reload;
mod save;
mod watch;

pub use log_file::LogFile;
pub use notify::Service;
pub use reload::{Outcome, Reloader};
pub use save::{HeldFile, NotSynced, PATIENCE, RulesPlan, SaveError, Saved, edit_file};
pub use watch::FileWatch;
