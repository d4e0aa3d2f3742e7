//! The server's part of a login: a connection of the client's own, or one that it shares.

use crate::backend::Backend;
use crate::confirmed::Beginning;
use crate::link::{Key, Lease, Link};
use crate::login::{Identity, is_access_denied};
use crate::question::read_state;
use crate::settings::Settings;
use crate::sharing::Sharing;
use crate::spare;
use crate::tracker::Tracker;
use crate::worker::Worker;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::{timeout, timeout_at};
use weir_auth::Secret;
use weir_model::ServerFamily;
use weir_pool::{ConnectError, Found, Grant, LoginRequest, Need, ServerConnection};
use weir_session::{PinReason, ServerStatements};
use weir_wire::caps;
use weir_wire::packet::parse_ok_head;

/// How the session of a client begins that the server has confirmed.
#[derive(Debug)]
pub(crate) struct Opened {
    pub server: Backend,
    pub status: u16,
    /// The server's OK, as the client shall see it.
    pub ok: Vec<u8>,
    /// Present where the connection is shared.
    pub sharing: Option<Box<Sharing>>,
}

/// Logs in at the server with the first of the user's passwords that it takes, and remembers that one.
pub(crate) async fn open(
    worker: &Arc<Worker>,
    settings: &Settings,
    identity: &Identity,
    mut request: LoginRequest,
) -> Result<(Opened, Secret), ConnectError> {
    let user = settings.users.get(&identity.user);
    let sharing = user.and_then(|user| user.sharing).unwrap_or(settings.pool.sharing);
    let client_caps = request.caps;
    // Only a session whose state is known can be served from the cache.
    let known =
        sharing == weir_config::Sharing::Transaction || worker.shared.rules.load().caches_for(&identity.user);
    if known {
        request.caps |=
            worker.shared.upstream.greeting().map_or(0, |greeting| greeting.caps & caps::SESSION_TRACK);
    }
    let mut refused = None;
    for secret in identity.candidates() {
        request.secret = secret.clone();
        let opened = match known {
            false => own(worker, &request).await,
            true => shared(worker, settings, &request, Tracker::new(client_caps)).await,
        };
        match opened {
            Ok(mut opened) => {
                match (sharing, &mut opened.sharing) {
                    (weir_config::Sharing::Session, Some(own)) => {
                        own.pins.add(PinReason::SessionMode.into());
                    }
                    (_, Some(shared)) => worker.shared.wishes.note(settings, &shared.key, &request),
                    (_, None) => {}
                }
                identity.accepted(worker, secret);
                return Ok((opened, secret.clone()));
            }
            Err(error) => {
                let wrong = is_access_denied(&error);
                refused = Some(error);
                if !wrong {
                    break;
                }
            }
        }
    }
    let error = refused.unwrap_or(ConnectError::Full { server: String::new(), limit: 0 });
    identity.rejected(worker, &error);
    if error.is_unreachable() {
        worker.stats().server_failed();
    }
    Err(error)
}

/// A connection for this client alone: one that another client has left, or a new one.
async fn own(worker: &Worker, request: &LoginRequest) -> Result<Opened, ConnectError> {
    if let Some((server, ok)) = spare::reuse(worker, request).await? {
        let broken = |e: weir_wire::Malformed| ConnectError::Protocol {
            server: worker.shared.upstream.target().name.clone(),
            what: e.to_string(),
        };
        let status = parse_ok_head(&ok).map_err(broken)?.status;
        return Ok(Opened { server, status, ok, sharing: None });
    }
    let mut connection = connect(worker, request, Duration::ZERO).await?;
    let (status, ok) = (connection.status, std::mem::take(&mut connection.ok));
    Ok(Opened { server: Backend::from(connection), status, ok, sharing: None })
}

/// Opens a connection and logs in. Where there are as many as there may be, those that nobody uses go first; and then this
/// waits up to `patience` for one to end: a connection that has been given up is not gone before it is closed.
pub(crate) async fn connect(
    worker: &Worker,
    request: &LoginRequest,
    patience: Duration,
) -> Result<ServerConnection, ConnectError> {
    let upstream = &worker.shared.upstream;
    let until = tokio::time::Instant::now() + patience;
    let mut made_room = false;
    loop {
        let mut freed = std::pin::pin!(upstream.freed().notified());
        freed.as_mut().enable();
        let error = match weir_pool::login(upstream, request).await {
            Ok(connection) => {
                worker.stats().server_opened();
                return Ok(connection);
            }
            Err(error) => error,
        };
        if !error.is_crowded() {
            return Err(error);
        }
        if !std::mem::replace(&mut made_room, true) && spare::make_room(worker).await {
            continue;
        }
        // What the server itself refuses is not ours to wait for.
        if !matches!(error, ConnectError::Full { .. }) || timeout_at(until, freed).await.is_err() {
            return Err(error);
        }
    }
}

/// Confirms one password: on an idle connection by COM_CHANGE_USER, or by a login.
async fn shared(
    worker: &Arc<Worker>,
    settings: &Settings,
    request: &LoginRequest,
    tracker: Tracker,
) -> Result<Opened, ConnectError> {
    let shared = &worker.shared;
    let target = shared.upstream.target();
    let offered = shared.upstream.greeting().map_or(request.caps, |greeting| greeting.caps);
    let changed = |_| ConnectError::Changed { server: target.name.clone() };
    let key = Key::new(&request.user, caps::requested(request.caps, offered).map_err(changed)?);
    if let Some(begun) = shared.confirmed.get(request, key.dialect, settings.revalidate)
        && shared.upstream.is_current(begun.server.place)
    {
        return Ok(opened(None, key, begun, (Box::new(ServerStatements::nowhere()), tracker)));
    }
    let full = || ConnectError::Full { server: target.name.clone(), limit: target.max_connections };
    let grant = match shared.pool.checkout(&key, Need::Statement, worker.index(), Instant::now()) {
        Found::Now(grant) => grant,
        Found::Queued(waiting) => {
            worker.watch_queue();
            timeout(settings.pool.queue_timeout, waiting).await.map_err(|_| full())?
        }
        Found::Full => return Err(full()),
    };
    let mut lease = Lease::new(worker, Need::Statement, &grant, Instant::now());
    if let Grant::Idle(link) | Grant::Replace(link) = grant {
        let born = link.born;
        match reuse(worker, link, &key, request).await {
            Ok((server, ok)) => {
                lease.born = born;
                return finish(worker, settings, request, (lease, key, tracker), (server, ok)).await;
            }
            Err(Some(refusal)) => return Err(refusal),
            Err(None) => {}
        }
    }
    let mut connection = connect(worker, request, settings.pool.queue_timeout).await?;
    lease.opened();
    let ok = std::mem::take(&mut connection.ok);
    finish(worker, settings, request, (lease, key, tracker), (Backend::from(connection), ok)).await
}

/// Changes the user of an idle connection. `Err(None)`: it is of no use, and another is needed.
async fn reuse(
    worker: &Worker,
    mut link: Box<Link>,
    key: &Key,
    request: &LoginRequest,
) -> Result<(Backend, Vec<u8>), Option<ConnectError>> {
    // MariaDB makes IGNORE_SPACE of the flag at a login, and not at a COM_CHANGE_USER.
    let by_login = link.server.family == ServerFamily::MariaDb && key.dialect & caps::IGNORE_SPACE != 0;
    let usable = link.dialect() == key.dialect
        && !by_login
        && worker.shared.upstream.is_current(link.server.place)
        && link.take_up(worker, Instant::now());
    if !usable || !spare::runs_nothing_at_logins(worker, &mut link.server).await {
        worker.close_server(link.server);
        return Err(None);
    }
    spare::change_to(worker, *link.server, request).await
}

async fn finish(
    worker: &Worker,
    settings: &Settings,
    request: &LoginRequest,
    (lease, key, tracker): (Lease, Key, Tracker),
    (mut server, ok): (Backend, Vec<u8>),
) -> Result<Opened, ConnectError> {
    let name = || worker.shared.upstream.target().name.clone();
    let protocol = |what: String| ConnectError::Protocol { server: name(), what };
    let head = parse_ok_head(&ok).map_err(|e| protocol(e.to_string()));
    let state = read_state(worker, &mut server).await.map_err(|e| protocol(e.to_string()));
    match (head, state) {
        (Ok(head), Ok(state)) => {
            let begun = Beginning { server, status: head.status, ok, state };
            if !settings.revalidate.is_zero() {
                worker.shared.confirmed.note(request, key.dialect, &begun);
            }
            Ok(opened(Some(lease), key, begun, (worker.no_statements(), tracker)))
        }
        (Err(error), _) | (_, Err(error)) => {
            worker.close_server(server);
            Err(error)
        }
    }
}

fn opened(
    lease: Option<Lease>,
    key: Key,
    begun: Beginning,
    (prepared, tracker): (Box<ServerStatements>, Tracker),
) -> Opened {
    let Beginning { server, status, ok, state } = begun;
    let ok = tracker.shown(ok);
    let sharing = Some(Box::new(Sharing::new(key, lease, (state, prepared), (status, tracker))));
    Opened { server, status, ok, sharing }
}
