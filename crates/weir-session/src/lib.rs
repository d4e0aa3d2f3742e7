//! Session state and what follows from it: pins, synchronisation plans, leftovers, prepared statements.
//!
//! This crate must not do I/O, read a clock, draw a random number, or parse SQL or packets: it is told what a
//! statement's text may do ([`Statement`], which [`with_statement`] makes of the facts of weir-sql) and how it ended ([`Outcome`]), and answers with values. Whatever it is not sure of
//! it calls unknown, and what is unknown pins.
//!
//! One statement of a session, in the order in which the parts are used:
//!
//! 1. [`Leftovers::next`] says where it may run, and [`plan_sync`] how a connection becomes fit for it.
//! 2. [`Pins::begin`] as it is sent.
//! 3. [`Pins::end`], [`State::learn`] for the client's state and the connection's, [`Leftovers::after`] when its last answer has
//!    come; what is then unknown is read back ([`State::read_back_text`]) and remembered ([`Memory::remember`]).
//! 4. [`Pins::hold`] with [`Leftovers::holds`]; then [`Pins::is_free`] says whether the connection may be released.

mod base;
mod facts;
mod learn;
mod leftovers;
mod memory;
mod pins;
mod plan;
mod prepared;
mod replay;
mod state;
mod statement;
mod unread;
mod user;
mod value;
mod variable;

pub use base::{Base, Bases};
pub use facts::with_statement;
pub use leftovers::{FOUND_ROWS_MAX, Leftovers, Lost, Next, Place, RESERVED_VARIABLE};
pub use memory::Memory;
pub use pins::{PinReason, PinSet, Pins};
pub use plan::{Obstacle, Plan, Send, Step, accepted, plan_sync, refused, synced};
pub use prepared::{
    ClientStatement, ClientStatements, Needs, PreparedKey, Refusal, ServerStatements, StatementBudget,
};
pub use replay::Replay;
pub use state::{ResultsCollation, Schema, State};
pub use statement::{Assigned, Effect, FoundRows, InsertId, Outcome, Reads, Statement, UserAssigned};
pub use unread::{Column, Unread};
pub use user::{NotTracked, UserValue, UserVariables};
pub use value::Value;
pub use variable::{Kind, Server, VarSet, Variable};
