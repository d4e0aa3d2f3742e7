//! What goes through, looked at once a second.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use weir_admin::Traffic;
use weir_proxy::Shared;

/// How often it is looked.
const BEAT: Duration = Duration::from_secs(1);

/// Looks that are kept: what is told is over ten seconds, so that one quiet second does not show as none.
const KEPT: usize = 11;

/// What was counted at one moment.
#[derive(Debug, Clone, Copy)]
struct Look {
    at: Instant,
    statements: u64,
    errors: u64,
    bytes_in: u64,
    bytes_out: u64,
    hits: u64,
    others: u64,
}

/// The last looks, the oldest first.
#[derive(Debug, Default)]
pub struct Pulse(Mutex<VecDeque<Look>>);

impl Pulse {
    /// Looks as long as Weir runs.
    pub async fn beat(self: Arc<Self>, shared: Arc<Shared>) {
        let mut timer = tokio::time::interval(BEAT);
        timer.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        loop {
            timer.tick().await;
            self.take(look(&shared));
        }
    }

    fn take(&self, look: Look) {
        let mut looks = self.0.lock();
        if looks.len() == KEPT {
            looks.pop_front();
        }
        looks.push_back(look);
    }

    /// What has gone through from the oldest look that is kept to the last.
    pub fn traffic(&self) -> Traffic {
        let looks = self.0.lock();
        match (looks.front(), looks.back()) {
            (Some(first), Some(last)) if last.at > first.at => between(first, last),
            _ => Traffic {
                seconds: 0.0,
                statements_per_second: 0.0,
                errors_per_second: 0.0,
                bytes_in_per_second: 0.0,
                bytes_out_per_second: 0.0,
                hit_ratio: None,
            },
        }
    }
}

fn between(first: &Look, last: &Look) -> Traffic {
    let seconds = last.at.duration_since(first.at).as_secs_f64();
    let grown = |of: fn(&Look) -> u64| of(last).saturating_sub(of(first)) as f64;
    let (hits, others) = (grown(|look| look.hits), grown(|look| look.others));
    Traffic {
        seconds,
        statements_per_second: grown(|look| look.statements) / seconds,
        errors_per_second: grown(|look| look.errors) / seconds,
        bytes_in_per_second: grown(|look| look.bytes_in) / seconds,
        bytes_out_per_second: grown(|look| look.bytes_out) / seconds,
        hit_ratio: (hits + others > 0.0).then(|| hits / (hits + others)),
    }
}

fn look(shared: &Shared) -> Look {
    let totals = shared.stats.totals();
    let commands = totals.commands();
    let of = |name: &str| commands.get(name).copied().unwrap_or(0);
    let asked = shared.cache().stats().asked;
    Look {
        at: Instant::now(),
        statements: of("query") + of("stmt_execute") + of("stmt_bulk_execute"),
        errors: totals.errors.values().sum(),
        bytes_in: totals.bytes_from_clients,
        bytes_out: totals.bytes_to_clients,
        hits: asked.hits,
        others: asked.misses + asked.waits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_over_the_looks_that_are_kept() {
        let (pulse, began) = (Pulse::default(), Instant::now());
        assert_eq!((pulse.traffic().seconds, pulse.traffic().hit_ratio), (0.0, None));
        for n in 0..30_u64 {
            let at = began + Duration::from_secs(n);
            pulse.take(Look {
                at,
                statements: n * n,
                errors: n,
                bytes_in: 10 * n,
                bytes_out: 0,
                hits: 3 * n,
                others: n,
            });
        }
        let traffic = pulse.traffic();
        assert_eq!(
            (traffic.seconds, traffic.errors_per_second, traffic.bytes_in_per_second),
            (10.0, 1.0, 10.0)
        );
        assert_eq!(traffic.statements_per_second, (29.0 * 29.0 - 19.0 * 19.0) / 10.0);
        assert_eq!(traffic.hit_ratio, Some(0.75));
    }
}
