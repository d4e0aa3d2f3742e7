use std::time::Duration;

/// A difference between the two clocks beyond which the wall clock was set. A clock that is only slewed drifts by less in the
/// second or so between two looks.
const STEP_MS: u64 = 2_000;

/// How long the wall clock must not have stepped before anything is deleted by it. A clock that was set wrong is
/// mostly put right within minutes, and a start of the machine may begin with one.
const STEADY: Duration = Duration::from_secs(600);

/// How far ahead of the clock a point may lie and be of our time: half a time zone more than people mistake.
const AHEAD: Duration = Duration::from_secs(86_400);

/// A moment by both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Milliseconds since 1970-01-01 UTC, by a clock that may be set.
    pub wall_ms: u64,
    /// Milliseconds since whenever, by a clock that only goes on.
    pub steady_ms: u64,
}

/// Which point what was counted belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tick {
    /// The second in which the middle of the time since the last tick lies, in seconds since 1970.
    pub second: u64,
    /// The time since the last tick.
    pub covered_ms: u64,
    /// The minute that has ended with this tick, by its first second.
    pub ended_minute: Option<u64>,
    /// The wall clock was set meanwhile.
    pub step: Option<Step>,
}

/// By how much the wall clock was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Forward(Duration),
    Back(Duration),
}

/// How long points are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Those of seconds.
    pub seconds: Duration,
    /// Those of minutes, and of digests.
    pub minutes: Duration,
}

/// Points before this go. All are seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    pub seconds_from: u64,
    pub minutes_from: u64,
    /// What lies behind this was written by a clock that was wrong, or this one is. It stays, and is the first to make room.
    pub until: u64,
}

/// Follows the clocks.
#[derive(Debug)]
pub struct Clock {
    last: Moment,
    /// When the wall clock was set, or the process has begun, by the steady clock.
    stepped_ms: u64,
    /// The minute that is under way, by its first second.
    minute: u64,
}

impl Clock {
    pub fn new(now: Moment) -> Self {
        Self { last: now, stepped_ms: now.steady_ms, minute: minute_of(now.wall_ms / 1000) }
    }

    /// Some time has passed.
    pub fn tick(&mut self, now: Moment) -> Tick {
        let covered_ms = now.steady_ms.saturating_sub(self.last.steady_ms);
        let expected = self.last.wall_ms.saturating_add(covered_ms);
        let step = match now.wall_ms.abs_diff(expected) {
            off if off <= STEP_MS => None,
            off if now.wall_ms > expected => Some(Step::Forward(Duration::from_millis(off))),
            off => Some(Step::Back(Duration::from_millis(off))),
        };
        if step.is_some() {
            self.stepped_ms = now.steady_ms;
        }
        self.last = now;
        let minute = minute_of(now.wall_ms / 1000);
        let ended = std::mem::replace(&mut self.minute, minute);
        Tick {
            second: now.wall_ms.saturating_sub(covered_ms / 2) / 1000,
            covered_ms,
            ended_minute: (ended != minute).then_some(ended),
            step,
        }
    }

    /// The minute that is under way, by its first second.
    pub fn minute(&self) -> u64 {
        self.minute
    }

    /// What is kept; `None` while the clock is not to be trusted with that.
    pub fn keep(&self, retention: Retention) -> Option<Keep> {
        if self.last.steady_ms.saturating_sub(self.stepped_ms) < STEADY.as_millis() as u64 {
            return None;
        }
        let now = self.last.wall_ms / 1000;
        Some(Keep {
            seconds_from: now.saturating_sub(retention.seconds.as_secs()),
            minutes_from: minute_of(now.saturating_sub(retention.minutes.as_secs())),
            until: now.saturating_add(AHEAD.as_secs()),
        })
    }
}

/// The first second of a second's minute.
pub(super) fn minute_of(second: u64) -> u64 {
    second - second % 60
}
