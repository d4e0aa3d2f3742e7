//! What a cache rule would do, told before there is one.
//!
//! A cache with a time to live is simulated for every TTL of [`LADDER`] at once, on a sample of the keys under which answers
//! would be stored: a key is watched or it is not, by its hash, so what is seen of a key is everything (spatial sampling, as in
//! Waldspurger and others, "Efficient MRC Construction with SHARDS", FAST 2015). Each statement's [`Line`] begins with all
//! keys and halves its share where it has too many, so memory is bounded however many keys come.
//!
//! Misses are scaled up by the share, for no key has many of them; statements and the server's time are counted, all of
//! them, and what is no miss is a hit. A few keys that are asked for all the time so do no harm, sampled or not.
//!
//! Of a key that is asked for all the time one execution is watched in each [`Limits::gap_us`], and those that are hits under
//! every TTL meanwhile are only counted ([`Gates`]). Who asks while another's answer is under way is a hit, as it is for the
//! cache.

mod desk;
mod gate;
mod hot;
mod line;
mod prediction;

pub use desk::{Desk, Limits};
pub use gate::{Gate, Gates, Sample};
pub use line::{Line, Outcome, Seen, Tier};
pub use prediction::{Prediction, best, merged};

/// The times to live that are simulated, in microseconds.
pub const LADDER: [u64; 6] = [1_000_000, 10_000_000, 60_000_000, 300_000_000, 1_800_000_000, 3_600_000_000];

#[cfg(test)]
mod tests;
