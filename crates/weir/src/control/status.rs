//! How Weir is, for the API.

use super::Live;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use weir_admin::{
    CacheState, CacheStatus, ClientsStatus, ConnectionsStatus, LastReload, PinsAsked, ProcessStatus,
    ServerStatus, Status, Suggestion, SuggestionKind, Warning, WarningKind,
};
use weir_config::Sharing;
use weir_model::Rule;
use weir_model::rule::CacheMode;
use weir_proxy::{Dropped, SessionState, Shared};
use weir_session::PinReason;
use weir_store::History;

/// From this part of a limit on it is near.
const NEAR: f64 = 0.9;

impl Live {
    /// All of it.
    pub(super) fn status_now(&self) -> Status {
        let shared = &self.shared;
        let (started, uptime) = (self.started, self.began.elapsed());
        let cache = super::cache::state(shared);
        let mut status = Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started: started.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
            uptime_seconds: uptime.as_secs_f64(),
            config_file: self.keeper.file(),
            draining: shared.draining(),
            server: server(shared),
            clients: clients(shared),
            connections: connections(shared),
            traffic: self.pulse.traffic(),
            cache: CacheStatus {
                memory: cache.memory,
                used: cache.used,
                entries: cache.entries,
                hit_ratio: super::cache::hit_ratio(shared.cache().stats().asked),
                shadow_seen: cache.total.shadow_seen,
                shadow_hits: cache.total.shadow_hits,
            },
            process: ProcessStatus::now(),
            rules: shared.rules().len(),
            shadow_rules: shared.rules().iter().filter(|rule| is_shadow(rule)).count(),
            last_reload: self.keeper.last_reload(),
            warnings: Vec::new(),
            suggestions: self.said.now(shared),
        };
        status.warnings = warnings(shared, &status, &cache, self.history.as_deref());
        status
    }
}

/// It only measures.
fn is_shadow(rule: &Rule) -> bool {
    rule.cache.as_ref().is_some_and(|cache| cache.mode == CacheMode::Shadow)
}

/// Some rule has answers served.
fn serves(rules: &[Rule]) -> bool {
    let serves = |rule: &Rule| rule.cache.as_ref().is_some_and(|cache| cache.mode == CacheMode::Serve);
    rules.iter().any(serves)
}

/// What has come of a reload just now.
pub fn last_reload(told: &Result<Vec<String>, String>) -> LastReload {
    LastReload {
        at: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        applied: told.is_ok(),
        said: told.clone().unwrap_or_else(|why| vec![why]),
    }
}

fn server(shared: &Shared) -> ServerStatus {
    let (target, greeting) = (shared.upstream.target(), shared.upstream.greeting());
    let error = shared.upstream.trouble().map(|trouble| trouble.why);
    ServerStatus {
        name: target.name.clone(),
        address: target.address.to_string(),
        family: greeting.as_ref().map(|greeting| greeting.family().as_str().to_owned()),
        version: greeting.map(|greeting| {
            String::from_utf8_lossy(weir_model::shown_version(&greeting.version)).into_owned()
        }),
        reachable: error.is_none(),
        error,
    }
}

fn clients(shared: &Shared) -> ClientsStatus {
    let seen = shared.registry.seen();
    let count =
        |is: &dyn Fn(SessionState) -> bool| seen.iter().filter(|session| is(session.state)).count() as u64;
    ClientsStatus {
        connected: seen.len() as u64,
        limit: shared.settings().limits.max_clients.into(),
        logging_in: shared.stats.totals().logins_pending,
        waiting: count(&SessionState::waits),
        running: count(&SessionState::runs),
        in_transaction: count(&|state| state == SessionState::InTransaction),
        pinned: seen.iter().filter(|session| !session.pins.is_empty()).count() as u64,
        not_served: super::sessions::not_served(&shared.rules(), &seen) as u64,
    }
}

fn connections(shared: &Shared) -> ConnectionsStatus {
    let usage = shared.pool.usage();
    let open = u64::from(shared.upstream.open());
    let idle = u64::from(usage.idle) + shared.spare_connections() as u64;
    ConnectionsStatus {
        open,
        limit: shared.upstream.target().max_connections.into(),
        in_use: open.saturating_sub(idle),
        idle,
        pinned: usage.pinned.into(),
        waiting: usage.waiting as u64,
    }
}

/// Warnings, in the order in which they are shown.
#[derive(Default)]
struct Warnings(Vec<Warning>);

impl Warnings {
    fn add(&mut self, is_so: bool, warning: WarningKind, text: impl FnOnce() -> String, advice: &str) {
        if is_so {
            self.0.push(Warning { warning, text: text(), advice: advice.to_owned() });
        }
    }
}

/// What is worth acting on, the worst first.
fn warnings(shared: &Shared, status: &Status, cache: &CacheState, history: Option<&History>) -> Vec<Warning> {
    let mut list = Warnings::default();
    of_faults(status, cache, &mut list);
    of_limits(shared, status, &mut list);
    let stopped = history.and_then(|history| Some((history.path(), history.status().trouble?)));
    list.add(
        stopped.is_some(),
        WarningKind::HistoryStopped,
        || match &stopped {
            Some((file, trouble)) => format!("the history is not written: {}: {trouble}", file.display()),
            None => String::new(),
        },
        "everything else goes on, and it is tried again every few seconds; `weir history` shows what there is",
    );
    of_upkeep(shared, status, &mut list);
    list.0
}

/// What is wrong now.
fn of_faults(status: &Status, cache: &CacheState, list: &mut Warnings) {
    let server = &status.server;
    let error = server.error.as_deref().unwrap_or_default();
    list.add(
        !server.reachable,
        WarningKind::ServerUnreachable,
        || format!("server {} at {} cannot be reached: {error}", server.name, server.address),
        "see whether it runs and whether this host may connect; new clients are refused until it answers",
    );
    let refused = status.last_reload.as_ref().filter(|reload| !reload.applied);
    let why = refused.map_or_else(String::new, why_refused);
    list.add(
        refused.is_some(),
        WarningKind::ReloadRefused,
        || format!("the last reload was refused: {why}"),
        "mend the file (`weir check` shows every error), then `weir reload`; a restart would refuse it too",
    );
    list.add(
        cache.total.mismatched > 0,
        WarningKind::CacheMismatch,
        || mismatches(cache),
        "`weir rules show` tells more of the rule: shorten its ttl, or see what writes behind Weir's back; removed and added again, it counts anew",
    );
}

/// Of the rules that there are.
fn mismatches(cache: &CacheState) -> String {
    let differ = cache.rules.iter().filter(|rule| rule.counts.mismatched > 0);
    let rules: Vec<String> = differ.map(|rule| format!("`{}`", rule.rule)).take(3).collect();
    let answers = match cache.total.mismatched {
        1 => "1 answer from the cache was".to_owned(),
        many => format!("{many} answers from the cache were"),
    };
    format!("{answers} found to differ from the server's, by {}", rules.join(", "))
}

/// What is wrong with the file, in one line: the reload itself is told whole.
fn why_refused(reload: &LastReload) -> String {
    let first = reload.said.iter().flat_map(|said| said.lines()).find(|line| !line.trim().is_empty());
    let first = first.unwrap_or_default();
    first.strip_prefix("error: ").unwrap_or(first).to_owned()
}

fn near(now: u64, limit: u64) -> bool {
    limit > 0 && now as f64 >= limit as f64 * NEAR
}

/// What is about to be.
fn of_limits(shared: &Shared, status: &Status, list: &mut Warnings) {
    let (clients, connections) = (&status.clients, &status.connections);
    list.add(
        connections.waiting > 0,
        WarningKind::StatementsWait,
        || format!("{} statements or logins wait for a server connection", connections.waiting),
        "`weir advise pins` tells what keeps connections; raise max_connections of the [[server]] if it can take more",
    );
    let settings = shared.settings();
    let most = settings.pool.limits.max_pinned.into();
    list.add(
        settings.shares() && near(connections.pinned, most),
        WarningKind::PinnedNearLimit,
        || {
            format!(
                "sessions keep {} shared connections of the {most} that they may keep",
                connections.pinned
            )
        },
        "`weir advise pins` tells why; raise pool.pinned_share or max_connections",
    );
    list.add(
        near(connections.in_use, connections.limit),
        WarningKind::ConnectionsNearLimit,
        || format!("{} of {} server connections are in use", connections.in_use, connections.limit),
        match settings.pool.sharing {
            Sharing::Session => {
                "share connections (pool.sharing = \"transaction\"), or raise max_connections of the [[server]]"
            }
            Sharing::Transaction => "raise max_connections of the [[server]] if it can take more",
        },
    );
    list.add(
        near(clients.connected, clients.limit),
        WarningKind::ClientsNearLimit,
        || format!("{} of {} clients are logged in", clients.connected, clients.limit),
        "raise limits.max_clients, or see in `weir sessions --sort age` who does not leave",
    );
    let (open, most) = (status.process.open_files.unwrap_or(0), status.process.max_files.unwrap_or(0));
    list.add(
        near(open, most),
        WarningKind::FilesNearLimit,
        || format!("{open} of {most} files are open"),
        "raise LimitNOFILE of the service, or ulimit -n, and restart Weir",
    );
}

/// What can wait until tomorrow.
fn of_upkeep(shared: &Shared, status: &Status, list: &mut Warnings) {
    let lost = status.clients.not_served;
    list.add(
        lost > 0,
        WarningKind::SessionsNotServed,
        || {
            let (sessions, them) = if lost == 1 { ("session", "it") } else { ("sessions", "them") };
            let (rule, lacks) = match status.shadow_rules > 0 && !serves(&shared.rules()) {
                true => ("shadow rule", "is not measured"),
                false => ("cache rule", "cannot be served from the cache"),
            };
            let lacks = if lost == 1 { lacks.to_owned() } else { lacks.replacen("is ", "are ", 1) };
            format!("{lost} {sessions} connected before there was a {rule} for {them}, and {lacks}")
        },
        "let the application's pool reconnect, or end them: `weir kill --not-served` shows which, and ends them with --yes",
    );
    let idle = weir_policy::lint(&shared.rules());
    list.add(
        !idle.is_empty(),
        WarningKind::IdleRules,
        || idle.iter().take(3).map(ToString::to_string).collect::<Vec<_>>().join("; "),
        "`weir rules list` shows all; move or remove them",
    );
    let log = &shared.query_log;
    let dropped = log.dropped(Dropped::QueueFull) + log.dropped(Dropped::NotWritten);
    list.add(
        dropped > 0,
        WarningKind::QueryLogDropped,
        || format!("{dropped} lines of the query log were lost since the start"),
        "see whether its disk is full; raise query_log.slow or lower query_log.sample",
    );
    let evicted = shared.digests.as_ref().map_or(0, |digests| digests.usage().evicted);
    list.add(
        evicted > 0,
        WarningKind::DigestsEvicted,
        || format!("{evicted} rows of the statistics by digest have made room for others"),
        "raise analytics.digests, or see whether statements come with made-up names",
    );
}

/// Connections that sessions keep beyond their statements are worth a look from this part of all on.
const KEPT: f64 = 0.1;

/// For so long what the advisors have said holds: they look at all that was counted, and `weir top` asks every few seconds.
const SAID: Duration = Duration::from_secs(5);

/// What the advisors had to say when they were asked last.
#[derive(Default)]
pub struct Said(Mutex<Option<Then>>);

struct Then {
    at: Instant,
    /// The rules that there were.
    rules: Arc<Vec<Rule>>,
    said: Vec<Suggestion>,
}

impl Said {
    /// What they have to say, where it is worth their while.
    fn now(&self, shared: &Shared) -> Vec<Suggestion> {
        let rules = shared.rules();
        let mut last = self.0.lock();
        let holds = |then: &&Then| then.at.elapsed() < SAID && Arc::ptr_eq(&then.rules, &rules);
        if let Some(then) = last.as_ref().filter(holds) {
            return then.said.clone();
        }
        let said: Vec<_> = [of_cache(shared), of_pins(shared)].into_iter().flatten().collect();
        *last = Some(Then { at: Instant::now(), rules, said: said.clone() });
        said
    }
}

fn of_cache(shared: &Shared) -> Option<Suggestion> {
    let worth = super::advise::worth(shared)?;
    let rules = match worth.rules {
        1 => "1 rule".to_owned(),
        n => format!("{n} rules"),
    };
    let share = 100.0 * worth.saved_seconds / worth.server_seconds.max(worth.saved_seconds);
    Some(Suggestion {
        suggestion: SuggestionKind::CacheRules,
        text: format!(
            "the cache advisor suggests {rules}, which would have saved {share:.0} % of the server's time"
        ),
        advice: "`weir advise cache` tells more, with the commands to add them".to_owned(),
    })
}

fn of_pins(shared: &Shared) -> Option<Suggestion> {
    // Where each client has a connection of its own, it keeps it anyway.
    let advice =
        shared.settings().shares().then(|| super::pins::advise(shared, PinsAsked::default()))?.ok()?;
    let limit = shared.upstream.target().max_connections;
    let reason = advice.reasons.iter().find(|reason| reason.reason != PinReason::SessionMode.as_str())?;
    (advice.connections >= (f64::from(limit) * KEPT).max(1.0)).then(|| Suggestion {
        suggestion: SuggestionKind::Pins,
        text: format!(
            "sessions kept {:.1} of {limit} server connections beyond their statements on average, most of all for `{}`",
            advice.connections, reason.reason
        ),
        advice: "`weir advise pins` shows behind which statements, and what to change".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_a_reload_was_refused_is_one_line_of_the_warning() {
        let told =
            Err("error: unknown key `ttll`\n  --> weir.toml:3:1\n  help: did you mean `ttl`".to_owned());
        assert_eq!(why_refused(&last_reload(&told)), "unknown key `ttll`");
        assert_eq!(why_refused(&last_reload(&Err(String::new()))), "");
    }
}
