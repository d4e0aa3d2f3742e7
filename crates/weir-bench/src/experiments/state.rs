//! What has been measured, in a file that grows by a line with each finished step, so that a run that was interrupted
//! goes on where it stopped.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::options::Parameters;
use super::plan::Step;

/// What one step showed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// What the server calls its version.
    pub server_version: String,
    /// Statements per second, `BEGIN` and `COMMIT` included.
    pub per_second: f64,
    /// Statements that read, per second.
    pub reads_per_second: f64,
    /// Events (a transaction, or one point select) per second.
    pub events_per_second: f64,
    /// Mean latency of an event in milliseconds.
    pub mean_ms: f64,
    /// 95th percentile of the latency of an event in milliseconds.
    pub p95_ms: f64,
    /// The longest latency of an event in milliseconds.
    pub max_ms: f64,
    /// Errors that sysbench went on after (deadlocks).
    pub errors: f64,
    /// CPU of sysbench in cores.
    pub client: Cores,
    /// CPU of Weir in cores, if it took part.
    pub weir: Option<Cores>,
    /// CPU of the server in cores.
    pub server: Cores,
    /// CPU of everything on the machine in cores.
    pub machine: f64,
    /// The part of all reads that the server did not run, as it counts them itself, 0 to 1; if a cache took part.
    pub hit_ratio: Option<f64>,
    /// Reads that Weir's cache answered, as Weir counts them.
    pub hits: Option<f64>,
    /// Reads that Weir's cache could have answered and had no answer for, as Weir counts them.
    pub misses: Option<f64>,
}

/// CPU time per time: 1 is a core that does nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cores {
    /// In the program's own code.
    pub user: f64,
    /// In the kernel.
    pub sys: f64,
}

impl Cores {
    /// Both.
    #[must_use]
    pub fn total(self) -> f64 {
        self.user + self.sys
    }
}

/// How one step ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// With figures.
    Measured(Box<Figures>),
    /// With an error; the next run tries it again.
    Failed(String),
}

/// One finished step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Which.
    pub step: Step,
    /// What else its figures depend on.
    pub parameters: Parameters,
    /// How it ended.
    pub outcome: Outcome,
}

/// The finished steps, and the file they are kept in.
pub struct State {
    records: Vec<Record>,
    file: File,
}

impl State {
    /// Reads what earlier runs left in `path`; with `fresh` nothing. A last line that is cut, by a power failure for
    /// instance, and lines of another version of this program are passed over.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn open(path: &Path, fresh: bool) -> Result<Self> {
        let text = match fresh {
            true => String::new(),
            false => match std::fs::read_to_string(path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
                read => read.with_context(|| format!("cannot read {}", path.display()))?,
            },
        };
        let mut options = OpenOptions::new();
        options.create(true).append(!fresh).write(true).truncate(fresh);
        let mut file = options.open(path).with_context(|| format!("cannot write {}", path.display()))?;
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n")?;
        }
        let records = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok(Self { records, file })
    }

    /// What is known of `step` with these parameters: figures rather than a failure, the newest of them.
    #[must_use]
    pub fn find(&self, step: &Step, parameters: &Parameters) -> Option<&Outcome> {
        let fits = |record: &&Record| record.step == *step && record.parameters == *parameters;
        let all = || self.records.iter().rev().filter(fits).map(|record| &record.outcome);
        all().find(|outcome| matches!(outcome, Outcome::Measured(_))).or_else(|| all().next())
    }

    /// Whether `step` has figures.
    #[must_use]
    pub fn is_measured(&self, step: &Step, parameters: &Parameters) -> bool {
        matches!(self.find(step, parameters), Some(Outcome::Measured(_)))
    }

    /// Adds a finished step, in the file as well.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn add(&mut self, record: Record) -> Result<()> {
        let mut line = serde_json::to_string(&record)?;
        line.push('\n');
        self.file.write_all(line.as_bytes()).context("cannot write the state file")?;
        self.records.push(record);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
