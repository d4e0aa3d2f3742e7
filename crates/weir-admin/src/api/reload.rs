use axum::Json;
use axum::extract::State;

use super::input::Body;
use super::{Controls, blocking};
use crate::control::{Nothing, Reloaded};
use crate::error::{ApiError, ErrorBody};

/// Reads the configuration file again, as SIGHUP does. If anything in it is wrong, all of the old one stays.
#[utoipa::path(
    post, path = "/reload", tag = "configuration", operation_id = "reload", request_body = Nothing,
    responses(
        (status = 200, body = Reloaded),
        (status = 422, description = "`not_reloaded`", body = ErrorBody),
    )
)]
pub(super) async fn reload(
    State(control): State<Controls>,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Json<Reloaded>, ApiError> {
    blocking(control, |control| control.reload()).await
}
