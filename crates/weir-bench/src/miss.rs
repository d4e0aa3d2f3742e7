//! Instructions of Weir for a statement that the cache has no answer to, with the cache and without one.

use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use weir_testkit::Weir;

use crate::cached::{POINT_ROWS, POINT_TABLES};
use crate::client::{Client, Login};
use crate::count;
use crate::rig::{self, Endpoint};
use crate::summary::Target;

/// The name of the row.
pub const ROW: &str = "miss";

/// Queries before the counted ones: what is remembered of a server and an account is learned from them.
const WARM_UP: u32 = 200;
const COUNTED: u32 = 2_000;
/// Under valgrind everything takes fifty times as long.
const PATIENCE: Duration = Duration::from_secs(60);
/// Weir makes an RSA key when it starts, which takes as long as chance will have it, and under valgrind up to half a
/// minute; so it is started anew if it does not listen in time.
const STARTS: u32 = 4;

/// Instructions per query of one client whose statements are all new, as valgrind counts them.
///
/// # Errors
/// When valgrind is missing, or Weir or a query fails.
pub fn run(weir: &Path, target: Target, server: &Endpoint, login: Login) -> Result<f64> {
    let home = tempfile::Builder::new().prefix("weir-bench-miss-").tempdir()?;
    let mut weir = start(&wrapper(home.path(), weir)?, target, server)?;
    let mut client = Client::connect(weir.addr(), login, 16 * 1024)?;
    ask(&mut client, 0..WARM_UP)?;
    count(&weir, "on")?;
    ask(&mut client, WARM_UP..WARM_UP + COUNTED)?;
    count(&weir, "off")?;
    client.quit()?;
    let status = weir.terminate(PATIENCE)?;
    let said = weir.log();
    ensure!(status.success(), "Weir under valgrind failed:\n{said}");
    Ok(count::collected(&said)? as f64 / f64::from(COUNTED))
}

/// A program that runs Weir under valgrind, for whoever starts Weir gives its arguments only.
fn wrapper(folder: &Path, weir: &Path) -> Result<PathBuf> {
    let wrapper = folder.join("weir");
    let binary = weir.canonicalize().with_context(|| format!("{} is missing", weir.display()))?;
    let script = format!(
        "#!/bin/sh\nexec valgrind --tool=callgrind --instr-atstart=no --callgrind-out-file=/dev/null '{}' \"$@\"\n",
        binary.display()
    );
    std::fs::write(&wrapper, script)?;
    std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755))?;
    Ok(wrapper)
}

fn start(wrapper: &Path, target: Target, server: &Endpoint) -> Result<Weir> {
    // valgrind does not know io_uring well enough; what decides and caches is the same with epoll.
    let config = rig::weir_config(server.address, 100, target) + "\n[runtime]\nio = \"epoll\"\nworkers = 1\n";
    let start = || Weir::config(config.clone()).binary(wrapper).start();
    let mut started = start();
    for _ in 1..STARTS {
        if started.is_ok() {
            break;
        }
        started = start();
    }
    started.context("starting Weir under valgrind")
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
fn count(weir: &Weir, switch: &str) -> Result<()> {
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
