//! `redis-benchmark` of the distribution: what a GET costs an in-memory store, for scale.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process;
use crate::replay::{self, Outcome};
use crate::rig::Endpoint;

/// Values to choose from, as many as there are different statements on the other side.
const KEYS: u32 = replay::ROWS;
/// Writes at random places leave none of the keys unset: the chance that one is, is 1 in 10^15.
const WRITES: u32 = KEYS * 40;

/// Sets all keys to values of `bytes`.
///
/// # Errors
/// When `redis-benchmark` is missing or fails.
pub fn fill(endpoint: &Endpoint, bytes: u32) -> Result<()> {
    bench(endpoint, "set", bytes, WRITES, 16).map(drop)
}

/// Gets values of `bytes` with so many clients, one request after the other each.
///
/// # Errors
/// As [`fill`].
pub fn get(endpoint: &Endpoint, bytes: u32, clients: u32, requests: u32) -> Result<Outcome> {
    let pid = endpoint.pid.context("redis has no process")?;
    let before = process::cpu_time(pid)?;
    let said = bench(endpoint, "get", bytes, requests, clients)?;
    let cpu = process::cpu_time(pid)?.saturating_sub(before);
    let per_second = parse(&said).with_context(|| format!("redis-benchmark said something else:\n{said}"))?;
    Ok(Outcome { per_second, cpu_us: Some(cpu.as_secs_f64() * 1e6 / f64::from(requests)) })
}

fn bench(endpoint: &Endpoint, test: &str, bytes: u32, requests: u32, clients: u32) -> Result<String> {
    let numbers = [
        ("-p", u32::from(endpoint.address.port())),
        ("-c", clients),
        ("-n", requests),
        ("-d", bytes),
        ("-r", KEYS),
    ];
    let mut command = Command::new("redis-benchmark");
    command.args(["--csv", "-t", test, "-h", &endpoint.address.ip().to_string()]);
    for (flag, number) in numbers {
        command.arg(flag).arg(number.to_string());
    }
    let output = command.output().context("cannot start redis-benchmark; scripts/deps.sh installs it")?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "redis-benchmark failed:\n{said}{complaint}");
    Ok(said)
}

/// The second field of the last line: `"GET","81234.50","0.41",...`.
fn parse(said: &str) -> Option<f64> {
    let line = said.lines().rev().find(|line| line.starts_with("\"GET\""))?;
    line.split(',').nth(1)?.trim_matches('"').parse().ok()
}

#[cfg(test)]
mod tests;
