//! What a run prints.

use std::fmt::Write;

use super::run::{Plan, Summary};
use super::script::{Action, Class, SessionPlan};
use super::sharing::Pins;
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
    if let Some(pins) = &summary.pins {
        out += &shared(pins);
    }
    out
}

/// How the sessions stood after their statements.
fn shared(pins: &Pins) -> String {
    let mut out = String::from("  after a statement\n");
    let mut line = |name: &str, count: u64| writeln!(out, "  {name:<32}{count:>7}").ok();
    line("  without a server connection", pins.free);
    line("  pinned", pins.pinned);
    for (reason, count) in &pins.reasons {
        line(&format!("    {reason}"), *count);
    }
    line("  closed", pins.gone);
    line("server connections seen pinned", pins.connections.len() as u64);
    line("sessions pinned at once, at most", pins.at_once as u64);
    out
}

/// True when sessions should have shared connections, and none ever left its own.
pub fn nothing_shared(summary: &Summary) -> bool {
    summary.pins.as_ref().is_some_and(|pins| pins.free == 0 && pins.pinned > 0)
}

/// How many sessions were pinned at once, where all were to be and some were not.
pub fn not_all_pinned(plan: &Plan, summary: &Summary) -> Option<usize> {
    plan.sharing.filter(|sharing| sharing.everybody)?;
    let most = summary.pins.as_ref()?.at_once;
    (most < summary.sessions.min(plan.concurrency)).then_some(most)
}

/// The classes that occurred too rarely.
pub fn too_rare(summary: &Summary) -> Vec<(Class, u64)> {
    let count = |class: &Class| summary.counts.get(class).copied().unwrap_or(0);
    Class::ALL.iter().map(|class| (*class, count(class))).filter(|(_, n)| *n < LEAST_OF_EACH).collect()
}

/// A failing session as text: how to connect, what to send, what differs.
pub fn script(plan: &Plan, failure_step: usize, shrunk: &Shrunk) -> String {
    let (mut out, seed) = (String::new(), plan.seed);
    let SessionPlan { number, capabilities, collation, steps } = &shrunk.plan;
    writeln!(out, "seed {seed}, session {number}, statement {failure_step}").ok();
    if !shrunk.again {
        if plan.sharing.is_some() {
            writeln!(
                out,
                "  other sessions on the same connections may have their part in it: run all of them again"
            )
            .ok();
        }
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
