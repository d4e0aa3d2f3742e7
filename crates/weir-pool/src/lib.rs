//! Server connections: dialling, logging in, and what is known of the server behind.
//!
//! This crate must not know clients or statements. It opens connections; who uses one, and for how long, is
//! decided above.

mod dial;
mod error;
mod login;
mod pool;
#[cfg(feature = "shuttle")]
pub mod sync;
#[cfg(not(feature = "shuttle"))]
mod sync;
mod upstream;

pub use dial::dial;
pub use error::{ConnectError, RefusedLogin};
pub use login::{LoginRequest, ServerConnection, change_user, login, login_beside};
pub use pool::{FEW, Found, Grant, LOOK_EVERY, Need, Pool, PoolLimits, Usage, Waiting};
pub use upstream::{Place, Slot, Target, Trouble, Upstream};
