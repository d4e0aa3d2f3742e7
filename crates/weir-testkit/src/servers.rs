//! Real MariaDB and MySQL servers for tests, each with a folder, a port and a socket of its own.
//!
//! A data directory is made once for each kind of server and copied for each start. Accounts in it:
//!
//! | account | password | authentication |
//! |---|---|---|
//! | `root` at localhost, 127.0.0.1, `%` | none | the server's own default |
//! | `app` | `app-pw` | MySQL caching_sha2_password, MariaDB mysql_native_password |
//! | `app_native` (MariaDB) | `native-pw` | mysql_native_password |
//! | `app_sha` (MySQL) | `sha-pw` | caching_sha2_password |
//! | `app_sha256` (MySQL) | `sha256-pw` | sha256_password |
//! | `app_ed` (MariaDB) | `ed-pw` | ed25519 |
//! | `app_tls` | `tls-pw` | default, REQUIRE SSL |
//! | `app_x509` | `x509-pw` | default, REQUIRE X509 (see [`Server::certs`]) |
//! | `nopw` | none | default |
//! | `locked` | `locked-pw` | default, ACCOUNT LOCK |
//! | `expired` | `expired-pw` | default, PASSWORD EXPIRE |
//!
//! All but root are at `%`, and `app` and its variants hold all privileges with the grant option.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::certs::Certs;
use crate::process::{Program, Signal};

mod binaries;
mod port;
mod template;

pub use port::PortLease;

/// How long a server may take to start or stop before the test gives up on it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Which server to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flavor {
    MariaDb,
    MySql,
}

impl Flavor {
    pub const BOTH: [Flavor; 2] = [Self::MariaDb, Self::MySql];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::MariaDb => "mariadb",
            Self::MySql => "mysql",
        }
    }
}

/// What differs from a plain start.
#[derive(Debug, Clone)]
pub struct ServerBuilder {
    flavor: Flavor,
    max_connections: u32,
    args: Vec<String>,
}

impl ServerBuilder {
    /// Adds an argument of the server's command line; it wins over the kit's own.
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Default 500.
    pub fn max_connections(mut self, n: u32) -> Self {
        self.max_connections = n;
        self
    }

    /// Starts the server and waits until it accepts connections. Blocks for about a second; the first start
    /// of a flavor on a machine takes about five more to make the template.
    ///
    /// # Errors
    /// When the server is not installed, cannot be started, or does not become ready.
    pub fn start(self) -> Result<Server> {
        let home = tempfile::Builder::new().prefix("weir-server-").tempdir()?;
        template::copy_into(home.path(), self.flavor)?;
        // A stranger on the machine may take the port between the check and the bind: try another.
        let mut attempt = 0;
        loop {
            attempt += 1;
            let port = PortLease::take()?;
            match self.launch(home.path(), port.number()) {
                Ok(program) => return Ok(Server { program, port, home, builder: self }),
                Err(error) if attempt == 3 => return Err(error),
                Err(_) => {}
            }
        }
    }

    fn launch(&self, home: &Path, port: u16) -> Result<Program> {
        let mut command = binaries::server(self.flavor)?;
        common_args(&mut command, home);
        if self.flavor == Flavor::MariaDb {
            let certs = Certs::in_folder(&home.join("certs"));
            command.arg(format!("--ssl-ca={}", certs.ca.display()));
            command.arg(format!("--ssl-cert={}", certs.server_cert.display()));
            command.arg(format!("--ssl-key={}", certs.server_key.display()));
        }
        command.arg(format!("--port={port}"));
        command.arg(format!("--max-connections={}", self.max_connections));
        command.args(&self.args);
        let program = Program::start(command)?;
        program.wait_for_line("ready for connections", PATIENCE)?;
        Ok(program)
    }
}

/// A running server. Dropping it ends the process and removes its folder.
pub struct Server {
    // The order matters: the program ends before its folder goes and its port is given back.
    program: Program,
    home: TempDir,
    port: PortLease,
    builder: ServerBuilder,
}

impl Server {
    pub fn builder(flavor: Flavor) -> ServerBuilder {
        ServerBuilder { flavor, max_connections: 500, args: Vec::new() }
    }

    /// A server with the kit's defaults. Blocks for about a second.
    ///
    /// # Errors
    /// As [`ServerBuilder::start`].
    pub fn start(flavor: Flavor) -> Result<Self> {
        Self::builder(flavor).start()
    }

    pub fn flavor(&self) -> Flavor {
        self.builder.flavor
    }

    /// The TCP address, on 127.0.0.1.
    pub fn addr(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port.number()))
    }

    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// The Unix socket.
    pub fn socket(&self) -> PathBuf {
        socket_path(self.home.path())
    }

    /// The server's folder; `data` in it is the data directory.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// The certificates the server uses. On MySQL they are those that it made for itself.
    pub fn certs(&self) -> Certs {
        match self.builder.flavor {
            Flavor::MariaDb => Certs::in_folder(&self.home.path().join("certs")),
            Flavor::MySql => Certs::made_by_mysql(&self.home.path().join("data")),
        }
    }

    pub fn pid(&self) -> u32 {
        self.program.pid()
    }

    /// What the server has printed since its last start.
    pub fn log(&self) -> String {
        self.program.log()
    }

    /// Ends the server as a crash would.
    ///
    /// # Errors
    /// When the process cannot be waited for.
    pub fn kill9(&mut self) -> Result<()> {
        self.program.kill().map(drop)
    }

    /// Ends the server in order.
    ///
    /// # Errors
    /// When it does not end within a minute; it is killed then.
    pub fn stop(&mut self) -> Result<()> {
        // A stopped process keeps a SIGTERM pending for ever.
        self.program.signal(Signal::Continue)?;
        self.program.terminate(PATIENCE).map(drop)
    }

    /// Starts the server again, on the same port, socket and data. A running one is stopped first.
    ///
    /// # Errors
    /// As [`ServerBuilder::start`].
    pub fn restart(&mut self) -> Result<()> {
        if self.program.is_running() {
            self.stop()?;
        }
        self.program = self.builder.launch(self.home.path(), self.port.number())?;
        Ok(())
    }

    /// Freezes the server: connections are accepted by the kernel and nothing is answered.
    ///
    /// # Errors
    /// What kill(2) reports.
    pub fn sigstop(&mut self) -> Result<()> {
        self.program.signal(Signal::Stop).context("SIGSTOP")
    }

    /// Ends a freeze.
    ///
    /// # Errors
    /// What kill(2) reports.
    pub fn sigcont(&mut self) -> Result<()> {
        self.program.signal(Signal::Continue).context("SIGCONT")
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {} (pid {})", self.builder.flavor.as_str(), self.addr(), self.pid())
    }
}

fn socket_path(home: &Path) -> PathBuf {
    home.join("server.sock")
}

/// What every start passes, the one that makes the template included: small buffers, a data directory, no name
/// lookups, nothing that waits for the disk, a folder of its own for temporary tables (a server that starts deletes those
/// it finds, whosever they are). `--no-defaults` has to be the first argument and is there already.
fn common_args(command: &mut Command, home: &Path) {
    let tmp = home.join("tmp");
    // Where it cannot be made the server says so itself.
    let _ = std::fs::create_dir_all(&tmp);
    command.arg(format!("--tmpdir={}", tmp.display()));
    command.arg(format!("--datadir={}", home.join("data").display()));
    command.arg(format!("--socket={}", socket_path(home).display()));
    command.arg(format!("--pid-file={}", home.join("server.pid").display()));
    command.args([
        "--bind-address=127.0.0.1",
        "--skip-name-resolve",
        "--secure-file-priv=",
        "--local-infile=1",
        "--max-allowed-packet=64M",
        // The status flag SERVER_QUERY_WAS_SLOW would tell how busy the machine is, in answers that are compared.
        "--long-query-time=86400",
        "--performance-schema=OFF",
        "--innodb-buffer-pool-size=32M",
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-doublewrite=0",
        "--skip-log-bin",
        // A table that falls out of the cache forgets the ids it had set aside, and the next one differs.
        "--table-open-cache=4000",
        "--table-definition-cache=4000",
    ]);
}

#[cfg(test)]
mod tests;
