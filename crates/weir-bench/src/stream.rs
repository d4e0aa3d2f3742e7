//! A result of 1 GB: how fast it reaches a client that takes all it can get, and how much a proxy's memory grows when
//! the client is slow.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::client::{Client, Login};
use crate::process;
use crate::rig::Endpoint;

/// The name of the row with a client that takes all it can get.
pub const ROW_FAST: &str = "1 GB result, fast client";
/// The name of the row with a slow client.
pub const ROW_SLOW: &str = "1 GB result, slow client";

/// Rows large enough that the server is not busy with their number.
const ROWS: u64 = 100_000;
const ROW_BYTES: u64 = 10_000;
/// What a slow client takes per second. Servers deliver about ten times as much.
const SLOW_BYTES_PER_SECOND: f64 = 150e6;
/// A slow client does nothing at all for so long before its first read: what a proxy would hoard, it hoards now.
const STALL: Duration = Duration::from_secs(1);
/// The client's own buffer. The kernel's come on top of it, on both sides of a proxy.
const ROOM: usize = 256 * 1024;

/// The server makes the row once and sends it again and again.
fn statement() -> String {
    format!("SELECT x FROM (SELECT REPEAT('x', {ROW_BYTES}) AS x LIMIT 1) AS once, seq_1_to_{ROWS}")
}

/// MB per second that a fast client gets.
///
/// # Errors
/// When the connection breaks or a row is missing.
pub fn fast(endpoint: &Endpoint, login: Login) -> Result<f64> {
    let name = endpoint.target.name();
    let mut client = Client::connect(endpoint.address, login, ROOM).with_context(|| name)?;
    let start = Instant::now();
    client.ask(&statement())?;
    let bytes = read(&mut client, |_| {}).with_context(|| name)?;
    Ok(bytes as f64 / 1e6 / start.elapsed().as_secs_f64())
}

/// The growth of the proxy's resident memory, in MB at its peak, while a slow client takes the result.
///
/// # Errors
/// When the connection breaks, a row is missing, or the endpoint is no proxy.
pub fn slow(endpoint: &Endpoint, login: Login) -> Result<f64> {
    let name = endpoint.target.name();
    let pid = endpoint.pid.with_context(|| format!("{name} is not a proxy"))?;
    let mut client = Client::connect(endpoint.address, login, ROOM).with_context(|| name)?;
    // The first statement of a connection may make the proxy allocate what it keeps anyway.
    client.query("SELECT 1")?;
    process::reset_peak(pid)?;
    let before = process::resident(pid)?;
    client.ask(&statement())?;
    std::thread::sleep(STALL);
    let start = Instant::now();
    read(&mut client, |bytes| {
        let due = Duration::from_secs_f64(bytes as f64 / SLOW_BYTES_PER_SECOND);
        if let Some(ahead) = due.checked_sub(start.elapsed()) {
            std::thread::sleep(ahead);
        }
    })
    .with_context(|| name)?;
    let peak = process::resident_peak(pid)?;
    Ok(peak.saturating_sub(before) as f64 / 1e6)
}

/// Reads the whole result, telling `pace` about every megabyte; returns the bytes of all rows.
fn read(client: &mut Client, mut pace: impl FnMut(u64)) -> Result<u64> {
    let mut bytes = 0u64;
    let mut told = 0;
    let rows = client.answer(|size| {
        bytes += size as u64;
        if bytes - told >= 1_000_000 {
            told = bytes;
            pace(bytes);
        }
    })?;
    ensure!(rows == ROWS, "{rows} rows instead of {ROWS}");
    Ok(bytes)
}
