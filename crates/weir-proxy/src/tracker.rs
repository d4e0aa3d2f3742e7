//! What a server reports of a shared connection's session (CLIENT_SESSION_TRACK): Weir asks for it always, whatever the client
//! has asked for, and takes out of the answers what the client did not.

use weir_session::{Assigned, Effect, Statement, Variable};
use weir_wire::caps::{self, Caps};
use weir_wire::packet::status;
use weir_wire::track::{self, Change, STATE_CHANGE, Withheld};
use weir_wire::{HEADER, Malformed};

/// Bytes of reports that are kept for one command. What a procedure of many statements says beyond them is lost, and its
/// session keeps the connection.
const REPORTS_MAX: usize = 64 * 1024;

/// The longest packet with changes that is taken: it must be there as a whole, in front of what is read next.
pub(crate) const PACKET_MAX: usize = 32 * 1024;

/// Whether a client wants to hear that something of its session has changed (`session_track_state_change`). On the connection that is
/// always on, but for what the client has set itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Heard {
    /// It has never had it on: it is told nothing, not even that it was switched off.
    #[default]
    Never,
    On,
    /// It was on. The servers tell of that once more: MySQL at once, MariaDB with the next answer that tells any change.
    OnceMore,
}

/// The reports of the command under way.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    /// The client has asked for session tracking.
    told: bool,
    /// Whether it wants to hear that something has changed.
    heard: Heard,
    /// The same before the command under way.
    was_heard: Heard,
    /// The command under way switches on the report of transactions: the server tells of a change even where it has none to name.
    tells_at_least: bool,
    /// The packets that reported something.
    reports: Vec<Vec<u8>>,
    /// Bytes of them.
    len: usize,
    /// There were too many reports.
    unsure: bool,
    /// Changes to take out of the bytes at hand.
    edits: Vec<Edit>,
}

/// A packet in the bytes at hand that becomes shorter.
#[derive(Debug)]
struct Edit {
    at: usize,
    end: usize,
    withheld: Withheld,
}

impl Tracker {
    pub fn new(client: Caps) -> Self {
        Self { told: client & caps::SESSION_TRACK != 0, ..Self::default() }
    }

    /// A command begins. If it sets what is reported, its own answer is in the new way.
    pub fn begin(&mut self, statement: &Statement<'_>) {
        let set = |v: Variable| {
            statement.effects.iter().rev().find_map(|effect| match effect {
                Effect::Variable { name, value } if Variable::find(name) == Some(v) => Some(*value),
                _ => None,
            })
        };
        self.was_heard = self.heard;
        let on = |value: &[u8]| !value.eq_ignore_ascii_case(b"OFF") && value != b"0";
        match (set(Variable::SESSION_TRACK_STATE_CHANGE), self.heard) {
            (None, _) => {}
            (Some(Assigned::Literal(value)), Heard::On) if !on(value) => self.heard = Heard::OnceMore,
            (Some(Assigned::Literal(value)), _) if !on(value) => {}
            (Some(_), _) => self.heard = Heard::On,
        }
        self.tells_at_least = match set(Variable::SESSION_TRACK_TRANSACTION_INFO) {
            Some(Assigned::Literal(value)) => on(value),
            Some(Assigned::Computed) | None => false,
        };
    }

    /// Whether the client hears of changes, and of all that it has asked for itself.
    pub fn told(&self) -> (bool, Heard) {
        (self.told, self.heard)
    }

    /// The session is new.
    pub fn reset(&mut self) {
        self.heard = Heard::Never;
    }

    /// The packet as the client is to see it, if that is not as it is.
    fn withhold(&self, payload: &[u8]) -> Result<Option<Withheld>, Malformed> {
        let keep = |kind| self.heard != Heard::Never || kind != STATE_CHANGE;
        let mut withheld = track::withhold(payload, self.told.then_some(&keep))?;
        if let Some(Withheld { tail, changed: changed @ false, .. }) = &mut withheld
            && self.told
            && self.tells_at_least
        {
            if tail.is_empty() {
                tail.push(0);
            }
            // Behind the text, no changes.
            tail.push(0);
            *changed = true;
        }
        Ok(withheld)
    }

    /// Takes in a packet with SERVER_SESSION_STATE_CHANGED, which stands at this place in the bytes at hand. `transactions`: the
    /// client has switched on the report of transactions, which shows in EOF packets.
    ///
    /// # Errors
    /// It is none.
    pub fn take(&mut self, payload: &[u8], at: usize, transactions: bool) -> Result<(), Malformed> {
        let is_eof = payload.len() == 5;
        if is_eof && transactions {
            return Ok(());
        }
        if let Some(withheld) = self.withhold(payload)? {
            self.edits.push(Edit { at, end: at + HEADER + payload.len(), withheld });
        }
        if self.heard == Heard::OnceMore && tells_of_state(payload) {
            self.heard = Heard::Never;
        }
        if is_eof {
            // It proves nothing: MariaDB leaves the flag there after a COM_INIT_DB.
            return Ok(());
        }
        if self.len + payload.len() > REPORTS_MAX {
            self.unsure = true;
        } else {
            self.len += payload.len();
            self.reports.push(payload.to_vec());
        }
        Ok(())
    }

    /// Takes out of the bytes at hand what the client is not told. Returns how many bytes are left.
    pub fn apply(&mut self, bytes: &mut [u8]) -> usize {
        let mut len = bytes.len();
        // From the back, so that the places of the others hold.
        for Edit { at, end, withheld } in self.edits.drain(..).rev() {
            let Withheld { flags_at, head, tail, changed } = withheld;
            let body = at + HEADER;
            let from = body + head;
            let behind = from + tail.len();
            // No longer than what it takes the place of.
            if end > len || behind > end {
                continue;
            }
            let payload = (head + tail.len()) as u32;
            bytes[at..at + 3].copy_from_slice(&payload.to_le_bytes()[..3]);
            if !changed {
                bytes[body + flags_at + 1] &= !(status::SESSION_STATE_CHANGED >> 8) as u8;
            }
            bytes[from..behind].copy_from_slice(&tail);
            bytes.copy_within(end..len, behind);
            len -= end - behind;
        }
        len
    }

    /// The payload of an OK packet as the client is to see it.
    pub fn shown(&self, payload: Vec<u8>) -> Vec<u8> {
        match self.withhold(&payload) {
            Ok(Some(withheld)) => withheld.payload(&payload),
            // What is malformed is the client's to refuse.
            Ok(None) | Err(_) => payload,
        }
    }

    /// Ends the command: its reports.
    pub fn finish(&mut self, succeeded: bool) -> Reports {
        if !succeeded {
            self.heard = self.was_heard;
        }
        self.len = 0;
        Reports { packets: std::mem::take(&mut self.reports), unsure: std::mem::take(&mut self.unsure) }
    }
}

/// What was reported while a command ran.
#[derive(Debug)]
pub(crate) struct Reports {
    packets: Vec<Vec<u8>>,
    /// There was more, and it is not known what.
    pub unsure: bool,
}

impl Reports {
    pub fn changes(&self) -> Vec<Change<'_>> {
        // A packet that breaks off would not have been taken.
        self.packets.iter().filter_map(|p| track::changes(p).ok()).flatten().filter_map(Result::ok).collect()
    }
}

fn tells_of_state(payload: &[u8]) -> bool {
    let is_state = |change| matches!(change, Ok(Change::StateChange(_)));
    track::changes(payload).is_ok_and(|mut changes| changes.any(is_state))
}

/// Whether something of the session itself has changed, and not its transaction.
pub(crate) fn is_of_the_session(change: &Change<'_>) -> bool {
    !matches!(
        change,
        Change::Gtids(_)
            | Change::TransactionCharacteristics(_)
            | Change::TransactionState(_)
            | Change::StateChange(false)
    )
}

#[cfg(test)]
mod tests;
