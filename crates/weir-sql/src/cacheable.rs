//! Whether the answer to a statement may be kept and given to the next who asks, as far as its text tells.
//!
//! [`read_facts`] is asked only about statements that a rule names, and reads each token once. It never calls a statement
//! cacheable that it does not understand to the end: an unknown operator, a form of FROM that is not listed, a
//! clause of a newer server refuse. It relies on one thing: an invalid statement gets an error from the server, and
//! errors are never kept. So only what a server accepts has to be judged rightly.
//!
//! What no text shows, and who fills the cache has to look up at the server, or know of the session:
//!
//! * What lies behind a name: a view, a stored or loadable function, a temporary table, a sequence, a table whose engine
//!   reads elsewhere. [`ReadFacts::tables`] and [`ReadFacts::functions`] are the names.
//! * Columns of type TIME: where a TIME meets a DATETIME, or is read as a date, both servers complete it with the current
//!   date (measured; `SELECT CAST(t AS DATETIME)`, `UNION`, `=`). Text that makes a TIME is refused as
//!   [`Uncacheable::TimeValue`].
//! * Parameters of type TIME (MYSQL_TYPE_TIME of a prepared statement), which are completed alike.
//! * Virtual columns, which in MariaDB may call NOW(), RAND() or CURRENT_USER().
//! * `sql_auto_is_null`: with it, `id IS NULL` finds the row of LAST_INSERT_ID(). A session that has it on must not be
//!   served.
//! * The default schema may be a system schema: [`ReadFacts::reads_system_schema`].
//! * Session variables that change answers (`sql_mode`, `time_zone`, ...): they belong in the key.

mod calls;
mod from;
mod functions;
mod names;
mod query;
mod refusals;
mod walk;
mod words;
mod writes;

pub use names::{FunctionName, TableName, is_system_schema};

use crate::classify::Cursor;
use crate::{LexMode, Lexer, Text, TokenKind};
use memchr::memmem;
use walk::Walk;

/// A statement longer than this, in bytes, is not judged: no cache wants it as a key.
pub const LONGEST_JUDGED: usize = 1 << 20;

/// What the text of a statement tells about keeping its answer. See [`read_facts`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadFacts {
    /// `Ok`: the answer depends on nothing but the tables, the functions, the session's variables and default schema,
    /// and parameters; and the statement writes, locks and assigns nothing. Unless a name hides more.
    pub verdict: Result<(), Uncacheable>,
    /// The tables and views that are named, each once, without those that WITH defines. Too many rather than too few. Of
    /// a statement that is no read: none.
    pub tables: Vec<TableName>,
    /// Functions that are called and that this server has not built in as far as is known, each once.
    pub functions: Vec<FunctionName>,
    /// `SQL_CALC_FOUND_ROWS`: the answer is kept with what FOUND_ROWS() gives behind it, or not at all.
    pub found_rows: bool,
    /// It is exactly `SELECT FOUND_ROWS()`, in any case of letters, without an alias and without a comment or blank
    /// inside the call, so the column's name is those 12 bytes as they were written.
    pub asks_found_rows: bool,
    /// The text was not read to its end, for it is too long or names too much: there may be more tables than are told.
    pub cut: bool,
    /// What a write changes, as far as it names it. Triggers and cascading foreign keys write elsewhere, unseen.
    pub writes: Writes,
}

/// The tables that a statement writes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Writes {
    /// Each once; of a statement with several tables all of them, also those that it only reads.
    pub tables: Vec<TableName>,
    /// It may write tables that it does not name, or whose names were not understood: CALL, DROP DATABASE, several
    /// statements, ...
    pub unsure: bool,
}

impl ReadFacts {
    /// Whether the answer may be kept as far as the text tells.
    pub fn is_cacheable(&self) -> bool {
        self.verdict.is_ok()
    }

    /// Whether it calls functions of which only the server knows what they do (the reason `unknown_function`).
    pub fn needs_resolving(&self) -> bool {
        !self.functions.is_empty()
    }

    /// Whether it names a table or function that is, with this default schema, of a system schema. Such names with their
    /// schema before them are refused anyway.
    pub fn reads_system_schema(&self, default_schema: &[u8]) -> bool {
        let is_unqualified = self.tables.iter().any(|table| table.schema.is_none())
            || self.functions.iter().any(|function| function.schema.is_none());
        is_unqualified && is_system_schema(default_schema)
    }

    fn refused(reason: Uncacheable) -> Self {
        Self {
            verdict: Err(reason),
            tables: Vec::new(),
            functions: Vec::new(),
            found_rows: false,
            asks_found_rows: false,
            cut: reason == Uncacheable::TooLarge,
            writes: Writes { tables: Vec::new(), unsure: reason == Uncacheable::TooLarge },
        }
    }
}

/// Declares the reasons in the order in which they are looked for, each with its word.
macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident $text:literal)*) => {
        /// Why an answer is not kept, as far as the text tells. Of several reasons, the first in this order.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Uncacheable {
            $($(#[$doc])* $variant,)*
        }

        impl Uncacheable {
            /// Every reason, in order.
            pub const ALL: &'static [Uncacheable] = &[$(Uncacheable::$variant,)*];

            /// The word in logs, metrics and explanations.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Uncacheable::$variant => $text,)*
                }
            }
        }
    };
}

reasons! {
    /// No SELECT, WITH ... SELECT, TABLE or VALUES.
    NotARead "not_a_read"
    /// Text stands behind a `;`, be it a comment.
    MultiStatement "multi_statement"
    /// FOR UPDATE, FOR SHARE, LOCK IN SHARE MODE.
    LockingRead "locking_read"
    /// INTO OUTFILE, INTO DUMPFILE, INTO @v.
    Into "into"
    /// A function whose value changes from call to call or with time, or that waits, locks, or reads files: NOW(),
    /// RAND(), UUID(), SLEEP(), GET_LOCK(), LOAD_FILE(), NEXT VALUE FOR, `DEFAULT(column)`.
    NondeterministicFunction "nondeterministic_function"
    /// A function of the connection, the account or the statement before: CONNECTION_ID(), USER(), FOUND_ROWS().
    SessionFunction "session_function"
    /// `@v`, `:=`, and XPath functions, which read user variables that are named inside of strings.
    UserVariable "user_variable"
    /// `@@v`, and the optimizer hint SET_VAR.
    SystemVariable "system_variable"
    /// A table or function of information_schema, performance_schema, mysql or sys.
    SystemSchema "system_schema"
    /// SQL_NO_CACHE.
    SqlNoCache "sql_no_cache"
    /// PROCEDURE ANALYSE.
    ProcedureAnalyse "procedure_analyse"
    /// Text that makes a TIME, which the servers complete with the current date where a date is needed: `TIME '10:00'`,
    /// `CAST(... AS TIME)`, TIMEDIFF(), SEC_TO_TIME(), STR_TO_DATE().
    TimeValue "time_value"
    /// The text breaks off, or its parentheses do not fit together.
    Unparsable "unparsable"
    /// Longer than [`LONGEST_JUDGED`], nested deeper than 256 parentheses, or more than 256 names.
    TooLarge "too_large"
    /// Something in it is not understood.
    Unknown "unknown"
}

/// Reads a text as the server would in this mode, as one statement of a client with multi-statements enabled.
pub fn read_facts(sql: &[u8], mode: LexMode) -> ReadFacts {
    of(Cursor::new(sql, mode))
}

pub(crate) fn of_text(text: &Text<'_>) -> ReadFacts {
    of(text.cursor())
}

fn of(mut cursor: Cursor<'_>) -> ReadFacts {
    let (sql, mode) = (cursor.sql(), cursor.mode());
    if !query::is_query(cursor.clone()) {
        let (writes, cut) = writes::of(&mut cursor);
        return ReadFacts { writes, cut, ..ReadFacts::refused(Uncacheable::NotARead) };
    }
    if sql.len() > LONGEST_JUDGED {
        return ReadFacts::refused(Uncacheable::TooLarge);
    }
    let asks_found_rows = query::asks_found_rows(cursor.clone());
    let mut walk = Walk::new(cursor);
    walk.whole();
    if memmem::find(sql, b"/*").is_some() {
        comments(sql, mode, &mut walk);
    }
    walk.into_facts(asks_found_rows)
}

/// What stands in optimizer hints, and in comments that the server may take for code.
fn comments(sql: &[u8], mode: LexMode, walk: &mut Walk<'_>) {
    for token in Lexer::new(sql, mode) {
        match token.kind {
            TokenKind::BlockHint | TokenKind::BlockComment if sets_variable(token.text(sql)) => {
                walk.refuse(Uncacheable::SystemVariable)
            }
            // It may be code, where the server's version is not known.
            TokenKind::VersionCommentSkipped if mode.server_version == 0 => walk.refuse(Uncacheable::Unknown),
            _ => {}
        }
    }
}

/// Wherever the hint stands: which places are hints differs between versions.
fn sets_variable(comment: &[u8]) -> bool {
    comment.starts_with(b"/*+") && comment.windows(7).any(|part| part.eq_ignore_ascii_case(b"set_var"))
}

#[cfg(test)]
mod tests;
