use std::net::SocketAddr;
use std::time::SystemTime;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use weir_model::Role;
use weir_stats::{Readiness, Stats};

use super::*;
use crate::testing::token;

struct Admin {
    address: SocketAddr,
    stats: Arc<Stats>,
    readiness: Arc<Readiness>,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
}

async fn start(bounds: Bounds) -> Admin {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stats, readiness) = (Stats::new(2), Arc::new(Readiness::default()));
    let state = AdminState::new(
        Arc::clone(&stats),
        Arc::clone(&readiness),
        "1.2.3",
        SystemTime::now(),
        Box::new(Vec::new),
        Arc::new(crate::testing::Fake::default()),
        crate::testing::access(),
    );
    let (stop, stopped) = oneshot::channel();
    let served = tokio::spawn(serve_within(bounds, listener, state, async {
        let _ = stopped.await;
    }));
    Admin { address, stats, readiness, stop, served }
}

impl Admin {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    async fn get(&self, path: &str) -> String {
        ask(self.connect().await, &request("GET", path, Some(&token(Role::Read)))).await
    }
}

/// A request without a body.
fn request(method: &str, path: &str, token: Option<&str>) -> String {
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\n{token}Connection: close\r\nContent-Length: 0\r\n\r\n"
    )
}

/// Sends `request` and reads to the end of the connection.
async fn ask(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> String {
    // The server may answer and close before it has read everything.
    let _ = stream.write_all(request.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

fn status(answer: &str) -> &str {
    answer.split_whitespace().nth(1).unwrap_or("none")
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().1
}

#[tokio::test]
async fn health_is_told_apart_from_readiness() {
    let admin = start(BOUNDS).await;
    type Change = fn(&Readiness);
    let cases: [(Change, &str, &str); 5] = [
        (|_| (), "503", "starting: the listeners are not open yet\n"),
        (|r| r.accepting(), "503", "the server was not tried yet\n"),
        (|r| r.server_reachable(), "200", "ready\n"),
        (|r| r.server_unreachable("db1: refused"), "503", "the server cannot be reached: db1: refused\n"),
        (|r| r.draining(), "503", "draining: Weir is shutting down\n"),
    ];
    for (change, code, text) in cases {
        change(&admin.readiness);
        let answer = admin.get("/readyz").await;
        assert_eq!((status(&answer), body(&answer)), (code, text));
        let answer = admin.get("/healthz").await;
        assert_eq!((status(&answer), body(&answer)), ("200", "ok\n"));
    }
}

#[tokio::test]
async fn metrics_show_counts_build_and_process() {
    let admin = start(BOUNDS).await;
    admin.stats.worker(1).command_done(3, 1_000_000, 900_000, 12, 34);
    let answer = admin.get("/metrics").await;
    assert_eq!(status(&answer), "200");
    assert!(answer.contains("content-type: text/plain; version=0.0.4; charset=utf-8\r\n"), "{answer}");
    for line in [
        "weir_commands_total{command=\"query\"} 1",
        "weir_build_info{version=\"1.2.3\"} 1",
        "weir_ready 0",
        "# TYPE process_cpu_seconds_total counter",
    ] {
        assert!(body(&answer).lines().any(|l| l == line), "{line} in {answer}");
    }
    for name in
        ["process_resident_memory_bytes", "process_open_fds", "process_max_fds", "process_start_time_seconds"]
    {
        let sample = body(&answer).lines().find_map(|l| l.strip_prefix(name)).unwrap();
        assert!(sample.trim().parse::<f64>().unwrap() > 0.0, "{name}{sample}");
    }
}

#[tokio::test]
async fn other_paths_and_methods_are_refused() {
    let admin = start(BOUNDS).await;
    assert_eq!(status(&admin.get("/").await), "200");
    assert_eq!(status(&admin.get("/nothing").await), "404");
    let post = request("POST", "/metrics", Some(&token(Role::Admin)));
    assert_eq!(status(&ask(admin.connect().await, &post).await), "405");
    assert_eq!(status(&ask(admin.connect().await, "garbage\r\n\r\n").await), "400");
}

#[tokio::test]
async fn an_endless_head_is_refused() {
    let admin = start(BOUNDS).await;
    let filler = "a".repeat(BOUNDS.head_bytes);
    let answer = ask(admin.connect().await, &format!("GET / HTTP/1.1\r\nX: {filler}{filler}\r\n\r\n")).await;
    assert!(matches!(status(&answer), "431" | "none"), "{answer}");
    assert_eq!(status(&admin.get("/healthz").await), "200");
}

/// With the real clock: one that is paused runs ahead while bytes are still on their way between two sockets.
#[tokio::test]
async fn slow_and_silent_connections_are_cut() {
    // Far apart, so that it shows which of the two has struck.
    let head_time = Duration::from_millis(300);
    let admin = start(Bounds { head_time, age: Duration::from_secs(600), ..BOUNDS }).await;
    for sent in ["", "GET /healthz HTT", "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"] {
        let begun = tokio::time::Instant::now();
        let answer = timeout(Duration::from_secs(60), ask(admin.connect().await, sent)).await;
        let age = begun.elapsed();
        assert!(answer.is_ok() && age >= head_time, "after {sent:?} it was closed after {age:?}");
    }
}

#[tokio::test]
async fn old_connections_are_cut_whatever_they_do() {
    let age = Duration::from_secs(1);
    let admin = start(Bounds { head_time: Duration::from_secs(600), age, ..BOUNDS }).await;
    let begun = tokio::time::Instant::now();
    let answer = timeout(Duration::from_secs(60), ask(admin.connect().await, "GET /healthz HTT")).await;
    assert!(answer.is_ok() && begun.elapsed() >= age, "it was closed after {:?}", begun.elapsed());
}

#[tokio::test]
async fn connections_beyond_the_bound_wait() {
    let admin = start(Bounds { connections: 2, head_time: Duration::from_secs(600), ..BOUNDS }).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut stream = admin.connect().await;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        assert!(stream.read(&mut [0; 1024]).await.unwrap() > 0);
        held.push(stream);
    }
    let mut third = Box::pin(admin.get("/healthz"));
    assert!(timeout(Duration::from_millis(100), &mut third).await.is_err(), "a third connection was served");
    held.pop();
    assert_eq!(status(&third.await), "200");
}

#[tokio::test]
async fn shutdown_ends_idle_connections_and_the_listener() {
    let admin = start(BOUNDS).await;
    let mut idle = admin.connect().await;
    idle.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    assert!(idle.read(&mut [0; 1024]).await.unwrap() > 0);
    admin.stop.send(()).unwrap();
    admin.served.await.unwrap();
    assert_eq!(idle.read(&mut [0; 1024]).await.unwrap(), 0);
    assert!(TcpStream::connect(admin.address).await.is_err());
}

#[tokio::test]
async fn a_unix_socket_serves_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let path_of_socket = folder.path().join("admin.sock");
    let state = AdminState::new(
        Stats::new(1),
        Arc::default(),
        "1.2.3",
        SystemTime::now(),
        Box::new(Vec::new),
        Arc::new(crate::testing::Fake::default()),
        crate::testing::access(),
    );
    let served =
        tokio::spawn(serve(UnixListener::bind(&path_of_socket).unwrap(), state, std::future::pending()));
    let stream = UnixStream::connect(&path_of_socket).await.unwrap();
    let answer = ask(stream, &request("GET", "/healthz", None)).await;
    assert_eq!(status(&answer), "200");
    // The user that Weir runs as may do everything there, unless a token says less.
    for (method, path, role, expected) in [
        ("GET", "/metrics", None, "200"),
        ("DELETE", "/api/v1/rules/one", None, "200"),
        ("DELETE", "/api/v1/rules/one", Some(token(Role::Operate)), "403"),
        ("GET", "/metrics", Some("weir_unknown".to_owned()), "401"),
    ] {
        let stream = UnixStream::connect(&path_of_socket).await.unwrap();
        let answer = ask(stream, &request(method, path, role.as_deref())).await;
        assert_eq!(status(&answer), expected, "{method} {path} {role:?}");
    }
    served.abort();
}

#[tokio::test]
async fn over_tcp_nothing_but_health_answers_without_a_token() {
    let admin = start(BOUNDS).await;
    for (path, expected) in [
        ("/healthz", "200"),
        ("/readyz", "503"),
        ("/", "401"),
        ("/metrics", "401"),
        ("/nothing", "401"),
        ("/healthz/", "401"),
        ("/api/v1/rules", "401"),
        ("/api/v1/openapi.json", "401"),
    ] {
        let answer = ask(admin.connect().await, &request("GET", path, None)).await;
        assert_eq!(status(&answer), expected, "{path}");
        assert!(expected != "401" || answer.contains("www-authenticate: Bearer"), "{answer}");
    }
    // Unknown ones are counted, and hold up nobody who has one that is known.
    let mut told = Vec::new();
    for _ in 0..12 {
        let answer = ask(admin.connect().await, &request("GET", "/metrics", Some("weir_guess"))).await;
        told.push(status(&answer).to_owned());
    }
    assert_eq!(told.iter().filter(|told| *told == "401").count(), 10, "{told:?}");
    assert_eq!(told.last().map(String::as_str), Some("429"));
    assert_eq!(status(&admin.get("/metrics").await), "200");
}
