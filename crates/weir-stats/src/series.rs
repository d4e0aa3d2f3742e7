//! What was counted over time: which second and minute a count belongs to, how points are added up, what was counted of
//! digests since it was looked last, and how two periods differ.
//!
//! Clocks are arguments, and may step: a point that is there already is added to, and nothing is thrown away by a clock that
//! has not been steady for a while.

mod clock;
mod code;
mod compare;
mod ledger;
mod point;

pub use clock::{Clock, Keep, Moment, Retention, Step, Tick};
pub use code::{add_encoded, decode_histogram, decode_sums, encode_histogram, encode_sums};
pub use compare::{Change, Comparison, Ranked, Spans, added_ns, won_ns};
pub use ledger::{Ledger, Minute};
pub use point::{Point, Reading};

#[cfg(test)]
mod tests;
