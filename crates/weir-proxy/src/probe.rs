//! Learning how the server greets before any client has logged in.

use crate::shared::Shared;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use weir_auth::Secret;
use weir_pool::{ConnectError, LoginRequest, login_beside};
use weir_wire::caps;
use weir_wire::greeting::Greeting;

/// The account that a probe names. It need not exist: a login that is refused is not
/// counted against Weir's address, while one that is broken off is (`max_connect_errors`, error 1129).
const PROBE_USER: &[u8] = b"weir_probe";

/// How long a failure to connect answers clients: they come in crowds, and must not wait one after the other.
const FAILURE_HOLDS: Duration = Duration::from_secs(1);

/// utf8mb4_general_ci, which every server knows.
const UTF8MB4: u8 = 45;

/// The greeting of the server: the last one seen, or else the one of a connection made now. Of many callers one
/// connects and the others wait for it; a failure answers all who waited.
pub async fn probe(shared: &Arc<Shared>) -> Result<Arc<Greeting>, Arc<ConnectError>> {
    if let Some(greeting) = shared.upstream.greeting() {
        return Ok(greeting);
    }
    let mut last = shared.probing.lock().await;
    if let Some(greeting) = shared.upstream.greeting() {
        return Ok(greeting);
    }
    if let Some((at, error)) = last.as_ref()
        && at.elapsed() < FAILURE_HOLDS
    {
        return Err(Arc::clone(error));
    }
    look(shared).await.map_err(|error| {
        let error = Arc::new(error);
        *last = Some((Instant::now(), Arc::clone(&error)));
        error
    })
}

/// Connects and logs in, or is refused; either way the greeting is known afterwards.
pub async fn look(shared: &Arc<Shared>) -> Result<Arc<Greeting>, ConnectError> {
    let request = LoginRequest {
        user: PROBE_USER.to_vec(),
        secret: Secret::default(),
        database: None,
        caps: caps::PROTOCOL_41 | caps::TRANSACTIONS,
        max_packet: 1 << 24,
        charset: UTF8MB4,
        attributes: None,
    };
    match login_beside(&shared.upstream, &request, None).await {
        Ok(mut connection) => {
            crate::close::quit_server(&mut connection.stream).await;
            Ok(connection.greeting)
        }
        Err(error) => match shared.upstream.greeting() {
            Some(greeting) if !error.is_unreachable() => Ok(greeting),
            _ => Err(error),
        },
    }
}
