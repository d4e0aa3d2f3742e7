//! `weir status`

use super::show::{ago, bytes, entries, pairs, percent, plural, seconds};
use weir_admin::{ClientsStatus, ConnectionsStatus, ProcessStatus, ServerStatus, Status, Traffic};

/// One screen.
pub fn show(status: &Status) -> String {
    let stopping = if status.draining { ", stopping" } else { "" };
    let cache = &status.cache;
    let mut text = pairs(&[
        ("weir", format!("{}, up {}{stopping}", status.version, seconds(status.uptime_seconds))),
        ("configuration", status.config_file.clone().unwrap_or_else(|| "no file".to_owned())),
        ("reload", reload(status)),
        ("server", server(&status.server)),
        ("clients", clients(&status.clients)),
        ("connections", connections(&status.connections)),
        ("traffic", traffic(&status.traffic)),
        (
            "cache",
            format!(
                "{}{}; {}, {} of {}",
                hits(status),
                measured(status),
                entries(cache.entries),
                bytes(cache.used),
                bytes(cache.memory)
            ),
        ),
        ("rules", rules(status)),
        ("process", process(&status.process)),
    ]);
    if status.warnings.is_empty() && status.suggestions.is_empty() {
        return text + "\nnothing to act on\n";
    }
    for warning in &status.warnings {
        text.push_str(&format!("\n! {}\n  {}\n", warning.text, warning.advice));
    }
    for suggestion in &status.suggestions {
        text.push_str(&format!("\n* {}\n  {}\n", suggestion.text, suggestion.advice));
    }
    text
}

/// Of what rules wanted from the cache: a ratio of nothing is none.
fn hits(status: &Status) -> String {
    let lately = format!("in the last {:.0} s", status.traffic.seconds);
    match (status.cache.hit_ratio, status.traffic.hit_ratio) {
        (None, _) => "asked for nothing since the start".to_owned(),
        (all, None) => format!("asked for nothing {lately}, hit ratio {} since the start", percent(all)),
        (all, now) => format!("hit ratio {} {lately}, {} since the start", percent(now), percent(all)),
    }
}

/// What shadow rules would have served.
fn measured(status: &Status) -> String {
    match (status.shadow_rules, status.cache.shadow_seen) {
        (0, 0) => String::new(),
        (_, seen) => format!(
            "; shadow: {} of {} would have been hits",
            status.cache.shadow_hits,
            plural(seen, "statement")
        ),
    }
}

fn rules(status: &Status) -> String {
    match status.shadow_rules {
        0 => status.rules.to_string(),
        shadows => format!("{} ({shadows} in shadow mode)", status.rules),
    }
}

fn reload(status: &Status) -> String {
    let Some(reload) = &status.last_reload else { return "none since the start".to_owned() };
    let when = ago(Some(reload.at));
    match (reload.applied, &*reload.said) {
        (true, []) => format!("{when}, nothing had changed"),
        (true, said) => format!("{when}\n{}", said.join("\n")),
        (false, said) => format!("{when}, REFUSED\n{}", said.join("\n")),
    }
}

fn server(server: &ServerStatus) -> String {
    let kind = match (&server.family, &server.version) {
        (Some(family), Some(version)) => format!("{family} {version}, "),
        _ => String::new(),
    };
    let reached = match &server.error {
        None => "reachable".to_owned(),
        Some(error) => format!("NOT REACHABLE: {error}"),
    };
    format!("{} at {}, {kind}{reached}", server.name, server.address)
}

fn clients(clients: &ClientsStatus) -> String {
    format!(
        "{} of {}: {} running, {} waiting, {} in a transaction, {} keep a connection; {} logging in",
        clients.connected,
        clients.limit,
        clients.running,
        clients.waiting,
        clients.in_transaction,
        clients.pinned,
        clients.logging_in
    )
}

fn connections(connections: &ConnectionsStatus) -> String {
    format!(
        "{} of {} open: {} in use, {} idle; {} wait for one",
        connections.open, connections.limit, connections.in_use, connections.idle, connections.waiting
    )
}

fn traffic(traffic: &Traffic) -> String {
    format!(
        "{:.1} statements/s, {:.1} errors/s, {}/s in, {}/s out (last {:.0} s)",
        traffic.statements_per_second,
        traffic.errors_per_second,
        bytes(traffic.bytes_in_per_second as u64),
        bytes(traffic.bytes_out_per_second as u64),
        traffic.seconds
    )
}

fn process(process: &ProcessStatus) -> String {
    let number = |n: Option<u64>| n.map_or_else(|| "-".to_owned(), |n| n.to_string());
    format!(
        "{} resident, {} CPU, {} of {} files, {} threads",
        process.resident_bytes.map_or_else(|| "-".to_owned(), bytes),
        process.cpu_seconds.map_or_else(|| "-".to_owned(), seconds),
        number(process.open_files),
        number(process.max_files),
        number(process.threads)
    )
}

#[cfg(test)]
mod tests;
