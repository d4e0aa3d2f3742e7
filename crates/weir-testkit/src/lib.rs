//! What Weir's tests stand on: real servers started in about a second, a running Weir, a relay that injects
//! faults, a protocol client of our own, and the differential.
//!
//! This crate must not be used by anything that ships. The client shares no code with `weir-wire`, so that
//! each can find the other's mistakes.

pub mod allocations;
pub mod cachemodel;
pub mod cacherace;
pub mod certs;
pub mod client;
pub mod differential;
pub mod digests;
pub mod hostile;
pub mod process;
pub mod relay;
pub mod servers;
pub mod weir;

pub use client::{Client, ConnectOptions, Response};
pub use relay::{Direction, Faults, Relay};
pub use servers::{Flavor, Server, ServerBuilder};
pub use weir::{Weir, WeirBuilder};
