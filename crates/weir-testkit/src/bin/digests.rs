//! Compares the digests of Weir with those of a real MySQL: see `weir_testkit::digests`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Parser;
use weir_testkit::digests::{Reason, Report, compare, gather};
use weir_testkit::{ConnectOptions, Flavor, Server};

/// Gathers statements from what is installed and compares the digest that Weir makes of each with that of the server.
/// Exits with 1 if a difference has no known reason.
#[derive(Debug, Parser)]
struct Args {
    /// A MySQL where root needs no password; without it a server is started.
    #[arg(long)]
    addr: Option<SocketAddr>,
    /// The max_digest_length of the server that is started.
    #[arg(long, default_value_t = 16_384)]
    limit: u32,
    /// A file or folder to look for statements in, instead of where packages put them. May be repeated.
    #[arg(long)]
    from: Vec<PathBuf>,
    /// Compare at most so many statements: one of each stretch of their list, by chance.
    #[arg(long)]
    most: Option<usize>,
    /// The number by which they are chosen.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Exit with 1 also if the server can parse fewer statements than this.
    #[arg(long, default_value_t = 1)]
    least: usize,
    /// Exit with 1 also if a difference has another known reason than a long name.
    #[arg(long)]
    only_long_names: bool,
    /// Show at most so many differences of each reason.
    #[arg(long, default_value_t = 3)]
    show: usize,
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    let statements = statements(&args)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(run(&args, &statements))?;
    show(&report, args.show);
    let why = faults(&args, &report);
    why.iter().for_each(|why| println!("FAILED: {why}"));
    Ok(if why.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What must not be.
fn faults(args: &Args, report: &Report) -> Vec<String> {
    let mut why = Vec::new();
    let passes = |reason| reason == Reason::LongName || !(args.only_long_names || reason == Reason::Unknown);
    let bad = report.differences.iter().filter(|difference| !passes(difference.reason)).count();
    if bad > 0 {
        why.push(format!("{bad} digests differ for reasons that are not let pass"));
    }
    if report.compared < args.least {
        why.push(format!("{} statements were compared, and {} should be", report.compared, args.least));
    }
    why
}

fn statements(args: &Args) -> Result<Vec<Vec<u8>>> {
    let mut statements = BTreeSet::new();
    let usual = gather::PLACES.iter().map(Path::new).filter(|place| place.exists()).map(Path::to_owned);
    let places: Vec<_> = if args.from.is_empty() { usual.collect() } else { args.from.clone() };
    for place in &places {
        let before = statements.len();
        gather::below(place, &mut statements)?;
        println!("{}: {} statements", place.display(), statements.len() - before);
    }
    if statements.is_empty() {
        bail!(
            "no statements found: install mariadb-test-data, wordpress or sysbench, or name a folder with --from"
        );
    }
    let statements = statements.into_iter().collect();
    let Some(most) = args.most else { return Ok(statements) };
    let spread = gather::spread(statements, most, args.seed);
    println!("{} of them, by seed {}", spread.len(), args.seed);
    Ok(spread)
}

async fn run(args: &Args, statements: &[Vec<u8>]) -> Result<Report> {
    let own = match args.addr {
        Some(_) => None,
        None => {
            let limit = format!("--max-digest-length={}", args.limit);
            Some(Server::builder(Flavor::MySql).arg(limit).start()?)
        }
    };
    let Some(addr) = args.addr.or(own.as_ref().map(Server::addr)) else { bail!("there is no server") };
    let mut root = ConnectOptions::tcp(addr, "root", "").connect().await?;
    root.run("SET NAMES utf8mb4").await?;
    root.run("CREATE DATABASE IF NOT EXISTS weir_digests").await?;
    root.run("USE weir_digests").await?;
    compare(&mut root, statements).await
}

/// Prints the report.
fn show(report: &Report, most: usize) {
    let mut by_reason: BTreeMap<Reason, Vec<_>> = BTreeMap::new();
    for difference in &report.differences {
        by_reason.entry(difference.reason).or_default().push(difference);
    }
    for (reason, differences) in &by_reason {
        println!("\n{}: {}", reason.as_str(), differences.len());
        for difference in differences.iter().take(most) {
            println!("  statement {}", String::from_utf8_lossy(&difference.sql).escape_debug());
            println!("  server    {}", difference.server);
            println!("  weir      {}", difference.weir);
        }
    }
    let equal = report.compared - report.differences.len();
    println!("\n{} compared, {equal} equal, {} differ", report.compared, report.differences.len());
    println!("{} left out, which the server cannot parse", report.refused);
}
