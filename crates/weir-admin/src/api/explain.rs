use axum::Json;
use axum::extract::State;

use super::input::Body;
use super::{Controls, blocking};
use crate::error::{ApiError, ErrorBody};
use crate::explained::{Explanation, Question, Tested};

/// Which rules match a statement.
#[utoipa::path(
    post, path = "/test", tag = "rules", operation_id = "test_rules", request_body = Question,
    responses((status = 200, body = Tested), (status = 400, description = "`bad_request`", body = ErrorBody))
)]
pub(super) async fn test(
    State(control): State<Controls>,
    Body(question): Body<Question>,
) -> Result<Json<Tested>, ApiError> {
    blocking(control, move |control| control.test(&question)).await
}

/// What Weir would do with a statement, and why.
#[utoipa::path(
    post, path = "/explain", tag = "explain", operation_id = "explain", request_body = Question,
    responses((status = 200, body = Explanation), (status = 400, description = "`bad_request`", body = ErrorBody))
)]
pub(super) async fn explain(
    State(control): State<Controls>,
    Body(question): Body<Question>,
) -> Result<Json<Explanation>, ApiError> {
    blocking(control, move |control| control.explain(&question)).await
}
