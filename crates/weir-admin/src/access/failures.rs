//! How many unknown tokens were sent lately.

use std::time::{Duration, Instant};

/// Counts in windows of fixed length.
#[derive(Debug, Default)]
pub(super) struct Failures {
    since: Option<Instant>,
    count: u32,
}

impl Failures {
    /// 10 s: what a person waits who has mistyped, and a program that guesses does not get anywhere with.
    pub const WINDOW: Duration = Duration::from_secs(10);

    /// In each window this many are answered with what is wrong and stand in the log.
    pub const MOST: u32 = 10;

    /// Whether one more is within the bound. Those who send a token that is accepted are never held up: a program on the same
    /// machine must not be able to lock others out.
    pub fn one_more(&mut self, now: Instant) -> bool {
        if self.since.is_none_or(|since| now.saturating_duration_since(since) >= Self::WINDOW) {
            *self = Self { since: Some(now), count: 0 };
        }
        self.count = self.count.saturating_add(1);
        self.count <= Self::MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_window_begins_anew() {
        let (mut failures, start) = (Failures::default(), Instant::now());
        for _ in 0..3 {
            let passed = (0..50).filter(|_| failures.one_more(start)).count();
            assert_eq!(passed, Failures::MOST as usize);
            assert!(!failures.one_more(start + Failures::WINDOW - Duration::from_millis(1)));
            failures = Failures { since: failures.since.map(|since| since - Failures::WINDOW), ..failures };
        }
    }
}
