//! One run of sysbench, described by value: what it sends, how much of it, what it said, and what it cost whom.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::client::Login;
use crate::process::{self, Cpu};

/// What sysbench runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Script {
    /// One SELECT by primary key.
    PointSelect,
    /// 14 SELECTs in a transaction.
    ReadOnly,
    /// The same without the transaction (`--skip-trx`).
    ReadOnlySkipTrx,
    /// 14 SELECTs and 4 writes in a transaction.
    ReadWrite,
    /// 14 SELECTs, and then 4 writes in a transaction (`lua/oltp_nontran.lua`).
    Nontran,
    /// An indexed UPDATE, then 15 ms of rest (`lua/light_writer.lua`).
    LightWriter,
}

impl Script {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PointSelect => "point selects",
            Self::ReadOnly => "oltp_read_only",
            Self::ReadOnlySkipTrx => "oltp_read_only --skip-trx",
            Self::ReadWrite => "oltp_read_write",
            Self::Nontran => "oltp_nontran",
            Self::LightWriter => "light writer",
        }
    }

    /// Statements in one event as sysbench defines it, `BEGIN` and `COMMIT` included.
    #[must_use]
    pub fn statements(self) -> u32 {
        match self {
            Self::PointSelect | Self::LightWriter => 1,
            Self::ReadOnly => 16,
            Self::ReadOnlySkipTrx => 14,
            Self::ReadWrite | Self::Nontran => 20,
        }
    }

    /// What sysbench is told: one of its own scripts, or the path of one of ours.
    fn argument(self, ours: &Scripts) -> PathBuf {
        match self {
            Self::PointSelect => "oltp_point_select".into(),
            Self::ReadOnly | Self::ReadOnlySkipTrx => "oltp_read_only".into(),
            Self::ReadWrite => "oltp_read_write".into(),
            Self::Nontran => ours.folder().join("oltp_nontran.lua"),
            Self::LightWriter => ours.folder().join("light_writer.lua"),
        }
    }
}

/// A folder with the scripts of our own, for sysbench takes them from files.
pub struct Scripts(tempfile::TempDir);

impl Scripts {
    /// Writes them.
    ///
    /// # Errors
    /// When the folder for temporary files cannot be written to.
    pub fn write() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("weir-bench-lua-").tempdir()?;
        let ours = [
            ("oltp_nontran.lua", include_str!("../lua/oltp_nontran.lua")),
            ("light_writer.lua", include_str!("../lua/light_writer.lua")),
        ];
        for (name, text) in ours {
            std::fs::write(folder.path().join(name), text)?;
        }
        Ok(Self(folder))
    }

    fn folder(&self) -> &Path {
        self.0.path()
    }
}

/// The tables that sysbench works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tables {
    /// How many, `sbtest1` and on.
    pub count: u32,
    /// Rows of each.
    pub rows: u32,
}

/// One run.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// What is sent.
    pub script: Script,
    /// To which tables.
    pub tables: Tables,
    /// Clients, each with a connection.
    pub threads: u32,
    /// For how long.
    pub seconds: u32,
    /// Whether statements are prepared once and executed (COM_STMT_EXECUTE), or sent as text (COM_QUERY).
    pub prepared: bool,
    /// Whether all rows are asked for alike. sysbench's own way, by default, asks for few of them most of the time.
    pub uniform: bool,
    /// What its random numbers begin with; otherwise the time.
    pub seed: Option<u32>,
    /// Events of all clients per second at most.
    pub events_per_second: Option<u32>,
    /// Where sysbench connects to.
    pub address: SocketAddr,
    /// As whom, and to which schema.
    pub login: Login,
}

/// What sysbench said, with the CPU time that it took itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// Statements that were answered.
    pub queries: f64,
    /// Those of them that read.
    pub reads: f64,
    /// Statements per second.
    pub per_second: f64,
    /// Events (one point select, or one transaction) per second.
    pub events_per_second: f64,
    /// Mean latency of an event in milliseconds.
    pub mean_ms: f64,
    /// 95th percentile of the latency of an event in milliseconds.
    pub p95_ms: f64,
    /// The longest latency of an event in milliseconds.
    pub max_ms: f64,
    /// Errors that sysbench counted and went on after (deadlocks).
    pub errors: f64,
    /// Seconds between the marks.
    pub wall: f64,
    /// CPU time of sysbench between the marks.
    pub client: Cpu,
}

/// Creates and fills the tables.
///
/// # Errors
/// When sysbench is missing or says that it failed.
pub fn prepare(load: &Load, scripts: &Scripts) -> Result<()> {
    let mut command = command(load, scripts);
    let output = command.arg(format!("--threads={}", load.threads)).arg("prepare").output();
    let output = output.context("cannot start sysbench; scripts/deps.sh installs it")?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "sysbench prepare failed:\n{said}");
    Ok(())
}

/// Runs it, and calls `mark` when all clients are connected and when they have ended.
///
/// # Errors
/// When sysbench or `mark` fails.
pub fn run<T>(load: &Load, scripts: &Scripts, mut mark: impl FnMut() -> Result<T>) -> Result<(Seen, T, T)> {
    let mut child = spawn(load, scripts)?;
    let mut said = String::new();
    let (mut before, mut after) = (None, None);
    let lines = BufReader::new(child.stdout.take().context("sysbench has no output")?).lines();
    for line in lines {
        let line = line?;
        let place = match line.trim_end() {
            "Threads started!" => Some(&mut before),
            "SQL statistics:" => Some(&mut after),
            _ => None,
        };
        if let Some(place) = place {
            *place = Some((Instant::now(), process::cpu_split(child.id())?, mark()?));
        }
        said.push_str(&line);
        said.push('\n');
    }
    let output = child.wait_with_output()?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "sysbench {} failed:\n{said}{complaint}", load.script.name());
    let seen = parse(&said).with_context(|| format!("sysbench said something else:\n{said}"))?;
    let (start, client, first) = before.context("sysbench did not say when its threads had started")?;
    let (end, client_after, last) = after.context("sysbench did not say when its threads had ended")?;
    let wall = end.duration_since(start).as_secs_f64();
    Ok((Seen { wall, client: client_after.since(client), ..seen }, first, last))
}

/// A sysbench that runs beside another. Dropping it ends it.
pub struct Beside(Child);

impl Beside {
    /// Starts it and waits until its threads have started. `load.seconds` is how long it runs at most.
    ///
    /// # Errors
    /// When sysbench ends before, with what it printed.
    pub fn start(load: &Load, scripts: &Scripts) -> Result<Self> {
        let mut child = spawn(load, scripts)?;
        let output = BufReader::new(child.stdout.take().context("sysbench has no output")?);
        let mut beside = Self(child);
        let mut said = String::new();
        for line in output.lines() {
            let line = line?;
            if line.starts_with("Threads started") {
                return Ok(beside);
            }
            said.push_str(&line);
            said.push('\n');
        }
        let mut complaint = String::new();
        if let Some(mut errors) = beside.0.stderr.take() {
            std::io::Read::read_to_string(&mut errors, &mut complaint)?;
        }
        anyhow::bail!("sysbench {} ended before it began:\n{said}{complaint}", load.script.name())
    }

    /// Whether it still runs: one that has ended early did not do its part.
    ///
    /// # Errors
    /// When it has ended.
    pub fn check(&mut self) -> Result<()> {
        ensure!(
            self.0.try_wait()?.is_none(),
            "the sysbench that ran beside the measured one has ended early"
        );
        Ok(())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // It has either ended by itself, or ends now; there is nobody to tell.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn spawn(load: &Load, scripts: &Scripts) -> Result<Child> {
    let mut command = command(load, scripts);
    command.arg(format!("--threads={}", load.threads)).arg(format!("--time={}", load.seconds));
    let child = command.arg("run").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    child.context("cannot start sysbench; scripts/deps.sh installs it")
}

fn command(load: &Load, scripts: &Scripts) -> Command {
    let mut command = Command::new("sysbench");
    command
        .arg(load.script.argument(scripts))
        .arg("--db-driver=mysql")
        .arg(format!("--mysql-host={}", load.address.ip()))
        .arg(format!("--mysql-port={}", load.address.port()))
        .arg(format!("--mysql-user={}", load.login.user))
        .arg(format!("--mysql-password={}", load.login.password))
        .arg(format!("--mysql-db={}", load.login.schema))
        .arg(format!("--tables={}", load.tables.count))
        .arg(format!("--table-size={}", load.tables.rows))
        .arg(format!("--db-ps-mode={}", if load.prepared { "auto" } else { "disable" }));
    if load.uniform {
        command.arg("--rand-type=uniform");
    }
    for (name, number) in [("rand-seed", load.seed), ("rate", load.events_per_second)] {
        command.args(number.map(|number| format!("--{name}={number}")));
    }
    if load.script == Script::ReadOnlySkipTrx {
        command.arg("--skip-trx=on");
    }
    command
}

/// Reads the summary that sysbench 1.0 prints at its end.
fn parse(said: &str) -> Option<Seen> {
    let words = |name: &str| {
        let line = said.lines().map(str::trim).find_map(|line| line.strip_prefix(name))?;
        let words = line.split_whitespace().map(|word| word.trim_start_matches('(').to_owned());
        Some(words.collect::<Vec<_>>())
    };
    let number = |name: &str, at: usize| words(name)?.get(at)?.parse::<f64>().ok();
    Some(Seen {
        queries: number("queries:", 0)?,
        reads: number("read:", 0)?,
        per_second: number("queries:", 1)?,
        events_per_second: number("transactions:", 1)?,
        mean_ms: number("avg:", 0)?,
        p95_ms: number("95th percentile:", 0)?,
        max_ms: number("max:", 0)?,
        errors: number("ignored errors:", 0)?,
        wall: 0.0,
        client: Cpu::default(),
    })
}

/// The share of `part` in the time between the marks, in cores.
#[must_use]
pub fn cores(part: Duration, wall: f64) -> f64 {
    if wall > 0.0 { part.as_secs_f64() / wall } else { 0.0 }
}

#[cfg(test)]
mod tests;
