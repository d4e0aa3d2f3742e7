//! Versioned rows under many readers and writers.
//!
//! Each row's version is bumped by one writer at a time, which notes when the server had acknowledged it. From that moment the version before
//! is gone. A reader that gets version x knows: the server was asked before x + 1 was acknowledged. So that moment may not be before
//! the TTL's length ago, before the session's own last write was sent, or before the begin of a wipe that had ended.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use super::{Place, TTL};
use crate::cachemodel::generate::Wipe;
use crate::cachemodel::run::admin;
use crate::client::Client;
use crate::differential::rng::Rng;

/// Rows that are raced for, with ids from 1.
pub const ROWS: usize = 6;

/// What a race is given.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    pub place: Place,
    /// Sessions that read, and at times write, through Weir.
    pub sessions: usize,
    pub seconds: u64,
    pub seed: u64,
}

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    pub reads: u64,
    pub writes: u64,
    pub wipes: u64,
    /// Answers that were not the newest version when they were asked for.
    pub stale: u64,
    pub oldest: Duration,
}

/// When each version of a row was acknowledged; the index is the version.
#[derive(Debug)]
struct Row(Vec<Instant>);

#[derive(Debug)]
struct Shared {
    /// A writer holds one for the whole of its write, readers look into the other.
    writing: Vec<Mutex<()>>,
    rows: Vec<parking::Row>,
    /// The begin of the last wipe that was completed.
    wiped: parking::Moment,
    until: Instant,
}

/// What is read and written for moments only.
mod parking {
    use std::sync::{Mutex, PoisonError};
    use std::time::Instant;

    #[derive(Debug)]
    pub struct Row(pub Mutex<super::Row>);
    #[derive(Debug)]
    pub struct Moment(pub Mutex<Instant>);

    impl Row {
        pub fn with<T>(&self, f: impl FnOnce(&mut super::Row) -> T) -> T {
            f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
        }
    }

    impl Moment {
        pub fn get(&self) -> Instant {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }

        pub fn set(&self, to: Instant) {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = to;
        }
    }
}

/// Runs it.
///
/// # Errors
/// When an answer is too old, or the race cannot be run.
pub async fn run(plan: &Plan) -> Result<Outcome> {
    let began = Instant::now();
    let shared = Arc::new(Shared {
        writing: (0..ROWS).map(|_| Mutex::new(())).collect(),
        rows: (0..ROWS).map(|_| parking::Row(std::sync::Mutex::new(Row(vec![began])))).collect(),
        wiped: parking::Moment(std::sync::Mutex::new(began)),
        until: began + Duration::from_secs(plan.seconds),
    });
    let mut tasks = JoinSet::new();
    for number in 0..plan.sessions {
        let client = plan.place.through_weir().await?;
        tasks.spawn(session(client, Rng::new(plan.seed, number as u64), Arc::clone(&shared)));
    }
    for number in 0..2 {
        let mut client = plan.place.direct().await?;
        client.run("USE race").await?;
        tasks.spawn(behind(client, Rng::new(plan.seed, 1000 + number), Arc::clone(&shared)));
    }
    tasks.spawn(wiper(plan.place, Rng::new(plan.seed, 2000), Arc::clone(&shared)));
    let mut all = Outcome::default();
    while let Some(done) = tasks.join_next().await {
        let done = done.context("a task of the race has panicked")??;
        all.reads += done.reads;
        all.writes += done.writes;
        all.wipes += done.wipes;
        all.stale += done.stale;
        all.oldest = all.oldest.max(done.oldest);
    }
    Ok(all)
}

/// A session through Weir: it reads, and some write.
async fn session(mut client: Client, mut rng: Rng, shared: Arc<Shared>) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let writes = rng.one_in(3);
    let mut own: Option<Instant> = None;
    while Instant::now() < shared.until {
        let row = rng.below(ROWS);
        if writes && rng.one_in(20) {
            own = Some(write(&mut client, row, &shared).await?);
            outcome.writes += 1;
            continue;
        }
        let wiped = shared.wiped.get();
        let before = Instant::now();
        let text = client.scalar(&format!("SELECT v FROM rows_ WHERE id = {}", row + 1)).await?;
        let version: usize = text.context("no row")?.parse()?;
        outcome.reads += 1;
        let (gone, newest) = shared.rows[row].with(|row| (row.0.get(version + 1).copied(), row.0.len() - 1));
        let Some(gone) = gone else { continue };
        outcome.stale += 1;
        outcome.oldest = outcome.oldest.max(before.saturating_duration_since(gone));
        let late = [
            (before.checked_sub(TTL), "its TTL allows"),
            (own, "the session's own last write"),
            (Some(wiped), "a wipe that was completed"),
        ];
        for (bound, what) in late {
            if let Some(bound) = bound.filter(|bound| gone < *bound) {
                bail!(
                    "row {}: version {version} of {newest} was gone {:?} before what {what}",
                    row + 1,
                    bound.saturating_duration_since(gone)
                );
            }
        }
    }
    Ok(outcome)
}

/// Returns when it was sent.
async fn write(client: &mut Client, row: usize, shared: &Shared) -> Result<Instant> {
    let _turn = shared.writing[row].lock().await;
    let sent = Instant::now();
    client.run(&format!("UPDATE rows_ SET v = v + 1 WHERE id = {}", row + 1)).await?;
    shared.rows[row].with(|row| row.0.push(Instant::now()));
    Ok(sent)
}

/// Writes where Weir does not see it.
async fn behind(mut client: Client, mut rng: Rng, shared: Arc<Shared>) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    while Instant::now() < shared.until {
        write(&mut client, rng.below(ROWS), &shared).await?;
        outcome.writes += 1;
        tokio::time::sleep(Duration::from_millis(5 + rng.below(40) as u64)).await;
    }
    Ok(outcome)
}

async fn wiper(place: Place, mut rng: Rng, shared: Arc<Shared>) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    while Instant::now() < shared.until {
        let begin = Instant::now();
        let wipe = match rng.below(3) {
            0 => Wipe::All,
            1 => Wipe::Rule("rows"),
            _ => Wipe::Table("race.rows_".to_owned()),
        };
        admin::wipe(place.admin, &wipe).await?;
        shared.wiped.set(begin);
        outcome.wipes += 1;
        tokio::time::sleep(Duration::from_millis(20 + rng.below(200) as u64)).await;
    }
    Ok(outcome)
}
