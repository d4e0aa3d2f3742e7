//! Learning how the server greets before any client has logged in.

use crate::shared::Shared;
use std::sync::Arc;
use weir_auth::Secret;
use weir_pool::{ConnectError, LoginRequest, login};
use weir_wire::caps;
use weir_wire::greeting::Greeting;

/// The account that a probe names where no user is listed. It need not exist: a login that is refused is not
/// counted against Weir's address, while one that is broken off is (`max_connect_errors`, error 1129).
const PROBE_USER: &[u8] = b"weir_probe";

/// utf8mb4_general_ci, which every server knows.
const UTF8MB4: u8 = 45;

/// The greeting of the server: the last one seen, or else the one of a connection made now. Of many callers one
/// connects and the others wait for it.
pub async fn probe(shared: &Arc<Shared>) -> Result<Arc<Greeting>, ConnectError> {
    if let Some(greeting) = shared.upstream.greeting() {
        return Ok(greeting);
    }
    let _turn = shared.probing.lock().await;
    if let Some(greeting) = shared.upstream.greeting() {
        return Ok(greeting);
    }
    look(shared).await
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
    match login(&shared.upstream, &request).await {
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
