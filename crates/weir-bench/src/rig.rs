//! What is measured: a throwaway server, and in front of it HAProxy, the bare relay and Weir, all on loopback.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;
use weir_testkit::client::ConnectOptions;
use weir_testkit::process::Program;
use weir_testkit::servers::PortLease;
use weir_testkit::{Flavor, Server, Weir};

use crate::cached;
use crate::client::Login;
use crate::load::{self, Scripts};
use crate::summary::{AMPLE_CONNECTIONS, SHARED_CONNECTIONS, Target};
use crate::sysbench;

/// The account that every experiment uses. Weir is told about it; the others cannot be.
pub const LOGIN: Login = Login { user: "app", password: "app-pw", schema: "bench" };

/// More than any experiment opens.
const MAX_CONNECTIONS: u32 = 10_100;
/// How long a program may take to listen.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where one target listens, and the process whose cost counts.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint {
    /// Which one it is.
    pub target: Target,
    /// Where it takes connections.
    pub address: SocketAddr,
    /// The proxy's process; `None` for the server itself.
    pub pid: Option<u32>,
}

/// How long Weir may take to end.
const ENDING: Duration = Duration::from_secs(10);

/// The programs of one setup. Dropping it ends them all.
pub struct Rig {
    endpoints: Vec<Endpoint>,
    // Proxies end before the server they talk to, and ports are given back last.
    proxies: Vec<Program>,
    weirs: Vec<Weir>,
    server: Server,
    ports: Vec<PortLease>,
    home: TempDir,
}

impl Drop for Rig {
    /// Weir is not killed: a build with counters (scripts/dist.sh) writes them down when it ends.
    fn drop(&mut self) {
        for weir in &mut self.weirs {
            // Where it does not end it is killed all the same, and there is nobody to tell.
            weir.terminate(ENDING).ok();
        }
    }
}

impl Rig {
    /// Everything, for the experiments with up to a few hundred clients.
    ///
    /// # Errors
    /// When a program is missing or does not start, with what it printed.
    pub fn full(weir: &Path) -> Result<Self> {
        let mut rig = Self::server(&[])?;
        rig.add_haproxy()?;
        rig.add_relay()?;
        rig.add_weir(weir, Target::Weir, MAX_CONNECTIONS)?;
        rig.add_weir(weir, Target::Shared, SHARED_CONNECTIONS)?;
        rig.add_weir(weir, Target::Ample, AMPLE_CONNECTIONS)?;
        rig.add_bare()?;
        Ok(rig)
    }

    /// The server and Weir in this mode, for thousands of idle clients. The server shares its threads among its connections, as it
    /// would need a thread for each otherwise.
    ///
    /// # Errors
    /// As [`Rig::full`].
    pub fn for_idle_clients(weir: &Path, target: Target) -> Result<Self> {
        let mut rig = Self::server(&["--thread-handling=pool-of-threads"])?;
        rig.add_weir(weir, target, MAX_CONNECTIONS)?;
        Ok(rig)
    }

    /// A server, and Weir whose clients share as many connections as they need.
    ///
    /// # Errors
    /// As [`Rig::full`].
    pub fn shared_alone(weir: &Path) -> Result<Self> {
        let mut rig = Self::server(&[])?;
        rig.add_weir(weir, Target::Shared, MAX_CONNECTIONS)?;
        Ok(rig)
    }

    /// MySQL, and Weir whose clients have connections of their own or share them.
    ///
    /// # Errors
    /// As [`Rig::full`].
    pub fn mysql(weir: &Path) -> Result<Self> {
        let mut rig = Self::of(Server::builder(Flavor::MySql).max_connections(MAX_CONNECTIONS).start()?)?;
        rig.add_weir(weir, Target::Weir, MAX_CONNECTIONS)?;
        rig.add_weir(weir, Target::Shared, SHARED_CONNECTIONS)?;
        rig.add_bare()?;
        Ok(rig)
    }

    /// A server with the tables of the cached rows, Weir with a rule that caches, and redis.
    ///
    /// # Errors
    /// As [`Rig::full`].
    pub fn cached(weir: &Path, scripts: &Scripts) -> Result<Self> {
        let mut rig = Self::bare_server(&[])?;
        let direct = rig.endpoint(Target::Direct)?.address;
        load::prepare(&cached::tables(direct), scripts)?;
        rig.add_weir(weir, Target::Cached, MAX_CONNECTIONS)?;
        rig.add_redis()?;
        Ok(rig)
    }

    /// All endpoints, in the order of [`Target::ALL`].
    #[must_use]
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// The endpoint of `target`.
    ///
    /// # Errors
    /// When this rig has none.
    pub fn endpoint(&self, target: Target) -> Result<&Endpoint> {
        let found = self.endpoints.iter().find(|endpoint| endpoint.target == target);
        found.with_context(|| format!("this setup has no {}", target.name()))
    }

    fn server(args: &[&str]) -> Result<Self> {
        let rig = Self::bare_server(args)?;
        sysbench::prepare(rig.endpoint(Target::Direct)?, LOGIN)?;
        Ok(rig)
    }

    /// Without tables.
    fn bare_server(args: &[&str]) -> Result<Self> {
        let mut builder = Server::builder(Flavor::MariaDb).max_connections(MAX_CONNECTIONS);
        for arg in ["--innodb-buffer-pool-size=256M", "--table-open-cache=2000", "--back-log=2000"]
            .iter()
            .chain(args)
        {
            builder = builder.arg(*arg);
        }
        Self::of(builder.start()?)
    }

    fn of(server: Server) -> Result<Self> {
        let direct = Endpoint { target: Target::Direct, address: server.addr(), pid: None };
        // A client that can do all of `caching_sha2_password`: from then on the server remembers the account.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let options = ConnectOptions::tcp(direct.address, LOGIN.user, LOGIN.password);
            let mut client = options.connect().await?;
            client.run(&format!("CREATE DATABASE {}", LOGIN.schema)).await
        })?;
        let home = tempfile::Builder::new().prefix("weir-bench-").tempdir()?;
        Ok(Self {
            endpoints: vec![direct],
            proxies: Vec::new(),
            weirs: Vec::new(),
            server,
            ports: Vec::new(),
            home,
        })
    }

    fn add_haproxy(&mut self) -> Result<()> {
        let (address, config) = (self.free_address()?, self.home.path().join("haproxy.cfg"));
        std::fs::write(&config, haproxy_config(address, self.server.addr(), cores()?))?;
        let mut command = Command::new(haproxy_binary());
        command.arg("-db").arg("-f").arg(config);
        self.add(Target::Haproxy, address, command)
    }

    fn add_relay(&mut self) -> Result<()> {
        let address = self.free_address()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("relay").arg("--listen").arg(address.to_string());
        command.arg("--backend").arg(self.server.addr().to_string());
        self.add(Target::Relay, address, command)
    }

    fn add_bare(&mut self) -> Result<()> {
        let address = self.free_address()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("bare").arg("--listen").arg(address.to_string());
        self.add(Target::Bare, address, command)
    }

    /// It keeps nothing on disk.
    fn add_redis(&mut self) -> Result<()> {
        let address = self.free_address()?;
        let mut command = Command::new("redis-server");
        command.args(["--bind", "127.0.0.1", "--port", &address.port().to_string(), "--save", ""]);
        command.args(["--appendonly", "no"]).arg("--dir").arg(self.home.path());
        self.add(Target::Redis, address, command).context("scripts/deps.sh installs redis-server")
    }

    fn add_weir(&mut self, binary: &Path, target: Target, connections: u32) -> Result<()> {
        ensure!(binary.exists(), "{} is missing: cargo build --release -p weir", binary.display());
        let config = weir_config(self.server.addr(), connections, target);
        let weir = Weir::config(config).binary(binary.canonicalize()?).start()?;
        self.endpoints.push(Endpoint { target, address: weir.addr(), pid: Some(weir.pid()) });
        self.weirs.push(weir);
        Ok(())
    }

    fn add(&mut self, target: Target, address: SocketAddr, command: Command) -> Result<()> {
        let mut program = Program::start(command)?;
        await_listening(&mut program, address, PATIENCE)
            .with_context(|| format!("starting {}", target.name()))?;
        self.endpoints.push(Endpoint { target, address, pid: Some(program.pid()) });
        self.proxies.push(program);
        Ok(())
    }

    fn free_address(&mut self) -> Result<SocketAddr> {
        let port = PortLease::take()?;
        let address = (Ipv4Addr::LOCALHOST, port.number()).into();
        self.ports.push(port);
        Ok(address)
    }
}

/// The number of cores: how many threads each proxy gets.
///
/// # Errors
/// When the system does not say.
pub fn cores() -> Result<usize> {
    Ok(std::thread::available_parallelism()?.get())
}

/// Debian keeps it where only root's `PATH` leads.
fn haproxy_binary() -> PathBuf {
    let debian = PathBuf::from("/usr/sbin/haproxy");
    if debian.exists() { debian } else { "haproxy".into() }
}

/// TCP mode with a thread per core, nothing logged, and no time-out that an experiment could reach.
fn haproxy_config(listen: SocketAddr, backend: SocketAddr, threads: usize) -> String {
    format!(
        "global\n  nbthread {threads}\n  maxconn 9000\n\
         defaults\n  mode tcp\n  maxconn 9000\n  timeout connect 5s\n  timeout client 1h\n  timeout server 1h\n\
         listen bench\n  bind {listen}\n  server db {backend}\n"
    )
}

/// A listed user; no TLS towards the server and no line in the log for each connection, because nobody else here
/// encrypts or logs. Where connections are shared, a password that the server has taken is good for a minute: proxies that
/// share connections never ask it.
pub(crate) fn weir_config(backend: SocketAddr, connections: u32, target: Target) -> String {
    let sharing = match target {
        Target::Shared | Target::Ample | Target::Cached => {
            "[pool]\nsharing = \"transaction\"\n\n[auth]\nrevalidate = \"1m\""
        }
        _ => "[pool]\nsharing = \"session\"",
    };
    let cache = if target == Target::Cached { CACHE_READS } else { "" };
    format!(
        "[listen]\nmysql = [\"$LISTEN\"]\n\n\
         [[server]]\nname = \"db1\"\naddress = \"{backend}\"\nmax_connections = {connections}\n\
         tls = {{ mode = \"disabled\" }}\n\n\
         [[user]]\nname = \"{}\"\npassword = \"{}\"\n\n\
         {sharing}\n\n\
         [limits]\nmax_clients = {MAX_CONNECTIONS}\n\n\
         [log]\nlevel = \"warn\"\n{cache}",
        LOGIN.user, LOGIN.password
    )
}

/// For longer than any run takes.
const CACHE_READS: &str = "\n[cache]\nmemory = \"1GiB\"\n\n\
    [[rule]]\nname = \"reads\"\nmatch = { pattern = \"^SELECT\", kind = \"read\" }\ncache = { ttl = \"1h\" }\n";

/// Waits until `program` listens at `address`.
pub(crate) fn await_listening(program: &mut Program, address: SocketAddr, patience: Duration) -> Result<()> {
    let deadline = Instant::now() + patience;
    while TcpStream::connect(address).is_err() {
        if !program.is_running() {
            bail!("it ended before it listened at {address}:\n{}", program.log());
        }
        ensure!(
            Instant::now() < deadline,
            "it did not listen at {address} within {patience:?}:\n{}",
            program.log()
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
