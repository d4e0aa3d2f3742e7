//! Data directories made once and copied for each server.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{Flavor, PATIENCE, PortLease, binaries, common_args};
use crate::certs::Certs;
use crate::process::Program;

/// Puts a copy of the flavor's template into a server's folder. A missing template is made first, by one
/// process while the others wait; templates of former versions go.
pub(super) fn copy_into(home: &Path, flavor: Flavor) -> Result<()> {
    let folder = binaries::repository().join(".cache/servers");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let folder = folder.canonicalize()?;
    let template = folder.join(format!("{}-{:016x}", flavor.as_str(), fingerprint(flavor)?));
    let lock = File::create(folder.join(format!("{}.lock", flavor.as_str())))?;
    lock.lock_shared()?;
    if !template.exists() {
        lock.unlock()?;
        lock.lock()?;
        if !template.exists() {
            make_at(&template, flavor)?;
        }
    }
    // A file system that can share the blocks does; the lock keeps the template from being removed meanwhile.
    let mut copy = Command::new("cp");
    copy.args(["-a", "--reflink=auto", "--sparse=always"]).arg(template.join(".")).arg(home);
    run(copy)
}

fn make_at(template: &Path, flavor: Flavor) -> Result<()> {
    let folder = template.parent().context("a template stands in a folder")?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(&format!("{}-", flavor.as_str())) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    let work = tempfile::Builder::new().prefix("new-").tempdir_in(folder)?;
    make(flavor, work.path())
        .with_context(|| format!("cannot make a data directory for {}", flavor.as_str()))?;
    fs::rename(work.keep(), template)?;
    Ok(())
}

/// Changes whenever the server or what the template holds does.
fn fingerprint(flavor: Flavor) -> Result<u64> {
    let mut hasher = DefaultHasher::new();
    binaries::version(flavor)?.hash(&mut hasher);
    accounts(flavor).hash(&mut hasher);
    include_str!("template.rs").hash(&mut hasher);
    Ok(hasher.finish())
}

fn make(flavor: Flavor, home: &Path) -> Result<()> {
    match flavor {
        Flavor::MariaDb => {
            let mut install = Command::new(binaries::mariadb_install()?);
            install.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
            install.args(["--skip-name-resolve", "--innodb-log-file-size=8M"]);
            install.arg(format!("--datadir={}", home.join("data").display()));
            install.arg(format!("--user={}", user_name()?));
            run(install)?;
            Certs::generate(&home.join("certs"))?;
        }
        Flavor::MySql => {
            let mut initialize = binaries::server(flavor)?;
            common_args(&mut initialize, home);
            initialize.arg("--initialize-insecure");
            run(initialize)?;
        }
    }
    // One real start makes the accounts and, on MySQL, the certificates.
    let init = home.join("accounts.sql");
    fs::write(&init, accounts(flavor))?;
    let port = PortLease::take()?;
    let mut command = binaries::server(flavor)?;
    common_args(&mut command, home);
    command.arg(format!("--port={}", port.number())).arg(format!("--init-file={}", init.display()));
    let mut program = Program::start(command)?;
    program.wait_for_line("ready for connections", PATIENCE)?;
    program.terminate(PATIENCE)?;
    if let Some(line) = program.log().lines().find(|line| line.contains("ERROR")) {
        bail!("the server complains: {line}");
    }
    fs::remove_file(init)?;
    // Two servers of one replication group must not share this; the server makes a new one.
    fs::remove_file(home.join("data/auto.cnf")).or_else(|e| match e.kind() {
        std::io::ErrorKind::NotFound => Ok(()),
        _ => Err(e),
    })?;
    Ok(())
}

fn run(mut command: Command) -> Result<()> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    let name = command.get_program().to_string_lossy().into_owned();
    bail!(
        "{name} failed:\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn user_name() -> Result<String> {
    let output = Command::new("id").arg("-un").output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// One statement on each line, as `--init-file` wants it.
fn accounts(flavor: Flavor) -> String {
    let mut sql = String::from("CREATE USER IF NOT EXISTS root@'127.0.0.1', root@'%';\n");
    for host in ["127.0.0.1", "%"] {
        sql += &format!("GRANT ALL PRIVILEGES ON *.* TO root@'{host}' WITH GRANT OPTION;\n");
    }
    let special: &[(&str, &str)] = match flavor {
        Flavor::MariaDb => {
            sql += "INSTALL SONAME 'auth_ed25519';\n";
            &[
                ("app", "IDENTIFIED VIA mysql_native_password USING PASSWORD('app-pw')"),
                ("app_native", "IDENTIFIED VIA mysql_native_password USING PASSWORD('native-pw')"),
                ("app_ed", "IDENTIFIED VIA ed25519 USING PASSWORD('ed-pw')"),
            ]
        }
        Flavor::MySql => &[
            ("app", "IDENTIFIED WITH caching_sha2_password BY 'app-pw'"),
            ("app_sha", "IDENTIFIED WITH caching_sha2_password BY 'sha-pw'"),
            ("app_sha256", "IDENTIFIED WITH sha256_password BY 'sha256-pw'"),
        ],
    };
    let common = [
        ("app_tls", "IDENTIFIED BY 'tls-pw' REQUIRE SSL"),
        ("app_x509", "IDENTIFIED BY 'x509-pw' REQUIRE X509"),
        ("nopw", ""),
    ];
    for (name, how) in special.iter().chain(&common) {
        sql += &format!("CREATE USER {name}@'%' {how};\n");
        sql += &format!("GRANT ALL PRIVILEGES ON *.* TO {name}@'%' WITH GRANT OPTION;\n");
    }
    sql += "CREATE USER locked@'%' IDENTIFIED BY 'locked-pw' ACCOUNT LOCK;\n";
    sql += "CREATE USER expired@'%' IDENTIFIED BY 'expired-pw' PASSWORD EXPIRE;\n";
    sql
}
