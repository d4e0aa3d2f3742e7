//! What becomes of FOUND_ROWS(): which statements leave it, and after which it is the number of rows sent.

use super::bits::PinSet;
use super::walk::Walk;
use crate::Keyword;
use crate::functions::is_aggregate;
use crate::words::WordId;
use weir_model::ServerFamily;

/// What FOUND_ROWS() is after a statement that succeeded, as far as its text shows.
///
/// Measured on MariaDB 10.11.19 and MySQL 9.7.4, by text and by prepared statements, against the rows that the client
/// got. "sent" is their number, "other" any other; where the servers differ, MariaDB comes first.
///
/// | statement | FOUND_ROWS() |
/// |---|---|
/// | SELECT with WHERE, JOIN, GROUP BY, HAVING, ORDER BY, DISTINCT, WITH, windows, subqueries, FOR UPDATE, `LIMIT n` | sent |
/// | the same with `LIMIT m, n`, `OFFSET m`, FETCH ... WITH TIES, SQL_CALC_FOUND_ROWS | other |
/// | an aggregate function without GROUP BY (kept, or of a subquery, if no row is found) | other, sent |
/// | GROUP BY ... WITH ROLLUP and LIMIT | other, sent |
/// | UNION, EXCEPT, INTERSECT with LIMIT or sql_select_limit | other, sent |
/// | SELECT ... INTO | other |
/// | VALUES; TABLE | kept, sent; -, sent |
/// | SHOW of TABLES, DATABASES, VARIABLES, STATUS, COLUMNS, INDEX, ... | sent |
/// | SHOW of WARNINGS, ERRORS, CREATE, GRANTS, PROCESSLIST; EXPLAIN | kept |
/// | DO | kept, 1 |
/// | SET, USE, BEGIN, COMMIT, SAVEPOINT, LOCK TABLES, DDL | kept |
/// | `SET @a = (SELECT ...)`, CREATE TABLE ... SELECT | other, kept |
/// | INSERT, REPLACE with VALUES or SET, any number of rows, triggers and ON DUPLICATE KEY UPDATE included | kept |
/// | INSERT, REPLACE with a query or a subquery | other |
/// | UPDATE of one table, DELETE of one table | kept, other; kept |
/// | UPDATE and DELETE of several tables | other |
/// | an error before rows are read; a statement of this table that keeps it and fails | kept |
///
/// What no text shows: an INSERT into a view WITH CHECK OPTION whose WHERE has a subquery changes FOUND_ROWS() too. UPDATE and
/// DELETE are never told, for the name may be that of a view of several tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RowsFound {
    /// The number of rows in the answer. Where the rows stay in a cursor, they are not in the answer.
    AsSent,
    /// As before, were it that the statement fails.
    Kept,
    /// Only the server can tell.
    #[default]
    Unknown,
}

impl RowsFound {
    /// Of this statement and one behind it in the same packet.
    pub(super) fn and(self, next: Self) -> Self {
        match (self, next) {
            (Self::Kept, Self::Kept) => Self::Kept,
            _ => Self::Unknown,
        }
    }
}

/// What a statement does, as far as FOUND_ROWS() hangs on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Does {
    /// SELECT, WITH.
    Query,
    /// INSERT, REPLACE.
    Insert,
    /// CREATE, ALTER, DROP, RENAME, TRUNCATE.
    Define { is_view: bool },
    /// SET, transactions, and what else leaves FOUND_ROWS() alone unless a query stands in it.
    Keep,
    /// A SHOW that the servers run as a query of their own.
    List,
    #[default]
    Other,
}

impl Does {
    /// What FOUND_ROWS() is after a statement that was taken to its end.
    pub(super) fn after(self, walk: &Walk<'_>) -> RowsFound {
        let shape = walk.scan.shape;
        match self {
            Self::Query => shape.after_query(walk.scan.pins, walk.cursor.mode().family),
            Self::Insert => kept_if(!shape.has_query && !shape.has_table),
            // That of a view runs no query.
            Self::Define { is_view } => kept_if(is_view || (!shape.has_query && !shape.has_values)),
            Self::Keep => kept_if(!shape.has_query),
            Self::List if !shape.has_query => RowsFound::AsSent,
            Self::List | Self::Other => RowsFound::Unknown,
        }
    }
}

/// What a SHOW does, from behind its scope. The many that are missing here were not measured on both servers, or differ.
pub(super) fn shown(walk: &mut Walk<'_>) -> Does {
    const LISTS: [&[u8]; 11] = [
        b"tables",
        b"databases",
        b"schemas",
        b"variables",
        b"status",
        b"columns",
        b"fields",
        b"index",
        b"indexes",
        b"keys",
        b"collation",
    ];
    const KEPT: [&[u8]; 6] = [b"warnings", b"errors", b"create", b"grants", b"processlist", b"engine"];
    walk.take_word(b"full");
    if KEPT.iter().any(|word| walk.is_word(word)) {
        Does::Keep
    } else if LISTS.iter().any(|word| walk.is_word(word)) {
        Does::List
    } else {
        Does::Other
    }
}

/// What a statement has of that on which FOUND_ROWS() hangs. Gathered word by word.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shape {
    /// SELECT outside of parentheses.
    selects: u8,
    /// A query, or a part of one, anywhere: SELECT, UNION, LIMIT.
    has_query: bool,
    has_values: bool,
    has_table: bool,
    has_limit: bool,
    has_group: bool,
    has_aggregate: bool,
    /// Something outside of parentheses after which the rows sent are not the rows found.
    is_odd: bool,
}

impl Shape {
    /// `is_top`: outside of parentheses.
    pub(super) fn word(&mut self, keyword: Keyword, is_top: bool) {
        use Keyword as K;
        match keyword {
            K::Select => {
                self.has_query = true;
                self.selects = self.selects.saturating_add(u8::from(is_top));
            }
            K::Limit => {
                self.has_query = true;
                self.has_limit |= is_top;
            }
            K::Union | K::Except | K::Intersect | K::Minus => {
                self.has_query = true;
                self.is_odd |= is_top;
            }
            K::Into | K::Procedure | K::Offset | K::Fetch | K::Rows | K::Rollup | K::Rownum => {
                self.is_odd |= is_top;
            }
            K::Values => self.has_values = true,
            K::Table => self.has_table = true,
            K::Group => self.has_group |= is_top,
            _ => {}
        }
    }

    /// A `,` outside of parentheses: behind LIMIT, what stands before it is an offset.
    pub(super) fn comma(&mut self) {
        self.is_odd |= self.has_limit;
    }

    /// A call of a built-in function. On MySQL, nothing hangs on which.
    pub(super) fn call(&mut self, name: WordId) {
        self.has_aggregate |= is_aggregate(name);
    }

    /// After SELECT, WITH ... SELECT. `pins` are those of its functions.
    fn after_query(self, pins: PinSet, family: ServerFamily) -> RowsFound {
        let may_find_nothing = self.has_aggregate && !self.has_group && family == ServerFamily::MariaDb;
        let is_exact = self.selects == 1 && !self.is_odd && !may_find_nothing && pins.is_empty();
        if is_exact { RowsFound::AsSent } else { RowsFound::Unknown }
    }
}

fn kept_if(kept: bool) -> RowsFound {
    if kept { RowsFound::Kept } else { RowsFound::Unknown }
}
