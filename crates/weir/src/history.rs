//! The history of statistics: where its counts come from, and how it does.

use crate::metrics::gauge;
use rustix::time::{ClockId, clock_gettime};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use weir_admin::{Extra, Kind};
use weir_proxy::Shared;
use weir_stats::series::{Ledger, Minute, Reading, Retention};
use weir_store::{History, Limits, Options, Source};

/// How often seconds are written: what a kill -9 may cost of them.
const FLUSH: Duration = Duration::from_secs(5);
/// How often a file is tried again that cannot be opened, as that of a Weir that is about to stop.
const RETRY: Duration = Duration::from_secs(10);
/// The name of the file in the state directory.
const NAME: &str = "weir-history.db";

/// Begins to write the history, if there is a place for it. Nothing that goes wrong with it keeps Weir from serving.
pub fn start(config: &weir_config::History, shared: &Arc<Shared>) -> Option<Arc<History>> {
    if !config.enabled {
        return None;
    }
    let Some(file) = config.file.clone().or_else(default_file) else {
        tracing::info!(event = "history_off", "no history is kept: history.file names no file for it");
        return None;
    };
    let options = Options { file, limits: limits(config), flush: FLUSH, retry: RETRY };
    let counts = Counts { shared: Arc::clone(shared), ledger: Ledger::default() };
    match History::start(options, counts) {
        Ok(history) => Some(Arc::new(history)),
        Err(error) => {
            tracing::warn!(event = "history_stopped", reason = "failed", %error, "no thread for the history; everything else goes on");
            None
        }
    }
}

/// How much is kept.
pub fn limits(config: &weir_config::History) -> Limits {
    Limits {
        retention: Retention { seconds: config.seconds, minutes: config.minutes },
        digests: config.digests,
        size: config.max_size as u64,
    }
}

/// systemd gives several directories with colons between them, if the unit asks for several.
fn default_file() -> Option<PathBuf> {
    let directories = std::env::var("STATE_DIRECTORY").ok()?;
    let first = directories.split(':').find(|directory| !directory.is_empty())?;
    Some(PathBuf::from(first).join(NAME))
}

/// What this Weir counts.
struct Counts {
    shared: Arc<Shared>,
    ledger: Ledger,
}

impl Source for Counts {
    fn reading(&mut self) -> Reading {
        let cache = self.shared.cache().stats();
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        Reading {
            hits: cache.asked.hits,
            misses: cache.asked.misses,
            cpu_ms: (cpu.tv_sec as u64).saturating_mul(1000) + cpu.tv_nsec as u64 / 1_000_000,
            server_connections: self.shared.upstream.open().into(),
            ..Reading::of(self.shared.stats.totals())
        }
    }

    fn minute(&mut self, most: usize) -> Option<Minute> {
        let digests = self.shared.digests.as_ref()?;
        Some(digests.since_last(&mut self.ledger, most))
    }
}

/// How the history does, for `/metrics`.
pub fn metrics(history: &History) -> Vec<Extra> {
    let status = history.status();
    let counter = |name, help, value: u64| Extra { kind: Kind::Counter, ..gauge(name, help, value as f64) };
    let mut list = vec![
        gauge("weir_history_up", "1 while the history is written, else 0.", f64::from(status.is_writing)),
        gauge("weir_history_bytes", "Bytes in use of the history's file.", status.bytes as f64),
        counter("weir_history_written_total", "Seconds that were written to the history.", status.written),
        counter("weir_history_lost_total", "Seconds and minutes that could not be written.", status.lost),
        counter(
            "weir_history_corrupt_total",
            "Files of the history that were corrupt and set aside.",
            status.set_aside,
        ),
        counter("weir_history_clock_steps_total", "How often the clock was set.", status.clock_steps),
        gauge(
            "weir_history_last_second",
            "The second that was written last, in seconds since 1970-01-01 UTC.",
            status.last_second.unwrap_or_default() as f64,
        ),
    ];
    list.extend(weir_store::Kind::ALL.iter().map(|kind| Extra {
        name: "weir_history_trouble",
        help: "1 for what keeps the history from being written.",
        kind: Kind::Gauge,
        labels: vec![("reason", kind.as_str().to_owned())],
        value: f64::from(status.trouble.as_ref().is_some_and(|trouble| trouble.kind == *kind)),
    }));
    list
}
