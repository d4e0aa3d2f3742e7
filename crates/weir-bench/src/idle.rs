//! Thousands of idle clients that each have run a query: what a proxy's memory holds for each of them.

use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::runtime::{Builder, Runtime};
use weir_testkit::client::{ConnectOptions, Tls};

use crate::client::{Client, Login};
use crate::process;
use crate::rig::Endpoint;

/// A proxy needs two descriptors per client, and some for itself.
const SPARE_DESCRIPTORS: u64 = 400;
/// Never more than the experiment asks for.
const WANTED: u64 = 10_000;
/// How many log in at the same time.
const CONCURRENT: usize = 8;
/// The clients are idle when the proxy has used no more than 1 ms of CPU in one of these.
const QUIET: Duration = Duration::from_millis(200);

/// How the clients reach the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// TCP alone.
    Plain,
    /// TLS 1.3.
    Tls,
}

/// What the names of rows over TLS end with.
pub const OVER_TLS: &str = ", TLS";

/// Connected clients. Dropping it closes their connections.
#[derive(Default)]
pub struct Held {
    plain: Vec<TcpStream>,
    // Ahead of the runtimes that their sockets belong to.
    over_tls: Vec<weir_testkit::Client>,
    runtimes: Vec<Runtime>,
}

impl Held {
    /// How many clients.
    #[must_use]
    pub fn len(&self) -> usize {
        self.plain.len() + self.over_tls.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn add(&mut self, other: Self) {
        self.plain.extend(other.plain);
        self.over_tls.extend(other.over_tls);
        self.runtimes.extend(other.runtimes);
    }
}

/// How many clients fit, given that a process may have as many descriptors as this one.
///
/// # Errors
/// When the limit cannot be read.
pub fn clients_that_fit() -> Result<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").context("cannot read /proc/self/limits")?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    let soft = soft.context("/proc/self/limits does not name the limit of open files")?;
    Ok((soft.saturating_sub(SPARE_DESCRIPTORS) / 2).min(WANTED))
}

/// The name of the row with `clients`.
#[must_use]
pub fn row(clients: u64, link: Link) -> String {
    let over = if link == Link::Tls { OVER_TLS } else { "" };
    format!("{clients} idle clients{over}")
}

/// Resident memory per client in kB (1,000 bytes), while `clients` are connected and idle.
///
/// # Errors
/// When a login or a query fails, or the endpoint is no proxy.
pub fn run(endpoint: &Endpoint, login: Login, clients: u64, link: Link) -> Result<f64> {
    let (held, growth) = hold(endpoint, login, clients, link)?;
    Ok(growth as f64 / 1e3 / held.len() as f64)
}

/// Connects `clients` that each run a query, and waits until the proxy is idle. Gives them, and the bytes by which its
/// resident memory has grown.
///
/// # Errors
/// As [`run`].
pub fn hold(endpoint: &Endpoint, login: Login, clients: u64, link: Link) -> Result<(Held, u64)> {
    let pid = endpoint.pid.with_context(|| format!("{} is not a proxy", endpoint.target.name()))?;
    // What the first client of all makes a proxy allocate does not grow with their number.
    drop(connect(endpoint, login, CONCURRENT, link)?);
    await_quiet(pid)?;
    let before = process::resident(pid)?;
    let held = std::thread::scope(|scope| {
        let share = usize::try_from(clients)?.div_ceil(CONCURRENT);
        let threads: Vec<_> =
            (0..CONCURRENT).map(|_| scope.spawn(move || connect(endpoint, login, share, link))).collect();
        let mut held = Held::default();
        for thread in threads {
            held.add(thread.join().map_err(|_| anyhow::anyhow!("a client thread panicked"))??);
        }
        Ok::<_, anyhow::Error>(held)
    })?;
    await_quiet(pid)?;
    let after = process::resident(pid)?;
    Ok((held, after.saturating_sub(before)))
}

fn connect(endpoint: &Endpoint, login: Login, clients: usize, link: Link) -> Result<Held> {
    let mut held = Held::default();
    if link == Link::Tls {
        held.runtimes.push(Builder::new_current_thread().enable_all().build()?);
    }
    let name = endpoint.target.name();
    for number in 0..clients {
        let sql = format!("SELECT c FROM sbtest1 WHERE id={}", number + 1);
        let done = match held.runtimes.first() {
            None => plain(endpoint, login, &sql).map(|client| held.plain.push(client)),
            Some(runtime) => {
                runtime.block_on(over_tls(endpoint, login, &sql)).map(|client| held.over_tls.push(client))
            }
        };
        done.with_context(|| format!("{name}, client {number}"))?;
    }
    Ok(held)
}

fn plain(endpoint: &Endpoint, login: Login, sql: &str) -> Result<TcpStream> {
    let mut client = Client::connect(endpoint.address, login, 1024)?;
    client.query(sql)?;
    Ok(client.into_stream())
}

async fn over_tls(endpoint: &Endpoint, login: Login, sql: &str) -> Result<weir_testkit::Client> {
    let options = ConnectOptions::tcp(endpoint.address, login.user, login.password);
    let mut client = options.database(login.schema).tls(Tls::Unverified).connect().await?;
    client.run(sql).await?;
    Ok(client)
}

fn await_quiet(pid: u32) -> Result<()> {
    loop {
        let before = process::cpu_time(pid)?;
        std::thread::sleep(QUIET);
        if process::cpu_time(pid)?.saturating_sub(before) < Duration::from_millis(1) {
            return Ok(());
        }
    }
}
