//! What is seen of a statement that the cache might have answered, and no rule lets it: for the cache advisor
//! ([`weir_stats::advice`]).
//!
//! Each such statement is counted. Of those in the sample the answer is hashed while it passes.

use crate::analytics::{Ask, here};
use crate::compared::Compared;
use crate::fill::PLAIN_FLAGS;
use crate::session::Session;
use foldhash::fast::FixedState;
use rapidhash::v3::{DEFAULT_RAPID_SECRETS, RapidStreamHasherV3, rapidhash_v3};
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use weir_sql::StatementKind;
use weir_stats::advice::{Outcome, Sample, Seen};
use weir_stats::digests::{Slot, Source};
use weir_wire::packet::status;

/// Bytes of a key beside the statement, about.
const KEY_BYTES: usize = 64;

/// A statement of the sample whose answer comes in pieces.
pub(crate) struct Watch {
    sample: Sample,
    compared: Compared,
    /// The same for the same bytes, in whichever pieces they come, and in one.
    hasher: RapidStreamHasherV3<'static>,
    bytes: usize,
    limit: usize,
}

/// What is seen of an answer.
struct Watched {
    sample: Sample,
    /// Of its bytes, unless there are more of them than the cache keeps in one answer.
    hash: Option<u64>,
    bytes: usize,
}

impl Watch {
    fn new(sample: Sample, limit: usize) -> Self {
        let hasher = RapidStreamHasherV3::new(&DEFAULT_RAPID_SECRETS);
        Self { sample, compared: Compared::default(), hasher, bytes: 0, limit }
    }

    /// Takes a part of the answer.
    pub fn take(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
        if self.bytes <= self.limit {
            let Self { compared, hasher, .. } = self;
            compared.take(bytes, |bytes| hasher.write(bytes));
        }
    }

    fn end(self) -> Watched {
        let hash = (self.bytes <= self.limit).then(|| self.hasher.finish());
        Watched { sample: self.sample, hash, bytes: self.bytes }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("sample", &self.sample)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Its answer comes in pieces, of which this is one.
    #[inline]
    pub(crate) fn watch_pieces(&mut self) {
        if let Ask::Later(key) = self.tally.ask {
            self.watch_later(key);
        }
    }

    #[cold]
    fn watch_later(&mut self, key: u64) {
        self.tally.ask = Ask::Counts;
        let sample =
            self.tally.slot().and_then(|slot| here(|analytics| analytics.sample(slot, key)).flatten());
        let Some(sample) = sample.and_then(|sample| self.samples(sample, self.is_unsure())) else { return };
        let limit = self.worker.shared.cache().max_entry();
        self.tally.watches(Box::new(Watch::new(sample, limit)));
    }

    /// It is in the sample, and the server has answered with these bytes.
    #[cold]
    pub(crate) fn watch_whole(&mut self, slot: Slot, server_ns: u64, sample: Sample, answer: Option<&[u8]>) {
        let Some(answer) = answer else { return };
        let is_unsure = self.is_unsure();
        let Some(sample) = self.samples(sample, is_unsure) else { return };
        let bytes = answer.len();
        let fits = bytes <= self.worker.shared.cache().max_entry();
        let hash = fits.then(|| rapidhash_v3(&Compared::whole(answer, self.walker.status())));
        self.seen(slot, server_ns, &Watched { sample, hash, bytes }, is_unsure);
    }

    /// As what a statement of the sample is watched, if something can be learned of it. `is_unsure` as [`Self::is_unsure`] says.
    fn samples(&self, sample: Sample, is_unsure: bool) -> Option<Sample> {
        let autocommit = self.walker.status() & status::AUTOCOMMIT != 0;
        if self.current.in_transaction || !autocommit || self.tally.source != Source::Server {
            // The cache would not be asked, or has been asked.
            return None;
        }
        let sample = sample.apart(self.apart());
        let asked_us = self.asked_us();
        let floor_us = self.floor_us(asked_us, is_unsure);
        let skips = here(|analytics| analytics.skips(sample, asked_us, floor_us));
        (skips == Some(false)).then_some(sample)
    }

    /// When the server was asked, in microseconds since counting began.
    fn asked_us(&self) -> u64 {
        self.tally.at_ns(0) / 1_000
    }

    /// As in [`Seen`].
    fn floor_us(&self, asked_us: u64, is_unsure: bool) -> Option<u64> {
        let wrote = match &self.sharing {
            // It is not served.
            _ if is_unsure => return Some(asked_us),
            Some(sharing) => sharing.cache.wrote,
            None => self.tally.wrote,
        };
        wrote.and_then(|wrote| here(|analytics| analytics.micros(wrote)))
    }

    /// What tells its answers from those to the same statement, beside what its key holds already: the server, and of a session with a
    /// connection of its own how it has logged in and what it has set.
    fn apart(&self) -> u64 {
        if self.sharing.is_some() {
            return self.place();
        }
        let mut hasher = FixedState::default().build_hasher();
        hasher.write_u64(self.server.place.generation());
        hasher.write_u8(self.charset_id);
        hasher.write_u64(self.followed.state().unwrap_or_default());
        hasher.finish()
    }

    /// Its state speaks against it, or is not known.
    fn is_unsure(&self) -> bool {
        match self.sharing.as_deref() {
            Some(sharing) => self.state_refusal().is_some() || !sharing.wanted.is_known(),
            None => self.followed.state().is_err(),
        }
    }

    /// A session with a connection of its own sends a statement as text.
    #[inline]
    pub(crate) fn follow(&mut self, kind: StatementKind, sql: &[u8]) {
        if self.sharing.is_none() {
            self.followed.takes(kind, sql);
        }
    }

    /// It executes one that was prepared.
    #[inline]
    pub(crate) fn follow_execution(&mut self, kind: StatementKind) {
        if self.sharing.is_none() {
            self.followed.executes(kind);
        }
    }

    /// Whether the statement at hand stood in no transaction.
    #[inline]
    pub(crate) fn is_outside(&self) -> bool {
        let flags = self.walker.status();
        flags & (status::AUTOCOMMIT | status::IN_TRANS) == status::AUTOCOMMIT && !self.current.in_transaction
    }

    /// The server has answered a statement of the sample; `counts`: the cache might have answered it, for its text lets it, and no
    /// rule has named it.
    #[cold]
    pub(crate) fn watched(&mut self, slot: Slot, server_ns: u64, counts: bool) {
        let Some(watch) = self.tally.take_watch().filter(|_| counts) else { return };
        self.seen(slot, server_ns, &watch.end(), self.is_unsure());
    }

    fn seen(&self, slot: Slot, server_ns: u64, watched: &Watched, is_unsure: bool) {
        let plain = self.walker.error().is_none()
            && self.walker.ended_rows()
            && self.walker.status() & !PLAIN_FLAGS == 0
            && self.walker.ok().warnings == 0;
        let outcome = match watched.hash.filter(|_| plain && !is_unsure) {
            Some(hash) => {
                let size = weir_cache::entry_size(KEY_BYTES + self.current.bytes_in as usize, watched.bytes);
                Outcome::Kept { hash, bytes: u32::try_from(size).unwrap_or(u32::MAX) }
            }
            None => Outcome::NotKept,
        };
        let asked_us = self.asked_us();
        let seen = Seen {
            key: watched.sample.key,
            asked_us,
            answered_us: asked_us + server_ns / 1_000,
            server_ns,
            outcome,
            floor_us: self.floor_us(asked_us, is_unsure),
        };
        here(|analytics| analytics.watched(slot, &seen));
    }

    /// A session with a connection of its own may have written: it would not be served what is older.
    #[inline]
    pub(crate) fn advised_of_write(&mut self) {
        let harmless = |kind| matches!(kind, StatementKind::Read | StatementKind::Use | StatementKind::Set);
        if self.sharing.is_none()
            && self.tally.slot().is_some()
            && !self.walker.ended_rows()
            && !self.current.noted.is_some_and(|noted| harmless(noted.kind))
        {
            self.tally.wrote = Some(self.current.ended);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_in_pieces_is_the_same_as_in_one() {
        // Rows of a byte each.
        let answer: Vec<u8> = (0..120u8).flat_map(|n| [1, 0, 0, n, n.wrapping_mul(7)]).collect();
        for len in [0, 5, 15, 110, 115, 225, 300, 600] {
            for piece in [1, 5, 112, 200] {
                let mut watch = Watch::new(Sample { key: 1 }, 600);
                answer[..len].chunks(piece).for_each(|bytes| watch.take(bytes));
                let Watched { hash, bytes, .. } = watch.end();
                assert_eq!((hash, bytes), (Some(rapidhash_v3(&answer[..len])), len), "pieces of {piece}");
            }
        }
        let mut watch = Watch::new(Sample { key: 1 }, 599);
        answer.chunks(7).for_each(|bytes| watch.take(bytes));
        assert_eq!(watch.end().hash, None);
    }
}
