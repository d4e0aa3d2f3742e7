//! The files that a run leaves: the page, and the same figures for programs.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use super::options::Parameters;
use super::page::{self, Shown};
use super::plan::Step;
use super::state::{Cores, Outcome};

/// Writes `report.html`, `results.csv` and `results.json` into `folder`.
///
/// # Errors
/// When one cannot be written.
pub fn write(folder: &Path, parameters: &Parameters, shown: &[Shown]) -> Result<()> {
    let files = [
        ("report.html", page::html(parameters, shown)),
        ("results.csv", csv(shown)),
        ("results.json", json(parameters, shown)?),
    ];
    for (name, text) in files {
        let path = folder.join(name);
        // Whole or not at all: somebody may have the page open.
        let beside = folder.join(format!("{name}.new"));
        std::fs::write(&beside, text).with_context(|| format!("cannot write {}", beside.display()))?;
        std::fs::rename(&beside, &path).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn json(parameters: &Parameters, shown: &[Shown]) -> Result<String> {
    #[derive(Serialize)]
    struct Whole<'a> {
        parameters: &'a Parameters,
        steps: Vec<Line<'a>>,
    }
    #[derive(Serialize)]
    struct Line<'a> {
        #[serde(flatten)]
        step: Step,
        #[serde(flatten)]
        outcome: &'a Outcome,
    }
    let steps = shown.iter().flat_map(|one| one.outcomes.iter());
    let steps = steps.map(|(step, outcome)| Line { step: *step, outcome }).collect();
    Ok(serde_json::to_string_pretty(&Whole { parameters, steps })? + "\n")
}

const HEADER: &str = "experiment,server,load,variant,clients,statements_per_s,reads_per_s,events_per_s,mean_ms,p95_ms,\
max_ms,errors,client_user_cores,client_sys_cores,weir_user_cores,weir_sys_cores,server_user_cores,server_sys_cores,\
machine_busy_cores,cache_hits,cache_misses,hit_ratio,error\n";

fn csv(shown: &[Shown]) -> String {
    let mut text = String::from(HEADER);
    for (step, outcome) in shown.iter().flat_map(|one| one.outcomes.iter()) {
        let (experiment, server) = (step.experiment.key(), step.server.name());
        let (script, variant) = (step.script.name(), step.variant.key());
        // Writing to a string cannot fail.
        let _ = write!(text, "{experiment},{server},{script},{variant},{}", step.threads);
        for value in values(outcome) {
            let _ = write!(text, ",{}", value.map_or_else(String::new, |value| value.to_string()));
        }
        let error = match outcome {
            Outcome::Failed(why) => format!("\"{}\"", why.replace('"', "\"\"")),
            Outcome::Measured(_) => String::new(),
        };
        let _ = writeln!(text, ",{error}");
    }
    text
}

/// In the order of the header.
fn values(outcome: &Outcome) -> [Option<f64>; 17] {
    let Outcome::Measured(figures) = outcome else { return [None; 17] };
    let user = |cores: Option<Cores>| cores.map(|cores| cores.user);
    let sys = |cores: Option<Cores>| cores.map(|cores| cores.sys);
    [
        Some(figures.per_second),
        Some(figures.reads_per_second),
        Some(figures.events_per_second),
        Some(figures.mean_ms),
        Some(figures.p95_ms),
        Some(figures.max_ms),
        Some(figures.errors),
        Some(figures.client.user),
        Some(figures.client.sys),
        user(figures.weir),
        sys(figures.weir),
        Some(figures.server.user),
        Some(figures.server.sys),
        Some(figures.machine),
        figures.hits,
        figures.misses,
        figures.hit_ratio,
    ]
}

#[cfg(test)]
mod tests;
