//! The server goes away and comes back.

use anyhow::{Context, Result, bail, ensure};
use tokio::time::{Duration, Instant, sleep};

use super::{PATIENCE, Place};
use crate::servers::Server;

const QUESTION: &str = "SELECT v FROM old WHERE id = 1";

/// What a rule without a bound for such times has an answer to, once.
const WITHOUT: &str = "SELECT v FROM rows_ WHERE id = 1";

/// Longer than the TTLs of both.
const PAST: Duration = Duration::from_millis(400);

/// Runs it: returns how many answers past their time were served meanwhile.
///
/// # Errors
/// When an answer is wrong.
pub async fn run(place: &Place, server: &mut Server) -> Result<u64> {
    let mut client = place.through_weir().await?;
    let mut other = place.through_weir().await?;
    for question in [QUESTION, WITHOUT] {
        client.run(question).await?;
        client.run(question).await?;
    }
    server.kill9()?;
    sleep(PAST).await;
    let before = place.counted("stale_served").await?;
    for client in [&mut client, &mut other] {
        let answer = client.scalar(QUESTION).await.context("with stale_if_error, the server gone")?;
        ensure!(answer.as_deref() == Some("1"), "{answer:?} while the server is gone");
    }
    let stale = place.counted("stale_served").await? - before;
    ensure!(stale == 2, "{stale} answers counted as stale instead of 2");
    let reply = other.query(WITHOUT).await?;
    ensure!(reply.err().is_some(), "without stale_if_error, the server gone: {reply:?}");
    server.restart()?;
    let mut direct = place.direct().await?;
    direct.run("UPDATE race.old SET v = 2").await?;
    sleep(PAST).await;
    let deadline = Instant::now() + PATIENCE;
    // Weir looks for the server again in its own time, and says no by then.
    loop {
        let mut client = match place.through_weir().await {
            Ok(client) => client,
            Err(_) if Instant::now() < deadline => continue,
            Err(error) => return Err(error),
        };
        let answer = client.scalar(QUESTION).await;
        match answer {
            Ok(Some(version)) if version == "2" => return Ok(stale),
            _ if Instant::now() < deadline => sleep(Duration::from_millis(20)).await,
            other => bail!("{other:?} after the server has come back"),
        }
    }
}
