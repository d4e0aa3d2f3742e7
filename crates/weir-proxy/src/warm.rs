//! Opening shared connections ahead of clients (`pool.warm_up`), so that `pool.min_idle` of them are idle.
//!
//! A connection serves only who has its account and its client flags ([`Key`]). Which of them are wanted is seen of the logins and
//! of the connections that sessions had to wait for; before the first of an account, libmysqlclient's flags are guessed.
//! One task on the first worker opens one connection at a time, while nobody waits and the server can be reached.

use crate::backend::Backend;
use crate::link::{Key, Lease, Link};
use crate::login::is_access_denied;
use crate::question::read_state;
use crate::settings::Settings;
use crate::users::ListedUser;
use crate::worker::Worker;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::{MissedTickBehavior, interval, timeout};
use weir_config::Sharing;
use weir_pool::{ConnectError, Grant, LoginRequest, Need, login};
use weir_wire::caps::{self, Caps};

/// How often it is looked whether connections are missing. They are opened when they were so twice: one that is in use for a moment
/// is not missing.
const LOOK: Duration = Duration::from_millis(500);

/// Accounts and flags that are remembered, the ones used last.
const WISHES_MAX: usize = 16;

/// How long an account is left alone that cannot log in: at first, and at most; doubled each time.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// utf8mb4_general_ci, which every server knows.
const UTF8MB4: u8 = 45;

/// What libmysqlclient asks for where nobody has told it anything.
const LIBMYSQLCLIENT: Caps = caps::CLIENT_MYSQL
    | caps::LONG_FLAG
    | caps::PROTOCOL_41
    | caps::TRANSACTIONS
    | caps::SECURE_CONNECTION
    | caps::MULTI_STATEMENTS
    | caps::MULTI_RESULTS
    | caps::PS_MULTI_RESULTS
    | caps::PLUGIN_AUTH
    | caps::PLUGIN_AUTH_LENENC
    | caps::CONNECT_ATTRS
    | caps::SESSION_TRACK
    | caps::DEPRECATE_EOF
    | caps::QUERY_ATTRIBUTES;

/// Connections that somebody has wanted.
#[derive(Debug, Clone)]
struct Wish {
    key: Key,
    caps: Caps,
    charset: u8,
    /// When somebody last did; `None` for a guess.
    at: Option<Instant>,
}

/// What connections were wanted, the last first.
#[derive(Debug, Default)]
pub(crate) struct Wishes(Mutex<Vec<Wish>>);

impl Wishes {
    /// A client of this account logs in, or had to wait for a connection to be opened.
    pub fn note(&self, settings: &Settings, key: &Key, request: &LoginRequest) {
        if !settings.pool.warm_up || sharing(settings, &key.user).is_none() {
            return;
        }
        let at = Some(Instant::now());
        let wish = Wish { key: key.clone(), caps: request.caps, charset: request.charset, at };
        let mut wishes = self.0.lock();
        wishes.retain(|other| other.key != wish.key);
        wishes.truncate(WISHES_MAX - 1);
        wishes.insert(0, wish);
    }

    fn forget(&self, key: &Key) {
        self.0.lock().retain(|wish| wish.key != *key);
    }

    /// Those of users whose connections may be opened ahead, and guesses for who has not been seen yet.
    fn of(&self, settings: &Settings, server: Caps) -> Vec<Wish> {
        let noted = self.0.lock().clone();
        let mut wishes: Vec<Wish> =
            noted.into_iter().filter(|wish| sharing(settings, &wish.key.user).is_some()).collect();
        for user in settings.users.names() {
            let seen = wishes.iter().any(|wish| *wish.key.user == *user);
            if !seen && sharing(settings, user).is_some() {
                wishes.extend(guess(user, server));
            }
        }
        wishes
    }
}

fn guess(user: &[u8], server: Caps) -> Option<Wish> {
    let caps = LIBMYSQLCLIENT & (caps::offered(server, false) | caps::CLIENT_MYSQL);
    let key = Key::new(user, caps::requested(caps, server).ok()?);
    Some(Wish { key, caps, charset: UTF8MB4, at: None })
}

/// The user of this name, if its clients share connections and its password is known.
fn sharing(settings: &Settings, user: &[u8]) -> Option<Arc<ListedUser>> {
    let listed = settings.users.get(user)?;
    (listed.sharing.unwrap_or(settings.pool.sharing) == Sharing::Transaction).then_some(listed)
}

/// An account whose logins fail.
#[derive(Debug)]
struct Failing {
    why: String,
    /// The log tells of it.
    told: bool,
    pause: Duration,
    /// `None`: the server has refused the password. Nobody asks again before a client has logged in or the configuration has changed,
    /// for accounts are locked that do so (`FAILED_LOGIN_ATTEMPTS`).
    until: Option<Instant>,
    at: Instant,
}

/// What the task keeps from one look to the next.
#[derive(Default)]
struct Memory {
    failing: HashMap<Arc<[u8]>, Failing>,
    settings: Option<Arc<Settings>>,
    lacked: bool,
}

/// Opens connections ahead as long as the worker runs.
pub(crate) async fn keep_warm(worker: Arc<Worker>) {
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut memory = Memory::default();
    loop {
        looks.tick().await;
        let settings = worker.shared.settings();
        if settings.pool.warm_up {
            look(&worker, settings, &mut memory).await;
        }
    }
}

/// Closes idle connections that are too old or not needed.
pub(crate) fn sweep(worker: &Worker) {
    let shared = &worker.shared;
    let settings = shared.settings.load();
    let wishes = match (settings.pool.warm_up, shared.upstream.greeting()) {
        (true, Some(greeting)) => shared.wishes.of(&settings, greeting.caps),
        _ => Vec::new(),
    };
    let warm: Vec<&Key> = wishes.iter().map(|wish| &wish.key).collect();
    for link in shared.pool.sweep(&warm, Instant::now()) {
        worker.close_server(link.server);
    }
}

async fn look(worker: &Arc<Worker>, settings: Arc<Settings>, memory: &mut Memory) {
    let shared = &worker.shared;
    let upstream = &shared.upstream;
    let gone = |link: &Link| !link.server.stream.is_quiet() || !upstream.is_current(link.server.place);
    for link in shared.pool.lost(Instant::now(), |link| gone(link)) {
        worker.close_server(link.server);
    }
    // While the server cannot be reached the monitor tries it, and nobody else needs to.
    if shared.draining() || upstream.trouble().is_some() {
        memory.lacked = false;
        return;
    }
    if !memory.settings.as_ref().is_some_and(|before| Arc::ptr_eq(before, &settings)) {
        memory.failing.clear();
        memory.settings = Some(Arc::clone(&settings));
    }
    let before = std::mem::replace(&mut memory.lacked, true);
    for _ in 0..settings.pool.limits.min_idle {
        let Some(greeting) = upstream.greeting() else { return };
        let mut wishes = shared.wishes.of(&settings, greeting.caps);
        wishes.retain(|wish| memory.may(wish));
        let keys: Vec<&Key> = wishes.iter().map(|wish| &wish.key).collect();
        let now = Instant::now();
        let found = if before { shared.pool.open_ahead(&keys, now) } else { shared.pool.lacks(&keys, now) };
        let Some(wish) = found.and_then(|at| wishes.get(at)) else {
            memory.lacked = false;
            return;
        };
        if !before {
            return;
        }
        let lease = Lease::new(worker, Need::Statement, &Grant::Open, now);
        let opened = open(worker, &settings, wish, lease).await;
        if matches!(opened, Err(ConnectError::Changed { .. })) {
            // The server has those flags no longer.
            shared.wishes.forget(&wish.key);
        }
        memory.note(wish, opened);
        if shared.draining() || upstream.trouble().is_some() {
            return;
        }
    }
}

impl Memory {
    fn may(&self, wish: &Wish) -> bool {
        self.failing.get(&wish.key.user).is_none_or(|failing| match failing.until {
            Some(until) => until <= Instant::now(),
            None => wish.at.is_some_and(|at| failing.at < at),
        })
    }

    fn note(&mut self, wish: &Wish, opened: Result<(), ConnectError>) {
        let user = &wish.key.user;
        let shown = String::from_utf8_lossy(user);
        let Err(error) = opened else {
            if self.failing.remove(user).is_some_and(|before| before.told) {
                tracing::info!(event = "warm_up", user = %shown, "connections of this user can be opened ahead again");
            }
            return;
        };
        let why = error.to_string();
        let before = self.failing.remove(user);
        // That the server is not reachable is logged already; that Weir's own limit is reached is nothing wrong.
        let told = matches!(error, ConnectError::Refused { .. } | ConnectError::Auth { .. });
        if told && before.as_ref().is_none_or(|before| before.why != why) {
            tracing::warn!(event = "warm_up_failed", user = %shown, %why, "no connection of this user can be opened ahead");
        }
        let pause = before.map_or(PAUSE, |before| (before.pause * 2).min(PAUSE_MAX));
        let now = Instant::now();
        let until = (!is_access_denied(&error)).then(|| now + pause);
        self.failing.insert(Arc::clone(user), Failing { why, told, pause, until, at: now });
    }
}

/// Opens one and puts it into the pool.
async fn open(
    worker: &Arc<Worker>,
    settings: &Settings,
    wish: &Wish,
    mut lease: Lease,
) -> Result<(), ConnectError> {
    let target = worker.shared.upstream.target();
    let changed = || ConnectError::Changed { server: target.name.clone() };
    let mut server = Box::new(log_in(worker, settings, wish).await?);
    lease.opened();
    let state = match timeout(target.connect_timeout, read_state(worker, &mut server)).await {
        Ok(Ok(state)) => state,
        Ok(Err(error)) => {
            worker.close_server(server);
            return Err(ConnectError::Protocol { server: target.name.clone(), what: error.to_string() });
        }
        Err(_) => {
            let (address, seconds) = (target.address.to_string(), target.connect_timeout.as_secs_f64());
            return Err(ConnectError::Timeout { server: target.name.clone(), address, seconds });
        }
    };
    let now = Instant::now();
    let mut link = Box::new(Link::of(server, &wish.key.user, state, worker.index(), now));
    (link.prepared, link.born) = (worker.no_statements(), lease.born);
    let movable = link.server.stream.park();
    if !movable || !link.serves(&wish.key) || !worker.shared.upstream.is_current(link.server.place) {
        worker.close_link(*link, lease);
        return Err(changed());
    }
    let until = link.until(&settings.pool, now);
    if let Some(unwanted) = lease.give_back(&wish.key, link, now, until) {
        worker.close_server(unwanted.server);
    }
    Ok(())
}

/// Logs in with the first of the user's passwords that the server takes.
async fn log_in(worker: &Arc<Worker>, settings: &Settings, wish: &Wish) -> Result<Backend, ConnectError> {
    let shared = &worker.shared;
    let changed = ConnectError::Changed { server: shared.upstream.target().name.clone() };
    let mut refused = changed;
    let passwords = sharing(settings, &wish.key.user).map(|user| user.passwords.clone());
    for known in passwords.into_iter().flatten() {
        let request = LoginRequest {
            user: wish.key.user.to_vec(),
            secret: known.secret,
            database: None,
            caps: wish.caps,
            max_packet: 1 << 24,
            charset: wish.charset,
            attributes: None,
        };
        match login(&shared.upstream, &request).await {
            Ok(connection) => {
                worker.stats().server_opened();
                return Ok(Backend::from(connection));
            }
            Err(error) => {
                let wrong = is_access_denied(&error);
                refused = error;
                if !wrong {
                    break;
                }
            }
        }
    }
    Err(refused)
}

#[cfg(test)]
mod tests;
