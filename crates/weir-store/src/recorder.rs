//! The thread that writes.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use weir_stats::series::{Clock, Moment, Point, Reading, Step};

use crate::file::{self, Lock, Writable};
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
        let told = Arc::clone(&status);
        let opened = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&opened);
        let thread = std::thread::Builder::new().name("history".to_owned()).spawn(move || {
            let mut recorder = Recorder::new(options, Box::new(source), told, counted);
            recorder.run(&taken);
        })?;
        Ok(Self { path, status, orders, opened, thread: Mutex::new(Some(thread)) })
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
    /// What is held between a file that was set aside and the next.
    lock: Option<Lock>,
    /// How often it was opened.
    opened: Arc<AtomicU64>,
    known: Known,
    tried: Option<Instant>,
    flushed: Instant,
    must_prune: bool,
}

impl Recorder {
    fn new(
        options: Options,
        source: Box<dyn Source>,
        status: Arc<Mutex<Status>>,
        opened: Arc<AtomicU64>,
    ) -> Self {
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
            lock: None,
            opened,
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
                    // Minutes are written at once, unless they have waited already.
                    let is_urgent = !self.pending.minutes.is_empty() && self.status.lock().trouble.is_none();
                    if self.flushed.elapsed() >= self.options.flush || is_urgent {
                        self.write();
                    }
                }
                Ok(Order::Flush { done, digests }) => {
                    self.look();
                    if digests {
                        self.end_minute(self.clock.minute());
                    }
                    self.write();
                    // Who asked may have given up.
                    let _ = done.try_send(());
                }
                Ok(Order::Suspect(opened)) => {
                    if self.file.is_some() && self.opened.load(Relaxed) == opened {
                        match self.set_aside("who read it found it corrupt") {
                            Ok(()) => self.write(),
                            Err(trouble) => self.failed(trouble),
                        }
                    }
                }
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
        let mut written = self.try_write();
        // One that turns out to be corrupt is begun anew with what waits. If that is corrupt too it is not the file.
        if let Err(trouble) = &written
            && trouble.kind == Kind::Corrupt
            && self.file.is_some()
        {
            let why = trouble.why.clone();
            written = self.set_aside(&why).and_then(|()| self.try_write());
        }
        match written {
            Ok(true) => self.went_well(),
            Ok(false) => {}
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
        let mut written = self.write_pending();
        if written.as_ref().is_err_and(|trouble| trouble.kind == Kind::Full) {
            // Where it is the bound of the file that is met, nothing else makes room.
            self.prune()?;
            written = self.write_pending();
        }
        written?;
        let mut status = self.status.lock();
        status.written += self.pending.seconds.len() as u64;
        status.last_second = self.pending.seconds.last().map(|(second, _)| *second).or(status.last_second);
        drop(status);
        self.pending = Batch::default();
        if self.must_prune {
            self.prune()?;
        }
        let Some(file) = &self.file else { return Ok(false) };
        self.status.lock().bytes = write::used(&file.connection)?;
        Ok(true)
    }

    fn write_pending(&mut self) -> Result<(), Trouble> {
        let Some(file) = &mut self.file else { return Ok(()) };
        write::write(&mut file.connection, &self.pending, self.options.digests, &mut self.known)
    }

    /// Removes what is too old, and what is too much.
    fn prune(&mut self) -> Result<(), Trouble> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let size = self.options.size / FILLED.1 * FILLED.0;
        let keep = self.clock.keep(self.options.retention);
        self.must_prune = write::prune(&mut file.connection, keep, size, &mut self.known)?;
        Ok(())
    }

    /// Opens the file; one that is corrupt is set aside first.
    fn open(&mut self) -> Result<Writable, Trouble> {
        let Options { file, size, .. } = &self.options;
        let lock = match self.lock.take() {
            Some(lock) => lock,
            None => file::lock(file)?,
        };
        let connection = match file::open(file, *size) {
            Err(trouble) if trouble.kind == Kind::Corrupt => {
                aside(&self.options, &self.status, &trouble.why)?;
                file::open(file, *size)?
            }
            opened => opened?,
        };
        self.opened.fetch_add(1, Relaxed);
        Ok(Writable { connection, lock })
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

    /// The file has turned out to be corrupt: the next is made when something is written.
    fn set_aside(&mut self, why: &str) -> Result<(), Trouble> {
        self.known = Known::default();
        self.tried = None;
        // It is closed before it is renamed; until the next is there nobody else may begin one.
        let Some(Writable { connection, lock }) = self.file.take() else { return Ok(()) };
        drop(connection);
        aside(&self.options, &self.status, why)?;
        self.lock = Some(lock);
        Ok(())
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
