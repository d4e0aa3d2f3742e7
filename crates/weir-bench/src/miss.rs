//! Instructions of Weir for a statement that the cache has no answer to, with the cache and without one.

use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use weir_testkit::process::Program;
use weir_testkit::servers::PortLease;

use crate::cached::{POINT_ROWS, POINT_TABLES};
use crate::client::{Client, Login};
use crate::count;
use crate::rig::{self, Endpoint};
use crate::summary::Target;

/// The row of a statement that is known to be seldom asked again, and passes the cache by.
pub const ROW: &str = "miss, seldom asked again";
/// That of one that is looked for, not found, and kept.
pub const ROW_KEPT: &str = "miss, kept";

/// Queries before the counted ones: what is remembered of a server and an account is learned from them, and, of each of the tables, that
/// its rows are not asked for again, which takes 1,024.
const WARM_UP: u32 = 1_100 * POINT_TABLES;
const COUNTED: u32 = 2_000;
/// Server connections at most; one client needs one.
const CONNECTIONS: u32 = 100;
/// Under valgrind everything takes fifty times as long, above all the RSA key that Weir makes when it starts.
const PATIENCE: Duration = Duration::from_secs(180);

/// Instructions per query of one client whose statements are all new, as valgrind counts them; `keeps`: the cache keeps each of them.
///
/// # Errors
/// When valgrind is missing, or Weir or a query fails.
pub fn run(weir: &Path, target: Target, server: &Endpoint, login: Login, keeps: bool) -> Result<f64> {
    let mut config = rig::weir_config(server.address, CONNECTIONS, target);
    if keeps {
        config = config.replace("\n[cache]\n", "\n[cache]\nadmission = \"always\"\n");
        ensure!(config.contains("always"), "without a cache nothing is kept");
    }
    let counted = Counted::start(weir, &config)?;
    let mut client = Client::connect(counted.address, login, 16 * 1024)?;
    ask(&mut client, 0..WARM_UP)?;
    counted.switch("on")?;
    ask(&mut client, WARM_UP..WARM_UP + COUNTED)?;
    counted.switch("off")?;
    client.quit()?;
    counted.end(COUNTED)
}

/// Weir under callgrind, which does not count yet.
pub(crate) struct Counted {
    weir: Program,
    pub address: SocketAddr,
    // Both end with it.
    _port: PortLease,
    _home: tempfile::TempDir,
}

impl Counted {
    /// Starts it, without what valgrind does not know.
    pub fn start(weir: &Path, config: &str) -> Result<Self> {
        let home = tempfile::Builder::new().prefix("weir-bench-count-").tempdir()?;
        let port = PortLease::take()?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port.number()));
        let weir = start(weir, home.path(), address, config)?;
        Ok(Self { weir, address, _port: port, _home: home })
    }

    /// Switches the counting.
    pub fn switch(&self, switch: &str) -> Result<()> {
        switch_counting(&self.weir, switch)
    }

    /// Ends it. Instructions for each of so many queries.
    pub fn end(mut self, queries: u32) -> Result<f64> {
        let status = self.weir.terminate(PATIENCE)?;
        let said = self.weir.log();
        ensure!(status.success(), "Weir under valgrind failed:\n{said}");
        Ok(count::collected(&said)? as f64 / f64::from(queries))
    }
}

fn start(weir: &Path, home: &Path, address: SocketAddr, config: &str) -> Result<Program> {
    let path = home.join("weir.toml");
    // valgrind does not know io_uring well enough; what decides and caches is the same with epoll.
    let config = config.replace("$LISTEN", &address.to_string());
    std::fs::write(&path, config + "\n[runtime]\nio = \"epoll\"\nworkers = 1\n")?;
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--instr-atstart=no", "--callgrind-out-file=/dev/null"]);
    command.arg(weir).arg("run").arg("-c").arg(path);
    let mut program = Program::start(command).context("scripts/deps.sh installs valgrind")?;
    rig::await_listening(&mut program, address, PATIENCE).context("starting Weir under valgrind")?;
    Ok(program)
}

/// Rows that are far apart, and no statement twice.
fn ask(client: &mut Client, numbers: Range<u32>) -> Result<()> {
    for number in numbers {
        let (table, id) = (number % POINT_TABLES + 1, number / POINT_TABLES + 1);
        ensure!(id <= POINT_ROWS, "more queries than rows");
        let rows = client.query(&format!("SELECT c FROM sbtest{table} WHERE id={id}"))?;
        ensure!(rows == 1, "{rows} rows instead of 1");
    }
    Ok(())
}

/// Switches the counting of a program that runs under callgrind.
fn switch_counting(weir: &Program, switch: &str) -> Result<()> {
    let output = Command::new("callgrind_control").args(["-i", switch, &weir.pid().to_string()]).output();
    let output = output.context("cannot start callgrind_control, a part of valgrind")?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(
        said.contains("OK"),
        "callgrind_control failed:\n{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
