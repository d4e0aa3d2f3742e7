//! The REST API under `/api/v1`.
//!
//! A handler reads its input, calls [`Control`](crate::Control) and writes its answer. `guard.rs` stands before all
//! of them.

mod advise;
mod cache;
mod explain;
mod guard;
mod history;
mod input;
mod queries;
mod reload;
mod rules;
mod sessions;
mod status;

use std::sync::Arc;

use axum::http::Method;
use axum::routing::get;
use axum::{Json, Router, middleware};
use tokio::sync::Semaphore;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{ContentBuilder, OpenApi as Document, Ref, RefOr, Response as Answer, ResponseBuilder};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use weir_model::Role;

use crate::access::{Need, need};
use crate::control::Control;
use crate::error::{ApiError, Code};

/// What the document says beside paths and types.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Weir",
        description = "Rules, the result cache and statistics of a running Weir. Each operation needs a token whose role is at least \
                       its `x-weir-role`; on a unix socket the user that Weir runs as, and root, need none.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    servers((url = "/api/v1")),
    tags(
        (name = "rules", description = "Changes are checked as a whole, written to weir.toml, then take effect."),
        (name = "cache"),
        (name = "queries", description = "What was counted of statements, by digest, user, schema and server."),
        (name = "history", description = "What was counted over time, as far as there is a file for it."),
        (name = "explain", description = "Nothing is run."),
        (name = "configuration"),
        (name = "status"),
        (name = "sessions", description = "Clients that are logged in now."),
        (name = "advise", description = "What Weir advises to change."),
    )
)]
struct About;

/// Says of each operation what it asks of who sends it.
struct Doors;

impl Modify for Doors {
    fn modify(&self, document: &mut Document) {
        let token =
            HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some("made by `weir token add`"));
        document
            .components
            .get_or_insert_default()
            .add_security_scheme("token", SecurityScheme::Http(token.build()));
        document.security = Some(vec![SecurityRequirement::new("token", [""; 0])]);
        for (path, item) in &mut document.paths.paths {
            let operations = [
                (Method::GET, &mut item.get),
                (Method::POST, &mut item.post),
                (Method::PUT, &mut item.put),
                (Method::DELETE, &mut item.delete),
            ];
            for (method, operation) in operations {
                if let (Some(operation), Need::Role { role, .. }) =
                    (operation, need(&method, &format!("/api/v1{path}")))
                {
                    say_what_is_needed(operation, role);
                    say_what_is_read(operation);
                }
            }
        }
    }
}

/// What is refused before a handler is asked: a body that is none, an If-Match that is none.
fn say_what_is_read(operation: &mut Operation) {
    let headed = operation
        .parameters
        .iter()
        .flatten()
        .any(|parameter| matches!(parameter, RefOr::T(parameter) if parameter.name == "If-Match"));
    let mut refusals = vec![(Code::Internal, "`internal`: a bug of Weir")];
    if headed || operation.request_body.is_some() {
        refusals.push((Code::BadRequest, "`bad_request`"));
    }
    if operation.request_body.is_some() {
        refusals.push((Code::TooLarge, "`too_large`: the body has more than 1 MiB"));
        refusals.push((Code::NotJson, "`not_json`: the body is not declared as `application/json`"));
    }
    for (code, text) in refusals {
        let status = code.status().as_str().to_owned();
        operation.responses.responses.entry(status).or_insert_with(|| RefOr::T(error(text)));
    }
}

fn error(text: &str) -> Answer {
    let body = ContentBuilder::new().schema(Some(Ref::from_schema_name("ErrorBody"))).build();
    ResponseBuilder::new().description(text).content("application/json", body).build()
}

fn say_what_is_needed(operation: &mut Operation, role: Role) {
    let role = Extensions::builder().add("x-weir-role", role.as_str());
    operation.extensions.get_or_insert_default().merge(role.build());
    for (status, text) in [
        ("401", "`token_needed`, `unknown_token`"),
        ("403", "`role_too_low`, `forbidden_host`, `forbidden_origin`"),
        ("429", "`too_many_failures`"),
    ] {
        operation.responses.responses.insert(status.to_owned(), RefOr::T(error(text)));
    }
}

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
    let mut document = parts().1;
    Doors.modify(&mut document);
    document
}

fn parts() -> (Router<Controls>, Document) {
    OpenApiRouter::with_openapi(About::openapi())
        .routes(routes!(rules::list, rules::add))
        .routes(routes!(rules::show, rules::replace, rules::remove))
        .routes(routes!(rules::move_to))
        .routes(routes!(cache::show))
        .routes(routes!(cache::preview))
        .routes(routes!(cache::wipe))
        .routes(routes!(queries::list))
        .routes(routes!(queries::show))
        .routes(routes!(queries::reset))
        .routes(routes!(explain::test))
        .routes(routes!(explain::explain))
        .routes(routes!(reload::reload))
        .routes(routes!(sessions::list))
        .routes(routes!(sessions::show))
        .routes(routes!(sessions::kill))
        .routes(routes!(status::show))
        .routes(routes!(advise::pins))
        .routes(routes!(advise::cache))
        .routes(routes!(advise::cache_of))
        .routes(routes!(history::show))
        .routes(routes!(history::compare))
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

/// What is read from the history at once: a question may take half a minute. Others wait, without a thread of their own.
static READS: Semaphore = Semaphore::const_new(2);

/// What looks at all rows of statistics at once: each holds them as they were when it began, so what makes room meanwhile stays as long.
static LOOKS: Semaphore = Semaphore::const_new(2);

/// As [`blocking`], for what reads the history.
async fn reading<T: Send + 'static>(
    control: Controls,
    work: impl FnOnce(&dyn Control) -> Result<T, ApiError> + Send + 'static,
) -> Result<Json<T>, ApiError> {
    placed(&READS, control, work).await
}

/// As [`blocking`], for what looks at all rows of statistics.
async fn looking<T: Send + 'static>(
    control: Controls,
    work: impl FnOnce(&dyn Control) -> Result<T, ApiError> + Send + 'static,
) -> Result<Json<T>, ApiError> {
    placed(&LOOKS, control, work).await
}

async fn placed<T: Send + 'static>(
    places: &'static Semaphore,
    control: Controls,
    work: impl FnOnce(&dyn Control) -> Result<T, ApiError> + Send + 'static,
) -> Result<Json<T>, ApiError> {
    // It is never closed. Who has given up is still read for until the end, and keeps its place.
    let place = places.acquire().await.ok();
    blocking(control, move |control| {
        let _place = place;
        work(control)
    })
    .await
}

#[cfg(test)]
mod tests;
