//! `weir sessions ...`

use super::client::Refused;
use super::show::{bytes, not_served, pairs, part, plural, printable, seconds, short, table_of};
use super::{Asked, escaped, print, query};
use crate::cli::{KillArgs, SessionsArgs, SessionsFilter, SessionsList, SessionsVerb};
use anyhow::{Result, bail, ensure};
use std::collections::BTreeMap;
use weir_admin::{Code, KillAsked, KillWhat, NotServed, Session, SessionKilled, SessionState, Sessions};

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
    if args.ids.is_empty() {
        return kill_all(args, what, &asked);
    }
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

/// Those that are selected now, or none of them where that is not confirmed.
fn kill_all(args: &KillArgs, what: KillWhat, asked: &Asked) -> Result<()> {
    let found = selected(&args.which, asked)?;
    let so_many = plural(found.len() as u64, "session");
    if !args.yes && !found.is_empty() {
        if args.at.json {
            print(&serde_json::to_string_pretty(&found)?)?;
        } else {
            let (shown, total) = (found.iter().take(PREVIEWED).cloned().collect(), found.len());
            print(&printable(&all(&Sessions { sessions: shown, total, offset: 0, not_served: 0 })))?;
        }
        let what = match what {
            KillWhat::Connection => format!("this ends {so_many}, with what they have not committed"),
            KillWhat::Query => format!("this ends what {so_many} run now"),
        };
        bail!("{what}: add --yes if you mean it");
    }
    let (mut told, mut gone, mut refusals, mut failed) = (Vec::new(), 0, Vec::new(), None);
    for session in &found {
        match asked.post(&format!("/sessions/{}/kill", session.id), &KillAsked { what }) {
            Ok(answer) => told.push(answer.read::<serde_json::Value>()?),
            // It has ended by itself.
            Err(error) if is_unknown(&error) => gone += 1,
            // The others are told to end all the same.
            Err(error) if error.is::<Refused>() => refusals.push(format!("session {}: {error}", session.id)),
            Err(error) => {
                failed = Some(error.context(format!("{} of {so_many} were told to end", told.len())));
                break;
            }
        }
    }
    let end = if what == KillWhat::Query { "end their statements" } else { "end" };
    let gone = if gone == 0 { String::new() } else { format!("; {gone} had ended by themselves") };
    let so_many = plural(told.len() as u64, "session");
    match found.is_empty() {
        _ if args.at.json => print(&format!("{:#}", serde_json::Value::Array(told)))?,
        true => print("no such session")?,
        false => print(&format!("{so_many} told to {end}{gone}"))?,
    }
    ensure!(refusals.is_empty(), refusals.join("\nerror: "));
    failed.map_or(Ok(()), Err)
}

/// Sessions that are shown before they are ended.
const PREVIEWED: usize = 20;

/// The list may change so often while it is read, page by page.
const PASSES: usize = 8;

/// All of them, each once. Where sessions come and go between the pages one may be on none of them: it is read until nothing new is there.
fn selected(which: &SessionsFilter, asked: &Asked) -> Result<Vec<Session>> {
    let mut found: BTreeMap<u32, Session> = BTreeMap::new();
    for _ in 0..PASSES {
        let (known, mut offset) = (found.len(), 0);
        loop {
            let mut pairs = vec![("sort", "id".to_owned()), ("limit", "1000".to_owned())];
            pairs.push(("offset", offset.to_string()));
            pairs.extend(filters(which));
            let page: Sessions = asked.get(&query("/sessions", &pairs))?.read()?;
            offset += page.sessions.len();
            let is_last = page.sessions.is_empty() || offset >= page.total;
            found.extend(page.sessions.into_iter().map(|session| (session.id, session)));
            if is_last {
                break;
            }
        }
        // One page is read at one moment.
        if found.len() == known || offset <= 1000 {
            break;
        }
    }
    Ok(found.into_values().collect())
}

fn is_unknown(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Refused>().is_some_and(|refused| refused.0.code == Code::UnknownSession)
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
    let given = [("sort", list.sort.clone()), ("limit", number(list.limit)), ("offset", number(list.offset))];
    let given = given.into_iter().filter_map(|(name, value)| Some((name, value?)));
    query("/sessions", &given.chain(filters(&list.which)).collect::<Vec<_>>())
}

/// As the API takes them.
fn filters(which: &SessionsFilter) -> impl Iterator<Item = (&'static str, String)> {
    let flag = |on: bool| on.then(|| "true".to_owned());
    let given = [
        ("user", which.user.clone()),
        ("schema", which.schema.clone()),
        ("state", which.state.clone()),
        ("pinned", flag(which.pinned)),
        ("not_served", flag(which.not_served)),
    ];
    given.into_iter().filter_map(|(name, value)| Some((name, value?)))
}

fn all(sessions: &Sessions) -> String {
    let shown = sessions.sessions.len();
    if shown == 0 && sessions.offset < sessions.total.max(1) {
        return "no session\n".to_owned();
    }
    let header = [
        "id",
        "user",
        "client",
        "schema",
        "state",
        ">for",
        ">commands",
        "~pins",
        ">connection",
        "~statement",
    ];
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
    let spare = ["commands", "connection", "schema", "client"];
    let mut text = table_of(&header, rows, &spare) + "\n";
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
