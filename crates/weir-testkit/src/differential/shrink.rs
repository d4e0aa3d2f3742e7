//! Makes a failing session short: steps are taken away as long as a difference remains.

use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::client::ConnectOptions;
use crate::client::bytes::text_row;

use super::run::{Failure, Plan, Side, run_session};
use super::script::SessionPlan;
use super::sharing::Permits;

/// A failing session, cut as far as the time allowed.
#[derive(Debug, Clone)]
pub struct Shrunk {
    /// The direct side's steps; the last shows the difference.
    pub plan: SessionPlan,
    pub what: String,
    /// False when the difference did not come again in a session of its own. Where sessions share connections, it may
    /// be another session's doing; then it is not looked for any longer.
    pub again: bool,
}

/// Cuts the steps that led to `failure` by delta debugging: halves first, then ever smaller pieces.
pub async fn shrink(plan: &Plan, both: &[SessionPlan; 2], failure: &Failure, limit: Duration) -> Shrunk {
    let deadline = Instant::now() + limit;
    // A reply that never comes would otherwise cost the whole patience at every attempt.
    let plan = &Plan { patience: Duration::from_secs(3), ..plan.clone() };
    let mut best = both.clone();
    best.iter_mut().for_each(|side| side.steps.truncate(failure.step + 1));
    // Without what prepares it, another statement may differ, for a reason that is known.
    let last = best[0].steps.last().map(|step| step.action.to_string());
    let same = |side: &SessionPlan| side.steps.last().map(|step| step.action.to_string()) == last;
    let mut shrunk = Shrunk { plan: best[0].clone(), what: failure.what.clone(), again: false };
    let Some(what) = fails(plan, &mut best).await.filter(|_| same(&best[0])) else { return shrunk };
    (shrunk.again, shrunk.what) = (true, what);
    let mut piece = best[0].steps.len() / 2;
    while piece > 0 && Instant::now() < deadline {
        let mut cut_one = false;
        let mut end = best[0].steps.len();
        // From the back, where what matters is nearest; the setup goes last.
        while end > 0 && Instant::now() < deadline {
            let start = end.saturating_sub(piece);
            let mut candidate = best.clone();
            for side in &mut candidate {
                side.steps.drain(start..end);
            }
            if let Some(what) = fails(plan, &mut candidate).await.filter(|_| same(&candidate[0])) {
                shrunk.what = what;
                best = candidate;
                cut_one = true;
            }
            end = start.min(best[0].steps.len());
        }
        piece = if cut_one && piece == 1 { 1 } else { piece / 2 };
    }
    shrunk.plan = best[0].clone();
    shrunk
}

/// Runs the steps in fresh schemas. On a difference the steps behind it are dropped.
async fn fails(plan: &Plan, both: &mut [SessionPlan; 2]) -> Option<String> {
    clean(plan, both).await;
    let outcome = run_session(plan, both, &AtomicU64::new(0), Permits::new(plan.sharing).turn()).await;
    let failure = outcome.failure?;
    both.iter_mut().for_each(|side| side.steps.truncate(failure.step + 1));
    Some(failure.what)
}

/// Takes away what an earlier run left, so that the setup can be cut too: branches prepared and never ended,
/// which would hold locks, and schemas.
async fn clean(plan: &Plan, both: &[SessionPlan; 2]) {
    for (session, side) in both.iter().zip([&plan.direct, &plan.weir]) {
        // What cannot be cleaned shows as a difference that does not come again.
        clean_side(side, session.number, plan.patience).await.ok();
    }
}

async fn clean_side(side: &Side, number: usize, patience: Duration) -> Result<()> {
    let name = format!("{}{number:03}", side.prefix);
    let mut options = ConnectOptions::tcp(side.addr, "app", "app-pw");
    options.patience = patience;
    let mut client = options.connect().await?;
    let recovered = client.run("XA RECOVER").await?;
    for row in recovered.rows() {
        let values = text_row(row)?;
        let xid = values.last().cloned().flatten().unwrap_or_default();
        if xid.starts_with(name.as_bytes()) {
            client.query(format!("XA ROLLBACK '{}'", String::from_utf8_lossy(&xid))).await?;
        }
    }
    for suffix in ["a", "b", "az"] {
        client.run(&format!("DROP DATABASE IF EXISTS {name}{suffix}")).await?;
    }
    client.quit().await
}
