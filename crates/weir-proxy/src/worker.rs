//! Workers: one thread and one single-threaded runtime each. A connection lives and dies on one worker.

use crate::accept::Accepted;
use crate::acceptor::{Listener, Taken, accept_all, client_options};
use crate::analytics;
use crate::backend::Backend;
use crate::close::quit_at_once;
use crate::found_rows::Forms;
use crate::judged::Judgements;
use crate::kill::Killers;
use crate::link::{Lease, Link};
use crate::replay::Replays;
use crate::rules::{Rules, WorkerRules};
use crate::serve::serve;
use crate::shared::Shared;
use crate::spare;
use crate::texts::Texts;
use crate::warm;
use parking_lot::Mutex;
use std::borrow::BorrowMut;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::Builder;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;
use weir_config::Io;
use weir_model::ServerFamily;
use weir_net::{Socket, Stream, ring};
use weir_session::{Memory, ServerStatements};
use weir_stats::WorkerStats;

/// How long a worker that ends waits until its peers have taken what was sent to them last.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Connections of a worker from which on a ring costs less than epoll, by measurement: with few of them a turn has one
/// event, and gathering what is sent gains nothing. A build with assertions always uses it, so that all tests meet it.
const RING_FROM: usize = if cfg!(debug_assertions) { 0 } else { 16 };

/// What the sessions of one thread share.
#[derive(Debug)]
pub(crate) struct Worker {
    pub shared: Arc<Shared>,
    index: usize,
    /// Connections on this worker.
    load: Arc<AtomicUsize>,
    /// From so many connections on they move to the ring.
    ring_from: usize,
    /// Logins under way, oldest first; dropping a sender's counterpart is never the signal, a value is.
    pending: Mutex<BTreeMap<u64, oneshot::Sender<()>>>,
    next_pending: AtomicU64,
    /// What the server has answered to the sessions of this worker.
    pub learned: Mutex<Learned>,
    /// What kills that which vanished clients left running.
    pub killers: Killers,
}

/// What one worker knows of the server.
#[derive(Debug)]
pub(crate) struct Learned {
    pub memory: Memory,
    pub replays: Replays,
    pub texts: Texts,
    pub judgements: Judgements,
    pub forms: Forms,
    pub rules: WorkerRules,
    seed: u64,
}

impl Learned {
    /// `seed` is a random number: clients choose what is hashed.
    pub fn new(seed: u64) -> Self {
        Self {
            memory: Memory::new(seed),
            replays: Replays::default(),
            texts: Texts::new(seed),
            judgements: Judgements::new(seed),
            forms: Forms::default(),
            rules: WorkerRules::none(),
            seed,
        }
    }

    /// Takes over the rules that are in force now. Nothing of the ones before is kept.
    #[inline]
    pub fn follow(&mut self, rules: &Arc<Rules>, server: (ServerFamily, u32)) {
        if self.rules.follow(rules, server) {
            self.texts.none_passes();
        }
    }
}

impl Worker {
    pub fn index(&self) -> usize {
        self.index
    }

    /// The prepared statements of a connection that has none yet.
    pub fn no_statements(&self) -> Box<ServerStatements> {
        Box::new(ServerStatements::new(&self.shared.statements, self.learned.lock().seed))
    }

    /// Closes a connection that nobody uses.
    pub fn close_server(&self, mut server: impl BorrowMut<Backend>) {
        // Where the socket cannot take it at once, closing will do.
        quit_at_once(&mut server.borrow_mut().stream);
    }

    /// The same for one that a session has, and its place in the pool.
    pub fn close_link(&self, link: Link, lease: Lease) {
        self.close_server(link.server);
        drop(lease);
    }
    #[inline]
    pub fn stats(&self) -> &WorkerStats {
        self.shared.stats.worker(self.index)
    }

    /// Whether so many connections are here that a ring is worth having.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.load.load(Ordering::Relaxed) >= self.ring_from
    }

    /// Enters a login; where there are more than this worker's part of `max`, the oldest is sent away.
    pub fn pend(self: &Arc<Self>, max: u32) -> (Pending, oneshot::Receiver<()>) {
        let workers = self.shared.stats.workers().len().max(1);
        let share = (max as usize).div_ceil(workers).max(1);
        let (sender, receiver) = oneshot::channel();
        let key = self.next_pending.fetch_add(1, Ordering::Relaxed);
        let mut pending = self.pending.lock();
        if pending.len() >= share
            && let Some((_, oldest)) = pending.pop_first()
        {
            // A login that has just ended has dropped its receiver; then nothing needs to be done.
            let _ = oldest.send(());
        }
        pending.insert(key, sender);
        self.stats().login_started();
        (Pending { worker: Arc::clone(self), key }, receiver)
    }
}

/// A login under way.
#[derive(Debug)]
pub(crate) struct Pending {
    worker: Arc<Worker>,
    key: u64,
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.worker.pending.lock().remove(&self.key);
        self.worker.stats().login_ended();
    }
}

/// How often idle connections are looked through.
const SWEEP: Duration = Duration::from_secs(1);

/// Closes idle connections that are too old or not needed. The pool is one for all workers.
async fn sweep(worker: Arc<Worker>) {
    let mut timer = tokio::time::interval(SWEEP);
    loop {
        timer.tick().await;
        spare::sweep(&worker);
        analytics::here(|analytics| analytics.tell());
        if worker.index == HOME {
            warm::sweep(&worker);
            worker.shared.cache().sweep(Instant::now());
        }
    }
}

/// For tables whose keys clients choose.
fn random_seed() -> u64 {
    let mut bytes = [0; 8];
    // Without randomness there are no logins either, and so nothing to hash.
    let _ = aws_lc_rs::rand::fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// What is on its way to a worker.
#[derive(Debug)]
enum Incoming {
    Client(Taken),
    /// A listener, to take connections from.
    Listener(Listener, Dispatcher, watch::Receiver<bool>),
}

/// A running worker.
#[derive(Debug)]
pub struct WorkerHandle {
    sender: mpsc::UnboundedSender<Incoming>,
    load: Arc<AtomicUsize>,
    thread: JoinHandle<()>,
}

impl WorkerHandle {
    /// Waits for the worker to end, which it does when the dispatcher is gone and its last connection has ended.
    pub fn join(self) {
        drop(self.sender);
        if self.thread.join().is_err() {
            tracing::error!(event = "worker_panicked", "a worker thread ended by a panic");
        }
    }
}

/// Starts `count` workers.
pub fn start_workers(shared: &Arc<Shared>, count: usize, io: Io) -> io::Result<Vec<WorkerHandle>> {
    (0..count).map(|index| start_worker(Arc::clone(shared), index, io)).collect()
}

fn start_worker(shared: Arc<Shared>, index: usize, io: Io) -> io::Result<WorkerHandle> {
    let (sender, receiver) = mpsc::unbounded_channel();
    let load = Arc::new(AtomicUsize::new(0));
    let killers = Killers::new(shared.settings().limits.max_kills);
    let seed = random_seed();
    let worker = Arc::new(Worker {
        shared,
        learned: Mutex::new(Learned::new(seed)),
        index,
        load: Arc::clone(&load),
        ring_from: if io == Io::Auto { RING_FROM } else { 0 },
        pending: Mutex::new(BTreeMap::new()),
        next_pending: AtomicU64::new(0),
        killers,
    });
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let thread = std::thread::Builder::new().name(format!("weir-worker-{index}")).spawn(move || {
        if let Some(digests) = &worker.shared.digests {
            digests.count_here(index, seed);
        }
        // A task is woken by its own thread without a system call; the future that the runtime blocks on is not.
        let ended = runtime.block_on(runtime.spawn(async move {
            start_ring(&worker, io);
            run(worker, receiver).await;
            // Last words of sessions that have just ended.
            let _ = timeout(LAST_WORDS, ring::drained()).await;
        }));
        if let Err(e) = ended
            && let Ok(panic) = e.try_into_panic()
        {
            std::panic::resume_unwind(panic);
        }
    })?;
    Ok(WorkerHandle { sender, load, thread })
}

/// Makes the thread's ring, if it is to have one. Without it all connections stay with the runtime.
fn start_ring(worker: &Worker, io: Io) {
    if io == Io::Epoll {
        return;
    }
    // One line is enough: what holds for the first worker holds for all.
    match ring::start() {
        Err(e) if worker.index == HOME && io == Io::IoUring => {
            tracing::warn!(event = "io_uring_unavailable", error = %e, "io_uring cannot be used, so epoll is");
        }
        Err(e) if worker.index == HOME => {
            tracing::info!(event = "io_uring_unavailable", error = %e, "io_uring cannot be used, so epoll is");
        }
        Ok(()) | Err(_) => {}
    }
}

async fn run(worker: Arc<Worker>, mut incoming: mpsc::UnboundedReceiver<Incoming>) {
    let mut clients = tokio::task::JoinSet::new();
    let sweeper = tokio::spawn(sweep(Arc::clone(&worker)));
    let warmer = (worker.index == HOME).then(|| tokio::spawn(warm::keep_warm(Arc::clone(&worker))));
    loop {
        tokio::select! {
            next = incoming.recv() => match next {
                Some(Incoming::Listener(listener, dispatcher, stop)) => {
                    clients.spawn(accept_all(listener, dispatcher, stop));
                }
                Some(Incoming::Client(taken)) => match register(&worker, taken) {
                    Ok(accepted) => {
                        let guard = Load(Arc::clone(&worker.load));
                        let worker = Arc::clone(&worker);
                        clients.spawn(async move {
                            let _guard = guard;
                            serve(worker, accepted).await;
                        });
                    }
                    Err(e) => {
                        drop(Load(Arc::clone(&worker.load)));
                        tracing::warn!(event = "accept_failed", error = %e, "a connection was lost at its start");
                    }
                },
                None => break,
            },
            Some(ended) = clients.join_next() => report(ended),
        }
    }
    while let Some(ended) = clients.join_next().await {
        report(ended);
    }
    sweeper.abort();
    if let Some(warmer) = warmer {
        warmer.abort();
    }
    spare::close_own(&worker);
    if worker.index == HOME {
        for link in worker.shared.pool.clear(Instant::now()) {
            worker.close_server(link.server);
        }
    }
}

fn report(ended: Result<(), tokio::task::JoinError>) {
    if let Err(e) = ended
        && e.is_panic()
    {
        tracing::error!(event = "session_panicked", error = %e, "a session ended by a panic; please report this");
    }
}

/// Counts a connection on its worker.
struct Load(Arc<AtomicUsize>);

impl Drop for Load {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Makes a socket known to this thread's runtime.
fn register(worker: &Worker, taken: Taken) -> io::Result<Accepted> {
    Ok(match taken {
        Taken::Tcp { socket, peer, inherited } => {
            let idle = worker.shared.settings().limits.tcp_keepalive;
            if idle != inherited {
                client_options(idle).apply(&socket)?;
            }
            let stream = Stream::Plain(Socket::Tcp(TcpStream::from_std(socket)?));
            Accepted { stream, peer: Some(peer) }
        }
        Taken::Unix(socket) => {
            let stream = Stream::Plain(Socket::Unix(UnixStream::from_std(socket)?));
            Accepted { stream, peer: None }
        }
    })
}

/// Hands connections to the least loaded worker.
#[derive(Debug, Clone)]
pub struct Dispatcher {
    workers: Vec<(mpsc::UnboundedSender<Incoming>, Arc<AtomicUsize>)>,
}

/// The worker that takes connections from listeners.
const HOME: usize = 0;

impl Dispatcher {
    pub fn new(workers: &[WorkerHandle]) -> Self {
        Self { workers: workers.iter().map(|w| (w.sender.clone(), Arc::clone(&w.load))).collect() }
    }

    /// Lets the first worker take connections from `listener`, until `stop` says true.
    pub fn listen(&self, listener: Listener, stop: watch::Receiver<bool>) {
        if let Some((home, _)) = self.workers.get(HOME) {
            // A worker that has ended takes no more.
            let _ = home.send(Incoming::Listener(listener, self.clone(), stop));
        }
    }

    /// Gives a connection to the worker with the fewest.
    pub(crate) fn hand_over(&self, taken: Taken) {
        let least = self.workers.iter().min_by_key(|(_, load)| load.load(Ordering::Relaxed));
        if let Some((sender, load)) = least {
            load.fetch_add(1, Ordering::Relaxed);
            // A worker that has ended takes no more; the socket is dropped, and so closed.
            let _ = sender.send(Incoming::Client(taken));
        }
    }
}
