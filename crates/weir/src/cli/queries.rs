//! `weir queries`

use super::At;
use super::history::{Against, PeriodArgs, against};
use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, after_help = QUERIES_HELP)]
pub struct QueriesArgs {
    #[command(subcommand)]
    pub verb: Option<QueriesVerb>,
    #[command(flatten)]
    pub list: QueriesList,
    #[command(flatten)]
    pub at: At,
}

const QUERIES_HELP: &str = "`total` is what clients waited, `saved` what the server took for the stored answers that hits got, without what was \
unusually slow. `regret` is the server's time for what came again with the same answer, and no cache rule named; in a window \
of the history, for what came again, whatever it was answered. \
--window, --from, --to and --compare read the history, which needs `file` of [history] (or a state directory of systemd's) and has statements by whole \
minutes: the output tells from when to when it is.";

/// Which rows, in which order.
#[derive(Debug, Args)]
pub struct QueriesList {
    /// By what, the greatest first [default: total]
    #[arg(long, value_parser = ["total", "calls", "mean", "p99", "errors", "rows", "saved", "regret"])]
    pub sort: Option<String>,
    /// What a row is: the statements of one digest, user, schema and server, or of one digest, whoever sent them; (3) stands for three users or schemas then
    /// [default: origin]
    #[arg(long, value_parser = ["origin", "digest"])]
    pub by: Option<String>,
    /// How many rows [default: 20]
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// How many to leave out before them
    #[arg(long, value_name = "N")]
    pub offset: Option<usize>,
    /// Of this user only
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// With this default schema only
    #[arg(long, value_name = "NAME")]
    pub schema: Option<String>,
    /// Show what is frequent and what is slow: four lists, by calls and by mean time against the medians
    #[arg(long)]
    pub quadrants: bool,
    #[command(flatten)]
    pub period: PeriodArgs,
    /// Tell what is new, gone, slower, faster, more or less often than in another time: the same window so much earlier, as 1d, or FROM..TO
    #[arg(long, value_name = "DURATION|FROM..TO", value_parser = against, conflicts_with_all = ["sort", "by", "quadrants"])]
    pub compare: Option<Against>,
}

#[derive(Debug, Subcommand)]
pub enum QueriesVerb {
    /// Show everything that was counted of one digest
    Show {
        /// The id that `weir queries` shows, or how it begins: 4 digits or more
        #[arg(value_name = "ID")]
        id: String,
        /// How many rows, by user, schema and server [default: 20]
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
        /// How many to leave out before them
        #[arg(long, value_name = "N")]
        offset: Option<usize>,
        #[command(flatten)]
        at: At,
    },
    /// Forget what was counted, and begin anew
    Reset {
        #[command(flatten)]
        at: At,
    },
}
