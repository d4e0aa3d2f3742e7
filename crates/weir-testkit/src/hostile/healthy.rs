//! Healthy clients that go on all the while: point selects on connections that last, and new logins. They run on
//! a thread of their own, so that what the hostile clients cost this process is not taken for Weir's. A few more do the
//! same directly at the server: what slows those as well is the machine, not Weir.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tokio::time::sleep;

use crate::client::{Client, ConnectOptions};

/// Connections that last and send point selects.
pub const SELECTING: usize = 4;
/// Clients that log in, ask once and leave.
const LOGGING_IN: usize = 2;
/// Rows of the table that they read.
pub const ROWS: u64 = 1000;
/// Between two statements, and between two logins, so that the healthy clients leave the machine room.
const SELECT_PAUSE: Duration = Duration::from_millis(4);
const LOGIN_PAUSE: Duration = Duration::from_millis(15);
/// A healthy client that waits longer counts as refused.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the healthy clients saw since the window was opened.
#[derive(Debug, Default, Clone)]
pub struct Window {
    pub selects: Vec<Duration>,
    /// From the connect to the answer of the first statement.
    pub logins: Vec<Duration>,
    pub errors: Vec<String>,
    /// Errors of those that had waited for [`PATIENCE`]: the machine may be the one to blame.
    pub late: Vec<String>,
    /// The same, directly at the server.
    pub direct_selects: Vec<Duration>,
    pub direct_logins: Vec<Duration>,
}

impl Window {
    /// The 99th percentile; zero where there is nothing.
    pub fn p99(times: &[Duration]) -> Duration {
        let mut sorted = times.to_vec();
        sorted.sort_unstable();
        let index = (sorted.len() * 99).div_ceil(100).saturating_sub(1);
        sorted.get(index).copied().unwrap_or_default()
    }
}

/// The running healthy clients. Dropping it ends them.
pub struct Healthy {
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    window: Mutex<Window>,
    stop: AtomicBool,
    paused: AtomicBool,
    /// Logins under way.
    inside: AtomicUsize,
}

/// Where a healthy client goes.
#[derive(Debug, Clone, Copy)]
struct Target {
    address: SocketAddr,
    direct: bool,
}

impl State {
    fn window(&self) -> MutexGuard<'_, Window> {
        self.window.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn failed(&self, what: &str, to: Target, since: Instant, error: &anyhow::Error) {
        let Target { direct, .. } = to;
        let whom = if direct { "directly at the server, " } else { "" };
        let mut window = self.window();
        let errors = if since.elapsed() < PATIENCE { &mut window.errors } else { &mut window.late };
        errors.push(format!("{whom}{what}: {error:#}"));
    }

    fn selected(&self, to: Target, took: Duration) {
        let mut window = self.window();
        if to.direct { &mut window.direct_selects } else { &mut window.selects }.push(took);
    }

    fn logged_in(&self, to: Target, took: Duration) {
        let mut window = self.window();
        if to.direct { &mut window.direct_logins } else { &mut window.logins }.push(took);
    }

    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }
}

impl Healthy {
    /// Starts the clients, as user `app` on the table `hostile.point`.
    ///
    /// # Errors
    /// When the thread or its runtime cannot be started.
    pub fn start(weir: SocketAddr, server: SocketAddr) -> Result<Self> {
        let state = Arc::new(State::default());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let shared = Arc::clone(&state);
        let weir = Target { address: weir, direct: false };
        let direct = Target { address: server, direct: true };
        let body = move || {
            let local = tokio::task::LocalSet::new();
            for i in 0..SELECTING {
                local.spawn_local(select_for_ever(Arc::clone(&shared), weir, i as u64));
            }
            for _ in 0..LOGGING_IN {
                local.spawn_local(log_in_for_ever(Arc::clone(&shared), weir));
            }
            local.spawn_local(select_for_ever(Arc::clone(&shared), direct, 0));
            local.spawn_local(log_in_for_ever(Arc::clone(&shared), direct));
            runtime.block_on(local);
        };
        let thread = thread::Builder::new().name("healthy".to_owned()).spawn(body)?;
        Ok(Self { state, thread: Some(thread) })
    }

    /// Forgets what was seen so far.
    pub fn open_window(&self) {
        *self.state.window() = Window::default();
    }

    /// What was seen since the window was opened.
    pub fn window(&self) -> Window {
        self.state.window().clone()
    }

    /// Waits until so much was seen that a percentile means something; a set that is locked out runs into the limit.
    pub async fn seen_enough(&self) {
        let deadline = Instant::now() + PATIENCE;
        let enough = || {
            let window = self.state.window();
            window.selects.len() >= 100 && window.logins.len() >= 20
        };
        while !enough() && Instant::now() < deadline {
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Stops new logins and waits until none is under way, so that connections can be counted.
    pub async fn pause_logins(&self) {
        self.state.paused.store(true, Ordering::SeqCst);
        while self.state.inside.load(Ordering::SeqCst) > 0 {
            sleep(Duration::from_millis(1)).await;
        }
    }

    pub fn resume_logins(&self) {
        self.state.paused.store(false, Ordering::SeqCst);
    }
}

impl Drop for Healthy {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

async fn select_for_ever(state: Arc<State>, to: Target, first: u64) {
    let mut id = first;
    while state.goes_on() {
        let began = Instant::now();
        match log_in(to.address).await {
            Ok(mut client) => {
                while state.goes_on() {
                    id = (id + 1) % ROWS;
                    let started = Instant::now();
                    if let Err(error) = point_select(&mut client, id).await {
                        state.failed("select", to, started, &error);
                        break;
                    }
                    state.selected(to, started.elapsed());
                    sleep(SELECT_PAUSE).await;
                }
            }
            Err(error) => {
                state.failed("login of a selecting client", to, began, &error);
                sleep(LOGIN_PAUSE).await;
            }
        }
    }
}

async fn log_in_for_ever(state: Arc<State>, to: Target) {
    while state.goes_on() {
        // The order matters: whoever pauses looks at `inside` after setting `paused`.
        state.inside.fetch_add(1, Ordering::SeqCst);
        if !state.paused.load(Ordering::SeqCst) {
            let started = Instant::now();
            let visit = async {
                let mut client = log_in(to.address).await?;
                point_select(&mut client, 1).await?;
                let took = started.elapsed();
                client.quit().await?;
                anyhow::Ok(took)
            };
            match visit.await {
                Ok(took) => state.logged_in(to, took),
                Err(error) => state.failed("login", to, started, &error),
            }
        }
        state.inside.fetch_sub(1, Ordering::SeqCst);
        sleep(LOGIN_PAUSE).await;
    }
}

async fn log_in(address: SocketAddr) -> Result<Client> {
    let mut options = ConnectOptions::tcp(address, "app", "app-pw");
    options.patience = PATIENCE;
    tokio::time::timeout(PATIENCE, options.connect()).await.context("no login within the patience")?
}

async fn point_select(client: &mut Client, id: u64) -> Result<()> {
    let value = client.scalar(&format!("SELECT v FROM hostile.point WHERE id = {id}")).await?;
    ensure!(value.as_deref() == Some(format!("value-{id}").as_str()), "row {id} is {value:?}");
    Ok(())
}

#[cfg(test)]
mod tests;
