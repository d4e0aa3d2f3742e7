//! The verbs that ask a running Weir.

use super::place::{At, ConfigArg};
use super::rule::{PlaceArgs, RuleArgs, RuleFlags};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use weir_admin::{Question, Selection};
use weir_config::Role;

#[derive(Debug, Subcommand)]
pub enum RulesVerb {
    /// Show all rules in their order, with hits and what the cache did for them
    #[command(after_help = LIST_HELP)]
    List {
        /// How many rules [default: all]
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
        /// How many to leave out before them
        #[arg(long, value_name = "N", default_value_t = 0)]
        offset: usize,
        #[command(flatten)]
        at: At,
    },
    /// Show everything about one rule; of a cache rule also what its statements cost before it was made, and since
    Show {
        /// The rule, as `weir rules list` names it
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        at: At,
    },
    /// Add a rule: from a file, from standard input, or from flags
    #[command(after_help = ADD_HELP)]
    Add {
        #[command(flatten)]
        rule: RuleArgs,
        #[command(flatten)]
        place: PlaceArgs,
        #[command(flatten)]
        at: At,
    },
    /// Put another rule in the place of one; the new one may keep its name or change it
    Replace {
        /// The rule that goes
        #[arg(value_name = "OLD")]
        old: String,
        #[command(flatten)]
        rule: RuleArgs,
        /// Only if the rules are still those of this `version`, as `weir rules list --json` tells it; without it, those of this moment
        #[arg(long, value_name = "VERSION")]
        if_version: Option<String>,
        #[command(flatten)]
        at: At,
    },
    /// Change a rule: with flags, or as text in your editor ($VISUAL, $EDITOR); shows what differs before it takes effect
    #[command(after_help = EDIT_HELP)]
    Edit {
        #[command(flatten)]
        edit: EditArgs,
        #[command(flatten)]
        at: At,
    },
    /// Move a rule: the first that matches decides
    #[command(group = clap::ArgGroup::new("to").args(["first", "last", "before", "after"]).required(true))]
    Move {
        /// The rule that moves
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        place: PlaceArgs,
        #[command(flatten)]
        at: At,
    },
    /// Remove a rule, and wipe what it has stored
    Remove {
        /// The rule that goes, as `weir rules list` names it
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        at: At,
    },
    /// Tell which rule decides about a statement; it is not run
    Test {
        #[command(flatten)]
        question: QuestionArgs,
        #[command(flatten)]
        at: At,
    },
}

const LIST_HELP: &str = "Counts are since the rule was made or Weir was started, an edit keeps them; `matched` is of statements that Weir had to look at, `misses` of those that \
found nothing, `waited` of those that found another session asking the same; the hit ratio is of all three.\n\n`time saved` adds up, for each hit, what the server took for the answer when it was stored. A run that took \
much longer than others counts for what is usual, as it may stand for many hits (docs/analytics.md, \"Time saved\").";

/// What the time saved is, as far as it is known.
pub const SAVED_HELP: &str = "`time saved` adds up, for each hit, what the server took for the answer when it was stored. A run that took \
much longer than others counts for what is usual, as it may stand for many hits (docs/analytics.md, \"Time saved\").";

const ADD_HELP: &str = "The change is checked as a whole, written to the configuration file of the running Weir, and takes \
effect at once:\n\n    \
weir rules add -c weir.toml --name stories --match-table blog.stories --ttl 30s\n    \
weir rules add -c weir.toml stories.toml --before everything\n    \
weir rules add -c weir.toml --from-digest 89ab01cd23ef4567 --cache 5m";

const EDIT_HELP: &str = "Nothing is changed if the text is left as it was or emptied, or if somebody else changes the rules meanwhile. \
What is wrong is said in the text, and the editor is opened again:\n\n    \
weir rules edit stories -c weir.toml\n    \
weir rules edit stories -c weir.toml --ttl 5m --soft-ttl 4m";

/// What becomes of a rule.
#[derive(Debug, Args)]
pub struct EditArgs {
    /// The rule that changes, as `weir rules list` names it
    #[arg(value_name = "NAME")]
    pub rule: String,
    /// Its new text, as in weir.toml; "-" is standard input
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Do not ask whether what came out of the editor is meant
    #[arg(short, long)]
    pub yes: bool,
    #[command(flatten)]
    pub flags: RuleFlags,
}

#[derive(Debug, Subcommand)]
pub enum CacheVerb {
    /// Show what the cache holds and has done, for each rule
    #[command(after_help = SAVED_HELP)]
    Stats {
        #[command(flatten)]
        at: At,
    },
    /// Tell how many entries and bytes a wipe would remove
    Preview {
        #[command(flatten)]
        select: SelectArgs,
        #[command(flatten)]
        at: At,
    },
    /// Remove entries; an answer that is under way meanwhile is not stored
    Wipe {
        #[command(flatten)]
        select: SelectArgs,
        /// Needed with --all
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        at: At,
    },
}

#[derive(Debug, Subcommand)]
pub enum TokenVerb {
    /// Make a token, write its hash into the configuration file, and show it: once, for it is kept nowhere
    Add {
        /// Whose it is; stands in the log for each change
        name: String,
        /// read: look; operate: also wipe the cache, end sessions, reload; admin: also change rules
        #[arg(long, default_value = "read", value_parser = role)]
        role: Role,
        #[command(flatten)]
        file: TokenFile,
    },
    /// List the tokens: names and roles
    List {
        #[command(flatten)]
        file: TokenFile,
    },
    /// Remove a token from the configuration file; a running Weir takes it until its next reload
    Remove {
        /// The token that goes, as `weir token list` names it
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        file: TokenFile,
    },
}

/// Tokens are changed where the configuration is, so that nobody needs one to make one.
#[derive(Debug, Args)]
pub struct TokenFile {
    #[command(flatten)]
    pub config: ConfigArg,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

fn role(word: &str) -> Result<Role, String> {
    Role::from_word(word).ok_or_else(|| format!("a role is one of {}", Role::WORDS.join(", ")))
}

#[derive(Debug, Args)]
pub struct ExplainArgs {
    #[command(flatten)]
    pub question: QuestionArgs,
    #[command(flatten)]
    pub at: At,
}

/// A statement, and who sends it.
#[derive(Debug, Args)]
pub struct QuestionArgs {
    /// The statement; quote it for the shell
    #[arg(value_name = "SQL")]
    sql: String,
    /// The user name of the login
    #[arg(long)]
    user: Option<String>,
    /// The session's current schema
    #[arg(long)]
    schema: Option<String>,
    /// The client's IP address
    #[arg(long, value_name = "IP")]
    client: Option<std::net::IpAddr>,
    /// How it is sent [default: query]
    #[arg(long, value_parser = ["query", "prepare", "execute"])]
    command: Option<String>,
}

impl From<QuestionArgs> for Question {
    fn from(args: QuestionArgs) -> Self {
        let QuestionArgs { sql, user, schema, client, command } = args;
        Self { sql, user, schema, client: client.map(|ip| ip.to_string()), command }
    }
}

/// Which entries. Those for which all that is given is so.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub struct SelectArgs {
    /// Every entry
    #[arg(long, conflicts_with_all = ["rule", "digest", "schema", "table", "tag", "user"])]
    all: bool,
    /// Entries that this rule had stored
    #[arg(long, value_name = "NAME")]
    rule: Option<String>,
    /// Entries of statements with this digest: its 16 digits, the first 8 or more of one that is counted, its text, or a statement
    #[arg(long, value_name = "DIGEST|SQL")]
    digest: Option<String>,
    /// Entries of sessions in this schema, and those that read a table of it
    #[arg(long, value_name = "NAME")]
    schema: Option<String>,
    /// Entries that read this table
    #[arg(long, value_name = "SCHEMA.TABLE")]
    table: Option<String>,
    /// Entries with this tag
    #[arg(long, value_name = "NAME")]
    tag: Option<String>,
    /// Entries that were stored for this user
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
}

impl From<SelectArgs> for Selection {
    fn from(args: SelectArgs) -> Self {
        let SelectArgs { all, rule, digest, schema, table, tag, user } = args;
        Self { all, rule, digest, schema, table, tag, user }
    }
}
