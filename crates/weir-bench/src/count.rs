//! Instructions per call of the hot functions, counted by valgrind's callgrind, held against committed numbers.
//!
//! Instructions do not depend on what else the machine does, so a change of a few percent shows where a time would
//! drown in noise. Each function runs twice with different numbers of calls; what starting the program costs cancels.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::hot;

/// How far a count may be from the expected one, either way. A lower one is to be written down as well: otherwise the
/// next loss would hide in the gain.
const TOLERANCE: f64 = 0.05;
const FEW: u32 = 1_000;
const MANY: u32 = 11_000;

/// Counts all functions and compares them with those in `file`, or with `bless` writes them there.
/// Returns the table to print and whether all are within the tolerance.
///
/// # Errors
/// When valgrind is missing or fails, or the file cannot be used.
pub fn run(file: &Path, bless: bool) -> Result<(String, bool)> {
    let mut counts = Vec::new();
    for hot in &hot::ALL {
        let difference = instructions(hot.name, MANY)?.saturating_sub(instructions(hot.name, FEW)?);
        counts.push((hot.name, difference as f64 / f64::from(MANY - FEW)));
    }
    if bless {
        let mut text =
            String::from("# Instructions per call; `scripts/bench.sh --bless` writes this file.\n");
        for (name, count) in &counts {
            writeln!(text, "{name} {count:.0}")?;
        }
        std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    compare(&counts, &text)
}

fn compare(counts: &[(&str, f64)], expected: &str) -> Result<(String, bool)> {
    let mut table = format!("{:<24} {:>10} {:>10}\n", "instructions per call", "expected", "counted");
    let mut all_within = true;
    for (name, count) in counts {
        let line = expected.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let expected: f64 =
            line.with_context(|| format!("no count is expected of {name}"))?.trim().parse()?;
        let within = (count - expected).abs() <= expected * TOLERANCE;
        all_within &= within;
        let word = if within { "" } else { "  OUT OF BOUNDS (5 %)" };
        writeln!(table, "{name:<24} {expected:>10.0} {count:>10.0}{word}")?;
    }
    Ok((table, all_within))
}

/// Instructions of a whole run with `calls`.
fn instructions(name: &str, calls: u32) -> Result<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe()?)
        .args(["hot", name, &calls.to_string()])
        .output()
        .context("cannot start valgrind; scripts/deps.sh installs it")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "valgrind failed on {name}:\n{said}");
    collected(&said)
}

/// What callgrind says at its end.
pub(crate) fn collected(said: &str) -> Result<u64> {
    let line = said.lines().find_map(|line| line.split_once("Collected : "));
    let (_, number) = line.with_context(|| format!("valgrind did not say what it collected:\n{said}"))?;
    Ok(number.trim().parse()?)
}

#[cfg(test)]
mod tests;
