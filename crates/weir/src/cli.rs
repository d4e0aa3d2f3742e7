//! The command line.

mod advise;
mod history;
mod live;
mod place;
mod queries;
mod rule;
mod verbs;

use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use std::path::PathBuf;

pub use advise::{AdviseArgs, AdviseCache, AdviseVerb};
pub use history::{Against, HistoryArgs};
pub use live::{KillArgs, SessionsArgs, SessionsFilter, SessionsList, SessionsVerb, TopArgs};
pub use place::{At, AtPlace, CheckArgs, Place, config_for_run};
pub use queries::{QueriesArgs, QueriesList, QueriesVerb};
pub use rule::{RuleArgs, RuleFlags, text_of};
pub use verbs::{CacheVerb, EditArgs, ExplainArgs, RulesVerb, TokenFile, TokenVerb};

/// A traffic manager for MySQL and MariaDB: stands between applications and a server, speaks the MySQL protocol on
/// both sides, and needs no change to either.
#[derive(Debug, Parser)]
#[command(name = "weir", version, arg_required_else_help = true, propagate_version = true)]
#[command(after_help = "Try it in front of your server, without a file:\n\n    \
    weir run --backend 127.0.0.1:3306\n    \
    mysql -h 127.0.0.1 -P 6033 -u you -p\n\n\
    Variables: WEIR_CONFIG names the configuration file where --config does not (else it is /etc/weir/weir.toml), WEIR_ADMIN the \
    admin address of the running Weir where --admin does not, WEIR_TOKEN holds the token for it.\n")]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve clients until SIGTERM; SIGHUP reads the configuration again
    Run(Source),
    /// Check a configuration: every error at once, with its place and a hint; exit status 2 if there is one
    Check(CheckArgs),
    /// Print the JSON schema of weir.toml, for editors
    ConfigSchema,
    /// List, test and change the rules of a running Weir
    #[command(subcommand)]
    Rules(Box<RulesVerb>),
    /// Look at the result cache of a running Weir, or wipe it
    #[command(subcommand)]
    Cache(CacheVerb),
    /// Show which statements cost what, and what the cache did for them
    Queries(QueriesArgs),
    /// Show on one screen how a running Weir is, and what is worth acting on
    Status {
        #[command(flatten)]
        at: At,
    },
    /// Show the clients that are logged in: what each does, and why it keeps a server connection
    Sessions(SessionsArgs),
    /// End a client's session with its transaction, or its statement; a statement at the server is ended there
    Kill(KillArgs),
    /// Tell what to change, from what was counted
    Advise(AdviseArgs),
    /// Show what was counted over time: statements, errors, latencies, connections, in steps
    History(HistoryArgs),
    /// Tell what a running Weir would do with a statement, and why; it is not run
    Explain(ExplainArgs),
    /// Let a running Weir read its configuration file again, as SIGHUP does, and tell what came of it
    Reload {
        #[command(flatten)]
        at: At,
    },
    /// Watch a running Weir: rates, times, the cache, connections, and the statements that cost most now
    Top(TopArgs),
    /// Print what makes a shell complete the command line: `source <(weir completion bash)`
    Completion {
        /// For which shell
        shell: Shell,
    },
    /// Make, list and remove the tokens with which others than its own user may use the admin address
    #[command(subcommand)]
    Token(TokenVerb),
}

impl Cli {
    /// The script that completes the command line in a shell.
    pub fn completion(shell: Shell) -> String {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Self::command(), "weir", &mut script);
        String::from_utf8_lossy(&script).into_owned()
    }
}

#[derive(Debug, Args)]
pub struct Source {
    /// The configuration file [default, without --backend: what the variable WEIR_CONFIG names, else /etc/weir/weir.toml]
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["backend", "listen", "admin"])]
    pub config: Option<PathBuf>,
    /// Without a file: the server to stand in front of
    #[arg(long, value_name = "HOST:PORT|unix:/PATH")]
    pub backend: Option<String>,
    /// Without a file: where clients connect [default: 127.0.0.1:6033]
    #[arg(long, value_name = "HOST:PORT|unix:/PATH", requires = "backend")]
    pub listen: Option<String>,
    /// Without a file: where `weir status` and the other verbs reach it, of this machine only; a unix socket asks for no token
    /// [default: nowhere]
    #[arg(long, value_name = "HOST:PORT|unix:/PATH", requires = "backend")]
    pub admin: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_that_sleep_are_idle() {
        for word in ["idle", "sleep", "Sleep", "sleeping"] {
            let Command::Sessions(args) = Cli::parse_from(["weir", "sessions", "--state", word]).command
            else {
                panic!("{word}")
            };
            assert_eq!(args.list.which.state.as_deref(), Some("idle"), "{word}");
        }
        assert!(Cli::try_parse_from(["weir", "sessions", "--state", "napping"]).is_err());
    }

    /// Each verb and each argument says what it is.
    #[test]
    fn nothing_is_left_unexplained() {
        let mut bare = Vec::new();
        look(&Cli::command(), "weir", &mut bare);
        assert!(bare.is_empty(), "without a word of help: {bare:#?}");
    }

    fn look(command: &clap::Command, path: &str, bare: &mut Vec<String>) {
        let is_bare = |text: Option<String>| text.is_none_or(|text| text.trim().len() < 5);
        if is_bare(command.get_about().map(ToString::to_string)) {
            bare.push(path.to_owned());
        }
        for argument in command.get_arguments() {
            if is_bare(argument.get_help().map(ToString::to_string)) {
                bare.push(format!("{path} {}", argument.get_id()));
            }
        }
        for verb in command.get_subcommands() {
            look(verb, &format!("{path} {}", verb.get_name()), bare);
        }
    }
}
