//! While statements wait for a server connection, one task looks at their queue now and then: whether more connections should be
//! opened, and whether somebody keeps one out of courtesy only.

use crate::worker::Worker;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::time::{MissedTickBehavior, interval};
use weir_pool::LOOK_EVERY;

/// After so many looks at an empty queue, a second, nobody looks any longer.
const IDLE_LOOKS: u32 = 500;

/// A statement that has waited for so long is reason to ask for a connection that is kept without need; and then one after the other.
const ASK_EVERY: Duration = Duration::from_millis(20);

impl Worker {
    /// To be called when a statement begins to wait.
    pub(crate) fn watch_queue(self: &Arc<Self>) {
        let watched = &self.shared.queue_watched;
        if !watched.load(Ordering::SeqCst) && !watched.swap(true, Ordering::SeqCst) {
            tokio::spawn(watch(Arc::clone(self)));
        }
    }
}

async fn watch(worker: Arc<Worker>) {
    let shared = &worker.shared;
    let mut looks = interval(LOOK_EVERY);
    // What was missed while the machine stood still would be no look at all.
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut idle, mut asked) = (0, Instant::now());
    loop {
        let now = looks.tick().await.into_std();
        match shared.pool.tick(now) {
            Some(longest) => {
                idle = 0;
                if longest >= ASK_EVERY && now.duration_since(asked) >= ASK_EVERY {
                    asked = now;
                    shared.registry.ask_for_a_connection();
                }
            }
            None => idle += 1,
        }
        if idle >= IDLE_LOOKS {
            shared.queue_watched.store(false, Ordering::SeqCst);
            // Whoever began to wait before that has seen that somebody looks.
            if shared.pool.usage().waiting == 0 || shared.queue_watched.swap(true, Ordering::SeqCst) {
                return;
            }
            idle = 0;
        }
    }
}
