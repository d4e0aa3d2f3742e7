//! A rule as an operator writes it: which statements it is about, and what is done with them.
//!
//! These are values only. `weir-config` reads and checks them, `weir-policy` compiles them and decides by them.

use std::fmt;
use std::time::Duration;

use crate::{IpNet, words};

/// The largest program that one pattern may become when it is compiled, in bytes. A pattern of a few hundred
/// characters is far below; a counted repetition such as `(a{100}){100}` is above.
pub const MAX_PATTERN_BYTES: usize = 256 << 10;

/// The largest program that the patterns of all rules may become together, in bytes. It bounds what a reload can cost.
pub const MAX_PATTERNS_BYTES: usize = 16 << 20;

/// Rules at most. A file of 1 MiB, which is what Weir reads, has no room for more that say anything.
pub const MAX_RULES: usize = 10_000;

/// One `[[rule]]` of `weir.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Unique, 1 to 64 letters, digits, `.`, `_` and `-`. It is the rule's identity: counters and cache entries
    /// survive a change of the list as long as the name stays.
    pub name: String,
    pub matches: RuleMatch,
    pub cache: Option<CacheRule>,
    pub rewrite: Option<Rewrite>,
    /// The text of the error that a client gets instead of an answer.
    pub deny: Option<String>,
    pub limit: Option<LimitRule>,
    /// How long the statement may run.
    pub timeout: Option<Duration>,
    /// Later rules may add what this one leaves open.
    pub continues: bool,
}

/// What a statement and its connection must be for a rule to match: all that is given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleMatch {
    /// The session's current schema, in any case of ASCII letters.
    pub schema: Option<String>,
    /// The user name that the client logged in with, exactly.
    pub user: Option<String>,
    /// Where the client's address lies. A client of a unix socket has none.
    pub client: Option<IpNet>,
    /// A statement with the same digest.
    pub digest: Option<String>,
    /// A regular expression over the statement without plain comments.
    pub pattern: Option<String>,
    /// A table that the statement names.
    pub table: Option<TableMatch>,
    pub kind: Option<RuleKind>,
    pub command: Option<RuleCommand>,
}

/// `table` or `schema.table`, in any case of ASCII letters, for servers differ in whether it matters
/// (`lower_case_table_names`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TableMatch {
    /// Without it, a table of this name in any schema.
    pub schema: Option<String>,
    pub name: String,
}

/// How the answers to matching reads are cached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheRule {
    pub mode: CacheMode,
    /// How old an answer may become; zero only with [`CacheMode::Off`].
    pub ttl: Duration,
    /// From this age on one client's run refreshes the answer while others are still served; below `ttl`.
    pub soft_ttl: Option<Duration>,
    /// How long after `ttl` an answer may be served if the server cannot give one; zero is not at all.
    pub stale_if_error: Duration,
    pub share: CacheShare,
    /// Answers that come out of views count as cacheable without a look at the view's definition.
    pub views: bool,
    /// A session is not served an answer from before its own last write.
    pub own_writes: bool,
    /// The share of hits that are run again behind the answer, to see how often it was stale.
    pub verify: Ratio,
}

words! {
    /// What a rule's cache does.
    CacheMode {
        /// Answers are stored and served.
        #[default]
        Serve = "serve",
        /// Nothing is served: it is only measured what would have been.
        Shadow = "shadow",
        /// Nothing is stored or served, whatever later rules say.
        Off = "off",
    }
}

words! {
    /// Who may be served an answer.
    CacheShare {
        /// The user for whom it was stored.
        #[default]
        User = "user",
        /// Also other users, once Weir has verified that they may read the same tables.
        Grants = "grants",
    }
}

/// A statement is changed before it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite {
    /// A regular expression over the statement without plain comments.
    pub pattern: String,
    /// What stands in place of what it matched; `$1` is its first group.
    pub with: String,
}

/// How much of it may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitRule {
    /// Statements at once.
    pub concurrency: Option<u32>,
    pub rate: Option<Rate>,
    /// How long a statement above the limit waits before it is refused; zero is not at all.
    pub queue: Duration,
}

/// So many in a time: `100/s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// At least 1.
    pub count: u32,
    pub per: RateUnit,
}

words! {
    /// The time of a [`Rate`].
    RateUnit {
        #[default]
        Second = "s",
        Minute = "m",
        Hour = "h",
    }
}

words! {
    /// The kinds of statements by which a rule can match.
    RuleKind {
        /// SELECT, WITH, TABLE, VALUES, SHOW, DESCRIBE, EXPLAIN, HELP, DO that change and lock nothing.
        #[default]
        Read = "read",
        Use = "use",
        Set = "set",
        TransactionControl = "transaction_control",
        Lock = "lock",
        Kill = "kill",
        /// INSERT, UPDATE, DELETE, REPLACE, and SELECTs that lock rows, set variables or write files.
        Write = "write",
        Load = "load",
        Ddl = "ddl",
        Admin = "admin",
        Call = "call",
        PrepareText = "prepare_text",
        Xa = "xa",
        /// Everything that Weir cannot tell.
        Other = "other",
    }
}

words! {
    /// The commands with a statement by which a rule can match.
    RuleCommand {
        /// COM_QUERY
        #[default]
        Query = "query",
        /// COM_STMT_PREPARE
        Prepare = "prepare",
        /// COM_STMT_EXECUTE, and MariaDB's COM_STMT_BULK_EXECUTE
        Execute = "execute",
    }
}

/// A share of a whole, in millionths: 0 to 1,000,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Ratio(u32);

impl Ratio {
    /// Nothing of it.
    pub const ZERO: Self = Self(0);
    const WHOLE: u32 = 1_000_000;

    /// `None` if it is more than the whole.
    pub const fn from_millionths(millionths: u32) -> Option<Self> {
        if millionths <= Self::WHOLE { Some(Self(millionths)) } else { None }
    }

    pub const fn millionths(self) -> u32 {
        self.0
    }

    /// Reads `1%` or `0.25%`, with four decimals at most.
    pub fn parse(text: &str) -> Option<Self> {
        let number = text.strip_suffix('%')?;
        let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(decimals) || whole.len() > 3 || decimals.len() > 4 {
            return None;
        }
        let decimals: u32 = format!("{decimals:0<4}").parse().ok()?;
        Self::from_millionths(whole.parse::<u32>().ok()? * 10_000 + decimals)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, decimals) = (self.0 / 10_000, format!("{:04}", self.0 % 10_000));
        match decimals.trim_end_matches('0') {
            "" => write!(f, "{whole}%"),
            decimals => write!(f, "{whole}.{decimals}%"),
        }
    }
}

impl Rate {
    /// Reads `100/s`, `20/m` or `5/h`.
    pub fn parse(text: &str) -> Option<Self> {
        let (count, unit) = text.split_once('/')?;
        if !count.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let count = count.parse().ok().filter(|count| *count > 0)?;
        Some(Self { count, per: RateUnit::from_word(unit)? })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.count, self.per.as_str())
    }
}

impl TableMatch {
    /// Reads `table`, `schema.table`, either part in backquotes if it holds a dot or a backquote (written twice).
    pub fn parse(text: &str) -> Option<Self> {
        let (first, rest) = part(text)?;
        if rest.is_empty() {
            return Some(Self { schema: None, name: first });
        }
        let (name, rest) = part(rest.strip_prefix('.')?)?;
        rest.is_empty().then_some(Self { schema: Some(first), name })
    }
}

impl fmt::Display for TableMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |name: &str| match name.contains(['.', '`']) {
            true => format!("`{}`", name.replace('`', "``")),
            false => name.to_owned(),
        };
        match &self.schema {
            Some(schema) => write!(f, "{}.{}", quoted(schema), quoted(&self.name)),
            None => f.write_str(&quoted(&self.name)),
        }
    }
}

/// A name at the front, and what follows it.
fn part(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('`') else {
        let end = text.find(['.', '`']).unwrap_or(text.len());
        return text
            .split_at_checked(end)
            .filter(|(name, _)| !name.is_empty())
            .map(|(n, r)| (n.to_owned(), r));
    };
    let mut name = String::new();
    let mut rest = quoted;
    loop {
        let (before, after) = rest.split_once('`')?;
        name.push_str(before);
        match after.strip_prefix('`') {
            Some(more) => {
                name.push('`');
                rest = more;
            }
            None => return (!name.is_empty()).then_some((name, after)),
        }
    }
}

#[cfg(test)]
mod tests;
