//! What a session counts of its statements' digests: which row the statement at hand belongs to is found when its text is looked
//! at, and what became of it is counted there when it is answered.
//!
//! COM_QUERY, COM_STMT_EXECUTE and COM_STMT_BULK_EXECUTE are counted here. Other commands are counted by their names only.

mod answered;

use crate::advise::Watch;
use crate::analytics::{Analytics, Ask, Plain, Sender, Spot, here};
use crate::command::statement_id;
pub(crate) use crate::executed::Kept;
use crate::executed::Types;
use crate::login::Identity;
use crate::matched::Matched;
use crate::sender::{At, Stand, place_of, stand_of, with_sender};
use crate::session::{Noted, Session};
use crate::worker::Worker;
use std::time::{Duration, Instant};
use weir_cache::Refusal;
use weir_session::{PinSet, Schema};
use weir_sql::LexMode;
use weir_stats::digests::{Call, Slot, Source};
use weir_wire::attributes::statement_offset;
use weir_wire::command as com;

/// What a session remembers for that.
#[derive(Debug)]
pub(crate) struct Tally {
    /// Who sends, from where.
    pub(crate) sender: Option<(Sender, Stand)>,
    /// From when counting began to when the session did, and from then to when the command at hand was sent, in nanoseconds: the
    /// clock's times are subtracted once for each command.
    began_ns: u64,
    pub(crate) started_ns: u64,
    /// Where the statement at hand is counted.
    slot: Option<Slot>,
    pub(crate) source: Source,
    /// Whether it is looked what caching it would do, and what is seen of it.
    pub(crate) ask: Ask,
    watch: Option<Box<Watch>>,
    /// When the last write of a session with a connection of its own was acknowledged.
    pub(crate) wrote: Option<Instant>,
    /// More than the server's answer may be to be counted of the statement at hand: whoever notes such a thing sets it.
    is_special: bool,
    /// The rows of an answer from the cache, and the error of one of Weir's.
    rows: u64,
    saved_ns: u64,
    error: Option<u16>,
    /// The command at hand waits since then, or has waited so long.
    waits_since: Option<Instant>,
    queue_ns: u64,
    /// The statement that is being prepared, and the hash of its text as in [`Types::new`].
    preparing: Option<(Spot, Option<u64>)>,
    /// What is noted of the statement that the command at hand executes, by the client's id.
    executes: Option<(u32, Noted)>,
    /// The schema that is shown of the session.
    pub shown: Schema,
    /// For the query log: the text of the statement at hand.
    text: Option<Vec<u8>>,
    /// The rules that have matched it.
    pub(crate) matched: Matched,
}

impl Tally {
    /// For a session that began so many nanoseconds after counting did.
    pub fn new(began_ns: u64) -> Self {
        Self {
            sender: None,
            began_ns,
            started_ns: 0,
            slot: None,
            source: Source::default(),
            ask: Ask::No,
            watch: None,
            wrote: None,
            is_special: false,
            rows: 0,
            saved_ns: 0,
            error: None,
            waits_since: None,
            queue_ns: 0,
            preparing: None,
            executes: None,
            shown: Schema::None,
            text: None,
            matched: Matched::default(),
        }
    }

    /// For another user in the same session.
    pub fn anew(&self) -> Self {
        Self { started_ns: self.started_ns, ..Self::new(self.began_ns) }
    }

    /// Where the statement at hand is counted.
    #[inline]
    pub fn slot(&self) -> Option<Slot> {
        self.slot
    }

    /// A command is taken. One that has waited is at hand already.
    #[inline]
    pub fn takes(&mut self) {
        if self.waits_since.is_none() {
            (self.slot, self.ask, self.text, self.executes) = (None, Ask::No, None, None);
            self.matches_none();
        }
    }

    /// The command at hand is taken again later.
    /// Since when it has waited is returned.
    pub fn waits(&mut self) -> Instant {
        *self.waits_since.get_or_insert_with(Instant::now)
    }

    /// The command at hand is sent, or answered, at this moment.
    #[inline]
    pub fn begins(&mut self, now: Instant) {
        self.queue_ns = 0;
        if let Some(since) = self.waits_since.take() {
            self.queue_ns = now.saturating_duration_since(since).as_nanos() as u64;
            self.is_special = true;
        }
    }

    /// The cache has nothing to answer with.
    pub fn missed(&mut self) {
        (self.source, self.is_special) = (Source::Miss, true);
    }

    /// The cache leaves the statement alone.
    pub fn refused(&mut self, reason: Refusal) {
        (self.source, self.is_special) = (Source::Refused(reason as u8), true);
    }

    /// The cache answers.
    pub fn served(&mut self, rows: u64, saved: Duration) {
        (self.source, self.rows, self.is_special) = (Source::Hit, rows, true);
        self.saved_ns = saved.as_nanos() as u64;
    }

    /// Weir answers with an error.
    pub fn errs(&mut self, code: u16) {
        (self.error, self.is_special) = (Some(code), true);
    }

    /// The answer of the statement at hand is watched so, as it comes in pieces.
    pub(crate) fn watches(&mut self, watch: Box<Watch>) {
        (self.watch, self.is_special) = (Some(watch), true);
    }

    #[inline]
    pub(crate) fn watch(&mut self) -> Option<&mut Watch> {
        self.watch.as_deref_mut()
    }

    pub(crate) fn take_watch(&mut self) -> Option<Box<Watch>> {
        self.watch.take()
    }

    /// The statement at hand has this text, which may be logged.
    pub(crate) fn has_text(&mut self, text: Vec<u8>) {
        (self.text, self.is_special) = (Some(text), true);
    }

    pub(crate) fn take_text(&mut self) -> Option<Vec<u8>> {
        self.text.take()
    }

    /// What there is to keep of a statement that was just prepared.
    pub fn prepared(&mut self, noted: Noted, params: u16) -> Kept {
        Kept {
            noted,
            types: Types::new(self.preparing.as_ref().and_then(|(_, text)| *text), params),
            spot: self.preparing.take().map(|(spot, _)| spot),
            has_ahead: false,
        }
    }

    /// The statement at hand is one of a session that shares connections, and its digest may be at hand.
    #[inline]
    pub fn spot(
        &mut self,
        (at, of): (At<'_>, (&Worker, &Identity)),
        spot: &mut Option<Spot>,
        sql: &[u8],
        mode: LexMode,
    ) {
        let found = with_sender((self, at), of, |analytics, sender| match spot {
            Some(spot) => {
                let key = spot.is_cacheable().then(|| analytics.general_key(sql, mode));
                analytics.slot(spot, sender, key)
            }
            None => {
                let (slot, ask, _) = analytics.find(sql, mode, sender);
                *spot = analytics.last_spot();
                (slot, ask)
            }
        });
        self.found(found);
    }

    /// What is noted of the statement with this id, if the command at hand executes it and it was looked for already.
    #[inline]
    pub fn executes(&self, id: u32) -> Option<Noted> {
        self.executes.filter(|(known, _)| *known == id).map(|(_, noted)| noted)
    }

    #[inline]
    fn found(&mut self, found: Option<(Slot, Ask)>) {
        (self.slot, self.ask) = found.map_or((None, Ask::No), |(slot, ask)| (Some(slot), ask));
    }

    /// The statement at hand has made its session keep its connection.
    pub fn pinned(&self, reasons: PinSet) {
        let Some(slot) = self.slot.filter(|_| !reasons.is_empty()) else { return };
        let bits = reasons.iter().fold(0, |bits, reason| bits | 1u64 << (reason as u8));
        here(|analytics| analytics.pinned(slot, bits));
    }

    /// How long the command at hand waited before it was sent.
    #[inline]
    pub fn queue_ns(&self) -> u64 {
        self.queue_ns
    }

    /// The same, which is told now.
    #[inline]
    fn waited(&mut self) -> u64 {
        std::mem::take(&mut self.queue_ns)
    }

    /// When the command at hand has taken so long, as in [`Call::at_ns`].
    #[inline]
    pub(crate) fn at_ns(&self, total_ns: u64) -> u64 {
        self.began_ns + self.started_ns + total_ns
    }

    /// Nothing is counted of the statement at hand.
    #[inline]
    fn counts_nothing(&mut self) {
        (self.error, self.source, self.ask) = (None, Source::Server, Ask::No);
    }
}

impl Session {
    /// The command at hand is a statement with this text. What is known of the text by which a session with a connection of its
    /// own goes.
    pub(crate) fn tally_text(&mut self, sql: &[u8], mode: LexMode) -> Option<Plain> {
        let found = with_sender(
            (&mut self.tally, place_of(&self.sharing, &self.ruled, &self.server)),
            (&self.worker, &self.identity),
            |analytics, sender| analytics.find(sql, mode, sender),
        );
        self.tally.found(found.map(|(slot, ask, _)| (slot, ask)));
        found.and_then(|(_, _, plain)| plain)
    }

    /// The text that was just looked for says nothing else than this.
    pub(crate) fn tally_plain(&mut self, plain: Plain) {
        if self.tally.slot.is_some() {
            here(|analytics| analytics.is_plain(plain));
        }
    }

    /// The command at hand executes a prepared statement; `whole` is its payload, if it is all there.
    pub(crate) fn tally_execution(&mut self, id: Option<u32>, whole: Option<&[u8]>) {
        let Some(id) = id.map(|id| self.statements.meant(id)) else { return };
        let Some(Kept { spot: Some(spot), noted, types, .. }) = self.statements.get_mut(id) else { return };
        self.tally.executes = Some((id, *noted));
        let flags = self.client_caps;
        let key = |types: &mut Types| whole.and_then(|payload| types.key(payload, flags));
        if let Some(sender) = self.tally.sender(stand_of(&self.sharing, &self.ruled))
            && let Some(slot) = spot.last(sender)
        {
            self.tally.ask = sender.later(key(types));
            self.tally.slot = Some(slot);
            return;
        }
        let key = key(types);
        let at = place_of(&self.sharing, &self.ruled, &self.server);
        let of = (&*self.worker, &*self.identity);
        let found =
            with_sender((&mut self.tally, at), of, |analytics, sender| analytics.slot(spot, sender, key));
        self.tally.found(found);
    }

    /// The command at hand sends a value of a prepared statement ahead.
    pub(crate) fn tally_long_data(&mut self, id: Option<u32>) {
        let id = id.map(|id| self.statements.meant(id));
        if let Some(kept) = id.and_then(|id| self.statements.get_mut(id)) {
            kept.types.long();
        }
    }

    /// The command at hand goes no further than to the rules.
    pub(crate) fn tally_denied(&mut self, command: u8, payload: &[u8]) {
        match command {
            com::QUERY => {
                if let Ok(offset) = statement_offset(payload, self.server.caps) {
                    self.tally_text(&payload[offset..], self.lex_mode());
                }
            }
            com::STMT_EXECUTE | com::STMT_BULK_EXECUTE => {
                self.tally_execution(statement_id(&payload[1..]), None)
            }
            _ => {}
        }
    }

    /// The command at hand begins so, and is too long to be held.
    pub(crate) fn tally_part(&mut self, command: u8, so_far: &[u8]) {
        match command {
            com::QUERY => {
                let (sender, of) = (
                    (&mut self.tally, place_of(&self.sharing, &self.ruled, &self.server)),
                    (&*self.worker, &*self.identity),
                );
                self.tally.slot = with_sender(sender, of, Analytics::long);
                self.tally.ask = Ask::No;
            }
            com::STMT_EXECUTE | com::STMT_BULK_EXECUTE => self.tally_execution(statement_id(so_far), None),
            com::STMT_SEND_LONG_DATA => self.tally_long_data(statement_id(so_far)),
            _ => {}
        }
    }

    /// A statement is being prepared.
    pub(crate) fn tally_preparation(&mut self, sql: &[u8]) {
        let mode = self.lex_mode();
        self.tally.preparing = here(|analytics| analytics.spot(sql, mode));
    }

    /// Counts a statement that is no plain one, or whose row has gone.
    #[inline(never)]
    fn counts(&mut self, slot: Slot, call: Call) {
        if here(|analytics| analytics.count(slot, call)) == Some(false) {
            self.counts_anew(call);
        }
    }

    /// Counts a statement whose row has gone since it was sent, or, if it was prepared, since it was executed before.
    #[cold]
    fn counts_anew(&mut self, call: Call) {
        let of = (&*self.worker, &*self.identity);
        let at = place_of(&self.sharing, &self.ruled, &self.server);
        let executes = matches!(self.current.command, com::STMT_EXECUTE | com::STMT_BULK_EXECUTE);
        let kept = self.tally.executes.filter(|_| executes).and_then(|(id, _)| self.statements.get_mut(id));
        let slot = kept.and_then(|kept| kept.spot.as_mut()).and_then(|spot| {
            with_sender((&mut self.tally, at), of, |analytics, sender| analytics.slot(spot, sender, None).0)
        });
        self.tally.slot = slot.or(self.tally.slot);
        let counted = slot.and_then(|slot| here(|analytics| analytics.count(slot, call)));
        if counted != Some(true) {
            here(|analytics| analytics.count_other(call));
        }
    }

    /// Weir, or its cache, has answered.
    #[inline]
    pub(crate) fn tally_own(&mut self, total_ns: u64, bytes_in: u64, bytes_out: u64) {
        let tally = &mut self.tally;
        (tally.ask, tally.watch) = (Ask::No, None);
        let (rows_sent, error) = (std::mem::take(&mut tally.rows), tally.error.take());
        let saved_ns = std::mem::take(&mut tally.saved_ns);
        let source = match std::mem::take(&mut tally.source) {
            Source::Hit => Source::Hit,
            _ => Source::Weir,
        };
        let queue_ns = tally.waited();
        let call = Call {
            total_ns: total_ns + queue_ns,
            queue_ns,
            server_ns: 0,
            rows_sent,
            rows_affected: 0,
            bytes_in,
            bytes_out,
            error,
            source,
            saved_ns,
            at_ns: tally.at_ns(total_ns),
        };
        if let Some(slot) = tally.slot {
            self.counts(slot, call);
        }
        if let Some(why) = self.worker.shared.query_log.wants(call.total_ns) {
            self.log(why, call);
        }
        (self.tally.text, self.tally.is_special) = (None, false);
        self.rules_took(call.total_ns);
    }
}
