use axum::Json;
use axum::extract::State;

use super::{Controls, blocking};
use crate::advice::PinAdvice;
use crate::error::ApiError;

/// What keeps sessions on their server connections, and what to change.
#[utoipa::path(
    get, path = "/advise/pins", tag = "advise", operation_id = "advise_pins",
    responses((status = 200, body = PinAdvice))
)]
pub(super) async fn pins(State(control): State<Controls>) -> Result<Json<PinAdvice>, ApiError> {
    blocking(control, |control| Ok(control.advise_pins())).await
}
