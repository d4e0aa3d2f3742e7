//! The result cache against a model: seeded sessions on two equal servers, one of them behind Weir.
//!
//! Every statement runs on both sides, one at a time, so both hold the same data at every step. Where an answer through Weir differs
//! from the direct one, it must be one that a model allows ([`book`]): byte for byte what an equal session was answered, packets
//! and sequence numbers and status flags, no longer ago than the TTL, and not before the session's own last write or what was
//! wiped or changed since. Where nothing of that is allowed, both must be equal.
//!
//! Time is real and TTLs are short. A bound is always computed from the side that allows more: age counts from when an answer had come,
//! to when the statement was about to be sent.

pub mod book;
pub mod generate;
pub mod report;
pub mod run;
pub mod session;
pub mod world;
