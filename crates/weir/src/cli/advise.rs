//! `weir advise ...`

use super::At;
use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    arg_required_else_help = true
)]
pub struct AdviseArgs {
    #[command(subcommand)]
    pub verb: Option<AdviseVerb>,
    #[command(flatten)]
    pub at: At,
}

#[derive(Debug, Subcommand)]
pub enum AdviseVerb {
    /// Show which cache rules would save the server how much, before there are any
    Cache(AdviseCache),
    /// Tell what keeps sessions on their server connections, what that costs, and what to change
    Pins {
        /// How many statements and users [default: 20]
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
        /// How many of each to leave out before them
        #[arg(long, value_name = "N")]
        offset: Option<usize>,
        #[command(flatten)]
        at: At,
    },
}

#[derive(Debug, Args)]
pub struct AdviseCache {
    /// Show every TTL for this digest; the id that `weir queries` shows, or how it begins: 4 digits or more
    #[arg(value_name = "ID", conflicts_with_all = ["limit", "offset", "ttl", "stale", "user", "schema", "all"])]
    pub id: Option<String>,
    /// How many statements [default: 20]
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// How many to leave out before them
    #[arg(long, value_name = "N")]
    pub offset: Option<usize>,
    /// With this TTL: 1s, 10s, 1m, 5m, 30m or 1h [default: the best for each]
    #[arg(long, value_name = "DURATION")]
    pub ttl: Option<String>,
    /// How many percent of the hits may be out of date [default: 1]
    #[arg(long, value_name = "PERCENT")]
    pub stale: Option<f64>,
    /// Of this user only
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// With this default schema only
    #[arg(long, value_name = "NAME")]
    pub schema: Option<String>,
    /// Also those for which a rule is not worth its while, and why: it would save less than 1 % of the server's time, or less than 1 ms in
    /// a second, fewer than 10 % of its statements would be hits, or its answers would be stale too often
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub at: At,
}
