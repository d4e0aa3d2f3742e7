//! The order of a run: rounds, rows in them, targets in turn, and a line of progress for each.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::cached::{self, Rows};
use crate::idle::Link;
use crate::load::Scripts;
use crate::rig::{Endpoint, LOGIN, Rig};
use crate::summary::{Metric, Readings, Target};
use crate::sysbench::{self, Work};
use crate::{among, connect, idle, latency, opening, paced, stream, unseen};

/// What to measure, and for how long.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Weir's binary.
    pub weir: PathBuf,
    /// How often everything is repeated.
    pub rounds: u32,
    /// The experiments, out of [`EXPERIMENTS`].
    pub experiments: Vec<String>,
    /// About three minutes instead of twenty.
    pub quick: bool,
}

/// The names of all experiments, in the order in which they run.
pub const EXPERIMENTS: [&str; 20] = [
    "point_select_text",
    "point_select_prepared",
    "oltp_read_only",
    "oltp_read_write",
    "connect",
    "connect_mysql",
    "latency",
    "opening",
    "paced",
    "stream",
    "idle",
    "among_idle",
    "cached_point_select",
    "cached_read_only",
    "cached_replay",
    "cached_redis",
    "cached_writer",
    "cached_miss",
    "analytics",
    "unseen",
];
/// These have servers of their own, or none.
const APART: [&str; 4] = ["connect_mysql", "idle", "among_idle", "unseen"];

/// The experiments that `only` names, each by its full name or the beginning of it; all of them without `only`.
///
/// # Errors
/// When a name fits no experiment.
pub fn choose(only: &[String]) -> Result<Vec<String>> {
    let fits = |wanted: &String, name: &&str| name.starts_with(wanted.as_str());
    for wanted in only {
        ensure!(
            EXPERIMENTS.iter().any(|name| fits(wanted, name)),
            "no experiment is called {wanted}; there are: {}",
            EXPERIMENTS.join(", ")
        );
    }
    let chosen =
        EXPERIMENTS.iter().filter(|name| only.is_empty() || only.iter().any(|wanted| fits(wanted, name)));
    Ok(chosen.map(ToString::to_string).collect())
}

/// Measures everything that the plan asks for.
///
/// # Errors
/// With the first thing that fails: a table with a hole in it is not worth the wait.
pub fn run(plan: &Plan) -> Result<Readings> {
    let start = Instant::now();
    let mut run = Run { plan, readings: Readings::default(), start };
    let apart = |name: &str| APART.contains(&name) || cached::EXPERIMENTS.contains(&name);
    if plan.experiments.iter().any(|name| !apart(name)) {
        run.tell("starting MariaDB, HAProxy, the relay and Weir");
        let rig = Rig::full(&plan.weir)?;
        for round in 1..=plan.rounds {
            run.round(&rig, round)?;
        }
    }
    if run.wants("connect_mysql") {
        run.tell("starting MySQL and Weir");
        let rig = Rig::mysql(&plan.weir)?;
        for round in 1..=plan.rounds {
            run.connect(connect::ROW_MYSQL, &by_turns(rig.endpoints(), round), round)?;
        }
    }
    let clients = idle::clients_that_fit()?;
    for round in 1..=plan.rounds {
        if run.wants("idle") {
            run.idle(round, clients, Link::Plain)?;
            run.idle(round, clients, Link::Tls)?;
        }
        if run.wants("among_idle") {
            run.among_idle(round, clients)?;
        }
        if run.wants("unseen") {
            run.unseen(round);
        }
    }
    run.cached()?;
    Ok(run.readings)
}

struct Run<'a> {
    plan: &'a Plan,
    readings: Readings,
    start: Instant,
}

impl Run<'_> {
    fn wants(&self, experiment: &str) -> bool {
        self.plan.experiments.iter().any(|name| name == experiment)
    }

    fn tell(&self, what: &str) {
        eprintln!("{:>4} s  {what}", self.start.elapsed().as_secs());
    }

    fn round(&mut self, rig: &Rig, round: u32) -> Result<()> {
        let mut endpoints = by_turns(rig.endpoints(), round);
        let all = endpoints.clone();
        // It answers nothing but what a connection's cost is measured with.
        endpoints.retain(|endpoint| endpoint.target != Target::Bare);
        for work in Work::ALL {
            if self.wants(work.key()) {
                for threads in self.threads(work) {
                    self.sysbench(work, *threads, &endpoints, round)?;
                }
            }
        }
        // How many connections there are makes no difference to the others.
        endpoints.retain(|endpoint| endpoint.target != Target::Ample);
        if self.wants("connect") {
            let all: Vec<_> = all.into_iter().filter(|endpoint| endpoint.target != Target::Ample).collect();
            self.connect(connect::ROW, &all, round)?;
        }
        if self.wants("latency") {
            self.latency(&endpoints, round)?;
        }
        if self.wants("opening") {
            self.opening(rig, round)?;
        }
        if self.wants("paced") {
            self.paced(round)?;
        }
        if self.wants("stream") {
            self.stream(&endpoints, round)?;
        }
        Ok(())
    }

    /// A quick run has the rows that a floor depends on, and one of each transaction.
    fn threads(&self, work: Work) -> &'static [u32] {
        match (self.plan.quick, work) {
            (false, _) => &[1, 8, 64, 256],
            (true, Work::PointSelectText | Work::PointSelectPrepared) => &[8, 64],
            (true, Work::ReadOnly | Work::ReadWrite) => &[8],
        }
    }

    fn sysbench(&mut self, work: Work, threads: u32, endpoints: &[&Endpoint], round: u32) -> Result<()> {
        let row = work.row(threads);
        self.tell(&format!("round {round}: {row}"));
        let seconds = if self.plan.quick { 1 } else { 3 };
        // A transaction keeps its connection: 64 clients on 16 show the queue, and not what a statement costs.
        let held = matches!(work, Work::ReadOnly | Work::ReadWrite);
        let shares = |target| matches!(target, Target::Shared | Target::Ample);
        for endpoint in endpoints.iter().filter(|endpoint| !held || !shares(endpoint.target)) {
            let outcome = sysbench::run(work, threads, seconds, endpoint, LOGIN)?;
            self.readings.add(&row, endpoint.target, Metric::PerSecond, round, outcome.per_second);
            self.readings.add(&row, endpoint.target, Metric::P95Ms, round, outcome.p95_ms);
            if let Some(cpu) = outcome.cpu_us() {
                self.readings.add(&row, endpoint.target, Metric::CpuUs, round, cpu);
            }
        }
        Ok(())
    }

    fn connect(&mut self, row: &str, endpoints: &[&Endpoint], round: u32) -> Result<()> {
        self.tell(&format!("round {round}: {row}"));
        let time = Duration::from_secs(if self.plan.quick { 1 } else { 3 });
        for endpoint in endpoints {
            let outcome = connect::run(endpoint, LOGIN, time)?;
            self.readings.add(row, endpoint.target, Metric::PerSecond, round, outcome.per_second);
            if let Some(cpu) = outcome.cpu_us {
                self.readings.add(row, endpoint.target, Metric::CpuUs, round, cpu);
            }
        }
        Ok(())
    }

    fn latency(&mut self, endpoints: &[&Endpoint], round: u32) -> Result<()> {
        self.tell(&format!("round {round}: {}", latency::ROW));
        let medians = latency::run(endpoints, LOGIN, if self.plan.quick { 3_000 } else { 10_000 })?;
        let direct = medians.iter().find(|(target, _)| *target == Target::Direct).map(|(_, median)| *median);
        for (target, median) in &medians {
            self.readings.add(latency::ROW, *target, Metric::P50Us, round, *median);
            if let (Some(direct), true) = (direct, *target != Target::Direct) {
                self.readings.add(latency::ROW, *target, Metric::AddedUs, round, median - direct);
            }
        }
        Ok(())
    }

    fn opening(&mut self, rig: &Rig, round: u32) -> Result<()> {
        self.tell(&format!("round {round}: {}", opening::ROW));
        let server = rig.endpoint(Target::Direct)?;
        for target in [Target::Direct, Target::Weir, Target::Shared] {
            let trips = opening::run(rig.endpoint(target)?, server, LOGIN)?;
            self.readings.add(opening::ROW, target, Metric::RoundTrips, round, trips);
        }
        Ok(())
    }

    /// A server of its own, with as many connections as anybody could want.
    fn paced(&mut self, round: u32) -> Result<()> {
        self.tell(&format!("round {round}: {}", paced::ROW));
        let time = Duration::from_secs(if self.plan.quick { 2 } else { 5 });
        let rig = Rig::shared_alone(&self.plan.weir)?;
        let (weir, server) = (rig.endpoint(Target::Shared)?, rig.endpoint(Target::Direct)?);
        let outcome = paced::run(weir, server, LOGIN, time)?;
        self.readings.add(paced::ROW, Target::Shared, Metric::Connections, round, outcome.connections);
        self.readings.add(paced::ROW, Target::Shared, Metric::P95Ms, round, outcome.p95_ms);
        Ok(())
    }

    fn stream(&mut self, endpoints: &[&Endpoint], round: u32) -> Result<()> {
        self.tell(&format!("round {round}: {}", stream::ROW_FAST));
        // How an answer is passed on does not depend on who shares the connection.
        let own = |endpoint: &&&Endpoint| endpoint.target != Target::Shared;
        for endpoint in endpoints.iter().filter(own) {
            let rate = stream::fast(endpoint, LOGIN)?;
            self.readings.add(stream::ROW_FAST, endpoint.target, Metric::MbPerSecond, round, rate);
        }
        self.tell(&format!("round {round}: {}", stream::ROW_SLOW));
        for endpoint in endpoints.iter().filter(own).filter(|endpoint| is_watched(self.plan, endpoint)) {
            let growth = stream::slow(endpoint, LOGIN)?;
            self.readings.add(stream::ROW_SLOW, endpoint.target, Metric::GrowthMb, round, growth);
        }
        Ok(())
    }

    /// Each round has a new Weir: memory that an allocator kept from the round before would hide what a client takes.
    fn idle(&mut self, round: u32, clients: u64, link: Link) -> Result<()> {
        let row = idle::row(clients, link);
        self.tell(&format!("round {round}: {row}"));
        for target in [Target::Weir, Target::Shared] {
            let rig = Rig::for_idle_clients(&self.plan.weir, target)?;
            let kb = idle::run(rig.endpoint(target)?, LOGIN, clients, link)?;
            self.readings.add(&row, target, Metric::KbPerClient, round, kb);
        }
        Ok(())
    }

    /// What Weir does with a statement before anything is sent; the functions are called here.
    fn unseen(&mut self, round: u32) {
        self.tell(&format!("round {round}: {}", unseen::ROW));
        self.readings.add(unseen::ROW, Target::Weir, Metric::Nanoseconds, round, unseen::statement());
        self.tell(&format!("round {round}: {}", unseen::ROW_INSERT));
        self.readings.add(unseen::ROW_INSERT, Target::Weir, Metric::MbPerSecond, round, unseen::insert());
    }

    /// The rows of Weir's cache have a server with tables of their own.
    fn cached(&mut self) -> Result<()> {
        let wanted: Vec<&str> = cached::EXPERIMENTS.into_iter().filter(|name| self.wants(name)).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        self.tell("starting MariaDB, Weir with its cache, and redis");
        let scripts = Scripts::write()?;
        let rig = Rig::cached(&self.plan.weir, &scripts)?;
        for round in 1..=self.plan.rounds {
            for experiment in &wanted {
                self.tell(&format!("round {round}: {}", experiment.replace('_', " ")));
                let (weir, quick) = (&self.plan.weir, self.plan.quick);
                let readings = &mut self.readings;
                Rows { weir, rig: &rig, scripts: &scripts, quick, round, readings }.measure(experiment)?;
            }
        }
        Ok(())
    }

    fn among_idle(&mut self, round: u32, clients: u64) -> Result<()> {
        let row = among::row(clients);
        self.tell(&format!("round {round}: {row}"));
        let time = Duration::from_secs(if self.plan.quick { 3 } else { 9 });
        let rigs = [(); 2].map(|()| Rig::for_idle_clients(&self.plan.weir, Target::Shared));
        let [alone, crowded] = rigs;
        let (alone, crowded) = (alone?, crowded?);
        let ends = |rig: &Rig| {
            Ok::<_, anyhow::Error>([*rig.endpoint(Target::Shared)?, *rig.endpoint(Target::Direct)?])
        };
        let ([one, first], [other, second]) = (ends(&alone)?, ends(&crowded)?);
        let (alone, crowded, kb) = among::run([&one, &first], [&other, &second], LOGIN, clients, time)?;
        for (row, outcome) in [(among::row_alone(), alone), (row.clone(), crowded)] {
            self.readings.add(&row, Target::Shared, Metric::PerSecond, round, outcome.per_second);
            self.readings.add(&row, Target::Shared, Metric::P99Ms, round, outcome.p99_ms);
            self.readings.add(&row, Target::Shared, Metric::Connections, round, outcome.connections);
        }
        self.readings.add(&row, Target::Shared, Metric::KbPerClient, round, kb);
        Ok(())
    }
}

/// The endpoints with another one first in each round: who goes first may find a colder or a warmer machine.
fn by_turns(endpoints: &[Endpoint], round: u32) -> Vec<&Endpoint> {
    let mut turned: Vec<&Endpoint> = endpoints.iter().collect();
    let first = (round as usize - 1) % turned.len();
    turned.rotate_left(first);
    turned
}

/// Whose memory is watched with a slow client: every proxy's, or in a quick run Weir's alone.
fn is_watched(plan: &Plan, endpoint: &Endpoint) -> bool {
    if plan.quick { endpoint.target == Target::Weir } else { endpoint.pid.is_some() }
}
