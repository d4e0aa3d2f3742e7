//! The exact result cache: what a statement may be answered with, without asking the server.
//!
//! This crate must not do I/O, read a clock or draw a random number: `now` and seeds are arguments. It knows no SQL and no packets:
//! whether a statement may be cached is decided before ([`Refusal`] is the list of reasons why not), and answers are bytes.
//! No lock is held while a task is woken or an entry is freed.
//!
//! One statement, in the order in which the parts are used:
//!
//! 1. [`Cache::rule`], once for each rule; [`Scope::new`], once for each statement that agrees in rule, digest, schema, tables,
//!    user and tags.
//! 2. [`KeyBuilder`] writes the key into a buffer that is used again and again, [`Cache::key`] hashes it.
//! 3. [`Cache::lookup`]:
//!    * [`Lookup::Hit`]: the entry's packets go to the client.
//!    * [`Lookup::Refresh`]: the same, and behind it as after a miss.
//!    * [`Lookup::Miss`]: [`Ticket::asked`] right before the statement is sent, then [`Ticket::fill`] with what the server
//!      answered, or [`Ticket::give_up`], which may be called as soon as it is known that nothing will be stored. A ticket that is dropped
//!      has given up. After an error, [`Cache::stale_if_error`] may have something.
//!    * [`Lookup::Wait`]: await it together with a deadline; [`Waited`] is a hit, a miss, or to be run without the cache.
//! 4. [`Cache::wipe`] whenever somebody says so, and before step 3 for `/*wipe*/`, with [`Selector::key`].
//! 5. [`Cache::sweep`] now and then.
//!
//! Three rules make it exact ([ADR 0014](../../docs/adr/0014-result-cache.md)): the age of an answer counts from when the server was
//! asked; what was wiped after that is not stored; and a session is not served, and does not wait for, what was asked before
//! its own last write.

mod admission;
mod blocks;
mod cache;
mod charge;
mod entry;
mod flight;
mod gather;
mod generation;
mod holder;
mod inner;
mod key;
mod limits;
mod reason;
mod room;
mod rule;
mod scope;
mod seen;
mod shadow;
mod spare;
mod store;
mod wipe;

pub use admission::{Admission, Chance, Experience};
pub use blocks::Bytes;
pub use cache::{Ask, Cache, CacheStats, Fill, Lookup};
pub use entry::{About, Answer, Entry, Terms, entry_size};
pub use flight::{Ticket, Waited, Waiting};
pub use gather::Gathered;
pub use inner::Snapshot;
pub use key::{Key, KeyBuilder, Parameter, Protocol, Reader};
pub use limits::CacheLimits;
pub use reason::{DropReason, Refusal};
pub use rule::{AGES, Asked, Rule, RuleStats};
pub use scope::{Scope, Selector, Table, Tables};
pub use shadow::{ResultHash, ShadowOutcome, Verdict};
pub use wipe::Wiped;

#[cfg(test)]
mod tests;
