//! The programs of the experiments: a server with its tables, and a Weir for each way of using it.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use weir_testkit::client::ConnectOptions;
use weir_testkit::{Server, Weir};

use super::options::{Parameters, ServerName, Sharing};
use super::plan::Variant;
use crate::client::Login;
use crate::load::{self, Load, Script, Scripts, Tables};
use crate::rig::LOGIN;

/// More than the largest sweep, with those of Weir and our own on top.
const MAX_CONNECTIONS: u32 = 10_100;
/// Memory of MariaDB's query cache while it is on.
const QUERY_CACHE: u32 = 256 << 20;
/// Bytes that a row takes in the server's memory with its two indexes, amply.
const ROW_BYTES: u64 = 400;
/// Clients beyond those of a step: sysbench of the one before may not be gone yet.
const SPARE: u32 = 100;
/// Fills tables with so many connections.
const FILLERS: u32 = 4;

/// A server with the tables of some experiments.
pub struct Database {
    server: Server,
    /// What the server calls its version.
    pub version: String,
}

impl Database {
    /// Starts the server and fills its tables, all of which fit into its memory.
    ///
    /// # Errors
    /// When the server or sysbench is missing or fails.
    pub fn start(name: ServerName, tables: Tables, scripts: &Scripts) -> Result<Self> {
        let pool = (u64::from(tables.count) * u64::from(tables.rows) * ROW_BYTES).max(256 << 20);
        let mut builder = Server::builder(name.flavor()).max_connections(MAX_CONNECTIONS);
        for arg in [
            &format!("--innodb-buffer-pool-size={pool}"),
            "--table-open-cache=10000",
            "--back-log=5000",
            "--max-prepared-stmt-count=1048576",
        ] {
            builder = builder.arg(arg);
        }
        // A small log makes writers wait for pages to be written; the kit's is one for tests.
        builder = match name {
            // It can be switched on and off while the server runs only if it was on at the start.
            ServerName::MariaDb => builder
                .arg("--innodb-log-file-size=256M")
                .arg("--query-cache-type=ON")
                .arg("--query-cache-size=1M"),
            ServerName::MySql => builder.arg("--innodb-redo-log-capacity=256M"),
        };
        let server = builder.start()?;
        let mut database = Self { server, version: String::new() };
        let versions = database.ask(&["SELECT VERSION()", &format!("CREATE DATABASE {}", LOGIN.schema)])?;
        database.version =
            versions.into_iter().flatten().next().context("the server did not tell its version")?;
        if name == ServerName::MariaDb {
            database.query_cache(false)?;
        }
        let load = Load {
            script: Script::PointSelect,
            tables,
            threads: FILLERS.min(tables.count),
            seconds: 0,
            prepared: false,
            uniform: false,
            seed: None,
            events_per_second: None,
            address: database.address(),
            login: LOGIN,
        };
        load::prepare(&load, scripts).context("filling the tables")?;
        Ok(database)
    }

    /// Where the server listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.server.addr()
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.server.pid()
    }

    /// Switches MariaDB's query cache for connections made from now on; it is empty then.
    ///
    /// # Errors
    /// When the server has none.
    pub fn query_cache(&self, on: bool) -> Result<()> {
        let (kind, size) = if on { ("ON", QUERY_CACHE) } else { ("OFF", 0) };
        let size = format!("SET GLOBAL query_cache_size = {size}");
        let kind = format!("SET GLOBAL query_cache_type = {kind}");
        self.ask(&[&size, &kind]).map(drop)
    }

    /// SELECTs that the server has run, those that its query cache answered left out.
    ///
    /// # Errors
    /// When the server does not answer.
    pub fn selects(&self) -> Result<f64> {
        let Login { user, password, .. } = LOGIN;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut client = ConnectOptions::tcp(self.server.addr(), user, password).connect().await?;
            let answer =
                client.run("SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_select', 'Qcache_hits')").await?;
            let mut selects = 0.0;
            for row in answer.rows() {
                let [name, value] = two_texts(row).context("the server does not count its SELECTs")?;
                let value: f64 = String::from_utf8_lossy(value).parse()?;
                // MariaDB counts what its query cache answers as SELECTs as well.
                selects += if name == b"Com_select" { value } else { -value };
            }
            Ok(selects)
        })
    }

    fn ask(&self, statements: &[&str]) -> Result<Vec<Option<String>>> {
        let Login { user, password, .. } = LOGIN;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut client = ConnectOptions::tcp(self.server.addr(), user, password).connect().await?;
            let mut answers = Vec::new();
            for sql in statements {
                match sql.starts_with("SELECT") {
                    true => answers.push(client.scalar(sql).await?),
                    false => drop(client.run(sql).await?),
                }
            }
            Ok(answers)
        })
    }
}

/// The values of a row of two short texts, each behind its length.
fn two_texts(row: &[u8]) -> Option<[&[u8]; 2]> {
    let (length, rest) = row.split_first()?;
    let (first, rest) = rest.split_at_checked(usize::from(*length))?;
    let (length, rest) = rest.split_first()?;
    Some([first, rest.get(..usize::from(*length))?])
}

/// Starts the Weir of `variant` in front of `database`, for up to `clients`.
///
/// # Errors
/// When it does not start, with what it printed.
pub fn start_weir(
    binary: &Path,
    variant: Variant,
    database: &Database,
    parameters: &Parameters,
    clients: u32,
) -> Result<Weir> {
    ensure!(binary.exists(), "{} is missing: cargo build --profile dist -p weir", binary.display());
    let config = config(variant, database.address(), parameters, clients);
    Weir::config(config).binary(binary.canonicalize()?).start()
}

/// A listed user and no TLS towards the server, for the direct connection has none either.
pub(super) fn config(variant: Variant, backend: SocketAddr, parameters: &Parameters, clients: u32) -> String {
    let (sharing, connections) = match parameters.sharing {
        Sharing::Session => ("session", parameters.connections.max(clients + SPARE)),
        Sharing::Transaction => ("transaction", parameters.connections),
    };
    let mut text = format!(
        "[listen]\nmysql = [\"$LISTEN\"]\nadmin = \"$ADMIN\"\n\n\
         [[server]]\nname = \"db1\"\naddress = \"{backend}\"\nmax_connections = {connections}\n\
         tls = {{ mode = \"disabled\" }}\n\n\
         [[user]]\nname = \"{}\"\npassword = \"{}\"\n\n\
         [pool]\nsharing = \"{sharing}\"\n\n\
         [limits]\nmax_clients = {}\n\n\
         [log]\nlevel = \"warn\"\n",
        LOGIN.user,
        LOGIN.password,
        clients + SPARE
    );
    if variant.cached() {
        let loose = if variant == Variant::CachedLoose { ", own_writes = false" } else { "" };
        let (memory, ttl) = (&parameters.memory, &parameters.ttl);
        text.push_str(&format!(
            "\n[cache]\nmemory = \"{memory}\"\n\n\
             [[rule]]\nname = \"reads\"\nmatch = {{ pattern = \"^SELECT\", kind = \"read\" }}\n\
             cache = {{ ttl = \"{ttl}\"{loose} }}\n"
        ));
    }
    text
}
