//! What is asked for on the command line, and what that means in numbers.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use weir_testkit::Flavor;

use crate::load::Tables;

/// The arguments of `weir-bench experiments`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Which experiments; without any, all of them
    #[arg(value_enum)]
    pub which: Vec<Experiment>,
    /// About three minutes instead of twenty: fewer threads, shorter runs, smaller tables
    #[arg(long)]
    pub quick: bool,
    /// Forget what earlier runs measured, and begin anew
    #[arg(long)]
    pub fresh: bool,
    /// Measure nothing: write the report of what is there
    #[arg(long)]
    pub report_only: bool,
    /// Show the steps and how long they will take, and stop
    #[arg(long)]
    pub dry_run: bool,
    /// Servers to measure on [default: mariadb, and mysql where WEIR_MYSQL_DIR names its folder]
    #[arg(long, value_enum, value_delimiter = ',')]
    pub servers: Vec<ServerName>,
    /// Numbers of clients [default: the powers of two up to --max-threads]
    #[arg(long, value_delimiter = ',', value_name = "N,...", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Vec<u32>,
    /// The largest number of clients of the default sweep
    #[arg(long, default_value_t = 256, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub max_threads: u32,
    /// Seconds of each step [default: 5, quick 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub seconds: Option<u32>,
    /// Seconds in which the cache is filled before the first step that uses it; 0 is not at all [default: 10, quick 2]
    #[arg(long, value_name = "N")]
    pub warmup: Option<u32>,
    /// Tables of E1 and E2 [default: 16, quick 4; the published runs had 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub tables: Option<u32>,
    /// Rows of each table of E1 and E2
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub rows: u32,
    /// Tables of E4
    #[arg(long, default_value_t = 16, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub point_tables: u32,
    /// Rows of each table of E4 [default: 10000, quick 2000; the published runs had 1000000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub point_rows: Option<u32>,
    /// The rule's TTL, as it stands in weir.toml
    #[arg(long, default_value = "1h", value_name = "TIME")]
    pub ttl: String,
    /// Memory of Weir's cache, as it stands in weir.toml; the server's query cache gets 256 MiB
    #[arg(long, default_value = "1GiB", value_name = "SIZE")]
    pub memory: String,
    /// Whether sysbench prepares its statements or sends text
    #[arg(long, value_enum, default_value_t = Protocol::Text)]
    pub protocol: Protocol,
    /// Whether Weir's clients share server connections (`pool.sharing`)
    #[arg(long, value_enum, default_value_t = Sharing::Transaction)]
    pub sharing: Sharing,
    /// Server connections of Weir at most; with `--sharing session` never fewer than clients
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub connections: u32,
    /// Where the report, the figures and the state are written
    #[arg(long, default_value = ".cache/experiments", value_name = "FOLDER")]
    pub dir: PathBuf,
    /// Weir's binary; otherwise $WEIR_BIN, otherwise target/release/weir
    #[arg(long, value_name = "FILE")]
    pub weir: Option<PathBuf>,
}

/// One of the experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Experiment {
    /// sysbench OLTP in transactions, which pass through
    E1,
    /// sysbench OLTP with reads outside of transactions, cached
    E2,
    /// Point selects beside a light writer, and MariaDB's own query cache
    E4,
}

impl Experiment {
    /// All, in the order in which they run.
    pub const ALL: [Self; 3] = [Self::E1, Self::E2, Self::E4];

    /// The word for it on the command line.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::E1 => "e1",
            Self::E2 => "e2",
            Self::E4 => "e4",
        }
    }
}

/// A server of the distribution, or MySQL in its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lowercase")]
pub enum ServerName {
    /// MariaDB of the distribution
    MariaDb,
    /// MySQL in the folder that WEIR_MYSQL_DIR names, or in .cache/mysql
    MySql,
}

impl ServerName {
    /// As people write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MariaDb => "MariaDB",
            Self::MySql => "MySQL",
        }
    }

    /// As the test kit calls it.
    #[must_use]
    pub fn flavor(self) -> Flavor {
        match self {
            Self::MariaDb => Flavor::MariaDb,
            Self::MySql => Flavor::MySql,
        }
    }
}

/// How statements are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// COM_QUERY
    Text,
    /// COM_STMT_PREPARE once, then COM_STMT_EXECUTE
    Prepared,
}

/// `pool.sharing` of weir.toml.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sharing {
    /// A server connection for each client
    Session,
    /// A server connection for as long as a statement or a transaction takes
    Transaction,
}

/// Everything that a figure depends on, but for the step itself. A figure of an earlier run is kept as long as these
/// are the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameters {
    /// What `weir --version` printed.
    pub weir: String,
    /// The binary's size in bytes and its time of change, in seconds since 1970.
    pub build: (u64, u64),
    /// Cores of the machine.
    pub cores: usize,
    /// Seconds of each step.
    pub seconds: u32,
    /// Seconds in which the cache is filled first.
    pub warmup: u32,
    /// Tables of E1 and E2.
    pub oltp: Tables,
    /// Tables of E4.
    pub points: Tables,
    /// The rule's TTL.
    pub ttl: String,
    /// Memory of Weir's cache.
    pub memory: String,
    /// How statements are sent.
    pub protocol: Protocol,
    /// Whether Weir's clients share connections.
    pub sharing: Sharing,
    /// Server connections of Weir at most.
    pub connections: u32,
}

impl Args {
    /// The numbers behind the flags; `weir` is the version of the binary and `build` tells builds apart.
    #[must_use]
    pub fn parameters(&self, weir: String, build: (u64, u64), cores: usize) -> Parameters {
        let pick = |given: Option<u32>, quick, usual| given.unwrap_or(if self.quick { quick } else { usual });
        Parameters {
            weir,
            build,
            cores,
            seconds: pick(self.seconds, 2, 5),
            warmup: pick(self.warmup, 2, 10),
            oltp: Tables { count: pick(self.tables, 4, 16), rows: self.rows },
            points: Tables { count: self.point_tables, rows: pick(self.point_rows, 2_000, 10_000) },
            ttl: self.ttl.clone(),
            memory: self.memory.clone(),
            protocol: self.protocol,
            sharing: self.sharing,
            connections: self.connections,
        }
    }

    /// The experiments in their order.
    #[must_use]
    pub fn experiments(&self) -> Vec<Experiment> {
        let wanted = |one: &Experiment| self.which.is_empty() || self.which.contains(one);
        Experiment::ALL.into_iter().filter(wanted).collect()
    }

    /// The numbers of clients, from few to many.
    #[must_use]
    pub fn sweep(&self) -> Vec<u32> {
        let mut sweep = match (&self.threads[..], self.quick) {
            ([], true) => vec![1, 8, 64],
            ([], false) => {
                (0..=12).map(|power| 1 << power).filter(|threads| *threads <= self.max_threads).collect()
            }
            (given, _) => given.to_vec(),
        };
        sweep.sort_unstable();
        sweep.dedup();
        sweep
    }

    /// The servers in their order.
    #[must_use]
    pub fn servers(&self) -> Vec<ServerName> {
        let mut servers = self.servers.clone();
        if servers.is_empty() {
            servers.push(ServerName::MariaDb);
            servers.extend(std::env::var_os("WEIR_MYSQL_DIR").map(|_| ServerName::MySql));
        }
        servers.sort_unstable();
        servers.dedup();
        servers
    }

    /// That what is asked for can be measured.
    ///
    /// # Errors
    /// When a process may not have as many descriptors as the sweep needs.
    pub fn check(&self) -> Result<()> {
        let most = u64::from(self.sweep().last().copied().unwrap_or_default());
        let limits = std::fs::read_to_string("/proc/self/limits")?;
        let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
        let limit = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        let needed = 2 * most + 400;
        ensure!(
            limit.is_none_or(|limit| limit >= needed),
            "{most} clients need {needed} open files in a process, and this one may have {}: ulimit -n {needed}",
            limit.unwrap_or_default()
        );
        Ok(())
    }
}
