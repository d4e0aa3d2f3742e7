//! `cachemodel`: seeded sessions through Weir's result cache, against a model of what they may be answered.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};

use weir_testkit::cachemodel::run::{self, Plan};
use weir_testkit::cachemodel::world;
use weir_testkit::{Flavor, Server, Weir};

/// Runs seeded sessions on two equal servers, one behind a Weir with rules, and looks at every answer.
///
/// Exit status: 0 when every answer is allowed and enough of them came out of memory, 1 when not, 2 when the run could not be
/// made. Time is real, so a failure may need some runs of its seed to come again.
#[derive(Debug, Parser)]
struct Args {
    /// The Weir to start; by default the one that WEIR_BIN names or the build made.
    #[arg(long)]
    weir_bin: Option<PathBuf>,
    #[arg(long, value_enum, default_value = "both")]
    family: Family,
    #[arg(long, default_value_t = 25_000)]
    steps: usize,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[arg(long, default_value_t = 8)]
    sessions: usize,
    /// Bits of the hashes by which the cache finds entries; a Weir built with assertions takes fewer than 64.
    #[arg(long, default_value_t = 64)]
    hash_bits: u32,
    /// What `[cache]` says.
    #[arg(long, default_value = "adaptive")]
    admission: String,
    /// What `[pool]` says.
    #[arg(long, value_enum, default_value = "transaction")]
    sharing: Sharing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Family {
    Mysql,
    Mariadb,
    Both,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sharing {
    Session,
    Transaction,
}

fn main() -> ExitCode {
    match try_main(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("cachemodel: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn try_main(args: &Args) -> Result<bool> {
    let flavors: &[Flavor] = match args.family {
        Family::Mysql => &[Flavor::MySql],
        Family::Mariadb => &[Flavor::MariaDb],
        Family::Both => &Flavor::BOTH,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut good = true;
    for flavor in flavors {
        good &= one(args, *flavor, &runtime)?;
    }
    Ok(good)
}

/// True when all is well.
fn one(args: &Args, flavor: Flavor, runtime: &tokio::runtime::Runtime) -> Result<bool> {
    let direct = Server::start(flavor)?;
    let behind = Server::start(flavor)?;
    let sharing = if args.sharing == Sharing::Session { "session" } else { "transaction" };
    let mut builder = Weir::config(world::config(behind.addr(), sharing, args.sessions + 8, &args.admission));
    if args.hash_bits != 64 {
        builder = builder.env("WEIR_CACHE_HASH_BITS", args.hash_bits.to_string());
    }
    if let Some(binary) = &args.weir_bin {
        builder = builder.binary(binary.canonicalize().context("--weir-bin")?);
    }
    let mut weir = builder.start()?;
    let plan = Plan {
        flavor,
        sides: [direct.addr(), weir.addr()],
        behind: behind.addr(),
        admin: weir.admin_addr(),
        sessions: args.sessions,
        steps: args.steps,
        seed: args.seed,
    };
    let ran = runtime.block_on(run::run(&plan));
    if ran.as_ref().map_or(true, |summary| summary.failure.is_some()) {
        let running = if weir.is_running() { "still runs" } else { "has ended" };
        let log = weir.log();
        let lines: Vec<_> = log.lines().collect();
        println!("weir {running}; its last lines:\n{}", lines[lines.len().saturating_sub(10)..].join("\n"));
    }
    let name = format!(
        "{}, seed {}, connections by {sharing}, hashes of {} bits, admission {}",
        flavor.as_str(),
        args.seed,
        args.hash_bits,
        args.admission
    );
    let summary = ran.with_context(|| name.clone())?;
    println!("{}", summary.text(&name));
    if let Some(why) = &summary.failure {
        println!("FAILED: an answer that the model forbids, at {why}");
        return Ok(false);
    }
    let missing = summary.missing();
    for what in &missing {
        println!("FAILED: too little was met: {what}");
    }
    Ok(missing.is_empty())
}
