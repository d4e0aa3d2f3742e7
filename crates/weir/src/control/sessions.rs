//! Live sessions, for the API.

use std::cmp::{Ordering, Reverse};
use weir_admin::{
    ApiError, Code, KillWhat, NotServed, Session, SessionKilled, SessionSort, SessionState, SessionStatement,
    Sessions, SessionsAsked,
};
use weir_model::Rule;
use weir_proxy::{Kill, SessionSeen, SessionState as State, Shared};

/// Sessions that are shown if nothing is said about it, and at most.
const SHOWN: usize = 20;
const SHOWN_MAX: usize = 1_000;

/// The sessions that were asked for.
pub fn list(shared: &Shared, asked: &SessionsAsked) -> Result<Sessions, ApiError> {
    let limit = asked.limit.unwrap_or(SHOWN);
    if !(1..=SHOWN_MAX).contains(&limit) {
        return Err(ApiError::new(Code::BadRequest, format!("limit is from 1 to {SHOWN_MAX}")));
    }
    let mut seen = shared.registry.seen();
    let rules = shared.rules();
    seen.retain(|session| is_selected(&rules, session, asked));
    let sort = asked.sort.unwrap_or_default();
    seen.sort_by(|a, b| order(sort, a, b).then(a.id.cmp(&b.id)));
    let (total, offset) = (seen.len(), asked.offset.unwrap_or(0));
    let page = seen.iter().skip(offset).take(limit);
    let sessions = page.map(|session| shown(shared, session)).collect();
    Ok(Sessions { sessions, total, offset, not_served: not_served(&rules, &seen) })
}

/// One session.
pub fn show(shared: &Shared, id: &str) -> Result<Session, ApiError> {
    let seen = id.parse().ok().and_then(|id| shared.registry.one_seen(id));
    seen.map(|session| shown(shared, &session)).ok_or_else(|| unknown(id))
}

/// How many of the sessions these rules are for, and cannot serve before they log in again.
pub fn not_served(rules: &[Rule], seen: &[SessionSeen]) -> usize {
    seen.iter().filter(|session| is_lost(rules, session)).count()
}

/// The sessions that there are now, for [`not_served`].
pub fn seen_for(shared: &Shared, rules: &[Rule]) -> Vec<SessionSeen> {
    // To look at all sessions takes a while where there are many, and where nothing is cached there is nothing to find.
    match rules.iter().any(|rule| rule.cache.is_some()) {
        true => shared.registry.seen(),
        false => Vec::new(),
    }
}

fn is_lost(rules: &[Rule], session: &SessionSeen) -> bool {
    rules.iter().any(|rule| session.is_lost_to(rule))
}

pub fn unknown(id: &str) -> ApiError {
    let text = format!("there is no session with the id `{id}`, or it has ended: `weir sessions` shows all");
    ApiError::new(Code::UnknownSession, text)
}

/// Orders a session to end, or its statement.
pub fn kill(shared: &Shared, id: &str, what: KillWhat) -> Result<SessionKilled, ApiError> {
    let kill = match what {
        KillWhat::Query => Kill::Query,
        KillWhat::Connection => Kill::Connection,
    };
    let number = id.parse().map_err(|_| unknown(id))?;
    let state = shared.registry.order(number, kill).ok_or_else(|| unknown(id))?;
    if (what, state) == (KillWhat::Query, State::Binlog) {
        let text = format!(
            "session {id} is sent the binary log, which ends with its session only: `weir kill {id}`"
        );
        return Err(ApiError::new(Code::SendsBinlog, text));
    }
    tracing::info!(
        event = "session_killed",
        client = number,
        what = what.as_str(),
        state = state.as_str(),
        "a session was told through the API to end, or to end its statement"
    );
    Ok(SessionKilled { id: number, what, state: shown_state(state) })
}

fn is_selected(rules: &[Rule], session: &SessionSeen, asked: &SessionsAsked) -> bool {
    let is = |wanted: &Option<String>, name: Option<&[u8]>| {
        wanted.as_ref().is_none_or(|wanted| Some(wanted.as_bytes()) == name)
    };
    is(&asked.user, Some(&session.user))
        && is(&asked.schema, session.schema.as_deref())
        && asked.state.is_none_or(|state| state == shown_state(session.state))
        && asked.pinned.is_none_or(|pinned| pinned != session.pins.is_empty())
        && asked.not_served.is_none_or(|lost| lost == is_lost(rules, session))
}

fn order(sort: SessionSort, a: &SessionSeen, b: &SessionSeen) -> Ordering {
    match sort {
        SessionSort::StateSeconds => {
            let key = |session: &SessionSeen| (session.state == State::Idle, Reverse(session.in_state));
            key(a).cmp(&key(b))
        }
        SessionSort::PinnedSeconds => b.pinned.cmp(&a.pinned),
        SessionSort::Age => b.age.cmp(&a.age),
        SessionSort::Commands => b.commands.cmp(&a.commands),
        SessionSort::Bytes => (b.bytes_in + b.bytes_out).cmp(&(a.bytes_in + a.bytes_out)),
        SessionSort::User => a.user.cmp(&b.user),
        SessionSort::Id => Ordering::Equal,
    }
}

pub fn shown_state(state: State) -> SessionState {
    match state {
        State::Idle => SessionState::Idle,
        State::InTransaction => SessionState::InTransaction,
        State::WaitingForConnection => SessionState::WaitingForConnection,
        State::WaitingForRule => SessionState::WaitingForRule,
        State::WaitingForAnswer => SessionState::WaitingForAnswer,
        State::Running => SessionState::Running,
        State::Answering => SessionState::Answering,
        State::LoadingFile => SessionState::LoadingFile,
        State::Binlog => SessionState::Binlog,
    }
}

fn shown(shared: &Shared, session: &SessionSeen) -> Session {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let digests = shared.digests.as_ref();
    let digest = session.slot.and_then(|slot| digests?.named(session.worker, slot));
    let statement = digest.map(|(digest, _)| SessionStatement {
        id: digest.id.to_string(),
        digest: text(&digest.text),
        text: session.text.as_deref().map(text),
    });
    Session {
        id: session.id,
        user: text(&session.user),
        client: session.peer.map_or_else(|| "unix".to_owned(), |peer| peer.to_string()),
        tls: session.tls.map(str::to_owned),
        schema: session.schema.as_deref().map(text),
        state: shown_state(session.state),
        state_seconds: session.in_state.as_secs_f64(),
        age_seconds: session.age.as_secs_f64(),
        commands: session.commands,
        bytes_in: session.bytes_in,
        bytes_out: session.bytes_out,
        not_served: is_lost(&shared.rules(), session).then_some(NotServed::LoggedInBefore),
        pins: session.pins.iter().map(|pin| pin.as_str().to_owned()).collect(),
        pinned_seconds: session.pinned.map(|time| time.as_secs_f64()),
        server: session.server_id.map(|_| shared.upstream.target().name.to_string()),
        server_connection_id: session.server_id,
        statement,
    }
}
