//! Writes the query log, on a thread of its own: nobody waits for the disk but that.

use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};
use weir_cache::Refusal;
use weir_config::Config;
use weir_control::LogFile;
use weir_proxy::{Dropped, LoggedFor, LoggedStatement, LoggedStatements, OwnAnswer, Shared, ToLog};
use weir_stats::digests::Source;

/// Lines that are written at once, in bytes: a page of them, not one by one, and not more than the smallest file may hold.
const BATCH: usize = 32 * 1024;

/// How long the end of Weir waits for the disk.
const LAST_LINES: Duration = Duration::from_secs(2);

/// What the thread is to do beside writing.
#[derive(Debug, Default)]
struct Orders {
    /// Another file, or none, from now on.
    file: Option<Option<LogFile>>,
    stop: bool,
}

/// The thread that writes.
pub struct LogWriter {
    shared: Arc<Shared>,
    orders: Arc<Mutex<Orders>>,
    /// Says when it has ended.
    ended: Receiver<()>,
}

impl LogWriter {
    /// Starts it. Nothing is logged before [`Self::follow`].
    pub fn start(shared: &Arc<Shared>) -> std::io::Result<Self> {
        let orders = Arc::new(Mutex::new(Orders::default()));
        let (end, ended) = mpsc::channel();
        if let Some(receiver) = shared.query_log.take_receiver() {
            let writing = Writing {
                shared: Arc::clone(shared),
                orders: Arc::clone(&orders),
                file: None,
                said: false,
                dropped: 0,
            };
            thread::Builder::new().name("query-log".to_owned()).spawn(move || {
                writing.run(&receiver);
                // Nobody may wait for it any more.
                let _ = end.send(());
            })?;
        }
        Ok(Self { shared: Arc::clone(shared), orders, ended })
    }

    /// Follows this configuration; the file is opened anew.
    pub fn follow(&self, config: &Config) {
        let log = &config.query_log;
        let file = log.file.as_ref().map(|path| LogFile::new(path.clone(), log.max_size, log.files));
        let which = log.file.as_ref().map(|_| LoggedStatements {
            slow: (!log.slow.is_zero()).then_some(log.slow),
            sample: log.sample.millionths(),
            literals: log.literals,
        });
        self.orders.lock().file = Some(file);
        self.shared.query_log.set(which);
        self.shared.query_log.wake();
    }

    /// Writes what has come, and ends.
    pub fn stop(self) {
        self.orders.lock().stop = true;
        self.shared.query_log.wake();
        if self.ended.recv_timeout(LAST_LINES).is_err() {
            tracing::warn!(
                event = "query_log_cut",
                "the last lines of the query log could not be written in time"
            );
        }
    }
}

struct Writing {
    shared: Arc<Shared>,
    orders: Arc<Mutex<Orders>>,
    file: Option<LogFile>,
    /// It was said that lines cannot be written, and not yet that they can.
    said: bool,
    /// Lines that did not get here, as it was last looked.
    dropped: u64,
}

/// How often it is looked for orders when the queue was too full for the one that says so.
const LOOK: Duration = Duration::from_secs(1);

impl Writing {
    fn run(mut self, receiver: &Receiver<ToLog>) {
        let mut lines = Vec::new();
        let mut patience = LOOK;
        loop {
            let first = match receiver.recv_timeout(patience) {
                Ok(first) => Some(first),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let stop = {
                let mut orders = self.orders.lock();
                if let Some(file) = orders.file.take() {
                    self.file = file;
                }
                orders.stop
            };
            let count = gather(first, receiver, &mut lines);
            self.write(&mut lines, count);
            self.say_dropped();
            if stop && count == 0 {
                return;
            }
            if stop {
                patience = Duration::ZERO;
            }
        }
    }

    fn write(&mut self, lines: &mut Vec<u8>, count: u64) {
        if count == 0 {
            return;
        }
        let log = &self.shared.query_log;
        match self.file.as_mut().map(|file| (file.append(lines), file)) {
            // The log was switched off while these were on their way.
            None => {}
            Some((Ok(()), file)) => {
                log.wrote_lines(count);
                if std::mem::take(&mut self.said) {
                    tracing::info!(event = "query_log_written", file = %file.path().display(),
                        dropped = log.dropped(Dropped::NotWritten), "the query log can be written again");
                }
            }
            Some((Err(error), file)) => {
                log.drop_lines(Dropped::NotWritten, count);
                if !std::mem::replace(&mut self.said, true) {
                    tracing::warn!(event = "query_log_not_written", file = %file.path().display(), %error,
                        "the query log cannot be written; lines are dropped until it can");
                }
            }
        }
        lines.clear();
        lines.shrink_to(BATCH * 2);
    }

    /// Says once that more came than could be written.
    fn say_dropped(&mut self) {
        let dropped = self.shared.query_log.dropped(Dropped::QueueFull);
        if dropped > self.dropped && self.dropped == 0 {
            tracing::warn!(
                event = "query_log_full",
                dropped,
                "more statements came than the query log could take; raise query_log.slow or lower query_log.sample \
                 (weir_log_dropped_total counts them; this is said once)"
            );
        }
        self.dropped = dropped;
    }
}

/// Takes what is there, as lines; returns how many.
fn gather(first: Option<ToLog>, receiver: &Receiver<ToLog>, lines: &mut Vec<u8>) -> u64 {
    let (mut count, mut next) = (0, first);
    while let Some(message) = next.take() {
        if let ToLog::Statement(statement) = message {
            // A value always can be written as text.
            if serde_json::to_writer(&mut *lines, &line(&statement)).is_ok() {
                lines.push(b'\n');
                count += 1;
            }
        }
        if lines.len() < BATCH {
            next = receiver.try_recv().ok();
        }
    }
    count
}

/// What stands in a line. docs/analytics.md tells of each.
fn line(statement: &LoggedStatement) -> Value {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let seconds = |ns: u64| ns as f64 / 1e9;
    let call = &statement.call;
    let (answered_by, cache, refused) = match call.source {
        Source::Server => ("server", None, None),
        Source::Miss => ("server", Some("miss"), None),
        Source::Refused(n) => {
            let reason = Refusal::ALL.get(usize::from(n)).map(|reason| reason.as_str());
            ("server", Some("refused"), reason)
        }
        Source::Hit => ("cache", Some("hit"), None),
        Source::Weir => ("weir", None, None),
    };
    let time = statement.at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (digest, origin) = match &statement.digest {
        Some((digest, origin)) => (Some(digest), Some(origin)),
        None => (None, None),
    };
    json!({
        "time": time.as_millis() as f64 / 1e3,
        "why": match statement.why { LoggedFor::Slow => "slow", LoggedFor::Sample => "sample" },
        "session": statement.session,
        "user": text(&statement.user),
        "client": statement.peer.map_or_else(|| "unix".to_owned(), |peer| peer.to_string()),
        "schema": origin.map(|origin| text(&origin.schema)),
        "command": statement.command,
        "id": digest.map(|digest| digest.id.to_string()),
        "digest": digest.map(|digest| text(&digest.text)),
        "statement": statement.text.as_deref().map(text),
        "answered_by": answered_by,
        "action": statement.own_answer().map(OwnAnswer::as_str),
        "server": origin.filter(|_| call.server_ns != 0).map(|origin| &*origin.server),
        "server_connection": (statement.server_connection != 0).then_some(statement.server_connection),
        "rules": &statement.rules,
        "cache": cache,
        "refused": refused,
        "pins": statement.pins.iter().map(|pin| pin.as_str()).collect::<Vec<_>>(),
        "total_seconds": seconds(call.total_ns),
        "queue_seconds": seconds(call.queue_ns),
        "waited_for_rule_seconds": statement.waited_for_rule.as_secs_f64(),
        "server_seconds": seconds(call.server_ns),
        "rows_sent": call.rows_sent,
        "rows_affected": call.rows_affected,
        "bytes_in": call.bytes_in,
        "bytes_out": call.bytes_out,
        "error": call.error,
    })
}
