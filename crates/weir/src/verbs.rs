//! Command line verbs that ask a running Weir: each is a call of its API.

mod advise;
mod cache;
mod client;
mod edit;
mod explain;
#[cfg(test)]
mod fixture;
mod history;
mod queries;
mod rules;
mod sessions;
mod show;
mod status;
mod token;
mod top;

use crate::cli::{
    AdviseArgs, At, AtPlace, CacheVerb, ExplainArgs, HistoryArgs, KillArgs, Place, QueriesArgs, RulesVerb,
    SessionsArgs, TokenVerb, TopArgs,
};
use anyhow::{Context, Result, bail};
use client::{Client, Request};
use hyper::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;
use weir_admin::{Question, Reloaded};
use weir_config::Address;

/// `weir rules ...`
pub fn rules(verb: RulesVerb) -> Result<()> {
    rules::run(verb)
}

/// `weir cache ...`
pub fn cache(verb: CacheVerb) -> Result<()> {
    cache::run(verb)
}

/// `weir queries ...`
pub fn queries(args: QueriesArgs) -> Result<()> {
    queries::run(args)
}

/// `weir sessions ...`
pub fn sessions(args: SessionsArgs) -> Result<()> {
    sessions::run(args)
}

/// `weir status`
pub fn status(at: &At) -> Result<()> {
    Asked::new(at)?.get("/status")?.show(status::show)
}

/// `weir kill`
pub fn kill(args: KillArgs) -> Result<()> {
    sessions::kill(&args)
}

/// `weir advise ...`
pub fn advise(args: AdviseArgs) -> Result<()> {
    advise::run(args)
}

/// `weir history`
pub fn history(args: HistoryArgs) -> Result<()> {
    history::run(args)
}

/// `weir explain`
pub fn explain(args: ExplainArgs) -> Result<()> {
    let question = Question::from(args.question);
    Asked::new(&args.at)?.post("/explain", &question)?.show(explain::show)
}

/// `weir reload`
pub fn reload(at: &At) -> Result<()> {
    Asked::new(at)?.post("/reload", &serde_json::json!({}))?.show(|done: &Reloaded| match &*done.changes {
        [] => {
            "reloaded: no key has changed; the files that it names (certificates, secrets) were read again\n"
                .to_owned()
        }
        changes => {
            format!("reloaded\n{}", changes.iter().map(|line| format!("  {line}\n")).collect::<String>())
        }
    })
}

/// `weir token ...`
pub fn token(verb: TokenVerb) -> Result<()> {
    token::run(verb)
}

/// `weir top`
pub fn top(args: &TopArgs) -> Result<()> {
    top::run(args)
}

/// A running Weir, and how its answers are shown.
struct Asked {
    client: Client,
    json: bool,
}

/// What it has answered.
struct Answer {
    text: String,
    json: bool,
}

impl Asked {
    fn new(at: &At) -> Result<Self> {
        Ok(Self {
            client: Client::new(address(&at.place)?, token::given(at.token_file.as_deref())?),
            json: at.json,
        })
    }

    fn get(&self, path: &str) -> Result<Answer> {
        self.send(Request::api(Method::GET, path))
    }

    fn post(&self, path: &str, body: &impl Serialize) -> Result<Answer> {
        self.send(Request::api(Method::POST, path).json(body)?)
    }

    /// Refused where the rules are of another version by now.
    fn put_for(&self, version: &str, path: &str, body: &impl Serialize) -> Result<Answer> {
        self.send(Request::api(Method::PUT, path).json(body)?.only_for(version.to_owned()))
    }

    fn delete(&self, path: &str) -> Result<Answer> {
        self.send(Request::api(Method::DELETE, path))
    }

    fn send(&self, request: Request) -> Result<Answer> {
        Ok(Answer { text: self.client.send(request)?, json: self.json })
    }
}

impl Answer {
    fn read<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(&self.text).context("this is another version of Weir than the running one")
    }

    /// Prints it, as JSON or as `table` renders it. What clients have sent does nothing to the terminal.
    fn show<T: DeserializeOwned>(self, table: impl FnOnce(&T) -> String) -> Result<()> {
        if self.json {
            let value: serde_json::Value = serde_json::from_str(&self.text)?;
            return print(&format!("{value:#}"));
        }
        print(&show::printable(&table(&self.read()?)))
    }
}

/// A pipe that is closed early, as by `head`, is no error.
pub fn print(text: &str) -> Result<()> {
    use std::io::{ErrorKind, Write};
    match writeln!(std::io::stdout(), "{}", text.trim_end()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

fn address(place: &AtPlace) -> Result<Address> {
    let path = match place.or_exit() {
        Place::Admin(address) => return Ok(address),
        Place::File(path) => path,
    };
    match weir_config::load_admin(&path) {
        Ok(Some(address)) => Ok(address),
        Ok(None) => bail!(
            "{} has no admin address: put `admin = \"127.0.0.1:6034\"` into [listen] and restart Weir, or give --admin, or set WEIR_ADMIN",
            path.display()
        ),
        Err(report) => bail!("{}", report.to_string().trim_start_matches("error: ")),
    }
}

/// A path with what is asked for.
fn query(path: &str, pairs: &[(&str, String)]) -> String {
    let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect();
    format!("{path}?{}", pairs.join("&"))
}

/// A name as a part of a path (RFC 3986, 2.1).
fn escaped(name: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~');
    name.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}
