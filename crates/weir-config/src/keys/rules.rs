//! `[cache]` and `[[rule]]`: what is done with which statements.

use std::time::Duration;

use weir_model::rule::{CacheMode, CacheShare, RuleCommand, RuleKind};

use super::{DAY, Default, Kind, SECOND, Section, key};
use crate::types::{Admission, HintsFrom};

const MILLISECOND: Duration = Duration::from_millis(1);
const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

pub(super) static CACHE: Section = Section {
    header: "[cache]",
    doc: "The result cache. It is empty until a rule with `cache` says what to keep.",
    keys: &[
        super::fixed(
            key(
                "memory",
                Kind::Size { min: 1 << 20, max: 1 << 40 },
                Default::Is("\"256MiB\""),
                "Memory of everything that the cache holds: answers, keys and indexes. It is taken as answers come in, \
                 so without a rule it is not taken.",
            ),
            "the cache is made once and kept across reloads: restart Weir to change it",
        ),
        key(
            "max_entry",
            Kind::Size { min: 1 << 10, max: 1 << 30 },
            Default::Is("\"1MiB\""),
            "The largest answer that is kept. A larger one passes by. Not above `memory`.",
        ),
        key(
            "user_memory",
            Kind::Size { min: 1 << 10, max: 1 << 40 },
            Default::Unset("no limit"),
            "Memory that the answers to one user's statements may take, so that no user pushes out what the others' have. Where it is full, \
             older answers of the same user make room; one that is larger than all of it passes by. Not above `memory`.",
        ),
        key(
            "admission",
            Kind::Word(Admission::WORDS),
            Default::Is("\"adaptive\""),
            "Which answers are kept: what is asked for the first time (`always`); what is asked for the second time (`second`); or \
             the first, but the second for statements that are seldom asked again, which Weir finds out (`adaptive`). See \
             [the cache](cache.md#what-is-asked-once).",
        ),
        key(
            "hints",
            Kind::Word(HintsFrom::WORDS),
            Default::Is("\"all\""),
            "Whose hints in comments (`/*nocache*/`, `/*wipe*/`, `/*weir: ttl=5s*/`) are followed: `all` users', those \
             of the users in `hint_users` (`listed`), or nobody's (`off`).",
        ),
        key(
            "hint_users",
            Kind::Names { max: 80 },
            Default::Is("[]"),
            "The users whose hints are followed with `hints = \"listed\"`.",
        ),
    ],
};

pub(super) static RULE: Section = Section {
    header: "[[rule]]",
    doc: "What is done with the statements that match. Rules are tried in their order, and the first one that matches \
          decides, unless it has `continue`. Without rules nothing is done. A rule that only matches leaves its \
          statements alone, so it is an exception from the rules below it.",
    keys: &[
        key(
            "name",
            Kind::Name { max: 64 },
            Default::Required,
            "Its name in logs, metrics and commands, unique: letters, digits, `.`, `_` and `-`.",
        ),
        key(
            "match",
            Kind::Optional(&RULE_MATCH),
            Default::Required,
            "Which statements: all that is given must hold. `{}` is every statement.",
        ),
        key("cache", Kind::Optional(&RULE_CACHE), Default::Unset("nothing is cached"), RULE_CACHE.doc),
        key("rewrite", Kind::Optional(&RULE_REWRITE), Default::Unset("sent as it is"), RULE_REWRITE.doc),
        key(
            "deny",
            Kind::Text { max: 512 },
            Default::Unset("not denied"),
            "The text of the error (1227, SQLSTATE 42000) that the client gets instead of an answer; nothing is sent to the \
             server. See [rules](rules.md#deny).",
        ),
        key("limit", Kind::Optional(&RULE_LIMIT), Default::Unset("not limited"), RULE_LIMIT.doc),
        key(
            "timeout",
            Kind::Duration { min: MILLISECOND, max: DAY, zero: None },
            Default::Unset("no timeout"),
            "How long the statement may run at the server, from when it is sent. Then it is ended there by a KILL QUERY, and \
             the client gets error 3024 (MySQL) or 1969 (MariaDB). See [rules](rules.md#timeout).",
        ),
        key(
            "continue",
            Kind::Flag,
            Default::Is("false"),
            "Whether rules below may add what this one leaves open.",
        ),
    ],
};

pub(super) static RULE_MATCH: Section = Section {
    header: "[rule.match]",
    doc: "Which statements a rule is about. Upper and lower case of ASCII letters are one in `schema` and `table`, for \
          servers differ in whether they matter.",
    keys: &[
        key(
            "schema",
            Kind::Name { max: 64 },
            Default::Unset("any"),
            "The session's current schema, as `SELECT DATABASE()` shows it.",
        ),
        key(
            "user",
            Kind::Name { max: 80 },
            Default::Unset("any"),
            "The user name with which the client logged in.",
        ),
        key(
            "client",
            Kind::Network,
            Default::Unset("any"),
            "The network of the client's address. A client of a unix socket has no address and matches none.",
        ),
        key(
            "digest",
            Kind::Text { max: 65_536 },
            Default::Unset("any"),
            "A statement. All that differ from it in literals, blanks and comments only match.",
        ),
        key(
            "pattern",
            Kind::Pattern,
            Default::Unset("any"),
            "A [regular expression](https://docs.rs/regex/latest/regex/#syntax) that is found somewhere in the \
             statement without its plain comments. It is matched byte by byte, `.` is any byte, also a line's end, and \
             `(?i)` makes upper and lower case one.",
        ),
        key(
            "table",
            Kind::TableName,
            Default::Unset("any"),
            "A table that the statement names, `table` or `schema.table`. A name without a schema in the statement is \
             one of the current schema.",
        ),
        key(
            "kind",
            Kind::Word(RuleKind::WORDS),
            Default::Unset("any"),
            "What kind of statement it is. `read` changes and locks nothing.",
        ),
        key(
            "command",
            Kind::Word(RuleCommand::WORDS),
            Default::Unset("any"),
            "How it comes: `query` is a statement as text (COM_QUERY), `prepare` and `execute` are those of prepared \
             statements (COM_STMT_PREPARE, COM_STMT_EXECUTE).",
        ),
    ],
};

pub(super) static RULE_CACHE: Section = Section {
    header: "[rule.cache]",
    doc: "How answers to the statements of a rule are cached. Only reads outside transactions are, and only where the \
          answer depends on nothing but the data.",
    keys: &[
        key(
            "ttl",
            Kind::Duration { min: MILLISECOND, max: YEAR, zero: None },
            Default::Unset("required unless `mode` is `off`"),
            "How old an answer may become.",
        ),
        key(
            "soft_ttl",
            Kind::Duration { min: MILLISECOND, max: YEAR, zero: None },
            Default::Unset("that of `ttl`"),
            "From this age on one client that is served runs the statement again behind its answer. Below `ttl`.",
        ),
        key(
            "stale_if_error",
            Kind::Duration { min: SECOND, max: YEAR, zero: Some("not at all") },
            Default::Is("\"0s\""),
            "How long after `ttl` an answer may be served when the server cannot give one. Counted apart.",
        ),
        key(
            "mode",
            Kind::Word(CacheMode::WORDS),
            Default::Is("\"serve\""),
            "`serve`: hits are served. `shadow`: nothing is served, it is only measured what would have been. `off`: \
             not cached, whatever rules below say.",
        ),
        key(
            "share",
            Kind::Word(CacheShare::WORDS),
            Default::Is("\"user\""),
            "Who may get an answer: the `user` for whom it was stored, or also others (`grants`), once the server has answered \
             the same statement to them.",
        ),
        key(
            "views",
            Kind::Flag,
            Default::Is("false"),
            "Whether answers out of views are cached although a view's definition may hide `NOW()` or `CURRENT_USER()`. \
             Off: only those whose definition passes.",
        ),
        key(
            "own_writes",
            Kind::Flag,
            Default::Is("true"),
            "Whether a session always sees its own writes: it is not served an answer from before its last one.",
        ),
        key(
            "verify",
            Kind::Ratio,
            Default::Is("\"0%\""),
            "The share of hits that Weir runs again behind the answer, to measure how often and how long answers were \
             stale. It costs as many statements on the server.",
        ),
    ],
};

pub(super) static RULE_REWRITE: Section = Section {
    header: "[rule.rewrite]",
    doc: "Changes the statement before anything else is done with it, also before the cache is asked. See \
          [rules](rules.md#rewrite).",
    keys: &[
        key(
            "pattern",
            Kind::Pattern,
            Default::Required,
            "A regular expression over the statement without its comments. All that it matches is replaced; where it matches \
             nothing, the statement stays as it is, comments and all.",
        ),
        key(
            "with",
            Kind::Text { max: 65_536 },
            Default::Required,
            "What stands in place of what it matched; `$1` is its first group, `${1}a` the same with an `a` behind, `$$` a \
             dollar sign.",
        ),
    ],
};

pub(super) static RULE_LIMIT: Section = Section {
    header: "[rule.limit]",
    doc: "Limits how much of it runs, over all clients together. What it refuses gets error 1226, SQLSTATE 42000. See \
          [rules](rules.md#limit).",
    keys: &[
        key(
            "concurrency",
            Kind::Count { min: 1, max: 1_000_000 },
            Default::Unset("no limit"),
            "Statements that run at once. One that is answered from the cache does not run.",
        ),
        key(
            "rate",
            Kind::Rate,
            Default::Unset("no limit"),
            "Statements in a time: `100/s`, `20/m`, `5/h`. So many may come at once, and the next as the time passes evenly. \
             Hits of the cache count.",
        ),
        key(
            "queue",
            Kind::Duration { min: MILLISECOND, max: DAY, zero: Some("refused at once") },
            Default::Is("\"0s\""),
            "How long a statement above the limit waits before it is refused.",
        ),
    ],
};
