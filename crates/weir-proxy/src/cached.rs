//! Step 6: whether a statement is answered from memory, and whether its answer is kept.
//!
//! Only a session whose state Weir knows can be served: that of a client that shares connections, or of one that could
//! if its configuration did not say otherwise (`sharing = "session"`).

use crate::behind::Behind;
use crate::doing::Doing;
use crate::fill::{Filling, To};
use crate::foreign::Foreign;
use crate::found_rows::FormOf;
use crate::passing::Passing;
use crate::session::{Exit, Session};
use crate::sharing::Sharing;
use crate::wish::Wish;
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::time::{Sleep, sleep};
use weir_cache::{Ask, Cache, Chance, Entry, Experience, Lookup, Refusal, Selector, Waited, Waiting};
use weir_model::CloseReason;
use weir_model::rule::CacheMode;
use weir_session::{Leftovers, Outcome, Server, State};
use weir_wire::command::{self as com, shape};

/// What becomes of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cached {
    /// The server is asked.
    Ask,
    /// It was answered.
    Answered,
    /// Another session asks the same: it waits for that.
    Waits,
}

/// Whether a statement may wait for the answer to another's, or has waited long enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Patience {
    Has,
    Lost,
}

/// What of a session the cache keeps at hand between statements.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    /// A number for all that answers depend on of a state.
    pub results: Option<(State, u64)>,
    /// When the session's last write was acknowledged.
    pub wrote: Option<Instant>,
    /// The statement at hand waits for the answer to another's.
    pub flight: Option<Box<InFlight>>,
    /// The answer to the statement at hand is to be kept.
    pub filling: Option<Box<Filling>>,
    /// What runs behind the answer that the client has got from memory.
    pub behind: Option<Box<Behind>>,
    /// The statement at hand asks for FOUND_ROWS() of this number, in this form.
    pub form: Option<Box<(FormOf, u64)>>,
    /// Something of the session was changed by what no text shows.
    pub untold: bool,
    /// What is wiped when the statement at hand has ended.
    pub wipes: Vec<Selector>,
    /// The like of the query at hand are seldom asked for again.
    pub passing: Option<Arc<Passing>>,
    /// What asking for it is, if that was found out before its key was made.
    pub chance: Option<Chance>,
}

/// Looks for an answer, and counts whether there is one, or somebody asks for it.
fn look(cache: &Cache, ask: &Ask<'_>, of: (&Experience, Option<Chance>), now: Instant) -> Lookup {
    let found = cache.lookup(ask, now);
    if let (experience, Some(chance)) = of {
        experience.count(chance, !matches!(found, Lookup::Miss(_) | Lookup::Refused(_)));
    }
    found
}

/// A statement that waits for the answer to another's.
#[derive(Debug)]
pub(crate) struct InFlight {
    waiting: Waiting,
    wish: Wish,
    /// What has come. `None` where it waits, and where it has lost its patience.
    over: Option<Waited>,
    patience: Pin<Box<Sleep>>,
}

/// Bytes that are kept for the next answer of several pieces.
const PIECES_MAX: usize = 64 * 1024;

thread_local! {
    /// Room to put an answer together that lies in several pieces.
    static PIECES: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl Session {
    /// Looks whether the command at hand can be answered from memory, and does so.
    pub(crate) fn cached(
        &mut self,
        cx: &mut Context<'_>,
        command: u8,
        payload: &[u8],
        len: usize,
    ) -> Result<Cached, Exit> {
        let Some(sharing) = &mut self.sharing else { return Ok(Cached::Ask) };
        if sharing.fit || sharing.partial {
            return Ok(Cached::Ask);
        }
        if let Some(flight) = sharing.cache.flight.take() {
            let InFlight { waiting, mut wish, over, .. } = *flight;
            return match over {
                Some(waited) => self.landed(cx, (command, len), wish, waited),
                None => {
                    waiting.lose_patience();
                    // It may have been taken away meanwhile.
                    wish.granted = self.may_read(&wish.cache, &wish.judged);
                    self.look_up(cx, (command, len), payload, wish, Patience::Lost)
                }
            };
        }
        (sharing.cache.filling, sharing.cache.form, sharing.cache.chance) = (None, None, None);
        if !self.worker.shared.has_rules() || !matches!(command, com::QUERY | com::STMT_EXECUTE) {
            return Ok(Cached::Ask);
        }
        if command == com::QUERY && self.passes_by(payload) {
            return Ok(Cached::Ask);
        }
        self.changes(command, payload);
        if command == com::QUERY && self.found_rows(cx, payload, len)? == Cached::Answered {
            return Ok(Cached::Answered);
        }
        match self.wish(command, payload) {
            Some(wish) => self.look_up(cx, (command, len), payload, wish, Patience::Has),
            None => Ok(Cached::Ask),
        }
    }

    /// What there is for the statement at hand.
    fn look_up(
        &mut self,
        cx: &mut Context<'_>,
        (command, len): (u8, usize),
        payload: &[u8],
        wish: Wish,
        patience: Patience,
    ) -> Result<Cached, Exit> {
        let shared = Arc::clone(&self.worker.shared);
        let key = shared.cache().key(&wish.key);
        let ask = Ask { key, scope: &wish.scope, terms: wish.terms, floor: wish.floor };
        let now = Instant::now();
        if wish.cache.mode == CacheMode::Shadow {
            let snapshot = shared.cache().snapshot(&key, now);
            self.fill_with(wish, To::Shadow(snapshot));
            return Ok(Cached::Ask);
        }
        if !wish.granted {
            self.not_granted(wish);
            return Ok(Cached::Ask);
        }
        let waited = patience == Patience::Lost;
        // One that has waited was looked at then.
        let chance = if waited { None } else { self.chance((command, payload), &key, &wish) };
        if chance == Some(Chance::First) {
            self.pass(wish.scope.rule());
            wish.granted();
            return Ok(Cached::Ask);
        }
        let found = match waited {
            true => shared.cache().lookup_again(&ask, now),
            false => look(shared.cache(), &ask, (&wish.judged.experience, chance), now),
        };
        // Who has waited first has spared the server nothing.
        let saved = |entry: &Entry| if waited { Duration::ZERO } else { entry.server_time() };
        match found {
            Lookup::Hit(entry) => {
                let sampled = self.is_sampled(&wish, &entry);
                let served = self.serve(cx, (command, len), &entry, saved(&entry))?;
                if sampled {
                    let limit = shared.cache().max_entry();
                    self.run_behind(command, payload, Filling::new(wish, To::Verify(entry), limit));
                } else {
                    wish.granted();
                }
                Ok(served)
            }
            Lookup::Refresh(entry, ticket) => {
                let served = self.serve(cx, (command, len), &entry, saved(&entry))?;
                let limit = shared.cache().max_entry();
                self.run_behind(command, payload, Filling::new(wish, To::Store(ticket), limit));
                Ok(served)
            }
            Lookup::Miss(ticket) => {
                self.tally.missed();
                self.fill_with(wish, To::Store(ticket));
                Ok(Cached::Ask)
            }
            Lookup::Wait(waiting) if !waited => Ok(self.wait_for(waiting, wish)),
            Lookup::Wait(_) => {
                self.tally.missed();
                Ok(Cached::Ask)
            }
            Lookup::Refused(reason) => {
                wish.scope.rule().refuse(reason);
                self.tally.refused(reason);
                Ok(Cached::Ask)
            }
        }
    }

    fn wait_for(&mut self, waiting: Waiting, wish: Wish) -> Cached {
        let patience = Box::pin(sleep(self.worker.shared.settings().pool.queue_timeout));
        let flight = InFlight { waiting, wish, over: None, patience };
        if let Some(sharing) = &mut self.sharing {
            sharing.cache.flight = Some(Box::new(flight));
        }
        Cached::Waits
    }

    /// The command at hand waits for the answer to another session's.
    pub(crate) fn is_in_flight(&self) -> bool {
        self.sharing.as_ref().is_some_and(|sharing| sharing.cache.flight.is_some())
    }

    /// True when a statement that waited for another's answer waits no longer.
    pub(crate) fn poll_flight(&mut self, cx: &mut Context<'_>) -> Result<bool, Exit> {
        if self.is_in_flight() && (self.interrupted() || self.entry.handle.killed()) {
            // It is answered with this when it is taken again.
            let err = self.interruption();
            if let Some(sharing) = &mut self.sharing {
                (sharing.cache.flight, sharing.refusal) = (None, Some(err));
            }
            return Ok(true);
        }
        let Some(flight) = self.sharing.as_mut().and_then(|sharing| sharing.cache.flight.as_mut()) else {
            return Ok(true);
        };
        if flight.over.is_some() {
            return Ok(true);
        }
        if let Poll::Ready(waited) = Pin::new(&mut flight.waiting).poll(cx) {
            flight.over = Some(waited);
            return Ok(true);
        }
        if flight.patience.as_mut().poll(cx).is_ready() {
            return Ok(true);
        }
        match self.watch_client(cx) {
            Ok(_) => Ok(false),
            Err(_) => Err(Exit::Close(CloseReason::ClientGone)),
        }
    }

    /// What it waited for has come, or will not.
    fn landed(
        &mut self,
        cx: &mut Context<'_>,
        (command, len): (u8, usize),
        wish: Wish,
        waited: Waited,
    ) -> Result<Cached, Exit> {
        match waited {
            // The right to read it may have been taken away meanwhile.
            Waited::Hit(_) if !self.may_read(&wish.cache, &wish.judged) => {
                self.not_granted(wish);
                Ok(Cached::Ask)
            }
            Waited::Hit(entry) => {
                // It has waited as long as the server took.
                self.serve(cx, (command, len), &entry, Duration::ZERO)
            }
            Waited::Miss(ticket) => {
                self.tally.missed();
                self.fill_with(wish, To::Store(ticket));
                Ok(Cached::Ask)
            }
            Waited::RunYourself => {
                self.tally.missed();
                Ok(Cached::Ask)
            }
        }
    }

    /// The server is asked, which shows whether the user may read it.
    fn not_granted(&mut self, wish: Wish) {
        wish.scope.rule().refuse(Refusal::NotGranted);
        self.tally.refused(Refusal::NotGranted);
        self.fill_with(wish, To::Grant);
    }

    /// Whether this hit is one that is compared with what the server says now.
    fn is_sampled(&self, wish: &Wish, entry: &Entry) -> bool {
        let share = wish.cache.verify.millionths();
        // What was stored before the rule asked for it has no hash.
        share > 0 && entry.about().hash != 0 && self.worker.shared.cache().samples(wish.scope.rule(), share)
    }

    fn fill_with(&mut self, wish: Wish, to: To) {
        let limit = self.worker.shared.cache().max_entry();
        if let Some(sharing) = &mut self.sharing {
            sharing.cache.filling = Some(Box::new(Filling::new(wish, to, limit)));
        }
    }

    /// Answers with what a server has answered; the session is then as if it had been asked. `saved`: what that has spared the
    /// server, as it is counted of the rule.
    pub(crate) fn serve(
        &mut self,
        cx: &mut Context<'_>,
        (command, len): (u8, usize),
        entry: &Arc<Entry>,
        saved: Duration,
    ) -> Result<Cached, Exit> {
        self.begin(command, shape(command));
        let mode = self.lex_mode();
        if let Some(sharing) = &mut self.sharing {
            sharing.doing = match command {
                com::STMT_EXECUTE => sharing.doing_prepared(mode),
                _ => sharing.read.take().unwrap_or(Doing::Command(com::SLEEP)),
            };
        }
        self.send_served(cx, (command, len), entry, saved)?;
        Ok(Cached::Answered)
    }

    /// Answers the statement under way, which has failed, with what a server has answered before.
    pub(crate) fn serve_instead(&mut self, cx: &mut Context<'_>, entry: &Arc<Entry>) -> Result<(), Exit> {
        // Nothing of its error is left.
        self.walker.begin(self.current.shape);
        let asked = (self.current.command, self.current.bytes_in as usize);
        self.send_served(cx, asked, entry, Duration::ZERO)?;
        self.current.ended = Instant::now();
        Ok(())
    }

    /// Answers the statement that the session is about with this.
    fn send_served(
        &mut self,
        cx: &mut Context<'_>,
        (command, len): (u8, usize),
        entry: &Arc<Entry>,
        saved: Duration,
    ) -> Result<(), Exit> {
        self.take_served(entry);
        self.tally.served(entry.about().rows, saved);
        let packets = entry.packets();
        match packets.whole() {
            Some(whole) => self.answer(cx, command, len, whole)?,
            None => {
                let mut pieces = PIECES.take();
                packets.append_to(&mut pieces);
                self.answer(cx, command, len, &pieces)?;
                if pieces.capacity() <= PIECES_MAX {
                    pieces.clear();
                    PIECES.set(pieces);
                }
            }
        }
        Ok(())
    }

    fn take_served(&mut self, entry: &Entry) {
        let server = self.server_kind();
        let about = entry.about();
        self.walker.set_status(about.status);
        let Some(sharing) = &mut self.sharing else { return };
        let outcome = Outcome::Rows { status: about.status, rows: about.rows, warnings: 0 };
        sharing.as_if_run(outcome, server, |leftovers| {
            if let Some(found_rows) = about.found_rows {
                leftovers.calculated(found_rows, about.warnings > 0);
            }
        });
    }
}

impl Sharing {
    /// The statement at hand was answered by Weir, and the session is as after a run of it; `more` is what only the answer tells of
    /// what it left.
    pub(crate) fn as_if_run(&mut self, outcome: Outcome, server: Server, more: impl FnOnce(&mut Leftovers)) {
        (self.succeeded, self.facts, self.executing) = (true, None, None);
        let Self { pins, leftovers, doing, .. } = self;
        doing.with(|statement| {
            pins.end(statement, outcome);
            leftovers.after(statement, outcome);
        });
        more(leftovers);
        pins.hold(leftovers.holds(server));
        // The connection that it may have holds what an older statement left.
        self.foreign_parts = Foreign::ALL;
    }
}
