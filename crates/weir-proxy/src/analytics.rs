//! What a worker counts of statements' digests. All of it belongs to the worker's thread, so that counting takes no lock.

mod memo;

pub(crate) use memo::Plain;

use crate::settings::AnalyticsSettings;
use memo::Memo;
use parking_lot::Mutex;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use weir_model::DigestId;
use weir_sql::LexMode;
use weir_stats::digests::{Call, DigestText, Origin, Report, Slot, Table, Usage, Writer};

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
}

impl Digests {
    /// How long has been counted.
    pub fn observed(&self) -> Duration {
        self.since.lock().elapsed()
    }

    pub(crate) fn new(workers: usize, settings: AnalyticsSettings) -> Self {
        let tables = (0..workers).map(|_| Table::new(settings.digests)).collect();
        let now = Instant::now();
        let since = Mutex::new(now);
        Self { tables, samples: settings.samples, began: now, began_at: SystemTime::now(), since }
    }

    pub fn report(&self) -> Report {
        Report::of(&self.tables)
    }

    pub fn usage(&self) -> Usage {
        Usage::of(&self.tables)
    }

    /// Whose statement a worker counts at a slot, if its row is still there.
    pub fn named(&self, worker: usize, slot: Slot) -> Option<(Arc<DigestText>, Arc<Origin>)> {
        self.tables.get(worker)?.named(slot)
    }

    /// Forgets all that was counted.
    pub fn empty(&self) {
        *self.since.lock() = Instant::now();
        self.tables.iter().for_each(|table| table.empty());
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
        };
        HERE.set(Some(Box::new(analytics)));
    }
}

/// Works with what this thread counts with; `None` where it does not count.
#[inline]
pub(crate) fn here<R>(work: impl FnOnce(&mut Analytics) -> R) -> Option<R> {
    HERE.with_borrow_mut(|here| here.as_deref_mut().map(work))
}

/// Who sends, and the number that this has on the worker.
pub(crate) type Sender = (Arc<Origin>, u32);

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
}

impl Analytics {
    pub fn sender(&mut self, origin: Origin) -> Sender {
        self.writer.origin(origin)
    }

    /// Where a statement with this text is counted, and what is known of the text.
    pub fn find(&mut self, sql: &[u8], mode: LexMode, sender: &Sender) -> (Slot, Option<Plain>) {
        if sql.len() > READ_MAX {
            return (self.long(sender), None);
        }
        let Self { writer, memo, samples, began, .. } = self;
        let sample = samples.then_some(sql);
        match memo.find(sql, mode) {
            Ok(known) => (known.spot.slot(writer, sender, sample, *began), known.plain),
            Err(digest) => {
                let mut spot = Spot { digest, place: None };
                (spot.slot(writer, sender, sample, *began), None)
            }
        }
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

    /// The digest of a text that will come again.
    pub fn spot(&mut self, sql: &[u8], mode: LexMode) -> Spot {
        let digest = match sql.len() > READ_MAX {
            true => Arc::clone(&self.long),
            false => {
                self.memo.find(sql, mode).map_or_else(|digest| digest, |known| known.spot.digest.clone())
            }
        };
        Spot { digest, place: None }
    }

    /// The digest of the text that was looked for last, if it is that of all texts with the same numbers left out.
    pub fn last_spot(&mut self) -> Option<Spot> {
        self.memo.last().filter(|known| !known.exact).map(|known| known.spot.clone())
    }

    /// Where a statement is counted whose digest is at hand.
    #[inline]
    pub fn slot(&mut self, spot: &mut Spot, sender: &Sender) -> Slot {
        spot.slot(&mut self.writer, sender, None, self.began)
    }

    #[inline]
    pub fn count(&self, slot: Slot, call: &Call, ended: Instant) {
        let at = ended.saturating_duration_since(self.began).as_secs();
        self.writer.count(slot, &Call { at, ..*call });
    }

    pub fn pinned(&self, slot: Slot, reasons: u64) {
        self.writer.pinned(slot, reasons);
    }

    pub fn kept(&self, slot: Slot, reason: Option<u8>, ns: u64) {
        self.writer.kept(slot, reason, ns);
    }
}

impl Spot {
    #[inline]
    fn slot(&mut self, writer: &mut Writer, sender: &Sender, sql: Option<&[u8]>, began: Instant) -> Slot {
        if let Some((number, slot)) = self.place
            && number == sender.1
            && writer.is_current(slot)
        {
            return slot;
        }
        let sample = sql.unwrap_or_default();
        let slot = writer.slot(&self.digest, (&sender.0, sender.1), sample, began.elapsed().as_secs());
        self.place = Some((sender.1, slot));
        slot
    }
}
