//! A thousand clients that each ask once every 100 ms: how many server connections that takes.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::client::{Client, Login};
use crate::rig::Endpoint;
use crate::sysbench::TABLE_SIZE;

/// The name of the row.
pub const ROW: &str = "1,000 clients, a query every 100 ms each";
/// How many clients.
const CLIENTS: u32 = 1000;
/// How often each of them asks.
const EVERY: Duration = Duration::from_millis(100);
/// How often the server's connections are counted.
const COUNT_EVERY: Duration = Duration::from_millis(50);

/// What one run showed.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// The most server connections of the proxy at a time.
    pub connections: f64,
    /// The 95th percentile of latency, in milliseconds.
    pub p95_ms: f64,
}

/// Lets the clients ask for `time`, out of step with each other. `server` has no other clients.
///
/// # Errors
/// When a login or a query fails.
pub fn run(endpoint: &Endpoint, server: &Endpoint, login: Login, time: Duration) -> Result<Outcome> {
    let connect = |_| Ok(Client::connect(endpoint.address, login, 1024)?.into_stream());
    let clients = (0..CLIENTS).map(connect).collect::<Result<Vec<_>>>()?;
    let mut monitor = Client::connect(server.address, login, 4096)?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let load = std::thread::spawn(move || runtime.block_on(load(clients, time)));
    let mut most: f64 = 0.0;
    while !load.is_finished() {
        let connected: f64 = monitor.value("SHOW GLOBAL STATUS LIKE 'Threads_connected'", 1)?.parse()?;
        // One of them counts.
        most = most.max(connected - 1.0);
        std::thread::sleep(COUNT_EVERY);
    }
    let mut times = load.join().map_err(|_| anyhow::anyhow!("the clients' thread panicked"))??;
    ensure!(!times.is_empty(), "no query was answered");
    times.sort_unstable();
    let p95 = times[times.len() * 95 / 100];
    Ok(Outcome { connections: most, p95_ms: p95.as_secs_f64() * 1e3 })
}

async fn load(clients: Vec<std::net::TcpStream>, time: Duration) -> Result<Vec<Duration>> {
    let start = Instant::now();
    let mut tasks = JoinSet::new();
    for (number, client) in clients.into_iter().enumerate() {
        client.set_nonblocking(true)?;
        let client = TcpStream::from_std(client)?;
        // Neighbours are far apart in time: 617 and 1,000 have no common divisor.
        let offset = EVERY * (number as u32 * 617 % CLIENTS) / CLIENTS;
        tasks.spawn(ask_on(client, start + offset, start + time, number as u32));
    }
    let mut times = Vec::new();
    for outcome in tasks.join_all().await {
        times.extend(outcome?);
    }
    Ok(times)
}

async fn ask_on(mut client: TcpStream, first: Instant, end: Instant, number: u32) -> Result<Vec<Duration>> {
    let mut ticks = interval_at(first, EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut times = Vec::new();
    while ticks.tick().await < end {
        let sql = format!("SELECT c FROM sbtest1 WHERE id={}", number % TABLE_SIZE + 1);
        let begun = Instant::now();
        ask(&mut client, &sql).await.context("weir shared")?;
        times.push(begun.elapsed());
    }
    Ok(times)
}

/// Sends one query and reads its rows.
pub(crate) async fn ask(client: &mut TcpStream, sql: &str) -> Result<()> {
    let mut packet = u32::try_from(sql.len() + 1)?.to_le_bytes().to_vec();
    packet.push(3);
    packet.extend_from_slice(sql.as_bytes());
    client.write_all(&packet).await?;
    let (mut ends, mut payload) = (0, Vec::new());
    // One end behind the columns and one behind the rows.
    while ends < 2 {
        let mut head = [0; 4];
        client.read_exact(&mut head).await?;
        let [a, b, c, _] = head;
        payload.resize(u32::from_le_bytes([a, b, c, 0]) as usize, 0);
        client.read_exact(&mut payload).await?;
        ensure!(payload.first() != Some(&0xFF), "error: {}", String::from_utf8_lossy(&payload));
        ends += u32::from(payload.len() < 9 && payload.first() == Some(&0xFE));
    }
    Ok(())
}
