//! What a statement holds, gathered while its tokens are read: where nothing in it is special, nothing has to be looked
//! for.

use crate::Keyword;
use std::ops::{BitOr, BitOrAssign};

/// What kinds of tokens a statement has, one bit for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Marks(u8);

impl Marks {
    pub(crate) const NONE: Self = Self(0);
    /// A token that may mean more than it seems to: everything that is not known to mean nothing by itself.
    pub(crate) const SPECIAL: Self = Self(1);
    /// A `(` that may call a function.
    pub(crate) const CALL: Self = Self(1 << 1);
    pub(crate) const FROM: Self = Self(1 << 2);
    pub(crate) const LIMIT: Self = Self(1 << 3);
    pub(crate) const INTO: Self = Self(1 << 4);
    pub(crate) const UPDATE: Self = Self(1 << 5);
    pub(crate) const GROUP: Self = Self(1 << 6);

    /// Of a keyword that is not the first word of its statement.
    pub(crate) const fn of(keyword: Keyword) -> Self {
        use Keyword as K;
        match keyword {
            K::From => Self::FROM,
            K::Limit => Self::LIMIT,
            K::Into => Self::INTO,
            K::Update => Self::UPDATE,
            K::Group => Self::GROUP,
            K::All | K::As | K::By | K::Default | K::Desc | K::Set | K::Value | K::Values => Self::NONE,
            _ => Self::SPECIAL,
        }
    }

    pub(crate) fn has(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }
}

impl BitOr for Marks {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Marks {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// Words that are no keywords and mean more than a name does: DUAL is no table, RECURSIVE comes before a list of columns,
/// the others are looked for by [`Facts`](crate::Facts).
pub(crate) const WORDS: &[&str] = &[
    "dual",
    "recursive",
    "sql_calc_found_rows",
    "rowcount",
    "nextval",
    "currval",
    "profiling",
    "session_status",
    "status_by_thread",
    "session_variables",
    "variables_by_thread",
    "system_variables",
];

/// Whether a name in quotes or behind a point may be one of those words that are looked for there, by its length without
/// quotes.
pub(crate) fn may_be_special(len: usize) -> bool {
    matches!(len, 7 | 9 | 14 | 16..=19)
}
