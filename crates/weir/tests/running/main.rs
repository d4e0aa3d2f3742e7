//! A running Weir in front of real servers. Each test is named after the trap it defends (P1 to P52) or the promise
//! of the documentation. Where a server's own answer is the rule, the same bytes are sent to the server directly
//! and every packet of the two answers is compared.
//!
//! Needs MariaDB and MySQL (`scripts/deps.sh`, `scripts/get-mysql.sh`), as the test kit says where they are missing.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod advise;
mod api;
mod api_doors;
mod api_kit;
mod bare_link;
mod cache;
mod cache_exact;
mod cache_kit;
mod capabilities;
mod command_line;
mod compression;
mod config_race;
mod edit;
mod fake_server;
mod framing;
mod history;
mod hosts;
mod kill;
mod kit;
mod local_infile;
mod login;
mod odd_packets;
mod operations;
mod packed_link;
mod proxy_header;
mod queries;
mod query_log;
mod reload;
mod replication;
mod reuse;
mod rule_deny;
mod rule_limit;
mod rule_rewrite;
mod rule_timeout;
mod secrets;
mod session_kill;
mod sessions;
mod sharing_fresh;
mod sharing_globals;
mod sharing_kill;
mod sharing_kit;
mod sharing_modes;
mod sharing_pins;
mod sharing_queue;
mod sharing_replay;
mod sharing_restarts;
mod sharing_stalls;
mod sharing_statements;
mod sharing_storm;
mod sharing_tracking;
mod sharing_turns;
mod sharing_users;
mod shutdown;
mod statements;
mod terminal;
mod timing;
mod tls;
mod tokens;
mod top;
mod unreachable;
mod vanished;
