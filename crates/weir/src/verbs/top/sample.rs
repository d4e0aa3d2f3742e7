//! What a running Weir tells at one moment, out of three of its answers.

use std::collections::BTreeMap;
use std::time::Duration;

use weir_admin::{Queries, ServerStatus, Status, WarningKind};

/// Counters since Weir was started, and what is so now.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sample {
    /// When this was, by the clock of `weir top`.
    pub at: Duration,
    /// When that process began, in seconds since 1970: another one begins to count anew.
    pub started: f64,
    pub version: String,
    pub statements: f64,
    pub errors: f64,
    pub bytes_in: f64,
    pub bytes_out: f64,
    pub hits: u64,
    /// Statements that the cache was asked for and could not answer at once.
    pub misses: u64,
    pub cache_used: u64,
    pub cache_limit: u64,
    /// Rules that only measure.
    pub shadow_rules: usize,
    pub clients: f64,
    pub pinned: f64,
    pub waiting: f64,
    pub to_server: f64,
    pub client_time: Histogram,
    pub server_time: Histogram,
    pub server: Server,
    /// Weir is stopping.
    pub draining: bool,
    /// What is worth acting on, the worst first, but for what `server` tells.
    pub warnings: Vec<String>,
    pub digests: Digests,
}

/// The server behind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Server {
    pub name: String,
    pub address: String,
    /// What it has greeted as: `mysql 9.7.0`.
    pub kind: Option<String>,
    /// Why it cannot be reached, if it cannot.
    pub trouble: Option<String>,
}

/// How many took at most so long: bounds in seconds, counts of all up to each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Histogram(pub Vec<(f64, f64)>);

/// The digests that were asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Digests {
    pub counted: bool,
    /// By id.
    pub rows: BTreeMap<String, Digest>,
    /// There are none but these.
    pub complete: bool,
    /// Rows that Weir has, one for each user and schema of a digest.
    pub there_are: usize,
}

/// What was counted of one digest, of all users, schemas and servers together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Digest {
    pub text: String,
    pub cacheable: bool,
    pub calls: u64,
    pub errors: u64,
    pub rows: u64,
    pub hits: u64,
    pub seconds: f64,
}

impl Sample {
    /// Out of `/metrics`, `/api/v1/status` and `/api/v1/queries`.
    pub fn new(at: Duration, metrics: &str, status: Status, queries: &Queries) -> Self {
        let warnings = status.warnings.into_iter();
        let others = warnings.filter(|warning| warning.warning != WarningKind::ServerUnreachable);
        let mut sample = Self {
            at,
            cache_used: status.cache.used,
            cache_limit: status.cache.memory,
            shadow_rules: status.shadow_rules,
            server: Server::from(status.server),
            draining: status.draining,
            warnings: others.map(|warning| warning.text).collect(),
            digests: Digests::new(queries),
            ..Self::default()
        };
        metrics.lines().filter_map(Line::read).for_each(|line| sample.take(&line));
        sample
    }

    fn take(&mut self, line: &Line<'_>) {
        match line.name {
            "weir_commands_total" => {
                let counted = ["query", "stmt_execute", "stmt_bulk_execute"];
                if line.label("command").is_some_and(|command| counted.contains(&command)) {
                    self.statements += line.value;
                }
            }
            "weir_errors_total" => self.errors += line.value,
            "weir_client_received_bytes_total" => self.bytes_in = line.value,
            "weir_client_sent_bytes_total" => self.bytes_out = line.value,
            "weir_cache_hits_total" => self.hits += line.value as u64,
            "weir_cache_misses_total" | "weir_cache_waits_total" => self.misses += line.value as u64,
            "weir_clients_connected" => self.clients = line.value,
            "weir_pool_connections_pinned" => self.pinned = line.value,
            "weir_pool_waiting" => self.waiting = line.value,
            "weir_server_connections_open" => self.to_server = line.value,
            "weir_client_command_seconds_bucket" => self.client_time.take(line),
            "weir_server_command_seconds_bucket" => self.server_time.take(line),
            "process_start_time_seconds" => self.started = line.value,
            "weir_build_info" => self.version = line.label("version").unwrap_or_default().to_owned(),
            _ => {}
        }
    }
}

impl From<ServerStatus> for Server {
    fn from(server: ServerStatus) -> Self {
        let ServerStatus { name, address, family, version, error, .. } = server;
        let kind = family.zip(version).map(|(family, version)| format!("{family} {version}"));
        Self { name, address, kind, trouble: error }
    }
}

impl Histogram {
    fn take(&mut self, line: &Line<'_>) {
        let bound = match line.label("le") {
            Some("+Inf") => Some(f64::INFINITY),
            Some(bound) => bound.parse().ok(),
            None => None,
        };
        self.0.extend(bound.map(|bound| (bound, line.value)));
    }
}

impl Digests {
    fn new(queries: &Queries) -> Self {
        let mut rows: BTreeMap<String, Digest> = BTreeMap::new();
        for query in &queries.queries {
            let c = &query.counts;
            let row = rows.entry(query.id.clone()).or_default();
            row.text.clone_from(&query.digest);
            row.cacheable = query.cacheable;
            row.calls += c.calls;
            row.errors += c.errors;
            row.rows += c.rows_sent + c.rows_affected;
            row.hits += c.hits;
            row.seconds += c.total.sum_seconds;
        }
        Self {
            counted: queries.enabled,
            complete: queries.queries.len() >= queries.rows,
            there_are: queries.rows,
            rows,
        }
    }
}

/// One sample of the Prometheus text format, as Weir writes it.
struct Line<'t> {
    name: &'t str,
    labels: &'t str,
    value: f64,
}

impl<'t> Line<'t> {
    fn read(line: &'t str) -> Option<Self> {
        let (series, value) = line.rsplit_once(' ')?;
        let (name, labels) = series.split_once('{').unwrap_or((series, ""));
        (!name.starts_with('#')).then_some(())?;
        Some(Self { name, labels: labels.trim_end_matches('}'), value: value.parse().ok()? })
    }

    /// The value of a label, of those that hold no quotes themselves.
    fn label(&self, name: &str) -> Option<&'t str> {
        self.labels.split(',').find_map(|label| {
            let (key, value) = label.split_once('=')?;
            (key == name).then(|| value.trim_matches('"'))
        })
    }
}
