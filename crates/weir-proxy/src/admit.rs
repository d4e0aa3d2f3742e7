//! A rule's `limit`: a statement waits here for its turn, and for its place among those that run.
//!
//! The rate is asked before the cache, for it counts hits too; a place is asked for behind it, right before a connection is. Who
//! waits is woken by whoever makes room (`weir_policy::Limiter` has the order), by a timer, or by a KILL. A place is
//! given back by its guard, however the statement ends.

use crate::codes::{LIMIT_REACHED, QUERY_INTERRUPTED};
use crate::prepared::Handled;
use crate::rules::{RuleDeed, Rules};
use crate::session::{Exit, Session};
use parking_lot::Mutex;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};
use tokio::time::{Sleep, sleep_until};
use weir_cache::Refusal;
use weir_model::CloseReason;
use weir_model::rule::LimitRule;
use weir_policy::{Limiter, RuleIndex, Ticket, Turn, Waited};
use weir_wire::packet::ErrPacket;

/// The limit of a rule, shared by all workers.
#[derive(Debug)]
pub(crate) struct SharedLimit(Mutex<Limiter<Waker>>);

/// The right to run; dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Held(Arc<SharedLimit>);

/// A command on its way through the limits of the rules that match it.
#[derive(Debug)]
pub(crate) struct Admission {
    claims: Vec<Claim>,
    /// How many of the claims have had their turn of the rate, and their place.
    passed: [usize; 2],
    places: Vec<Held>,
    line: Option<Line>,
    /// When it began to wait.
    begun: Option<Instant>,
    refused: Option<ErrPacket>,
    /// It asks for places.
    placing: bool,
}

#[derive(Debug)]
struct Claim {
    rule: RuleIndex,
    limit: Arc<SharedLimit>,
}

/// A place in a queue; dropping it leaves the queue.
#[derive(Debug)]
struct Line {
    limit: Arc<SharedLimit>,
    turn: Turn,
    ticket: Ticket,
    since: Instant,
    until: Instant,
    timer: Pin<Box<Sleep>>,
}

/// What became of a command.
#[derive(Debug)]
pub(crate) enum Admitted {
    Yes,
    Waits,
    /// The client is told.
    No(ErrPacket),
}

impl SharedLimit {
    pub fn new(limit: &LimitRule, now: Instant) -> Self {
        Self(Mutex::new(Limiter::new(limit, now)))
    }

    pub fn configure(&self, limit: &LimitRule, now: Instant) {
        self.change(|limiter| limiter.configure(limit, now));
    }

    /// Changes something, and wakes those who are first now.
    fn change<R>(&self, change: impl FnOnce(&mut Limiter<Waker>) -> R) -> R {
        let mut limiter = self.0.lock();
        let result = change(&mut limiter);
        let first = [Turn::Rate, Turn::Place].map(|turn| limiter.first(turn).cloned());
        drop(limiter);
        first.into_iter().flatten().for_each(Waker::wake);
        result
    }

    fn take_or_wait(&self, turn: Turn, now: Instant, waker: Option<&Waker>) -> Result<(), Option<Ticket>> {
        let mut limiter = self.0.lock();
        if limiter.take(turn, now) {
            return Ok(());
        }
        Err(waker.map(|waker| limiter.wait(turn, waker.clone())))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.change(Limiter::release);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let (turn, ticket) = (self.turn, self.ticket);
        self.limit.change(|limiter| limiter.leave(turn, ticket));
    }
}

impl Admission {
    pub fn new() -> Self {
        let (claims, places) = (Vec::new(), Vec::new());
        Self { claims, passed: [0, 0], places, line: None, begun: None, refused: None, placing: false }
    }

    /// Adds the limit of a rule. They are gone through in the order of the rules, so that no two statements wait for each
    /// other.
    pub fn add(&mut self, rule: RuleIndex, limit: &Arc<SharedLimit>) {
        if let Err(at) = self.claims.binary_search_by_key(&rule, |claim| claim.rule) {
            self.claims.insert(at, Claim { rule, limit: Arc::clone(limit) });
        }
    }

    pub fn waits(&self) -> bool {
        self.line.is_some()
    }

    pub fn into_places(self) -> Vec<Held> {
        self.places
    }

    /// Goes on as far as it comes.
    fn go_on(&mut self, turn: Turn, rules: &Rules, worker: usize, waker: &Waker) -> Admitted {
        if let Some(err) = self.refused.take() {
            return Admitted::No(err);
        }
        self.placing |= turn == Turn::Place;
        while let Some(claim) = self.claims.get(self.passed[turn as usize]) {
            let now = Instant::now();
            let queue = terms(rules, claim.rule).map_or(Duration::ZERO, |terms| terms.queue);
            let until = self.begun.unwrap_or(now) + queue;
            let waits = until > now;
            match claim.limit.take_or_wait(turn, now, waits.then_some(waker)) {
                Ok(()) => self.has(turn),
                Err(None) => {
                    rules.did(claim.rule, RuleDeed::Rejected, worker);
                    return Admitted::No(refusal(rules, claim.rule, turn));
                }
                Err(Some(ticket)) => {
                    if self.begun.is_none() {
                        rules.did(claim.rule, RuleDeed::Waited, worker);
                    }
                    self.begun.get_or_insert(now);
                    let timer = Box::pin(sleep_until(until.into()));
                    let limit = Arc::clone(&claim.limit);
                    self.line = Some(Line { limit, turn, ticket, since: now, until, timer });
                    return Admitted::Waits;
                }
            }
        }
        Admitted::Yes
    }

    /// The claim that was next has what it asked for.
    fn has(&mut self, turn: Turn) {
        let passed = &mut self.passed[turn as usize];
        if let (Turn::Place, Some(claim)) = (turn, self.claims.get(*passed)) {
            self.places.push(Held(Arc::clone(&claim.limit)));
        }
        *passed += 1;
    }

    /// True when it waits no longer.
    fn poll(&mut self, cx: &mut Context<'_>, rules: &Rules, worker: usize) -> bool {
        loop {
            let Some(line) = &mut self.line else { return true };
            let (turn, ticket, now) = (line.turn, line.ticket, Instant::now());
            let mut limiter = line.limit.0.lock();
            let waited = limiter.poll(turn, ticket, now);
            drop(limiter);
            let look_again = match waited {
                Waited::Granted => {
                    self.has(turn);
                    // Wakes who is first now.
                    self.line = None;
                    return true;
                }
                Waited::Until(moment) => moment.min(line.until),
                Waited::OnOthers => line.until,
            };
            if now >= line.until {
                self.line = None;
                if let Some(claim) = self.claims.get(self.passed[turn as usize]) {
                    rules.did(claim.rule, RuleDeed::Rejected, worker);
                    self.refused = Some(refusal(rules, claim.rule, turn));
                }
                return true;
            }
            line.timer.as_mut().reset(look_again.into());
            if line.timer.as_mut().poll(cx).is_pending() {
                return false;
            }
        }
    }
}

fn terms(rules: &Rules, rule: RuleIndex) -> Option<&LimitRule> {
    rules.rule(rule)?.limit.as_ref()
}

fn refusal(rules: &Rules, rule: RuleIndex, turn: Turn) -> ErrPacket {
    let Some((rule, limit)) = rules.rule(rule).and_then(|rule| Some((rule, rule.limit.as_ref()?))) else {
        return ErrPacket::new(LIMIT_REACHED, b"42000", "weir: a rule's limit is reached");
    };
    let waited = match limit.queue {
        Duration::ZERO => "it has no queue".to_owned(),
        queue => format!("none became free within its queue of {}", weir_config::duration_text(queue)),
    };
    let lets = match (turn, limit.rate, limit.concurrency) {
        (Turn::Rate, Some(rate), _) => format!("lets {rate} statements through"),
        (_, _, Some(most)) => format!("lets {most} statements run at once"),
        _ => "has another limit now".to_owned(),
    };
    let text = format!(
        "The limit of rule `{}` is reached: it {lets}, and {waited} (weir; the statement did not run, try it again later)",
        rule.name
    );
    ErrPacket::new(LIMIT_REACHED, b"42000", text)
}

impl Session {
    /// Whether the command at hand waits for a limit.
    pub(crate) fn is_in_line(&self) -> bool {
        self.admission().is_some_and(Admission::waits)
    }

    fn admission(&self) -> Option<&Admission> {
        self.ruled.at_hand.as_ref()?.admission.as_ref()
    }

    /// Whether the command at hand has come so far that it asks for a place.
    pub(crate) fn is_placing(&self) -> bool {
        self.admission().is_some_and(|admission| admission.placing)
    }

    /// Takes the command at hand through the limits that it is under.
    pub(crate) fn admit(&mut self, cx: &Context<'_>, turn: Turn) -> Admitted {
        let Some(at_hand) = &mut self.ruled.at_hand else { return Admitted::Yes };
        let Some(admission) = &mut at_hand.admission else { return Admitted::Yes };
        admission.go_on(turn, &at_hand.rules, self.worker.index(), cx.waker())
    }

    /// Takes the places that the command at hand needs under the limits of rules.
    pub(crate) fn take_place(
        &mut self,
        cx: &mut Context<'_>,
        command: u8,
        len: usize,
    ) -> Result<Handled, Exit> {
        match self.admit(cx, Turn::Place) {
            Admitted::Yes => Ok(Handled::Pass),
            Admitted::Waits => Ok(Handled::Wait),
            Admitted::No(err) => {
                if let Some(filling) = self.sharing.as_mut().and_then(|s| s.cache.filling.take()) {
                    filling.give_up(Refusal::Error);
                }
                self.refuse_command(cx, command, len, &err)?;
                Ok(Handled::Done)
            }
        }
    }

    /// True when the command at hand waits for no limit any longer: it is taken again.
    pub(crate) fn poll_line(&mut self, cx: &mut Context<'_>) -> Result<bool, Exit> {
        let interrupted = self.interrupted();
        let Some(at_hand) = &mut self.ruled.at_hand else { return Ok(true) };
        let Some(admission) = at_hand.admission.as_mut().filter(|admission| admission.waits()) else {
            return Ok(true);
        };
        let since = admission.line.as_ref().map(|line| line.since);
        if interrupted {
            admission.line = None;
            self.tally.waited_for_rule(since.map_or(Duration::ZERO, |since| since.elapsed()));
            let text = "Query execution was interrupted";
            admission.refused = Some(ErrPacket::new(QUERY_INTERRUPTED, b"70100", text));
            return Ok(true);
        }
        if admission.poll(cx, &at_hand.rules, self.worker.index()) {
            self.tally.waited_for_rule(since.map_or(Duration::ZERO, |since| since.elapsed()));
            return Ok(true);
        }
        match self.watch_client(cx) {
            Ok(_) => Ok(false),
            Err(_) => Err(Exit::Close(CloseReason::ClientGone)),
        }
    }
}
