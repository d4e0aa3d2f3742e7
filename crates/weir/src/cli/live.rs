//! The verbs about what goes on now.

use super::{At, AtPlace};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct SessionsArgs {
    #[command(subcommand)]
    pub verb: Option<SessionsVerb>,
    #[command(flatten)]
    pub list: SessionsList,
    #[command(flatten)]
    pub at: At,
}

/// Which sessions, in which order.
#[derive(Debug, Args)]
pub struct SessionsList {
    /// By what [default: state_seconds, those that are idle last]
    #[arg(long, value_parser = ["state_seconds", "pinned_seconds", "age", "commands", "bytes", "user", "id"])]
    pub sort: Option<String>,
    /// How many [default: 20]
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// How many to leave out before them
    #[arg(long, value_name = "N")]
    pub offset: Option<usize>,
    #[command(flatten)]
    pub which: SessionsFilter,
}

/// Which of all sessions.
#[derive(Debug, Args)]
pub struct SessionsFilter {
    /// Of this user only
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// With this default schema only
    #[arg(long, value_name = "NAME")]
    pub schema: Option<String>,
    /// In this state only
    #[arg(long, value_parser = states())]
    pub state: Option<String>,
    /// Only those that keep their server connection
    #[arg(long)]
    pub pinned: bool,
    /// Only those that a cache rule is for and cannot serve before they log in again
    #[arg(long)]
    pub not_served: bool,
}

/// MySQL's SHOW PROCESSLIST calls idle sessions `Sleep`.
fn states() -> impl TypedValueParser<Value = String> {
    let idle = PossibleValue::new("idle").aliases(["sleep", "Sleep", "sleeping"]);
    let others =
        ["in_transaction", "waiting_for_connection", "waiting_for_rule", "waiting_for_answer", "running"];
    let others = others.into_iter().chain(["answering", "loading_file", "binlog"]);
    PossibleValuesParser::new(std::iter::once(idle).chain(others.map(PossibleValue::new))).map(|state| {
        if state.eq_ignore_ascii_case("sleep") || state == "sleeping" { "idle".to_owned() } else { state }
    })
}

#[derive(Debug, Subcommand)]
pub enum SessionsVerb {
    /// Show everything about one session
    Show {
        /// The id that `weir sessions` shows
        #[arg(value_name = "ID")]
        id: String,
        #[command(flatten)]
        at: At,
    },
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("whom").args(["ids", "user", "schema", "state", "pinned", "not_served"]).multiple(true).required(true),
    after_help = KILL_HELP)]
pub struct KillArgs {
    /// The ids that `weir sessions` shows, one or several
    #[arg(value_name = "ID", conflicts_with_all = ["user", "schema", "state", "pinned", "not_served"])]
    pub ids: Vec<String>,
    #[command(flatten)]
    pub which: SessionsFilter,
    /// End all sessions that are selected; without it they are only shown
    #[arg(long, conflicts_with = "ids")]
    pub yes: bool,
    /// Only the statement at hand; the session goes on
    #[arg(long)]
    pub query: bool,
    #[command(flatten)]
    pub at: At,
}

const KILL_HELP: &str = "Instead of ids, what `weir sessions` takes selects them, all of it together:\n\n    \
weir kill --not-served          # shows which, and ends none\n    \
weir kill --not-served --yes\n    \
weir kill --user app --state idle --yes";

/// What is watched, and how often it is asked.
#[derive(Debug, Args)]
pub struct TopArgs {
    #[command(flatten)]
    pub place: AtPlace,
    /// A file that holds nothing but a token, for where one is needed; the variable WEIR_TOKEN does the same
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Seconds between two looks, 1 to 60; + and - change it
    #[arg(short, long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=60))]
    pub interval: u64,
}
