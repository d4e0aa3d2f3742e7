#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

use std::collections::BTreeSet;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::http::{Method, Request};
use hyper::body::Frame;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use serde_json::{Value, json};

use super::*;
use crate::testing::Fake;

struct Api {
    fake: Arc<Fake>,
    router: Router,
}

impl Api {
    fn new() -> Self {
        let fake = Arc::new(Fake::default());
        Self { router: router(Arc::clone(&fake) as Controls), fake }
    }

    async fn send(&self, request: Request<Body>) -> (u16, Value) {
        let answer = TowerToHyperService::new(self.router.clone()).call(request).await.unwrap();
        let status = answer.status().as_u16();
        assert_eq!(answer.headers()["content-type"], "application/json");
        let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        (status, serde_json::from_slice(&body).unwrap())
    }

    async fn ask(&self, method: Method, path: &str, body: impl Into<Body>) -> (u16, Value) {
        let request = Request::builder().method(&method).uri(path).header("host", "127.0.0.1:6034");
        let request = if method == Method::PUT { request.header("if-match", "\"v1\"") } else { request };
        self.send(request.header("content-type", "application/json").body(body.into()).unwrap()).await
    }

    /// The word of a refusal, and its status.
    async fn refused(&self, method: Method, path: &str, body: impl Into<Body>) -> (u16, String) {
        let (status, body) = self.ask(method, path, body).await;
        assert!(!body["error"]["message"].as_str().unwrap().is_empty());
        (status, body["error"]["code"].as_str().unwrap().to_owned())
    }

    fn asked(&self) -> Vec<String> {
        self.fake.asked.lock().unwrap().drain(..).collect()
    }
}

#[tokio::test]
async fn each_request_reaches_what_it_is_about() {
    let api = Api::new();
    let cases = [
        (Method::GET, "/rules", "", 200, json!(2), "/rules"),
        (Method::GET, "/rules?limit=1&offset=1", "", 200, json!("test"), "/rules/0/name"),
        (Method::GET, "/rules?limit=1", "", 200, json!(2), "/total"),
        (Method::GET, "/rules/one", "", 200, json!(7), "/hits"),
        (Method::GET, "/rules/a%2Fb", "", 200, json!("a/b"), "/name"),
        (Method::POST, "/rules", r#"{"toml": "x", "place": "first"}"#, 201, json!("new"), "/rule"),
        (Method::PUT, "/rules/one", r#"{"rule": {"name": "two"}}"#, 200, json!("one"), "/rule"),
        (Method::POST, "/rules/one/move", r#"{"place": {"before": "x"}}"#, 200, json!("one"), "/rule"),
        (Method::DELETE, "/rules/test", "", 200, json!("test"), "/rule"),
        (Method::POST, "/test", r#"{"sql": "SELECT 1"}"#, 200, json!("SELECT ?"), "/digest/text"),
        (Method::GET, "/cache", "", 200, json!(4), "/entries"),
        (Method::POST, "/cache/preview", r#"{"rule": "one"}"#, 200, json!(2), "/bytes"),
        (Method::POST, "/cache/wipe", r#"{"all": true}"#, 200, json!(1), "/entries"),
        (Method::GET, "/advise/cache?ttl=1m&stale=0.5", "", 200, json!(1), "/statements"),
        (Method::GET, "/advise/cache/0123", "", 200, json!("0123"), "/all/id"),
        (Method::POST, "/reload", "{}", 200, json!(1), "/changes"),
        (Method::GET, "/sessions?state=idle&limit=1", "", 200, json!(7), "/total"),
        (Method::GET, "/sessions/1073741824", "", 200, json!(3), "/commands"),
        (Method::POST, "/sessions/5/kill", r#"{"what": "query"}"#, 200, json!("query"), "/what"),
        (Method::POST, "/sessions/5/kill", "{}", 200, json!("connection"), "/what"),
        (Method::GET, "/status", "", 200, json!(2), "/clients/limit"),
        (Method::GET, "/advise/pins?limit=3&offset=4", "", 200, json!(4), "/offset"),
        (Method::GET, "/advise/cache?limit=3&offset=4", "", 200, json!(1), "/total"),
    ];
    for (method, path, body, status, expected, pointer) in cases {
        let (found, answer) = api.ask(method, path, body).await;
        let part = answer
            .pointer(pointer)
            .cloned()
            .map(|part| part.as_array().map_or(part.clone(), |a| json!(a.len())));
        assert_eq!((found, part), (status, Some(expected)), "{path}: {answer}");
    }
    let asked = api.asked();
    for (at, part) in [
        (0, "First"),
        (1, "\"two\""),
        (2, "Before(\"x\")"),
        (3, "\"test\""),
        (4, "SELECT 1"),
        (6, "all: true"),
    ] {
        assert!(asked[at].contains(part), "{at}: {asked:?}");
    }
}

#[tokio::test]
async fn what_is_refused_says_so_with_a_word() {
    let api = Api::new();
    let cases = [
        (Method::GET, "/rules/gone", "", (404, "unknown_rule")),
        (Method::GET, "/rules/broken", "", (500, "internal")),
        (Method::POST, "/explain", r#"{"sql": ""}"#, (400, "bad_request")),
        (Method::GET, "/nothing", "", (404, "not_found")),
        (Method::GET, "/rules?limit=some", "", (400, "bad_request")),
        (Method::GET, "/rules?page=1", "", (400, "bad_request")),
        (Method::GET, "/advise/pins?page=1", "", (400, "bad_request")),
        (Method::GET, "/", "", (404, "not_found")),
        (Method::PATCH, "/rules", "", (405, "method_not_allowed")),
        (Method::POST, "/sessions/5/kill", r#"{"what": "server"}"#, (400, "bad_request")),
        (Method::GET, "/sessions?state=asleep", "", (400, "bad_request")),
        (Method::GET, "/sessions?users=a", "", (400, "bad_request")),
        (Method::GET, "/explain", "", (405, "method_not_allowed")),
        (Method::POST, "/explain", "", (400, "bad_request")),
        (Method::POST, "/explain", "{", (400, "bad_request")),
        (Method::POST, "/explain", r#"{"sql": 7}"#, (400, "bad_request")),
        (Method::POST, "/explain", r#"{"statement": "x"}"#, (400, "bad_request")),
        (Method::POST, "/cache/wipe", r#"{"rules": "x"}"#, (400, "bad_request")),
        (Method::POST, "/rules/one/move", r#"{"place": "middle"}"#, (400, "bad_request")),
    ];
    for (method, path, body, (status, code)) in cases {
        assert_eq!(api.refused(method, path, body).await, (status, code.to_owned()), "{path} {body}");
    }
    assert_eq!(api.asked(), Vec::<String>::new());
}

/// Nobody puts something in the place of what he has not seen.
#[tokio::test]
async fn a_replacement_says_what_it_is_for() {
    let api = Api::new();
    let put = |held: Option<&str>| {
        let request = Request::builder().method(Method::PUT).uri("/rules/one").header("host", "localhost");
        let request = held.into_iter().fold(request, |request, held| request.header("if-match", held));
        let request = request.header("content-type", "application/json");
        request.body(Body::from(r#"{"toml": "x"}"#)).unwrap()
    };
    let (status, body) = api.send(put(None)).await;
    assert_eq!((status, &body["error"]["code"]), (428, &json!("version_needed")));
    assert_eq!(api.asked(), Vec::<String>::new());
    for held in ["\"v1\"", "*"] {
        assert_eq!(api.send(put(Some(held))).await.0, 200, "{held}");
    }
    let document = serde_json::to_value(openapi()).unwrap();
    let operation = &document["paths"]["/rules/{name}"]["put"];
    let held =
        operation["parameters"].as_array().unwrap().iter().find(|it| it["name"] == "If-Match").unwrap();
    assert_eq!(held["required"], json!(true));
    assert!(operation["responses"].get("428").is_some());
}

#[tokio::test]
async fn a_body_is_json_of_a_mebibyte_at_most() {
    let api = Api::new();
    let wipe = |kind: Option<&str>, host: &str| {
        let request = Request::builder().method(Method::POST).uri("/cache/wipe").header("host", host);
        let request = kind.into_iter().fold(request, |request, kind| request.header("content-type", kind));
        request.body(Body::from(r#"{"all": true}"#)).unwrap()
    };
    // What a form of a web page can be sent as.
    for kind in [
        None,
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
        Some("multipart/form-data; boundary=x"),
    ] {
        let (status, body) = api.send(wipe(kind, "localhost")).await;
        assert_eq!((status, &body["error"]["code"]), (415, &json!("not_json")), "{kind:?}");
    }
    let (status, body) = api.send(wipe(Some("application/json"), "evil.example")).await;
    assert_eq!((status, &body["error"]["code"]), (403, &json!("forbidden_host")));
    assert_eq!(api.asked(), Vec::<String>::new());
    assert_eq!(api.send(wipe(Some("Application/JSON; charset=utf-8"), "localhost")).await.0, 200);
    let long = format!("{{\"sql\": \"{}\"}}", "x".repeat(input::BODY_BYTES));
    assert_eq!(api.refused(Method::POST, "/test", long.clone()).await, (413, "too_large".to_owned()));
    // Without its length before it.
    let chunks = Body::new(Chunks(vec![Bytes::from(long); 2]));
    assert_eq!(api.refused(Method::POST, "/test", chunks).await, (413, "too_large".to_owned()));
}

/// Also of routes that are added later, for the document lists them.
#[tokio::test]
async fn every_route_with_a_body_bounds_it_and_says_so() {
    let api = Api::new();
    let document = serde_json::to_value(openapi()).unwrap();
    let long = Bytes::from(vec![b' '; input::BODY_BYTES / 2 + 1]);
    let mut seen = 0;
    for operation in operations(&document) {
        let (method, path) = operation.split_once(' ').unwrap();
        let described = &document["paths"][path][method.to_lowercase()];
        if described.get("requestBody").is_none() {
            continue;
        }
        seen += 1;
        let path = path.replace("{name}", "one").replace("{id}", "1");
        let method: Method = method.parse().unwrap();
        let chunks = Body::new(Chunks(vec![long.clone(); 2]));
        for body in [Body::from(long.repeat(2)), chunks] {
            assert_eq!(
                api.refused(method.clone(), &path, body).await,
                (413, "too_large".to_owned()),
                "{operation}"
            );
        }
        for status in ["400", "413", "415"] {
            assert!(described["responses"].get(status).is_some(), "{operation} does not tell of {status}");
        }
    }
    assert!(seen >= 8, "{seen}");
    assert_eq!(api.asked(), Vec::<String>::new());
}

/// A body whose length is not told before it.
struct Chunks(Vec<Bytes>);

impl HttpBody for Chunks {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(self.0.pop().map(|chunk| Ok(Frame::data(chunk))))
    }
}

/// Every operation of the document, as `METHOD path`.
fn operations(document: &Value) -> BTreeSet<String> {
    let paths = document["paths"].as_object().unwrap().iter();
    paths
        .flat_map(|(path, item)| {
            let methods = item.as_object().unwrap().keys();
            methods.map(move |method| format!("{} {path}", method.to_uppercase()))
        })
        .collect()
}

#[tokio::test]
async fn the_document_lists_what_is_there() {
    let api = Api::new();
    let (status, document) = api.ask(Method::GET, "/openapi.json", "").await;
    assert_eq!(status, 200);
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1."));
    let expected = [
        "GET /rules",
        "POST /rules",
        "GET /rules/{name}",
        "PUT /rules/{name}",
        "DELETE /rules/{name}",
        "POST /rules/{name}/move",
        "POST /test",
        "GET /advise/cache",
        "GET /advise/cache/{id}",
        "GET /cache",
        "POST /cache/preview",
        "POST /cache/wipe",
        "POST /explain",
        "POST /reload",
        "GET /queries",
        "GET /queries/{id}",
        "POST /queries/reset",
        "GET /sessions",
        "GET /sessions/{id}",
        "POST /sessions/{id}/kill",
        "GET /status",
        "GET /advise/pins",
        "GET /queries/compare",
        "GET /history",
    ];
    assert_eq!(operations(&document), expected.into_iter().map(str::to_owned).collect());
    // Each is served: with a body that makes no sense, none of them answers that there is nothing here.
    for operation in operations(&document) {
        let (method, path) = operation.split_once(' ').unwrap();
        let path = path.replace("{name}", "gone").replace("{id}", "0123456789abcdef");
        let (status, body) = api.ask(method.parse().unwrap(), &path, "{}").await;
        let code = body["error"]["code"].as_str().unwrap_or("none");
        assert!(!["not_found", "method_not_allowed"].contains(&code), "{operation}: {status} {body}");
    }
}

#[test]
fn every_reference_of_the_document_leads_somewhere_and_every_operation_is_described() {
    let document = serde_json::to_value(openapi()).unwrap();
    let mut open = vec![&document];
    let mut references = 0;
    while let Some(value) = open.pop() {
        if let Some(reference) = value.get("$ref").and_then(Value::as_str) {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
            references += 1;
        }
        open.extend(value.as_object().into_iter().flat_map(|object| object.values()));
        open.extend(value.as_array().into_iter().flatten());
    }
    assert!(references > 20, "{references}");
    for item in document["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            assert!(operation["summary"].is_string() && operation["operationId"].is_string(), "{operation}");
            assert!(
                operation["responses"].get("200").or(operation["responses"].get("201")).is_some(),
                "{operation}"
            );
        }
    }
    let codes = document["components"]["schemas"]["Code"]["enum"].to_string();
    assert!(codes.contains("\"file_not_written\"") && codes.contains("\"forbidden_host\""), "{codes}");
}
