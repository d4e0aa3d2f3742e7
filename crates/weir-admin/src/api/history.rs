use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};

use super::{Controls, reading};
use crate::error::{ApiError, Code, ErrorBody};
use crate::history::{CompareAsked, Compared, HistoryAsked, HistoryShown};

/// What was counted over time: totals of each step.
#[utoipa::path(
    get, path = "/history", tag = "history", operation_id = "show_history", params(HistoryAsked),
    responses(
        (status = 200, body = HistoryShown),
        (status = 400, description = "`bad_request`: an unknown parameter or value", body = ErrorBody),
        (status = 503, description = "`no_history`", body = ErrorBody),
    )
)]
pub(super) async fn show(
    State(control): State<Controls>,
    asked: Result<Query<HistoryAsked>, QueryRejection>,
) -> Result<Json<HistoryShown>, ApiError> {
    let Query(asked) = asked.map_err(|error| ApiError::new(Code::BadRequest, error.body_text()))?;
    reading(control, move |control| control.history(&asked)).await
}

/// How two periods differ: which statements are new, gone, slower, faster, or come more or less often.
#[utoipa::path(
    get, path = "/queries/compare", tag = "history", operation_id = "compare_queries", params(CompareAsked),
    responses(
        (status = 200, body = Compared),
        (status = 400, description = "`bad_request`: an unknown parameter or value", body = ErrorBody),
        (status = 503, description = "`no_history`", body = ErrorBody),
    )
)]
pub(super) async fn compare(
    State(control): State<Controls>,
    asked: Result<Query<CompareAsked>, QueryRejection>,
) -> Result<Json<Compared>, ApiError> {
    let Query(asked) = asked.map_err(|error| ApiError::new(Code::BadRequest, error.body_text()))?;
    reading(control, move |control| control.compare(&asked)).await
}
