use std::fmt::Write;

use crate::Stats;
use crate::histogram::HistogramSnapshot;
use crate::totals::Totals;

/// The `le` edges of exported histograms are powers of two of a nanosecond, from 2^14 (16 us) to 2^35 (34 s):
/// there the coarse buckets are exact sums of the fine ones.
const EXPORTED_POWERS: std::ops::RangeInclusive<u32> = 14..=35;

/// The TYPE of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Counter,
    Gauge,
    /// Its samples are named `_bucket` (with the label `le`), `_sum` and `_count`.
    Histogram,
}

/// A metric that is measured elsewhere and shown beside those of this crate.
#[derive(Debug, Clone, PartialEq)]
pub struct Extra {
    /// A valid metric name: letters, digits and underscores; `_total` at the end of a counter.
    pub name: &'static str,
    /// One line.
    pub help: &'static str,
    pub kind: Kind,
    pub labels: Vec<(&'static str, String)>,
    pub value: f64,
}

impl Extra {
    /// The name that its samples have in common.
    fn family(&self) -> &'static str {
        let ends = ["_bucket", "_sum", "_count"];
        match self.kind {
            Kind::Histogram => ends.iter().find_map(|end| self.name.strip_suffix(end)).unwrap_or(self.name),
            Kind::Counter | Kind::Gauge => self.name,
        }
    }
}

/// Everything as Prometheus text, format 0.0.4
/// (<https://prometheus.io/docs/instrumenting/exposition_formats/>), `extra` at the end.
pub fn render(stats: &Stats, extra: &[Extra]) -> String {
    let totals = stats.totals();
    let mut out = Text(String::with_capacity(16 * 1024));
    clients(&mut out, &totals);
    servers(&mut out, &totals);
    traffic(&mut out, &totals);
    let mut last = "";
    for metric in extra {
        let family = metric.family();
        if family != last {
            out.head(family, metric.help, metric.kind);
            last = family;
        }
        let labels: Vec<_> = metric.labels.iter().map(|(k, v)| (*k, v.as_str())).collect();
        out.sample(metric.name, &labels, metric.value);
    }
    out.0
}

fn clients(out: &mut Text, t: &Totals) {
    out.counter("weir_clients_accepted_total", "Client connections accepted.", t.clients_accepted);
    out.gauge(
        "weir_clients_connected",
        "Client connections open now, logged in or not.",
        t.clients_connected,
    );
    out.head("weir_client_closed_total", "Client connections ended, by reason.", Kind::Counter);
    for (reason, n) in t.closed() {
        out.sample("weir_client_closed_total", &[("reason", reason.as_str())], n);
    }
    out.gauge("weir_logins_pending", "Clients that are logging in now.", t.logins_pending);
    out.counter("weir_logins_total", "Logins and changes of user that succeeded.", t.logins_ok);
    out.head("weir_auth_failures_total", "Logins and changes of user refused, by reason.", Kind::Counter);
    for (reason, n) in t.auth_failures() {
        out.sample("weir_auth_failures_total", &[("reason", reason.as_str())], n);
    }
    out.counter("weir_tls_handshakes_total", "TLS handshakes with clients that succeeded.", t.tls_handshakes);
}

fn servers(out: &mut Text, t: &Totals) {
    let name = "weir_server_connections_opened_total";
    out.counter(name, "Connections to the server made and logged in.", t.server_opened);
    let name = "weir_server_connections_reused_total";
    out.counter(name, "Clients that were given a connection another had left.", t.server_reused);
    let name = "weir_server_connections_failed_total";
    out.counter(name, "Connections to the server that could not be made.", t.server_failed);
    out.counter(
        "weir_kills_sent_total",
        "KILLs sent on connections for that: for clients that vanished, or where none was free.",
        t.kills_sent,
    );
    out.head("weir_config_reloads_total", "Reloads of the configuration, by result.", Kind::Counter);
    out.sample("weir_config_reloads_total", &[("result", "ok")], t.reloads_ok);
    out.sample("weir_config_reloads_total", &[("result", "refused")], t.reloads_refused);
}

fn traffic(out: &mut Text, t: &Totals) {
    out.head(
        "weir_commands_total",
        "Commands of clients, by name: COM_STMT_EXECUTE is stmt_execute.",
        Kind::Counter,
    );
    for (command, n) in t.commands() {
        out.sample("weir_commands_total", &[("command", command)], n);
    }
    out.counter("weir_client_received_bytes_total", "Bytes read from clients.", t.bytes_from_clients);
    out.counter("weir_client_sent_bytes_total", "Bytes written to clients.", t.bytes_to_clients);
    let help = "Errors that clients got, by origin (server or weir) and MySQL error code.";
    out.head("weir_errors_total", help, Kind::Counter);
    for ((origin, code), n) in &t.errors {
        let code = code.map_or_else(|| "other".to_owned(), |c| c.to_string());
        out.sample("weir_errors_total", &[("origin", origin.as_str()), ("code", &code)], *n);
    }
    let help = "Time from the first byte of a command read to the last byte of its answer written.";
    out.histogram("weir_client_command_seconds", help, &t.client_time);
    let help = "Time from the first byte of a command sent to the server to the end of its answer.";
    out.histogram("weir_server_command_seconds", help, &t.server_time);
}

/// Writing to a `String` cannot fail, so the results of `write!` are dropped in here and nowhere else.
struct Text(String);

impl Text {
    fn head(&mut self, name: &str, help: &str, kind: Kind) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        self.head_of(name, help, kind);
    }

    fn head_of(&mut self, name: &str, help: &str, kind: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, help, Kind::Counter);
        self.sample(name, &[], value);
    }

    fn gauge(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, help, Kind::Gauge);
        self.sample(name, &[], value);
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        self.0.push_str(name);
        for (i, (label, text)) in labels.iter().enumerate() {
            self.0.push(if i == 0 { '{' } else { ',' });
            let _ = write!(self.0, "{label}=\"");
            self.label_value(text);
            self.0.push('"');
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        let _ = writeln!(self.0, " {value}");
    }

    fn label_value(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '\\' => self.0.push_str("\\\\"),
                '"' => self.0.push_str("\\\""),
                '\n' => self.0.push_str("\\n"),
                c => self.0.push(c),
            }
        }
    }

    fn histogram(&mut self, name: &str, help: &str, histogram: &HistogramSnapshot) {
        self.head_of(name, help, "histogram");
        let count = histogram.count();
        for exp in EXPORTED_POWERS {
            let below = histogram.below_power_of_two(exp);
            let _ = writeln!(self.0, "{name}_bucket{{le=\"{}\"}} {below}", seconds(1 << exp));
        }
        let _ = writeln!(self.0, "{name}_bucket{{le=\"+Inf\"}} {count}");
        let _ = writeln!(self.0, "{name}_sum {}\n{name}_count {count}", seconds(histogram.sum_ns()));
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests;
