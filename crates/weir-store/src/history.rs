//! The history as others see it: asked from any thread, written by one of its own.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use weir_stats::digests::Origin;
use weir_stats::series::{Moment, Spans};

use crate::read::{self, Asked, Compared, Period, Points, Row};
use crate::recorder::Recorder;
use crate::status::Status;
use crate::trouble::{Kind, Trouble};
use crate::{Limits, Options, Source};

/// How long who asks waits for what was counted just now. What comes later is in the next answer.
const FRESH: Duration = Duration::from_secs(2);

/// The history of a running Weir.
pub struct History {
    path: PathBuf,
    status: Arc<Mutex<Status>>,
    orders: SyncSender<Order>,
    limits: Arc<Mutex<Limits>>,
    opened: Arc<AtomicU64>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

enum Order {
    /// Write what was counted by now, that of digests too if `digests`, and say when that is done.
    Flush { done: SyncSender<()>, digests: bool },
    /// Who read the file found it corrupt. It had been opened so many times when they began: if it was opened once more since
    /// then, that is another file, or somebody else has said it before.
    Suspect(u64),
    /// Write what was counted by now, and end.
    Stop,
}

impl History {
    /// Begins to write. What is wrong with the file is told by [`History::status`] and in the log.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub fn start(options: Options, source: impl Source) -> std::io::Result<Self> {
        let (orders, taken) = mpsc::sync_channel(16);
        let status = Arc::new(Mutex::new(Status::default()));
        let path = options.file.clone();
        let limits = Arc::new(Mutex::new(options.limits));
        let opened = Arc::new(AtomicU64::new(0));
        let began = Instant::now();
        let mut recorder = Recorder::new(options, Box::new(source), moment(began));
        recorder.status = Arc::clone(&status);
        recorder.limits = Arc::clone(&limits);
        recorder.opened = Arc::clone(&opened);
        let run = move || run(&mut recorder, &taken, began);
        let thread = std::thread::Builder::new().name("history".to_owned()).spawn(run)?;
        Ok(Self { path, status, orders, limits, opened, thread: Mutex::new(Some(thread)) })
    }

    /// Changes what is kept, within a second. A file that holds more gives it up by and by; it becomes emptier, not shorter.
    pub fn limit(&self, limits: Limits) {
        *self.limits.lock() = limits;
    }

    pub fn status(&self) -> Status {
        self.status.lock().clone()
    }

    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Has what was counted by now written. Blocks for a moment; it gives up where the file cannot be written.
    pub fn flush(&self) {
        self.write_now(true);
    }

    fn write_now(&self, digests: bool) {
        let (done, told) = mpsc::sync_channel(1);
        if self.orders.try_send(Order::Flush { done, digests }).is_ok() {
            let _ = told.recv_timeout(FRESH);
        }
    }

    /// What was counted from the second `from` to before `to`, in steps of so many seconds. Blocks.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn points(&self, from: u64, to: u64, step: u64) -> Result<Points, Trouble> {
        // Nothing of digests is asked for, and each part of a minute that is written costs a reading of their tables.
        self.write_now(false);
        self.read(|path| read::points(path, from, to, step))
    }

    /// What was counted of digests from the minute of `from` to that of `to`. Blocks.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn period(&self, from: u64, to: u64) -> Result<Period, Trouble> {
        self.flush();
        self.read(|path| read::period(path, from, to))
    }

    /// How two periods differ, for the origins that `is_wanted`; `show` makes of a row what is told of it. Blocks.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn compare<T>(
        &self,
        asked: Asked,
        is_wanted: impl Fn(&Origin) -> bool,
        show: impl FnMut(&Row<'_>, Spans) -> T,
    ) -> Result<Compared<T>, Trouble> {
        self.flush();
        self.read(|path| read::compare(path, asked, is_wanted, show))
    }

    fn read<T>(&self, read: impl FnOnce(&std::path::Path) -> Result<T, Trouble>) -> Result<T, Trouble> {
        // A file that was refused is not read either; one that is full, or was, is.
        if let Some(trouble) = self.status().trouble
            && trouble.kind != Kind::Full
        {
            return Err(trouble);
        }
        let opened = self.opened();
        let answer = read(&self.path);
        if answer.as_ref().is_err_and(|trouble| trouble.kind == Kind::Corrupt) {
            self.suspect(opened);
        }
        answer
    }

    /// How often the file was opened.
    pub(crate) fn opened(&self) -> u64 {
        self.opened.load(Relaxed)
    }

    /// The file was found corrupt, as it was when it had been opened so many times.
    pub(crate) fn suspect(&self, opened: u64) {
        match self.orders.try_send(Order::Suspect(opened)) {
            Ok(()) | Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
        }
    }

    /// Writes what was counted by now, and ends. Blocks.
    pub fn stop(&self) {
        let Some(thread) = self.thread.lock().take() else { return };
        if self.orders.send(Order::Stop).is_ok() {
            // A panic in there has been told, and has nothing to add here.
            let _ = thread.join();
        }
    }
}

/// What the thread does.
fn run(recorder: &mut Recorder, orders: &Receiver<Order>, began: Instant) {
    recorder.begin();
    loop {
        // Each second, shortly behind its end.
        let part = wall().subsec_nanos();
        let left = Duration::from_secs(1) - Duration::from_nanos(part.into());
        match orders.recv_timeout(left) {
            Err(RecvTimeoutError::Timeout) => recorder.second(moment(began)),
            Ok(Order::Flush { done, digests }) => {
                recorder.flush(moment(began), digests);
                // Who asked may have given up.
                let _ = done.try_send(());
            }
            Ok(Order::Suspect(opened)) => recorder.suspect(moment(began), opened),
            Ok(Order::Stop) | Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    recorder.flush(moment(began), true);
}

fn wall() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn moment(began: Instant) -> Moment {
    let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    Moment { wall_ms: ms(wall()), steady_ms: ms(began.elapsed()) }
}
