use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};

use super::{Controls, looking};
use crate::advice::{PinAdvice, PinsAsked};
use crate::advised::{AdviceAsked, AdvisedShown, CacheAdvice};
use crate::error::{ApiError, Code, ErrorBody};

/// What keeps sessions on their server connections, and what to change.
#[utoipa::path(
    get, path = "/advise/pins", tag = "advise", operation_id = "advise_pins", params(PinsAsked),
    responses(
        (status = 200, body = PinAdvice),
        (status = 400, description = "`bad_request`: an unknown parameter or value", body = ErrorBody),
    )
)]
pub(super) async fn pins(
    State(control): State<Controls>,
    asked: Result<Query<PinsAsked>, QueryRejection>,
) -> Result<Json<PinAdvice>, ApiError> {
    let Query(asked) = asked.map_err(|error| ApiError::new(Code::BadRequest, error.body_text()))?;
    looking(control, move |control| control.advise_pins(asked)).await
}

/// What cache rules would do that are not there yet.
#[utoipa::path(
    get, path = "/advise/cache", tag = "advise", operation_id = "advise_cache", params(AdviceAsked),
    responses(
        (status = 200, body = CacheAdvice),
        (status = 400, description = "`bad_request`: an unknown parameter or value", body = ErrorBody),
    )
)]
pub(super) async fn cache(
    State(control): State<Controls>,
    asked: Result<Query<AdviceAsked>, QueryRejection>,
) -> Result<Json<CacheAdvice>, ApiError> {
    let Query(asked) = asked.map_err(|error| ApiError::new(Code::BadRequest, error.body_text()))?;
    looking(control, move |control| control.advise_cache(&asked)).await
}

/// What a cache rule for one statement would do, with each TTL.
#[utoipa::path(
    get, path = "/advise/cache/{id}", tag = "advise", operation_id = "advise_cache_of",
    params(("id" = String, Path, description = "The digest's 16 hexadecimal digits, or the first 4 or more, where no other digest begins so")),
    responses(
        (status = 200, body = AdvisedShown),
        (status = 400, description = "`digest_too_short`", body = ErrorBody),
        (status = 404, description = "`unknown_digest`", body = ErrorBody),
        (status = 409, description = "`ambiguous_digest`", body = ErrorBody)
    )
)]
pub(super) async fn cache_of(
    State(control): State<Controls>,
    Path(id): Path<String>,
) -> Result<Json<AdvisedShown>, ApiError> {
    looking(control, move |control| control.advise_cache_of(&id)).await
}
