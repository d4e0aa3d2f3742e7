//! The REST API under `/api/v1`.
//!
//! A handler reads its input, calls [`Control`](crate::Control) and writes its answer. `guard.rs` stands before all
//! of them.

mod cache;
mod explain;
mod guard;
mod input;
mod rules;

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router, middleware};
use utoipa::OpenApi;
use utoipa::openapi::OpenApi as Document;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::control::Control;
use crate::error::{ApiError, Code};

/// What the document says beside paths and types.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Weir",
        description = "Rules and the result cache of a running Weir. There are no accounts yet: whoever reaches the \
                       address, which is of this machine only, may do all of it.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    servers((url = "/api/v1")),
    tags(
        (name = "rules", description = "Changes are checked as a whole, written to weir.toml, then take effect."),
        (name = "cache"),
        (name = "explain", description = "Nothing is run."),
    )
)]
struct About;

/// What every handler works with.
pub(crate) type Controls = Arc<dyn Control>;

/// The router, to be nested at `/api/v1`.
pub(crate) fn router(control: Controls) -> Router {
    let (router, _) = parts();
    router
        .route("/openapi.json", get(async || Json(openapi())))
        .fallback(async || {
            ApiError::new(Code::NotFound, "there is nothing here: /api/v1/openapi.json lists what is")
        })
        .method_not_allowed_fallback(async || {
            ApiError::new(Code::MethodNotAllowed, "not with this method: see /api/v1/openapi.json")
        })
        .layer(middleware::from_fn(guard::guard))
        .with_state(control)
}

/// The OpenAPI document of the API, as it is served at `/api/v1/openapi.json`.
pub fn openapi() -> Document {
    parts().1
}

fn parts() -> (Router<Controls>, Document) {
    OpenApiRouter::with_openapi(About::openapi())
        .routes(routes!(rules::list, rules::add))
        .routes(routes!(rules::show, rules::replace, rules::remove))
        .routes(routes!(rules::move_to))
        .routes(routes!(cache::show))
        .routes(routes!(cache::preview))
        .routes(routes!(cache::wipe))
        .routes(routes!(explain::test))
        .routes(routes!(explain::explain))
        .split_for_parts()
}

/// Runs what may block on a thread of its own, so that the main thread goes on.
async fn blocking<T: Send + 'static>(
    control: Controls,
    work: impl FnOnce(&dyn Control) -> Result<T, ApiError> + Send + 'static,
) -> Result<Json<T>, ApiError> {
    match tokio::task::spawn_blocking(move || work(&*control)).await {
        Ok(done) => done.map(Json),
        Err(_) => Err(ApiError::new(Code::Internal, "a bug of Weir: please report it, with the log")),
    }
}

/// As [`blocking`], with status 201.
async fn created<T: Send + serde::Serialize + 'static>(
    control: Controls,
    work: impl FnOnce(&dyn Control) -> Result<T, ApiError> + Send + 'static,
) -> Result<Response, ApiError> {
    let body = blocking(control, work).await?;
    Ok((axum::http::StatusCode::CREATED, body).into_response())
}

#[cfg(test)]
mod tests;
