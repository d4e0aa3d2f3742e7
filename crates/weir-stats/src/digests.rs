//! What is counted of each statement's digest, by who has sent it.
//!
//! Each worker has a [`Table`] of rows, and a [`Writer`] that only its own thread uses. Counting goes through a [`Slot`]
//! that was found when the statement was read; it is loads and stores of a row that no other core writes. A lock is taken
//! when a row is made or thrown out, and by who reads.
//!
//! A table has a bound. What does not fit makes the row go that was used least, among the next few in turn, and what that
//! has counted is added to the sums of `other`: nothing that was counted is ever lost, so sums over all rows and `other` are
//! exact.

mod call;
mod report;
mod row;
mod spread;
mod sums;
mod table;
mod writer;

pub use call::{Call, PlainCall, Source};
pub use report::{Line, Report, Rows, Usage};
pub use row::{DigestText, Origin};
pub use sums::{REASONS, Sums};
pub use table::Table;
pub use writer::{Slot, SlotCell, Writer};

#[cfg(test)]
mod tests;
