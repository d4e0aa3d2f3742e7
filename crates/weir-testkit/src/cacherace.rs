//! The result cache where much happens at once, on one server behind a Weir.
//!
//! * [`race`]: writers bump versioned rows, through Weir and behind its back; readers check that no answer is older than its TTL
//!   allows, than a wipe that was completed, or than the session's own last write.
//! * [`flights`]: on a miss one asks and the others wait, also when the one is killed or goes away.
//! * [`outage`]: while the server is gone, what is past its time is served within the bound of its rule; afterwards it is not.

pub mod flights;
pub mod outage;
pub mod race;

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::time::{Instant, sleep};

use crate::cachemodel::run::admin;
use crate::client::{Client, ConnectOptions};

/// The TTL of rows that are raced for.
pub const TTL: Duration = Duration::from_millis(250);

/// How long what must come may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);

/// Where everything is.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub server: SocketAddr,
    pub weir: SocketAddr,
    pub admin: SocketAddr,
}

impl Place {
    async fn direct(&self) -> Result<Client> {
        ConnectOptions::tcp(self.server, "root", "").connect().await
    }

    async fn through_weir(&self) -> Result<Client> {
        ConnectOptions::tcp(self.weir, "app", "app-pw").database("race").connect().await
    }

    /// What Weir has counted of a kind, over all rules.
    async fn counted(&self, what: &str) -> Result<u64> {
        let text = admin::cache(self.admin).await?.context("Weir has no API")?;
        let value: serde_json::Value = serde_json::from_str(&text)?;
        value["total"][what].as_u64().with_context(|| format!("no {what} in {text}"))
    }

    /// Waits until Weir has counted so many.
    async fn until_counted(&self, what: &str, wanted: u64) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while self.counted(what).await? < wanted {
            if Instant::now() > deadline {
                bail!("{} {what} instead of {wanted}", self.counted(what).await?);
            }
            // Nothing tells of a counter.
            sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }
}

/// The configuration of the Weir in front of `server`.
pub fn config(server: SocketAddr, admission: &str) -> String {
    format!(
        "[listen]\nmysql = [\"$LISTEN\"]\nadmin = \"$ADMIN\"\n\n\
         [[server]]\nname = \"db1\"\naddress = \"{server}\"\nmax_connections = 40\n\n\
         [pool]\nsharing = \"transaction\"\nqueue_timeout = \"30s\"\n\n\
         [cache]\nadmission = \"{admission}\"\n\n\
         [[rule]]\nname = \"rows\"\nmatch = {{ table = \"rows_\" }}\ncache = {{ ttl = \"{}ms\" }}\n\n\
         [[rule]]\nname = \"gate\"\nmatch = {{ table = \"gate\" }}\ncache = {{ ttl = \"60s\" }}\n\n\
         [[rule]]\nname = \"old\"\nmatch = {{ table = \"old\" }}\n\
         cache = {{ ttl = \"200ms\", stale_if_error = \"60s\" }}\n",
        TTL.as_millis()
    )
}

/// Makes the tables.
///
/// # Errors
/// What the server answers.
pub async fn build(place: &Place) -> Result<()> {
    let mut root = place.direct().await?;
    for sql in [
        "CREATE DATABASE race".to_owned(),
        "USE race".to_owned(),
        "CREATE TABLE rows_ (id INT PRIMARY KEY, v BIGINT NOT NULL)".to_owned(),
        format!(
            "INSERT INTO rows_ VALUES {}",
            (1..=race::ROWS).map(|id| format!("({id}, 0)")).collect::<Vec<_>>().join(",")
        ),
        "CREATE TABLE gate (id INT PRIMARY KEY, v INT NOT NULL)".to_owned(),
        "INSERT INTO gate VALUES (1, 41), (2, 1)".to_owned(),
        "CREATE TABLE old (id INT PRIMARY KEY, v INT NOT NULL)".to_owned(),
        "INSERT INTO old VALUES (1, 1)".to_owned(),
    ] {
        root.run(&sql).await?;
    }
    root.quit().await
}
