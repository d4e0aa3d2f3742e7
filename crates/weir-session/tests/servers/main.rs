//! States, plans and leftovers against real servers: what this crate believes is what the server says.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking; helpers outside of #[test] functions too"
)]

mod found;
mod leftovers;
mod peer;
mod results;
mod users;
mod variables;
