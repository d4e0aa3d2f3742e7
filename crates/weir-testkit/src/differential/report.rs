//! What a run prints.

use std::fmt::Write;

use super::run::Summary;
use super::script::{Action, Class, SessionPlan};
use super::shrink::Shrunk;

/// Every listed class must occur this often in a run of [`ENOUGH_STATEMENTS`].
pub const LEAST_OF_EACH: u64 = 200;
/// From this size on a run is held to [`LEAST_OF_EACH`].
pub const ENOUGH_STATEMENTS: usize = 20_000;

/// The table of a run.
pub fn summary(name: &str, summary: &Summary) -> String {
    let mut out = String::new();
    let identical = summary.sessions - summary.failures.len();
    let seconds = summary.elapsed.as_secs_f64();
    let megabytes = summary.response_bytes as f64 / 1e6;
    writeln!(out, "{name}: {identical} of {} sessions identical", summary.sessions).ok();
    writeln!(
        out,
        "  {} statements on each side in {seconds:.1} s, {megabytes:.0} MB of replies, {} reconnects",
        summary.statements, summary.reconnects
    )
    .ok();
    if summary.not_offered.0 != 0 {
        writeln!(out, "  capabilities offered directly and not through Weir: 0x{:x}", summary.not_offered.0)
            .ok();
    }
    for (class, count) in &summary.counts {
        writeln!(out, "  {class:<32}{count:>7}").ok();
    }
    out
}

/// The classes that occurred too rarely.
pub fn too_rare(summary: &Summary) -> Vec<(Class, u64)> {
    let count = |class: &Class| summary.counts.get(class).copied().unwrap_or(0);
    Class::ALL.iter().map(|class| (*class, count(class))).filter(|(_, n)| *n < LEAST_OF_EACH).collect()
}

/// A failing session as text: how to connect, what to send, what differs.
pub fn script(seed: u64, failure_step: usize, shrunk: &Shrunk) -> String {
    let mut out = String::new();
    let SessionPlan { number, capabilities, collation, steps } = &shrunk.plan;
    writeln!(out, "seed {seed}, session {number}, statement {failure_step}").ok();
    if !shrunk.again {
        writeln!(out, "  it did not come again in a session of its own; the last statements before it:").ok();
    }
    writeln!(out, "  capabilities 0x{:x}, collation {collation}", capabilities.0).ok();
    let from = if shrunk.again { 0 } else { steps.len().saturating_sub(25) };
    for (i, step) in steps.iter().enumerate().skip(from) {
        writeln!(out, "  {i:>4} [{}] {}", step.class, short(&step.action)).ok();
    }
    writeln!(out, "  difference: {}", shrunk.what).ok();
    out
}

/// A statement as text, cut to what fits a terminal.
pub fn short(action: &Action) -> String {
    let mut text = action.to_string();
    if let Some((at, _)) = text.char_indices().nth(400) {
        let more = text.len() - at;
        text.truncate(at);
        text += &format!("...({more} more)");
    }
    text
}
