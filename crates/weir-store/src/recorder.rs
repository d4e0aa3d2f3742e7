//! What is written when. It reads no clock: each look comes with its moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use weir_stats::series::{Clock, Moment, Point, Reading, Step};

use crate::file::{self, Lock, Writable};
use crate::status::Status;
use crate::trouble::{Kind, Trouble};
use crate::write::{self, Batch, Known};
use crate::{Limits, Options, Source};

/// Seconds that wait for a file that cannot be written, at most; those before them are lost.
const SECONDS_MAX: usize = 600;
/// The same of minutes of digests.
const MINUTES_MAX: usize = 10;
/// Of the bytes that the file may take, those in use from which on the oldest minutes go. The rest is for what comes.
const FILLED: (u64, u64) = (4, 5);

/// What the thread works with.
pub(crate) struct Recorder {
    options: Options,
    source: Box<dyn Source>,
    pub status: Arc<Mutex<Status>>,
    /// What is kept, as it was said last; that of `options` is in force.
    pub limits: Arc<Mutex<Limits>>,
    /// How often the file was opened.
    pub opened: Arc<AtomicU64>,
    /// The last look.
    now: Moment,
    clock: Clock,
    reading: Reading,
    pending: Batch,
    file: Option<Writable>,
    /// What is held between a file that was set aside and the next.
    lock: Option<Lock>,
    known: Known,
    /// When the file was tried last, and when something was written, by the steady clock in milliseconds.
    tried: Option<u64>,
    flushed: u64,
    must_prune: bool,
}

impl Recorder {
    pub fn new(options: Options, source: Box<dyn Source>, now: Moment) -> Self {
        Self {
            limits: Arc::new(Mutex::new(options.limits)),
            options,
            source,
            status: Arc::default(),
            opened: Arc::default(),
            now,
            clock: Clock::new(now),
            reading: Reading::default(),
            pending: Batch::default(),
            file: None,
            lock: None,
            known: Known::default(),
            tried: None,
            flushed: now.steady_ms,
            must_prune: true,
        }
    }

    /// Opens the file.
    pub fn begin(&mut self) {
        self.write();
    }

    /// To be called about once a second.
    pub fn second(&mut self, now: Moment) {
        self.look(now);
        // Minutes are written at once, unless they have waited already.
        let is_urgent = !self.pending.minutes.is_empty() && self.status.lock().trouble.is_none();
        if has_passed(self.flushed, now, self.options.flush) || is_urgent {
            self.write();
        }
    }

    /// Writes what was counted by now, that of digests too if `digests`.
    pub fn flush(&mut self, now: Moment, digests: bool) {
        self.look(now);
        if digests {
            self.end_minute(self.clock.minute());
        }
        self.write();
    }

    /// Who read the file found it corrupt, as it was when it had been opened so many times.
    pub fn suspect(&mut self, now: Moment, opened: u64) {
        self.now = now;
        if self.file.is_none() || self.opened.load(Relaxed) != opened {
            return;
        }
        match self.set_aside("who read it found it corrupt") {
            Ok(()) => self.write(),
            Err(trouble) => self.failed(trouble),
        }
    }

    /// What is kept may have been said anew.
    fn follow_limits(&mut self) {
        let limits = *self.limits.lock();
        if limits == self.options.limits {
            return;
        }
        self.options.limits = limits;
        self.must_prune = true;
        let bounded = self.file.as_ref().map_or(Ok(()), |file| file::bound(&file.connection, limits.size));
        if let Err(trouble) = bounded {
            self.failed(trouble);
        }
    }

    /// Takes a second's counts.
    fn look(&mut self, now: Moment) {
        self.now = now;
        self.follow_limits();
        let tick = self.clock.tick(now);
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
        let Some(counted) = self.source.minute(self.options.limits.digests) else { return };
        match self.pending.minutes.last_mut() {
            Some((last, held)) if *last == minute => return held.merge(counted, self.options.limits.digests),
            _ => self.pending.minutes.push((minute, counted)),
        }
        if self.pending.minutes.len() > MINUTES_MAX {
            self.pending.minutes.remove(0);
            self.status.lock().lost += 1;
        }
    }

    /// Writes what waits, and tells in the log what begins and what ends.
    fn write(&mut self) {
        self.flushed = self.now.steady_ms;
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
            if self.tried.is_some_and(|tried| !has_passed(tried, self.now, self.options.retry)) {
                return Ok(false);
            }
            self.tried = Some(self.now.steady_ms);
            self.file = Some(self.open()?);
        }
        while let Some(part) = self.pending.take_part() {
            if let Err(trouble) = self.write_part(&part) {
                self.pending.put_back(part);
                return Err(trouble);
            }
            let mut status = self.status.lock();
            status.written += part.seconds.len() as u64;
            status.last_second = part.seconds.last().map(|(second, _)| *second).or(status.last_second);
        }
        if self.must_prune {
            self.must_prune = self.prune(self.filled())?;
        }
        let Some(file) = &self.file else { return Ok(false) };
        self.status.lock().bytes = write::used(&file.connection)?;
        Ok(true)
    }

    fn write_part(&mut self, part: &Batch) -> Result<(), Trouble> {
        let digests = self.options.limits.digests;
        let Some(file) = &mut self.file else { return Ok(()) };
        let written = write::write(&mut file.connection, part, digests, &mut self.known);
        if written.as_ref().is_err_and(|trouble| trouble.kind == Kind::Full) {
            // Where it is the bound of the file that is met, nothing else makes room. Where it is the disk there is that much room
            // as a rule, and nothing goes.
            let left = self.options.limits.size.saturating_sub(part.bytes_max());
            while self.prune(left.min(self.filled()))? {}
            let Some(file) = &mut self.file else { return Ok(()) };
            return write::write(&mut file.connection, part, digests, &mut self.known);
        }
        written
    }

    /// Bytes from which on the oldest minutes go.
    fn filled(&self) -> u64 {
        self.options.limits.size / FILLED.1 * FILLED.0
    }

    /// Removes what is too old, and what is more than so many bytes. Returns whether there may be more to remove.
    fn prune(&mut self, bytes: u64) -> Result<bool, Trouble> {
        let Some(file) = &mut self.file else { return Ok(false) };
        let keep = self.clock.keep(self.options.limits.retention);
        write::prune(&mut file.connection, keep, bytes, &mut self.known)
    }

    /// Opens the file; one that is corrupt is set aside first.
    fn open(&mut self) -> Result<Writable, Trouble> {
        let Options { file, limits: Limits { size, .. }, .. } = &self.options;
        let lock = match self.lock.take() {
            Some(lock) => lock,
            None => file::lock(file)?,
        };
        let connection = match file::open(file, *size) {
            Err(trouble) if trouble.kind == Kind::Corrupt => {
                self.rename(&trouble.why)?;
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
        self.rename(why)?;
        self.lock = Some(lock);
        Ok(())
    }

    fn rename(&self, why: &str) -> Result<(), Trouble> {
        let file = &self.options.file;
        let aside = file::set_aside(file, self.now.wall_ms / 1000)?;
        self.status.lock().set_aside += 1;
        tracing::error!(event = "history_corrupt", file = %file.display(), aside = %aside.display(), why,
            "the history was corrupt: it was set aside and is begun anew");
        Ok(())
    }
}

/// Whether so much time has passed since, by the steady clock in milliseconds.
fn has_passed(since: u64, now: Moment, time: Duration) -> bool {
    u128::from(now.steady_ms.saturating_sub(since)) >= time.as_millis()
}
