//! Statements that only set or show what Weir tracks are answered with what the server has answered before, where a client that
//! shares connections has none at hand: what programs say each time they connect then costs no round trip.

use crate::doing::{Doing, outcome};
use crate::session::{Exit, Session};
use crate::sharing::Sharing;
use crate::tracker::Heard;
use std::collections::HashMap;
use std::sync::Arc;
use std::task::Context;
use std::time::{Duration, Instant};
use weir_pool::Place;
use weir_session::{Outcome, Replay, State, Statement};
use weir_sql::CharsetClass;
use weir_wire::attributes::statement_offset;
use weir_wire::caps::Caps;
use weir_wire::command::{self as com, shape};

/// The longest payload and answer that are kept, in bytes.
const PAYLOAD_MAX: usize = 1024;
const ANSWER_MAX: usize = 4096;
/// Payloads that one worker keeps, and states of each. Beyond, all are forgotten, or the oldest of the states.
const PAYLOADS_MAX: usize = 1024;
const STATES_MAX: usize = 8;

/// What else decides an answer, apart from the command and the state.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Asker {
    user: Arc<[u8]>,
    dialect: Caps,
    place: Place,
    /// What of the session's changes the client wants to hear.
    told: (bool, Heard),
    /// A warning was there, which the answers of some commands count.
    warned: bool,
}

/// How a server has answered once.
#[derive(Debug)]
struct Answered {
    asker: Asker,
    at: Instant,
    before: State,
    after: State,
    outcome: Outcome,
    answer: Box<[u8]>,
}

/// The answers that one worker has seen, by the command's payload.
#[derive(Debug, Default)]
pub(crate) struct Replays {
    answered: HashMap<Box<[u8]>, Vec<Answered>, foldhash::quality::RandomState>,
}

/// A command that can be answered from memory, once it was asked: the state before it.
#[derive(Debug)]
pub(crate) struct Candidate {
    payload: Box<[u8]>,
    before: State,
    warned: bool,
}

impl Replays {
    fn find(
        &self,
        payload: &[u8],
        asker: &Asker,
        state: &State,
        youngest: Option<Duration>,
    ) -> Option<&Answered> {
        self.answered.get(payload)?.iter().find(|found| {
            youngest.is_none_or(|age| found.at.elapsed() < age)
                && found.asker == *asker
                && found.before.same_as(state)
        })
    }

    fn keep(&mut self, payload: Box<[u8]>, answered: Answered) {
        if self.answered.len() >= PAYLOADS_MAX && !self.answered.contains_key(&payload) {
            self.answered.clear();
        }
        let states = self.answered.entry(payload).or_default();
        states.retain(|old| old.asker != answered.asker || !old.before.same_as(&answered.before));
        if states.len() >= STATES_MAX {
            states.remove(0);
        }
        states.push(answered);
    }
}

impl Session {
    /// Answers the command at hand from memory. False: the server must be asked.
    pub(crate) fn replay(
        &mut self,
        cx: &mut Context<'_>,
        command: u8,
        payload: &[u8],
        len: usize,
    ) -> Result<bool, Exit> {
        let worth = payload.len() <= PAYLOAD_MAX
            && self.sharing.as_ref().is_some_and(|s| !s.partial && !s.fit && !s.fresh && s.wanted.is_known());
        if !worth {
            return Ok(false);
        }
        let (replay, charset) = self.how_far(command, payload);
        let youngest = match replay {
            Replay::Never => return Ok(false),
            Replay::Always => None,
            Replay::WhilePermitted => Some(self.worker.shared.settings().revalidate),
        };
        let (Some(asker), Some(sharing)) = (self.asker(), &mut self.sharing) else { return Ok(false) };
        let learned = self.worker.learned.lock();
        let found = match sharing.is_attached() || sharing.rebase.is_some() {
            true => None,
            false => learned.replays.find(payload, &asker, &sharing.wanted, youngest),
        };
        let Some(found) = found else {
            let (payload, before) = (payload.into(), sharing.wanted.clone());
            sharing.candidate = Some(Box::new(Candidate { payload, before, warned: asker.warned }));
            return Ok(false);
        };
        let (after, outcome, answer) = (found.after.clone(), found.outcome, found.answer.clone());
        drop(learned);
        self.begin(command, shape(command));
        self.take_replay(command, after, outcome);
        if let Some(charset) = charset {
            self.charset = charset;
        }
        self.answer(cx, command, len, &answer)?;
        Ok(true)
    }

    /// How far the answer to the command at hand holds, and what it makes of the client's character set. Where it holds, what
    /// the command is doing is noted.
    fn how_far(&mut self, command: u8, payload: &[u8]) -> (Replay, Option<CharsetClass>) {
        const NEVER: (Replay, Option<CharsetClass>) = (Replay::Never, None);
        let caps = self.server.caps;
        let facts = self.sharing.as_ref().and_then(|s| s.facts.as_ref());
        let facts = facts.filter(|facts| Replay::is_likely(facts, payload)).cloned();
        let (replay, charset, doing) = match (command, facts) {
            (com::INIT_DB, _) => {
                let doing = Doing::InitDb(payload.get(1..).unwrap_or_default().to_vec());
                let of = |s: &Statement<'_>| s.effects.first().map_or(Replay::Never, Replay::of_schema);
                (doing.with(of), None, doing)
            }
            (com::QUERY, Some(facts)) => {
                let Ok(offset) = statement_offset(payload, caps) else { return NEVER };
                let sql = &payload[offset..];
                let charset = self.noted_of(&facts, sql).charset;
                let doing = Doing::of_text(sql, facts.clone());
                (doing.with(|statement| Replay::of(&facts, sql, statement)), charset, doing)
            }
            _ => return NEVER,
        };
        if replay != Replay::Never
            && let Some(sharing) = &mut self.sharing
        {
            sharing.doing = doing;
        }
        (replay, charset)
    }

    fn asker(&self) -> Option<Asker> {
        let sharing = self.sharing.as_ref()?;
        Some(Asker {
            user: Arc::clone(&sharing.key.user),
            dialect: sharing.key.dialect,
            place: self.server.place,
            told: sharing.tracker.told(),
            warned: sharing.leftovers.warns_anew(),
        })
    }

    /// The session is as if the server had answered.
    fn take_replay(&mut self, command: u8, after: State, outcome: Outcome) {
        let server = self.server_kind();
        if let Some(status) = outcome.status() {
            self.walker.set_status(status);
        }
        let Some(sharing) = &mut self.sharing else { return };
        (sharing.wanted, sharing.succeeded, sharing.facts) = (after, true, None);
        let Sharing { pins, leftovers, doing, .. } = &mut **sharing;
        doing.with(|statement| {
            pins.end(statement, outcome);
            match doing.is_statement() {
                true => leftovers.after(statement, outcome),
                false => leftovers.after_command(command, true, server),
            }
        });
        pins.hold(leftovers.holds(server));
    }

    /// The answer to the command at hand has come, and ends with these bytes as the client sees them.
    pub(crate) fn keep_answer(&mut self, bytes: &[u8]) {
        let Some(candidate) = self.sharing.as_mut().and_then(|sharing| sharing.candidate.take()) else {
            return;
        };
        let (Some(asker), Some(sharing)) = (self.asker(), &self.sharing) else { return };
        let outcome = outcome(&self.walker);
        let quiet = match outcome {
            Outcome::Ok { warnings, .. } | Outcome::Rows { warnings, .. } => {
                warnings == 0 || sharing.leftovers.warns_anew()
            }
            Outcome::Err { .. } => false,
        };
        let free = sharing.pins.is_free() && sharing.wanted.is_known();
        if !quiet || !free || bytes.len() > ANSWER_MAX || self.server.renumber.is_some() {
            return;
        }
        let Candidate { payload, before, warned } = *candidate;
        let asker = Asker { warned, ..asker };
        let (after, answer) = (sharing.wanted.clone(), bytes.into());
        let answered = Answered { asker, at: Instant::now(), before, after, outcome, answer };
        self.worker.learned.lock().replays.keep(payload, answered);
    }
}
