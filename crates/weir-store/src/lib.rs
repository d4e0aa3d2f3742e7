//! The history of what Weir counts, in one SQLite file.
//!
//! A thread of its own reads the counters each second and writes them every few seconds; nobody else ever waits for the
//! file. Whatever is wrong with it (a full disk, a corrupt file, one that is not Weir's) is said once when it begins and once
//! when it ends, and stops nothing but the history.
//!
//! This crate knows no clients, servers or rules: what is counted comes from a [`Source`]. Which point a count belongs to,
//! what is kept and what is thrown away is decided in `weir_stats::series`. No statement's literals enter the file: of a
//! statement it holds the digest's text.

mod file;
mod history;
mod read;
mod recorder;
mod schema;
mod status;
mod trouble;
mod write;

use std::path::PathBuf;
use std::time::Duration;

use weir_stats::series::{Minute, Reading, Retention};

pub use history::History;
pub use read::{Asked, Compared, Listed, Period, Points, Row};

pub use status::Status;
pub use trouble::{Kind, Trouble};

/// What is kept, and where.
#[derive(Debug, Clone)]
pub struct Options {
    pub file: PathBuf,
    pub limits: Limits,
    /// How often seconds are written.
    pub flush: Duration,
    /// How often a file is tried again that could not be opened.
    pub retry: Duration,
}

/// How much is kept. It can be changed at any time ([`History::limit`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub retention: Retention,
    /// Digests of a minute at most; the others are added up.
    pub digests: usize,
    /// Bytes of the file at most; the oldest minutes make room.
    pub size: u64,
}

/// Where the counts come from.
pub trait Source: Send + 'static {
    /// What was counted since the process began.
    fn reading(&mut self) -> Reading;

    /// What was counted of digests since the last call, as [`weir_stats::series::Ledger::take`] tells it; nothing if they are not counted.
    fn minute(&mut self, most: usize) -> Option<Minute>;
}

#[cfg(test)]
mod tests;
