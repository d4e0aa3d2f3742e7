//! The HTTP face of Weir: `/healthz`, `/readyz` and `/metrics`.
//!
//! This crate reads what other floors count and tell; it must not decide anything about clients, servers or
//! their traffic, and nothing in the house depends on it but the roof. It asks for no password: whoever may
//! reach `listen.admin` may read, so it shows no secrets and no statements.

mod process;
mod routes;
mod serve;

use std::sync::Arc;
use std::time::SystemTime;

pub use serve::serve;
pub use weir_stats::Readiness;
use weir_stats::Stats;
pub use weir_stats::{Extra, Kind};

/// What the answers are made of.
pub struct AdminState {
    stats: Arc<Stats>,
    readiness: Arc<Readiness>,
    version: &'static str,
    started: SystemTime,
    /// Metrics of other floors, asked for at each scrape.
    more: More,
}

/// Gives metrics that are counted elsewhere; several samples of one name stand together.
pub type More = Box<dyn Fn() -> Vec<Extra> + Send + Sync>;

impl AdminState {
    /// `version` is that of the binary; `started` is when the process began.
    pub fn new(
        stats: Arc<Stats>,
        readiness: Arc<Readiness>,
        version: &'static str,
        started: SystemTime,
        more: More,
    ) -> Arc<Self> {
        Arc::new(Self { stats, readiness, version, started, more })
    }
}
