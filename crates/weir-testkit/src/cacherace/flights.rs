//! One flight for each key. A table lock holds the statement on the server for as long as the test looks.

use anyhow::{Context, Result, bail, ensure};
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, sleep};

use super::{PATIENCE, Place};
use crate::cachemodel::generate::Wipe;
use crate::cachemodel::run::admin;
use crate::client::bytes::text_row;
use crate::client::{Client, command};

/// Sessions that ask the same.
const SESSIONS: usize = 17;

const QUESTION: &str = "SELECT SUM(v) FROM gate";
const ANSWER: &str = "42";

/// What becomes of the session that asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leader {
    Stays,
    /// Its client closes the connection.
    Leaves,
    /// KILL QUERY of its statement on the server.
    IsKilled,
    /// KILL of its server connection.
    LosesServer,
}

/// All of them.
pub const LEADERS: [Leader; 4] = [Leader::Stays, Leader::Leaves, Leader::IsKilled, Leader::LosesServer];

/// Runs one; returns how many statements the server had at once at most.
///
/// # Errors
/// When more than one reached the server without need, or an answer is wrong or missing.
pub async fn run(place: &Place, leader: Leader) -> Result<usize> {
    let mut lock = place.direct().await?;
    let mut watch = place.direct().await?;
    let mut clients = Vec::new();
    for _ in 0..SESSIONS {
        clients.push(place.through_weir().await?);
    }
    let mut first = clients.pop().context("a session")?;
    // From then on it is known what the name stands for.
    first.run(QUESTION).await?;
    admin::wipe(place.admin, &Wipe::All).await?;
    lock.run("LOCK TABLES race.gate WRITE").await?;
    first.send(command::QUERY, QUESTION.as_bytes()).await?;
    let asked = until_running(&mut watch, 1).await?;
    let waits = place.counted("waits").await?;
    let mut others = JoinSet::new();
    for client in clients {
        others.spawn(ask(client));
    }
    place.until_counted("waits", waits + SESSIONS as u64 - 1).await.context("sessions that wait")?;
    let mut most = running(&mut watch).await?.len();
    ensure!(most == 1, "{most} statements run on the server, and one would do");
    let id = asked.first().copied().context("the statement's connection")?;
    match leader {
        Leader::Stays => {}
        Leader::Leaves => drop(first.stream().shutdown().await),
        Leader::IsKilled => drop(watch.run(&format!("KILL QUERY {id}")).await?),
        Leader::LosesServer => drop(watch.run(&format!("KILL {id}")).await?),
    }
    if leader != Leader::Stays {
        most = most.max(until_other(&mut watch, id).await?);
    }
    lock.run("UNLOCK TABLES").await?;
    while let Some(answer) = others.join_next().await {
        let answer = answer.context("a session has panicked")??;
        ensure!(answer == ANSWER, "{answer} instead of {ANSWER}");
    }
    if leader == Leader::Stays {
        let reply = first.receive(command::QUERY).await?;
        ensure!(
            reply.err().is_none() && reply.rows().count() == 1,
            "the one that asked was answered {reply:?}"
        );
    }
    Ok(most)
}

async fn ask(mut client: Client) -> Result<String> {
    let answer = client.scalar(QUESTION).await?.context("NULL")?;
    client.quit().await?;
    Ok(answer)
}

/// The connections on which the server runs the statement.
async fn running(watch: &mut Client) -> Result<Vec<u64>> {
    let reply = watch.run("SHOW FULL PROCESSLIST").await?;
    let mut ids = Vec::new();
    for row in reply.rows() {
        let values = text_row(row)?;
        let text = |at: usize| {
            let value = values.get(at).cloned().flatten().unwrap_or_default();
            String::from_utf8_lossy(&value).into_owned()
        };
        if text(7) == QUESTION {
            ids.push(text(0).parse()?);
        }
    }
    Ok(ids)
}

async fn until_running(watch: &mut Client, wanted: usize) -> Result<Vec<u64>> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let ids = running(watch).await?;
        if ids.len() >= wanted {
            return Ok(ids);
        }
        if Instant::now() > deadline {
            bail!("{} statements reached the server instead of {wanted}", ids.len());
        }
        // The server tells nobody of its process list.
        sleep(Duration::from_millis(10)).await;
    }
}

/// Waits until another connection runs the statement, and returns how many were seen at once.
async fn until_other(watch: &mut Client, id: u64) -> Result<usize> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let ids = running(watch).await?;
        if ids.iter().any(|other| *other != id) {
            return Ok(ids.len());
        }
        if Instant::now() > deadline {
            bail!("nobody took over from the session that is gone");
        }
        sleep(Duration::from_millis(10)).await;
    }
}
