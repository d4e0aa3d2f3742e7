//! The published experiments E1, E2 and E4, repeated: sysbench against a server directly, through Weir, and through
//! Weir with its cache, over a sweep of clients; and a report with graphs of it.
//!
//! Each finished step is kept in a file, so a run that was interrupted goes on where it stopped.

use std::path::Path;
use std::time::{Duration, Instant, UNIX_EPOCH};

use anyhow::{Context, Result};
use weir_testkit::Weir;

use crate::load::{self, Beside, Load, Script, Scripts};
use crate::process::{self, Cpu};
use crate::rig::{self, LOGIN};

pub mod chart;
pub mod files;
pub mod options;
pub mod page;
pub mod plan;
pub mod scrape;
pub mod stage;
pub mod state;

use options::{Args, Experiment, Parameters, ServerName};
use plan::{Group, Step, Variant};
use scrape::CacheCounts;
use stage::Database;
use state::{Cores, Figures, Outcome, Record, State};

/// What a step takes beyond the time in which it measures, before any has shown it.
const OVERHEAD: Duration = Duration::from_millis(1_500);
/// Clients that fill the cache before the first step that uses it.
const FILLERS: u32 = 16;

/// Measures what is not measured yet, and writes the report. Returns whether all steps have figures.
///
/// # Errors
/// When something fails that no step can do without. A step that fails is noted, and the run goes on.
pub fn run(args: &Args, weir: &Path, version: String) -> Result<bool> {
    args.check()?;
    let parameters = args.parameters(version, build(weir)?, rig::cores()?);
    std::fs::create_dir_all(&args.dir).with_context(|| format!("cannot make {}", args.dir.display()))?;
    let state = State::open(&args.dir.join("state.jsonl"), args.fresh && !args.dry_run)?;
    let groups = plan::groups(args);
    let mut run = Run { weir, parameters, state, scripts: Scripts::write()?, progress: Progress::default() };
    run.begin(&groups);
    if args.dry_run {
        return Ok(true);
    }
    if !args.report_only {
        // Groups that use the same tables share a server.
        let same = |a: &Group, b: &Group| {
            a.server == b.server && (a.experiment == Experiment::E4) == (b.experiment == Experiment::E4)
        };
        for together in groups.chunk_by(same) {
            if together.iter().all(|group| run.is_measured(group)) {
                continue;
            }
            eprintln!("starting {} and filling its tables", together[0].server.name());
            let database = run.database(&together[0])?;
            for group in together {
                run.group(group, &database)?;
                // What is finished can be looked at while the rest runs.
                run.write_report(&args.dir, &groups)?;
            }
        }
    }
    run.write_report(&args.dir, &groups)?;
    eprintln!("the report: {}", args.dir.join("report.html").display());
    let failed = run.progress.failed;
    if failed > 0 {
        eprintln!("{failed} step(s) failed; the next run tries them again");
    }
    Ok(failed == 0)
}

/// Size and time of change of a file, which tell one build from another.
fn build(file: &Path) -> Result<(u64, u64)> {
    let about = std::fs::metadata(file).with_context(|| format!("cannot read {}", file.display()))?;
    let changed = about.modified()?.duration_since(UNIX_EPOCH)?;
    Ok((about.len(), changed.as_secs()))
}

struct Run<'a> {
    weir: &'a Path,
    parameters: Parameters,
    state: State,
    scripts: Scripts,
    progress: Progress,
}

/// A Weir of a group, or why it did not start.
type Started = (Variant, Result<Weir, String>);

impl Run<'_> {
    fn begin(&mut self, groups: &[Group]) {
        let steps = groups.iter().flat_map(Group::steps);
        let (measured, open): (Vec<_>, Vec<_>) =
            steps.partition(|step| self.state.is_measured(step, &self.parameters));
        self.progress.total = measured.len() + open.len();
        self.progress.done = measured.len();
        let each = Duration::from_secs(self.parameters.seconds.into()) + OVERHEAD;
        self.progress.guess = each;
        eprintln!(
            "{} steps of {} s each, {} of them measured by earlier runs; about {}",
            self.progress.total,
            self.parameters.seconds,
            measured.len(),
            minutes(each * open.len() as u32)
        );
    }

    fn is_measured(&self, group: &Group) -> bool {
        group.steps().all(|step| self.state.is_measured(&step, &self.parameters))
    }

    fn database(&self, group: &Group) -> Result<Database> {
        let tables = match group.experiment {
            Experiment::E4 => self.parameters.points,
            Experiment::E1 | Experiment::E2 => self.parameters.oltp,
        };
        Database::start(group.server, tables, &self.scripts)
    }

    fn group(&mut self, group: &Group, database: &Database) -> Result<()> {
        if self.is_measured(group) {
            return Ok(());
        }
        let weirs = self.weirs(group, database);
        for step in group.steps() {
            if self.state.is_measured(&step, &self.parameters) {
                continue;
            }
            let start = Instant::now();
            let outcome = match self.step(&step, database, &weirs) {
                Ok(figures) => Outcome::Measured(Box::new(figures)),
                Err(error) => Outcome::Failed(format!("{error:#}")),
            };
            self.progress.tell(&step, &outcome, start.elapsed());
            self.state.add(Record { step, parameters: self.parameters.clone(), outcome })?;
        }
        Ok(())
    }

    /// A new Weir for each variant that needs one, with a cache that is filled where there is one.
    fn weirs(&self, group: &Group, database: &Database) -> Vec<Started> {
        let most = group.sweep.last().copied().unwrap_or_default();
        let through = group.variants.iter().copied().filter(|variant| variant.through_weir());
        through.map(|variant| (variant, self.start_weir(group, variant, database, most))).collect()
    }

    fn start_weir(
        &self,
        group: &Group,
        variant: Variant,
        database: &Database,
        most: u32,
    ) -> Result<Weir, String> {
        let start = || {
            let weir = stage::start_weir(self.weir, variant, database, &self.parameters, most)?;
            if variant.cached() && self.parameters.warmup > 0 {
                eprintln!("filling the cache for {} s", self.parameters.warmup);
                let load =
                    Load { seconds: self.parameters.warmup, ..self.load(group.script, FILLERS, weir.addr()) };
                load::run(&load, &self.scripts, || Ok(())).context("filling the cache")?;
            }
            Ok(weir)
        };
        start().map_err(|error: anyhow::Error| format!("{error:#}"))
    }

    fn load(&self, script: Script, threads: u32, address: std::net::SocketAddr) -> Load {
        let points = matches!(script, Script::PointSelect | Script::LightWriter);
        Load {
            script,
            tables: if points { self.parameters.points } else { self.parameters.oltp },
            threads,
            seconds: self.parameters.seconds,
            prepared: self.parameters.protocol == options::Protocol::Prepared,
            uniform: false,
            seed: None,
            events_per_second: None,
            address,
            login: LOGIN,
        }
    }

    fn step(&self, step: &Step, database: &Database, weirs: &[Started]) -> Result<Figures> {
        let weir = match weirs.iter().find(|(variant, _)| *variant == step.variant) {
            None => None,
            Some((_, Ok(weir))) => Some(weir),
            Some((_, Err(why))) => anyhow::bail!("Weir did not start: {why}"),
        };
        if step.experiment == Experiment::E4 && step.server == ServerName::MariaDb {
            database.query_cache(step.variant == Variant::QueryCache)?;
        }
        let load = self.load(step.script, step.threads, weir.map_or(database.address(), Weir::addr));
        let mut writer = match step.experiment {
            Experiment::E4 => Some(Beside::start(&writer(&load), &self.scripts)?),
            Experiment::E1 | Experiment::E2 => None,
        };
        let mark = || Mark::take(database, weir, step.variant.cached());
        // Before its first read and after its last: a mark in between would miss some.
        let selects = database.selects()?;
        let (seen, before, after) = load::run(&load, &self.scripts, mark)?;
        let selects = database.selects()? - selects;
        writer.as_mut().map_or(Ok(()), Beside::check)?;
        let cached = step.variant.cached() || step.variant == Variant::QueryCache;
        let hit_ratio = (1.0 - selects / seen.reads.max(1.0)).clamp(0.0, 1.0);
        Ok(Figures {
            server_version: database.version.clone(),
            hit_ratio: cached.then_some(hit_ratio),
            ..figures(&seen, &before, &after)
        })
    }

    fn write_report(&self, folder: &Path, groups: &[Group]) -> Result<()> {
        let shown: Vec<page::Shown> = groups
            .iter()
            .map(|group| page::Shown {
                group,
                outcomes: group
                    .steps()
                    .filter_map(|step| Some((step, self.state.find(&step, &self.parameters)?)))
                    .collect(),
            })
            .collect();
        files::write(folder, &self.parameters, &shown)
    }
}

/// The writer of E4, for longer than any step takes to start and to run.
fn writer(readers: &Load) -> Load {
    const START: u32 = 600;
    Load { script: Script::LightWriter, threads: 1, seconds: readers.seconds + START, ..*readers }
}

/// What all the counters show at a moment.
struct Mark {
    server: Cpu,
    weir: Option<Cpu>,
    machine: Duration,
    cache: Option<CacheCounts>,
}

impl Mark {
    fn take(database: &Database, weir: Option<&Weir>, cached: bool) -> Result<Self> {
        let cache = weir.filter(|_| cached).map(|weir| scrape::cache_counts(weir.admin_addr()));
        Ok(Self {
            server: process::cpu_split(database.pid())?,
            weir: weir.map(|weir| process::cpu_split(weir.pid())).transpose()?,
            machine: process::machine_busy()?,
            cache: cache.transpose()?,
        })
    }
}

fn figures(seen: &load::Seen, before: &Mark, after: &Mark) -> Figures {
    let cores =
        |cpu: Cpu| Cores { user: load::cores(cpu.user, seen.wall), sys: load::cores(cpu.sys, seen.wall) };
    let counts = before.cache.zip(after.cache);
    Figures {
        server_version: String::new(),
        per_second: seen.per_second,
        // sysbench gives the number of reads and not their rate; both counts are of the same time.
        reads_per_second: seen.per_second * seen.reads / seen.queries.max(1.0),
        events_per_second: seen.events_per_second,
        mean_ms: seen.mean_ms,
        p95_ms: seen.p95_ms,
        max_ms: seen.max_ms,
        errors: seen.errors,
        client: cores(seen.client),
        weir: before.weir.zip(after.weir).map(|(before, after)| cores(after.since(before))),
        server: cores(after.server.since(before.server)),
        machine: load::cores(after.machine.saturating_sub(before.machine), seen.wall),
        hit_ratio: None,
        hits: counts.map(|(before, after)| after.hits - before.hits),
        misses: counts.map(|(before, after)| after.misses - before.misses),
    }
}

/// How far the run is, and how long the rest will take.
#[derive(Default)]
struct Progress {
    total: usize,
    done: usize,
    failed: usize,
    /// What a step takes, before one has shown it.
    guess: Duration,
    spent: Duration,
    measured: u32,
}

impl Progress {
    fn tell(&mut self, step: &Step, outcome: &Outcome, took: Duration) {
        self.done += 1;
        let said = match outcome {
            Outcome::Measured(figures) => {
                self.spent += took;
                self.measured += 1;
                let cached = figures.hit_ratio.map(|ratio| format!(", {:.0} % hits", ratio * 100.0));
                let (rate, p95) = (figures.per_second, figures.p95_ms);
                format!("{rate:.0} statements/s, p95 {p95:.2} ms{}", cached.unwrap_or_default())
            }
            Outcome::Failed(why) => {
                self.failed += 1;
                format!("FAILED: {why}")
            }
        };
        let each = if self.measured == 0 { self.guess } else { self.spent / self.measured };
        let left = minutes(each * (self.total - self.done) as u32);
        let width = self.total.to_string().len();
        eprintln!("[{:>width$}/{}, {left} left] {}: {said}", self.done, self.total, step.describe());
    }
}

fn minutes(time: Duration) -> String {
    match time.as_secs() {
        0..90 => format!("{} s", time.as_secs()),
        seconds => format!("{} min", (seconds + 30) / 60),
    }
}

#[cfg(test)]
mod tests;
