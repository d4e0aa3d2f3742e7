//! What is known of one server: how to reach it, how it greets, how many connections it may still get.

use arc_swap::{ArcSwap, ArcSwapOption};
use parking_lot::Mutex;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use weir_config::{Address, Compression, TlsMode};
use weir_wire::greeting::Greeting;

/// How to reach a server; exchanged as a whole at a reload.
#[derive(Debug, Clone)]
pub struct Target {
    pub name: String,
    pub address: Address,
    pub max_connections: u32,
    pub tls_mode: TlsMode,
    /// Present unless TLS is disabled.
    pub tls: Option<Arc<rustls::ClientConfig>>,
    pub compression: Compression,
    pub connect_timeout: Duration,
    pub keepalive: Duration,
}

/// Why a server cannot be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    pub why: String,
    /// The server greeted, and the way to the login broke off after that (TLS, as a rule). Servers count such
    /// connections against Weir's address (`max_connect_errors`).
    pub after_greeting: bool,
}

/// Which server a connection is with: ids of connections mean something only there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// How often the address had been changed by a reload when the connection was made.
    generation: u64,
    /// The address that answered, of those a host name has; `None` for a unix socket.
    pub peer: Option<SocketAddr>,
}

impl Place {
    /// [`Upstream::generation`] when the connection was made.
    pub fn generation(self) -> u64 {
        self.generation
    }
}

/// One server behind Weir.
#[derive(Debug)]
pub struct Upstream {
    target: ArcSwap<Target>,
    generation: AtomicU64,
    /// The last greeting seen. It is what clients are greeted after.
    greeting: ArcSwapOption<Greeting>,
    /// Why the server could not be reached at the last try; `None` while it can.
    trouble: Mutex<Option<Trouble>>,
    open: AtomicU32,
    /// Told whenever one of them ends.
    freed: Notify,
}

impl Upstream {
    pub fn new(target: Target) -> Self {
        Self {
            target: ArcSwap::from_pointee(target),
            generation: AtomicU64::new(0),
            greeting: ArcSwapOption::empty(),
            trouble: Mutex::new(Some(Trouble { why: "not tried yet".to_owned(), after_greeting: false })),
            open: AtomicU32::new(0),
            freed: Notify::new(),
        }
    }

    pub fn target(&self) -> Arc<Target> {
        self.target.load_full()
    }

    /// Connections opened from now on follow `target`.
    pub fn retarget(&self, target: Target) {
        let moved = self.target.load().address != target.address;
        self.target.store(Arc::new(target));
        if moved {
            self.generation.fetch_add(1, Ordering::SeqCst);
            self.greeting.store(None);
        }
        // There may be more of them now than who waits for one has seen.
        self.freed.notify_waiters();
    }

    /// The place of a connection to `peer` that is made now.
    pub(crate) fn place(&self, peer: Option<SocketAddr>) -> Place {
        Place { generation: self.generation.load(Ordering::SeqCst), peer }
    }

    /// How often the address was changed so far: what was learned under another number is of another server.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// Whether connections made now still go to the server of `place`.
    pub fn is_current(&self, place: Place) -> bool {
        place.generation == self.generation.load(Ordering::SeqCst)
    }

    pub fn greeting(&self) -> Option<Arc<Greeting>> {
        self.greeting.load_full()
    }

    /// Why the server cannot be reached, if it cannot.
    pub fn trouble(&self) -> Option<Trouble> {
        self.trouble.lock().clone()
    }

    /// Told whenever a connection that counts has ended, or another number may be open.
    pub fn freed(&self) -> &Notify {
        &self.freed
    }

    /// Connections that count towards the limit: those that are open, and those being opened or closed.
    pub fn open(&self) -> u32 {
        self.open.load(Ordering::Relaxed)
    }

    /// Takes one of the connections that the server may have; `Err` is the limit.
    pub fn take_slot(self: &Arc<Self>, limit: u32) -> Result<Slot, u32> {
        let mut open = self.open.load(Ordering::Relaxed);
        loop {
            if open >= limit {
                return Err(limit);
            }
            match self.open.compare_exchange_weak(open, open + 1, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Ok(Slot { counted_by: Some(Arc::clone(self)) }),
                Err(now) => open = now,
            }
        }
    }

    pub(crate) fn greeted(&self, greeting: &Greeting) {
        let same = self.greeting.load().as_ref().is_some_and(|known| {
            (known.caps, known.charset, known.status) == (greeting.caps, greeting.charset, greeting.status)
                && (&known.version, &known.plugin) == (&greeting.version, &greeting.plugin)
        });
        if !same {
            self.greeting.store(Some(Arc::new(greeting.clone())));
        }
    }

    /// The server let a login through, or refused it in its own words.
    pub(crate) fn reached(&self, version: &[u8]) {
        let mut trouble = self.trouble.lock();
        if trouble.is_some() {
            tracing::info!(server = %self.target.load().name, event = "server_up",
                version = %String::from_utf8_lossy(weir_model::shown_version(version)), "server is reachable");
            *trouble = None;
        }
    }

    pub(crate) fn unreachable(&self, error: &crate::ConnectError, after_greeting: bool) {
        let mut trouble = self.trouble.lock();
        let now = Trouble { why: error.to_string(), after_greeting };
        if trouble.as_ref() != Some(&now) {
            tracing::warn!(server = %self.target.load().name, event = "server_down", why = %now.why, "server is not reachable");
            *trouble = Some(now);
        }
    }
}

/// The right to one connection; given back when dropped.
#[derive(Debug)]
pub struct Slot {
    counted_by: Option<Arc<Upstream>>,
}

impl Slot {
    /// For a connection beside the limit.
    pub(crate) fn beside() -> Self {
        Self { counted_by: None }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(upstream) = &self.counted_by {
            upstream.open.fetch_sub(1, Ordering::Relaxed);
            upstream.freed.notify_waiters();
        }
    }
}
