use std::fmt;

use rusqlite::ErrorCode;

/// Why no history is written. The word stands in the log and in `/metrics`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The disk is full.
    Full,
    /// Another process writes this file.
    InUse,
    /// A newer version of Weir has made it.
    Newer,
    /// It is somebody else's: a database, or no database at all.
    Foreign,
    /// It cannot be made, opened or written.
    Unwritable,
    /// It is corrupt, and there are too many that were set aside already.
    Corrupt,
    /// Anything else.
    Failed,
}

impl Kind {
    pub const ALL: [Self; 7] =
        [Self::Full, Self::InUse, Self::Newer, Self::Foreign, Self::Unwritable, Self::Corrupt, Self::Failed];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::InUse => "in_use",
            Self::Newer => "newer",
            Self::Foreign => "foreign",
            Self::Unwritable => "unwritable",
            Self::Corrupt => "corrupt",
            Self::Failed => "failed",
        }
    }
}

/// What keeps the history from being written, or read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    pub kind: Kind,
    /// What is wrong, and what to do about it.
    pub why: String,
}

impl Trouble {
    pub(crate) fn new(kind: Kind, why: impl Into<String>) -> Self {
        Self { kind, why: why.into() }
    }

    pub(crate) fn foreign() -> Self {
        let why = "it is a file of another program and was not touched: give history.file another name";
        Self::new(Kind::Foreign, why)
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Trouble {}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        let kind = match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Kind::Full,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Kind::Corrupt,
            Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                Kind::Unwritable
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Kind::InUse,
            // What a column holds is not what was written there.
            _ if matches!(
                error,
                rusqlite::Error::FromSqlConversionFailure(..)
                    | rusqlite::Error::IntegralValueOutOfRange(..)
                    | rusqlite::Error::InvalidColumnType(..)
            ) =>
            {
                Kind::Corrupt
            }
            _ => Kind::Failed,
        };
        Self::new(kind, error.to_string())
    }
}
