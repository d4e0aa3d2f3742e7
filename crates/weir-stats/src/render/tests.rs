use std::collections::BTreeMap;

use weir_model::{AuthFailure, CloseReason};

use super::*;

/// A reader of the text format that is as strict as Prometheus': sample name with labels -> value.
fn parse(text: &str) -> BTreeMap<String, f64> {
    let mut types = BTreeMap::new();
    let mut samples = BTreeMap::new();
    assert!(text.ends_with('\n'));
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(types.insert(name.to_owned(), kind).is_none(), "TYPE of {name} twice");
        } else if !line.starts_with("# HELP ") {
            let (name, value) = line.rsplit_once(' ').unwrap();
            let family = name.split('{').next().unwrap();
            let family = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|s| family.strip_suffix(s).filter(|f| types.get(*f) == Some(&"histogram")))
                .unwrap_or(family);
            assert!(types.contains_key(family), "{family} has no TYPE line above it");
            assert!(family.starts_with("weir_") || family.starts_with("process_"), "{family}");
            let value = value.parse().unwrap();
            assert!(samples.insert(name.to_owned(), value).is_none(), "{name} twice");
        }
    }
    samples
}

#[test]
fn every_event_shows_up() {
    let stats = Stats::new(2);
    for w in 0..2 {
        let worker = stats.worker(w);
        worker.client_accepted();
        worker.login_started();
        worker.login_ok();
        worker.login_ended();
        worker.tls_handshake();
        worker.auth_failed(AuthFailure::WrongPassword);
        worker.server_opened();
        worker.server_failed();
        worker.server_error(1146);
        worker.own_error(2013);
        worker.kill_sent();
        worker.command_done(3, 50_000, 40_000, 20, 300);
    }
    stats.worker(1).client_closed(CloseReason::LoginTimeout);
    stats.reload_ok();
    stats.reload_refused();
    let samples = parse(&render(&stats, &[]));
    let expected: &[(&str, f64)] = &[
        ("weir_clients_accepted_total", 2.0),
        ("weir_clients_connected", 1.0),
        ("weir_client_closed_total{reason=\"login_timeout\"}", 1.0),
        ("weir_client_closed_total{reason=\"quit\"}", 0.0),
        ("weir_logins_pending", 0.0),
        ("weir_logins_total", 2.0),
        ("weir_auth_failures_total{reason=\"wrong_password\"}", 2.0),
        ("weir_tls_handshakes_total", 2.0),
        ("weir_server_connections_opened_total", 2.0),
        ("weir_server_connections_failed_total", 2.0),
        ("weir_kills_sent_total", 2.0),
        ("weir_config_reloads_total{result=\"ok\"}", 1.0),
        ("weir_config_reloads_total{result=\"refused\"}", 1.0),
        ("weir_commands_total{command=\"query\"}", 2.0),
        ("weir_client_received_bytes_total", 40.0),
        ("weir_client_sent_bytes_total", 600.0),
        ("weir_errors_total{origin=\"server\",code=\"1146\"}", 2.0),
        ("weir_errors_total{origin=\"weir\",code=\"2013\"}", 2.0),
        ("weir_client_command_seconds_bucket{le=\"0.000032768\"}", 0.0),
        ("weir_client_command_seconds_bucket{le=\"0.000065536\"}", 2.0),
        ("weir_client_command_seconds_bucket{le=\"+Inf\"}", 2.0),
        ("weir_client_command_seconds_sum", 0.0001),
        ("weir_client_command_seconds_count", 2.0),
        ("weir_server_command_seconds_sum", 0.00008),
    ];
    for (name, value) in expected {
        assert_eq!(samples.get(*name), Some(value), "{name}");
    }
}

#[test]
fn buckets_never_fall_and_end_at_the_count() {
    let stats = Stats::new(1);
    for i in 0..64 {
        stats.worker(0).command_done(3, 1 << i, 1 << i, 0, 0);
    }
    let text = render(&stats, &[]);
    let counts: Vec<u64> = text
        .lines()
        .filter(|l| l.starts_with("weir_server_command_seconds_bucket"))
        .map(|l| l.rsplit_once(' ').unwrap().1.parse().unwrap())
        .collect();
    assert_eq!(counts.len(), 23);
    assert!(counts.is_sorted(), "{counts:?}");
    assert_eq!(counts.last(), Some(&64));
}

#[test]
fn extra_metrics_are_escaped_and_share_one_head() {
    let one = |server: &str| Extra {
        name: "weir_server_up",
        help: "Whether the server answers.",
        kind: Kind::Gauge,
        labels: vec![("server", server.to_owned())],
        value: 1.0,
    };
    let text = render(&Stats::new(1), &[one("a\"b\\c\nd"), one("e")]);
    parse(&text);
    assert!(text.contains("weir_server_up{server=\"a\\\"b\\\\c\\nd\"} 1\n"), "{text}");
    assert_eq!(text.matches("# TYPE weir_server_up gauge").count(), 1);
}

#[test]
fn the_samples_of_a_histogram_share_one_head() {
    let one = |name, le: Option<&str>| Extra {
        name,
        help: "Ages.",
        kind: Kind::Histogram,
        labels: le.map(|le| ("le", le.to_owned())).into_iter().collect(),
        value: 2.0,
    };
    let samples = [
        one("weir_age_seconds_bucket", Some("1")),
        one("weir_age_seconds_bucket", Some("+Inf")),
        one("weir_age_seconds_sum", None),
        one("weir_age_seconds_count", None),
    ];
    let text = render(&Stats::new(1), &samples);
    let expected = "# TYPE weir_age_seconds histogram\nweir_age_seconds_bucket{le=\"1\"} 2\n\
                    weir_age_seconds_bucket{le=\"+Inf\"} 2\nweir_age_seconds_sum 2\nweir_age_seconds_count 2\n";
    assert!(text.ends_with(expected), "{text}");
}
