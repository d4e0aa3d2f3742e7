use axum::Json;
use axum::extract::State;

use super::input::Body;
use super::{Controls, blocking};
use crate::access;
use crate::cached::{CacheState, Covered, Selection};
use crate::error::{ApiError, ErrorBody};

/// What the cache holds and has done.
#[utoipa::path(get, path = "/cache", tag = "cache", operation_id = "cache_stats", responses((status = 200, body = CacheState)))]
pub(super) async fn show(State(control): State<Controls>) -> Result<Json<CacheState>, ApiError> {
    blocking(control, |control| Ok(control.cache())).await
}

/// What a wipe would remove.
#[utoipa::path(
    post, path = "/cache/preview", tag = "cache", operation_id = "cache_preview", request_body = Selection,
    responses(
        (status = 200, body = Covered),
        (status = 400, description = "`bad_request`: nothing is selected; `digest_too_short`", body = ErrorBody),
        (status = 404, description = "`unknown_rule`, `unknown_digest`, `nothing_named`", body = ErrorBody),
        (status = 409, description = "`ambiguous_digest`", body = ErrorBody),
    )
)]
pub(super) async fn preview(
    State(control): State<Controls>,
    Body(selection): Body<Selection>,
) -> Result<Json<Covered>, ApiError> {
    blocking(control, move |control| control.preview(&selection)).await
}

/// Removes entries. What of them a running statement brings later is not stored.
#[utoipa::path(
    post, path = "/cache/wipe", tag = "cache", operation_id = "cache_wipe", request_body = Selection,
    responses(
        (status = 200, body = Covered),
        (status = 400, description = "`bad_request`: nothing is selected; `digest_too_short`", body = ErrorBody),
        (status = 404, description = "`unknown_rule`, `unknown_digest`, `nothing_named`", body = ErrorBody),
        (status = 409, description = "`ambiguous_digest`", body = ErrorBody),
    )
)]
pub(super) async fn wipe(
    State(control): State<Controls>,
    Body(selection): Body<Selection>,
) -> Result<Json<Covered>, ApiError> {
    let asked = selection.clone();
    let Json(shown) = blocking(control.clone(), move |control| Ok(control.without_literals(&asked))).await?;
    access::note(&shown);
    blocking(control, move |control| control.wipe(&selection)).await
}
