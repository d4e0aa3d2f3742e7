//! Questions of Weir's own to a server, on a connection on which nothing else is under way.

use crate::backend::Backend;
use crate::codes::QUERY_INTERRUPTED;
use crate::exchange::{Answer, exchange};
use crate::sharing::kind_of;
use crate::worker::Worker;
use std::io;
use weir_model::ServerFamily;
use weir_session::{Base, State, Unread, Variable};
use weir_wire::caps;
use weir_wire::command::{self as com, Shape};
use weir_wire::packet::ErrPacket;

/// Asks the server to tell when a statement changes something of its session, be it in a trigger.
const TRACKING: &[u8] = b"SET SESSION session_track_state_change=ON";

/// Empties the diagnostics area on MySQL, and changes nothing.
const CLEANER: &[u8] = b"SET @@SESSION.last_insert_id=@@SESSION.last_insert_id";

/// What a session is like that has just begun, or was reset; from now on the server reports its changes.
pub(crate) async fn read_state(worker: &Worker, server: &mut Backend) -> io::Result<State> {
    let kind = kind_of(server);
    let values = ask(server, Base::read_text(kind).as_bytes()).await?;
    let row: Vec<Option<&[u8]>> = values.iter().map(Option::as_deref).collect();
    let (mut base, schema) = Base::from_row(kind, &row).map_err(io::Error::other)?;
    let v = Variable::SESSION_TRACK_STATE_CHANGE;
    if base.present().contains(v) && base.get(v) != Some(b"ON") {
        ask(server, TRACKING).await?;
        base.set(v, b"ON");
    }
    let base = worker.shared.bases.lock().share(base);
    Ok(State::new(base, schema))
}

/// Why a question has no row for an answer. The connection is of use as before.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// The error is in the diagnostics area.
    Refused(ErrPacket),
    /// It is longer than what Weir holds.
    TooLong,
}

/// The row that answers a query of Weir's own.
pub(crate) async fn ask(server: &mut Backend, sql: &[u8]) -> io::Result<Vec<Option<Vec<u8>>>> {
    asked(server, sql).await?.map_err(|unanswered| match unanswered {
        Unanswered::Refused(err) => {
            io::Error::other(format!("{} {}", err.code, String::from_utf8_lossy(&err.message)))
        }
        Unanswered::TooLong => io::Error::other("the server's answer is too long"),
    })
}

/// The same, where a question without an answer is told from a connection that is of no more use.
pub(crate) async fn asked(
    server: &mut Backend,
    sql: &[u8],
) -> io::Result<Result<Vec<Option<Vec<u8>>>, Unanswered>> {
    let (values, warnings) = match query(server, sql).await? {
        Answer::Done { values, warnings, .. } => (Ok(values), warnings),
        Answer::TooLong { warnings } => (Err(Unanswered::TooLong), warnings),
        Answer::Prepared { .. } => return Err(io::Error::other("an answer to nothing")),
        Answer::Refused(err) => return Ok(Err(Unanswered::Refused(err))),
    };
    if warnings > 0 {
        // That FOUND_ROWS() or a variable is deprecated: the next client must not see it.
        clean(server).await?;
    }
    Ok(values)
}

/// The session's user variables are read back, as far as they are known to have changed. What cannot be moved stays.
pub(crate) async fn read_user_variables(
    server: &mut Backend,
    unread: &mut Unread,
    state: &mut State,
) -> io::Result<bool> {
    match query(server, unread.read_text(server.family).as_bytes()).await? {
        Answer::Done { columns, values, warnings } => {
            if warnings > 0 {
                clean(server).await?;
            }
            let row: Vec<_> = values.iter().map(Option::as_deref).collect();
            Ok(unread.read(&columns, &row, state))
        }
        Answer::TooLong { .. } | Answer::Refused(_) => {
            unread.lose();
            Ok(false)
        }
        Answer::Prepared { .. } => Err(io::Error::other("an answer to nothing")),
    }
}

/// Empties the diagnostics area.
pub(crate) async fn clean(server: &mut Backend) -> io::Result<()> {
    let cleaner = match server.family {
        ServerFamily::MySql => CLEANER,
        // What reads no table leaves there what it finds.
        ServerFamily::MariaDb => b"SELECT 1 FROM (SELECT 1) t LIMIT 1",
    };
    match query(server, cleaner).await? {
        Answer::Done { .. } => Ok(()),
        Answer::Prepared { .. } | Answer::Refused(_) | Answer::TooLong { .. } => {
            Err(io::Error::other("the diagnostics area"))
        }
    }
}

pub(crate) async fn query(server: &mut Backend, sql: &[u8]) -> io::Result<Answer> {
    let payload = query_payload(server.caps, sql);
    own(server, &payload, Shape::Query).await
}

/// Sends a command of Weir's own that may as well be sent twice. A KILL QUERY that comes just behind the client's statement may
/// meet it: nobody has meant this one, and the server has forgotten the KILL then.
pub(crate) async fn own(server: &mut Backend, payload: &[u8], shape: Shape) -> io::Result<Answer> {
    match exchange(server, payload, shape).await? {
        Answer::Refused(err) if err.code == QUERY_INTERRUPTED => exchange(server, payload, shape).await,
        answer => Ok(answer),
    }
}

/// A COM_QUERY without attributes.
pub(crate) fn query_payload(caps: caps::Caps, sql: &[u8]) -> Vec<u8> {
    let mut payload = vec![com::QUERY];
    if caps & caps::QUERY_ATTRIBUTES != 0 {
        // No parameters, in one set.
        payload.extend_from_slice(&[0, 1]);
    }
    payload.extend_from_slice(sql);
    payload
}
