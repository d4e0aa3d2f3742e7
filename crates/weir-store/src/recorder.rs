//! The thread that writes.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use weir_stats::series::{Clock, Moment, Point, Reading, Step};

use crate::file::{self, Writable};
use crate::read::{self, Period, Points};
use crate::status::Status;
use crate::trouble::{Kind, Trouble};
use crate::write::{self, Batch, Known};
use crate::{Options, Source};

/// Seconds that wait for a file that cannot be written, at most; those before them are lost.
const SECONDS_MAX: usize = 600;
/// The same of minutes of digests.
const MINUTES_MAX: usize = 10;
/// How long who asks waits for what was counted just now. What comes later is in the next answer.
const FRESH: Duration = Duration::from_secs(2);
/// Of the bytes that the file may take, those in use from which on the oldest minutes go. The rest is for what comes.
const FILLED: (u64, u64) = (4, 5);

/// The history of a running Weir.
pub struct History {
    path: PathBuf,
    status: Arc<Mutex<Status>>,
    orders: SyncSender<Order>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

enum Order {
    /// Write what was counted by now, and say when that is done.
    Flush(SyncSender<()>),
    /// Who read the file found it corrupt.
    Suspect,
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
        let told = Arc::clone(&status);
        let thread = std::thread::Builder::new().name("history".to_owned()).spawn(move || {
            let mut recorder = Recorder::new(options, Box::new(source), told);
            recorder.run(&taken);
        })?;
        Ok(Self { path, status, orders, thread: Mutex::new(Some(thread)) })
    }

    pub fn status(&self) -> Status {
        self.status.lock().clone()
    }

    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Has what was counted by now written. Blocks for a moment; it gives up where the file cannot be written.
    pub fn flush(&self) {
        let (done, told) = mpsc::sync_channel(1);
        if self.orders.try_send(Order::Flush(done)).is_ok() {
            let _ = told.recv_timeout(FRESH);
        }
    }

    /// What was counted from the second `from` to before `to`, in steps of so many seconds. Blocks.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn points(&self, from: u64, to: u64, step: u64) -> Result<Points, Trouble> {
        self.read(|path| read::points(path, from, to, step))
    }

    /// What was counted of digests from the minute of `from` to that of `to`. Blocks.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn period(&self, from: u64, to: u64) -> Result<Period, Trouble> {
        self.read(|path| read::period(path, from, to))
    }

    fn read<T>(&self, read: impl FnOnce(&std::path::Path) -> Result<T, Trouble>) -> Result<T, Trouble> {
        self.flush();
        // A file that was refused is not read either; one that is full, or was, is.
        if let Some(trouble) = self.status().trouble
            && trouble.kind != Kind::Full
        {
            return Err(trouble);
        }
        let answer = read(&self.path);
        if answer.as_ref().is_err_and(|trouble| trouble.kind == Kind::Corrupt) {
            match self.orders.try_send(Order::Suspect) {
                Ok(()) | Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
            }
        }
        answer
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

/// What the thread works with.
struct Recorder {
    options: Options,
    source: Box<dyn Source>,
    status: Arc<Mutex<Status>>,
    began: Instant,
    clock: Clock,
    reading: Reading,
    pending: Batch,
    file: Option<Writable>,
    known: Known,
    tried: Option<Instant>,
    flushed: Instant,
    must_prune: bool,
}

impl Recorder {
    fn new(options: Options, source: Box<dyn Source>, status: Arc<Mutex<Status>>) -> Self {
        let began = Instant::now();
        Self {
            options,
            source,
            status,
            began,
            clock: Clock::new(moment(began)),
            reading: Reading::default(),
            pending: Batch::default(),
            file: None,
            known: Known::default(),
            tried: None,
            flushed: began,
            must_prune: true,
        }
    }

    fn run(&mut self, orders: &Receiver<Order>) {
        self.write();
        loop {
            // Each second, shortly behind its end.
            let part = wall().subsec_nanos();
            let left = Duration::from_secs(1) - Duration::from_nanos(part.into());
            match orders.recv_timeout(left) {
                Err(RecvTimeoutError::Timeout) => {
                    self.look();
                    if self.flushed.elapsed() >= self.options.flush || !self.pending.minutes.is_empty() {
                        self.write();
                    }
                }
                Ok(Order::Flush(done)) => {
                    self.look();
                    self.end_minute(self.clock.minute());
                    self.write();
                    // Who asked may have given up.
                    let _ = done.try_send(());
                }
                Ok(Order::Suspect) => self.set_aside("who read it found it corrupt"),
                Ok(Order::Stop) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.look();
        self.end_minute(self.clock.minute());
        self.write();
    }

    /// Takes a second's counts.
    fn look(&mut self) {
        let tick = self.clock.tick(moment(self.began));
        if let Some(step) = tick.step {
            self.status.lock().clock_steps += 1;
            let (way, by) = match step {
                Step::Forward(by) => ("forward", by),
                Step::Back(by) => ("back", by),
            };
            tracing::warn!(
                event = "history_clock_step",
                "the clock was set {way} by {:.1} s: nothing is removed from the history until it has run for ten minutes",
                by.as_secs_f64()
            );
        }
        if let Some(minute) = tick.ended_minute {
            self.end_minute(minute);
            self.must_prune = true;
        }
        let now = self.source.reading();
        let point = Point::between(&self.reading, &now, tick.covered_ms);
        self.reading = now;
        match self.pending.seconds.last_mut() {
            Some((second, last)) if *second == tick.second => last.merge(&point),
            _ => self.pending.seconds.push((tick.second, point)),
        }
        if self.pending.seconds.len() > SECONDS_MAX {
            self.pending.seconds.remove(0);
            self.status.lock().lost += 1;
        }
    }

    fn end_minute(&mut self, minute: u64) {
        let Some(counted) = self.source.minute(self.options.digests) else { return };
        match self.pending.minutes.last_mut() {
            Some((last, held)) if *last == minute => return held.merge(counted, self.options.digests),
            _ => self.pending.minutes.push((minute, counted)),
        }
        if self.pending.minutes.len() > MINUTES_MAX {
            self.pending.minutes.remove(0);
            self.status.lock().lost += 1;
        }
    }

    /// Writes what waits, and tells in the log what begins and what ends.
    fn write(&mut self) {
        self.flushed = Instant::now();
        match self.try_write() {
            Ok(true) => self.went_well(),
            Ok(false) => {}
            Err(trouble) if trouble.kind == Kind::Corrupt && self.file.is_some() => {
                self.set_aside(&trouble.why)
            }
            Err(trouble) => self.failed(trouble),
        }
    }

    /// False if it is not the time to try again.
    fn try_write(&mut self) -> Result<bool, Trouble> {
        if self.file.is_none() {
            if self.tried.is_some_and(|tried| tried.elapsed() < self.options.retry) {
                return Ok(false);
            }
            self.tried = Some(Instant::now());
            self.file = Some(self.open()?);
        }
        let Some(file) = &mut self.file else { return Ok(false) };
        write::write(&mut file.connection, &self.pending, self.options.digests, &mut self.known)?;
        let mut status = self.status.lock();
        status.written += self.pending.seconds.len() as u64;
        status.last_second = self.pending.seconds.last().map(|(second, _)| *second).or(status.last_second);
        drop(status);
        self.pending = Batch::default();
        if self.must_prune {
            let size = self.options.size / FILLED.1 * FILLED.0;
            let keep = self.clock.keep(self.options.retention);
            self.must_prune = write::prune(&mut file.connection, keep, size, &mut self.known)?;
        }
        self.status.lock().bytes = write::used(&file.connection)?;
        Ok(true)
    }

    /// Opens the file; one that is corrupt is set aside first.
    fn open(&mut self) -> Result<Writable, Trouble> {
        let Options { file, size, .. } = &self.options;
        match file::open(file, *size) {
            Err(trouble) if trouble.kind == Kind::Corrupt => {
                aside(&self.options, &self.status, &trouble.why)?;
                file::open(file, *size)
            }
            opened => opened,
        }
    }

    fn went_well(&mut self) {
        let mut status = self.status.lock();
        let ended = status.trouble.take();
        let begun = !std::mem::replace(&mut status.is_writing, true);
        let lost = status.lost;
        drop(status);
        let file = self.options.file.display();
        match ended {
            Some(trouble) => {
                tracing::info!(event = "history_resumed", reason = trouble.kind.as_str(), %file, lost,
                "the history is written again")
            }
            None if begun => tracing::info!(event = "history_opened", %file, "the history is written"),
            None => {}
        }
    }

    fn failed(&mut self, trouble: Trouble) {
        // A file that is open stays so where it is only full: it is tried again with the next points.
        if trouble.kind != Kind::Full {
            self.file = None;
            self.known = Known::default();
        }
        let mut status = self.status.lock();
        status.is_writing = false;
        let is_new = status.trouble.as_ref().is_none_or(|known| known.kind != trouble.kind);
        status.trouble = Some(trouble.clone());
        drop(status);
        if is_new {
            tracing::warn!(event = "history_stopped", reason = trouble.kind.as_str(), file = %self.options.file.display(),
                why = %trouble.why, "no history is written; everything else goes on");
        }
    }

    /// The file has turned out to be corrupt: it is begun anew with what waits.
    fn set_aside(&mut self, why: &str) {
        self.file = None;
        self.known = Known::default();
        self.tried = None;
        match aside(&self.options, &self.status, why) {
            Ok(()) => self.write(),
            Err(trouble) => self.failed(trouble),
        }
    }
}

fn aside(options: &Options, status: &Mutex<Status>, why: &str) -> Result<(), Trouble> {
    let aside = file::set_aside(&options.file, wall().as_secs())?;
    status.lock().set_aside += 1;
    tracing::error!(event = "history_corrupt", file = %options.file.display(), aside = %aside.display(), why,
        "the history was corrupt: it was set aside and is begun anew");
    Ok(())
}

fn wall() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn moment(began: Instant) -> Moment {
    let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    Moment { wall_ms: ms(wall()), steady_ms: ms(began.elapsed()) }
}
