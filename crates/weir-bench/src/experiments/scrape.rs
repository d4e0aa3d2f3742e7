//! Weir's own counters, read from its `/metrics`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use weir_testkit::weir::AUTHORIZATION;

/// Weir answers in a millisecond; on a machine whose cores are all taken it may be many.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the cache has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CacheCounts {
    /// Reads that were answered from memory.
    pub hits: f64,
    /// Reads that could have been, and went to the server.
    pub misses: f64,
}

/// Reads the counters of all rules together. What Weir has not counted yet it may not show: that is zero.
///
/// # Errors
/// When nothing answers at `admin`, or it answers with another status than 200.
pub fn cache_counts(admin: SocketAddr) -> Result<CacheCounts> {
    let text = get(admin, "/metrics").with_context(|| format!("reading http://{admin}/metrics"))?;
    Ok(CacheCounts {
        hits: sum(&text, "weir_cache_hits_total"),
        misses: sum(&text, "weir_cache_misses_total"),
    })
}

/// The whole answer to a GET of `path`, with its head.
///
/// # Errors
/// When nothing answers at `admin`, or it answers with another status than 200.
pub fn get(admin: SocketAddr, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect_timeout(&admin, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {admin}\r\n{AUTHORIZATION}Connection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.lines().next().unwrap_or_default();
    ensure!(status.split_whitespace().nth(1) == Some("200"), "it answered {status:?}");
    Ok(answer)
}

/// The sum over all labels of one counter, in the text format of Prometheus.
fn sum(text: &str, name: &str) -> f64 {
    let values = text.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        // Another counter may have a longer name that begins alike. Values of labels may hold blanks.
        let value = match rest.strip_prefix('{') {
            Some(labelled) => labelled.rsplit_once('}')?.1,
            None => rest.strip_prefix(' ')?,
        };
        value.split_whitespace().next()?.parse::<f64>().ok()
    });
    values.sum()
}

#[cfg(test)]
mod tests;
