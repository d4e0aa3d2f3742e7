//! Latency of one client: the median of point selects, and what each target adds to a direct connection.

use std::time::Instant;

use anyhow::{Context, Result};

use crate::client::{Client, Login};
use crate::rig::Endpoint;
use crate::summary::Target;
use crate::sysbench::TABLE_SIZE;

/// The name of the row.
pub const ROW: &str = "latency, 1 client";
/// Queries in a row to one target before the next has its turn: short against what disturbs a machine, long enough
/// that the target's caches are warm.
const BLOCK: u32 = 100;

/// The median latency of one target in microseconds.
pub type Median = (Target, f64);

/// Sends `queries` point selects over one connection to each endpoint, in blocks by turns.
///
/// # Errors
/// When a login or a query fails.
pub fn run(endpoints: &[&Endpoint], login: Login, queries: u32) -> Result<Vec<Median>> {
    let mut probes = Vec::new();
    for endpoint in endpoints {
        let name = endpoint.target.name();
        let client = Client::connect(endpoint.address, login, 16 * 1024).with_context(|| name)?;
        probes.push((endpoint.target, client, Vec::with_capacity(queries as usize)));
    }
    let mut id = 0;
    for block in 0..queries.div_ceil(BLOCK) {
        for (target, client, times) in &mut probes {
            // The first of a block finds the other target's traces in the caches: it is sent and not counted.
            for counted in 0..=BLOCK {
                id = (id * 7 + block + 1) % TABLE_SIZE;
                let sql = format!("SELECT c FROM sbtest1 WHERE id={}", id + 1);
                let start = Instant::now();
                client.query(&sql).with_context(|| target.name())?;
                if counted > 0 {
                    times.push(start.elapsed().as_nanos() as f64 / 1000.0);
                }
            }
        }
    }
    Ok(probes.into_iter().map(|(target, _, times)| (target, median(times))).collect())
}

fn median(times: Vec<f64>) -> f64 {
    crate::summary::Spread::of(times).map_or(f64::NAN, |spread| spread.median)
}
