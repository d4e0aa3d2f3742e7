//! What Weir holds at a moment, by its own word, the system's and the server's.

use std::fmt;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::client::Client;
use crate::weir::AUTHORIZATION;

/// What a client takes and must give back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// `weir_clients_connected`
    pub clients: u64,
    /// `weir_logins_pending`
    pub pending: u64,
    /// `weir_server_connections_open`
    pub server_connections: u64,
    /// Open descriptors of Weir's process.
    pub descriptors: u64,
    /// The server's `Threads_connected`.
    pub threads: u64,
    /// The server's `Prepared_stmt_count`.
    pub statements: u64,
}

impl Account {
    /// Counts now.
    ///
    /// # Errors
    /// When Weir or the server does not answer.
    pub async fn take(pid: u32, admin: SocketAddr, direct: &mut Client) -> Result<Self> {
        let metrics = metrics(admin)?;
        let threads = counted(direct, "Threads_connected").await?;
        let statements = counted(direct, "Prepared_stmt_count").await?;
        Ok(Self {
            clients: gauge(&metrics, "weir_clients_connected")?,
            pending: gauge(&metrics, "weir_logins_pending")?,
            server_connections: gauge(&metrics, "weir_server_connections_open")?,
            descriptors: fs::read_dir(format!("/proc/{pid}/fd"))?.count() as u64,
            threads,
            statements,
        })
    }
}

impl Account {
    /// Clients that share connections may have fewer at one moment than at another.
    pub fn count_one_connection_per_client(&mut self) {
        let more = self.clients.saturating_sub(self.server_connections);
        self.server_connections += more;
        self.descriptors += more;
        self.threads += more;
    }

    /// Whether the same clients hold no more than that.
    pub fn is_within(&self, most: &Self) -> bool {
        (self.clients, self.pending) == (most.clients, most.pending)
            && self.server_connections <= most.server_connections
            && self.descriptors <= most.descriptors
            && self.threads <= most.threads
            && self.statements <= most.statements
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} clients, {} pending, {} server connections, {} descriptors, {} server threads, {} prepared statements",
            self.clients,
            self.pending,
            self.server_connections,
            self.descriptors,
            self.threads,
            self.statements
        )
    }
}

/// One of the server's status variables.
async fn counted(direct: &mut Client, name: &str) -> Result<u64> {
    let told = direct.run(&format!("SHOW GLOBAL STATUS LIKE '{name}'")).await?;
    let row = told.rows().next().with_context(|| format!("no {name}"))?;
    let values = crate::client::bytes::text_row(row)?;
    let value = values.into_iter().nth(1).flatten().with_context(|| format!("{name} is NULL"))?;
    Ok(String::from_utf8_lossy(&value).parse()?)
}

/// Everything at `/metrics`.
///
/// # Errors
/// When Weir does not answer 200.
pub fn metrics(admin: SocketAddr) -> Result<String> {
    get(admin, "/metrics")
}

/// The sum of a metric over all its labels, or of the one sample whose labels are in the name.
///
/// # Errors
/// When it is not there.
pub fn gauge(metrics: &str, name: &str) -> Result<u64> {
    let mut found = None;
    for line in metrics.lines().filter(|line| line.starts_with(name)) {
        if let Some((label, value)) = line.rsplit_once(' ')
            && (label.len() == name.len() || label[name.len()..].starts_with('{'))
        {
            found = Some(found.unwrap_or(0) + value.parse::<f64>()? as u64);
        }
    }
    found.with_context(|| format!("no {name} in /metrics"))
}

/// One GET on a connection of its own.
///
/// # Errors
/// When the answer is not 200 or takes longer than 20 s.
pub fn get(admin: SocketAddr, path: &str) -> Result<String> {
    const PATIENCE: Duration = Duration::from_secs(20);
    let mut stream = TcpStream::connect_timeout(&admin, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: weir\r\n{AUTHORIZATION}Connection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    ensure!(answer.starts_with("HTTP/1.1 200"), "{path}: {}", answer.lines().next().unwrap_or("nothing"));
    Ok(answer)
}

/// Resident bytes of a process.
///
/// # Errors
/// When it has ended.
pub fn resident(pid: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()).context("no VmRSS in /proc")?;
    Ok(kib.parse::<u64>()? * 1024)
}

#[cfg(test)]
mod tests;
