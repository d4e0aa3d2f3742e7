//! Hostile clients against Weir: see `weir_testkit::hostile`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use weir_testkit::Flavor;
use weir_testkit::hostile::{Plan, Scale, run};

/// Runs hostile clients against Weir in front of a real server. Exits with 1 if a scenario failed.
#[derive(Debug, Parser)]
struct Args {
    /// The weir binary under test.
    #[arg(long)]
    weir_bin: PathBuf,
    /// Which server stands behind.
    #[arg(long, value_enum, default_value_t = Family::Mysql)]
    family: Family,
    /// How much of everything: quick is below 90 s.
    #[arg(long, value_enum, default_value_t = Size::Quick)]
    scale: Size,
    /// Of everything random.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only scenarios whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Let clients share server connections.
    #[arg(long)]
    sharing: bool,
    /// Writes Weir's log to this file.
    #[arg(long)]
    log: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Family {
    Mysql,
    Mariadb,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Size {
    Quick,
    Full,
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    let plan = Plan {
        weir_bin: args.weir_bin,
        flavor: match args.family {
            Family::Mysql => Flavor::MySql,
            Family::Mariadb => Flavor::MariaDb,
        },
        scale: match args.scale {
            Size::Quick => Scale::Quick,
            Size::Full => Scale::Full,
        },
        seed: args.seed,
        only: args.only,
        sharing: args.sharing,
        log: args.log,
    };
    let started = Instant::now();
    let sharing = if plan.sharing { ", connections shared" } else { "" };
    println!("hostile clients, {}, seed {}{sharing}", plan.flavor.as_str(), plan.seed);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let tally = runtime.block_on(run(&plan))?;
    println!("({:.0} s)", started.elapsed().as_secs_f64());
    println!("{} passed, {} failed", tally.passed, tally.failed);
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
