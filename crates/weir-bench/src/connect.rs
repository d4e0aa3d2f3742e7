//! Connect, one query, quit: how many whole connections per second each target takes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::client::{Client, Login};
use crate::process;
use crate::rig::Endpoint;

/// How many clients come and go at the same time.
pub const CONCURRENT: usize = 16;
/// The name of the row.
pub const ROW: &str = "connect, query, quit";
/// The same with MySQL behind, which takes far longer to log somebody in than MariaDB.
pub const ROW_MYSQL: &str = "connect, query, quit, MySQL";

/// What one run showed.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Whole connections per second.
    pub per_second: f64,
    /// CPU time of the proxy per connection in microseconds, if there is a proxy.
    pub cpu_us: Option<f64>,
}

/// Lets [`CONCURRENT`] clients log in, run `SELECT 1` and quit, over and over for `time`.
///
/// # Errors
/// With the first login or query that fails: the figure is only worth something without any.
pub fn run(endpoint: &Endpoint, login: Login, time: Duration) -> Result<Outcome> {
    let stop = AtomicBool::new(false);
    let done = AtomicU64::new(0);
    let before = endpoint.pid.map(process::cpu_time).transpose()?;
    let start = Instant::now();
    let elapsed = std::thread::scope(|scope| {
        let one = || come_and_go(endpoint, login, &stop, &done);
        let clients: Vec<_> = (0..CONCURRENT).map(|_| scope.spawn(one)).collect();
        std::thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        for client in clients {
            client.join().map_err(|_| anyhow::anyhow!("a client thread panicked"))??;
        }
        Ok::<_, anyhow::Error>(start.elapsed())
    })?;
    let after = endpoint.pid.map(process::cpu_time).transpose()?;
    let count = done.into_inner() as f64;
    let cpu = before.zip(after).map(|(before, after)| after.saturating_sub(before));
    let cpu_us = cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / count);
    Ok(Outcome { per_second: count / elapsed.as_secs_f64(), cpu_us })
}

fn come_and_go(endpoint: &Endpoint, login: Login, stop: &AtomicBool, done: &AtomicU64) -> Result<()> {
    let name = endpoint.target.name();
    while !stop.load(Ordering::Relaxed) {
        let mut client = Client::connect(endpoint.address, login, 1024).with_context(|| name)?;
        client.query("SELECT 1").with_context(|| name)?;
        client.quit().with_context(|| name)?;
        done.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}
