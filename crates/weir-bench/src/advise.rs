//! The cache advisor against fact: what it tells of rules before there are any, and what they then do.
//!
//! A workload runs through Weir without a rule. Then the rules are made that the advisor proposes, and others with one TTL for
//! all statements, and each time the same workload runs again with the same seed and for as long. Sessions share connections.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use serde::Serialize;
use weir_testkit::Weir;

use crate::experiments::options::ServerName;
use crate::experiments::stage::Database;
use crate::load::{self, Load, Script, Scripts, Tables};
use crate::rig::LOGIN;

mod asked;
mod report;
mod skewed;

use asked::{Advised, Rules};
use report::Line;

/// The arguments of `weir-bench advise`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Which workloads; without any, all of them
    #[arg(value_enum)]
    pub which: Vec<Workload>,
    /// Seconds of each run
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3_600))]
    pub seconds: u32,
    /// TTLs of rules beside those that the advisor proposes: 1s, 10s, 1m, 5m, 30m or 1h
    #[arg(long, default_value = "1s,10s,1h", value_delimiter = ',', value_name = "TTL,...")]
    pub ttl: Vec<String>,
    /// How many percent of the hits of a proposed rule may be out of date
    #[arg(long, default_value_t = 5, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(0..=100))]
    pub stale: u32,
    /// Clients
    #[arg(long, default_value_t = 8, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub clients: u32,
    /// Statements per second of the skewed workload
    #[arg(long, default_value_t = 1_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub rate: u32,
    /// Events per second of e2-paced and nontran-paced, of 14 reads each
    #[arg(long, default_value_t = 25, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub events: u32,
    /// What the random numbers begin with
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub seed: u32,
    /// Also write everything to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Weir's binary; otherwise $WEIR_BIN, otherwise target/release/weir
    #[arg(long, value_name = "FILE")]
    pub weir: Option<PathBuf>,
}

/// What clients do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// sysbench oltp_read_only --skip-trx, as fast as it goes: a run with the cache sends more in the same time
    E2,
    /// The same at a fixed rate
    E2Paced,
    /// sysbench oltp_nontran, whose sessions write as well, as fast as it goes
    Nontran,
    /// The same at a fixed rate
    NontranPaced,
    /// Point selects and a few ranges, some rows far more often than others, at a fixed rate, beside a writer
    Skewed,
}

impl Workload {
    const ALL: [Self; 5] = [Self::E2, Self::E2Paced, Self::Nontran, Self::NontranPaced, Self::Skewed];

    fn name(self) -> &'static str {
        match self {
            Self::E2 => "e2",
            Self::E2Paced => "e2-paced",
            Self::Nontran => "nontran",
            Self::NontranPaced => "nontran-paced",
            Self::Skewed => "skewed",
        }
    }

    /// Whether a run with the cache sends as much as one without.
    fn is_paced(self) -> bool {
        matches!(self, Self::E2Paced | Self::NontranPaced | Self::Skewed)
    }
}

/// Tables of E2, with five statements for each.
const TABLES: Tables = Tables { count: 2, rows: 10_000 };
/// More than there are statements.
const MOST: usize = 1_000;

/// How a prediction may differ, in points of a hundred.
const WITHIN: f64 = 10.0;

/// Runs all of it and prints the table. Returns whether all predictions for workloads at a fixed rate were within 10 points.
///
/// # Errors
/// When a program is missing or fails.
pub fn run(args: &Args, binary: &Path, version: String) -> Result<bool> {
    ensure!(binary.exists(), "{} is missing: cargo build --release -p weir", binary.display());
    let scripts = Scripts::write()?;
    let database = Database::start(ServerName::MariaDb, TABLES, &scripts)?;
    let table = skewed::Table::create(database.address())?;
    let bench = Bench { args, binary: &binary.canonicalize()?, scripts, database, table };
    let mut lines = Vec::new();
    for workload in Workload::ALL {
        if args.which.is_empty() || args.which.contains(&workload) {
            lines.extend(bench.check(workload)?);
        }
    }
    println!("{version}, {}, {} clients, {} s each\n", bench.database.version, args.clients, args.seconds);
    println!("{}", report::text(&lines));
    if let Some(file) = &args.json {
        std::fs::write(file, report::json(&version, args, &lines)?)
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(!lines.iter().any(Line::is_far_off))
}

/// What a run showed by itself.
#[derive(Clone, Copy, Debug)]
struct Played {
    /// Answers that were out of date when they were asked for, where that is known.
    stale: Option<u64>,
}

struct Bench<'a> {
    args: &'a Args,
    binary: &'a Path,
    scripts: Scripts,
    database: Database,
    table: skewed::Table,
}

impl Bench<'_> {
    /// One workload without a rule, and then with each.
    fn check(&self, workload: Workload) -> Result<Vec<Line>> {
        let weir = Weir::config(self.config()).binary(self.binary).start()?;
        eprintln!("{}: without a rule", workload.name());
        self.play(workload, &weir)?;
        let told = asked::advice(weir.admin_addr(), MOST, self.args.stale)?;
        ensure!(!told.is_empty(), "the advisor has seen no statement");
        let mut lines = Vec::new();
        let ttls = self.args.ttl.iter().map(|ttl| Some(ttl.as_str()));
        for ttl in std::iter::once(None).chain(ttls) {
            let Some(line) = self.fact(workload, &weir, &told, ttl)? else {
                eprintln!("{}: no rule is proposed", workload.name());
                continue;
            };
            eprintln!("{}", line.describe());
            lines.push(line);
        }
        Ok(lines)
    }

    /// The workload with a rule for each statement, with this TTL or with the one that is proposed; nothing where none is.
    fn fact(
        &self,
        workload: Workload,
        weir: &Weir,
        told: &[Advised],
        ttl: Option<&str>,
    ) -> Result<Option<Line>> {
        let rules = Rules::add(self.binary, weir, told, ttl)?;
        if rules.is_empty() {
            return Ok(None);
        }
        let played = self.play(workload, weir)?;
        let statements = rules.compared()?;
        rules.remove()?;
        let ttl = ttl.unwrap_or("proposed").to_owned();
        Ok(Some(Line::new(workload, ttl, statements, played.stale)))
    }

    fn play(&self, workload: Workload, weir: &Weir) -> Result<Played> {
        if workload == Workload::Skewed {
            let load = skewed::Load {
                address: weir.addr(),
                clients: self.args.clients,
                rate: self.args.rate,
                seconds: self.args.seconds,
                seed: self.args.seed,
            };
            return Ok(Played { stale: Some(skewed::run(&load, &self.table)?) });
        }
        let reads = matches!(workload, Workload::E2 | Workload::E2Paced);
        let load = Load {
            script: if reads { Script::ReadOnlySkipTrx } else { Script::Nontran },
            tables: TABLES,
            threads: self.args.clients,
            seconds: self.args.seconds,
            prepared: false,
            uniform: false,
            seed: Some(self.args.seed),
            events_per_second: workload.is_paced().then_some(self.args.events),
            address: weir.addr(),
            login: LOGIN,
        };
        load::run(&load, &self.scripts, || Ok(()))?;
        Ok(Played { stale: None })
    }

    fn config(&self) -> String {
        format!(
            "[listen]\nmysql = [\"$LISTEN\"]\nadmin = \"$ADMIN\"\n\n\
             [[server]]\nname = \"db1\"\naddress = \"{}\"\nmax_connections = {}\n\
             tls = {{ mode = \"disabled\" }}\n\n\
             [[user]]\nname = \"{}\"\npassword = \"{}\"\n\n\
             [pool]\nsharing = \"transaction\"\n\n\
             [log]\nlevel = \"warn\"\n\n\
             [cache]\nmemory = \"1GiB\"\n",
            self.database.address(),
            self.args.clients + 8,
            LOGIN.user,
            LOGIN.password,
        )
    }
}
