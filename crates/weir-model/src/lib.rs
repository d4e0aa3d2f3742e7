//! Words shared by every floor: server families, reasons, limits, rules.
//!
//! This crate holds plain values only. It must not parse, decide, do I/O, read a clock or depend on any
//! other crate of Weir; every other crate may depend on it.

mod digest;
pub mod family;
pub mod limits;
mod network;
pub mod reason;
pub mod rule;
mod token;
mod words;

pub use digest::DigestId;
pub use family::{ServerFamily, shown_version, version_number};
pub use limits::Limits;
pub use network::IpNet;
pub use reason::{AuthFailure, CloseReason};
pub use rule::Rule;
pub use token::{Role, Token, TokenHash};
