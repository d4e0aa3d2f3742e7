//! What a command waits for when no server connection is fit for it: a place in the pool, a login, a change of state.

use crate::backend::Backend;
use crate::codes::QUERY_INTERRUPTED;
use crate::doing::Doing;
use crate::down::SERVER_LOST;
use crate::exchange::Answer;
use crate::link::{Lease, Link, UsedBy};
use crate::login::is_access_denied;
use crate::open::connect;
use crate::question::{clean, own, query, read_state};
use crate::session::{Exit, Session};
use crate::sharing::{Sharing, Wait, plan};
use crate::worker::Worker;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::time::{sleep_until, timeout};
use weir_model::{CloseReason, ServerFamily};
use weir_pool::{ConnectError, Found, Grant, LoginRequest, ServerConnection};
use weir_session::{Next, Plan, Schema, Send, State, Step, synced};
use weir_wire::caps;
use weir_wire::command::{self as com, Shape, shape};
use weir_wire::packet::ErrPacket;

/// ER_CON_COUNT_ERROR.
const TOO_MANY_CONNECTIONS: u16 = 1040;
/// ER_CONNECTION_KILLED, of MariaDB.
pub(crate) const CONNECTION_KILLED: u16 = 1927;
/// ER_UNKNOWN_ERROR, for what has no code of its own.
const UNKNOWN_ERROR: u16 = 1105;

/// Connections that are tried for one command.
const TRIES: u32 = 3;

/// How often a connection is reset or changed for one command: once, then the plan must do.
const ROUNDS: u32 = 3;

/// Why a command cannot be run.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The connection is of no use; nothing of the client's was sent on it.
    Lost(io::Error),
    /// The client is told.
    Refused(ErrPacket),
    /// The same, and the attached connection has the error among its diagnostics.
    Failed(ErrPacket),
    /// The same, and the attached connection was not asked for anything.
    Unsent(ErrPacket),
    /// The session ends.
    Exit(Exit),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Lost(error)
    }
}

/// Makes a server connection fit for the command at hand, which is then taken again. What cannot be done is told to the
/// client in answer to it.
pub(crate) async fn attach(session: &mut Session) -> Result<(), Exit> {
    if let Some(sharing) = &mut session.sharing {
        // What comes now is no time of the server's.
        sharing.attached_at = None;
    }
    let mut last = None;
    for _ in 0..TRIES {
        match ready(session).await {
            Ok(()) => {
                if let Some(sharing) = &mut session.sharing {
                    sharing.fit = true;
                }
                return Ok(());
            }
            Err(Trouble::Exit(exit)) => return Err(exit),
            Err(Trouble::Failed(err)) => {
                session.failed_here();
                session.refuse_next(err);
                return Ok(());
            }
            Err(Trouble::Unsent(err)) => {
                if let Some(sharing) = &mut session.sharing {
                    sharing.actual = None;
                }
                session.refuse_next(err);
                return Ok(());
            }
            Err(Trouble::Refused(err)) => {
                if session.sharing.as_ref().is_some_and(|s| s.actual.is_some() && !s.pins.is_free()) {
                    // It cannot go on elsewhere: what kept the connection, a transaction above all, goes with it.
                    session.drop_link();
                    return Err(Exit::Tell(CloseReason::ServerGone, err));
                }
                session.leave_unfit();
                session.refuse_next(err);
                return Ok(());
            }
            Err(Trouble::Lost(error)) => {
                tracing::debug!(event = "idle_connection_lost", client = session.entry.handle.id(), error = %error);
                let kept = session.sharing.as_ref().is_some_and(|sharing| !sharing.pins.is_free());
                session.drop_link();
                if kept && session.has_behind() {
                    // Its client has the answer.
                    return Err(Exit::Close(CloseReason::ServerGone));
                }
                let err = lost(&error);
                if kept {
                    return Err(Exit::Tell(CloseReason::ServerGone, err));
                }
                last = Some(err);
            }
        }
    }
    if let Some(err) = last {
        session.refuse_next(err);
    }
    Ok(())
}

pub(crate) fn lost(error: &io::Error) -> ErrPacket {
    let text =
        format!("Lost connection to MySQL server before the statement was sent ({error}); it did not run");
    ErrPacket::new(SERVER_LOST, b"08S01", text)
}

async fn ready(session: &mut Session) -> Result<(), Trouble> {
    if session.sharing.as_ref().is_some_and(|sharing| !sharing.is_attached()) {
        let (lease, link) = obtain(session).await?;
        session.attach_link(lease, link);
    }
    let limit = session.limits.server_connect_timeout;
    in_time(limit, take_state(session)).await?;
    crate::prepare_anew::prepare_for(session).await?;
    in_time(limit, crate::prepare_anew::know_to_prepare(session)).await?;
    in_time(limit, take_leftovers(session)).await
}

/// What Weir itself asks of a server that it has reached takes no longer than that (`limits.server_connect_timeout`).
pub(crate) async fn in_time<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, Trouble>>,
) -> Result<T, Trouble> {
    let late = || Trouble::Lost(io::Error::new(io::ErrorKind::TimedOut, "limits.server_connect_timeout"));
    timeout(limit, work).await.unwrap_or_else(|_| Err(late()))
}

/// A connection, as it is: an idle one, or a new one.
async fn obtain(session: &mut Session) -> Result<(Lease, Box<Link>), Trouble> {
    let granted = session.sharing.as_mut().and_then(|sharing| sharing.granted.take());
    let (lease, grant) = match granted {
        Some(granted) => granted,
        None => wait(session).await?,
    };
    let (lease, grant) = match grant {
        Grant::Idle(link) if session.sharing.as_ref().is_some_and(|s| s.shuns(&link)) => {
            another(session, lease, link)
        }
        grant => (lease, grant),
    };
    if let Grant::Idle(mut link) | Grant::Replace(mut link) = grant {
        let same = session.sharing.as_ref().is_some_and(|s| link.serves(&s.key));
        // One that was taken up for the command already is so again.
        if same && link.take_up(&session.worker, Instant::now()) {
            return Ok((lease, link));
        }
        session.worker.close_server(link.server);
    }
    dial(session, lease).await
}

/// Another connection than this one, which the session was the last to use: an idle one, or else a new one in its place. Nobody
/// waits for it while holding this one.
fn another(session: &Session, lease: Lease, link: Box<Link>) -> (Lease, Grant<Box<Link>>) {
    let (worker, now) = (&session.worker, Instant::now());
    let Some(sharing) = &session.sharing else { return (lease, Grant::Idle(link)) };
    let need = sharing.need();
    match worker.shared.pool.checkout(&sharing.key, need, worker.index(), now) {
        Found::Now(grant) => {
            let other = Lease::new(worker, need, &grant, now);
            let until = link.until(&worker.shared.settings().pool, now);
            if let Some(unwanted) = lease.give_back(&sharing.key, link, now, until) {
                worker.close_server(unwanted.server);
            }
            (other, grant)
        }
        Found::Queued(_) | Found::Full => {
            worker.close_server(link.server);
            (lease, Grant::Open)
        }
    }
}

/// Waits for what the pool gives. A client that leaves meanwhile gives its place away.
async fn wait(session: &mut Session) -> Result<(Lease, Grant<Box<Link>>), Trouble> {
    let worker = Arc::clone(&session.worker);
    let shared = &worker.shared;
    let Some(sharing) = &mut session.sharing else {
        return Err(Trouble::Exit(Exit::Close(CloseReason::ServerGone)));
    };
    let (need, now) = (sharing.need(), Instant::now());
    let settings = shared.settings();
    let Wait { waiting, need, begun } = match sharing.waiting.take() {
        Some(wait) => wait,
        None => match shared.pool.checkout(&sharing.key, need, session.worker.index(), now) {
            Found::Now(grant) => return Ok((Lease::new(&worker, need, &grant, now), grant)),
            Found::Queued(waiting) => {
                worker.watch_queue();
                Wait { waiting, need, begun: now }
            }
            Found::Full => {
                return Err(Trouble::Refused(too_many("pool.max_waiting statements wait already")));
            }
        },
    };
    let mut waiting = std::pin::pin!(waiting);
    let until = tokio::time::Instant::from_std(begun) + settings.pool.queue_timeout;
    let mut timer = std::pin::pin!(sleep_until(until));
    let grant = poll_fn(|cx| {
        if let Poll::Ready(grant) = waiting.as_mut().poll(cx) {
            return Poll::Ready(Ok(grant));
        }
        if session.watch_client(cx).is_err() {
            return Poll::Ready(Err(Trouble::Exit(Exit::Close(CloseReason::ClientGone))));
        }
        if let Some(err) = stopped(session) {
            return Poll::Ready(Err(Trouble::Refused(err)));
        }
        if session.entry.handle.ended() {
            let text = "Server shutdown in progress (weir is stopping; the statement did not run)";
            return Poll::Ready(Err(Trouble::Refused(ErrPacket::new(1053, b"08S01", text))));
        }
        timer.as_mut().poll(cx).map(|()| {
            let seconds = settings.pool.queue_timeout.as_secs_f64();
            let text = format!("no server connection became free within pool.queue_timeout, {seconds} s");
            Err(Trouble::Refused(too_many(&text)))
        })
    });
    let grant = grant.await?;
    Ok((Lease::new(&worker, need, &grant, Instant::now()), grant))
}

/// What a KILL has to say to the command that waits for a connection; a session that was killed ends behind this.
pub(crate) fn stopped(session: &Session) -> Option<ErrPacket> {
    let handle = &session.entry.handle;
    let answered = |sharing: &Sharing| !matches!(sharing.doing, Doing::Command(c) if shape(c) == Shape::None);
    // Without an answer nobody is told, and the session would have to end.
    let interrupted = session.interrupted() && session.sharing.as_deref().is_some_and(answered);
    (handle.killed() || interrupted).then(|| session.interruption())
}

impl Session {
    /// The same, for a command that something has to be said to.
    pub(crate) fn interruption(&self) -> ErrPacket {
        if self.entry.handle.killed() && self.server.family == ServerFamily::MariaDb {
            return ErrPacket::new(CONNECTION_KILLED, b"70100", "Connection was killed");
        }
        ErrPacket::new(QUERY_INTERRUPTED, b"70100", "Query execution was interrupted")
    }
}

/// Opens a connection, unless a KILL comes first.
async fn open(session: &Session, request: &LoginRequest) -> Result<ServerConnection, Trouble> {
    let worker = &session.worker;
    let patience = worker.shared.settings().pool.queue_timeout;
    let mut opening = std::pin::pin!(connect(worker, request, patience));
    let opened = poll_fn(|cx| match stopped(session) {
        Some(err) => Poll::Ready(Err(Trouble::Refused(err))),
        None => opening.as_mut().poll(cx).map(Ok),
    });
    opened.await?.map_err(|error: ConnectError| {
        if error.is_unreachable() {
            worker.stats().server_failed();
        }
        if is_access_denied(&error) {
            // The next login asks the server.
            worker.shared.confirmed.forget(&session.identity.user, &session.secret);
        }
        Trouble::Refused(error.to_client())
    })
}

fn too_many(why: &str) -> ErrPacket {
    ErrPacket::new(
        TOO_MANY_CONNECTIONS,
        b"08004",
        format!("Too many connections (weir: {why}; the statement did not run)"),
    )
}

/// Opens a connection as the session's user, and reads what it is like.
async fn dial(session: &mut Session, mut lease: Lease) -> Result<(Lease, Box<Link>), Trouble> {
    let worker = &session.worker;
    let Some(sharing) = &session.sharing else { return Err(io::Error::other("not shared").into()) };
    let user = Arc::clone(&sharing.key.user);
    let request = LoginRequest {
        user: session.identity.user.clone(),
        secret: session.secret.clone(),
        database: login_schema(&sharing.wanted),
        caps: session.client_caps | (session.server.caps & caps::SESSION_TRACK),
        max_packet: 1 << 24,
        charset: session.charset_id,
        attributes: None,
    };
    let connection = open(session, &request).await?;
    worker.shared.wishes.note(&worker.shared.settings(), &sharing.key, &request);
    lease.opened();
    let mut server = Box::new(Backend::from(connection));
    match read_state(worker, &mut server).await {
        Ok(actual) => {
            let mut link = Link::of(server, &user, actual, worker.index(), Instant::now());
            (link.prepared, link.born) = (worker.no_statements(), lease.born);
            Ok((lease, Box::new(link)))
        }
        Err(error) => {
            worker.close_server(server);
            Err(Trouble::Lost(error))
        }
    }
}

/// Brings the attached connection into the state that the command at hand needs.
async fn take_state(session: &mut Session) -> Result<(), Trouble> {
    let foreign = session.sharing.as_ref().is_some_and(|sharing| {
        let new = sharing.actual.is_some();
        new && sharing.doing.reads_variables() && sharing.used_by == UsedBy::Several
    });
    if foreign {
        // A trigger of another session may have set the variable that is asked for.
        reset(session, &[com::RESET_CONNECTION]).await?;
    }
    for _ in 0..ROUNDS {
        let Some(sharing) = &session.sharing else { return Ok(()) };
        let planned = plan(sharing, &session.worker.learned.lock().memory);
        match planned {
            Plan::Nothing => return Ok(()),
            Plan::Sync(steps) => {
                let wanted = sharing.wanted.clone();
                return sync(session, &wanted, steps).await;
            }
            Plan::Reset(_) => reset(session, &[com::RESET_CONNECTION]).await?,
            Plan::ChangeUser(_) => change_user(session).await?,
            Plan::Stay(why) => {
                let text =
                    format!("weir: the session's state is not known ({}); connect again", why.as_str());
                return Err(Trouble::Refused(ErrPacket::new(UNKNOWN_ERROR, b"HY000", text)));
            }
        }
    }
    Err(io::Error::other("the connection does not take the session's state").into())
}

/// The state agrees, and what is to be executed is prepared; what the last statement left comes after that.
async fn take_leftovers(session: &mut Session) -> Result<(), Trouble> {
    let server = session.server_kind();
    let Some(sharing) = &mut session.sharing else { return Ok(()) };
    let there = sharing.actual.is_some().then_some(sharing.insert_id_there);
    match sharing.next(there, server) {
        Next::Anywhere(steps) => {
            for step in &steps {
                run_step(session, step).await?.map_err(Trouble::Refused)?;
            }
        }
        Next::SameConnection => {}
        Next::Unavailable(lost) => {
            let text = format!(
                "weir: what this statement asks of the one before it ({}) was left on a server connection that other clients \
                 needed; run both in one transaction",
                lost.as_str()
            );
            return Err(Trouble::Refused(ErrPacket::new(UNKNOWN_ERROR, b"HY000", text)));
        }
    }
    if let Some(sharing) = &mut session.sharing {
        sharing.found();
    }
    Ok(())
}

/// Carries out the steps of a plan.
pub(crate) async fn sync(session: &mut Session, wanted: &State, steps: Vec<Step>) -> Result<(), Trouble> {
    let mut warned = false;
    for step in &steps {
        // What it was to set is not known after a refusal, and the connection is closed.
        warned |= run_step(session, step).await?.map_err(Trouble::Refused)? > 0;
    }
    if warned {
        // That a character set is deprecated, or the like: none of the client's business.
        clean(&mut session.server).await?;
    }
    let mut learned = session.worker.learned.lock();
    if let Some(sharing) = &mut session.sharing
        && let Some(actual) = &mut sharing.actual
    {
        synced(&steps, wanted, actual, &mut learned.memory);
    }
    Ok(())
}

/// Returns the number of warnings.
async fn run_step(session: &mut Session, step: &Step) -> io::Result<Result<u16, ErrPacket>> {
    let answer = match &step.send {
        Send::InitDb(name) => {
            let payload = [&[com::INIT_DB][..], name].concat();
            own(&mut session.server, &payload, Shape::Single).await?
        }
        Send::Query(sql) => query(&mut session.server, sql).await?,
    };
    Ok(match answer {
        Answer::Done { warnings, .. } | Answer::TooLong { warnings } => Ok(warnings),
        Answer::Prepared { .. } => Ok(0),
        Answer::Refused(err) => Err(err),
    })
}

/// COM_RESET_CONNECTION, and what the connection is like after it.
async fn reset(session: &mut Session, payload: &[u8]) -> Result<(), Trouble> {
    if let Answer::Refused(err) = own(&mut session.server, payload, Shape::Single).await? {
        return Err(io::Error::other(String::from_utf8_lossy(&err.message).into_owned()).into());
    }
    anew(session).await
}

/// The attached connection is like new: nothing is prepared there.
async fn anew(session: &mut Session) -> Result<(), Trouble> {
    let worker = session.worker.clone();
    let actual = read_state(&worker, &mut session.server).await?;
    let used_by = UsedBy::One(session.entry.handle.id());
    if let Some(sharing) = &mut session.sharing {
        sharing.actual = Some(actual);
        sharing.insert_id_there = Some(0);
        sharing.used_by = used_by;
        sharing.prepared.clear();
    }
    Ok(())
}

/// COM_CHANGE_USER to the same user, without a schema.
async fn change_user(session: &mut Session) -> Result<(), Trouble> {
    let request = weir_wire::login::ChangeUser {
        user: session.identity.user.clone(),
        auth_response: Vec::new(),
        database: Vec::new(),
        charset: Some(u16::from(session.charset_id)),
        plugin: None,
        attributes: None,
    };
    let worker = session.worker.clone();
    let secret = session.secret.clone();
    change_link_user(&worker, &mut session.server, request, secret)
        .await
        .map_err(|error| Trouble::Lost(io::Error::other(error.to_string())))?;
    anew(session).await
}

/// COM_CHANGE_USER on a connection that nobody else uses; returns the server's OK.
pub(crate) async fn change_link_user(
    worker: &Worker,
    server: &mut Backend,
    request: weir_wire::login::ChangeUser,
    secret: weir_auth::Secret,
) -> Result<Vec<u8>, ConnectError> {
    let target = worker.shared.upstream.target();
    server.stream.restart_sequence();
    let early = std::mem::take(&mut server.held);
    let mut packets = weir_net::PacketStream::new(server.stream.take(), early, weir_wire::MAX_PAYLOAD);
    let plugin = server.greeting.plugin.clone();
    let nonce = &mut server.nonce;
    let changed =
        weir_pool::change_user(&target, &mut packets, server.caps, request, secret, (&plugin, nonce)).await;
    (server.stream, server.held) = packets.into_parts();
    if let Some(renumber) = &mut server.renumber {
        renumber.restart();
    }
    changed
}

/// The schema that a login can name: in ASCII, for its character set is not agreed yet.
fn login_schema(state: &State) -> Option<Vec<u8>> {
    match state.schema() {
        Schema::Known(name) if name.is_ascii() => Some(name.to_vec()),
        _ => None,
    }
}
