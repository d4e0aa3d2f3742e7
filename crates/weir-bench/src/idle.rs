//! Thousands of idle clients that each have run a query: what a proxy's memory holds for each of them.

use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result};

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
pub fn row(clients: u64) -> String {
    format!("{clients} idle clients")
}

/// Resident memory per client in kB (1,000 bytes), while `clients` are connected and idle.
///
/// # Errors
/// When a login or a query fails, or the endpoint is no proxy.
pub fn run(endpoint: &Endpoint, login: Login, clients: u64) -> Result<f64> {
    let pid = endpoint.pid.with_context(|| format!("{} is not a proxy", endpoint.target.name()))?;
    // What the first client of all makes a proxy allocate does not grow with their number.
    connect(endpoint, login, CONCURRENT)?;
    await_quiet(pid)?;
    let before = process::resident(pid)?;
    let held = std::thread::scope(|scope| {
        let share = usize::try_from(clients)?.div_ceil(CONCURRENT);
        let threads: Vec<_> =
            (0..CONCURRENT).map(|_| scope.spawn(move || connect(endpoint, login, share))).collect();
        let mut held = Vec::new();
        for thread in threads {
            held.extend(thread.join().map_err(|_| anyhow::anyhow!("a client thread panicked"))??);
        }
        Ok::<_, anyhow::Error>(held)
    })?;
    await_quiet(pid)?;
    let after = process::resident(pid)?;
    Ok(after.saturating_sub(before) as f64 / 1e3 / held.len() as f64)
}

fn connect(endpoint: &Endpoint, login: Login, clients: usize) -> Result<Vec<TcpStream>> {
    let one = |number| -> Result<TcpStream> {
        let mut client = Client::connect(endpoint.address, login, 1024)?;
        client.query(&format!("SELECT c FROM sbtest1 WHERE id={}", number + 1))?;
        Ok(client.into_stream())
    };
    let name = endpoint.target.name();
    (0..clients).map(|number| one(number).with_context(|| format!("{name}, client {number}"))).collect()
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
