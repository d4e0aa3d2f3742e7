//! A rule, and its place, as they are given on the command line.

use clap::Args;
use std::path::PathBuf;
use weir_admin::{NewRule, Place};

/// A rule, in one of two forms.
#[derive(Debug, Args)]
pub struct RuleArgs {
    /// A file with the rule as in weir.toml, with [[rule]] or without; "-" is standard input
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub flags: RuleFlags,
}

/// Digits of a digest's id that a rule is made of: with fewer another digest may be meant by now.
const LEAST_DIGITS: usize = 8;

fn enough_of_an_id(text: &str) -> Result<String, String> {
    match text.trim() {
        few if few.len() < LEAST_DIGITS => Err(format!("give {LEAST_DIGITS} digits of the id or more")),
        id => Ok(id.to_owned()),
    }
}

/// The keys of `[[rule]]`. Their values are checked by the running Weir.
#[derive(Debug, Args)]
#[command(next_help_heading = "The rule, without a file")]
pub struct RuleFlags {
    /// The name of the rule: unique, and shown everywhere
    #[arg(long, conflicts_with = "file")]
    name: Option<String>,
    /// Match the statements with this digest: its id as `weir queries` shows it, or how that begins (8 digits or more); without --name the
    /// rule is called digest-ID
    #[arg(long, value_name = "ID", value_parser = enough_of_an_id, conflicts_with_all = ["file", "match_digest"])]
    from_digest: Option<String>,
    /// The session's current schema
    #[arg(long, value_name = "SCHEMA", conflicts_with = "file")]
    match_schema: Option<String>,
    /// The user name of the login
    #[arg(long, value_name = "USER", conflicts_with = "file")]
    match_user: Option<String>,
    /// A network of clients, for example 10.0.0.0/8
    #[arg(long, value_name = "NETWORK", conflicts_with = "file")]
    match_client: Option<String>,
    /// A statement with the same digest
    #[arg(long, value_name = "SQL", conflicts_with = "file")]
    match_digest: Option<String>,
    /// A regular expression over the statement
    #[arg(long, value_name = "REGEX", conflicts_with = "file")]
    match_pattern: Option<String>,
    /// A table that the statement names
    #[arg(long, value_name = "[SCHEMA.]TABLE", conflicts_with = "file")]
    match_table: Option<String>,
    /// The kind of statement: read, write, ddl, ...
    #[arg(long, value_name = "KIND", conflicts_with = "file")]
    match_kind: Option<String>,
    /// query, prepare or execute
    #[arg(long, value_name = "COMMAND", conflicts_with = "file")]
    match_command: Option<String>,
    /// How old an answer may become, for example 30s
    #[arg(long, visible_alias = "cache", value_name = "DURATION", conflicts_with = "file")]
    ttl: Option<String>,
    /// From this age on, one client refreshes it while others are served
    #[arg(long, value_name = "DURATION", conflicts_with = "file")]
    soft_ttl: Option<String>,
    /// How long after its TTL it may be served if the server fails
    #[arg(long, value_name = "DURATION", conflicts_with = "file")]
    stale_if_error: Option<String>,
    /// serve, shadow (only measure) or off [default: serve]
    #[arg(long, value_name = "MODE", conflicts_with = "file")]
    mode: Option<String>,
    /// Who is served a stored answer: its own user, or with "grants" whomever the server lets read the same [default: user]
    #[arg(long, value_name = "SHARE", conflicts_with = "file")]
    share: Option<String>,
    /// The share of hits that are compared with a fresh answer, for example 1%
    #[arg(long, value_name = "PERCENT", conflicts_with = "file")]
    verify: Option<String>,
    /// Answers out of views are cached without a look at the view
    #[arg(long, conflicts_with = "file")]
    views: bool,
    /// A session may be served an answer from before its own last write
    #[arg(long, conflicts_with = "file")]
    no_own_writes: bool,
    /// Later rules may add what this one leaves open
    #[arg(long, conflicts_with = "file")]
    r#continue: bool,
}

impl RuleFlags {
    /// The digest that the rule is to match, if it is given by its id.
    pub fn digest_named(&self) -> Option<&str> {
        self.from_digest.as_deref()
    }

    pub fn is_named(&self) -> bool {
        self.name.is_some()
    }

    /// Whether one of them is an action, which here is what the cache does.
    fn do_something(&self) -> bool {
        let words = [&self.ttl, &self.soft_ttl, &self.stale_if_error, &self.mode, &self.share, &self.verify];
        words.iter().any(|word| word.is_some()) || self.views || self.no_own_writes
    }

    /// Whether one of them says which statements the rule is for.
    fn choose(&self) -> bool {
        let texts = [
            &self.match_digest,
            &self.match_pattern,
            &self.match_table,
            &self.match_kind,
            &self.match_command,
        ];
        let from = [&self.from_digest, &self.match_schema, &self.match_user, &self.match_client];
        texts.into_iter().chain(from).any(|given| given.is_some())
    }

    /// The rule is about this digest.
    pub fn of_digest(&mut self, id: &str, text: String) {
        self.name.get_or_insert_with(|| format!("digest-{id}"));
        self.match_digest = Some(text);
    }

    /// The rule as the API takes it.
    pub fn into_json(self) -> serde_json::Value {
        let object = |pairs: Vec<(&str, Option<serde_json::Value>)>| {
            let given = pairs.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
            given.collect::<serde_json::Map<_, _>>()
        };
        let text = |value: Option<String>| value.map(serde_json::Value::from);
        let flag = |on: bool, value: bool| on.then(|| serde_json::Value::from(value));
        let matches = object(vec![
            ("schema", text(self.match_schema)),
            ("user", text(self.match_user)),
            ("client", text(self.match_client)),
            ("digest", text(self.match_digest)),
            ("pattern", text(self.match_pattern)),
            ("table", text(self.match_table)),
            ("kind", text(self.match_kind)),
            ("command", text(self.match_command)),
        ]);
        let cache = object(vec![
            ("mode", text(self.mode)),
            ("ttl", text(self.ttl)),
            ("soft_ttl", text(self.soft_ttl)),
            ("stale_if_error", text(self.stale_if_error)),
            ("share", text(self.share)),
            ("verify", text(self.verify)),
            ("views", flag(self.views, true)),
            ("own_writes", flag(self.no_own_writes, false)),
        ]);
        serde_json::Value::Object(object(vec![
            ("name", text(self.name)),
            ("match", Some(matches.into())),
            ("cache", (!cache.is_empty()).then(|| cache.into())),
            ("continue", flag(self.r#continue, true)),
        ]))
    }
}

/// Where a rule goes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Its place")]
pub struct PlaceArgs {
    /// Before all others
    #[arg(long, conflicts_with_all = ["last", "before", "after"])]
    first: bool,
    /// Behind all others
    #[arg(long, conflicts_with_all = ["before", "after"])]
    last: bool,
    /// Before this rule
    #[arg(long, value_name = "RULE", conflicts_with = "after")]
    before: Option<String>,
    /// Behind this rule
    #[arg(long, value_name = "RULE")]
    after: Option<String>,
}

impl PlaceArgs {
    pub fn given(self) -> Option<Place> {
        match self {
            Self { first: true, .. } => Some(Place::First),
            Self { last: true, .. } => Some(Place::Last),
            Self { before: Some(name), .. } => Some(Place::Before(name)),
            Self { after: Some(name), .. } => Some(Place::After(name)),
            _ => None,
        }
    }
}

/// The text of a file; `-` is standard input.
pub fn text_of(file: &std::path::Path) -> anyhow::Result<String> {
    use anyhow::Context;
    if file.as_os_str() == "-" {
        return std::io::read_to_string(std::io::stdin()).context("reading standard input");
    }
    std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

impl RuleArgs {
    /// As of every command line that lacks something, the program ends with exit status 2 where flags say of no rule which it is,
    /// what it does, or for which statements.
    pub fn or_exit(self) -> Self {
        let lacks = match &self.flags {
            _ if self.file.is_some() => return self,
            flags if !flags.is_named() && flags.digest_named().is_none() => {
                "say which rule: a FILE with it (\"-\" is standard input), --name with what it matches and does, or \
                 --from-digest ID with --cache TTL; --help shows all\n"
            }
            flags if !flags.do_something() => {
                "this rule would do nothing: say what becomes of the statements that it matches. --cache TTL keeps their answers \
                 (--mode shadow only measures what that would do), --mode off lets no rule below it cache them. A FILE (\"-\" is \
                 standard input) can say more: deny, rewrite, limit, timeout, or nothing, so that no rule below sees them; \
                 --help shows all\n"
            }
            flags if !flags.choose() => {
                "this rule would be for every statement: say which it is for, with --from-digest, --match-digest, --match-table, \
                 --match-pattern, --match-schema, --match-user, --match-client, --match-command or --match-kind. If it is meant for \
                 every read there is, --match-kind read says so; --help shows all\n"
            }
            _ => return self,
        };
        clap::Error::raw(clap::error::ErrorKind::MissingRequiredArgument, lacks).exit()
    }

    /// What the file is called in an error about what stands in it.
    pub fn source(&self) -> Option<String> {
        let file = self.file.as_ref()?;
        Some(match file.as_os_str() == "-" {
            true => "standard input".to_owned(),
            false => file.display().to_string(),
        })
    }

    /// Reads the file, if it is one.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn into_new(self, place: Option<Place>) -> anyhow::Result<NewRule> {
        let Some(file) = self.file else {
            return Ok(NewRule { rule: Some(self.flags.into_json()), toml: None, place });
        };
        let text = text_of(&file)?;
        Ok(NewRule { rule: None, toml: Some(text), place })
    }
}
