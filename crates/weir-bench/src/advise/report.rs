//! Prediction beside fact, for people and for programs.

use anyhow::Result;
use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};
use serde::Serialize;

use super::asked::{Advised, Did, Predicted};
use super::{Args, WITHIN, Workload};

/// One workload with rules of one TTL, or with those that are proposed.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    workload: Workload,
    ttl: String,
    /// All statements together.
    pub all: Compared,
    /// Each.
    statements: Vec<Compared>,
}

/// What was told of a rule and what it did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Compared {
    digest: String,
    ttl: String,
    /// Of the different statements one in so many was watched.
    one_of: u64,
    keys: u64,
    predicted_calls: u64,
    predicted_hits: f64,
    predicted_stale: f64,
    did: Did,
    actual_stale: Option<u64>,
}

impl Compared {
    /// Of one statement.
    pub fn new(advised: &Advised, predicted: &Predicted, did: Did) -> Self {
        Self {
            digest: advised.digest.clone(),
            ttl: predicted.ttl.clone(),
            one_of: advised.one_of,
            keys: advised.keys,
            predicted_calls: advised.calls,
            predicted_hits: predicted.hits,
            predicted_stale: predicted.hits * predicted.stale_ratio,
            did,
            actual_stale: None,
        }
    }

    fn sum(statements: &[Self]) -> Self {
        statements.iter().fold(Self::default(), |sum, one| Self {
            one_of: sum.one_of.max(one.one_of),
            keys: sum.keys + one.keys,
            predicted_calls: sum.predicted_calls + one.predicted_calls,
            predicted_hits: sum.predicted_hits + one.predicted_hits,
            predicted_stale: sum.predicted_stale + one.predicted_stale,
            did: Did {
                hits: sum.did.hits + one.did.hits,
                misses: sum.did.misses + one.did.misses,
                waits: sum.did.waits + one.did.waits,
                passed: sum.did.passed + one.did.passed,
            },
            ..sum
        })
    }

    /// Statements that the rule let the cache answer, or would have. What is seldom asked again was no hit either.
    fn calls(&self) -> u64 {
        self.did.hits + self.did.misses + self.did.waits + self.did.passed
    }

    /// Hit ratios from 0 to 1: the predicted and the actual one. Who waited for another's answer was not sent to the server.
    fn ratios(&self) -> (f64, f64) {
        let answered = (self.did.hits + self.did.waits) as f64;
        (share(self.predicted_hits, self.predicted_calls as f64), share(answered, self.calls() as f64))
    }

    /// Shares of hits that were out of date, from 0 to 1.
    fn stale(&self) -> (f64, Option<f64>) {
        let answered = (self.did.hits + self.did.waits) as f64;
        let actual = self.actual_stale.map(|stale| share(stale as f64, answered));
        (share(self.predicted_stale, self.predicted_hits), actual)
    }

    /// By how many points of a hundred the prediction was too high.
    pub fn off(&self) -> f64 {
        let (predicted, actual) = self.ratios();
        (predicted - actual) * 100.0
    }

    /// The same of the share of hits that were out of date; 0 where nobody knows.
    fn stale_off(&self) -> f64 {
        let (predicted, actual) = self.stale();
        actual.map_or(0.0, |actual| (predicted - actual) * 100.0)
    }
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

impl Line {
    /// Adds up what became of each statement.
    pub fn new(workload: Workload, ttl: String, statements: Vec<Compared>, stale: Option<u64>) -> Self {
        let all = Compared { actual_stale: stale, ttl: ttl.clone(), ..Compared::sum(&statements) };
        Self { workload, ttl, all, statements }
    }

    /// Whether the prediction was wrong: one for a workload at full speed is for that speed.
    pub fn is_far_off(&self) -> bool {
        let off = self.all.off().abs().max(self.all.stale_off().abs());
        self.workload.is_paced() && off > WITHIN
    }

    /// The statement of which the prediction was farthest off.
    fn worst(&self) -> f64 {
        let offs = self.statements.iter().map(Compared::off);
        offs.fold(0.0, |worst: f64, off| if off.abs() > worst.abs() { off } else { worst })
    }

    /// The TTL, or those that were proposed.
    fn rule(&self) -> String {
        let mut ttls: Vec<&str> = self.statements.iter().map(|one| one.ttl.as_str()).collect();
        ttls.dedup();
        match self.ttl == "proposed" {
            true => format!("proposed: {}", if ttls.is_empty() { "none".to_owned() } else { ttls.join(" ") }),
            false => self.ttl.clone(),
        }
    }

    /// As the line of progress shows it.
    pub fn describe(&self) -> String {
        let (predicted, actual) = self.all.ratios();
        let (workload, rule) = (self.workload.name(), self.rule());
        format!("{workload}, {rule}: predicted {}, actual {}", percent(predicted), percent(actual))
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

const HEADER: [&str; 12] = [
    "workload",
    "TTL",
    "rules",
    "one of",
    "calls before",
    "calls with it",
    "predicted",
    "actual",
    "off",
    "worst rule",
    "stale predicted",
    "stale actual",
];

/// The table, with what it says.
pub fn text(lines: &[Line]) -> String {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    table.set_header(HEADER);
    for line in lines {
        let all = &line.all;
        let ((predicted, actual), (stale, was_stale)) = (all.ratios(), all.stale());
        table.add_row([
            line.workload.name().to_owned(),
            line.rule(),
            line.statements.len().to_string(),
            all.one_of.to_string(),
            all.predicted_calls.to_string(),
            all.calls().to_string(),
            percent(predicted),
            percent(actual),
            format!("{:+.1}", all.off()),
            format!("{:+.1}", line.worst()),
            percent(stale),
            was_stale.map_or_else(|| "-".to_owned(), percent),
        ]);
    }
    table.column_iter_mut().skip(2).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    let paced = lines.iter().filter(|line| line.workload.is_paced()).count();
    let verdict = match lines.iter().filter(|line| line.is_far_off()).count() {
        0 => format!("All {paced} predictions at a fixed rate are within {WITHIN} points."),
        far => format!("{far} of {paced} predictions at a fixed rate are off by more than {WITHIN} points."),
    };
    format!("{table}\n\n{NOTES}\n\n{verdict}")
}

const NOTES: &str = "\
predicted, actual: the share of calls that the server is not asked. off: predicted less actual, in points.
worst rule: the same for the rule that is farthest off. one of: of the different statements one in so many was watched, at the most.
calls: e2 and nontran send as fast as they go, so a run with the cache may send more within each TTL than the prediction knows of, and
then hits more where nothing but the TTL ends an entry's use; in nontran the sessions' own writes do. The others send at a fixed rate.
stale: the share of the hits; of sysbench's answers nobody knows whether they are out of date. Where it is known, it is held to the same.";

/// Everything, for programs.
pub fn json(version: &str, args: &Args, lines: &[Line]) -> Result<String> {
    #[derive(Serialize)]
    struct Whole<'a> {
        weir: &'a str,
        seconds: u32,
        clients: u32,
        rate: u32,
        events: u32,
        seed: u32,
        lines: &'a [Line],
    }
    let Args { seconds, clients, rate, events, seed, .. } = *args;
    let whole = Whole { weir: version, seconds, clients, rate, events, seed, lines };
    Ok(serde_json::to_string_pretty(&whole)? + "\n")
}

#[cfg(test)]
mod tests;
