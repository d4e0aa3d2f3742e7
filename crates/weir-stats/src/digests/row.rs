//! What is counted of one digest from one origin.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use weir_model::DigestId;

use super::call::{Call, PlainCall, Source};
use super::spread::Spread;
use super::sums::{REASONS, Sums};
use crate::counter::Counter;

/// Bytes of a digest's text that are kept. Nearly all are shorter; the id is that of the whole.
const TEXT_MAX: usize = 4096;
/// Bytes of a statement that are kept as a sample.
const SAMPLE_MAX: usize = 1024;
/// Error codes that a row counts by themselves; what comes after them is counted as code 0.
const CODES_MAX: usize = 16;

/// Nanoseconds of a second.
pub(super) const SECOND_NS: u64 = 1_000_000_000;

/// A digest, as far as it is kept.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct DigestText {
    pub id: DigestId,
    pub text: Box<[u8]>,
    /// The text is longer than what is kept of it.
    pub is_cut: bool,
    /// Nothing in the text speaks against caching its answers.
    pub is_cacheable: bool,
}

impl DigestText {
    pub fn new(id: DigestId, text: &[u8], is_cacheable: bool) -> Arc<Self> {
        let kept = &text[..text.len().min(TEXT_MAX)];
        Arc::new(Self { id, text: kept.into(), is_cut: kept.len() < text.len(), is_cacheable })
    }
}

/// Who sends a statement, in which schema, and to which server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin {
    pub user: Box<[u8]>,
    /// The default schema; empty where there is none, or it is not known.
    pub schema: Box<[u8]>,
    pub server: Box<str>,
}

/// The counters of a row.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub calls: Counter,
    errors: Counter,
    rows_sent: Counter,
    rows_affected: Counter,
    bytes_in: Counter,
    bytes_out: Counter,
    hits: Counter,
    saved_ns: Counter,
    misses: Counter,
    by_weir: Counter,
    last_seen_ns: Counter,
    /// Where both times are the same: neither did the statement wait, nor was the client waited for.
    both: Spread,
    total: Spread,
    server: Spread,
    /// Of what no server has answered, as clients saw it.
    alone: Spread,
    /// What [`Self::usual_ns`] has told last, and how many calls there are when it looks again.
    usual_ns: Counter,
    usual_until: Counter,
    queue: OnceLock<Box<Spread>>,
    rare: OnceLock<Box<Rare>>,
}

/// What most rows never meet.
#[derive(Debug)]
struct Rare {
    codes: Mutex<BTreeMap<u16, u64>>,
    refused: [Counter; REASONS],
    pins: [Counter; REASONS],
    pinned_ns: [Counter; REASONS],
    kept_ns: Counter,
}

impl Default for Rare {
    fn default() -> Self {
        let none = || std::array::from_fn(|_| Counter::default());
        Self {
            codes: Mutex::default(),
            refused: none(),
            pins: none(),
            pinned_ns: none(),
            kept_ns: Counter::default(),
        }
    }
}

impl Counts {
    #[inline(always)]
    pub fn add_plain(&self, call: PlainCall) {
        self.add_answer(call.rows_sent, (call.bytes_in, call.bytes_out), call.at_ns);
        self.both.record_timing(call.time);
    }

    pub fn add(&self, call: Call) {
        self.add_answer(call.rows_sent, (call.bytes_in, call.bytes_out), call.at_ns);
        if call.server_ns == call.total_ns && call.server_ns != 0 {
            self.both.record(call.total_ns);
        } else {
            self.add_times(call.total_ns, call.server_ns);
        }
        let special = call.rows_affected | call.queue_ns;
        if special != 0 || call.error.is_some() || call.source != Source::Server {
            self.add_special(call);
        }
    }

    #[inline(always)]
    fn add_answer(&self, rows_sent: u64, (bytes_in, bytes_out): (u64, u64), at_ns: u64) {
        self.calls.inc();
        self.bytes_in.add(bytes_in);
        self.bytes_out.add(bytes_out);
        self.rows_sent.add(rows_sent);
        self.last_seen_ns.set(at_ns);
    }

    #[inline(never)]
    fn add_times(&self, total_ns: u64, server_ns: u64) {
        if server_ns == 0 {
            return self.alone.record(total_ns);
        }
        self.total.record(total_ns);
        self.server.record(server_ns);
    }

    #[inline(never)]
    fn add_special(&self, call: Call) {
        self.rows_affected.add(call.rows_affected);
        if call.queue_ns != 0 {
            self.queue.get_or_init(Box::default).record(call.queue_ns);
        }
        match call.source {
            Source::Server => {}
            Source::Miss => self.misses.inc(),
            Source::Hit => {
                self.hits.inc();
                self.saved_ns.add(call.saved_ns);
            }
            Source::Weir => self.by_weir.inc(),
            Source::Refused(reason) => {
                if let Some(counter) = self.rare().refused.get(usize::from(reason)) {
                    counter.inc();
                }
            }
        }
        if let Some(code) = call.error {
            self.errors.inc();
            let mut codes = self.rare().codes.lock();
            let code = if codes.len() < CODES_MAX || codes.contains_key(&code) { code } else { 0 };
            *codes.entry(code).or_default() += 1;
        }
    }

    /// A statement has made its session keep its connection, for these reasons.
    pub fn pinned(&self, reasons: u64) {
        for (_, counter) in self.rare().pins.iter().enumerate().filter(|(bit, _)| reasons >> bit & 1 == 1) {
            counter.inc();
        }
    }

    /// A session has kept its connection so long behind a statement: for this reason, or (`None`) at all.
    pub fn kept(&self, reason: Option<u8>, ns: u64) {
        let rare = self.rare();
        match reason {
            None => rare.kept_ns.add(ns),
            Some(reason) => {
                if let Some(counter) = rare.pinned_ns.get(usize::from(reason)) {
                    counter.add(ns);
                }
            }
        }
    }

    fn rare(&self) -> &Rare {
        self.rare.get_or_init(Box::default)
    }

    pub fn add_to(&self, sums: &mut Sums, first_seen: u64) {
        sums.calls += self.calls.get();
        sums.errors += self.errors.get();
        sums.rows_sent += self.rows_sent.get();
        sums.rows_affected += self.rows_affected.get();
        sums.bytes_in += self.bytes_in.get();
        sums.bytes_out += self.bytes_out.get();
        sums.hits += self.hits.get();
        sums.saved_ns += self.saved_ns.get();
        sums.misses += self.misses.get();
        sums.by_weir += self.by_weir.get();
        sums.seen(first_seen, self.last_seen_ns.get() / SECOND_NS);
        for (of, sum) in [(&self.total, &mut sums.total), (&self.server, &mut sums.server)] {
            of.add_to(sum);
            self.both.add_to(sum);
        }
        self.alone.add_to(&mut sums.total);
        sums.alone_ns += self.alone.sum_ns();
        if let Some(queue) = self.queue.get() {
            queue.add_to(&mut sums.queue);
        }
        let Some(rare) = self.rare.get() else { return };
        for (code, count) in rare.codes.lock().iter() {
            *sums.codes.entry(*code).or_default() += count;
        }
        let sum = |sums: &mut [u64], counters: &[Counter]| {
            sums.iter_mut().zip(counters).for_each(|(sum, counter)| *sum += counter.get());
        };
        sum(&mut sums.refused, &rare.refused);
        sum(&mut sums.pins, &rare.pins);
        sum(&mut sums.pinned_ns, &rare.pinned_ns);
        sums.kept_ns += rare.kept_ns.get();
    }

    /// What the server takes at most for such a statement, as a rule, one that has just taken it so long included. It is added up anew
    /// when there are a sixteenth more calls than then: for each it would cost more than to store an answer.
    pub fn usual_ns(&self, server_ns: u64) -> Option<u64> {
        let calls = self.calls.get();
        if calls < self.usual_until.get() {
            return Some(self.usual_ns.get());
        }
        let usual = Spread::usual([&self.both, &self.server], server_ns)?;
        self.usual_ns.set(usual);
        self.usual_until.set(calls + calls / 16 + 1);
        Some(usual)
    }

    fn held(&self) -> usize {
        let queue = self.queue.get().map_or(0, |queue| size_of::<Spread>() + queue.held());
        let rare = self.rare.get().map_or(0, |_| size_of::<Rare>());
        self.both.held() + self.total.held() + self.server.held() + self.alone.held() + queue + rare
    }
}

/// A row of a table.
#[derive(Debug)]
pub(super) struct Row {
    /// No other row of the table ever has it.
    pub serial: u64,
    pub digest: Arc<DigestText>,
    pub origin: Arc<Origin>,
    pub origin_number: u32,
    pub sample: Box<[u8]>,
    pub first_seen: u64,
    /// `calls` when it was last looked whether the row is used.
    pub looked_at: Counter,
    pub counts: Counts,
}

impl Row {
    pub fn new(
        serial: u64,
        digest: Arc<DigestText>,
        (origin, origin_number): (Arc<Origin>, u32),
        sample: &[u8],
        first_seen: u64,
    ) -> Self {
        let sample = sample[..sample.len().min(SAMPLE_MAX)].into();
        let counts = Counts::default();
        counts.last_seen_ns.set(first_seen * SECOND_NS);
        let looked_at = Counter::default();
        Self { serial, digest, origin, origin_number, sample, first_seen, looked_at, counts }
    }

    pub fn add_to(&self, sums: &mut Sums) {
        self.counts.add_to(sums, self.first_seen);
    }

    /// Bytes of memory, with all that it holds.
    pub fn bytes(&self) -> usize {
        let text = size_of::<DigestText>() + self.digest.text.len();
        size_of::<Self>() + text + self.sample.len() + self.counts.held()
    }
}
