//! Opening connections ahead of clients, so that `min_idle` of them are idle.

use super::State;
use std::hash::Hash;
use std::time::{Duration, Instant};

/// How many idle connections are looked at in one go, at most: each look is a system call under the pool's lock.
const LOOKS_MAX: u32 = 64;

/// How long a connection that was seen to be there is not looked at again; longer where there are more than [`LOOKS_MAX`].
const LOOK_AGAIN: Duration = Duration::from_millis(400);

impl<K: Eq + Hash + Clone, C, W> State<K, C, W> {
    /// For which of `keys` (without doubles, the most important first) a connection should be opened ahead: the first of those with the fewest
    /// idle ones. `None` where enough are idle, where somebody waits (who comes first), or where one is being opened already.
    pub fn lacks(&self, keys: &[&K], now: Instant) -> Option<usize> {
        if self.waiting.len() > 0 || self.opening > 0 || self.open >= self.limits.max {
            return None;
        }
        if self.idle_of_all(keys, now) >= self.limits.min_idle {
            return None;
        }
        keys.iter().enumerate().min_by_key(|(_, key)| self.idle_of(key, now)).map(|(at, _)| at)
    }

    /// The same, with the right to open it: [`Self::opened`] comes next, and [`Self::closed`] if it cannot be made.
    pub fn open_ahead(&mut self, keys: &[&K], now: Instant) -> Option<usize> {
        let at = self.lacks(keys, now)?;
        self.open += 1;
        self.opening += 1;
        Some(at)
    }

    pub(super) fn idle_of_all(&self, keys: &[&K], now: Instant) -> u32 {
        let idle: usize = keys.iter().map(|key| self.idle_of(key, now)).sum();
        u32::try_from(idle).unwrap_or(u32::MAX)
    }

    fn idle_of(&self, key: &K, now: Instant) -> usize {
        let shelves = self.idle.get(key).into_iter().flatten().flatten();
        shelves.filter(|idle| idle.until > now).count()
    }

    /// Idle connections that have ended, as `is_lost` says: they no longer count as open. Only some are looked at in one go.
    pub fn lost(&mut self, now: Instant, is_lost: impl Fn(&C) -> bool) -> Vec<C> {
        let again = LOOK_AGAIN * (1 + self.idle_count / LOOKS_MAX);
        let (mut out, mut looks) = (Vec::new(), 0);
        for shelf in self.idle.values_mut().flatten() {
            let mut at = 0;
            while let Some(idle) = shelf.get_mut(at) {
                let due = looks < LOOKS_MAX && now.duration_since(idle.looked) >= again;
                looks += u32::from(due);
                if !due || !is_lost(&idle.connection) {
                    idle.looked = if due { now } else { idle.looked };
                    at += 1;
                } else if let Some(idle) = shelf.remove(at) {
                    self.idle_count -= 1;
                    self.open = self.open.saturating_sub(1);
                    out.push(idle.connection);
                }
            }
        }
        self.idle.retain(|_, shelves| shelves.iter().any(|shelf| !shelf.is_empty()));
        out
    }
}
