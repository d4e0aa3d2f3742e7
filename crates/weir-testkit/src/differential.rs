//! The session differential: seeded random streams of statements, each sent to a server directly and through
//! Weir, must be answered with the same bytes.
//!
//! `generate` makes the streams, `run` sends them, `compare` finds the first difference, `shrink` makes a failing
//! stream short; `sharing` lets sessions take turns where Weir shares connections among them. Nothing here knows what
//! a right answer is: the server's own is.

pub mod compare;
pub mod generate;
pub mod report;
pub mod rng;
pub mod run;
pub mod script;
pub mod sharing;
pub mod shrink;

pub use generate::session;
pub use run::{Failure, Side, Summary, run};
pub use script::{Action, Class, SessionPlan, Step};
