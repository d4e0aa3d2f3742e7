use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};

use super::input::Body;
use super::{Controls, blocking};
use crate::access;
use crate::error::{ApiError, Code, ErrorBody};
use crate::sessions::{KillAsked, Session, SessionKilled, Sessions, SessionsAsked};

/// The sessions of clients that are logged in now.
#[utoipa::path(
    get, path = "/sessions", tag = "sessions", operation_id = "list_sessions", params(SessionsAsked),
    responses(
        (status = 200, body = Sessions),
        (status = 400, description = "`bad_request`: an unknown parameter or value", body = ErrorBody),
    )
)]
pub(super) async fn list(
    State(control): State<Controls>,
    asked: Result<Query<SessionsAsked>, QueryRejection>,
) -> Result<Json<Sessions>, ApiError> {
    let Query(asked) = asked.map_err(|error| ApiError::new(Code::BadRequest, error.body_text()))?;
    blocking(control, move |control| control.sessions(&asked)).await
}

/// One session.
#[utoipa::path(
    get, path = "/sessions/{id}", tag = "sessions", operation_id = "show_session",
    params(("id" = u32, Path, description = "The id that Weir has given it")),
    responses(
        (status = 200, body = Session),
        (status = 404, description = "`unknown_session`: no such session, or it has ended", body = ErrorBody),
    )
)]
pub(super) async fn show(
    State(control): State<Controls>,
    Path(id): Path<String>,
) -> Result<Json<Session>, ApiError> {
    blocking(control, move |control| control.session(&id)).await
}

/// Ends a session, or its statement at hand. The answer says that the session has been told; a statement at the server is ended there.
#[utoipa::path(
    post, path = "/sessions/{id}/kill", tag = "sessions", operation_id = "kill_session",
    params(("id" = u32, Path, description = "The id that Weir has given it")), request_body = KillAsked,
    responses(
        (status = 200, body = SessionKilled),
        (status = 400, description = "`bad_request`", body = ErrorBody),
        (status = 404, description = "`unknown_session`: no such session, or it has ended", body = ErrorBody),
        (status = 409, description = "`sends_binlog`: the binary log ends with its session only", body = ErrorBody),
    )
)]
pub(super) async fn kill(
    State(control): State<Controls>,
    Path(id): Path<String>,
    Body(asked): Body<KillAsked>,
) -> Result<Json<SessionKilled>, ApiError> {
    access::note(&asked);
    blocking(control, move |control| control.kill(&id, asked.what)).await
}
