//! Busy clients among thousands of idle ones that share connections with them: what the idle ones cost the busy.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::client::{Client, Login};
use crate::idle::{self, Link};
use crate::paced;
use crate::rig::Endpoint;
use crate::sysbench::TABLE_SIZE;

/// How many clients are busy.
const BUSY: u32 = 64;
/// The busy ones, alone and among the idle, take turns so often: what disturbs the machine then meets both. The idle ones
/// cannot leave in between, for then the next would find the memory that they left.
const TURNS: u32 = 3;
/// How often the server's connections are counted.
const COUNT_EVERY: Duration = Duration::from_millis(50);

/// What the busy clients saw.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Queries per second of all of them.
    pub per_second: f64,
    /// The 99th percentile of latency in milliseconds.
    pub p99_ms: f64,
    /// The most server connections of the proxy at a time.
    pub connections: f64,
}

/// The name of the row of the busy clients without any others.
#[must_use]
pub fn row_alone() -> String {
    format!("{BUSY} busy clients alone")
}

/// The name of the row with `clients` idle ones.
#[must_use]
pub fn row(clients: u64) -> String {
    format!("{BUSY} busy clients among {clients} idle")
}

/// Lets the busy clients ask without a pause, for `time` at `alone`, which has no other clients, and for `time` at
/// `crowded`, where `clients` are idle; each with the server behind it. Gives both, and the kB (1,000 bytes) for each idle one.
///
/// # Errors
/// When a login or a query fails.
pub fn run(
    alone: [&Endpoint; 2],
    crowded: [&Endpoint; 2],
    login: Login,
    clients: u64,
    time: Duration,
) -> Result<(Outcome, Outcome, f64)> {
    let (held, growth) = idle::hold(crowded[0], login, clients, Link::Plain)?;
    let mut seen = [Seen::default(), Seen::default()];
    for _ in 0..TURNS {
        for (seen, endpoints) in seen.iter_mut().zip([alone, crowded]) {
            busy(endpoints, login, time / TURNS, seen)?;
        }
    }
    let [alone, crowded] = seen.map(|seen| seen.outcome(time));
    Ok((alone?, crowded?, growth as f64 / 1e3 / held.len() as f64))
}

#[derive(Default)]
struct Seen {
    times: Vec<Duration>,
    connections: f64,
}

impl Seen {
    fn outcome(mut self, time: Duration) -> Result<Outcome> {
        self.times.sort_unstable();
        let p99 = self.times.get(self.times.len() * 99 / 100).context("no query was answered")?;
        Ok(Outcome {
            per_second: self.times.len() as f64 / time.as_secs_f64(),
            p99_ms: p99.as_secs_f64() * 1e3,
            connections: self.connections,
        })
    }
}

fn busy(endpoints: [&Endpoint; 2], login: Login, time: Duration, seen: &mut Seen) -> Result<()> {
    let [endpoint, server] = endpoints;
    let connect = |_| Ok(Client::connect(endpoint.address, login, 1024)?.into_stream());
    let clients = (0..BUSY).map(connect).collect::<Result<Vec<_>>>()?;
    let mut monitor = Client::connect(server.address, login, 4096)?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let load = std::thread::spawn(move || runtime.block_on(load(clients, time)));
    while !load.is_finished() {
        let connected: f64 = monitor.value("SHOW GLOBAL STATUS LIKE 'Threads_connected'", 1)?.parse()?;
        // One of them counts.
        seen.connections = seen.connections.max(connected - 1.0);
        std::thread::sleep(COUNT_EVERY);
    }
    seen.times.extend(load.join().map_err(|_| anyhow::anyhow!("the clients' thread panicked"))??);
    ensure!(!seen.times.is_empty(), "no query was answered");
    monitor.quit()
}

async fn load(clients: Vec<std::net::TcpStream>, time: Duration) -> Result<Vec<Duration>> {
    let end = Instant::now() + time;
    let mut tasks = JoinSet::new();
    for (number, client) in (0..BUSY).zip(clients) {
        client.set_nonblocking(true)?;
        tasks.spawn(ask_until(TcpStream::from_std(client)?, end, number));
    }
    let mut times = Vec::new();
    for outcome in tasks.join_all().await {
        times.extend(outcome?);
    }
    Ok(times)
}

async fn ask_until(mut client: TcpStream, end: Instant, number: u32) -> Result<Vec<Duration>> {
    let (mut id, mut times) = (number, Vec::new());
    while Instant::now() < end {
        id = (id * 7 + 1) % TABLE_SIZE;
        let begun = Instant::now();
        paced::ask(&mut client, &format!("SELECT c FROM sbtest1 WHERE id={}", id + 1)).await?;
        times.push(begun.elapsed());
    }
    Ok(times)
}
