//! `differential`: the same seeded sessions directly and through Weir, compared byte by byte.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};

use weir_testkit::differential::generate::{self, Manner};
use weir_testkit::differential::run::{self, Plan, Side, Summary};
use weir_testkit::differential::sharing::{self, Sharing};
use weir_testkit::differential::{Class, report, shrink};
use weir_testkit::{Flavor, Server, Weir};

/// Statements that are shown of a session ahead of its first difference.
const BEFORE: usize = 30;

/// Compares a server with Weir in front of it, statement by statement.
///
/// Exit status: 0 when every session is identical and every class of statement occurred often enough, 1 when
/// not, 2 when the comparison could not be made.
#[derive(Debug, Parser)]
struct Args {
    /// Start two equal servers, and Weir in front of the second.
    #[arg(long)]
    spawn: bool,
    /// The Weir to start; by default the one that WEIR_BIN names or the build made.
    #[arg(long, requires = "spawn")]
    weir_bin: Option<PathBuf>,
    /// The server's address.
    #[arg(long, required_unless_present = "spawn")]
    direct: Option<SocketAddr>,
    /// Weir's address.
    #[arg(long)]
    weir: Option<SocketAddr>,
    /// Which server it is.
    #[arg(long, value_enum, default_value = "both")]
    family: Family,
    #[arg(long, default_value_t = 64)]
    sessions: usize,
    /// Over all sessions.
    #[arg(long, default_value_t = 20_000)]
    statements: usize,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Sessions at once.
    #[arg(long, default_value_t = 64)]
    concurrency: usize,
    /// Go on with the next seed until a difference is found.
    #[arg(long)]
    soak: bool,
    /// Compare the server with itself: shows what differs without Weir.
    #[arg(long)]
    control: bool,
    /// Sessions whose failures are made short; the others are only named.
    #[arg(long, default_value_t = 3)]
    shrink: usize,
    /// Leave out a class of statements, by its name in the table or a part of it.
    #[arg(long)]
    without: Vec<String>,
    /// Run only the session of this number; the others keep theirs.
    #[arg(long)]
    only: Option<usize>,
    /// How Weir is told to share its server connections. With `transaction`, sessions take turns; what a failure
    /// owes to other sessions may not come again with --only.
    #[arg(long, value_enum)]
    sharing: Option<Mode>,
    /// Connections that Weir may have to the server; by default 8 with --sharing transaction.
    #[arg(long, requires = "sharing")]
    connections: Option<usize>,
    /// Sessions that may be pinned to a connection, or be running, at the same time; by default three quarters of
    /// the connections.
    #[arg(long, requires = "sharing")]
    pinned: Option<usize>,
    /// Every session is pinned, by a lock of its own where nothing else does it; all at once, unless --connections or --pinned
    /// say fewer.
    #[arg(long, requires = "sharing")]
    all_pinned: bool,
    /// All sessions have the capabilities and the collation of a usual modern driver.
    #[arg(long)]
    one_dialect: bool,
    /// Give one of four plain queries the hint to run on another server connection, and one of four executions a query with it ahead.
    #[arg(long)]
    fresh: bool,
    /// Leave out what is known to differ on shared connections, and say why.
    #[arg(long, requires = "sharing")]
    without_listed: bool,
}

/// The values of `sharing` in `[pool]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    Session,
    Transaction,
}

impl Mode {
    fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Transaction => "transaction",
        }
    }
}

impl Args {
    /// Connections, and how many sessions may be pinned to one.
    fn limits(&self, mode: Mode) -> Result<(usize, usize)> {
        if mode == Mode::Session {
            if self.pinned.is_some() || self.all_pinned {
                bail!(
                    "--pinned and --all-pinned are for --sharing transaction: else every session is pinned"
                );
            }
            // Some more than sessions, because a connection may end later than its session.
            return Ok((self.connections.unwrap_or(self.concurrency + 8), 0));
        }
        let usual = if self.all_pinned { self.concurrency + 8 } else { 8 };
        let connections = self.connections.unwrap_or(usual);
        let share = if self.all_pinned { self.concurrency } else { connections * 3 / 4 };
        let pinned = self.pinned.unwrap_or(share.clamp(1, connections));
        if !(1..=connections).contains(&pinned) {
            bail!("--pinned {pinned}: from 1 to --connections, which is {connections}");
        }
        Ok((connections, pinned))
    }

    /// The command that makes the round of this seed again.
    fn again(&self, plan: &Plan) -> Result<String> {
        let mut out = String::from("differential");
        match self.spawn {
            true => out += " --spawn",
            false => out += &format!(" --direct {} --weir {}", plan.direct.addr, plan.weir.addr),
        }
        if let Some(binary) = &self.weir_bin {
            out += &format!(" --weir-bin {}", binary.display());
        }
        if self.control {
            out += " --control";
        }
        let Plan { sessions, statements, seed, concurrency, .. } = plan;
        out += &format!(" --family {} --sessions {sessions} --statements {statements}", plan.flavor.as_str());
        out += &format!(" --concurrency {concurrency} --seed {seed}");
        if let Some(mode) = self.sharing {
            let (connections, pinned) = self.limits(mode)?;
            out += &format!(" --sharing {} --connections {connections}", mode.as_str());
            if mode == Mode::Transaction {
                out += &format!(" --pinned {pinned}");
            }
        }
        let manners = [
            (self.all_pinned, " --all-pinned"),
            (self.one_dialect, " --one-dialect"),
            (self.fresh, " --fresh"),
            (self.without_listed, " --without-listed"),
        ];
        for (given, name) in manners {
            out += if given { name } else { "" };
        }
        for part in &self.without {
            out += &format!(" --without '{part}'");
        }
        if let Some(only) = self.only {
            out += &format!(" --only {only}");
        }
        Ok(out)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Family {
    Mysql,
    Mariadb,
    Both,
}

impl Family {
    fn flavors(self) -> &'static [Flavor] {
        match self {
            Self::Mysql => &[Flavor::MySql],
            Self::Mariadb => &[Flavor::MariaDb],
            Self::Both => &Flavor::BOTH,
        }
    }
}

/// What the command line asked for, running.
struct Stage {
    plan: Plan,
    // Held for their lives alone.
    _servers: Vec<Server>,
    weir: Option<Weir>,
}

fn main() -> ExitCode {
    match try_main(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("differential: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn try_main(args: &Args) -> Result<bool> {
    args.sharing.map(|mode| args.limits(mode)).transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut stages = Vec::new();
    for flavor in args.family.flavors() {
        stages.push(set_up(args, *flavor)?);
    }
    let mut round = 0;
    loop {
        let mut good = true;
        for stage in &mut stages {
            stage.plan.seed = args.seed + round;
            good &= runtime.block_on(compare(args, stage))?;
        }
        round += 1;
        if !args.soak || !good {
            return Ok(good);
        }
    }
}

fn set_up(args: &Args, flavor: Flavor) -> Result<Stage> {
    let (mut servers, mut weir) = (Vec::new(), None);
    let (direct, other) = if args.spawn {
        for _ in 0..2 {
            servers.push(Server::start(flavor)?);
        }
        let behind = servers[1].addr();
        if !args.control {
            let mut builder = match args.sharing {
                None => Weir::backend(behind.to_string()),
                Some(mode) => {
                    let (connections, pinned) = args.limits(mode)?;
                    Weir::config(sharing::config(behind, mode.as_str(), connections, pinned))
                }
            };
            if let Some(binary) = &args.weir_bin {
                builder = builder.binary(binary.canonicalize().context("--weir-bin")?);
            }
            weir = Some(builder.start()?);
        }
        (servers[0].addr(), weir.as_ref().map_or(behind, Weir::addr))
    } else {
        if args.family == Family::Both {
            bail!("--family says which server --direct is");
        }
        let direct = args.direct.context("--direct is missing")?;
        (direct, if args.control { direct } else { args.weir.context("--weir is missing")? })
    };
    // With one server behind both sides, each needs schemas of its own.
    let (own, others) = if args.spawn { ("rx_", "rx_") } else { ("rx_", "ry_") };
    let plan = Plan {
        flavor,
        direct: Side { addr: direct, prefix: own.to_owned() },
        weir: Side { addr: other, prefix: others.to_owned() },
        sessions: args.sessions,
        statements: args.statements,
        seed: args.seed,
        concurrency: args.concurrency,
        without: Class::ALL.into_iter().filter(|class| unwanted(args, *class)).collect(),
        only: args.only,
        manner: Manner {
            one_dialect: args.one_dialect,
            fresh: args.fresh,
            without_listed: args.without_listed,
        },
        sharing: turns(args)?,
        // Long enough for a machine that has much else to do.
        patience: Duration::from_secs(30),
    };
    Ok(Stage { plan, _servers: servers, weir })
}

/// Sessions take turns where they share connections; where no Weir is, there is nobody to ask who is pinned.
fn turns(args: &Args) -> Result<Option<Sharing>> {
    let Some(mode) = args.sharing else { return Ok(None) };
    let (_, pinned) = args.limits(mode)?;
    Ok((mode == Mode::Transaction).then_some(Sharing {
        pinned,
        ask: !args.control,
        everybody: args.all_pinned,
    }))
}

fn unwanted(args: &Args, class: Class) -> bool {
    args.without.iter().any(|part| class.to_string().contains(part))
}

/// One round; true when nothing differed.
async fn compare(args: &Args, stage: &mut Stage) -> Result<bool> {
    let plan = &stage.plan;
    let name = title(args, plan)?;
    let summary = run::run(plan).await.with_context(|| name.clone())?;
    println!("{}", report::summary(&name, &summary));
    for why in generate::left_out(plan.flavor).filter(|_| args.without_listed) {
        println!("  left out: {why}");
    }
    if !summary.failures.is_empty() {
        println!("once more: {}\n", args.again(plan)?);
    }
    explain(args, plan, &summary).await?;
    let mut good = summary.failures.is_empty();
    let whole = plan.without.is_empty() && plan.only.is_none();
    if good && whole && plan.statements >= report::ENOUGH_STATEMENTS {
        for (class, count) in report::too_rare(&summary) {
            println!("only {count} statements of the class {class}; {} are due", report::LEAST_OF_EACH);
            good = false;
        }
    }
    if let Some(most) = report::not_all_pinned(plan, &summary) {
        println!("only {most} sessions were pinned at once");
        good = false;
    }
    if !args.all_pinned && report::nothing_shared(&summary) {
        println!("every session was pinned after every statement: nothing was shared");
        good = false;
    }
    if let Some(weir) = stage.weir.as_mut().filter(|_| !good) {
        let running = if weir.is_running() { "still runs" } else { "has ended" };
        let log = weir.log();
        let lines: Vec<_> = log.lines().filter(|line| !usual(line)).collect();
        let last = &lines[lines.len().saturating_sub(40)..];
        println!("weir {running}; its last lines of what is not usual:\n{}", last.join("\n"));
    }
    Ok(good)
}

/// What Weir says of sessions that come and go as they should.
fn usual(line: &str) -> bool {
    line.contains("event=\"client_login\"") || line.contains("reason=\"quit\"")
}

fn title(args: &Args, plan: &Plan) -> Result<String> {
    let sides = if args.control { "direct against direct" } else { "direct against Weir" };
    let mut name = format!("{}, {sides}, seed {}", plan.flavor.as_str(), plan.seed);
    if let Some(mode) = args.sharing {
        let (connections, pinned) = args.limits(mode)?;
        name += &match mode {
            Mode::Session => format!(", {connections} connections, one for each session"),
            Mode::Transaction if args.control => format!(", {pinned} sessions at once in turns"),
            Mode::Transaction => format!(", {connections} connections shared, at most {pinned} pinned"),
        };
    }
    name += if args.all_pinned { ", all pinned" } else { "" };
    name += if args.one_dialect { ", one dialect" } else { "" };
    name += if args.fresh { ", fresh hints" } else { "" };
    Ok(name)
}

async fn explain(args: &Args, plan: &Plan, summary: &Summary) -> Result<()> {
    let (offered, _) = run::offered(plan).await?;
    for (i, failure) in summary.failures.iter().enumerate() {
        if i >= args.shrink {
            println!("session {}, statement {}: {}", failure.session, failure.step, failure.statement);
            println!("  difference: {}", failure.what);
            let both = run::session_plans(plan, failure.session, offered);
            let from = failure.step.saturating_sub(BEFORE);
            for (step, before) in both[1].steps.iter().enumerate().take(failure.step).skip(from) {
                println!("  before, {step}: {}", report::short(&before.action));
            }
            continue;
        }
        let both = run::session_plans(plan, failure.session, offered);
        let shrunk = shrink::shrink(plan, &both, failure, Duration::from_secs(60)).await;
        println!("{}", report::script(plan, failure.step, &shrunk));
    }
    Ok(())
}
