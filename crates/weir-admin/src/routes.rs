use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Router, middleware};
use weir_stats::{Extra, Kind};

use crate::{AdminState, access, api, process};

/// Prometheus text format 0.0.4.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(crate) fn router(state: Arc<AdminState>) -> Router {
    let api = api::router(Arc::clone(&state.control));
    let access = Arc::clone(&state.access);
    Router::new()
        .route("/", get(async || "weir: /healthz /readyz /metrics /api/v1/openapi.json\n"))
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .fallback(async || {
            (StatusCode::NOT_FOUND, "not found: try /healthz, /readyz, /metrics or /api/v1/openapi.json\n")
        })
        .with_state(state)
        .nest("/api/v1", api)
        .layer(middleware::from_fn_with_state(access, access::check))
}

async fn ready(State(state): State<Arc<AdminState>>) -> Response {
    match state.readiness.check() {
        Ok(()) => "ready\n".into_response(),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")).into_response(),
    }
}

async fn metrics(State(state): State<Arc<AdminState>>) -> Response {
    // On a thread of its own: counting open files may take milliseconds that a worker owes its clients.
    let text = tokio::task::spawn_blocking(move || weir_stats::render(&state.stats, &extra(&state)));
    match text.await {
        Ok(text) => ([(CONTENT_TYPE, METRICS_TYPE)], text).into_response(),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, "the metrics could not be rendered\n").into_response(),
    }
}

fn extra(state: &AdminState) -> Vec<Extra> {
    let started = state.started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut list = (state.more)();
    list.extend([
        Extra {
            name: "weir_build_info",
            help: "Always 1; the version is in the label.",
            kind: Kind::Gauge,
            labels: vec![("version", state.version.to_owned())],
            value: 1.0,
        },
        gauge(
            "weir_ready",
            "1 when /readyz answers 200, else 0.",
            f64::from(state.readiness.check().is_ok()),
        ),
        gauge(
            "process_start_time_seconds",
            "When the process began, in seconds since 1970-01-01 UTC.",
            started.as_secs_f64(),
        ),
    ]);
    list.extend(state.access.refused().map(|(reason, count)| Extra {
        name: "weir_admin_refused_total",
        help: "Requests to the admin address that were not let in, by reason.",
        kind: Kind::Counter,
        labels: vec![("reason", reason.to_owned())],
        value: count as f64,
    }));
    let usage = process::usage();
    let mut known = |name, help, value: Option<f64>| list.extend(value.map(|v| gauge(name, help, v)));
    known("process_resident_memory_bytes", "Resident memory.", usage.resident_bytes.map(|n| n as f64));
    known("process_open_fds", "Open file descriptors.", usage.open_fds.map(|n| n as f64));
    known("process_max_fds", "Limit of open file descriptors.", usage.max_fds.map(|n| n as f64));
    known("process_threads", "Threads.", usage.threads.map(|n| n as f64));
    list.extend(usage.cpu_seconds.map(|value| Extra {
        kind: Kind::Counter,
        ..gauge("process_cpu_seconds_total", "CPU time used, user and system.", value)
    }));
    list
}

fn gauge(name: &'static str, help: &'static str, value: f64) -> Extra {
    Extra { name, help, kind: Kind::Gauge, labels: Vec::new(), value }
}
