//! A server has answered: what there is to count of the statement at hand.

use crate::analytics::{Ask, Counted, here};
use crate::session::Session;
use weir_stats::Timing;
use weir_stats::advice::Sample;
use weir_stats::digests::{Call, PlainCall, Slot, Source};

impl Session {
    /// A server has answered without an error, and the client has taken the answer at once: both times are this one, and not 0. `whole`
    /// is all of the answer, where one read has brought it.
    ///
    /// What most statements are is counted here, each of which pays for every instruction: rows that the cache might have answered
    /// with, and nothing else to be told of.
    #[inline(never)]
    pub(crate) fn tally_answered_at_once(&mut self, time: Timing, whole: Option<&[u8]>) {
        let Some(slot) = self.tally.slot else { return self.tally.counts_nothing() };
        let Ask::Later(key) = self.tally.ask else { return self.tally_unwatched(slot, time, whole) };
        if self.tally.is_special || !self.walker.ended_rows() || !self.is_outside() {
            return self.tally_unwatched(slot, time, whole);
        }
        // What is told of it is read where it is added, and this is a function of its own: there is no room in registers for all of it.
        let counted = here(|analytics| analytics.count_rows((slot, key), time.ns(), || self.rows(time)));
        if counted != Some(Counted::Is) {
            return self.tally_rare(slot, time.ns(), counted, whole);
        }
        self.tally.ask = Ask::No;
        self.log_rows(time.ns());
    }

    /// The same where the cache could not have answered, or where there is more to tell.
    #[inline(never)]
    fn tally_unwatched(&mut self, slot: Slot, time: Timing, whole: Option<&[u8]>) {
        let ns = time.ns();
        // What came in pieces may be in the sample.
        let is_plain = !self.tally.is_special && self.walker.ended_rows() && self.tally.ask != Ask::Counts;
        if !is_plain || here(|analytics| analytics.count_plain(slot, self.rows(time))) == Some(false) {
            return self.tally_any(slot, (ns, ns), whole);
        }
        self.tally.ask = Ask::No;
        self.log_rows(ns);
    }

    /// The same where it is in the sample, or not counted yet.
    #[cold]
    fn tally_rare(&mut self, slot: Slot, ns: u64, counted: Option<Counted>, whole: Option<&[u8]>) {
        if counted == Some(Counted::Gone) {
            return self.tally_any(slot, (ns, ns), whole);
        }
        if let (Ask::Later(key), Some(_)) = (std::mem::take(&mut self.tally.ask), counted) {
            self.watch_whole(slot, ns, Sample { key }, whole);
        }
        self.log_rows(ns);
    }

    #[inline(always)]
    fn rows(&self, time: Timing) -> PlainCall {
        PlainCall {
            time,
            rows_sent: self.walker.rows(),
            bytes_in: self.current.bytes_in,
            bytes_out: self.current.bytes_out,
            at_ns: self.tally.at_ns(time.ns()),
        }
    }

    #[inline(always)]
    fn log_rows(&mut self, ns: u64) {
        if let Some(why) = self.worker.shared.query_log.wants(ns) {
            self.log(why, self.call((ns, 0, ns), None, Source::Server));
        }
    }

    /// A server has answered in another way. Times as in [`weir_stats::WorkerStats::command_done`].
    #[inline(never)]
    pub(crate) fn tally_answered(&mut self, total_ns: u64, server_ns: u64, whole: Option<&[u8]>) {
        match self.tally.slot {
            Some(slot) => self.tally_any(slot, (total_ns, server_ns), whole),
            None => self.tally.counts_nothing(),
        }
    }

    /// Counts a statement that a server has answered, whatever there is to be told of it.
    #[inline(never)]
    fn tally_any(&mut self, slot: Slot, (total_ns, server_ns): (u64, u64), whole: Option<&[u8]>) {
        // What the client was told, where Weir has put that in the place of the server's.
        let error = self.tally.error.take().or(self.walker.error());
        let source = std::mem::take(&mut self.tally.source);
        let ask = std::mem::take(&mut self.tally.ask);
        let might_hit = ask != Ask::No && source == Source::Server && self.is_outside();
        if ask == Ask::No {
            self.advised_of_write();
        }
        let queue_ns = self.tally.waited();
        let call = self.call((total_ns + queue_ns, queue_ns, server_ns), error, source);
        let (counted, sample) = here(|analytics| {
            // Where its row has gone, another digest may have its place.
            let counted = analytics.count(slot, call);
            (counted, (counted && might_hit).then(|| analytics.might_hit(slot, server_ns, ask)).flatten())
        })
        .unwrap_or((true, None));
        if !counted {
            self.counts_anew(call);
        }
        // Asked ahead: what is not logged needs no place in memory.
        if let Some(why) = self.worker.shared.query_log.wants(call.total_ns) {
            self.log(why, call);
        }
        self.tally.text = None;
        if let Some(sample) = sample {
            self.watch_whole(slot, server_ns, sample, whole);
        }
        if self.tally.watch.is_some() {
            self.watched(slot, server_ns, might_hit);
        }
        self.tally.is_special = false;
    }

    /// What a server has answered. The times are those of [`Call`], in its order.
    fn call(
        &self,
        (total_ns, queue_ns, server_ns): (u64, u64, u64),
        error: Option<u16>,
        source: Source,
    ) -> Call {
        let rows_affected = match self.walker.ended_rows() || error.is_some() {
            true => 0,
            false => self.walker.ok().affected_rows,
        };
        Call {
            total_ns,
            queue_ns,
            server_ns,
            rows_sent: self.walker.rows(),
            rows_affected,
            bytes_in: self.current.bytes_in,
            bytes_out: self.current.bytes_out,
            error,
            source,
            saved_ns: 0,
            at_ns: self.tally.at_ns(total_ns - queue_ns),
        }
    }
}
