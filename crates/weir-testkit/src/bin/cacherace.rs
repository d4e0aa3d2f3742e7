//! `cacherace`: Weir's result cache under sessions that run at once.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::{Parser, ValueEnum};

use weir_testkit::cacherace::{self, Place, flights, outage, race};
use weir_testkit::{Flavor, Server, Weir};

/// Races readers against writers, wipes, kills and a server that goes away.
///
/// Exit status: 0 when every answer was allowed, 1 when not or when it could not be run.
#[derive(Debug, Parser)]
struct Args {
    /// The Weir to start; by default the one that WEIR_BIN names or the build made.
    #[arg(long)]
    weir_bin: Option<PathBuf>,
    #[arg(long, value_enum, default_value = "both")]
    family: Family,
    /// How long readers and writers race.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    #[arg(long, default_value_t = 24)]
    sessions: usize,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// What `[cache]` says.
    #[arg(long, default_value = "adaptive")]
    admission: String,
    /// Bits of the hashes by which the cache finds entries; a Weir built with assertions takes fewer than 64.
    #[arg(long, default_value_t = 64)]
    hash_bits: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Family {
    Mysql,
    Mariadb,
    Both,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let flavors: &[Flavor] = match args.family {
        Family::Mysql => &[Flavor::MySql],
        Family::Mariadb => &[Flavor::MariaDb],
        Family::Both => &Flavor::BOTH,
    };
    let mut code = ExitCode::SUCCESS;
    for flavor in flavors {
        if let Err(error) = one(&args, *flavor) {
            println!("FAILED: {}: {error:#}", flavor.as_str());
            code = ExitCode::FAILURE;
        }
    }
    code
}

fn one(args: &Args, flavor: Flavor) -> Result<()> {
    let mut server = Server::start(flavor)?;
    let mut builder = Weir::config(cacherace::config(server.addr(), &args.admission));
    if args.hash_bits != 64 {
        builder = builder.env("WEIR_CACHE_HASH_BITS", args.hash_bits.to_string());
    }
    if let Some(binary) = &args.weir_bin {
        builder = builder.binary(binary.canonicalize().context("--weir-bin")?);
    }
    let weir = builder.start()?;
    let place = Place { server: server.addr(), weir: weir.addr(), admin: weir.admin_addr() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        cacherace::build(&place).await.context("the tables")?;
        for leader in flights::LEADERS {
            let most = flights::run(&place, leader).await.with_context(|| format!("{leader:?}"))?;
            println!(
                "{}: the one that asks {leader:?}: {most} at once on the server at most",
                flavor.as_str()
            );
        }
        let plan = race::Plan { place, sessions: args.sessions, seconds: args.seconds, seed: args.seed };
        let race = race::run(&plan).await.context("the race")?;
        println!("{}: {race:?}", flavor.as_str());
        ensure!(race.stale >= 10 && race.wipes >= 5, "too little was met: {race:?}");
        let stale = outage::run(&place, &mut server).await.context("the server goes away")?;
        println!("{}: {stale} answers past their time while the server was gone", flavor.as_str());
        Ok(())
    })
}
