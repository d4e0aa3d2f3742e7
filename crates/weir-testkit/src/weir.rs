//! A running Weir for tests.

use std::env;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::process::{Program, Signal};
use crate::servers::{PortLease, Server};

const PATIENCE: Duration = Duration::from_secs(60);

/// A token with the role `admin`, which every Weir with a configuration file here accepts.
pub const ADMIN_TOKEN: &str = "weir_f00d";

/// The header line with which a request to the admin address shows it.
pub const AUTHORIZATION: &str = "Authorization: Bearer weir_f00d\r\n";

/// The SHA-256 of [`ADMIN_TOKEN`].
const ADMIN_HASH: &str = "aa056ed03d02f6a2822f458263d803ffa10531611e14eb1b1b7958305e7e2146";

/// How a Weir is started.
#[derive(Debug, Clone)]
pub struct WeirBuilder {
    how: How,
    binary: Option<PathBuf>,
    args: Vec<String>,
    env: Vec<(String, String)>,
}

#[derive(Debug, Clone)]
enum How {
    Backend(String),
    Config(String),
}

impl WeirBuilder {
    /// Adds a command line argument after the kit's own.
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Sets a variable of Weir's environment.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Runs this program instead of the one that `WEIR_BIN` names or the build made.
    pub fn binary(mut self, path: impl Into<PathBuf>) -> Self {
        self.binary = Some(path.into());
        self
    }

    /// Starts Weir and waits until its port listens; nothing is connected to it for that.
    ///
    /// # Errors
    /// When there is no binary, it ends, or it does not listen within 20 s; its output is in the error.
    pub fn start(self) -> Result<Weir> {
        let home = tempfile::Builder::new().prefix("weir-").tempdir()?;
        let ports = [PortLease::take()?, PortLease::take()?];
        let program = self.launch(home.path(), &ports)?;
        let mut weir = Weir { program, home, ports, builder: self };
        weir.wait_until_listening()?;
        Ok(weir)
    }

    fn launch(&self, home: &Path, ports: &[PortLease; 2]) -> Result<Program> {
        let binary = match &self.binary {
            Some(path) => path.clone(),
            None => find_binary()?,
        };
        let listen = format!("127.0.0.1:{}", ports[0].number());
        let mut command = Command::new(binary);
        command.arg("run").current_dir(home).envs(self.env.iter().cloned());
        match &self.how {
            How::Backend(backend) => {
                command.args(["--backend", backend.as_str(), "--listen", listen.as_str()]);
            }
            How::Config(text) => {
                let path = home.join("weir.toml");
                fs::write(&path, fill_in(text, home, ports))?;
                command.arg("-c").arg(path);
            }
        }
        command.args(&self.args);
        Program::start(command)
    }
}

/// A running Weir. Dropping it ends the process and removes its folder.
pub struct Weir {
    program: Program,
    home: TempDir,
    ports: [PortLease; 2],
    builder: WeirBuilder,
}

impl Weir {
    /// `weir run --backend ADDRESS --listen ...`: no configuration file.
    pub fn backend(address: impl Into<String>) -> WeirBuilder {
        Self::builder(How::Backend(address.into()))
    }

    /// `weir run -c FILE` with this text, in which `$LISTEN` and `$ADMIN` stand for free `127.0.0.1:PORT`s and
    /// `$DIR` for Weir's own folder. With `$ADMIN`, and no token of its own, it accepts [`ADMIN_TOKEN`].
    pub fn config(text: impl Into<String>) -> WeirBuilder {
        Self::builder(How::Config(text.into()))
    }

    /// A Weir without a configuration file in front of `server`.
    ///
    /// # Errors
    /// As [`WeirBuilder::start`].
    pub fn in_front_of(server: &Server) -> Result<Self> {
        Self::backend(server.addr().to_string()).start()
    }

    fn builder(how: How) -> WeirBuilder {
        WeirBuilder { how, binary: None, args: Vec::new(), env: Vec::new() }
    }

    /// Where clients connect.
    pub fn addr(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.ports[0].number()))
    }

    /// Where `$ADMIN` points.
    pub fn admin_addr(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.ports[1].number()))
    }

    /// Weir's folder, `$DIR` in the configuration; `weir.toml` is in it.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    pub fn pid(&self) -> u32 {
        self.program.pid()
    }

    /// What Weir has printed so far.
    pub fn log(&self) -> String {
        self.program.log()
    }

    pub fn is_running(&mut self) -> bool {
        self.program.is_running()
    }

    /// Waits until a line with `text` has been printed.
    ///
    /// # Errors
    /// When Weir ends first or `limit` passes.
    pub fn wait_for_line(&self, text: &str, limit: Duration) -> Result<()> {
        self.program.wait_for_line(text, limit)
    }

    /// Writes a new configuration and sends SIGHUP. Wait for the log line that tells the outcome.
    ///
    /// # Errors
    /// When the file cannot be written or the signal not be sent.
    pub fn reload(&mut self, text: &str) -> Result<()> {
        let path = self.home.path().join("weir.toml");
        fs::write(path, fill_in(text, self.home.path(), &self.ports))?;
        self.signal(Signal::Hup)
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// What kill(2) reports.
    pub fn signal(&mut self, signal: Signal) -> Result<()> {
        self.program.signal(signal).context("cannot signal weir")
    }

    /// SIGTERM, and the wait for the end of the drain.
    ///
    /// # Errors
    /// When Weir does not end within `limit`; it is killed then.
    pub fn terminate(&mut self, limit: Duration) -> Result<ExitStatus> {
        self.program.terminate(limit)
    }

    /// Ends Weir as a crash would.
    ///
    /// # Errors
    /// When the process cannot be waited for.
    pub fn kill9(&mut self) -> Result<()> {
        self.program.kill().map(drop)
    }

    /// Starts Weir again on the same ports after it has ended.
    ///
    /// # Errors
    /// As [`WeirBuilder::start`].
    pub fn restart(&mut self) -> Result<()> {
        self.program.kill()?;
        self.program = self.builder.launch(self.home.path(), &self.ports)?;
        self.wait_until_listening()
    }

    /// Resident memory in bytes, from /proc.
    ///
    /// # Errors
    /// When Weir has ended.
    pub fn resident_bytes(&self) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next()).context("no VmRSS in /proc")?;
        Ok(kib.parse::<u64>()? * 1024)
    }

    fn wait_until_listening(&mut self) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while !listens(self.ports[0].number()) {
            if !self.program.is_running() {
                bail!("weir ended before it listened; it printed:\n{}", self.log());
            }
            if Instant::now() > deadline {
                bail!("weir does not listen after {PATIENCE:?}; it printed:\n{}", self.log());
            }
            // The kernel has no event for "a port listens"; a connection would show in Weir's counters.
            thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }
}

fn fill_in(text: &str, home: &Path, ports: &[PortLease; 2]) -> String {
    let token = match text.contains("$ADMIN") && !text.contains("[[token]]") {
        true => format!("\n[[token]]\nname = \"kit\"\nrole = \"admin\"\nhash = \"sha256:{ADMIN_HASH}\"\n"),
        false => String::new(),
    };
    format!("{text}{token}")
        .replace("$LISTEN", &format!("127.0.0.1:{}", ports[0].number()))
        .replace("$ADMIN", &format!("127.0.0.1:{}", ports[1].number()))
        .replace("$DIR", &home.display().to_string())
}

/// Looks for the port among the listening sockets that /proc/net/tcp shows (state 0A).
fn listens(port: u16) -> bool {
    let table = fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let wanted = format!(":{port:04X}");
    table.lines().skip(1).any(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let local = fields.next().unwrap_or_default();
        local.ends_with(&wanted) && fields.nth(1) == Some("0A")
    })
}

/// `WEIR_BIN`, else the `weir` beside the running test, else that of the other profile.
fn find_binary() -> Result<PathBuf> {
    if let Some(path) = env::var_os("WEIR_BIN") {
        return Ok(PathBuf::from(path));
    }
    let exe = env::current_exe()?;
    let Some(profile) = exe.ancestors().skip(1).find(|folder| {
        matches!(folder.file_name().and_then(|name| name.to_str()), Some("debug" | "release"))
    }) else {
        bail!("{} is not in a target folder; set WEIR_BIN", exe.display());
    };
    let candidates = [profile.join("weir"), profile.join("../release/weir"), profile.join("../debug/weir")];
    match candidates.iter().find(|path| path.is_file()) {
        Some(path) => Ok(path.clone()),
        None => bail!("no weir beside {}: run `cargo build -p weir`, or set WEIR_BIN", profile.display()),
    }
}
