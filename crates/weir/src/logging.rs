//! The log: one line for each event on standard error, as text or JSON.

use std::io::IsTerminal;
use std::sync::Arc;
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::prelude::*;
use tracing_subscriber::{Registry, fmt, reload};
use weir_config::{Log, LogFormat, LogLevel};

/// Lines that may wait to be written. 16,384: some seconds of a reconnect storm, a few MiB.
const QUEUE: usize = 16_384;

/// Changes the level of the log while Weir runs.
#[derive(Debug, Clone)]
pub struct LevelSwitch {
    handle: reload::Handle<LevelFilter, Registry>,
    /// Writes out what is queued when the last of these is dropped.
    _writer: Arc<WorkerGuard>,
}

impl LevelSwitch {
    pub fn set(&self, level: LogLevel) {
        // It only fails when the subscriber is gone, and then there is no log to set.
        let _ = self.handle.reload(filter(level));
    }
}

/// Begins logging.
pub fn start(log: &Log) -> LevelSwitch {
    let (level, handle) = reload::Layer::new(filter(log.level));
    // A reader of the log that has stopped reading must not stop clients: lines beyond the queue are dropped.
    let (writer, guard) =
        NonBlockingBuilder::default().lossy(true).buffered_lines_limit(QUEUE).finish(std::io::stderr());
    let registry = tracing_subscriber::registry().with(level);
    match log.format {
        LogFormat::Json => registry
            .with(fmt::layer().json().flatten_event(true).with_target(false).with_writer(writer))
            .init(),
        LogFormat::Text => registry
            .with(
                fmt::layer()
                    .with_target(false)
                    .with_ansi(std::io::stderr().is_terminal())
                    .with_writer(writer),
            )
            .init(),
    }
    LevelSwitch { handle, _writer: Arc::new(guard) }
}

fn filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}
