//! What all workers share.

use crate::analytics::Digests;
use crate::confirmed::Confirmed;
use crate::link::{PinCounts, ServerPool};
use crate::long::LongStatements;
use crate::names::KnownNames;
use crate::query_log::QueryLog;
use crate::registry::Registry;
use crate::results::ResultsKeys;
use crate::rules::{RuleCount, RuleMaker, Rules};
use crate::settings::Settings;
use crate::spare::Spares;
use crate::users::Remembered;
use crate::warm::Wishes;
use arc_swap::ArcSwap;
use aws_lc_rs::rand;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;
use weir_auth::{NONCE_LEN, RsaKeyPair};
use weir_cache::{Cache, Refusal};
use weir_model::{Rule, ServerFamily};
use weir_policy::RuleError;
use weir_pool::{ConnectError, Upstream};
use weir_session::{Bases, StatementBudget};
use weir_sql::{DigestId, LexMode};
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
    /// Prepared statements that they have together.
    pub(crate) statements: Arc<StatementBudget>,
    /// How often sessions had to keep a connection, by the reason.
    pub pins: PinCounts,
    pub registry: Registry,
    pub stats: Arc<Stats>,
    /// What is counted of statements' digests, if it is.
    pub digests: Option<Digests>,
    /// Statements are kept and shown as they came.
    pub samples: bool,
    pub query_log: QueryLog,
    pub rsa: Arc<RsaKeyPair>,
    pub remembered: Remembered,
    pub(crate) confirmed: Confirmed,
    pub(crate) rules: ArcSwap<Rules>,
    has_rules: AtomicBool,
    rules_act: AtomicBool,
    maker: RuleMaker,
    cache: Cache,
    /// Numbers for what answers depend on of sessions' states.
    pub(crate) results: ResultsKeys,
    /// How often what names stand for may have changed.
    names: AtomicU64,
    pub(crate) known_names: KnownNames,
    /// What fresh connections are like, whichever worker has made them.
    pub(crate) bases: parking_lot::Mutex<Bases>,
    /// Connections that clients of their own have left.
    pub(crate) spares: Spares,
    /// What connections are to be opened ahead.
    pub(crate) wishes: Wishes,
    /// For what is hashed of prepared statements.
    pub(crate) statement_seed: u64,
    /// Somebody looks after the statements that wait in the pool's queue.
    pub(crate) queue_watched: AtomicBool,
    /// Held by who connects to learn the greeting; the last failure to.
    pub(crate) probing: tokio::sync::Mutex<Option<(Instant, Arc<ConnectError>)>>,
    /// Passwords that are decrypted at once, each on a thread of its own: at most half of the cores, so that guessing
    /// cannot take them all.
    pub(crate) decrypting: Arc<tokio::sync::Semaphore>,
    pub(crate) long: LongStatements,
    /// Clients logged in.
    clients: AtomicU32,
    draining: AtomicBool,
}

impl Shared {
    pub fn new(settings: Settings, upstream: Arc<Upstream>, stats: Arc<Stats>, rsa: Arc<RsaKeyPair>) -> Self {
        let workers = stats.workers().len();
        let pool = ServerPool::new(settings.pool.limits, workers);
        let statements = StatementBudget::new(settings.pool.server_statements, settings.pool.limits.max);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let cache = Cache::with_hash_bits(settings.cache.limits, seed(), settings.cache.hash_bits);
        cache.set_admission(settings.cache.admission);
        let analytics = settings.analytics;
        Self {
            digests: analytics.enabled.then(|| Digests::new(workers, analytics, seed())),
            samples: analytics.samples,
            query_log: QueryLog::default(),
            rules: ArcSwap::from_pointee(Rules::none()),
            has_rules: AtomicBool::new(false),
            rules_act: AtomicBool::new(false),
            maker: RuleMaker::default(),
            cache,
            results: ResultsKeys::default(),
            statement_seed: seed(),
            names: AtomicU64::new(0),
            known_names: KnownNames::default(),
            settings: ArcSwap::from_pointee(settings),
            upstream,
            pool,
            statements: Arc::new(statements),
            pins: PinCounts::default(),
            registry: Registry::default(),
            stats,
            rsa,
            remembered: Remembered::default(),
            confirmed: Confirmed::default(),
            bases: parking_lot::Mutex::default(),
            spares: Spares::new(workers),
            wishes: Wishes::default(),
            queue_watched: AtomicBool::new(false),
            probing: tokio::sync::Mutex::new(None),
            decrypting: Arc::new(tokio::sync::Semaphore::new((cores / 2).max(1))),
            long: LongStatements::default(),
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
        self.statements.set_limits(settings.pool.server_statements, settings.pool.limits.max);
        self.cache.set_limits(settings.cache.limits);
        self.cache.set_admission(settings.cache.admission);
        self.settings.store(Arc::new(settings));
    }

    /// The result cache.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// The rules in force, in their order.
    pub fn rules(&self) -> Arc<Vec<Rule>> {
        Arc::clone(&self.rules.load().list)
    }

    /// Puts other rules in force. What is cached stays; what a rule that has gone had stored is no longer found.
    ///
    /// # Errors
    /// All that is wrong with them; then those before stay.
    pub fn set_rules(&self, rules: Vec<Rule>) -> Result<(), Vec<RuleError>> {
        let mode = match self.upstream.greeting() {
            Some(greeting) => LexMode::new(greeting.family(), weir_model::version_number(&greeting.version)),
            None => LexMode::new(ServerFamily::MySql, 0),
        };
        let rules = self.maker.make(rules, &self.cache, mode)?;
        let (any, act) = (!rules.list.is_empty(), rules.acts);
        self.rules.store(Arc::new(rules));
        self.has_rules.store(any, Ordering::SeqCst);
        self.rules_act.store(act, Ordering::SeqCst);
        Ok(())
    }

    /// How often each rule has matched, in their order.
    pub fn rule_counts(&self) -> Vec<RuleCount> {
        self.rules.load().counts()
    }

    /// Whether there is any rule.
    pub(crate) fn has_rules(&self) -> bool {
        self.has_rules.load(Ordering::Relaxed)
    }

    /// Whether a rule denies, limits, rewrites or times statements.
    #[inline]
    pub(crate) fn rules_act(&self) -> bool {
        self.rules_act.load(Ordering::Relaxed)
    }

    /// How often a statement through Weir may have changed what names stand for.
    pub(crate) fn names_changed(&self) -> u64 {
        self.names.load(Ordering::SeqCst)
    }

    /// Whether answers to statements of this digest may be kept by what their names stand for, and how long ago the server was
    /// asked for that; `None`: it would be asked. `views`: for a rule that trusts them.
    pub fn known_names(
        &self,
        digest: DigestId,
        (schema, views): (Option<&[u8]>, bool),
    ) -> Option<(Result<(), Refusal>, Duration)> {
        self.known_names.find(digest, (schema, views), self.names_changed())
    }

    /// What names stand for may have changed.
    pub(crate) fn change_names(&self) {
        self.names.fetch_add(1, Ordering::SeqCst);
    }

    /// Connections that a client has left, and that wait for the next.
    pub fn spare_connections(&self) -> usize {
        self.spares.len()
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

/// A number that nobody can foresee; without randomness nobody can log in either.
fn seed() -> u64 {
    let mut bytes = [0; 8];
    let _ = rand::fill(&mut bytes);
    u64::from_le_bytes(bytes)
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
