//! One client's way through Weir, step by step.
//!
//! `serve.rs` names the steps; each is a file of that name:
//! accept -> greet -> login -> (command -> analyse -> forward -> observe)* -> close.
//!
//! This crate joins the machines of the floors below with sockets and time. It must not parse packets by hand
//! (weir-wire does), judge passwords (weir-auth) or lex statements (weir-sql).

mod accept;
mod acceptor;
mod admit;
mod advise;
mod analyse;
mod analytics;
mod at_hand;
mod attach;
mod backend;
mod behind;
mod cached;
mod change_user;
mod checkout;
mod close;
mod codes;
mod command;
mod compared;
mod confirmed;
mod course;
mod doing;
mod down;
mod exchange;
mod executed;
mod fill;
mod followed;
mod foreign;
mod found_rows;
mod greet;
mod judged;
mod kept;
mod kill;
mod link;
mod live;
mod login;
mod long;
mod look;
mod matched;
mod names;
mod observe;
mod open;
mod orders;
mod overtime;
mod packets;
mod passing;
mod prepare_anew;
mod prepared;
mod probe;
mod query_log;
mod question;
mod queue;
mod registry;
mod release;
mod renumber;
mod replay;
mod resolve;
mod results;
mod rewrite;
mod ruled;
mod rules;
mod sender;
mod serve;
mod session;
mod sets;
mod settings;
mod settle;
mod shared;
mod sharing;
mod show;
mod spare;
mod statements;
mod tally;
mod texts;
mod tracker;
mod turn;
mod unsent;
mod untold;
mod up;
mod users;
mod vanish;
mod warm;
mod watchdog;
mod wish;
mod worker;
mod writes;

#[cfg(test)]
mod allocations;

pub use accept::Accepted;
pub use acceptor::Listener;
pub use analytics::Digests;
pub use judged::CacheHints;
pub use link::{Key, Link, PinCounts, PoolSettings, ServerPool};
pub use live::{SessionSeen, SessionState};
pub use orders::Kill;
pub use probe::{look, probe};
pub use query_log::{Dropped, LoggedFor, LoggedStatement, LoggedStatements, OwnAnswer, QueryLog, ToLog};
pub use registry::Registry;
pub use rules::{RuleCount, RuleDeed};
pub use settings::{AnalyticsSettings, CacheSettings, Settings};
pub use shared::Shared;
pub use users::{Known, ListedUser, Users};
pub use wish::text_refusal;
pub use worker::{Dispatcher, WorkerHandle, start_workers};
