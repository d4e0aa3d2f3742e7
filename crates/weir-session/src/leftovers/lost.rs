//! What a statement asks for of the one before it, and nobody can tell any more.

/// What of the last statement cannot be had any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lost {
    LastInsertId,
    RowCount,
    FoundRows,
    Diagnostics,
    /// Each could be made anew, but not all of them at once.
    Combination,
}

impl Lost {
    /// All of them, in the order of their discriminants.
    pub const ALL: [Self; 5] =
        [Self::LastInsertId, Self::RowCount, Self::FoundRows, Self::Diagnostics, Self::Combination];

    /// The name used in logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LastInsertId => "last_insert_id",
            Self::RowCount => "row_count",
            Self::FoundRows => "found_rows",
            Self::Diagnostics => "diagnostics",
            Self::Combination => "combination",
        }
    }
}
