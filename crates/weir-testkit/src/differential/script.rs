//! What a session does, as data: it can be made from a seed, cut, run and printed.

use std::fmt;

use crate::client::caps::Capabilities;
use crate::client::command::Param;

use super::rng::Rng;

/// Weir's hint to run a statement on another server connection; a comment for a server.
pub const FRESH: &str = "/*weir: fresh*/ ";

/// The classes of statements that every run must exercise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    Setup,
    SessionVariables,
    UserVariables,
    SchemaChanges,
    Transactions,
    TemporaryTables,
    Prepared,
    SqlPrepare,
    MultiResults,
    Errors,
    BigValues,
    CharacterSets,
    Warnings,
    LastIds,
    Locks,
    Xa,
    Commands,
    Malformed,
    Show,
    LocalInfile,
    Types,
}

impl Class {
    /// Every class but the setup.
    pub const ALL: [Self; 20] = [
        Self::SessionVariables,
        Self::UserVariables,
        Self::SchemaChanges,
        Self::Transactions,
        Self::TemporaryTables,
        Self::Prepared,
        Self::SqlPrepare,
        Self::MultiResults,
        Self::Errors,
        Self::BigValues,
        Self::CharacterSets,
        Self::Warnings,
        Self::LastIds,
        Self::Locks,
        Self::Xa,
        Self::Commands,
        Self::Malformed,
        Self::Show,
        Self::LocalInfile,
        Self::Types,
    ];
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Setup => "setup",
            Self::SessionVariables => "session variables",
            Self::UserVariables => "user variables",
            Self::SchemaChanges => "schema changes",
            Self::Transactions => "transactions",
            Self::TemporaryTables => "temporary tables",
            Self::Prepared => "prepared statements",
            Self::SqlPrepare => "SQL PREPARE",
            Self::MultiResults => "multi-statements, multi-results",
            Self::Errors => "errors",
            Self::BigValues => "big values",
            Self::CharacterSets => "character sets",
            Self::Warnings => "warnings",
            Self::LastIds => "last ids and counts",
            Self::Locks => "locks",
            Self::Xa => "XA",
            Self::Commands => "other commands",
            Self::Malformed => "malformed and unknown commands",
            Self::Show => "SHOW",
            Self::LocalInfile => "LOAD DATA LOCAL",
            Self::Types => "every column type",
        })
    }
}

/// One session: how it connects and what it sends.
#[derive(Debug, Clone)]
pub struct SessionPlan {
    pub number: usize,
    pub capabilities: Capabilities,
    pub collation: u8,
    pub steps: Vec<Step>,
}

#[derive(Debug, Clone)]
pub struct Step {
    pub class: Class,
    pub action: Action,
}

/// One exchange with the server. Prepared statements go by a slot of the session; the id that the server gave
/// is looked up when the step runs.
#[derive(Debug, Clone)]
pub enum Action {
    Query(Text),
    /// A query with one query attribute of this name and value.
    QueryWithAttribute {
        sql: String,
        name: String,
        value: String,
    },
    LocalInfile {
        sql: String,
        data: Vec<u8>,
        chunk: usize,
    },
    Command {
        code: u8,
        body: Vec<u8>,
    },
    /// A command that may have a reply or none: COM_PING follows, and all up to its OK is the reply.
    Uncertain {
        code: u8,
        body: Vec<u8>,
    },
    /// Queries sent in one write; the replies are read afterwards.
    Pipeline(Vec<String>),
    Prepare {
        slot: usize,
        sql: Text,
    },
    Execute {
        slot: usize,
        params: Vec<Param>,
        flags: u8,
        types: bool,
    },
    /// MariaDB's COM_STMT_BULK_EXECUTE with one INT and one string for each row.
    Bulk {
        slot: usize,
        rows: Vec<(i32, String)>,
    },
    LongData {
        slot: usize,
        param: u16,
        data: Text,
    },
    Fetch {
        slot: usize,
        rows: u32,
    },
    Close {
        slot: usize,
    },
    Reset {
        slot: usize,
    },
    ChangeUser {
        user: String,
        password: String,
        database: String,
        collation: u16,
    },
}

/// Bytes with room in the middle for many more, which are made when they are sent.
#[derive(Debug, Clone, Default)]
pub struct Text {
    pub before: Vec<u8>,
    /// Seed and number of the bytes in the middle.
    pub fill: (u64, usize),
    pub after: Vec<u8>,
}

impl Text {
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = self.before.clone();
        out.extend(Rng::new(self.fill.0, 1).text(self.fill.1));
        out.extend_from_slice(&self.after);
        out
    }
}

impl<T: Into<Vec<u8>>> From<T> for Text {
    fn from(text: T) -> Self {
        Self { before: text.into(), ..Self::default() }
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.before.escape_ascii())?;
        if self.fill.1 > 0 {
            write!(f, "<{} letters of seed {}>", self.fill.1, self.fill.0)?;
        }
        write!(f, "{}", self.after.escape_ascii())
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Query(sql) => write!(f, "{sql}"),
            Self::QueryWithAttribute { sql, name, value } => write!(f, "{sql}   -- attribute {name}={value}"),
            Self::LocalInfile { sql, data, chunk } => {
                write!(f, "{sql}   -- {} bytes in packets of {chunk}", data.len())
            }
            Self::Command { code, body } => write!(f, "-- command 0x{code:02x} \"{}\"", body.escape_ascii()),
            Self::Uncertain { code, body } => {
                write!(f, "-- command 0x{code:02x} \"{}\", then COM_PING", body.escape_ascii())
            }
            Self::Pipeline(queries) => write!(f, "-- in one write: {}", queries.join(" | ")),
            Self::Prepare { slot, sql } => write!(f, "-- COM_STMT_PREPARE s{slot}: {sql}"),
            Self::Execute { slot, params, flags, types } => {
                write!(f, "-- COM_STMT_EXECUTE s{slot} flags {flags} types {types} ")?;
                for param in params {
                    let mut text = format!("{param:?}");
                    text.truncate(80);
                    write!(f, "{text} ")?;
                }
                Ok(())
            }
            Self::Bulk { slot, rows } => write!(f, "-- COM_STMT_BULK_EXECUTE s{slot} {rows:?}"),
            Self::LongData { slot, param, data } => {
                write!(f, "-- COM_STMT_SEND_LONG_DATA s{slot} parameter {param}: {data}")
            }
            Self::Fetch { slot, rows } => write!(f, "-- COM_STMT_FETCH s{slot} {rows} rows"),
            Self::Close { slot } => write!(f, "-- COM_STMT_CLOSE s{slot}"),
            Self::Reset { slot } => write!(f, "-- COM_STMT_RESET s{slot}"),
            Self::ChangeUser { user, database, collation, .. } => {
                write!(f, "-- COM_CHANGE_USER {user}, schema `{database}`, collation {collation}")
            }
        }
    }
}
