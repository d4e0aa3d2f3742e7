//! A Weir in front of a server, healthy clients on it, and the account of each scenario: what was seen while it
//! ran, and whether everything was given back after it.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::time::sleep;

use super::account::{Account, get, resident};
use super::healthy::{Healthy, SELECTING, Window};
use super::watch::{Seen, Watch};
use crate::client::{Client, ConnectOptions};
use crate::servers::{Flavor, Server};
use crate::weir::Weir;

/// Bytes that a client may cost before it has logged in (`limits.login_bytes` and the promise of the product).
pub const BYTES_BEFORE_LOGIN: u64 = 32 * 1024;
/// Bytes that a session may cost, whatever it sends or leaves unread: a read buffer of 128 KiB that waits to be taken,
/// and what the allocator makes of it.
const BYTES_PER_SESSION: u64 = 512 * 1024;
/// What Weir's memory may grow by for everything that is not per client: allocator, logs, runtime.
const BYTES_BESIDES: u64 = 8 << 20;
/// Within this time after a scenario everything must be given back. It only bounds a failure: the line of each scenario says how long it took.
const GIVE_BACK: Duration = Duration::from_secs(20);
/// Healthy clients may become this many times slower at the 99th percentile than in peace, or than clients at the
/// server itself are at the same time...
const SLOWER: u32 = 10;
/// ...and where that is below this, this is the limit: with 2 cores for Weir, the server, the attack and whatever
/// else the machine does, some hundred milliseconds say nothing about Weir (who is locked out waits for seconds).
const SLOW_FLOOR: Duration = Duration::from_millis(500);
/// Never more than this, unless clients at the server itself wait that long too: then the machine is overloaded.
const SLOW_MAX: Duration = Duration::from_secs(1);
const SLOWER_THAN_DIRECT: u32 = 3;
/// A machine that does other things as well makes clients wait now and then; an attack that slows them does it each
/// time, and what is never given back is missed in each. So a scenario whose only faults are of time is played this often.
const ROUNDS: u32 = 3;

/// What a scenario needs to know.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    pub weir: SocketAddr,
    pub admin: SocketAddr,
    pub server: SocketAddr,
    pub pid: u32,
    pub flavor: Flavor,
    pub seed: u64,
    /// `limits.login_timeout` of this Weir.
    pub login_timeout: Duration,
    /// Resident bytes before the scenario.
    pub resident: u64,
}

/// What a scenario found.
#[derive(Debug, Default)]
pub struct Findings {
    /// Facts for the report.
    pub notes: Vec<String>,
    /// What was not as it must be.
    pub faults: Vec<String>,
    /// What took too long: healthy clients that waited, connections that are still there or were opened too late. A fault if it does in
    /// each round.
    pub slow: Vec<String>,
    /// Connections held at once that had not logged in.
    pub strangers: u64,
    /// Sessions held at once.
    pub sessions: u64,
    /// `weir_logins_pending` may not pass this; 0 is no limit.
    pub most_pending: u64,
}

impl Findings {
    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Adds a fault unless `holds`.
    pub fn check(&mut self, holds: bool, fault: impl FnOnce() -> String) {
        if !holds {
            self.faults.push(fault());
        }
    }

    /// The same for what a busy machine may miss as well.
    pub fn check_in_time(&mut self, holds: bool, fault: impl FnOnce() -> String) {
        if !holds {
            self.slow.push(fault());
        }
    }
}

/// Marks an error that comes of waiting: [`Findings::slow`] tells why that is apart.
#[derive(Debug)]
pub struct Late;

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("too late")
    }
}

impl Late {
    /// Marks `error` where as long as `limit` has passed since `began`.
    pub fn mark(error: anyhow::Error, began: tokio::time::Instant, limit: Duration) -> anyhow::Error {
        if began.elapsed() < limit { error } else { error.context(Self) }
    }

    /// Whether it is marked, or says itself that a patience has ended.
    pub fn is(error: &anyhow::Error) -> bool {
        error.is::<Self>() || error.chain().any(|cause| cause.is::<tokio::time::error::Elapsed>())
    }
}

/// Scenarios that passed and failed.
#[derive(Debug, Default)]
pub struct Tally {
    pub passed: u32,
    pub failed: u32,
}

pub struct Stage {
    weir: Weir,
    pub field: Field,
    healthy: Healthy,
    direct: Client,
    base: Account,
    calm: Window,
}

impl Stage {
    /// Starts a Weir with this configuration and healthy clients on it, and measures both in peace.
    ///
    /// # Errors
    /// When Weir does not start, or healthy clients fail in peace already.
    pub async fn open(
        plan: &super::Plan,
        server: &Server,
        config: &str,
        login_timeout: Duration,
    ) -> Result<Self> {
        let weir = Weir::config(config).binary(absolute(&plan.weir_bin)?).start()?;
        let direct = ConnectOptions::tcp(server.addr(), "app", "app-pw").connect().await?;
        let field = Field {
            weir: weir.addr(),
            admin: weir.admin_addr(),
            server: server.addr(),
            pid: weir.pid(),
            flavor: plan.flavor,
            seed: plan.seed,
            login_timeout,
            resident: 0,
        };
        let healthy = Healthy::start(field.weir, field.server)?;
        let base = Account::default();
        let mut stage = Self { weir, field, healthy, direct, base, calm: Window::default() };
        stage.measure_peace().await?;
        Ok(stage)
    }

    async fn measure_peace(&mut self) -> Result<()> {
        for round in 1.. {
            // The first logins pay for caches, on either side.
            self.healthy.seen_enough().await;
            self.healthy.open_window();
            sleep(Duration::from_millis(1500)).await;
            self.calm = self.healthy.window();
            let late = if round < ROUNDS { &[][..] } else { &self.calm.late };
            if let Some(first) = self.calm.errors.iter().chain(late).next() {
                anyhow::bail!("healthy clients fail in peace: {first}");
            }
            if self.calm.late.is_empty() {
                break;
            }
        }
        self.healthy.pause_logins().await;
        let deadline = Instant::now() + GIVE_BACK;
        loop {
            self.base = self.account().await?;
            sleep(Duration::from_millis(50)).await;
            let again = self.account().await?;
            // A connection that waits for another client is none of theirs.
            let own =
                self.base.clients == SELECTING as u64 && self.base.server_connections <= SELECTING as u64;
            if own && self.base == again {
                break;
            }
            anyhow::ensure!(Instant::now() < deadline, "no peace at the start: {}", self.base);
        }
        self.base.count_one_connection_per_client();
        self.healthy.resume_logins();
        println!(
            "     in peace: {}; {} MB; select p99 {}, login p99 {}",
            self.base,
            resident(self.field.pid)? >> 20,
            ms(Window::p99(&self.calm.selects)),
            ms(Window::p99(&self.calm.logins)),
        );
        Ok(())
    }

    /// Runs a scenario and prints its line.
    ///
    /// # Errors
    /// When the account cannot be taken: Weir or the server is gone.
    pub async fn scenario<F>(
        &mut self,
        tally: &mut Tally,
        name: &str,
        attack: impl Fn(Field) -> F,
    ) -> Result<()>
    where
        F: Future<Output = Result<Findings>>,
    {
        for round in 1.. {
            let (took, mut findings) = self.play(&attack).await?;
            if round < ROUNDS && findings.faults.is_empty() && !findings.slow.is_empty() {
                println!("     {name}: {}; once more", findings.slow.join("; "));
                continue;
            }
            let slow = std::mem::take(&mut findings.slow);
            findings.faults.extend(slow);
            report(tally, name, took, &findings);
            break;
        }
        Ok(())
    }

    /// Runs a scenario once.
    async fn play<F>(&mut self, attack: impl Fn(Field) -> F) -> Result<(Duration, Findings)>
    where
        F: Future<Output = Result<Findings>>,
    {
        let field = Field { resident: resident(self.field.pid)?, ..self.field };
        let watch = Watch::begin(field.pid, field.admin)?;
        self.healthy.open_window();
        let started = Instant::now();
        let mut findings = match attack(field).await {
            Ok(findings) => findings,
            Err(error) => {
                let (mut findings, late) = (Findings::default(), Late::is(&error));
                let list = if late { &mut findings.slow } else { &mut findings.faults };
                list.push(format!("not carried out: {error:#}"));
                findings
            }
        };
        let took = started.elapsed();
        let ended = Instant::now();
        self.healthy.seen_enough().await;
        let window = self.healthy.window();
        self.healthy.pause_logins().await;
        let seen = watch.end();
        self.judge_weir(&mut findings, &seen, field.resident);
        self.judge_healthy(&mut findings, &window);
        self.judge_account(&mut findings, ended).await?;
        self.healthy.resume_logins();
        Ok((took, findings))
    }

    /// Weir is the same process, answered all the while, and its memory stayed within bounds.
    fn judge_weir(&mut self, findings: &mut Findings, seen: &Seen, before: u64) {
        let running = self.weir.is_running();
        findings.check(running, || format!("weir has ended; it printed:\n{}", last_lines(&self.weir.log())));
        findings.check(get(self.field.admin, "/healthz").is_ok(), || "/healthz is not 200".to_owned());
        findings.check(seen.unhealthy.is_empty(), || {
            format!("{} times no answer, the first: {}", seen.unhealthy.len(), seen.unhealthy[0])
        });
        let log = self.weir.log();
        let panic = log.lines().find(|line| line.contains("panicked")).unwrap_or_default();
        findings.check(panic.is_empty(), || format!("a panic: {panic}"));
        let grown = seen.peak_resident.saturating_sub(before);
        let allowed =
            findings.strangers * BYTES_BEFORE_LOGIN + findings.sessions * BYTES_PER_SESSION + BYTES_BESIDES;
        findings.check(grown <= allowed, || format!("memory grew by {grown} bytes, {allowed} are allowed"));
        findings.note(format!("memory +{:.1} of {:.0} MB", mb(grown), mb(allowed)));
        let (pending, most) = (seen.peak_pending, findings.most_pending);
        findings
            .check(most == 0 || pending <= most, || format!("{pending} logins pending, {most} are allowed"));
    }

    fn judge_healthy(&self, findings: &mut Findings, window: &Window) {
        findings.check(window.errors.is_empty(), || {
            format!("{} errors of healthy clients, the first: {}", window.errors.len(), window.errors[0])
        });
        if let Some(first) = window.late.first() {
            findings.slow.push(format!("{} healthy clients gave up, the first: {first}", window.late.len()));
        }
        let kinds = [
            ("selects", &window.selects, &self.calm.selects, &window.direct_selects),
            ("logins", &window.logins, &self.calm.logins, &window.direct_logins),
        ];
        for (what, times, calm, direct) in kinds {
            let (p99, calm, direct) = (Window::p99(times), Window::p99(calm), Window::p99(direct));
            let most = SLOW_MAX.max(direct * SLOWER_THAN_DIRECT);
            let limit = (calm.max(direct) * SLOWER).clamp(SLOW_FLOOR, most);
            if times.len() < 20 {
                findings.slow.push(format!("only {} healthy {what}", times.len()));
            }
            if p99 > limit {
                findings.slow.push(format!("healthy {what}: p99 {}, limit {}", ms(p99), ms(limit)));
            }
            let ratio = p99.as_secs_f64() / calm.as_secs_f64().max(1e-6);
            findings.note(format!(
                "{} healthy {what} p99 {} ({ratio:.1}x of {}; direct {})",
                times.len(),
                ms(p99),
                ms(calm),
                ms(direct)
            ));
        }
    }

    /// Everything taken is given back.
    async fn judge_account(&mut self, findings: &mut Findings, ended: Instant) -> Result<()> {
        loop {
            let now = self.account().await?;
            if now.is_within(&self.base) {
                findings.note(format!("all given back after {}", ms(ended.elapsed())));
                return Ok(());
            }
            if ended.elapsed() > GIVE_BACK {
                findings
                    .slow
                    .push(format!("not given back after {GIVE_BACK:?}: {now}; before: {}", self.base));
                return Ok(());
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// What Weir has printed.
    pub fn log(&self) -> String {
        self.weir.log()
    }

    async fn account(&mut self) -> Result<Account> {
        Account::take(self.field.pid, self.field.admin, &mut self.direct).await.context("taking the account")
    }
}

fn report(tally: &mut Tally, name: &str, took: Duration, findings: &Findings) {
    let good = findings.faults.is_empty();
    *if good { &mut tally.passed } else { &mut tally.failed } += 1;
    let word = if good { "ok  " } else { "FAIL" };
    println!("{word} {name} ({:.1} s): {}", took.as_secs_f64(), findings.notes.join("; "));
    for fault in &findings.faults {
        println!("       {fault}");
    }
}

fn absolute(path: &Path) -> Result<std::path::PathBuf> {
    path.canonicalize().with_context(|| format!("no weir at {}", path.display()))
}

fn last_lines(log: &str) -> String {
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

pub fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

fn mb(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
