use axum::Json;
use axum::extract::State;

use super::{Controls, looking};
use crate::error::ApiError;
use crate::status::Status;

/// How Weir is.
#[utoipa::path(
    get, path = "/status", tag = "status", operation_id = "status",
    responses((status = 200, body = Status))
)]
pub(super) async fn show(State(control): State<Controls>) -> Result<Json<Status>, ApiError> {
    looking(control, |control| Ok(control.status())).await
}
