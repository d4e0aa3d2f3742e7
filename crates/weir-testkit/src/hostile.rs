//! Hostile clients against a real Weir in front of a real server: malformed, oversized, slow, silent, guessing,
//! aborting, lying ones.
//!
//! Each scenario ends in one line and asserts the same account: Weir is the same process and healthy, its memory
//! is bounded, who does not log in is cut, everything taken is given back, and healthy clients
//! that go on all the while see no error and hardly any delay.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::client::ConnectOptions;
use crate::servers::{Flavor, Server};

mod aborts;
mod account;
mod before_tls;
mod brute;
mod half_open;
mod healthy;
mod malformed;
mod oversized;
mod proxy_header;
mod raw;
mod slow;
mod stage;
mod watch;

use stage::Stage;
pub use stage::Tally;

/// How much of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Below 90 s.
    Quick,
    /// Some minutes.
    Full,
}

impl Scale {
    /// One of two numbers.
    pub fn of<T>(self, quick: T, full: T) -> T {
        match self {
            Self::Quick => quick,
            Self::Full => full,
        }
    }
}

/// What to run.
#[derive(Debug, Clone)]
pub struct Plan {
    pub weir_bin: PathBuf,
    pub flavor: Flavor,
    pub scale: Scale,
    /// Of everything random.
    pub seed: u64,
    /// Only scenarios whose name contains this.
    pub only: String,
    /// Clients share server connections.
    pub sharing: bool,
    /// Where Weir's log of the second stage goes.
    pub log: Option<PathBuf>,
}

/// Lines of Weir's log that are shown after a failure.
const WARNINGS_SHOWN: usize = 20;

/// Descriptors that this process and Weir need besides those of the hostile connections.
const SPARE_DESCRIPTORS: usize = 1000;

/// Runs all scenarios and prints a line for each.
///
/// # Errors
/// When the stage cannot be set up, or breaks down altogether.
pub async fn run(plan: &Plan) -> Result<Tally> {
    let mut tally = Tally::default();
    let server = Server::builder(plan.flavor).max_connections(600).arg("--max-allowed-packet=4M").start()?;
    prepare(&server).await?;
    if "half-open".contains(&plan.only) {
        silent_crowd(plan, &server, &mut tally).await?;
    }
    everything_else(plan, &server, &mut tally).await?;
    Ok(tally)
}

/// The tables that healthy and hostile clients use.
async fn prepare(server: &Server) -> Result<()> {
    let mut client = ConnectOptions::tcp(server.addr(), "app", "app-pw").connect().await?;
    let rows = (0..healthy::ROWS).map(|id| format!("({id}, 'value-{id}')")).collect::<Vec<_>>().join(",");
    for statement in [
        "CREATE DATABASE hostile",
        "CREATE TABLE hostile.point (id INT PRIMARY KEY, v VARCHAR(40))",
        &format!("INSERT INTO hostile.point VALUES {rows}"),
        "CREATE TABLE hostile.counter (id INT PRIMARY KEY, n INT)",
        "INSERT INTO hostile.counter SELECT id, 0 FROM hostile.point",
        "CREATE TABLE hostile.injected (n INT)",
    ] {
        client.run(statement).await?;
    }
    client.quit().await
}

/// The default `login_timeout` and room for all: what a silent connection costs, and when it is cut.
async fn silent_crowd(plan: &Plan, server: &Server, tally: &mut Tally) -> Result<()> {
    let descriptors = open_files()?;
    let count = plan.scale.of(10_000, 18_000).min(descriptors.saturating_sub(SPARE_DESCRIPTORS));
    println!("{count} of at most {descriptors} descriptors for silent connections");
    let config = config(plan, server, "max_pending_logins = 20000");
    let mut stage = Stage::open(plan, server, &config, Duration::from_secs(10)).await?;
    stage.scenario(tally, "half-open", |field| half_open::held(field, count)).await
}

/// Short timeouts, and room for all slow senders.
async fn everything_else(plan: &Plan, server: &Server, tally: &mut Tally) -> Result<()> {
    const LOGIN_TIMEOUT: Duration = Duration::from_secs(3);
    const MAX_PENDING: u64 = 6000;
    let limits = "login_timeout = \"3s\"\nclient_write_timeout = \"1s\"\nmax_pending_logins = 6000";
    let config = config(plan, server, limits);
    let mut stage = Stage::open(plan, server, &config, LOGIN_TIMEOUT).await?;
    let scale = plan.scale;
    macro_rules! scenario {
        ($name:literal, $attack:expr) => {
            if $name.contains(&plan.only) {
                stage.scenario(tally, $name, $attack).await?;
            }
        };
    }
    let count = scale.of(10_000, 15_000).min(open_files()?.saturating_sub(SPARE_DESCRIPTORS));
    scenario!("malformed handshakes", |field| malformed::run(field, scale.of(600, 20_000)));
    scenario!("oversized before login", oversized::before_login);
    scenario!("oversized after login", oversized::after_login);
    scenario!("PROXY headers", |field| proxy_header::run(field, scale.of(5, 100)));
    scenario!("bytes ahead of TLS", |field| before_tls::run(field, scale.of(10, 100)));
    scenario!("slow senders", |field| slow::senders(field, 5000));
    scenario!("slow readers", |field| slow::readers(field, scale.of(30, 200)));
    scenario!("greedy readers", |field| slow::greedy(field, 8, Duration::from_secs(scale.of(2, 20))));
    scenario!("flood", |field| half_open::flood(field, count, MAX_PENDING));
    let time = Duration::from_secs(scale.of(3, 30));
    scenario!("brute-force login", |field| brute::run(field, scale.of(200, 400), time));
    scenario!("aborts", |field| aborts::run(field, scale.of(10_000, 100_000), 48));
    let log = stage.log();
    if tally.failed > 0 {
        let worth = |line: &&str| line.contains("WARN") || line.contains("ERROR");
        let warnings: Vec<&str> = log.lines().filter(worth).collect();
        println!("the last of {} warnings in Weir's log:", warnings.len());
        warnings.iter().rev().take(WARNINGS_SHOWN).rev().for_each(|line| println!("       {line}"));
    }
    if let Some(path) = &plan.log {
        std::fs::write(path, log)?;
    }
    Ok(())
}

fn config(plan: &Plan, server: &Server, limits: &str) -> String {
    // What is idle in the pool is to be given back as well.
    let pool = match plan.sharing {
        true => "sharing = \"transaction\"\nidle_timeout = \"1s\"\n",
        false => "",
    };
    format!(
        "[listen]\nmysql = [\"$LISTEN\"]\nadmin = \"$ADMIN\"\nproxy_protocol = [\"127.0.0.99\"]\n\
         [[server]]\nname = \"db\"\naddress = \"{}\"\nmax_connections = 500\ntls = {{ mode = \"disabled\" }}\n\
         [[user]]\nname = \"app\"\npassword = \"app-pw\"\n\
         [pool]\n{pool}[limits]\n{limits}\n",
        server.addr()
    )
}

/// Takes all the descriptors that the system allows, and says how many that are.
fn open_files() -> Result<usize> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })
        .context("raising the open files")?;
    // The kernel bounds "no limit" by fs.nr_open, which is at least a million.
    Ok(limit.maximum.map_or(1 << 20, |most| most as usize))
}
