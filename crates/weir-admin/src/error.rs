//! How a request is refused: a status, a word for programs, a sentence for people.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Why a request was refused. The body of every answer with a status of 400 and above.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    pub error: ApiError,
}

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    pub code: Code,
    /// What is wrong, and what to do about it. It may have several lines.
    pub message: String,
}

impl ApiError {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// The word for a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The request cannot be understood.
    BadRequest,
    /// The header Host names no address of Weir: it may come from a web page by way of a name that was made to point here.
    ForbiddenHost,
    /// Nobody may ask this without a token.
    TokenNeeded,
    /// The token is not accepted.
    UnknownToken,
    /// The token is accepted, and its role does not allow this.
    RoleTooLow,
    /// Too many unknown tokens were sent lately.
    TooManyFailures,
    /// A web page of another site asks.
    ForbiddenOrigin,
    /// There is nothing at this path.
    NotFound,
    /// Not with this method.
    MethodNotAllowed,
    /// There is no rule of this name.
    UnknownRule,
    /// No statement with this digest was counted.
    UnknownDigest,
    /// Several digests begin with these digits.
    AmbiguousDigest,
    /// So few digits of a digest's id are not taken for one.
    DigestTooShort,
    /// The cache has never held anything of this name.
    NothingNamed,
    /// There is already a rule of this name.
    DuplicateRule,
    /// The rules are not those of the version that was named: somebody else has changed them.
    RulesChanged,
    /// A replacement has to name the version of the rules that it is for, as `If-Match`.
    VersionNeeded,
    /// The configuration file is not what Weir has read, so it is not written.
    FileChanged,
    /// The body is larger than 1 MiB.
    TooLarge,
    /// The body is not declared as `application/json`.
    NotJson,
    /// The rule, or the list with it, cannot take effect.
    BadRule,
    /// The configuration file is wrong, or changes what cannot change while Weir runs.
    NotReloaded,
    /// The configuration file cannot be written.
    FileNotWritten,
    /// There is no session with this id, or it has ended.
    UnknownSession,
    /// The session is sent the binary log, and has no statement that could end without it.
    SendsBinlog,
    /// There is no history, or it cannot be read now.
    NoHistory,
    /// The log takes no line about a change, so it is not made.
    LogFull,
    /// A bug of Weir.
    Internal,
}

impl Code {
    pub const fn status(self) -> StatusCode {
        match self {
            Self::BadRequest | Self::DigestTooShort => StatusCode::BAD_REQUEST,
            Self::TokenNeeded | Self::UnknownToken => StatusCode::UNAUTHORIZED,
            Self::ForbiddenHost | Self::ForbiddenOrigin | Self::RoleTooLow => StatusCode::FORBIDDEN,
            Self::TooManyFailures => StatusCode::TOO_MANY_REQUESTS,
            Self::NotFound
            | Self::UnknownRule
            | Self::UnknownDigest
            | Self::UnknownSession
            | Self::NothingNamed => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::DuplicateRule | Self::AmbiguousDigest | Self::FileChanged | Self::SendsBinlog => {
                StatusCode::CONFLICT
            }
            Self::RulesChanged => StatusCode::PRECONDITION_FAILED,
            Self::VersionNeeded => StatusCode::PRECONDITION_REQUIRED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NotJson => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::BadRule | Self::NotReloaded => StatusCode::UNPROCESSABLE_ENTITY,
            Self::NoHistory | Self::LogFull => StatusCode::SERVICE_UNAVAILABLE,
            Self::FileNotWritten | Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl Code {
    /// The word that stands in an answer, for the log.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::BadRequest => "bad_request",
            Self::ForbiddenHost => "forbidden_host",
            Self::TokenNeeded => "token_needed",
            Self::UnknownToken => "unknown_token",
            Self::RoleTooLow => "role_too_low",
            Self::TooManyFailures => "too_many_failures",
            Self::ForbiddenOrigin => "forbidden_origin",
            Self::NotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::UnknownRule => "unknown_rule",
            Self::UnknownDigest => "unknown_digest",
            Self::AmbiguousDigest => "ambiguous_digest",
            Self::DigestTooShort => "digest_too_short",
            Self::NothingNamed => "nothing_named",
            Self::DuplicateRule => "duplicate_rule",
            Self::RulesChanged => "rules_changed",
            Self::VersionNeeded => "version_needed",
            Self::FileChanged => "file_changed",
            Self::TooLarge => "too_large",
            Self::NotJson => "not_json",
            Self::BadRule => "bad_rule",
            Self::NotReloaded => "not_reloaded",
            Self::FileNotWritten => "file_not_written",
            Self::UnknownSession => "unknown_session",
            Self::SendsBinlog => "sends_binlog",
            Self::NoHistory => "no_history",
            Self::LogFull => "log_full",
            Self::Internal => "internal",
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let code = self.code;
        let mut response = (code.status(), Json(ErrorBody { error: self })).into_response();
        // For the log.
        response.extensions_mut().insert(code);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_has_the_words_of_the_answers() {
        for code in [
            Code::BadRequest,
            Code::ForbiddenHost,
            Code::TokenNeeded,
            Code::UnknownToken,
            Code::RoleTooLow,
            Code::TooManyFailures,
            Code::ForbiddenOrigin,
            Code::NotFound,
            Code::MethodNotAllowed,
            Code::UnknownRule,
            Code::UnknownDigest,
            Code::AmbiguousDigest,
            Code::DigestTooShort,
            Code::NothingNamed,
            Code::DuplicateRule,
            Code::RulesChanged,
            Code::VersionNeeded,
            Code::FileChanged,
            Code::TooLarge,
            Code::NotJson,
            Code::BadRule,
            Code::NotReloaded,
            Code::FileNotWritten,
            Code::UnknownSession,
            Code::SendsBinlog,
            Code::NoHistory,
            Code::LogFull,
            Code::Internal,
        ] {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
    }
}
