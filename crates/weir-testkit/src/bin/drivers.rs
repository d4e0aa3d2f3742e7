//! `drivers`: starts a server and Weir in front of it, and runs the driver matrix of `tests/drivers` through Weir.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};

use weir_testkit::certs::Certs;
use weir_testkit::{Flavor, Server, Weir};

/// Runs the driver matrix through a Weir that knows no user.
///
/// Exit status: 0 when every check passed, 1 when one failed, 2 when the matrix could not be run.
#[derive(Debug, Parser)]
struct Args {
    /// Which server stands behind Weir.
    #[arg(long, value_enum)]
    family: Family,
    /// Clients share server connections.
    #[arg(long)]
    sharing: bool,
    /// Server connections that they share.
    #[arg(long, requires = "sharing", default_value_t = 12)]
    connections: u32,
    /// Further arguments of tests/drivers/run, e.g. --only pymysql.
    #[arg(last = true)]
    rest: Vec<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Family {
    Mysql,
    Mariadb,
}

/// Weir with a certificate that the drivers can verify, on TCP and on a Unix socket.
const CONFIG: &str = r#"
[listen]
mysql = ["$LISTEN", "unix:$DIR/weir.sock"]

[tls]
cert = "$CERT"
key = "$KEY"

[[server]]
name = "db"
address = "$SERVER"
max_connections = $CONNECTIONS
"#;

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("drivers: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<bool> {
    let flavor = match args.family {
        Family::Mysql => Flavor::MySql,
        Family::Mariadb => Flavor::MariaDb,
    };
    // The checks find their own queries in performance_schema.processlist; the last argument counts.
    let builder = Server::builder(flavor);
    let server = match flavor {
        Flavor::MySql => builder.arg("--performance-schema=ON"),
        Flavor::MariaDb => builder,
    }
    .start()?;
    let folder = tempfile::tempdir()?;
    let certs = Certs::generate(folder.path())?;
    // MySQL Connector/J takes MariaDB's "5.5.5-" for a version that cannot do caching_sha2_password, so it needs a listed
    // user there; the other drivers log in as users of their own as well, which Weir has never heard of.
    let listed = match flavor {
        Flavor::MariaDb => "\n[[user]]\nname = \"app\"\npassword = \"app-pw\"\n",
        Flavor::MySql => "",
    };
    // Few where they are shared, so that they change hands all the time; the checks of a driver hold some of them at once.
    let connections = if args.sharing { args.connections } else { 400 };
    let pool = if args.sharing { "\n[pool]\nsharing = \"transaction\"\n" } else { "" };
    let config = format!("{CONFIG}{listed}{pool}")
        .replace("$CONNECTIONS", &connections.to_string())
        .replace("$CERT", &certs.server_cert.display().to_string())
        .replace("$KEY", &certs.server_key.display().to_string())
        .replace("$SERVER", &server.addr().to_string());
    let mut weir = Weir::config(config).start()?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/drivers/run");
    let status = Command::new(&script)
        .args(["--via", "weir", "--user", "app", "--password", "app-pw", "--ca-names-host"])
        .args(["--family", flavor.as_str()])
        .arg("--port")
        .arg(weir.addr().port().to_string())
        .arg("--socket")
        .arg(weir.home().join("weir.sock"))
        .arg("--ca")
        .arg(&certs.ca)
        .args(&args.rest)
        .status()
        .with_context(|| format!("cannot run {}", script.display()))?;
    let alive = weir.is_running();
    if !alive {
        eprintln!("drivers: Weir has ended; it printed:\n{}", weir.log());
    }
    Ok(status.success() && alive)
}
