//! How long a session keeps a connection, why, and behind which statement that began.

use crate::analytics::here;
use std::time::Instant;
use weir_session::{PinReason, PinSet};
use weir_stats::digests::Slot;

/// What keeps the connection of a session now.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// Since when anything does, and behind which statement.
    first: Option<(Instant, Option<Slot>)>,
    /// The same for each reason. One session has few at once.
    reasons: Vec<(PinReason, Instant, Option<Slot>)>,
}

impl Kept {
    /// From `at` on it is kept for these reasons; what is new of them began with the statement of `slot`.
    pub fn becomes(&mut self, why: PinSet, at: Instant, slot: Option<Slot>) {
        self.reasons.retain(|(reason, since, by)| {
            let stays = why.contains(*reason);
            if !stays {
                count(*by, Some(*reason), *since, at);
            }
            stays
        });
        for reason in why.iter() {
            if !self.reasons.iter().any(|(known, ..)| *known == reason) {
                self.reasons.push((reason, at, slot));
            }
        }
        match self.first {
            None if !why.is_empty() => self.first = Some((at, slot)),
            Some((since, by)) if why.is_empty() => {
                count(by, None, since, at);
                self.first = None;
            }
            _ => {}
        }
    }
}

fn count(by: Option<Slot>, reason: Option<PinReason>, since: Instant, at: Instant) {
    let Some(slot) = by else { return };
    let ns = at.saturating_duration_since(since).as_nanos() as u64;
    here(|analytics| analytics.kept(slot, reason.map(|reason| reason as u8), ns));
}
