//! sysbench 1.0 as the load generator: what it is told, and what it says.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::client::Login;
use crate::process;
use crate::rig::Endpoint;

/// How many tables are loaded, and how many rows each: small enough to stay in the server's memory, so that the server
/// is as fast as it can be and the proxies show.
pub const TABLES: u32 = 4;
/// Rows per table.
pub const TABLE_SIZE: u32 = 25_000;

/// A script of sysbench with the protocol it is to speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// `oltp_point_select` as text (COM_QUERY).
    PointSelectText,
    /// `oltp_point_select` with statements prepared once (COM_STMT_EXECUTE).
    PointSelectPrepared,
    /// `oltp_read_only`, prepared: 16 statements in a transaction.
    ReadOnly,
    /// `oltp_read_write`, prepared: 20 statements in a transaction, 4 of them writes.
    ReadWrite,
}

impl Work {
    /// All of them, in the order of the report.
    pub const ALL: [Self; 4] =
        [Self::PointSelectText, Self::PointSelectPrepared, Self::ReadOnly, Self::ReadWrite];

    /// The word for it on the command line.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::PointSelectText => "point_select_text",
            Self::PointSelectPrepared => "point_select_prepared",
            Self::ReadOnly => "oltp_read_only",
            Self::ReadWrite => "oltp_read_write",
        }
    }

    /// The name of its row with `threads` clients.
    #[must_use]
    pub fn row(self, threads: u32) -> String {
        format!("{}, {threads}", self.key().replace('_', " "))
    }

    fn script(self) -> &'static str {
        match self {
            Self::PointSelectText | Self::PointSelectPrepared => "oltp_point_select",
            Self::ReadOnly => "oltp_read_only",
            Self::ReadWrite => "oltp_read_write",
        }
    }

    fn ps_mode(self) -> &'static str {
        if self == Self::PointSelectText { "disable" } else { "auto" }
    }
}

/// What one run of sysbench showed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Statements that were answered.
    pub queries: f64,
    /// Statements per second.
    pub per_second: f64,
    /// 95th percentile of the latency of an event (one point select, or one transaction), in milliseconds.
    pub p95_ms: f64,
    /// CPU time of the proxy from the moment all clients were connected, if there is a proxy.
    pub cpu: Option<Duration>,
}

impl Outcome {
    /// CPU time of the proxy per statement in microseconds, if there is a proxy.
    #[must_use]
    pub fn cpu_us(&self) -> Option<f64> {
        self.cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / self.queries)
    }
}

/// Creates and fills the tables.
///
/// # Errors
/// When sysbench is missing or says that it failed.
pub fn prepare(endpoint: &Endpoint, login: Login) -> Result<()> {
    let output = command(Work::PointSelectText, endpoint, login).arg("prepare").output();
    let output = output.context("cannot start sysbench; scripts/deps.sh installs it")?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "sysbench prepare failed:\n{said}");
    Ok(())
}

/// Runs `work` with `threads` clients for `seconds`.
///
/// # Errors
/// When sysbench fails or the proxy has died.
pub fn run(work: Work, threads: u32, seconds: u32, endpoint: &Endpoint, login: Login) -> Result<Outcome> {
    let mut command = command(work, endpoint, login);
    command.arg(format!("--threads={threads}")).arg(format!("--time={seconds}")).arg("run");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut said = String::new();
    let mut before = None;
    let lines = BufReader::new(child.stdout.take().context("sysbench has no output")?).lines();
    for line in lines {
        let line = line?;
        if line.starts_with("Threads started") {
            before = endpoint.pid.map(process::cpu_time).transpose()?;
        }
        said.push_str(&line);
        said.push('\n');
    }
    let after = endpoint.pid.map(process::cpu_time).transpose()?;
    let output = child.wait_with_output()?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "sysbench {} failed:\n{said}{complaint}", work.key());
    let mut outcome = parse(&said).with_context(|| format!("sysbench said something else:\n{said}"))?;
    outcome.cpu = before.zip(after).map(|(before, after)| after.saturating_sub(before));
    Ok(outcome)
}

fn command(work: Work, endpoint: &Endpoint, login: Login) -> Command {
    let mut command = Command::new("sysbench");
    command
        .arg(work.script())
        .arg("--db-driver=mysql")
        .arg(format!("--mysql-host={}", endpoint.address.ip()))
        .arg(format!("--mysql-port={}", endpoint.address.port()))
        .arg(format!("--mysql-user={}", login.user))
        .arg(format!("--mysql-password={}", login.password))
        .arg(format!("--mysql-db={}", login.schema))
        .arg(format!("--tables={TABLES}"))
        .arg(format!("--table-size={TABLE_SIZE}"))
        .arg(format!("--db-ps-mode={}", work.ps_mode()));
    command
}

/// Reads the summary that sysbench 1.0 prints at its end.
fn parse(said: &str) -> Option<Outcome> {
    let field = |name: &str| {
        let line = said.lines().map(str::trim).find_map(|line| line.strip_prefix(name))?;
        let mut words = line.split_whitespace().map(|word| word.trim_start_matches('('));
        Some((words.next()?.to_owned(), words.next().map(str::to_owned)))
    };
    let (queries, per_second) = field("queries:")?;
    let (p95, _) = field("95th percentile:")?;
    Some(Outcome {
        queries: queries.parse().ok()?,
        per_second: per_second?.parse().ok()?,
        p95_ms: p95.parse().ok()?,
        cpu: None,
    })
}

#[cfg(test)]
mod tests;
