//! Statements longer than what a worker reads at a time. Where Weir must know all of a statement, it is held until it is there,
//! as long as there is room for it; one that finds none is passed on in pieces, and what is not seen of it is in doubt.

use crate::session::{Exit, Session};
use crate::turn::Turn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};
use weir_model::CloseReason;
use weir_net::{SCRATCH, with_scratch};
use weir_wire::HEADER;
use weir_wire::command as com;
use weir_wire::frame::Header;

/// Up to here a statement is held in any case, in bytes: half of what a worker reads at a time.
pub(crate) const AT_ONCE: usize = SCRATCH / 2;

/// Bytes of longer statements that all sessions hold now.
#[derive(Debug, Default)]
pub(crate) struct LongStatements(Arc<AtomicUsize>);

impl LongStatements {
    /// Room for so many bytes more, if no more than `most` are held then.
    fn room(&self, bytes: usize, most: usize) -> Option<Room> {
        let more = |held: usize| held.checked_add(bytes).filter(|held| *held <= most);
        self.0.fetch_update(Relaxed, Relaxed, more).ok()?;
        Some(Room { held: Arc::clone(&self.0), bytes })
    }
}

/// Room for a statement, until it is dropped.
#[derive(Debug)]
pub(crate) struct Room {
    held: Arc<AtomicUsize>,
    /// Those of the packet, with its header.
    bytes: usize,
}

impl Drop for Room {
    fn drop(&mut self) {
        self.held.fetch_sub(self.bytes, Relaxed);
    }
}

impl Session {
    /// Whether the request that begins so is held until all of it is there, though it is long.
    pub(crate) fn holds_long(&mut self, header: Header, so_far: &[u8]) -> bool {
        if self.long.is_some() {
            return true;
        }
        let command = so_far[0];
        let bytes = HEADER + header.len;
        // A session with a connection of its own needs no more than the beginning, unless rules must see all.
        let is_read = match command {
            com::QUERY => self.sharing.is_some() || self.worker.shared.has_rules(),
            com::STMT_EXECUTE | com::STMT_BULK_EXECUTE => {
                self.worker.shared.rules_act() || self.lacks_types(so_far)
            }
            _ => false,
        };
        // What was decided by its beginning stays so.
        let is_decided =
            self.is_ruled() || self.is_queued() || self.sharing.as_ref().is_some_and(|sharing| sharing.fit);
        if !is_read || is_decided || header.continues() || bytes > self.limits.statement_bytes {
            return false;
        }
        self.long = self.worker.shared.long.room(bytes, self.limits.statement_memory);
        self.long.is_some()
    }

    /// Whether more must be read of a request that is held.
    pub(crate) fn lacks_long(&self) -> bool {
        self.long.as_ref().is_some_and(|room| self.held_up.len() < room.bytes)
    }

    /// Reads on in a request that is held.
    pub(crate) fn poll_long(&mut self, cx: &mut Context<'_>) -> Result<Turn, Exit> {
        let Some(Room { bytes, .. }) = self.long else { return Ok(Turn::Moved) };
        let missing = bytes.saturating_sub(self.held_up.len());
        self.held_up.reserve_exact(missing);
        let read = with_scratch(|scratch| {
            let part = missing.min(scratch.len());
            let read = self.client.poll_read(cx, &mut scratch[..part]);
            if let Poll::Ready(Ok(n)) = read {
                self.held_up.extend_from_slice(&scratch[..n]);
                self.share.moved(n);
            }
            read
        });
        match read {
            Poll::Pending => Ok(Turn::Blocked),
            Poll::Ready(Ok(0)) => Err(Exit::Close(CloseReason::ClientGone)),
            Poll::Ready(Err(_)) => Err(Exit::Close(CloseReason::ClientIo)),
            Poll::Ready(Ok(_)) if self.lacks_long() => Ok(Turn::Moved),
            Poll::Ready(Ok(_)) => {
                let held = std::mem::take(&mut self.held_up);
                self.take_requests(cx, &held)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_until_all_of_it_is_taken() {
        let long = LongStatements::default();
        let first = long.room(60, 100);
        assert!(first.is_some() && long.room(41, 100).is_none());
        assert!(long.room(40, 100).is_some(), "what was dropped is free again");
        drop(first);
        assert!(long.room(100, 100).is_some() && long.room(1, 0).is_none());
    }
}
