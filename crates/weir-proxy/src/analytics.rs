//! What a worker counts of statements' digests. All of it belongs to the worker's thread, so that counting takes no lock.

mod memo;

pub(crate) use memo::Plain;

use crate::settings::AnalyticsSettings;
use memo::Memo;
use parking_lot::Mutex;
use std::cell::RefCell;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use weir_model::DigestId;
use weir_session::State;
use weir_sql::{LexMode, is_system_schema, may_carry_password, trimmed_span};
use weir_stats::advice::{Desk, Gates, Limits, Line, Sample, Seen};
use weir_stats::digests::{Call, DigestText, Origin, PlainCall, Rows, Slot, Table, Usage, Writer};
use weir_stats::series::{Ledger, Minute};
use weir_wire::caps::Caps;

/// Texts longer than this are not read, in bytes: bulk loads would pay more for that than for all else.
const READ_MAX: usize = 16 * 1024;
/// They are counted in a row with this text.
const LONG: &[u8] = b"(statements longer than 16 KiB)";

thread_local! {
    static HERE: RefCell<Option<Box<Analytics>>> = const { RefCell::new(None) };
}

/// The tables of all workers.
#[derive(Debug)]
pub struct Digests {
    tables: Vec<Arc<Table>>,
    samples: bool,
    began: Instant,
    began_at: SystemTime,
    /// When they were last emptied, or made.
    since: Mutex<Instant>,
    /// What caching would do.
    desk: Arc<Desk>,
    /// All workers hash keys in the same way.
    keys: foldhash::quality::FixedState,
}

impl Digests {
    /// How long has been counted.
    pub fn observed(&self) -> Duration {
        self.since.lock().elapsed()
    }

    /// `seed` is a random number: clients choose what is hashed.
    pub(crate) fn new(workers: usize, settings: AnalyticsSettings, seed: u64) -> Self {
        let tables = (0..workers).map(|_| Table::new(settings.digests)).collect();
        let now = Instant::now();
        Self {
            tables,
            samples: settings.samples,
            began: now,
            began_at: SystemTime::now(),
            since: Mutex::new(now),
            desk: Desk::new(Limits::default(), seed),
            keys: foldhash::quality::FixedState::with_seed(seed),
        }
    }

    /// Nanoseconds from when counting began to `at`.
    pub(crate) fn nanos(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.began).as_nanos() as u64
    }

    /// What caching would do for each statement.
    pub fn advice(&self) -> Vec<Line> {
        self.desk.lines()
    }

    /// Bytes of memory that this takes.
    pub fn advice_bytes(&self) -> usize {
        self.desk.bytes()
    }

    /// What was counted by now.
    pub fn rows(&self) -> Rows {
        Rows::of(&self.tables)
    }

    pub fn usage(&self) -> Usage {
        Usage::of(&self.tables)
    }

    /// Whose statement a worker counts at a slot, if its row is still there.
    pub fn named(&self, worker: usize, slot: Slot) -> Option<(Arc<DigestText>, Arc<Origin>)> {
        self.tables.get(worker)?.named(slot)
    }

    /// What was counted since the last call with this ledger: of at most so many rows, and of all others together.
    pub fn since_last(&self, ledger: &mut Ledger, most: usize) -> Minute {
        ledger.take(&self.tables, most)
    }

    /// Forgets all that was counted.
    pub fn empty(&self) {
        *self.since.lock() = Instant::now();
        self.tables.iter().for_each(|table| table.empty());
        self.desk.empty();
    }

    /// When the seconds began that rows tell.
    pub fn began_at(&self) -> SystemTime {
        self.began_at
    }

    /// From now on this thread counts for the worker with this number.
    pub(crate) fn count_here(&self, worker: usize, seed: u64) {
        let Some(table) = self.tables.get(worker) else { return };
        let analytics = Analytics {
            writer: Writer::new(Arc::clone(table), seed),
            memo: Memo::new(seed),
            samples: self.samples,
            began: self.began,
            long: DigestText::new(DigestId(0), LONG, false),
            gates: Gates::new(Arc::clone(&self.desk)),
            senders: Vec::new(),
            next_sender: 0,
            keys: self.keys.clone(),
        };
        HERE.set(Some(Box::new(analytics)));
    }
}

/// Works with what this thread counts with; `None` where it does not count.
#[inline]
pub(crate) fn here<R>(work: impl FnOnce(&mut Analytics) -> R) -> Option<R> {
    HERE.with_borrow_mut(|here| here.as_deref_mut().map(work))
}

/// Who sends.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    origin: Arc<Origin>,
    /// The number that the origin has on the worker.
    number: u32,
    /// A hash of all that the answers depend on beside statements and data. It is a part of each key. `None` in system schemas, whose tables
    /// are not cached.
    salt: Option<u64>,
}

/// A digest, and where one sender's statements with it are counted.
#[derive(Debug, Clone)]
pub(crate) struct Spot {
    digest: Arc<DigestText>,
    place: Option<(u32, Slot)>,
}

/// What one worker counts with.
#[derive(Debug)]
pub(crate) struct Analytics {
    writer: Writer,
    memo: Memo,
    samples: bool,
    began: Instant,
    long: Arc<DigestText>,
    gates: Gates,
    /// Those of the last sessions, with what their answers depend on: most come with the same again.
    senders: Vec<(Caps, State, Sender)>,
    next_sender: usize,
    keys: foldhash::quality::FixedState,
}

/// Senders that a worker knows again.
const SENDERS_KNOWN: usize = 16;

/// Whether it is to be looked what caching the statement at hand would do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Ask {
    /// Its text speaks against it.
    #[default]
    No,
    /// It is counted.
    Counts,
    /// It has this key. Whether it is in the sample is looked at when its answer comes: most are not.
    Later(u64),
}

/// What became of a statement that was to be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counted {
    Is,
    /// It is counted, and in the sample.
    InSample,
    /// Its row has gone: it is not counted yet.
    Gone,
}

impl Analytics {
    /// `state` is that of a session that shares connections; of others none is known.
    pub fn sender(&mut self, origin: Origin, dialect: Caps, state: Option<&State>) -> Sender {
        let Some(state) = state else { return self.new_sender(origin, dialect, None) };
        let known = self
            .senders
            .iter()
            .find(|(caps, at, sender)| *caps == dialect && *sender.origin == origin && at.same_as(state));
        if let Some((.., sender)) = known {
            return sender.clone();
        }
        let sender = self.new_sender(origin, dialect, Some(state));
        let new = (dialect, state.clone(), sender.clone());
        match self.senders.get_mut(self.next_sender) {
            Some(place) => *place = new,
            None => self.senders.push(new),
        }
        self.next_sender = (self.next_sender + 1) % SENDERS_KNOWN;
        sender
    }

    fn new_sender(&mut self, origin: Origin, dialect: Caps, state: Option<&State>) -> Sender {
        let mut hasher = self.keys.build_hasher();
        origin.hash(&mut hasher);
        hasher.write_u64(dialect);
        let mut bytes = Vec::new();
        if state.and_then(|state| state.put_results_key(&mut bytes)).is_some() {
            hasher.write(&bytes);
        }
        let salt = (!is_system_schema(&origin.schema)).then(|| hasher.finish());
        let (origin, number) = self.writer.origin(origin);
        Sender { origin, number, salt }
    }

    /// Where a statement with this text is counted, and what is known of the text.
    pub fn find(&mut self, sql: &[u8], mode: LexMode, sender: &Sender) -> (Slot, Ask, Option<Plain>) {
        if sql.len() > READ_MAX {
            self.memo.forgets_last();
            return (self.long(sender), Ask::No, None);
        }
        let Self { writer, memo, samples, began, .. } = self;
        let sample = samples.then_some(sql);
        let (slot, is_cacheable, is_general, plain) = match memo.find(sql, mode) {
            Ok(known) => {
                let slot = known.spot.slot(writer, sender, sample, *began);
                (slot, known.spot.digest.is_cacheable, !known.exact, known.plain)
            }
            Err(digest) => {
                let is_cacheable = digest.is_cacheable;
                let mut spot = Spot { digest, place: None };
                (spot.slot(writer, sender, sample, *began), is_cacheable, false, None)
            }
        };
        let key = is_cacheable.then(|| match is_general {
            true => self.general_key(sql, mode),
            false => self.text_key(sql, mode),
        });
        (slot, sender.later(key), plain)
    }

    /// The hash of a text, as far as it tells answers apart.
    pub fn text_key(&self, sql: &[u8], mode: LexMode) -> u64 {
        let mut hasher = self.keys.build_hasher();
        hasher.write(&sql[trimmed_span(sql, mode)]);
        hasher.finish()
    }

    /// The same of a text of whose kind [`Self::last_spot`] has told: it has no comments, so that blanks alone might be left out.
    #[inline]
    pub fn general_key(&self, sql: &[u8], mode: LexMode) -> u64 {
        match sql {
            [first, .., last] if first.is_ascii_alphabetic() && last.is_ascii_graphic() => {
                let mut hasher = self.keys.build_hasher();
                hasher.write(sql);
                hasher.finish()
            }
            _ => self.text_key(sql, mode),
        }
    }

    /// As [`Gates::skips`].
    pub fn skips(&mut self, sample: Sample, now_us: u64, floor_us: Option<u64>) -> bool {
        self.gates.skips(sample, now_us, floor_us)
    }

    /// Microseconds since counting began.
    pub fn micros(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.began).as_micros() as u64
    }

    /// Counts an execution with this key that is what most are: [`PlainCall`]; and that the cache might have answered.
    #[inline(always)]
    pub fn count_rows(
        &mut self,
        (slot, key): (Slot, u64),
        server_ns: u64,
        call: impl FnOnce() -> PlainCall,
    ) -> Counted {
        if !self.writer.count_plain(slot, call) {
            return Counted::Gone;
        }
        match self.gates.count(slot, server_ns) {
            Some(gate) if gate.watches(key) => Counted::InSample,
            Some(_) => Counted::Is,
            None => self.begins(slot, server_ns),
        }
    }

    /// The same of one that the cache could not have answered. False where its row has gone: then it is not counted yet.
    pub fn count_plain(&self, slot: Slot, call: PlainCall) -> bool {
        self.writer.count_plain(slot, || call)
    }

    /// The server has answered what the cache might have answered, unless its text speaks against it. Of [`Ask::Later`], whether it
    /// is in the sample.
    pub fn might_hit(&mut self, slot: Slot, server_ns: u64, ask: Ask) -> Option<Sample> {
        if ask == Ask::No {
            return None;
        }
        let is_first = self.gates.count(slot, server_ns).is_none();
        if is_first {
            self.begins(slot, server_ns);
        }
        let Ask::Later(key) = ask else { return None };
        if is_first { Some(Sample { key }) } else { self.gates.sample(slot, key) }
    }

    #[cold]
    fn begins(&mut self, slot: Slot, server_ns: u64) -> Counted {
        self.gates.begin(slot, server_ns, self.writer.named(slot));
        Counted::InSample
    }

    /// Whether an execution with this key is in the sample.
    pub fn sample(&self, slot: Slot, key: u64) -> Option<Sample> {
        self.gates.sample(slot, key)
    }

    pub fn watched(&mut self, slot: Slot, seen: &Seen) {
        self.gates.observe(slot, seen);
    }

    /// What is known by this worker only is told to all.
    pub fn tell(&mut self) {
        self.gates.tell();
    }

    /// Where a statement is counted that is too long to be read.
    pub fn long(&mut self, sender: &Sender) -> Slot {
        let mut spot = Spot { digest: Arc::clone(&self.long), place: None };
        spot.slot(&mut self.writer, sender, None, self.began)
    }

    /// Tells of the text that was looked for last what it is.
    pub fn is_plain(&mut self, plain: Plain) {
        if let Some(known) = self.memo.last() {
            known.plain = Some(plain);
        }
    }

    /// The digest of a text that will come again, and its key if the cache may keep its answers.
    pub fn spot(&mut self, sql: &[u8], mode: LexMode) -> (Spot, Option<u64>) {
        let digest = match sql.len() > READ_MAX {
            true => Arc::clone(&self.long),
            false => {
                self.memo.find(sql, mode).map_or_else(|digest| digest, |known| known.spot.digest.clone())
            }
        };
        let key = digest.is_cacheable.then(|| self.text_key(sql, mode));
        (Spot { digest, place: None }, key)
    }

    /// The digest of the text that was looked for last, if it is that of all texts with the same numbers left out.
    pub fn last_spot(&mut self) -> Option<Spot> {
        self.memo.last().filter(|known| !known.exact).map(|known| known.spot.clone())
    }

    /// Where a statement is counted whose digest is at hand.
    #[inline]
    pub fn slot(&mut self, spot: &mut Spot, sender: &Sender, key: Option<u64>) -> (Slot, Ask) {
        let slot = spot.slot(&mut self.writer, sender, None, self.began);
        (slot, sender.later(key))
    }

    /// False where its row has gone: then it is not counted yet.
    pub fn count(&self, slot: Slot, call: Call) -> bool {
        self.writer.count(slot, call)
    }

    /// As [`Writer::usual_ns`].
    pub fn usual_ns(&self, slot: Slot, server_ns: u64) -> Option<u64> {
        self.writer.usual_ns(slot, server_ns)
    }

    /// Counts what has no row any more.
    pub fn count_other(&self, call: Call) {
        self.writer.count_other(call);
    }

    pub fn pinned(&self, slot: Slot, reasons: u64) {
        self.writer.pinned(slot, reasons);
    }

    pub fn named(&self, slot: Slot) -> Option<(Arc<DigestText>, Arc<Origin>)> {
        self.writer.named(slot)
    }

    pub fn kept(&self, slot: Slot, reason: Option<u8>, ns: u64) {
        self.writer.kept(slot, reason, ns);
    }
}

/// The same with what is bound to it: NULLs and values, as they stand in an execution.
#[inline(always)]
pub(crate) fn bound_key(text: u64, (nulls, values): (&[u8], &[u8])) -> u64 {
    // Most have at most eight parameters.
    let nulls = if let [nulls] = nulls { u64::from(*nulls) } else { hash(0, nulls) };
    let mut hasher = foldhash::fast::FixedState::with_seed(text ^ nulls).build_hasher();
    // One number, as a rule: it need not be taken for a text.
    if let Some(number) = values.as_array() {
        hasher.write_u32(u32::from_le_bytes(*number));
    } else if let Some(number) = values.as_array() {
        hasher.write_u64(u64::from_le_bytes(*number));
    } else {
        hasher.write(values);
    }
    hasher.finish()
}

/// A hash of bytes; where clients choose them, `seed` comes of a random number.
#[inline(always)]
pub(crate) fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let mut hasher = foldhash::fast::FixedState::with_seed(seed).build_hasher();
    hasher.write(bytes);
    hasher.finish()
}

impl Sender {
    /// What is to be looked at of a statement with this key, once it is answered.
    #[inline(always)]
    pub fn later(&self, key: Option<u64>) -> Ask {
        let Some(key) = key else { return Ask::No };
        self.salt.map_or(Ask::No, |salt| Ask::Later(key ^ salt))
    }
}

impl Spot {
    /// Where it was counted last, if the same sender sends it again. The row may have gone meanwhile.
    #[inline]
    pub fn last(&self, sender: &Sender) -> Option<Slot> {
        self.place.filter(|(number, _)| *number == sender.number).map(|(_, slot)| slot)
    }

    /// Nothing in its text speaks against caching its answers.
    #[inline]
    pub fn is_cacheable(&self) -> bool {
        self.digest.is_cacheable
    }

    #[inline]
    fn slot(&mut self, writer: &mut Writer, sender: &Sender, sql: Option<&[u8]>, began: Instant) -> Slot {
        if let Some((number, slot)) = self.place
            && number == sender.number
            && writer.is_current(slot)
        {
            return slot;
        }
        let sample = sql.filter(|sql| !may_carry_password(sql)).unwrap_or_default();
        let slot =
            writer.slot(&self.digest, (&sender.origin, sender.number), sample, began.elapsed().as_secs());
        self.place = Some((sender.number, slot));
        slot
    }
}

#[cfg(test)]
mod tests;
