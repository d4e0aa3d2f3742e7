//! Sessions that share server connections: who may run, what Weir says about it, and how it is told to share.
//!
//! Weir keeps a server connection for a session as long as something pins it. There are fewer connections than
//! sessions, so a session runs only while it has one of a few permits. It takes one ahead of a statement, keeps it
//! while `SHOW WEIR SESSION` says that it is pinned, and gives it back otherwise; then every other session that
//! waits comes first. So there are never more pinned sessions than permits, and two statements of one session have
//! statements of others between them, on the same connections.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail, ensure};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::yield_now;

use crate::client::bytes::text_row;
use crate::client::{Client, ConnectOptions, Response, command};

/// A run in which sessions share connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sharing {
    /// Permits: sessions that may be logging in, running a statement, or pinned at the same time. At least 1.
    pub pinned: usize,
    /// Ask Weir after each statement. Without Weir there is nobody to ask, and no session counts as pinned.
    pub ask: bool,
    /// Every session is pinned: one that is not after a statement takes a lock of its own, on both sides. For that it keeps its
    /// permit, so that there must be one for each.
    pub everybody: bool,
}

/// The permits of a run, and how many sessions are pinned now.
#[derive(Debug, Clone)]
pub struct Permits(Option<(Arc<Semaphore>, Sharing)>, Arc<AtomicUsize>);

impl Permits {
    /// Without `sharing` every session has its permit from the start and forever.
    pub fn new(sharing: Option<Sharing>) -> Self {
        let permits = sharing.map(|sharing| (Arc::new(Semaphore::new(sharing.pinned.max(1))), sharing));
        Self(permits, Arc::default())
    }

    /// For one session, which holds no permit yet.
    pub fn turn(&self) -> Turn {
        Turn { permits: self.clone(), held: None, pinned: false }
    }
}

/// A session's place in the queue for permits, or its permit.
#[derive(Debug)]
pub struct Turn {
    permits: Permits,
    held: Option<OwnedSemaphorePermit>,
    pinned: bool,
}

impl Turn {
    /// Waits for a permit behind all sessions that wait already; at once when it holds one.
    pub async fn take(&mut self) {
        let Permits(Some((semaphore, _)), _) = &self.permits else { return };
        if self.held.is_none() {
            // An error would mean that the semaphore was closed, which nobody does.
            self.held = Arc::clone(semaphore).acquire_owned().await.ok();
        }
    }

    /// Asks Weir how the session stands, counts the answer, and gives the permit back unless the session is pinned.
    /// `client` is None when the session has no connection to Weir. True: the session must be pinned, and is not.
    ///
    /// # Errors
    /// When the answer is not what `SHOW WEIR SESSION` answers.
    pub async fn settle(&mut self, client: Option<&mut Client>, pins: &mut Pins) -> Result<bool> {
        let Permits(Some((_, sharing)), _) = &self.permits else { return Ok(false) };
        if sharing.ask {
            let everybody = sharing.everybody;
            let standing = match client {
                Some(client) => ask(client).await.context("SHOW WEIR SESSION after this statement")?,
                None => Standing::Gone,
            };
            pins.count(&standing);
            pins.at_once = pins.at_once.max(self.level(matches!(standing, Standing::Pinned { .. })));
            match standing {
                Standing::Pinned { .. } => return Ok(false),
                Standing::Free if everybody => return Ok(true),
                Standing::Free | Standing::Gone => {}
            }
        }
        self.held = None;
        // Also where nobody waits for a permit, the others have their turn.
        yield_now().await;
        Ok(false)
    }

    /// Counts this session among those that are pinned now, or not; returns how many there are.
    fn level(&mut self, pinned: bool) -> usize {
        let Permits(_, now) = &self.permits;
        match (std::mem::replace(&mut self.pinned, pinned), pinned) {
            (false, true) => now.fetch_add(1, Ordering::Relaxed) + 1,
            (true, false) => now.fetch_sub(1, Ordering::Relaxed) - 1,
            _ => now.load(Ordering::Relaxed),
        }
    }

    /// True in a run in which sessions share connections.
    pub fn shares(&self) -> bool {
        self.permits.0.is_some()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.level(false);
    }
}

/// How a session stands between two statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It holds no server connection.
    Free,
    /// It holds the server connection of this id, if Weir told one, for these reasons.
    Pinned { reasons: Vec<String>, connection: Option<u64> },
    /// The connection to Weir is closed, so that it holds nothing either.
    Gone,
}

/// What Weir said after the statements of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pins {
    pub free: u64,
    pub pinned: u64,
    pub gone: u64,
    /// A statement counts for every reason that holds after it.
    pub reasons: BTreeMap<String, u64>,
    /// The server connections that were seen to be held.
    pub connections: BTreeSet<u64>,
    /// The most sessions that were pinned at the same time.
    pub at_once: usize,
}

impl Pins {
    pub fn count(&mut self, standing: &Standing) {
        match standing {
            Standing::Free => self.free += 1,
            Standing::Gone => self.gone += 1,
            Standing::Pinned { reasons, connection } => {
                self.pinned += 1;
                for reason in reasons {
                    *self.reasons.entry(reason.clone()).or_default() += 1;
                }
                self.connections.extend(*connection);
            }
        }
    }

    pub fn add(&mut self, other: Self) {
        self.free += other.free;
        self.pinned += other.pinned;
        self.gone += other.gone;
        for (reason, count) in other.reasons {
            *self.reasons.entry(reason).or_default() += count;
        }
        self.connections.extend(other.connections);
        self.at_once = self.at_once.max(other.at_once);
    }
}

/// Makes sure that Weir shares connections: otherwise nothing would be shown.
///
/// # Errors
/// When it does not, or does not answer.
pub async fn check(options: &ConnectOptions) -> Result<()> {
    let mut client = options.connect().await?;
    let reply = client.run("SHOW WEIR SESSION").await.context("this Weir cannot tell about its sessions")?;
    let said = variables(&reply)?;
    client.quit().await?;
    match said.get("sharing").map(String::as_str) {
        Some("transaction") => Ok(()),
        other => bail!("this Weir does not share connections: SHOW WEIR SESSION says sharing = {other:?}"),
    }
}

/// Weir answers this by itself, so that the next statement finds all as this one left it.
async fn ask(client: &mut Client) -> Result<Standing> {
    let body = client.query_body(b"SHOW WEIR SESSION");
    // A connection that was closed behind the last reply shows when the answer is read.
    client.send(command::QUERY, &body).await.ok();
    let reply = client.receive(command::QUERY).await?;
    standing(&reply)
}

/// What an answer to `SHOW WEIR SESSION` says.
fn standing(reply: &Response) -> Result<Standing> {
    if let Some(err) = reply.err() {
        // A connection error (SQLSTATE class 08) announces the end of the connection.
        ensure!(err.state.starts_with("08"), "{err}");
        return Ok(Standing::Gone);
    }
    if reply.closed {
        return Ok(Standing::Gone);
    }
    let said = variables(reply)?;
    let pinned = said.get("pinned").context("it has no row `pinned`")?;
    if pinned == "no" {
        return Ok(Standing::Free);
    }
    let reasons: Vec<_> = pinned
        .split(',')
        .map(|reason| reason.trim().to_owned())
        .filter(|reason| !reason.is_empty())
        .collect();
    ensure!(!reasons.is_empty(), "it says pinned = {pinned:?}: neither `no` nor a reason");
    let connection = said.get("server_connection_id").map(|id| id.parse::<u64>()).transpose();
    let connection = connection.context("its server_connection_id is no number")?.filter(|id| *id != 0);
    Ok(Standing::Pinned { reasons, connection })
}

/// The rows of two columns, Variable_name and Value.
fn variables(reply: &Response) -> Result<BTreeMap<String, String>> {
    let text = |value: Option<Vec<u8>>| String::from_utf8_lossy(&value.unwrap_or_default()).into_owned();
    let mut all = BTreeMap::new();
    for row in reply.rows() {
        let [name, value] = <[_; 2]>::try_from(text_row(row)?)
            .map_err(|row| anyhow::anyhow!("a row of {} columns instead of 2", row.len()))?;
        all.insert(text(name), text(value));
    }
    Ok(all)
}

/// The configuration of a Weir in front of `backend`, else with all the defaults. `sharing` is what `[pool]` calls
/// it: `session` or `transaction`.
pub fn config(backend: SocketAddr, sharing: &str, connections: usize, pinned: usize) -> String {
    // What Weir lets be pinned of the connections, in percent: its default, or more where the permits are more.
    const USUAL_SHARE: usize = 80;
    let share = USUAL_SHARE.max((pinned * 100).div_ceil(connections.max(1))).min(100);
    format!(
        "[listen]\nmysql = [\"$LISTEN\"]\n\n\
         [[server]]\nname = \"db1\"\naddress = \"{backend}\"\nmax_connections = {connections}\n\n\
         [pool]\nsharing = \"{sharing}\"\npinned_share = {share}\nqueue_timeout = \"10s\"\n"
    )
}

#[cfg(test)]
mod tests;
