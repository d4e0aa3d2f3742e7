//! What becomes of an answer that is to be kept: it is gathered while it passes, and stored when everything is known that a
//! client may ask after it.

use crate::analytics::here;
use crate::compared::{Compared, EFFORT};
use crate::doing::Doing;
use crate::foreign::Foreign;
use crate::judged::{Names, Reads};
use crate::question::{Unanswered, asked};
use crate::resolve;
use crate::session::{Exit, Session};
use crate::settle::patiently;
use crate::wish::Wish;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::Context;
use std::time::{Duration, Instant};
use tokio::time::timeout;
use weir_cache::{About, Answer, Ask, Cache, DropReason, Entry, Gathered, Refusal, Snapshot, Ticket};
use weir_model::rule::CacheShare;
use weir_model::{CloseReason, ServerFamily};
use weir_session::FoundRows;
use weir_wire::packet::status;

/// From this version on MySQL warns of SQL_CALC_FOUND_ROWS (1287), each time and once.
const WARNS_OF_CALC: u32 = 80_017;

/// Flags of an answer that say nothing about its session, or what the key holds anyway.
pub(crate) const PLAIN_FLAGS: u16 =
    status::AUTOCOMMIT | status::NO_BACKSLASH_ESCAPES | status::ANSI_QUOTES | EFFORT;

/// Where an answer goes.
#[derive(Debug)]
pub(crate) enum To {
    Store(Ticket),
    /// Only its hash, to see what a rule would do.
    Shadow(Snapshot),
    /// Nowhere: that there is one shows that its user may read it.
    Grant,
    /// It is compared with this, which was served.
    Verify(Arc<Entry>),
}

/// An answer that is being gathered.
#[derive(Debug)]
pub(crate) struct Filling {
    pub wish: Wish,
    to: To,
    bytes: Gathered,
    limit: usize,
    sent: Option<Instant>,
    /// What has shown that it cannot be kept.
    spoilt: Option<Refusal>,
    /// It is complete; what is left to ask comes before it is stored.
    done: Option<About>,
}

impl Filling {
    pub fn new(wish: Wish, to: To, limit: usize) -> Self {
        Self { wish, to, bytes: Gathered::default(), limit, sent: None, spoilt: None, done: None }
    }

    /// The statement is about to be sent.
    pub fn begin(&mut self, cache: &Cache) {
        let now = Instant::now();
        self.sent = Some(now);
        match &mut self.to {
            To::Store(ticket) => ticket.asked(now),
            To::Shadow(snapshot) => *snapshot = cache.snapshot(&cache.key(&self.wish.key), now),
            To::Verify(_) | To::Grant => {}
        }
    }

    /// Takes a part of the answer as the client sees it.
    pub fn take(&mut self, cache: &Cache, bytes: &[u8]) {
        if self.takes(bytes.len()) && !self.bytes.take(cache, bytes, Instant::now()) {
            self.spoil(Refusal::TooLarge);
        }
    }

    /// Whether so many bytes more are wanted.
    fn takes(&mut self, count: usize) -> bool {
        if self.spoilt.is_some() || matches!(self.to, To::Grant) {
            return false;
        }
        if self.bytes.bytes().len() + count + self.wish.key.len() > self.limit {
            // A large answer passes by and is not held.
            self.bytes = Gathered::default();
            self.spoil(Refusal::TooLarge);
            return false;
        }
        true
    }

    /// It cannot be kept.
    pub fn spoil(&mut self, why: Refusal) {
        self.spoilt.get_or_insert(why);
    }

    /// Whether it waits for what is asked behind it.
    pub fn is_done(&self) -> bool {
        self.done.is_some()
    }

    /// Gives up, and counts why.
    pub fn give_up(self: Box<Self>, why: Refusal) {
        self.wish.scope.rule().refuse(why);
        let reason = match why {
            Refusal::TooLarge => DropReason::TooLarge,
            Refusal::Error => DropReason::Error,
            Refusal::Cut => DropReason::Cut,
            _ => DropReason::NotCacheable,
        };
        if let To::Store(ticket) = self.to {
            ticket.give_up(reason);
        }
    }

    /// It is known now what its names stand for, and so what it is about.
    fn reads(&mut self, session: &Session, reads: Reads) {
        let Wish { judged, rule: (rules, rule), schema, .. } = &self.wish;
        let scope = session.scope(judged, (rules, *rule), schema, Some(reads));
        if let (To::Store(ticket), Some(scope)) = (&mut self.to, scope) {
            ticket.set_scope(scope);
        }
    }

    /// `whole` is the answer, if it was not gathered.
    fn store(self: Box<Self>, cache: &Cache, whole: Option<&[u8]>, mut about: About, now: Instant) {
        let Self { wish, to, bytes, sent, .. } = *self;
        let bytes = whole.unwrap_or(bytes.bytes());
        if wish.cache.verify.millionths() > 0 || !matches!(to, To::Store(_)) {
            let mut hash = cache.result_hash();
            hash.update(&Compared::whole(bytes, about.status));
            about.hash = hash.finish();
        }
        match to {
            To::Store(ticket) => {
                // What is not stored is counted there.
                let _ = ticket.fill(&Answer { packets: bytes, warning_packets: &[], about }, now);
            }
            To::Shadow(snapshot) => {
                let key = cache.key(&wish.key);
                let ask = Ask { key, scope: &wish.scope, terms: wish.terms, floor: None };
                cache.shadow_observe(&ask, &snapshot, &about, now);
            }
            To::Grant => {}
            To::Verify(served) => {
                cache.verified(wish.scope.rule(), &served, about.hash, sent.unwrap_or(now));
            }
        }
        wish.granted();
    }
}

impl Session {
    /// The answer to the statement at hand has come; `whole` is all of it, where one read has brought it and it was not gathered.
    pub(crate) fn filled(&mut self, answered_at: Instant, whole: Option<&[u8]>) {
        let Some(mut filling) = self.sharing.as_mut().and_then(|s| s.cache.filling.take()) else { return };
        let whole = whole.filter(|bytes| filling.takes(bytes.len()));
        let about = match self.about(&filling, answered_at) {
            Ok(about) => about,
            Err(why) => return filling.give_up(why),
        };
        if filling.wish.epoch != self.worker.shared.names_changed() {
            // While it waited to be sent, a name may have come to stand for something else.
            filling.wish.reads = None;
        }
        let Some(sharing) = &mut self.sharing else { return };
        if let (Some(sent), CacheShare::Grants) = (filling.sent, filling.wish.cache.share) {
            let Wish { judged, schema, epoch, .. } = &filling.wish;
            judged.grant(&sharing.key.user, schema, *epoch, sent);
        }
        let compared = matches!(filling.to, To::Verify(_) | To::Grant);
        let owes = owes_found_rows(&sharing.doing);
        if compared || (filling.wish.reads.is_some() && !owes) {
            return filling.store(self.worker.shared.cache(), whole, about, answered_at);
        }
        if !filling.bytes.take(self.worker.shared.cache(), whole.unwrap_or_default(), answered_at) {
            return filling.give_up(Refusal::TooLarge);
        }
        filling.done = Some(About { found_rows: owes.then_some(0), ..about });
        sharing.cache.filling = Some(filling);
    }

    /// What is known of the answer, or why it cannot be kept.
    fn about(&self, filling: &Filling, answered_at: Instant) -> Result<About, Refusal> {
        if self.walker.error().is_some() {
            return Err(Refusal::Error);
        }
        if let Some(why) = filling.spoilt {
            return Err(why);
        }
        let (flags, ok) = (self.walker.status(), self.walker.ok());
        if self.walker.several() {
            return Err(Refusal::MoreResults);
        }
        let sharing = self.sharing.as_ref().ok_or(Refusal::SessionUnknown)?;
        let same_server = self.server.place.generation() == filling.wish.place;
        if flags & !PLAIN_FLAGS != 0 || !self.walker.ended_rows() || !same_server {
            return Err(Refusal::SessionChanged);
        }
        let deprecated = ok.warnings == 1
            && filling.wish.judged.facts.found_rows
            && self.server.family == ServerFamily::MySql
            && self.server.version >= WARNS_OF_CALC;
        if ok.warnings > 0 && !deprecated {
            return Err(Refusal::Warnings);
        }
        if !sharing.wanted.is_known() || self.closing.is_some() {
            return Err(Refusal::SessionChanged);
        }
        Ok(About {
            rows: self.walker.rows(),
            found_rows: None,
            warnings: ok.warnings,
            status: flags,
            form: 0,
            hash: 0,
            server_time: self.saves(filling, answered_at),
        })
    }

    /// What a hit of this answer saves the server. In shadow mode each run counts for itself.
    fn saves(&self, filling: &Filling, answered_at: Instant) -> Duration {
        let took = filling.sent.map_or(Duration::ZERO, |sent| answered_at.duration_since(sent));
        let To::Store(ticket) = &filling.to else { return took };
        let usual = |slot| here(|analytics| analytics.usual_ns(slot, took.as_nanos() as u64)).flatten();
        ticket.saves(took, self.tally.slot().and_then(usual).map(Duration::from_nanos))
    }

    /// Whether an answer waits for what must be asked before it is stored.
    pub(crate) fn has_done_filling(&self) -> bool {
        let filling = self.sharing.as_ref().and_then(|sharing| sharing.cache.filling.as_ref());
        filling.is_some_and(|filling| filling.is_done())
    }

    /// What may be served because the statement at hand has failed with this error.
    pub(crate) fn stale(&mut self, code: u16) -> Option<Arc<Entry>> {
        let filling = self.sharing.as_ref()?.cache.filling.as_ref()?;
        if filling.wish.cache.stale_if_error.is_zero() || !is_outage(code) || filling.is_done() {
            return None;
        }
        // Who has not been answered by the server itself may have no right to it, and a shadow serves nothing.
        if !filling.wish.granted || !matches!(filling.to, To::Store(_)) {
            return None;
        }
        let wish = &filling.wish;
        let cache = self.worker.shared.cache();
        let ask = Ask { key: cache.key(&wish.key), scope: &wish.scope, terms: wish.terms, floor: wish.floor };
        let entry = cache.stale_if_error(&ask, Instant::now())?;
        if let Some(filling) = self.sharing.as_mut().and_then(|sharing| sharing.cache.filling.take()) {
            filling.give_up(Refusal::Error);
        }
        Some(entry)
    }

    /// Answers the statement at hand with what is past its time, because the server has failed. False: there is nothing.
    pub(crate) fn serve_stale(
        &mut self,
        cx: &mut Context<'_>,
        command: u8,
        len: usize,
        code: u16,
    ) -> Result<bool, Exit> {
        let Some(entry) = self.stale(code) else { return Ok(false) };
        self.serve(cx, (command, len), &entry, Duration::ZERO)?;
        Ok(true)
    }
}

/// Whether FOUND_ROWS() after it must be asked for.
fn owes_found_rows(doing: &Doing) -> bool {
    doing.with(|statement| !matches!(statement.found_rows, FoundRows::RowsSent))
}

/// Whether an error says that the server cannot answer now, and nothing about the statement.
fn is_outage(code: u16) -> bool {
    matches!(
        code,
        1040 // ER_CON_COUNT_ERROR
            | 1053 // ER_SERVER_SHUTDOWN
            | 1129 // ER_HOST_IS_BLOCKED
            | 1158
            ..=1161 // ER_NET_READ_ERROR and its neighbours
            | 1203 // ER_TOO_MANY_USER_CONNECTIONS
            | 1205 // ER_LOCK_WAIT_TIMEOUT
            | 1213 // ER_LOCK_DEADLOCK
            | 1226 // ER_USER_LIMIT_REACHED
            | 1037 | 1038 | 1041 // out of memory
            | 1021 // ER_DISK_FULL
            | 1114 // ER_RECORD_FILE_FULL
            | 1047 // ER_UNKNOWN_COM_ERROR: a Galera node that is not ready
            | 1429 // ER_CONNECT_TO_FOREIGN_DATA_SOURCE: what Weir says where it cannot connect
    )
}

/// Asks what must be known before the answer is stored, on the connection that has given it.
pub(crate) async fn finish(session: &mut Session) -> Result<(), Exit> {
    let done = match session.sharing.as_ref().is_some_and(|sharing| sharing.is_replaceable()) {
        true => timeout(session.limits.server_connect_timeout, ask_behind(session))
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())),
        // It goes on with this connection or not at all.
        false => patiently(session, ask_behind).await?,
    };
    let Err(error) = done else {
        session.end_behind();
        return Ok(());
    };
    tracing::debug!(event = "fill_failed", client = session.entry.handle.id(), error = %error);
    if let Some(filling) = session.sharing.as_mut().and_then(|sharing| sharing.cache.filling.take()) {
        filling.give_up(Refusal::Cut);
    }
    if !session.sharing.as_ref().is_some_and(|sharing| sharing.is_replaceable()) {
        return Err(Exit::Close(CloseReason::ServerGone));
    }
    session.drop_link();
    session.end_behind();
    Ok(())
}

async fn ask_behind(session: &mut Session) -> io::Result<()> {
    let Some(mut filling) = session.sharing.as_mut().and_then(|sharing| sharing.cache.filling.take()) else {
        return Ok(());
    };
    let Some(mut about) = filling.done else { return Ok(()) };
    let kept = crate::settle::read_leftovers(session).await?;
    let server = session.server_kind();
    let Some(sharing) = &mut session.sharing else { return Ok(()) };
    sharing.foreign_parts = Foreign::ALL;
    if about.found_rows.is_some() {
        about.found_rows = sharing.leftovers.found_rows().filter(|_| kept);
        if let Some(found_rows) = about.found_rows {
            sharing.leftovers.calculated(found_rows, about.warnings > 0);
        }
    }
    sharing.pins.hold(sharing.leftovers.holds(server));
    if about.warnings > 0 && about.found_rows.is_none() {
        filling.give_up(Refusal::FoundRows);
        return awaited(session).await;
    }
    match names(session, &filling.wish).await? {
        Err(why) => filling.give_up(why),
        Ok(reads) => {
            filling.reads(session, reads);
            filling.store(session.worker.shared.cache(), None, about, Instant::now());
        }
    }
    awaited(session).await
}

async fn awaited(session: &mut Session) -> io::Result<()> {
    // While it was idle, its end was waited for.
    poll_fn(|cx| session.server.stream.poll_still(cx)).await
}

/// Asks the server what the statement's names stand for, if that is not known.
async fn names(session: &mut Session, wish: &Wish) -> io::Result<Result<Reads, Refusal>> {
    if let Some(reads) = wish.reads {
        return Ok(Ok(reads));
    }
    let epoch = session.worker.shared.names_changed();
    let at = Instant::now();
    let (verdict, hidden) = match resolve::names(session, wish).await {
        Ok(verdict) => (verdict, false),
        Err(Unasked::TooLong) => (Err(Refusal::Unresolved), false),
        Err(Unasked::Hidden(why)) => (Err(why), true),
        // It may be willing to tell the next.
        Err(Unasked::Refused(_)) => return Ok(Err(Refusal::Unresolved)),
        Err(Unasked::Lost(error)) => return Err(error),
    };
    let user = session.sharing.as_ref().map(|sharing| Arc::clone(&sharing.key.user));
    let hidden_from = user.filter(|_| hidden);
    let names =
        Names { schema: wish.schema.clone(), views: wish.cache.views, hidden_from, epoch, at, verdict };
    session.worker.shared.known_names.keep(wish.judged.digest.id, names.clone());
    wish.judged.keep_names(names);
    Ok(verdict)
}

/// Why a query of Weir's own has no answer.
#[derive(Debug)]
pub(crate) enum Unasked {
    /// The server has answered with this error: it was interrupted, or the session is not to ask for so much.
    Refused(u16),
    /// The answer is longer than what Weir holds.
    TooLong,
    /// The session's user is not told, for this reason. Another may be.
    Hidden(Refusal),
    /// The connection is of no more use.
    Lost(io::Error),
}

/// The row that answers a query of Weir's own, as text.
pub(crate) async fn ask_text(session: &mut Session, sql: &str) -> Result<Vec<Option<String>>, Unasked> {
    match asked(&mut session.server, sql.as_bytes()).await.map_err(Unasked::Lost)? {
        Ok(row) => {
            Ok(row.into_iter().map(|value| value.map(|v| String::from_utf8_lossy(&v).into_owned())).collect())
        }
        Err(Unanswered::Refused(err)) => {
            tracing::debug!(event = "question_refused", client = session.entry.handle.id(), code = err.code);
            if let Some(sharing) = &mut session.sharing {
                sharing.unclean = true;
            }
            Err(Unasked::Refused(err.code))
        }
        Err(Unanswered::TooLong) => Err(Unasked::TooLong),
    }
}
