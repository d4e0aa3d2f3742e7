use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

/// Whether Weir should be sent clients, for `/readyz` and for load balancers. Whoever learns something tells
/// it here, from any thread; telling what is known already costs one load.
///
/// ```text
///   starting --accepting()--> accepting --draining()--> draining (for good)
///   server:  not tried --server_reachable()--> reachable <--> unreachable
/// ```
#[derive(Debug, Default)]
pub struct Readiness {
    phase: AtomicU8,
    reachable: AtomicBool,
    /// Why the server is not reachable; empty as long as it was not tried.
    reason: Mutex<String>,
}

const ACCEPTING: u8 = 1;
const DRAINING: u8 = 2;

impl Readiness {
    /// The listeners are open.
    pub fn accepting(&self) {
        self.phase.fetch_max(ACCEPTING, Ordering::Relaxed);
    }

    /// Weir is shutting down; there is no way back.
    pub fn draining(&self) {
        self.phase.fetch_max(DRAINING, Ordering::Relaxed);
    }

    pub fn is_draining(&self) -> bool {
        self.phase.load(Ordering::Relaxed) == DRAINING
    }

    /// The last try to connect to the server succeeded.
    pub fn server_reachable(&self) {
        if !self.reachable.load(Ordering::Relaxed) {
            self.reachable.store(true, Ordering::Relaxed);
        }
    }

    /// The last try to connect to the server failed. `reason` is shown to whoever asks: no secrets.
    pub fn server_unreachable(&self, reason: &str) {
        let mut known = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        if *known != reason {
            // One line, so that it stays one line in a probe's log.
            *known = reason.replace(['\r', '\n'], " ");
        }
        self.reachable.store(false, Ordering::Relaxed);
    }

    /// Nothing if Weir is ready, else the reason in one line.
    pub fn check(&self) -> Result<(), String> {
        match self.phase.load(Ordering::Relaxed) {
            ACCEPTING if self.reachable.load(Ordering::Relaxed) => Ok(()),
            ACCEPTING => {
                let reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
                Err(match reason.as_str() {
                    "" => "the server was not tried yet".to_owned(),
                    reason => format!("the server cannot be reached: {reason}"),
                })
            }
            DRAINING => Err("draining: Weir is shutting down".to_owned()),
            _ => Err("starting: the listeners are not open yet".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
