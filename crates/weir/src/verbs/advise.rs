//! `weir advise ...`

mod cache;

use super::show::{part, seconds, short, table};
use super::{Asked, query};
use crate::cli::{AdviseArgs, AdviseVerb};
use anyhow::{Result, bail};
use weir_admin::PinAdvice;

pub fn run(args: AdviseArgs) -> Result<()> {
    match args.verb {
        Some(AdviseVerb::Cache(args)) => cache::run(args),
        Some(AdviseVerb::Pins { limit, offset, at }) => {
            let given = [("limit", limit), ("offset", offset)];
            let given = given.into_iter().filter_map(|(name, n)| Some((name, n?.to_string())));
            let path = query("/advise/pins", &given.collect::<Vec<_>>());
            Asked::new(&at)?.get(&path)?.show(pins)
        }
        None => bail!(
            "say which advice:\n  weir advise cache   which cache rules would save the server how much\n  \
             weir advise pins    what keeps sessions on their server connections, and what to change"
        ),
    }
}

fn pins(advice: &PinAdvice) -> String {
    if advice.reasons.is_empty() {
        return "no session has kept a server connection beyond a statement\n".to_owned();
    }
    let mut text = match advice.enabled {
        true => format!(
            "over {}, sessions kept {:.1} server connections on average; {} keep one now\n",
            seconds(advice.observed_seconds),
            advice.connections,
            advice.sessions_now
        ),
        false => "analytics.enabled is off: only what goes on now is known\n".to_owned(),
    };
    let rows = advice.reasons.iter().map(|row| {
        let kept = seconds(row.seconds);
        vec![
            row.reason.clone(),
            row.times.to_string(),
            kept,
            row.sessions_now.to_string(),
            row.advice.clone(),
        ]
    });
    text.push_str(&format!("\n{}\n", table(&["reason", ">times", ">kept", ">now", "=what to change"], rows)));
    if !advice.statements.is_empty() {
        let rows = advice.statements.iter().map(|row| {
            let reasons: Vec<&str> = row.times.keys().chain(row.seconds.keys()).map(String::as_str).collect();
            let mut reasons = reasons;
            reasons.sort_unstable();
            reasons.dedup();
            vec![
                row.id.clone(),
                seconds(row.kept_seconds),
                format!("{:.2}", row.connections),
                row.user.clone(),
                row.schema.clone(),
                reasons.join(", "),
                short(&row.digest),
            ]
        });
        let header = ["id", ">kept", ">connections", "user", "schema", "=reasons", "~digest"];
        text.push_str(&format!("\n{}\n", table(&header, rows)));
        text.push_str(&part(advice.offset, advice.statements.len(), advice.total_statements, "statements"));
    }
    let rows = advice.users.iter().map(|row| {
        vec![
            row.user.clone(),
            seconds(row.kept_seconds),
            format!("{:.2}", row.connections),
            row.sessions_now.to_string(),
            row.reason.clone().unwrap_or_default(),
        ]
    });
    let header = ["user", ">kept", ">connections", ">now", "=mostly for"];
    text.push_str(&format!("\n{}\n", table(&header, rows)));
    text.push_str(&part(advice.offset, advice.users.len(), advice.total_users, "users"));
    text
}

#[cfg(test)]
mod tests;
