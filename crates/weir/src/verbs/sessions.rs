//! `weir sessions ...`

use super::client::Refused;
use super::show::{bytes, not_served, pairs, part, seconds, short, table};
use super::{Asked, escaped, print};
use crate::cli::{KillArgs, SessionsArgs, SessionsList, SessionsVerb};
use anyhow::{Result, ensure};
use weir_admin::{KillAsked, KillWhat, NotServed, Session, SessionKilled, SessionState, Sessions};

pub fn run(args: SessionsArgs) -> Result<()> {
    let SessionsArgs { verb, list, at } = args;
    match verb {
        None => Asked::new(&at)?.get(&path(&list))?.show(all),
        Some(SessionsVerb::Show { id, at }) => {
            Asked::new(&at)?.get(&format!("/sessions/{}", escaped(&id)))?.show(one)
        }
    }
}

/// `weir kill`
///
/// # Errors
/// When one of them cannot be ended; the others are told to end all the same.
pub fn kill(args: &KillArgs) -> Result<()> {
    let what = if args.query { KillWhat::Query } else { KillWhat::Connection };
    let asked = Asked::new(&args.at)?;
    let (mut refusals, mut all, mut failed) = (Vec::new(), Vec::new(), None);
    // One answer is shown as it is, several are an array.
    let gathers = args.at.json && args.ids.len() > 1;
    for id in &args.ids {
        match asked.post(&format!("/sessions/{}/kill", escaped(id)), &KillAsked { what }) {
            Ok(answer) if gathers => all.push(answer.read::<serde_json::Value>()?),
            Ok(answer) => answer.show(killed)?,
            Err(error) if error.is::<Refused>() => refusals.push(error.to_string()),
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    if gathers {
        print(&format!("{:#}", serde_json::Value::Array(all)))?;
    }
    ensure!(refusals.is_empty(), refusals.join("\nerror: "));
    failed.map_or(Ok(()), Err)
}

fn killed(killed: &SessionKilled) -> String {
    let (id, was) = (killed.id, state(killed.state));
    match killed.what {
        KillWhat::Connection => format!("session {id} was told to end; it was: {was}\n"),
        KillWhat::Query if matches!(killed.state, SessionState::Idle | SessionState::InTransaction) => {
            format!("session {id} has no statement to end; it is: {was}\n")
        }
        KillWhat::Query => format!("session {id} was told to end its statement; it was: {was}\n"),
    }
}

fn path(list: &SessionsList) -> String {
    let number = |n: Option<usize>| n.map(|n| n.to_string());
    let pinned = list.pinned.then(|| "true".to_owned());
    let not_served = list.not_served.then(|| "true".to_owned());
    let given = [
        ("sort", &list.sort),
        ("limit", &number(list.limit)),
        ("offset", &number(list.offset)),
        ("user", &list.user),
        ("schema", &list.schema),
        ("state", &list.state),
        ("pinned", &pinned),
        ("not_served", &not_served),
    ];
    let given = given.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    let query: Vec<String> = given.map(|(name, value)| format!("{name}={}", escaped(value))).collect();
    format!("/sessions?{}", query.join("&"))
}

fn all(sessions: &Sessions) -> String {
    let shown = sessions.sessions.len();
    if shown == 0 && sessions.offset < sessions.total.max(1) {
        return "no session\n".to_owned();
    }
    let header =
        ["id", "user", "client", "schema", "state", ">for", ">commands", "pins", ">connection", "statement"];
    let rows = sessions.sessions.iter().map(|session| {
        vec![
            session.id.to_string(),
            session.user.clone(),
            session.client.clone(),
            session.schema.clone().unwrap_or_default(),
            state(session.state).to_owned(),
            seconds(session.state_seconds),
            session.commands.to_string(),
            session.pins.join(", "),
            session.server_connection_id.map_or_else(|| "-".to_owned(), |id| id.to_string()),
            session
                .statement
                .as_ref()
                .map_or_else(String::new, |s| short(s.text.as_ref().unwrap_or(&s.digest))),
        ]
    });
    let mut text = table(&header, rows) + "\n";
    text.push_str(&part(sessions.offset, shown, sessions.total, "sessions"));
    text.push_str(&not_served(sessions.not_served as u64));
    text
}

/// As people say it.
fn state(state: SessionState) -> &'static str {
    match state {
        SessionState::Idle => "idle",
        SessionState::InTransaction => "in transaction",
        SessionState::WaitingForConnection => "waits for connection",
        SessionState::WaitingForRule => "waits for rule",
        SessionState::WaitingForAnswer => "waits for answer",
        SessionState::Running => "running",
        SessionState::Answering => "answering",
        SessionState::LoadingFile => "loading file",
        SessionState::Binlog => "binlog",
    }
}

fn why_not_served(why: NotServed) -> String {
    match why {
        NotServed::LoggedInBefore => {
            "not served: it logged in before there was a cache rule for it; let it connect again, or `weir kill` it".to_owned()
        }
    }
}

fn one(session: &Session) -> String {
    let server = match (&session.server, session.server_connection_id) {
        (Some(server), Some(id)) => format!("{server}, connection {id}"),
        _ => "none now".to_owned(),
    };
    let statement = session.statement.as_ref();
    let pinned = match session.pinned_seconds {
        Some(kept) => format!("{}, for {}", session.pins.join(", "), seconds(kept)),
        None => session.pins.join(", "),
    };
    pairs(&[
        ("session", session.id.to_string()),
        ("user", session.user.clone()),
        ("client", session.client.clone()),
        ("tls", session.tls.clone().unwrap_or_else(|| "none".to_owned())),
        ("schema", session.schema.clone().unwrap_or_default()),
        ("state", format!("{}, for {}", state(session.state), seconds(session.state_seconds))),
        ("age", seconds(session.age_seconds)),
        ("commands", session.commands.to_string()),
        ("bytes", format!("{} in, {} out", bytes(session.bytes_in), bytes(session.bytes_out))),
        ("server", server),
        ("pins", pinned),
        ("cache", session.not_served.map_or_else(String::new, why_not_served)),
        ("digest", statement.map_or_else(String::new, |s| format!("{}\n{}", s.id, s.digest))),
        ("statement", statement.and_then(|s| s.text.clone()).unwrap_or_default()),
    ])
}

#[cfg(test)]
mod tests;
