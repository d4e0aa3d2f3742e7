//! A thread that looks at Weir all the while: its memory, its health, what it counts as pending.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Result;

use super::account;

/// Between two looks at the memory; every tenth also asks for `/healthz` and `/metrics`.
const STEP: Duration = Duration::from_millis(20);

/// What was seen since the watch began.
#[derive(Debug, Default, Clone)]
pub struct Seen {
    pub peak_resident: u64,
    pub peak_pending: u64,
    /// Times that `/healthz` or `/metrics` did not answer 200 within 20 s.
    pub unhealthy: Vec<String>,
}

/// The watching thread. Dropping it ends it.
pub struct Watch {
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    seen: Mutex<Seen>,
    stop: AtomicBool,
}

impl State {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Watch {
    /// Begins to watch.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn begin(pid: u32, admin: SocketAddr) -> Result<Self> {
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        let thread = thread::Builder::new().name("watch".to_owned()).spawn(move || {
            let mut turn = 0u32;
            while !shared.stop.load(Ordering::Relaxed) {
                look(&shared, pid, admin, turn.is_multiple_of(10));
                turn = turn.wrapping_add(1);
                thread::sleep(STEP);
            }
        })?;
        Ok(Self { state, thread: Some(thread) })
    }

    /// Ends the watch and says what was seen.
    pub fn end(mut self) -> Seen {
        self.join();
        self.state.seen().clone()
    }

    fn join(&mut self) {
        self.state.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.join();
    }
}

fn look(state: &State, pid: u32, admin: SocketAddr, thoroughly: bool) {
    let resident = account::resident(pid).unwrap_or(0);
    let mut pending = Ok(0);
    let mut healthy = Ok(String::new());
    if thoroughly {
        healthy = account::get(admin, "/healthz");
        pending = account::metrics(admin).and_then(|text| account::gauge(&text, "weir_logins_pending"));
    }
    let mut seen = state.seen();
    seen.peak_resident = seen.peak_resident.max(resident);
    match &pending {
        Ok(pending) => seen.peak_pending = seen.peak_pending.max(*pending),
        Err(error) => seen.unhealthy.push(format!("/metrics: {error:#}")),
    }
    if let Err(error) = healthy {
        seen.unhealthy.push(format!("/healthz: {error:#}"));
    }
}
