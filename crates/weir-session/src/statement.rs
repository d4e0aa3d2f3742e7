//! What this crate must know of a statement's text: the facts, in a form that is filled from the analysis of the text.

use crate::pins::PinSet;

/// What a statement (or all statements of one packet, in their order) may do to its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement<'a> {
    /// The changes of session state that the text shows, in order.
    pub effects: &'a [Effect<'a>],
    /// What it ties to its connection, whether it succeeds or not.
    pub pins: PinSet,
    /// The pins that it is sure to end if it succeeds: `UNLOCK TABLES`, `XA COMMIT`, `SELECT RELEASE_ALL_LOCKS()`.
    pub ends: PinSet,
    /// What of the statement before it the answer depends on.
    pub reads: Reads,
    /// What FOUND_ROWS() is after it.
    pub found_rows: FoundRows,
    /// Whether it may change LAST_INSERT_ID().
    pub insert_id: InsertId,
    /// It may leave the warnings of the statement before it: SHOW WARNINGS, SHOW ERRORS, GET DIAGNOSTICS; on MariaDB
    /// everything that reads no table (SET, BEGIN, SELECT 1).
    pub keeps_diagnostics: bool,
    /// Values are set for this statement alone (`SET STATEMENT ... FOR`): what the server reports is temporary.
    pub temporary: bool,
    /// It may begin a transaction even if it fails: more than one statement, BEGIN, CALL.
    pub may_begin: bool,
    /// Of these it does no more than commit what is open: DDL and its like, alone. Where nothing is open nothing is afterwards, be it
    /// that it fails.
    pub only_commits: bool,
    /// Where autocommit is off, it leaves something until the transaction ends, even if the server says that none is open: a
    /// savepoint, or a lock on the definition of a table (of an engine without transactions, or of a statement that failed).
    pub lingers: bool,
    /// It ends a transaction if it succeeds: COMMIT, ROLLBACK.
    pub ends_transaction: bool,
    /// Each user variable that it may write is named in an effect.
    pub names_variables: bool,
    /// It reads or writes tables and its text shows no change of state: one that the server reports is a trigger's or a
    /// function's.
    pub silent: bool,
}

impl Statement<'_> {
    /// A statement that changes nothing and reads nothing of the session: a plain SELECT of unknown FOUND_ROWS().
    pub const PLAIN: Statement<'static> = Statement {
        effects: &[],
        pins: PinSet::EMPTY,
        ends: PinSet::EMPTY,
        reads: Reads::NONE,
        found_rows: FoundRows::Unknown,
        insert_id: InsertId::Kept,
        keeps_diagnostics: false,
        temporary: false,
        may_begin: false,
        only_commits: false,
        lingers: false,
        ends_transaction: false,
        names_variables: false,
        silent: false,
    };
}

/// One change of session state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect<'a> {
    /// A session system variable, by the name in the text: SET x, SET SESSION x, SET @@x, SET LOCAL x.
    Variable { name: &'a [u8], value: Assigned<'a> },
    /// SET NAMES. None: not given, or DEFAULT.
    Names { charset: Option<&'a [u8]>, collation: Option<&'a [u8]> },
    /// SET CHARACTER SET in any form.
    CharacterSet,
    /// A user variable, by its name without `@` and quotes.
    UserVariable { name: &'a [u8], value: UserAssigned<'a> },
    /// USE or COM_INIT_DB, with the name in utf8.
    Schema(&'a [u8]),
    /// The default schema may have changed or gone: DROP DATABASE, a name that is not valid in utf8.
    SchemaUnknown,
    /// Any variable and the schema may have changed: CALL, what cannot be told.
    Everything,
}

/// What a system variable is set to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assigned<'a> {
    /// A number, word or string, without quotes and escapes.
    Literal(&'a [u8]),
    /// NULL, DEFAULT, an expression.
    Computed,
}

/// What a user variable is set to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserAssigned<'a> {
    /// An integer, decimal or floating point literal as it stands in the text, a sign included.
    Number(&'a [u8]),
    /// A hexadecimal or bit literal: its bytes.
    Binary(&'a [u8]),
    /// A plain string (no introducer, no COLLATE, not national): its bytes in character_set_client, without quotes and escapes.
    Text(&'a [u8]),
    Null,
    /// Anything else.
    Computed,
}

/// What of the statement before it a statement reads. The order of the bits is that of [`Reads::NAMES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Reads(u8);

impl Reads {
    pub const NONE: Self = Self(0);
    /// LAST_INSERT_ID(), @@last_insert_id, @@identity. (Sessions with sql_auto_is_null keep their connection.)
    pub const LAST_INSERT_ID: Self = Self(1);
    /// ROW_COUNT().
    pub const ROW_COUNT: Self = Self(2);
    /// FOUND_ROWS().
    pub const FOUND_ROWS: Self = Self(4);
    /// SHOW WARNINGS, SHOW ERRORS, GET DIAGNOSTICS, @@warning_count, @@error_count, RESIGNAL.
    pub const DIAGNOSTICS: Self = Self(8);
    pub const ALL: Self = Self(15);

    /// The words of displays and metrics, in the order of the bits.
    pub const NAMES: [&'static str; 4] = ["last_insert_id", "row_count", "found_rows", "diagnostics"];

    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub fn minus(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub fn is_none(self) -> bool {
        self.0 == 0
    }
}

/// What FOUND_ROWS() is after a statement that succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundRows {
    /// As before, even if it fails: SET, INSERT ... VALUES, BEGIN, COMMIT, DDL, SHOW WARNINGS.
    Kept,
    /// The number of rows sent, if there is no cursor: most SELECTs. What was measured stands at [`weir_sql::RowsFound`].
    RowsSent,
    /// Only the server knows: all else.
    Unknown,
}

/// How a statement may change LAST_INSERT_ID().
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InsertId {
    /// Not at all: reads, DDL without a query, SET of something else.
    Kept,
    /// INSERT, REPLACE, LOAD, UPDATE, DELETE without LAST_INSERT_ID(expr): only if the OK packet has an insert id, or if it
    /// fails. The id in the packet may be another one: that of a row with an explicit value (measured on both servers).
    Insert,
    /// It may do anything: LAST_INSERT_ID(expr), SET last_insert_id, CALL, what cannot be told.
    Unknown,
}

/// How a statement ended: the last of its results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// An OK packet without rows.
    Ok { status: u16, affected_rows: u64, insert_id: u64, warnings: u16 },
    /// Rows, ended by EOF or OK.
    Rows { status: u16, rows: u64, warnings: u16 },
    /// An ERR packet, which carries no status flags.
    Err { code: u16 },
}

impl Outcome {
    /// The status flags; none for an error.
    pub fn status(self) -> Option<u16> {
        match self {
            Self::Ok { status, .. } | Self::Rows { status, .. } => Some(status),
            Self::Err { .. } => None,
        }
    }

    pub fn is_ok(self) -> bool {
        !matches!(self, Self::Err { .. })
    }
}
