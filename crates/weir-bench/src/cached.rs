//! The rows of what comes out of Weir's cache: hits against a direct connection, against redis, and against themselves
//! with more clients.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::analytics::Sent;
use crate::client::Client;
use crate::load::{self, Beside, Load, Script, Scripts, Tables};
use crate::process;
use crate::replay::{self, Recording};
use crate::rig::{Endpoint, LOGIN, Rig};
use crate::summary::{Metric, Readings, Target};
use crate::{analytics, miss, redis};

/// The experiments of these rows, as `--only` names them.
pub const EXPERIMENTS: [&str; 7] = [
    "cached_point_select",
    "cached_read_only",
    "cached_replay",
    "cached_redis",
    "cached_writer",
    "cached_miss",
    "analytics",
];

/// Tables of the point selects beside a writer.
pub const POINT_TABLES: u32 = 16;
/// Rows of each.
pub const POINT_ROWS: u32 = 2_000;
/// The table whose rows are all in the cache is the first one.
const HOT: Tables = Tables { count: 1, rows: replay::ROWS };
const POINTS: Tables = Tables { count: POINT_TABLES, rows: POINT_ROWS };

/// Enough for a server to run all the statements that there are about [`HOT`].
const FILL_SECONDS: u32 = 2;

/// Point selects that are all hits, with so many clients.
pub const POINT_THREADS: [u32; 3] = [8, 64, 256];
/// Clients of the other rows.
pub const THREADS: u32 = 64;
/// Readers beside the writer.
pub const READERS: [u32; 6] = [1, 4, 8, 16, 64, 128];
/// The row of `oltp_read_only --skip-trx`.
pub const ROW_READ_ONLY: &str = "cached oltp_read_only --skip-trx, 64";
/// The row of the same statements, replayed.
pub const ROW_REPLAY: &str = "replayed oltp_read_only, 64";
/// The row of single hits against redis.
pub const ROW_REDIS: &str = "one hit or GET, 64 clients";

/// The row of point selects with so many clients.
#[must_use]
pub fn row_points(threads: u32) -> String {
    format!("cached point select, {threads}")
}

/// The row of point selects that are replayed by so many clients.
#[must_use]
pub fn row_replayed_points(clients: u32) -> String {
    format!("replayed point select, {clients}")
}

/// The row of point selects beside a writer.
#[must_use]
pub fn row_writer(readers: u32) -> String {
    format!("point select beside a writer, {readers}")
}

/// The tables that [`load::prepare`] is to make on the server at `address`.
#[must_use]
pub fn tables(address: SocketAddr) -> Load {
    Load {
        script: Script::PointSelect,
        tables: POINTS,
        threads: 4,
        seconds: 0,
        prepared: false,
        uniform: false,
        seed: None,
        events_per_second: None,
        address,
        login: LOGIN,
    }
}

/// What a round needs to know.
pub struct Rows<'a> {
    /// Weir's binary.
    pub weir: &'a Path,
    /// The server, Weir with its cache, and redis.
    pub rig: &'a Rig,
    /// Those of our own.
    pub scripts: &'a Scripts,
    /// Fewer clients and shorter runs.
    pub quick: bool,
    /// Counted from 1.
    pub round: u32,
    /// Where the numbers go.
    pub readings: &'a mut Readings,
}

impl Rows<'_> {
    /// Measures one experiment.
    ///
    /// # Errors
    /// With the first thing that fails.
    pub fn measure(&mut self, experiment: &str) -> Result<()> {
        match experiment {
            "cached_point_select" => POINT_THREADS
                .iter()
                .try_for_each(|threads| self.sysbench(&row_points(*threads), Script::PointSelect, *threads)),
            "cached_read_only" => self.sysbench(ROW_READ_ONLY, Script::ReadOnlySkipTrx, THREADS),
            "cached_replay" => self.replay(),
            "cached_redis" => self.redis(),
            "cached_writer" => self.writer(),
            "cached_miss" => self.miss(),
            "analytics" => self.analytics(),
            _ => Ok(()),
        }
    }

    fn seconds(&self) -> u32 {
        if self.quick { 1 } else { 3 }
    }

    fn add(&mut self, row: &str, target: Target, metric: Metric, value: f64) {
        self.readings.add(row, target, metric, self.round, value);
    }

    /// Those that are compared, another one first in each round.
    fn pair(&self) -> Result<[Endpoint; 2]> {
        let mut pair = [*self.rig.endpoint(Target::Direct)?, *self.rig.endpoint(Target::Cached)?];
        pair.rotate_left(self.round as usize % 2);
        Ok(pair)
    }

    fn sysbench(&mut self, row: &str, script: Script, threads: u32) -> Result<()> {
        for endpoint in self.pair()? {
            let load =
                Load { script, tables: HOT, threads, seconds: self.seconds(), ..tables(endpoint.address) };
            if endpoint.target == Target::Cached {
                // All statements there are, several times: what is measured are hits.
                let all = Load { uniform: true, seconds: FILL_SECONDS, threads: 16, ..load };
                load::run(&all, self.scripts, || Ok(())).context("filling the cache")?;
            }
            self.one(row, &load, &endpoint)?;
        }
        Ok(())
    }

    fn one(&mut self, row: &str, load: &Load, endpoint: &Endpoint) -> Result<()> {
        let mut server = Monitor::connect(self.rig)?;
        // Before its first read and after its last: a mark in between would miss some.
        let selects = server.selects()?;
        let mark = || endpoint.pid.map(process::cpu_time).transpose();
        let (seen, cpu, cpu_after) = load::run(load, self.scripts, mark)?;
        let selects = server.selects()? - selects;
        let target = endpoint.target;
        self.add(row, target, Metric::PerSecond, seen.per_second);
        self.add(row, target, Metric::MeanMs, seen.mean_ms);
        self.add(row, target, Metric::P95Ms, seen.p95_ms);
        if let Some((before, after)) = cpu.zip(cpu_after) {
            let used = after.saturating_sub(before).as_secs_f64();
            self.add(row, target, Metric::CpuUs, used * 1e6 / seen.queries);
        }
        if target == Target::Cached {
            self.add(row, target, Metric::HitPercent, hit_percent(selects, seen.reads));
        }
        Ok(())
    }

    fn replay(&mut self) -> Result<()> {
        let statements = replay::read_only();
        for endpoint in self.pair()? {
            self.replayed(ROW_REPLAY, &statements, &endpoint, THREADS)?;
        }
        let (cached, points) = (*self.rig.endpoint(Target::Cached)?, replay::point_selects());
        for clients in POINT_THREADS {
            self.replayed(&row_replayed_points(clients), &points, &cached, clients)?;
        }
        Ok(())
    }

    /// Gives the mean size of an answer.
    fn replayed(
        &mut self,
        row: &str,
        statements: &[String],
        endpoint: &Endpoint,
        clients: u32,
    ) -> Result<f64> {
        let recording = Recording::make(endpoint.address, LOGIN, statements)?;
        let bytes = recording.mean_answer();
        let time = Duration::from_secs(self.seconds().into());
        let (whom, clients) = ((endpoint.address, endpoint.pid), clients as usize);
        let mut server = Monitor::connect(self.rig)?;
        let before = server.selects()?;
        let outcome = replay::run(&Arc::new(recording), whom, LOGIN, clients, time)?;
        let selects = server.selects()? - before;
        self.add(row, endpoint.target, Metric::PerSecond, outcome.per_second);
        self.add(row, endpoint.target, Metric::Bytes, bytes);
        if let Some(cpu) = outcome.cpu_us {
            self.add(row, endpoint.target, Metric::CpuUs, cpu);
        }
        if endpoint.target == Target::Cached {
            let answers = outcome.per_second * time.as_secs_f64();
            self.add(row, endpoint.target, Metric::HitPercent, hit_percent(selects, answers));
        }
        Ok(bytes)
    }

    fn redis(&mut self) -> Result<()> {
        let (cached, store) = (*self.rig.endpoint(Target::Cached)?, *self.rig.endpoint(Target::Redis)?);
        let bytes = self.replayed(ROW_REDIS, &replay::point_selects(), &cached, THREADS)?;
        let requests = if self.quick { 100_000 } else { 300_000 };
        redis::fill(&store, bytes.round() as u32)?;
        let outcome = redis::get(&store, bytes.round() as u32, THREADS, requests)?;
        self.add(ROW_REDIS, Target::Redis, Metric::PerSecond, outcome.per_second);
        self.add(ROW_REDIS, Target::Redis, Metric::Bytes, bytes);
        if let Some(cpu) = outcome.cpu_us {
            self.add(ROW_REDIS, Target::Redis, Metric::CpuUs, cpu);
        }
        Ok(())
    }

    fn writer(&mut self) -> Result<()> {
        let endpoint = *self.rig.endpoint(Target::Cached)?;
        let (seconds, quick) = (self.seconds(), self.quick);
        let load = |script, threads, seconds| Load { script, threads, seconds, ..tables(endpoint.address) };
        if self.round == 1 {
            let all = Load { uniform: true, ..load(Script::PointSelect, 16, 2 * FILL_SECONDS) };
            load::run(&all, self.scripts, || Ok(())).context("filling the cache")?;
        }
        let mut writer = Beside::start(&load(Script::LightWriter, 1, 3_600), self.scripts)?;
        for readers in READERS.into_iter().filter(|readers| !quick || *readers >= 8) {
            self.one(&row_writer(readers), &load(Script::PointSelect, readers, seconds), &endpoint)?;
        }
        writer.check()
    }

    fn analytics(&mut self) -> Result<()> {
        let server = *self.rig.endpoint(Target::Direct)?;
        for target in [Target::Weir, Target::Shared] {
            for sent in Sent::ALL {
                for enabled in [false, true] {
                    let count = analytics::run(self.weir, target, &server, LOGIN, (sent, enabled))?;
                    self.add(&analytics::row(sent, enabled), target, Metric::Instructions, count);
                }
            }
        }
        Ok(())
    }

    fn miss(&mut self) -> Result<()> {
        let server = *self.rig.endpoint(Target::Direct)?;
        let mut targets = [Target::Shared, Target::Cached];
        targets.rotate_left(self.round as usize % 2);
        for target in targets {
            let count = miss::run(self.weir, target, &server, LOGIN, false)?;
            self.add(miss::ROW, target, Metric::Instructions, count);
            // Without a cache there is no difference.
            let kept = match target {
                Target::Cached => miss::run(self.weir, target, &server, LOGIN, true)?,
                _ => count,
            };
            self.add(miss::ROW_KEPT, target, Metric::Instructions, kept);
        }
        Ok(())
    }
}

/// What the server has done, asked on a connection that does not go through Weir.
struct Monitor(Client);

impl Monitor {
    fn connect(rig: &Rig) -> Result<Self> {
        Ok(Self(Client::connect(rig.endpoint(Target::Direct)?.address, LOGIN, 4096)?))
    }

    /// How many SELECTs the server has run so far.
    fn selects(&mut self) -> Result<f64> {
        Ok(self.0.value("SHOW GLOBAL STATUS LIKE 'Com_select'", 1)?.parse()?)
    }
}

/// Of so many reads, those that the server did not run.
fn hit_percent(selects: f64, reads: f64) -> f64 {
    (100.0 * (1.0 - selects / reads.max(1.0))).clamp(0.0, 100.0)
}
