//! The log: one line for each event on standard error, as text or JSON.
//!
//! Who has changed what stands in it at every level, and is not dropped when more comes than can be written.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use tracing::Metadata;
use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::prelude::*;
use tracing_subscriber::{Registry, fmt, reload};
use weir_admin::{AUDIT, REFUSED};
use weir_config::{Log, LogFormat, LogLevel};

/// Lines that may wait to be written. 16,384: some seconds of a reconnect storm, a few MiB.
const QUEUE: usize = 16_384;

/// Lines about changes that may wait beside them. 1,024: more changes than anybody makes while a disk is slow. Beyond it a change waits.
const AUDIT_QUEUE: usize = 1_024;

/// Changes the level of the log while Weir runs.
#[derive(Debug, Clone)]
pub struct LevelSwitch {
    handle: reload::Handle<Targets, Registry>,
    lost: LostLines,
    /// Write out what is queued when the last of these is dropped.
    _writers: Arc<Writing>,
}

impl LevelSwitch {
    pub fn set(&self, level: LogLevel) {
        // It only fails when the subscriber is gone, and then there is no log to set.
        let _ = self.handle.reload(filter(level));
    }

    /// What did not get into the log.
    pub fn lost(&self) -> LostLines {
        self.lost.clone()
    }
}

/// Lines of the log that were not written.
#[derive(Debug, Clone)]
pub struct LostLines {
    queue_full: ErrorCounter,
    not_written: Arc<AtomicU64>,
}

impl LostLines {
    /// They came faster than they could be written.
    pub fn queue_full(&self) -> u64 {
        self.queue_full.dropped_lines() as u64
    }

    /// Nobody reads standard error any more, or its disk is full.
    pub fn not_written(&self) -> u64 {
        self.not_written.load(Relaxed)
    }
}

/// How long the end waits for the last lines. 3 s: each of the two threads is given 1.1 s by its guard.
const LAST_LINES: Duration = Duration::from_secs(3);

/// The threads that write.
#[derive(Debug)]
struct Writing(Option<[WorkerGuard; 2]>);

/// Waits for the last lines, but not for who reads them: where a queue is full a guard says so on standard output, which may be the very
/// pipe that nobody reads.
impl Drop for Writing {
    fn drop(&mut self) {
        let Some(guards) = self.0.take() else { return };
        let (give, given) = mpsc::sync_channel(1);
        let (end, ended) = mpsc::channel();
        // It gets them once it is there, so that they are dropped by no other thread.
        let thread = thread::Builder::new().name("last-lines".to_owned()).spawn(move || {
            drop(given.recv());
            let _ = end.send(());
        });
        match thread {
            Ok(_) => {
                let _ = give.send(guards);
                let _ = ended.recv_timeout(LAST_LINES);
            }
            Err(_) => std::mem::forget(guards),
        }
    }
}

/// Begins logging.
pub fn start(log: &Log) -> LevelSwitch {
    let (level, handle) = reload::Layer::new(filter(log.level));
    let (writer, lost, guards) = writers(io::stderr);
    let registry = tracing_subscriber::registry().with(level);
    match log.format {
        LogFormat::Json => registry
            .with(fmt::layer().json().flatten_event(true).with_target(false).with_writer(writer))
            .init(),
        LogFormat::Text => registry
            .with(fmt::layer().with_target(false).with_ansi(io::stderr().is_terminal()).with_writer(writer))
            .init(),
    }
    LevelSwitch { handle, lost, _writers: Arc::new(Writing(Some(guards))) }
}

/// Two threads that write to what `to` opens, what they could not write, and what ends them.
fn writers<W: Write + Send + 'static>(to: impl Fn() -> W) -> (Writers, LostLines, [WorkerGuard; 2]) {
    let not_written = Arc::new(AtomicU64::new(0));
    let appender = |lossy, lines| {
        let sink = Sink { to: to(), lost: Arc::clone(&not_written) };
        NonBlockingBuilder::default().lossy(lossy).buffered_lines_limit(lines).finish(sink)
    };
    // A reader of the log that has stopped reading must not stop clients: lines beyond the queue are dropped.
    let (lossy, one) = appender(true, QUEUE);
    // It may stop those who change something, one by one.
    let (audit, other) = appender(false, AUDIT_QUEUE);
    let lost = LostLines { queue_full: lossy.error_counter(), not_written };
    (Writers { lossy, audit }, lost, [one, other])
}

/// Who has changed something, and who was not let in, is told at every level.
fn filter(level: LogLevel) -> Targets {
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    Targets::new()
        .with_default(level)
        .with_target(AUDIT, LevelFilter::INFO)
        .with_target(REFUSED, LevelFilter::WARN)
}

/// Where lines wait, by what they are about.
struct Writers {
    lossy: NonBlocking,
    audit: NonBlocking,
}

impl<'a> MakeWriter<'a> for Writers {
    type Writer = NonBlocking;

    fn make_writer(&'a self) -> NonBlocking {
        self.lossy.clone()
    }

    fn make_writer_for(&'a self, about: &Metadata<'_>) -> NonBlocking {
        if about.target() == AUDIT { self.audit.clone() } else { self.lossy.clone() }
    }
}

/// Takes each line whole, and counts those that could not be written.
struct Sink<W> {
    to: W,
    lost: Arc<AtomicU64>,
}

impl<W: Write> Write for Sink<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.write_all(line).map(|()| line.len())
    }

    fn write_all(&mut self, line: &[u8]) -> io::Result<()> {
        if self.to.write_all(line).is_err() {
            self.lost.fetch_add(1, Relaxed);
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests;
