//! A client that is gone while its request is under way: what runs is ended or left to finish.

use crate::session::{Phase, Session};
use crate::turn::{Turn, give_way};
use std::future::poll_fn;
use std::task::Poll;
use weir_model::CloseReason;
use weir_net::Stream;
use weir_sql::StatementKind as Kind;

/// What to do with a statement whose client is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// End it, and the transaction with it.
    Kill,
    /// Let it finish, as both servers do with what runs outside a transaction (trap P47b).
    Finish,
    /// The server has not got all of the request: closing is enough, it runs nothing.
    Close,
}

/// Ends the session of a client that is gone.
pub(crate) async fn vanish(session: &mut Session) -> CloseReason {
    let fate = fate(session.phase, session.current_kind(), session.current.in_transaction);
    tracing::debug!(event = "client_vanished", client = session.entry.handle.id(), fate = ?fate,
        kind = session.current_kind().as_str(), "a client left in the middle of a statement");
    drop(session.client.take());
    match fate {
        Fate::Close => {}
        Fate::Kill => session.kill_own().await,
        Fate::Finish => finish(session).await,
    }
    CloseReason::ClientGone
}

fn fate(phase: Phase, kind: Kind, in_transaction: bool) -> Fate {
    match (phase, kind) {
        (Phase::Idle | Phase::Request(_) | Phase::Dropped(_), _) => Fate::Close,
        (Phase::LocalInfile(_) | Phase::Binlog, _) => Fate::Close,
        (Phase::Answer, Kind::Read) => Fate::Kill,
        // These end the transaction, or do not belong to one: stopped half-way they would lose what the client
        // asked to keep.
        (Phase::Answer, Kind::TransactionControl | Kind::Xa | Kind::Ddl | Kind::Admin) => Fate::Finish,
        (Phase::Answer, _) if in_transaction => Fate::Kill,
        (Phase::Answer, _) => Fate::Finish,
    }
}

/// Reads and drops the answer, so that the server is not stopped by a full socket. An order to end it holds as ever.
async fn finish(session: &mut Session) {
    session.to_client.take();
    session.client = Stream::Closed;
    let ordered = poll_fn(|cx| {
        session.share.begin();
        loop {
            if session.phase != Phase::Idle && session.is_ordered_to_end() {
                return Poll::Ready(true);
            }
            if session.phase == Phase::Idle || session.is_detached() || session.entry.handle.ended() {
                return Poll::Ready(false);
            }
            if !session.to_server.is_empty()
                && session.to_server.poll(&mut session.server.stream, cx).is_pending()
            {
                return Poll::Pending;
            }
            match session.poll_down_discarding(cx) {
                Ok(Turn::Moved) if session.share.is_used_up() => {
                    give_way(cx);
                    return Poll::Pending;
                }
                Ok(Turn::Moved) => {}
                Ok(Turn::Blocked) => return Poll::Pending,
                Err(_) => return Poll::Ready(false),
            }
        }
    })
    .await;
    if ordered {
        session.kill_own().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_wire::request::Span;

    #[test]
    fn p47b_only_reads_and_statements_in_a_transaction_are_ended() {
        for (phase, kind, in_transaction, expected) in [
            (Phase::Answer, Kind::Read, false, Fate::Kill),
            (Phase::Answer, Kind::Read, true, Fate::Kill),
            (Phase::Answer, Kind::Write, true, Fate::Kill),
            (Phase::Answer, Kind::Write, false, Fate::Finish),
            (Phase::Answer, Kind::Other, false, Fate::Finish),
            (Phase::Answer, Kind::TransactionControl, true, Fate::Finish),
            (Phase::Answer, Kind::Ddl, false, Fate::Finish),
            (Phase::Request(Span::before_packet()), Kind::Write, false, Fate::Close),
            (Phase::Idle, Kind::Other, true, Fate::Close),
        ] {
            assert_eq!(fate(phase, kind, in_transaction), expected, "{phase:?} {kind:?} {in_transaction}");
        }
    }
}
