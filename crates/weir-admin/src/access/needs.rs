//! Which request needs which role.

use axum::http::Method;
use weir_model::Role;

/// What a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    Nothing,
    Role {
        role: Role,
        /// It changes something, so it stands in the log.
        changes: bool,
    },
}

/// What is not listed here needs most.
pub(crate) fn need(method: &Method, path: &str) -> Need {
    let operate = Need::Role { role: Role::Operate, changes: true };
    let look = Need::Role { role: Role::Read, changes: false };
    if matches!(path, "/healthz" | "/readyz") {
        return Need::Nothing;
    }
    if method == Method::GET || method == Method::HEAD || method == Method::OPTIONS {
        return look;
    }
    match (method.as_str(), path.strip_prefix("/api/v1").unwrap_or_default()) {
        // Questions with a body: nothing is run and nothing changes.
        ("POST", "/explain" | "/test" | "/cache/preview") => look,
        ("POST", "/cache/wipe" | "/queries/reset" | "/reload") => operate,
        ("POST", path) if is_kill(path) => operate,
        _ => Need::Role { role: Role::Admin, changes: true },
    }
}

/// `/sessions/{id}/kill`
fn is_kill(path: &str) -> bool {
    let id = path.strip_prefix("/sessions/").and_then(|rest| rest.strip_suffix("/kill"));
    id.is_some_and(|id| !id.is_empty() && !id.contains('/'))
}
