use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};

use super::{Controls, blocking, looking, reading};
use crate::error::{ApiError, Code, ErrorBody};
use crate::queries::{Queries, QueriesAsked, QueryAsked, QueryShown, Reset};

/// What was counted of statements.
#[utoipa::path(
    get, path = "/queries", tag = "queries", operation_id = "list_queries", params(QueriesAsked),
    responses(
        (status = 200, body = Queries),
        (status = 400, description = "`bad_request`: an unknown parameter or value", body = ErrorBody),
    )
)]
pub(super) async fn list(
    State(control): State<Controls>,
    asked: Result<Query<QueriesAsked>, QueryRejection>,
) -> Result<Json<Queries>, ApiError> {
    let Query(asked) = asked.map_err(|error| ApiError::new(Code::BadRequest, error.body_text()))?;
    if asked.window.is_some() || asked.from.is_some() {
        return reading(control, move |control| control.queries(&asked)).await;
    }
    looking(control, move |control| control.queries(&asked)).await
}

/// What was counted of the statements with one digest.
#[utoipa::path(
    get, path = "/queries/{id}", tag = "queries", operation_id = "show_query",
    params(("id" = String, Path, description = "The digest's 16 hexadecimal digits, or the first 4 or more, where no other digest begins so"), QueryAsked),
    responses(
        (status = 200, body = QueryShown),
        (status = 400, description = "`bad_request`: an unknown parameter or value; `digest_too_short`", body = ErrorBody),
        (status = 404, description = "`unknown_digest`", body = ErrorBody),
        (status = 409, description = "`ambiguous_digest`", body = ErrorBody),
    )
)]
pub(super) async fn show(
    State(control): State<Controls>,
    Path(id): Path<String>,
    asked: Result<Query<QueryAsked>, QueryRejection>,
) -> Result<Json<QueryShown>, ApiError> {
    let Query(asked) = asked.map_err(|error| ApiError::new(Code::BadRequest, error.body_text()))?;
    looking(control, move |control| control.query(&id, asked)).await
}

/// Forgets what was counted.
#[utoipa::path(
    post, path = "/queries/reset", tag = "queries", operation_id = "reset_queries",
    responses((status = 200, body = Reset))
)]
pub(super) async fn reset(State(control): State<Controls>) -> Result<Json<Reset>, ApiError> {
    blocking(control, |control| Ok(control.reset_queries())).await
}
