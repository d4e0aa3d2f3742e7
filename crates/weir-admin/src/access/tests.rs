#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

use std::time::SystemTime;

use axum::Extension;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Method;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use serde_json::Value;

use super::*;
use crate::AdminState;
use crate::testing::{Fake, token};

fn router(access: &Arc<Access>) -> Router {
    let state = AdminState::new(
        weir_stats::Stats::new(1),
        Arc::default(),
        "1.2.3",
        SystemTime::now(),
        Box::new(Vec::new),
        Arc::new(Fake::default()),
        Arc::clone(access),
    );
    let peer = Peer::Tcp("127.0.0.1:5".parse().unwrap());
    crate::routes::router(state).layer(Extension(peer))
}

async fn ask(router: &Router, method: &str, path: &str, token: Option<&str>, body: &str) -> (u16, String) {
    let request = Request::builder().method(method).uri(path).header("host", "localhost");
    let request = token
        .into_iter()
        .fold(request, |request, token| request.header(AUTHORIZATION, format!("Bearer {token}")));
    let request = request.header("content-type", "application/json").body(Body::from(body.to_owned()));
    let answer = TowerToHyperService::new(router.clone()).call(request.unwrap()).await.unwrap();
    let status = answer.status().as_u16();
    let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    (status, body["error"]["code"].as_str().unwrap_or_default().to_owned())
}

/// What each role may do with each route of the document, and that the document says so.
#[tokio::test]
async fn every_route_asks_every_role() {
    let document = serde_json::to_value(crate::openapi()).unwrap();
    let router = router(&crate::testing::access());
    let mut seen = [0; 3];
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let method = method.to_uppercase();
            let path = format!("/api/v1{}", path.replace("{name}", "one"));
            let needed = Role::from_word(operation["x-weir-role"].as_str().unwrap()).unwrap();
            let Need::Role { role, changes } = need(&method.parse::<Method>().unwrap(), &path) else {
                panic!("{method} {path} needs nothing");
            };
            assert_eq!(role, needed, "{method} {path}");
            assert_eq!(changes, role != Role::Read, "{method} {path}");
            seen[role as usize] += 1;
            assert_eq!(ask(&router, &method, &path, None, "{}").await, (401, "token_needed".to_owned()));
            for holder in Role::ALL {
                let (status, code) = ask(&router, &method, &path, Some(&token(*holder)), "{}").await;
                let refused = status == 403 && code == "role_too_low";
                assert_eq!(refused, !holder.allows(needed), "{method} {path} as {holder:?}: {status} {code}");
                assert!(![401, 404, 405].contains(&status), "{method} {path} as {holder:?}: {status} {code}");
            }
            for status in ["401", "403", "429"] {
                assert!(
                    operation["responses"].get(status).is_some(),
                    "{method} {path} does not tell of {status}"
                );
            }
        }
    }
    assert!(seen.iter().all(|seen| *seen > 0), "{seen:?}");
}

/// Where the log takes no lines, changes are refused before they are made, and what changes nothing is answered.
#[tokio::test(start_paused = true)]
async fn no_change_is_made_that_the_log_has_no_room_for() {
    let access = crate::testing::access();
    let router = router(&access);
    let operate = token(Role::Operate);
    let wipe = async || ask(&router, "POST", "/api/v1/cache/wipe", Some(&operate), "{\"all\":true}").await;
    let waiting = Arc::clone(&access.changes).acquire_many_owned(CHANGES as u32).await.unwrap();
    assert_eq!(wipe().await, (503, "log_full".to_owned()));
    assert_eq!(ask(&router, "GET", "/api/v1/cache", Some(&operate), "").await.0, 200);
    drop(waiting);
    assert_eq!(wipe().await.0, 200);
    assert_eq!(access.changes.available_permits(), CHANGES);
}

#[tokio::test]
async fn what_is_not_known_needs_most() {
    for (method, path) in [
        ("POST", "/"),
        ("POST", "/metrics"),
        ("POST", "/api/v1/explain/"),
        ("POST", "/api/v1//cache/wipe"),
        ("PATCH", "/api/v1/cache/wipe"),
        ("CONNECT", "/healthzz"),
        ("DELETE", "/api/v1/cache"),
        ("POST", "/api/v1/sessions/kill"),
        ("POST", "/api/v1/sessions//kill"),
        ("POST", "/api/v1/sessions/1/2/kill"),
        ("POST", "/api/v1/sessions/1/kill/"),
    ] {
        let expected = Need::Role { role: Role::Admin, changes: true };
        assert_eq!(need(&method.parse().unwrap(), path), expected, "{method} {path}");
    }
    let look = Need::Role { role: Role::Read, changes: false };
    assert_eq!(need(&Method::GET, "/metrics"), look);
    assert_eq!(need(&Method::HEAD, "/api/v1/rules"), look);
}

#[tokio::test]
async fn tokens_that_are_exchanged_count_at_once() {
    let access = crate::testing::access();
    let router = router(&access);
    let (read, path) = (token(Role::Read), "/api/v1/rules");
    assert_eq!(ask(&router, "GET", path, Some(&read), "").await.0, 200);
    access.set(vec![Token { name: "new".to_owned(), role: Role::Read, hash: token_hash(b"weir_new") }]);
    assert_eq!(ask(&router, "GET", path, Some(&read), "").await, (401, "unknown_token".to_owned()));
    assert_eq!(ask(&router, "GET", path, Some("weir_new"), "").await.0, 200);
    for bad in ["", "weir_ne", "weir_new2", "new", "Bearer weir_new"] {
        assert_eq!(ask(&router, "GET", path, Some(bad), "").await.0, 401, "{bad}");
    }
    // A user name and password are no token.
    let request =
        Request::builder().uri(path).header("host", "localhost").header(AUTHORIZATION, "Basic d2Vpcl9uZXc6");
    let answer = TowerToHyperService::new(router).call(request.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(answer.status(), 401);
}

#[tokio::test]
async fn of_a_user_on_a_unix_socket_only_weirs_own_and_root_need_no_token() {
    let access = Access { own_uid: 1000, ..Arc::into_inner(Access::new(Vec::new())).unwrap() };
    let none = HeaderMap::new();
    for (peer, role) in [
        (Peer::Unix(Some(1000)), Some(Role::Admin)),
        (Peer::Unix(Some(0)), Some(Role::Admin)),
        (Peer::Unix(Some(1001)), None),
        (Peer::Unix(None), None),
        (Peer::Unknown, None),
    ] {
        assert_eq!(
            access.caller(&peer, &none, Instant::now()).ok().map(|caller| caller.role),
            role,
            "{peer}"
        );
    }
}
