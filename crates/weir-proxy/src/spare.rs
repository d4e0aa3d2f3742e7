//! Connections whose client has left, kept for the next client that wants one of its own (`pool.reuse_timeout`).
//!
//! At COM_QUIT the server is told to forget the session at once (COM_RESET_CONNECTION: it rolls back, frees locks and drops
//! temporary tables, as at the end of a connection). At the next login it judges the new client's password by
//! COM_CHANGE_USER, and begins a session anew. Only a session that did nothing but what both take away on every server is kept
//! ([`Session::is_reusable`](crate::session::Session)), and none of a server with `init_connect`, which runs only for
//! connections that are new.

use crate::attach::change_link_user;
use crate::backend::Backend;
use crate::exchange::{Answer, exchange, reply};
use crate::link::of_the_session;
use crate::question::query_payload;
use crate::worker::Worker;
use parking_lot::Mutex;
use std::future::poll_fn;
use std::io;
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::time::timeout;
use weir_model::ServerFamily;
use weir_net::{send_at_once, write_all};
use weir_pool::{ConnectError, LoginRequest};
use weir_wire::caps::{self, Caps};
use weir_wire::command::{self as com, Shape};
use weir_wire::frame::put_packet;
use weir_wire::login::ChangeUser;

/// How old the knowledge may be that the server has no `init_connect`.
const ASKED: Duration = Duration::from_secs(1);

const INIT_CONNECT: &[u8] = b"SELECT @@GLOBAL.init_connect";

/// How long it may take a server to let the connections go that are closed to make room.
const LEAVING: Duration = Duration::from_secs(1);

/// COM_RESET_CONNECTION came with these versions.
const RESET_SINCE_MARIADB: u32 = 100_204;
const RESET_SINCE_MYSQL: u32 = 50_703;

#[derive(Debug)]
struct Spare {
    /// Its answer to the reset is still to be read, and behind it that to [`INIT_CONNECT`] if it was `asked`.
    server: Backend,
    asked: bool,
    until: Instant,
}

/// The connections that wait for a client, each with the worker that it was used on last.
#[derive(Debug)]
pub(crate) struct Spares {
    by_worker: Box<[Mutex<Vec<Spare>>]>,
    /// When a server said that it has no `init_connect`.
    no_init_connect: Mutex<Option<Instant>>,
}

impl Spares {
    pub fn new(workers: usize) -> Self {
        let by_worker = (0..workers.max(1)).map(|_| Mutex::default()).collect();
        Self { by_worker, no_init_connect: Mutex::new(None) }
    }

    fn knows(&self, now: Instant) -> bool {
        self.no_init_connect.lock().is_some_and(|at| now.duration_since(at) < ASKED)
    }

    /// Takes in the answer to [`INIT_CONNECT`]; true if there is none.
    fn learn(&self, answer: &Answer) -> bool {
        let none = match answer {
            Answer::Done { values, .. } => {
                matches!(values.first(), Some(value) if value.as_ref().is_none_or(Vec::is_empty))
            }
            Answer::Prepared { .. } | Answer::Refused(_) | Answer::TooLong { .. } => false,
        };
        *self.no_init_connect.lock() = none.then(Instant::now);
        none
    }

    /// The one used last that fits this login.
    fn take(&self, worker: &Worker, request: &LoginRequest, agreed: Caps) -> Option<Spare> {
        let now = Instant::now();
        let mut spares = self.by_worker[worker.index()].lock();
        let at = spares.iter().rposition(|Spare { server, until, .. }| {
            of_the_session(server.caps) == agreed
                && server.max_packet == request.max_packet
                && *until > now
                && worker.shared.upstream.is_current(server.place)
        })?;
        Some(spares.remove(at))
    }

    /// Those that have waited too long, or of a server that is not the one any more.
    fn stale(&self, worker: &Worker, now: Instant) -> Vec<Backend> {
        let mut spares = self.by_worker[worker.index()].lock();
        let stale =
            |spare: &mut Spare| spare.until <= now || !worker.shared.upstream.is_current(spare.server.place);
        spares.extract_if(.., stale).map(|spare| spare.server).collect()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_worker.iter().map(|spares| spares.lock().len()).sum()
    }

    fn all(&self) -> Vec<Backend> {
        let each = self.by_worker.iter().flat_map(|spares| std::mem::take(&mut *spares.lock()));
        each.map(|spare| spare.server).collect()
    }
}

/// Whether the server can forget a session and judge another login on the same connection. MariaDB makes IGNORE_SPACE of the
/// flag at a login, and not at a COM_CHANGE_USER.
pub(crate) fn can_serve_another(server: &Backend) -> bool {
    let (since, by_login) = match server.family {
        ServerFamily::MariaDb => (RESET_SINCE_MARIADB, caps::IGNORE_SPACE),
        ServerFamily::MySql => (RESET_SINCE_MYSQL, 0),
    };
    server.version >= since && server.caps & by_login == 0 && server.renumber.is_none()
}

/// Keeps the connection of a client that has said COM_QUIT, or closes it.
pub(crate) async fn keep(worker: &Worker, mut server: Backend) {
    let settings = worker.shared.settings();
    let spares = &worker.shared.spares;
    let now = Instant::now();
    let still = poll_fn(|cx| server.stream.poll_still(cx)).await;
    if still.is_err() || !server.stream.park() || settings.pool.reuse_timeout.is_zero() {
        worker.close_server(server);
        return;
    }
    let asked = !spares.knows(now);
    let mut bytes = Vec::with_capacity(64);
    put_packet(&mut bytes, 0, &[com::RESET_CONNECTION]);
    if asked {
        put_packet(&mut bytes, 0, &query_payload(server.caps, INIT_CONNECT));
    }
    if !say(&mut server, &bytes).await {
        worker.close_server(server);
        return;
    }
    let by_age = settings.pool.until(server.born, server.id, crate::link::DAY, now);
    let until = by_age.min(now + settings.pool.reuse_timeout);
    spares.by_worker[worker.index()].lock().push(Spare { server, asked, until });
}

/// Sends a few bytes if that takes no waiting.
async fn say(server: &mut Backend, bytes: &[u8]) -> bool {
    if send_at_once(&server.stream, bytes) == bytes.len() {
        return true;
    }
    if !server.stream.needs_flush() {
        return false;
    }
    let mut writing = std::pin::pin!(write_all(&mut server.stream, bytes));
    poll_fn(|cx| Poll::Ready(matches!(writing.as_mut().poll(cx), Poll::Ready(Ok(()))))).await
}

/// Logs in on a connection that another client has left, if there is one. `Ok(None)`: a new one is needed.
///
/// # Errors
/// The server's refusal, as at any login.
pub(crate) async fn reuse(
    worker: &Worker,
    request: &LoginRequest,
) -> Result<Option<(Backend, Vec<u8>)>, ConnectError> {
    let spares = &worker.shared.spares;
    let Some(greeting) = worker.shared.upstream.greeting() else { return Ok(None) };
    let Ok(agreed) = caps::requested(request.caps, greeting.caps) else { return Ok(None) };
    let limit = worker.shared.upstream.target().connect_timeout;
    while let Some(Spare { mut server, asked, .. }) = spares.take(worker, request, of_the_session(agreed)) {
        let fresh = timeout(limit, forgotten(worker, &mut server, asked)).await;
        if !matches!(fresh, Ok(Ok(true))) {
            worker.close_server(server);
            continue;
        }
        match change_to(worker, server, request).await {
            Ok(changed) => {
                worker.stats().server_reused();
                return Ok(Some(changed));
            }
            Err(Some(refusal)) => return Err(refusal),
            Err(None) => {}
        }
    }
    Ok(None)
}

/// Reads what the server said to the reset. `false`: it has an `init_connect`.
async fn forgotten(worker: &Worker, server: &mut Backend, asked: bool) -> io::Result<bool> {
    server.stream.take_up(true, worker.is_busy())?;
    if !matches!(reply(server, Shape::Single).await?, Answer::Done { .. }) {
        return Err(io::Error::other("the connection cannot be reset"));
    }
    if !asked {
        return Ok(true);
    }
    let answer = reply(server, Shape::Query).await?;
    Ok(worker.shared.spares.learn(&answer))
}

/// Whether the server has no `init_connect`, which it runs for connections that are new and not at a COM_CHANGE_USER. Asked at
/// most once in [`ASKED`].
pub(crate) async fn runs_nothing_at_logins(worker: &Worker, server: &mut Backend) -> bool {
    let spares = &worker.shared.spares;
    if spares.knows(Instant::now()) {
        return true;
    }
    let payload = query_payload(server.caps, INIT_CONNECT);
    let limit = worker.shared.upstream.target().connect_timeout;
    match timeout(limit, exchange(server, &payload, Shape::Query)).await {
        Ok(Ok(answer)) => spares.learn(&answer),
        Ok(Err(_)) | Err(_) => false,
    }
}

/// Changes the user of an idle connection. `Err(None)`: it is of no use, and another is needed.
pub(crate) async fn change_to(
    worker: &Worker,
    mut server: Backend,
    request: &LoginRequest,
) -> Result<(Backend, Vec<u8>), Option<ConnectError>> {
    let change = ChangeUser {
        user: request.user.clone(),
        auth_response: Vec::new(),
        database: request.database.clone().unwrap_or_default(),
        charset: Some(u16::from(request.charset)),
        plugin: None,
        attributes: request.attributes.clone(),
    };
    let limit = worker.shared.upstream.target().connect_timeout;
    let changed = timeout(limit, change_link_user(worker, &mut server, change, request.secret.clone()));
    match changed.await {
        Ok(Ok(ok)) => Ok((server, ok)),
        Ok(Err(error)) => {
            worker.close_server(server);
            // A connection that breaks had ended before; what the server says in words is its word.
            Err(matches!(error, ConnectError::Refused { .. } | ConnectError::Auth { .. }).then_some(error))
        }
        Err(_) => {
            worker.close_server(server);
            Err(None)
        }
    }
}

/// Closes those of this worker that have waited too long.
pub(crate) fn sweep(worker: &Worker) {
    for server in worker.shared.spares.stale(worker, Instant::now()) {
        worker.close_server(server);
    }
}

/// Closes those of this worker.
pub(crate) fn close_own(worker: &Worker) {
    let own = std::mem::take(&mut *worker.shared.spares.by_worker[worker.index()].lock());
    own.into_iter().for_each(|spare| worker.close_server(spare.server));
}

/// Closes all of them, for a login that finds no connection left, and waits until the server has let them go. False if there
/// was none.
pub(crate) async fn make_room(worker: &Worker) -> bool {
    let all = worker.shared.spares.all();
    let some = !all.is_empty();
    // One that is broken has gone already; those of a server that hangs are closed without its word.
    let _ = timeout(LEAVING, async {
        for mut server in all {
            let _ = hang_up(worker, &mut server).await;
        }
    })
    .await;
    some
}

/// Says COM_QUIT and waits for the end.
async fn hang_up(worker: &Worker, server: &mut Backend) -> io::Result<()> {
    server.stream.take_up(false, worker.is_busy())?;
    let mut bytes = Vec::new();
    put_packet(&mut bytes, 0, &[com::QUIT]);
    write_all(&mut server.stream, &bytes).await?;
    let mut rest = [0; 256];
    while poll_fn(|cx| server.stream.poll_read(cx, &mut rest)).await? > 0 {}
    Ok(())
}
