//! What all workers share.

use crate::confirmed::Confirmed;
use crate::link::{PinCounts, ServerPool};
use crate::registry::Registry;
use crate::settings::Settings;
use crate::spare::Spares;
use crate::users::Remembered;
use arc_swap::ArcSwap;
use aws_lc_rs::rand;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use tokio::time::Instant;
use weir_auth::{NONCE_LEN, RsaKeyPair};
use weir_pool::{ConnectError, Upstream};
use weir_session::Bases;
use weir_stats::Stats;
use weir_wire::greeting::{Nonce, nonce_from_random};

thread_local! {
    static NONCES: RefCell<Randomness> = const { RefCell::new(Randomness { bytes: [0; RANDOMNESS], left: 0 }) };
}

/// Random bytes drawn at once, for 50 nonces: drawing costs the same microsecond for 20 bytes as for many.
const RANDOMNESS: usize = 50 * NONCE_LEN;

/// Random bytes of one thread that no nonce has been made of yet. What is handed out is overwritten.
struct Randomness {
    bytes: [u8; RANDOMNESS],
    /// How many at the front are unused.
    left: usize,
}

impl Randomness {
    /// `None` where the system has no randomness to give.
    fn next(&mut self) -> Option<[u8; NONCE_LEN]> {
        if self.left < NONCE_LEN {
            rand::fill(&mut self.bytes).ok()?;
            self.left = RANDOMNESS;
        }
        let (_, last) = self.bytes[..self.left].split_last_chunk_mut::<NONCE_LEN>()?;
        self.left -= NONCE_LEN;
        Some(std::mem::replace(last, [0; NONCE_LEN]))
    }
}

/// What all workers share. Nothing here is locked on a statement's path.
#[derive(Debug)]
pub struct Shared {
    pub(crate) settings: ArcSwap<Settings>,
    pub upstream: Arc<Upstream>,
    /// Connections that clients share.
    pub pool: Arc<ServerPool>,
    /// How often sessions had to keep a connection, by the reason.
    pub pins: PinCounts,
    pub registry: Registry,
    pub stats: Arc<Stats>,
    pub rsa: Arc<RsaKeyPair>,
    pub remembered: Remembered,
    pub(crate) confirmed: Confirmed,
    /// What fresh connections are like, whichever worker has made them.
    pub(crate) bases: parking_lot::Mutex<Bases>,
    /// Connections that clients of their own have left.
    pub(crate) spares: Spares,
    /// Somebody looks after the statements that wait in the pool's queue.
    pub(crate) queue_watched: AtomicBool,
    /// Held by who connects to learn the greeting; the last failure to.
    pub(crate) probing: tokio::sync::Mutex<Option<(Instant, Arc<ConnectError>)>>,
    /// Passwords that are decrypted at once, each on a thread of its own: at most half of the cores, so that guessing
    /// cannot take them all.
    pub(crate) decrypting: Arc<tokio::sync::Semaphore>,
    /// Clients logged in.
    clients: AtomicU32,
    draining: AtomicBool,
}

impl Shared {
    pub fn new(settings: Settings, upstream: Arc<Upstream>, stats: Arc<Stats>, rsa: Arc<RsaKeyPair>) -> Self {
        let workers = stats.workers().len();
        let pool = ServerPool::new(settings.pool.limits, workers);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            settings: ArcSwap::from_pointee(settings),
            upstream,
            pool,
            pins: PinCounts::default(),
            registry: Registry::default(),
            stats,
            rsa,
            remembered: Remembered::default(),
            confirmed: Confirmed::default(),
            bases: parking_lot::Mutex::default(),
            spares: Spares::new(workers),
            queue_watched: AtomicBool::new(false),
            probing: tokio::sync::Mutex::new(None),
            decrypting: Arc::new(tokio::sync::Semaphore::new((cores / 2).max(1))),
            clients: AtomicU32::new(0),
            draining: AtomicBool::new(false),
        }
    }

    pub fn settings(&self) -> Arc<Settings> {
        self.settings.load_full()
    }

    /// Connections that begin from now on follow `settings`.
    pub fn reload(&self, settings: Settings) {
        self.pool.set_limits(settings.pool.limits, std::time::Instant::now());
        self.settings.store(Arc::new(settings));
    }

    /// Clients logged in now.
    pub fn clients(&self) -> u32 {
        self.clients.load(Ordering::Relaxed)
    }

    /// Takes a place for a client that is about to log in, until the guard is dropped; `None` where all are taken.
    pub(crate) fn count_client(self: &Arc<Self>, max: u32) -> Option<ClientCount> {
        if self.clients.fetch_add(1, Ordering::Relaxed) < max {
            return Some(ClientCount(Arc::clone(self)));
        }
        self.clients.fetch_sub(1, Ordering::Relaxed);
        None
    }

    /// From now on idle clients are sent away, and busy ones when their transaction ends.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
        self.registry.wake_all();
    }

    /// Whether Weir is on its way out.
    pub fn draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// A new nonce, or `None` where the system has no randomness to give.
    pub(crate) fn nonce(&self) -> Option<Nonce> {
        NONCES.with_borrow_mut(Randomness::next).map(nonce_from_random)
    }
}

/// One client that is logged in.
#[derive(Debug)]
pub(crate) struct ClientCount(Arc<Shared>);

impl Drop for ClientCount {
    fn drop(&mut self) {
        self.0.clients.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
