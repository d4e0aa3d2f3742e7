//! Authentication exchanges of both sides of Weir, as machines without I/O: payloads in, payloads out.
//!
//! [`ClientExchange`] plays the server towards a client, [`ServerExchange`] plays the client towards a server; the
//! same machines serve the login and COM_CHANGE_USER. The caller frames packets, numbers them, owns the sockets
//! and keeps the time limits.
//!
//! This crate must not do I/O, read a clock, log, or draw random numbers: nonces and RSA keys are arguments. What
//! it sends depends on chance in one place, the padding of [`rsa::encrypt_password`], which OAEP draws for itself. It
//! must not show a secret in `Debug`, `Display` or an error.
//!
//! Sources: MySQL internals manual "Authentication Phase" (AuthSwitchRequest, AuthMoreData) and "Caching_sha2_password
//! information"; MariaDB knowledge base "Connection" and "Authentication Plugin - ed25519".

pub mod client_side;
pub mod plugin;
pub mod rsa;
pub mod scramble;
pub mod secret;
pub mod server_side;
mod token;

pub use client_side::{ClientConfig, ClientExchange, Proof, Step, Then};
pub use plugin::Plugin;
pub use rsa::{RsaError, RsaKeyPair};
pub use secret::{Secret, Verifier};
pub use server_side::{InitialResponse, Payload, ServerAuthError, ServerExchange, ServerStep};
pub use token::{token_hash, token_text};

/// Bytes of the nonce of `mysql_native_password` and `caching_sha2_password` (`SCRAMBLE_LENGTH` in the servers).
pub const NONCE_LEN: usize = 20;

/// Longest password that a client may send, in bytes, without the NUL. 512: the servers' own clients stop at 255
/// or less, and tokens used as passwords with `mysql_clear_password` stay below it.
pub const MAX_PASSWORD_LEN: usize = 512;
