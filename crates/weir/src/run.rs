//! `weir run`: listeners, workers, signals, and the way out.

mod api;

use crate::build;
use crate::control::{AskedReload, Keeper, last_reload};
use crate::history;
use crate::logging::{self, LevelSwitch};
use crate::pulse::Pulse;
use crate::query_log::LogWriter;
use anyhow::{Context, Result};
use api::Api;
use aws_lc_rs::rsa::{KeySize, PrivateDecryptingKey};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{interval, sleep, timeout};
use weir_admin::{AUDIT, Access};
use weir_auth::RsaKeyPair;
use weir_config::{Address, Config};
use weir_control::{FileWatch, Outcome, Reloader, Service};
use weir_net::{BoundUnix, SocketFile, bind_tcp, bind_unix};
use weir_pool::Upstream;
use weir_proxy::{Dispatcher, Listener, Shared, WorkerHandle, look, start_workers};
use weir_stats::{Readiness, Stats};
use weir_store::History;

/// How often a server that could not be reached is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// The same for a server that greets and cannot be logged in to. Such a try counts at the server as a broken
/// connection, and 100 of them block Weir's host.
const COSTLY_RETRY: Duration = Duration::from_secs(30);

/// How long a reload waits for its line in the log.
const LINE: Duration = Duration::from_secs(1);
/// How long the end waits for the query log's last lines, which has a limit of its own.
const STOP_LOG: Duration = Duration::from_secs(3);

/// How often it is looked whether the last client has gone while draining.
const DRAIN_LOOK: Duration = Duration::from_millis(20);

/// Runs Weir until it is told to stop.
pub fn run(config: Config, path: Option<PathBuf>) -> Result<()> {
    let level = logging::start(&config.log);
    raise_open_files(&config);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result =
        runtime.block_on(async move { Running::start(config, path, level).await?.until_stopped().await });
    // A worker that cannot end (a stuck server) must not keep the process.
    runtime.shutdown_background();
    result
}

/// A running Weir.
struct Running {
    shared: Arc<Shared>,
    readiness: Arc<Readiness>,
    workers: Vec<WorkerHandle>,
    /// The monitor, and who looks at the file.
    tasks: JoinSet<()>,
    admin: JoinSet<()>,
    /// Ends the accept loops.
    stop_clients: watch::Sender<bool>,
    stop_admin: watch::Sender<bool>,
    /// Unix socket files, removed on the way out.
    _sockets: Vec<SocketFile>,
    service: Service,
    keeper: Arc<Keeper>,
    access: Arc<Access>,
    history: Option<Arc<History>>,
    /// Reloads that the API asks for.
    reloads: mpsc::Receiver<AskedReload>,
    /// Says when the file has changed.
    changed: mpsc::Receiver<()>,
    watch_file: bool,
    level: LevelSwitch,
    log: LogWriter,
    drain_timeout: Duration,
}

impl Running {
    async fn start(config: Config, path: Option<PathBuf>, level: LevelSwitch) -> Result<Self> {
        let settings = build::settings(&config, None)?;
        let upstream = Arc::new(Upstream::new(build::target(&config)?));
        let count = worker_count(&config);
        let stats = Stats::new(count);
        let rsa = Arc::new(rsa_key().context("making the RSA key for logins without TLS")?);
        let shared = Arc::new(Shared::new(settings, upstream, stats, rsa));
        put_rules(&shared, &config)?;
        let log = LogWriter::start(&shared).context("starting the thread of the query log")?;
        log.follow(&config);
        let readiness = Arc::new(Readiness::default());

        let workers = start_workers(&shared, count, config.io).context("starting worker threads")?;
        let dispatcher = Dispatcher::new(&workers);
        let mut sockets = Vec::new();
        let mut tasks = JoinSet::new();
        let (stop_clients, no_more) = watch::channel(false);
        for address in &config.listen.mysql {
            listen(address, config.limits.tcp_keepalive, (&dispatcher, &no_more), &mut sockets)?;
        }
        let (stop_admin, stopped) = watch::channel(false);
        let mut admin = JoinSet::new();
        let keeper = Arc::new(Keeper::new(path.clone().map(|path| Reloader::new(path, config.clone()))));
        let access = Access::new(config.tokens.clone());
        let history = history::start(&config.history, &shared);
        let (ask_reload, reloads) = mpsc::channel(1);
        if let Some(address) = &config.listen.admin {
            let pulse = Arc::new(Pulse::default());
            tasks.spawn(Arc::clone(&pulse).beat(Arc::clone(&shared)));
            let api = Api {
                shared: Arc::clone(&shared),
                readiness: Arc::clone(&readiness),
                keeper: Arc::clone(&keeper),
                access: Arc::clone(&access),
                history: history.clone(),
                ask_reload,
                pulse,
                lost_lines: level.lost(),
            };
            api.listen(address, stopped, &mut admin, &mut sockets)?;
        }
        tasks.spawn(monitor(Arc::clone(&shared), Arc::clone(&readiness)));
        let target = shared.upstream.target();
        tracing::info!(event = "started", version = env!("CARGO_PKG_VERSION"), workers = count,
            listen = %list(&config.listen.mysql), server = %target.name, address = %target.address, "weir is accepting clients");
        readiness.accepting();
        let service = Service;
        service.ready();
        Ok(Self {
            shared,
            readiness,
            workers,
            admin,
            stop_clients,
            stop_admin,
            _sockets: sockets,
            service,
            watch_file: config.watch,
            drain_timeout: config.limits.drain_timeout,
            changed: watch_file(path, &mut tasks),
            tasks,
            keeper,
            access,
            history,
            reloads,
            level,
            log,
        })
    }

    async fn until_stopped(mut self) -> Result<()> {
        let mut term = signal(SignalKind::terminate())?;
        let mut int = signal(SignalKind::interrupt())?;
        let mut hup = signal(SignalKind::hangup())?;
        let mut heartbeat = self.service.watchdog_interval().map(interval);
        loop {
            tokio::select! {
                _ = term.recv() => break,
                _ = int.recv() => break,
                // What came of it stands in the log.
                _ = hup.recv() => drop(self.reload().await),
                // What the API has written is in force already.
                Some(()) = self.changed.recv() => if self.watch_file && !self.keeper.is_own_change() { drop(self.reload().await) },
                // Who asked may have gone meanwhile.
                Some(asked) = self.reloads.recv() => drop(asked.send(self.reload().await)),
                () = beat(&mut heartbeat) => self.service.alive(),
            }
        }
        self.drain(term, int).await;
        Ok(())
    }

    /// Reads the configuration again. On any error the old one stays, whole.
    async fn reload(&mut self) -> Result<Vec<String>, String> {
        let told = self.reload_now();
        let line = told.clone();
        // A change as any other, so its line waits where the log is full. Nobody waits for it here.
        let (keeper, shared) = (Arc::clone(&self.keeper), Arc::clone(&self.shared));
        let said = tokio::task::spawn_blocking(move || {
            say_reloaded(&line);
            keeper.effects.note(&shared, true);
        });
        let _ = timeout(LINE, said).await;
        told
    }

    fn reload_now(&mut self) -> Result<Vec<String>, String> {
        let keeper = Arc::clone(&self.keeper);
        let mut held = keeper.lock();
        let Some(reloader) = held.as_mut() else {
            return Err("Weir was started without a file; there is nothing to read again".to_owned());
        };
        self.service.reloading();
        let applied = match reloader.read() {
            Outcome::Refused(why) => Err(why),
            Outcome::Apply { config, changes } => {
                let built = build::settings(&config, Some(&self.shared.settings()))
                    .and_then(|s| Ok((s, build::target(&config)?)));
                let built = built.and_then(|built| put_rules(&self.shared, &config).map(|()| built));
                built.map_err(|e| format!("{e:#}")).map(|(settings, target)| {
                    self.shared.reload(settings);
                    self.shared.upstream.retarget(target);
                    self.access.set(config.tokens.clone());
                    self.level.set(config.log.level);
                    self.log.follow(&config);
                    if let Some(history) = &self.history {
                        history.limit(history::limits(&config.history));
                    }
                    self.watch_file = config.watch;
                    self.drain_timeout = config.limits.drain_timeout;
                    reloader.applied(*config);
                    changes
                })
            }
        };
        let told = match applied {
            Ok(changes) => {
                self.shared.stats.reload_ok();
                let changed: Vec<_> =
                    changes.reloadable.iter().map(|(key, what)| format!("{key}: {what}")).collect();
                Ok(changed)
            }
            Err(why) => {
                self.shared.stats.reload_refused();
                Err(why)
            }
        };
        self.service.ready();
        keeper.reloaded(last_reload(&told));
        told
    }

    /// Sends idle clients away, waits for the others, and ends those that take too long.
    async fn drain(mut self, mut term: Signal, mut int: Signal) {
        tracing::info!(
            event = "draining",
            clients = self.shared.registry.len(),
            seconds = self.drain_timeout.as_secs_f64(),
            "stopping: idle clients are closed now, busy ones after their transaction"
        );
        self.service.stopping();
        self.readiness.draining();
        // Who asks for a reload now, or has asked and was not heard, is told that it is too late.
        drop(self.reloads);
        self.stop_clients.send_replace(true);
        // No client may come in behind those that are sent away: the loops are over when nobody listens to this.
        self.stop_clients.closed().await;
        self.tasks.shutdown().await;
        self.shared.drain();
        let empty = async {
            while !self.shared.registry.is_empty() {
                sleep(DRAIN_LOOK).await;
            }
        };
        tokio::select! {
            waited = timeout(self.drain_timeout, empty) => if waited.is_err() {
                tracing::warn!(event = "drain_timeout", clients = self.shared.registry.len(), "ending clients that are still busy");
            },
            _ = term.recv() => tracing::warn!(event = "drain_cut", "told to stop again: ending all clients now"),
            _ = int.recv() => tracing::warn!(event = "drain_cut", "told to stop again: ending all clients now"),
        }
        self.shared.registry.end_all();
        let workers = std::mem::take(&mut self.workers);
        let joined = tokio::task::spawn_blocking(move || workers.into_iter().for_each(WorkerHandle::join));
        // A login under way may outlast the drain; the process ends without it.
        let _ = timeout(Duration::from_secs(2), joined).await;
        let log = self.log;
        let written = tokio::task::spawn_blocking(move || log.stop());
        // No thread may be free to do it.
        let _ = timeout(STOP_LOG, written).await;
        self.stop_admin.send_replace(true);
        if let Some(history) = self.history.take() {
            // A disk that hangs does not keep the process.
            let stopped = tokio::task::spawn_blocking(move || history.stop());
            let _ = timeout(Duration::from_secs(2), stopped).await;
        }
        while self.admin.join_next().await.is_some() {}
        tracing::info!(event = "stopped", "weir has stopped");
    }
}

fn say_reloaded(told: &Result<Vec<String>, String>) {
    match told {
        Ok(changes) => {
            tracing::info!(target: AUDIT, event = "reloaded", changes = %changes.join("; "), "configuration reloaded");
        }
        Err(why) => {
            tracing::error!(target: AUDIT, event = "reload_refused", %why, "configuration not reloaded; the old one stays");
        }
    }
}

/// As many workers as the file asks for, or one for each processor.
fn worker_count(config: &Config) -> usize {
    match config.workers {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    }
}

/// Puts the rules of the file in force; on any error those before stay.
fn put_rules(shared: &Shared, config: &Config) -> Result<()> {
    if *shared.rules() == config.rules {
        return Ok(());
    }
    shared.set_rules(config.rules.clone()).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        anyhow::anyhow!(errors.join("; "))
    })
}

fn listen(
    address: &Address,
    keepalive: Duration,
    (dispatcher, stopped): (&Dispatcher, &watch::Receiver<bool>),
    sockets: &mut Vec<SocketFile>,
) -> Result<()> {
    match address {
        Address::Tcp { host, port } => {
            for listener in bind_tcp(host, *port)? {
                let listener =
                    Listener::tcp(listener, keepalive).with_context(|| format!("listening on {address}"))?;
                dispatcher.listen(listener, stopped.clone());
            }
        }
        Address::Unix(path) => {
            let BoundUnix { listener, file } = bind_unix(path)?;
            sockets.push(file);
            dispatcher.listen(Listener::Unix(listener), stopped.clone());
        }
    }
    Ok(())
}

/// Looks at the file as long as Weir runs; whether a change counts is for the configuration in force to say.
fn watch_file(path: Option<PathBuf>, tasks: &mut JoinSet<()>) -> mpsc::Receiver<()> {
    let (sender, receiver) = mpsc::channel(1);
    if let Some(path) = path {
        tasks.spawn(async move {
            let mut file = FileWatch::new(path);
            loop {
                file.changed().await;
                if sender.send(()).await.is_err() {
                    return;
                }
            }
        });
    }
    receiver
}

/// Keeps readiness true to what logins experience, and tries a server again that could not be reached.
async fn monitor(shared: Arc<Shared>, readiness: Arc<Readiness>) {
    let mut looked: Option<Instant> = None;
    loop {
        let pause = shared.upstream.trouble().map(|it| if it.after_greeting { COSTLY_RETRY } else { RETRY });
        if let Some(pause) = pause
            && looked.is_none_or(|at| at.elapsed() >= pause)
        {
            // The outcome stands in `trouble`, as that of every other connection does.
            let _ = look(&shared).await;
            looked = Some(Instant::now());
        }
        match shared.upstream.trouble() {
            None => readiness.server_reachable(),
            Some(trouble) => readiness.server_unreachable(&trouble.why),
        }
        sleep(RETRY).await;
    }
}

async fn beat(heartbeat: &mut Option<tokio::time::Interval>) {
    match heartbeat {
        Some(heartbeat) => drop(heartbeat.tick().await),
        None => std::future::pending().await,
    }
}

/// Takes all the descriptors that the system allows, and says so where they do not suffice for the limits.
fn raise_open_files(config: &Config) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if let Err(e) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(event = "open_files", error = %e, "could not raise the number of open files");
    }
    // One for the client, one for its server connection, and some for everything else.
    let needed = u64::from(config.limits.max_clients) * 2 + 64;
    if limit.maximum.is_some_and(|maximum| maximum < needed) {
        tracing::warn!(
            event = "open_files",
            limit = limit.maximum,
            needed,
            "fewer open files are allowed than limits.max_clients may need; raise LimitNOFILE or ulimit -n"
        );
    }
}

/// The key for logins without TLS. Made at each start: clients ask for its public half and keep none.
fn rsa_key() -> Result<RsaKeyPair> {
    let key = PrivateDecryptingKey::generate(KeySize::Rsa2048).context("no randomness")?;
    Ok(RsaKeyPair::from_key(key)?)
}

fn list(addresses: &[Address]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
