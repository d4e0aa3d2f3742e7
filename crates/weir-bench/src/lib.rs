//! The experiments behind `make bench`: how fast Weir is, how much CPU and memory it takes, and how that compares with
//! a direct connection, HAProxy in TCP mode, a bare relay that knows no protocol, and for hits of the cache with redis.
//! And those behind `make experiments`, which repeat the published ones over sweeps of clients. And the cache
//! advisor's predictions against what rules then do.
//!
//! Everything runs on one machine over loopback, target after target within each round, so that a slow minute of the
//! machine hits all of them alike. This crate measures; it decides nothing about Weir and nothing depends on it.

pub mod advise;
pub mod among;
pub mod analytics;
pub mod bare;
pub mod cached;
pub mod client;
pub mod connect;
pub mod count;
pub mod experiments;
pub mod hot;
pub mod idle;
pub mod latency;
pub mod load;
pub mod miss;
pub mod opening;
pub mod paced;
pub mod process;
pub mod redis;
pub mod relay;
pub mod replay;
pub mod report;
pub mod rig;
pub mod run;
pub mod stream;
pub mod summary;
pub mod sysbench;
pub mod unseen;
pub mod verdict;
