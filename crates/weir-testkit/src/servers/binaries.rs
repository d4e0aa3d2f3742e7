//! Where the servers' programs are, and the arguments that belong to the program and not to the test.

use std::env;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::Flavor;

/// The repository's root.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The command that runs a server, up to the arguments about its folders.
pub(super) fn server(flavor: Flavor) -> Result<Command> {
    let mut command = match flavor {
        Flavor::MariaDb => {
            let mut command = Command::new(find("mariadbd")?);
            command.arg("--no-defaults").arg("--innodb-log-file-size=8M").arg("--innodb-fast-shutdown=1");
            command
        }
        Flavor::MySql => {
            let home = mysql_home()?;
            let mut command = Command::new(home.join("bin/mysqld"));
            command.arg("--no-defaults");
            command.arg(format!("--basedir={}", home.join("root/usr").display()));
            command.arg(format!("--lc-messages-dir={}", home.join("root/usr/share/mysql").display()));
            command.arg(format!("--plugin-dir={}", home.join("root/usr/lib/mysql/plugin").display()));
            command.args(["--mysqlx=0", "--innodb-redo-log-capacity=8M"]);
            command
        }
    };
    // Both servers refuse to run as root unless it is said aloud.
    if std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0) {
        command.arg("--user=root");
    }
    Ok(command)
}

/// The program that fills an empty MariaDB data directory.
pub(super) fn mariadb_install() -> Result<PathBuf> {
    find("mariadb-install-db")
}

/// What the server calls its version; part of the template's name.
pub(super) fn version(flavor: Flavor) -> Result<String> {
    let program = match flavor {
        Flavor::MariaDb => find("mariadbd")?,
        Flavor::MySql => mysql_home()?.join("bin/mysqld"),
    };
    let output = Command::new(&program).args(["--no-defaults", "--version"]).output();
    let output = output.with_context(|| format!("cannot run {}", program.display()))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn mysql_home() -> Result<PathBuf> {
    let home = env::var_os("WEIR_MYSQL_DIR").map_or_else(|| repository().join(".cache/mysql"), PathBuf::from);
    match home.canonicalize() {
        Ok(home) if home.join("bin/mysqld").exists() => Ok(home),
        _ => bail!("no MySQL in {}: run scripts/get-mysql.sh, or set WEIR_MYSQL_DIR", home.display()),
    }
}

/// Looks along PATH and in the folders for administration programs, which a user's PATH may lack.
fn find(program: &str) -> Result<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/bin".into()]);
    for folder in folders {
        let candidate = folder.join(program);
        if candidate.is_file() {
            return Ok(candidate);
        }
    }
    bail!("no {program} on this machine: run scripts/deps.sh")
}
