//! Reading a request's body.

use axum::body::{Bytes, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, IF_MATCH};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::error::{ApiError, Code};

/// Bytes of a body at most. 1 MiB: what Weir reads of a configuration file, so no rule is longer.
pub(super) const BODY_BYTES: usize = 1 << 20;

/// The version of the rules that a change is made for (RFC 9110, 13.1.1): `None` where any will do.
pub(super) struct IfMatch(pub Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let Some(value) = parts.headers.get(IF_MATCH) else { return Ok(Self(None)) };
        match value.to_str().map(str::trim) {
            Ok("*") => Ok(Self(None)),
            Ok(tag) if tag.len() > 2 && tag.starts_with('"') && tag.ends_with('"') && !tag.contains(',') => {
                Ok(Self(Some(tag.trim_matches('"').to_owned())))
            }
            _ => Err(ApiError::new(Code::BadRequest, "If-Match holds no ETag of /rules, in its quotes")),
        }
    }
}

/// The same, where it has to be said: who replaces something has seen what it was. `*` says that any will do.
pub(super) struct MustMatch(pub Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for MustMatch {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        if !parts.headers.contains_key(IF_MATCH) {
            let message = "say which rules this is for: send the ETag of /rules as If-Match, or `*` for any";
            return Err(ApiError::new(Code::VersionNeeded, message));
        }
        IfMatch::from_request_parts(parts, state).await.map(|IfMatch(held)| Self(held))
    }
}

/// A JSON body. A web page may send a form to any address, but not with this type of content unless that address
/// agrees, and this one does not. The log tells nothing of it by itself: there may be literals in it.
pub(super) struct Body<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        read(&json(request).await?).map(Self)
    }
}

/// The bytes of a body that is declared as JSON.
async fn json(request: Request) -> Result<Bytes, ApiError> {
    let (parts, body) = request.into_parts();
    let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
    if !header(CONTENT_TYPE).is_some_and(is_json) {
        let message = "send the body as JSON, with the header Content-Type: application/json";
        return Err(ApiError::new(Code::NotJson, message));
    }
    let too_large = || ApiError::new(Code::TooLarge, format!("a body has {BODY_BYTES} bytes at most"));
    let declared = header(CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
    if declared.is_some_and(|length| length > BODY_BYTES as u64) {
        return Err(too_large());
    }
    // Of what can fail here, a body that is too long is all that has somebody left to read the answer.
    to_bytes(body, BODY_BYTES).await.map_err(|_| too_large())
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(body).map_err(|error| {
        ApiError::new(Code::BadRequest, format!("the body is not what is asked for here: {error}"))
    })
}

/// `application/json`, in any case, with parameters or without.
fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}
