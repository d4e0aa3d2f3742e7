//! `weir-bench`: measures Weir against a direct connection, HAProxy and a bare relay. `make bench` runs it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::{Args, Parser, Subcommand};
use weir_bench::report::{self, Setting};
use weir_bench::run::{self, Plan};
use weir_bench::{advise, bare, count, experiments, hot, relay, rig};

#[derive(Parser)]
#[command(name = "weir-bench", about = "Measures Weir against a direct connection, HAProxy and a bare relay")]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Start everything, measure, print the tables
    Run(RunArgs),
    /// Relay TCP connections, knowing no protocol
    Relay {
        /// Address to accept connections at
        #[arg(long, value_name = "HOST:PORT")]
        listen: SocketAddr,
        /// Address to relay them to
        #[arg(long, value_name = "HOST:PORT")]
        backend: SocketAddr,
        /// Move bytes with epoll even where the kernel allows io_uring
        #[arg(long)]
        epoll: bool,
    },
    /// Answer MySQL clients from memory, knowing nothing: the least that a server can cost
    Bare {
        /// Address to accept connections at
        #[arg(long, value_name = "HOST:PORT")]
        listen: SocketAddr,
    },
    /// Repeat the published experiments E1, E2 and E4, and write a report with graphs
    Experiments(Box<experiments::options::Args>),
    /// Compare what the cache advisor predicts with what rules then do
    Advise(advise::Args),
    /// Count the instructions of the hot functions and compare them with the expected ones
    Count {
        /// The expected counts
        #[arg(long, default_value = "crates/weir-bench/benches/instructions.txt", value_name = "FILE")]
        expected: PathBuf,
        /// Write the counts there instead of comparing
        #[arg(long)]
        bless: bool,
    },
    /// Call one hot function so many times, for a profiler
    Hot {
        /// Its name in the table that `count` prints
        name: String,
        /// How often to call it
        times: u32,
    },
}

#[derive(Args)]
struct RunArgs {
    /// About three minutes instead of twenty: fewer rows, shorter runs
    #[arg(long)]
    quick: bool,
    /// How often everything is repeated
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Only these experiments, by the beginning of their names
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    only: Vec<String>,
    /// Also write everything to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Weir's binary; otherwise $WEIR_BIN, otherwise target/release/weir
    #[arg(long, value_name = "FILE")]
    weir: Option<PathBuf>,
}

fn main() -> Result<()> {
    match Cli::parse().verb {
        Verb::Run(args) => measure(&args),
        Verb::Relay { listen, backend, epoll } => {
            relay::run(listen, backend, epoll).with_context(|| format!("relay from {listen} to {backend}"))
        }
        Verb::Bare { listen } => bare::run(listen).with_context(|| format!("a bare server at {listen}")),
        Verb::Experiments(args) => {
            let weir = weir_binary(args.weir.as_ref());
            let complete = experiments::run(&args, &weir, version(&weir)?)?;
            ensure!(complete, "some steps have no figures, see the report");
            Ok(())
        }
        Verb::Advise(args) => {
            let weir = weir_binary(args.weir.as_ref());
            let within = advise::run(&args, &weir, version(&weir)?)?;
            ensure!(within, "a prediction of the cache advisor is too far off, see the table");
            Ok(())
        }
        Verb::Count { expected, bless } => {
            let (table, within) = count::run(&expected, bless)?;
            print!("{table}");
            ensure!(
                within,
                "a count is out of bounds: find out why, or write the new ones down with --bless"
            );
            Ok(())
        }
        Verb::Hot { name, times } => (hot::find(&name)?.run)(times),
    }
}

fn measure(args: &RunArgs) -> Result<()> {
    if cfg!(debug_assertions) {
        eprintln!("this is not a release build: the relay's figures mean nothing");
    }
    let plan = Plan {
        weir: weir_binary(args.weir.as_ref()),
        rounds: args.rounds,
        experiments: run::choose(&args.only)?,
        quick: args.quick,
    };
    let setting = Setting {
        weir: version(&plan.weir)?,
        cores: rig::cores()?,
        kernel: std::fs::read_to_string("/proc/sys/kernel/osrelease")?.trim().to_owned(),
        rounds: plan.rounds,
        quick: plan.quick,
    };
    let readings = run::run(&plan)?;
    println!("{}", report::text(&setting, &readings));
    if let Some(file) = &args.json {
        let json = report::json(&setting, &readings)?;
        std::fs::write(file, json + "\n").with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

fn weir_binary(named: Option<&PathBuf>) -> PathBuf {
    let named = named.cloned().or_else(|| std::env::var_os("WEIR_BIN").map(PathBuf::from));
    named.unwrap_or_else(|| "target/release/weir".into())
}

fn version(weir: &Path) -> Result<String> {
    let output = Command::new(weir).arg("--version").output();
    let output = output.with_context(|| {
        format!("cannot run {}: build it with cargo build --release -p weir, or set WEIR_BIN", weir.display())
    })?;
    ensure!(output.status.success(), "{} --version failed", weir.display());
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
