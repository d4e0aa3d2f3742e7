//! A statement that the client has prepared, on a connection that has not.

use crate::attach::{self, Trouble, in_time, stopped};
use crate::doing::Doing;
use crate::exchange::{Answer, exchange};
use crate::foreign::Foreign;
use crate::kill::Sent;
use crate::packets::{UNKNOWN_STATEMENT, statement_close};
use crate::question::clean;
use crate::session::{Exit, Session};
use crate::sharing::Sharing;
use crate::watchdog::SERVER_SILENT;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, sleep};
use weir_model::{CloseReason, ServerFamily};
use weir_net::write_all;
use weir_session::{Memory, PinReason, PinSet, Plan, PreparedKey, Server, State, Step, plan_sync};
use weir_wire::command::{self as com, Shape};
use weir_wire::packet::ErrPacket;

/// How long it takes until a KILL QUERY is sent again: MySQL loses one now and then that arrives while a wait begins.
const AGAIN: Duration = Duration::from_secs(1);

/// Prepares on the attached connection what the command at hand needs and it has not. The text is read as it was when
/// the client prepared it: under the schema, `sql_mode`, character sets and so on of then.
pub(crate) async fn prepare_for(session: &mut Session) -> Result<(), Trouble> {
    let Some(sharing) = &session.sharing else { return Ok(()) };
    let statement = sharing.executing.and_then(|id| sharing.statements.get(id).ok());
    let Some(key) = statement.map(|s| Arc::clone(s.key())).filter(|key| sharing.prepared.id(key).is_none())
    else {
        return Ok(());
    };
    // On a connection that the session had already, what its last statement left is still there.
    let had = sharing.actual.is_none();
    let limit = session.limits.server_connect_timeout;
    let states = in_time(limit, async {
        let states = go_back(session, &key).await?;
        make_room(session).await?;
        Ok(states)
    })
    .await?;
    let (answer, interrupted) = prepare(session, key.text()).await?;
    in_time(limit, async {
        let prepared = take(session, &key, answer, interrupted).await?;
        if let Some((now, then)) = &states {
            change_back(session, now, then).await?;
            if had || prepared.is_err() {
                // What it says of its error is gone there.
                session.disturbed();
            }
        }
        prepared.map_err(Trouble::Failed)
    })
    .await
}

/// Reads the session's state back ahead of a COM_STMT_PREPARE that is kept on its connection.
pub(crate) async fn know_to_prepare(session: &mut Session) -> Result<(), Trouble> {
    let server = session.server_kind();
    if session.sharing.as_ref().is_some_and(|sharing| sharing.must_know_to_prepare(server)) {
        crate::settle::read_back_state(session).await?;
    }
    Ok(())
}

impl Sharing {
    /// Whether the state must be read back before the statement at hand is prepared. One that was read in a state which nobody knows
    /// could not be prepared elsewhere, and would keep its connection for as long as the session lasts. Not where the question would
    /// take away something that can be asked for behind COM_STMT_PREPARE (untracked variables may have the server note each question), or where the server takes none.
    pub(crate) fn must_know_to_prepare(&self, server: Server) -> bool {
        use PinReason as P;
        const UNHURT: PinSet = PinSet::of(&[
            P::Transaction,
            P::AutocommitOff,
            P::TemporaryTable,
            P::LockTables,
            P::UserLock,
            P::Handler,
            P::SqlPrepare,
            P::UserVariable,
            P::StateUnknown,
            P::Role,
            P::Cursor,
            P::LongData,
            P::Procedure,
            P::Sequence,
            P::ConnectionId,
            P::SessionMode,
        ]);
        let is_whole = matches!(self.doing, Doing::Prepare { whole: true, .. });
        if !is_whole || self.wanted.is_known() || self.rebase.is_some() || !self.is_attached() {
            return false;
        }
        let mut unhurt = UNHURT;
        if server.family == ServerFamily::MySql {
            // The command itself clears them there, and what reads them is not prepared (1295).
            unhurt.insert(P::Warnings);
        }
        self.pins.why().without(unhurt).is_empty()
    }
}

/// Brings the connection into the state in which the statement was prepared. Returns the state to go back to and this one, where
/// they differ.
async fn go_back(session: &mut Session, key: &PreparedKey) -> Result<Option<(State, State)>, Trouble> {
    if session.sharing.as_ref().is_some_and(|sharing| !sharing.wanted.is_known()) {
        // What it is prepared in must be put back afterwards.
        crate::settle::read_back_state(session).await?;
    }
    let Some(sharing) = &mut session.sharing else { return Ok(None) };
    if key.is_read_alike(&sharing.wanted) {
        return Ok(None);
    }
    let now = sharing.wanted.clone();
    let then = key.prepare_state(&now);
    let Some(steps) = steps(&then, &now, &session.worker.learned.lock().memory) else {
        // Nothing was changed yet.
        return Err(Trouble::Unsent(not_again()));
    };
    sharing.actual = Some(now.clone());
    go(session, &then, steps).await?;
    Ok(Some((now, then)))
}

/// Closes what must go for another statement.
async fn make_room(session: &mut Session) -> Result<(), Trouble> {
    let Some(sharing) = &mut session.sharing else { return Ok(()) };
    sharing.makes_room();
    for id in sharing.prepared.take_to_close() {
        session.server.stream.restart_sequence();
        write_all(&mut session.server.stream, &statement_close(id)).await?;
    }
    Ok(())
}

/// What comes first of what ends a preparation, or is to end it.
enum First {
    Answer(io::Result<Answer>),
    /// A KILL QUERY is to be sent to the server.
    Interrupted,
    /// The server has been silent for too long.
    Late,
    /// The session ends.
    Exit(Exit),
}

/// Sends COM_STMT_PREPARE with the client's own text; the answer, and whether a KILL QUERY was sent to it. The server opens its
/// tables, and waits for their locks as long as the statement itself would. So this has the same time, and who may end the
/// statement ends this. What runs behind an answer from memory is not worth a wait: the client's next command waits with it.
async fn prepare(session: &mut Session, text: &[u8]) -> Result<(Answer, bool), Trouble> {
    let payload = [&[com::STMT_PREPARE][..], text].concat();
    let away = Box::new(session.server.away());
    let mut server = std::mem::replace(&mut session.server, away);
    let kill = format!("KILL QUERY {}", server.id);
    let behind = session.has_behind();
    let limit =
        if behind { session.limits.server_connect_timeout } else { session.limits.server_read_timeout };
    let (mut interrupted, mut given_up, mut first) = (false, false, None);
    let mut stray = false;
    {
        let mut preparing = pin!(exchange(&mut server, &payload, Shape::Prepare));
        let mut silence = pin!(sleep(limit));
        let mut again = pin!(sleep(Duration::ZERO));
        while first.is_none() {
            let next = poll_fn(|cx| {
                if let Poll::Ready(answer) = preparing.as_mut().poll(cx) {
                    return Poll::Ready(First::Answer(answer));
                }
                if let Some(exit) = must_end(session, cx) {
                    return Poll::Ready(First::Exit(exit));
                }
                if !limit.is_zero() && silence.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(First::Late);
                }
                if (given_up || stopped(session).is_some()) && again.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(First::Interrupted);
                }
                Poll::Pending
            });
            match next.await {
                First::Interrupted => {
                    let sent = session.kill_in_time(kill.as_bytes()).await;
                    if matches!(sent, Sent::Refused | Sent::Unknown(_)) {
                        // It may come later.
                        session.entry.handle.will_be_killed();
                        stray = true;
                    }
                    interrupted = true;
                    again.as_mut().reset(Instant::now() + AGAIN);
                }
                First::Late if behind && !given_up => {
                    given_up = true;
                    silence.as_mut().reset(Instant::now() + limit);
                }
                First::Late if !behind => first = Some(First::Exit(silent(limit))),
                other => first = Some(other),
            }
        }
    }
    session.server = server;
    match first {
        // Whose the connection stays, its next statement would meet it.
        Some(First::Answer(Ok(_))) if stray => Err(session.leave_to_stray_kill()),
        Some(First::Answer(answer)) => Ok((answer?, interrupted)),
        Some(First::Exit(exit)) => {
            if !matches!(exit, Exit::Tell(CloseReason::ServerTimeout, _)) {
                // What waits there holds the locks of its transaction.
                session.kill_own().await;
            }
            Err(Trouble::Exit(exit))
        }
        Some(First::Late) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
        Some(First::Interrupted) | None => Err(Trouble::Exit(Exit::Close(CloseReason::ServerGone))),
    }
}

/// How the session ends, if it is to end while a statement is prepared for it.
fn must_end(session: &mut Session, cx: &mut Context<'_>) -> Option<Exit> {
    if session.watch_client(cx).is_err() {
        return Some(Exit::Close(CloseReason::ClientGone));
    }
    let handle = &session.entry.handle;
    if handle.orders.ends() > 0 {
        return Some(Exit::Tell(CloseReason::Killed, session.killed_told()));
    }
    if handle.killed() {
        return Some(Exit::Tell(CloseReason::ServerGone, session.interruption()));
    }
    handle.ended().then(|| session.shut_down())
}

fn silent(limit: Duration) -> Exit {
    let text = format!(
        "Lost connection to MySQL server before the statement was sent (weir: it could not be prepared again within \
         server_read_timeout, {} s); it did not run",
        limit.as_secs_f64()
    );
    Exit::Tell(CloseReason::ServerTimeout, ErrPacket::new(SERVER_SILENT, b"08S01", text))
}

fn stray_kill() -> Exit {
    let why = io::Error::other("weir: whether a KILL QUERY is still on its way there is not known");
    Exit::Tell(CloseReason::ServerGone, attach::lost(&why))
}

/// Takes in what the server has answered. The error is the client's.
async fn take(
    session: &mut Session,
    key: &Arc<PreparedKey>,
    answer: Answer,
    interrupted: bool,
) -> Result<Result<(), ErrPacket>, Trouble> {
    if interrupted {
        // The KILL may have come behind it, whatever it says, and is to meet nothing else.
        exchange(&mut session.server, &[com::PING], Shape::Single).await?;
    }
    let (id, warnings) = match answer {
        Answer::Prepared { id, warnings } => (id, warnings),
        Answer::Refused(err) => {
            if let Some(sharing) = &mut session.sharing {
                // The server has no "last one" any more.
                sharing.last_prepared = 0;
                sharing.prepared.prepared_none();
            }
            return Ok(Err(err));
        }
        Answer::Done { .. } | Answer::TooLong { .. } => {
            return Err(io::Error::other("the answer to COM_STMT_PREPARE").into());
        }
    };
    if warnings > 0 {
        // What is deprecated was told when the client prepared it.
        clean(&mut session.server).await?;
    }
    if let Some(sharing) = &mut session.sharing {
        sharing.has_prepared(Arc::clone(key), id);
    }
    Ok(if interrupted { Err(session.interruption()) } else { Ok(()) })
}

impl Session {
    /// Gives up the connection that a KILL may still come to. Where another can take its place, its session goes on.
    fn leave_to_stray_kill(&mut self) -> Trouble {
        let server = self.server_kind();
        let behind = self.has_behind();
        let interruption = self.interruption();
        match &mut self.sharing {
            Some(sharing) if sharing.is_replaceable() && !behind => {
                sharing.leftovers.after_command(com::SLEEP, false, server);
                // They were there alone.
                sharing.pins.hold(PinSet::EMPTY);
                self.drop_link();
                Trouble::Refused(interruption)
            }
            // Its client may have an answer already.
            _ if behind => Trouble::Exit(Exit::Close(CloseReason::ServerGone)),
            _ => Trouble::Exit(stray_kill()),
        }
    }

    /// The state of the attached connection was changed for a while, and is what it was.
    fn disturbed(&mut self) {
        if let Some(sharing) = &mut self.sharing {
            (sharing.actual, sharing.foreign_parts) = (None, Foreign::ALL);
        }
    }
}

/// What brings a connection from one state to another; `None` where only a new beginning does.
fn steps(to: &State, from: &State, memory: &Memory) -> Option<Vec<Step>> {
    match plan_sync(to, from, memory) {
        Plan::Nothing => Some(Vec::new()),
        Plan::Sync(steps) => Some(steps),
        Plan::Reset(_) | Plan::ChangeUser(_) | Plan::Stay(_) => None,
    }
}

fn not_again() -> ErrPacket {
    let text = "weir: this statement was prepared without a default schema and cannot be prepared again; prepare it anew";
    ErrPacket::new(UNKNOWN_STATEMENT, b"HY000", text)
}

async fn change_back(session: &mut Session, to: &State, from: &State) -> Result<(), Trouble> {
    let steps = steps(to, from, &session.worker.learned.lock().memory);
    match steps {
        Some(steps) => go(session, to, steps).await,
        None => Err(Trouble::Refused(not_again())),
    }
}

async fn go(session: &mut Session, to: &State, steps: Vec<Step>) -> Result<(), Trouble> {
    if steps.is_empty() { Ok(()) } else { attach::sync(session, to, steps).await }
}
