//! Keeps web pages away. A browser on this machine reaches the admin address too, and shows any page that it is sent
//! to: such a page may send requests here, or, by a name of its own that it has made to point here, read the answers.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::{ApiError, Code};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

pub(super) async fn guard(request: Request, next: Next) -> Response {
    match check(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

pub(super) fn check(headers: &HeaderMap) -> Result<(), ApiError> {
    let host = only(headers, &HOST).filter(|host| is_own(host)).ok_or_else(|| {
        let message = "the header Host must be an IP address or localhost, with the port: any other name may be \
                       that of a web page which has made it point here";
        ApiError::new(Code::ForbiddenHost, message)
    })?;
    let foreign = || {
        let message = "this is a request of a web page of another site; Weir takes none";
        ApiError::new(Code::ForbiddenOrigin, message)
    };
    if headers.contains_key(ORIGIN) {
        let origin = only(headers, &ORIGIN).and_then(|origin| origin.strip_prefix("http://"));
        origin.filter(|origin| origin.eq_ignore_ascii_case(host)).ok_or_else(foreign)?;
    }
    // Sent by browsers also where they send no Origin (Fetch Metadata, W3C).
    if headers.contains_key(SEC_FETCH_SITE) {
        only(headers, &SEC_FETCH_SITE)
            .filter(|site| ["same-origin", "none"].contains(site))
            .ok_or_else(foreign)?;
    }
    Ok(())
}

/// The value of a header that is there once.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    value.to_str().ok()
}

/// Nobody can make an address, or localhost, point elsewhere (RFC 6761, 6.3).
fn is_own(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((ip, port)) => {
            return ip.parse::<std::net::Ipv6Addr>().is_ok() && (port.is_empty() || is_port(port));
        }
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let known = name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok();
    known && (port.is_empty() || is_port(port))
}

/// With its colon.
fn is_port(text: &str) -> bool {
    text.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests;
