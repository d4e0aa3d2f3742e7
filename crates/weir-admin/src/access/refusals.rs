//! Requests that were not let in: all are counted, and some of a flood stand in the log.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::error::Code;

/// What a request is refused for before anything is asked of Weir. Each has lines of its own, so that strangers who flood the log with
/// theirs do not hide what the holder of a token has tried.
const REASONS: [Code; 4] = [Code::TokenNeeded, Code::UnknownToken, Code::TooManyFailures, Code::RoleTooLow];

/// What was refused, by reason.
#[derive(Debug, Default)]
pub(super) struct Refusals([Refused; REASONS.len()]);

#[derive(Debug, Default)]
struct Refused {
    count: AtomicU64,
    lines: Mutex<Lines>,
}

/// The lines of one window of time.
#[derive(Debug, Default)]
struct Lines {
    since: Option<Instant>,
    said: u32,
    /// Since the last line.
    unsaid: u64,
}

impl Refusals {
    /// 10 s, and so many lines in them: what a person reads, and for each reason some 40 MB a day at the worst.
    const WINDOW: Duration = Duration::from_secs(10);
    const MOST: u32 = 10;

    /// Counts one. If it is to stand in the log, how many did not since the last that did.
    pub fn one_more(&self, code: Code, now: Instant) -> Option<u64> {
        let refused = self.0.get(REASONS.iter().position(|reason| *reason == code)?)?;
        refused.count.fetch_add(1, Relaxed);
        // What is wrong stands in the lines about unknown tokens already.
        (code != Code::TooManyFailures).then(|| refused.lines.lock().one_more(now)).flatten()
    }

    /// By the word of the reason.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        REASONS.iter().zip(&self.0).map(|(code, refused)| (code.as_str(), refused.count.load(Relaxed)))
    }
}

impl Lines {
    fn one_more(&mut self, now: Instant) -> Option<u64> {
        if self.since.is_none_or(|since| now.saturating_duration_since(since) >= Refusals::WINDOW) {
            (self.since, self.said) = (Some(now), 0);
        }
        if self.said >= Refusals::MOST {
            self.unsaid = self.unsaid.saturating_add(1);
            return None;
        }
        self.said += 1;
        Some(std::mem::take(&mut self.unsaid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_flood_some_stand_in_the_log_and_all_are_counted() {
        let (refusals, start) = (Refusals::default(), Instant::now());
        let flood = |code, at| (0..1_000).filter_map(|_| refusals.one_more(code, at)).collect::<Vec<_>>();
        assert_eq!(flood(Code::TokenNeeded, start), [0; Refusals::MOST as usize]);
        assert_eq!(flood(Code::TokenNeeded, start + Refusals::WINDOW - Duration::from_millis(1)), [0; 0]);
        // One reason does not hide another.
        assert_eq!(refusals.one_more(Code::RoleTooLow, start), Some(0));
        let next = flood(Code::TokenNeeded, start + Refusals::WINDOW);
        assert_eq!((next.len(), next.iter().sum::<u64>()), (Refusals::MOST as usize, 1_990));
        assert_eq!(flood(Code::TooManyFailures, start), [0; 0]);
        let counts: Vec<_> = refusals.counts().collect();
        assert_eq!(counts[0], ("token_needed", 3_000));
        assert_eq!(counts[2..], [("too_many_failures", 1_000), ("role_too_low", 1)]);
    }
}
