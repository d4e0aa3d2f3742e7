//! The log: one line for each event on standard error, as text or JSON.

use std::io::IsTerminal;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::prelude::*;
use tracing_subscriber::{Registry, fmt, reload};
use weir_config::{Log, LogFormat, LogLevel};

/// Changes the level of the log while Weir runs.
#[derive(Debug, Clone)]
pub struct LevelSwitch(reload::Handle<LevelFilter, Registry>);

impl LevelSwitch {
    pub fn set(&self, level: LogLevel) {
        // It only fails when the subscriber is gone, and then there is no log to set.
        let _ = self.0.reload(filter(level));
    }
}

/// Begins logging.
pub fn start(log: &Log) -> LevelSwitch {
    let (level, handle) = reload::Layer::new(filter(log.level));
    let registry = tracing_subscriber::registry().with(level);
    match log.format {
        LogFormat::Json => registry
            .with(fmt::layer().json().flatten_event(true).with_target(false).with_writer(std::io::stderr))
            .init(),
        LogFormat::Text => registry
            .with(
                fmt::layer()
                    .with_target(false)
                    .with_ansi(std::io::stderr().is_terminal())
                    .with_writer(std::io::stderr),
            )
            .init(),
    }
    LevelSwitch(handle)
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
