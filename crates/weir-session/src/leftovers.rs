//! What a statement leaves behind for the next one: LAST_INSERT_ID(), ROW_COUNT(), FOUND_ROWS(), warnings.
//!
//! On a direct connection the next statement finds them. Here it may run on another connection, or on one that somebody
//! else has used in between ("touched"). What is known exactly is made anew there; what cannot be made anew holds the
//! connection until the next statement.
//!
//! Measured on MariaDB 10.11.19 and MySQL 9.7.4:
//!
//! | statement | ROW_COUNT() | FOUND_ROWS() | LAST_INSERT_ID() | warnings |
//! |---|---|---|---|---|
//! | `SET @@SESSION.last_insert_id=N` | 0 | kept | N, and @@identity | 0 |
//! | `SELECT 1 LIMIT 1` | -1 | 1 | kept | 0 |
//! | `SELECT 1 LIMIT 0` | -1 | 0 | kept | 0 |
//! | `SELECT 1 INTO @x` | 1 | MariaDB 0, MySQL 1 | kept | 0 |
//! | `SELECT SQL_CALC_FOUND_ROWS 1 FROM JSON_TABLE(<N elements>) LIMIT 1` | -1 | N | kept | MySQL 1 (1287) |
//! | the same with `INTO @x` | 1 | N | kept | MySQL 1 |
//! | `DO 0` | 0 | MariaDB kept, MySQL 1 | kept | 0 |
//! | `SET @@SESSION.sql_mode=@@SESSION.sql_mode` | 0 | kept | kept | MySQL those that the mode got when it was set |
//!
//! On MySQL each of them clears the diagnostics area first. On MariaDB it takes a statement that reads a table, were it
//! a derived one: after `SET`, `SELECT 1` or `BEGIN`, SHOW WARNINGS still shows those of the statement before.

use weir_model::ServerFamily;
use weir_wire::command;
use weir_wire::packet::status;

use crate::pins::{PinReason, PinSet};
use crate::plan::{Send, Step};
use crate::statement::{Assigned, Effect, FoundRows, InsertId, Outcome, Reads, Statement};
use crate::variable::{Server, VarSet, Variable};

pub use lost::Lost;

mod lost;

/// What the last statement of a session left behind. None: only the connection that it ran on knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leftovers {
    insert_id: Option<u64>,
    found_rows: Option<u64>,
    row_count: i64,
    /// The diagnostics area holds something: a warning, a note or an error.
    diagnostics: bool,
    /// FOUND_ROWS() cannot be had any more: the last statement failed, and may have left what was there, which was another session's.
    rows_lost: bool,
    /// FOUND_ROWS() is of a statement with SQL_CALC_FOUND_ROWS: it will be asked for.
    calculated: bool,
    /// What the diagnostics area holds is one warning of MySQL's and nothing else, and it can be made anew.
    deprecated: Option<Deprecated>,
}

/// What MySQL warns of each time it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deprecated {
    /// SQL_CALC_FOUND_ROWS (1287)
    CalcFoundRows,
    /// FOUND_ROWS() (1287)
    FoundRows,
    /// A value of `sql_mode` (3135), see [`sets_deprecated_mode`].
    SqlMode,
}

/// What must be done so that a statement finds what the one before it left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Any connection will do, after these steps, which come last in a plan.
    Anywhere(Vec<Step>),
    /// It must run on the connection of the statement before it, and nothing else may have run there since.
    SameConnection,
    /// It cannot be had any more: the connection was given away although [`Leftovers::holds`] said no, or a sum of values is
    /// asked for that nothing makes anew. The statement must be refused, never answered wrongly.
    Unavailable(Lost),
}

/// Where a session's next statement may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The connection of the last statement, and nothing has run there since.
    Untouched,
    /// The connection that the session has, where LAST_INSERT_ID() is the session's, and the rest may be another statement's.
    Touched,
    /// Another connection, or one that was used since. `insert_id` is what LAST_INSERT_ID() is there, if that is known.
    Other { insert_id: Option<u64> },
}

/// The user variable that takes the row of `SELECT ... INTO`. It stays on the connection, so its name is reserved.
pub const RESERVED_VARIABLE: &str = "weir_row_count";

/// The largest FOUND_ROWS() that is made anew elsewhere: the statement makes a JSON text of two bytes for each row, and
/// max_allowed_packet must never cut it.
pub const FOUND_ROWS_MAX: u64 = 100_000;

impl Leftovers {
    /// Of a session that has just logged in, or was reset.
    pub const FRESH: Self = Self {
        insert_id: Some(0),
        found_rows: Some(0),
        rows_lost: false,
        row_count: 0,
        diagnostics: false,
        calculated: false,
        deprecated: None,
    };

    /// Takes in how a text statement or an execution ended.
    pub fn after(&mut self, statement: &Statement<'_>, outcome: Outcome) {
        let reported = match outcome {
            Outcome::Ok { insert_id, .. } => insert_id != 0,
            // RETURNING gives rows, an error says nothing: an id may have been made.
            Outcome::Rows { .. } | Outcome::Err { .. } => true,
        };
        match statement.insert_id {
            InsertId::Kept => {}
            InsertId::Insert if !reported => {}
            InsertId::Insert | InsertId::Unknown => self.insert_id = None,
        }
        if statement.found_rows != FoundRows::Kept && !is_refused(statement, outcome) {
            self.found_rows = match (statement.found_rows, outcome) {
                (FoundRows::RowsSent, Outcome::Rows { rows, status, .. }) if !has_cursor(status) => {
                    Some(rows)
                }
                _ => None,
            };
            self.rows_lost = false;
            self.calculated = statement.pins.contains(PinReason::FoundRows) && outcome.is_ok();
        }
        self.deprecated = sets_deprecated_mode(statement, outcome).then_some(Deprecated::SqlMode);
        self.row_count = match outcome {
            Outcome::Ok { affected_rows, .. } => affected_rows.cast_signed(),
            Outcome::Rows { .. } | Outcome::Err { .. } => -1,
        };
        match outcome {
            Outcome::Err { .. } => self.diagnostics = true,
            Outcome::Ok { warnings, .. } | Outcome::Rows { warnings, .. } => {
                self.diagnostics = warnings != 0 || (statement.keeps_diagnostics && self.diagnostics);
            }
        }
    }

    /// Takes in that another command was answered ([`weir_wire::command`]). Measured on both servers:
    ///
    /// | command | ROW_COUNT() | diagnostics |
    /// |---|---|---|
    /// | COM_PING, COM_INIT_DB, COM_STMT_RESET | 0 | kept |
    /// | COM_SET_OPTION | -1 | kept |
    /// | COM_FIELD_LIST | -1 | MySQL adds 1681, MariaDB keeps |
    /// | COM_STMT_PREPARE | kept | MySQL clears, MariaDB keeps |
    /// | COM_STATISTICS, COM_STMT_CLOSE, COM_STMT_SEND_LONG_DATA | kept | kept |
    /// | COM_RESET_CONNECTION | 0 | cleared |
    ///
    /// FOUND_ROWS() stays in all of them; LAST_INSERT_ID() too, but for COM_RESET_CONNECTION, which makes it 0.
    pub fn after_command(&mut self, command: u8, succeeded: bool, server: Server) {
        let mysql = server.family == ServerFamily::MySql;
        if !succeeded {
            (self.row_count, self.diagnostics, self.deprecated) = (-1, true, None);
            return;
        }
        match command {
            command::PING | command::INIT_DB | command::STMT_RESET => self.row_count = 0,
            command::SET_OPTION => self.row_count = -1,
            command::FIELD_LIST => {
                self.row_count = -1;
                if mysql {
                    self.warned();
                }
            }
            command::STMT_PREPARE if mysql => (self.diagnostics, self.deprecated) = (false, None),
            command::RESET_CONNECTION => {
                *self = Self { found_rows: self.found_rows, ..Self::FRESH };
            }
            command::CHANGE_USER => *self = Self::FRESH,
            _ => {}
        }
    }

    /// The last statement had SQL_CALC_FOUND_ROWS or the like, and this is what FOUND_ROWS() gives after it. `deprecated`: the only
    /// warning it left is that MySQL means to do without SQL_CALC_FOUND_ROWS. No connection is needed for either any more.
    pub fn calculated(&mut self, found_rows: u64, deprecated: bool) {
        (self.found_rows, self.calculated) = (Some(found_rows), false);
        (self.diagnostics, self.deprecated) = (deprecated, deprecated.then_some(Deprecated::CalcFoundRows));
    }

    /// The last statement was `SELECT FOUND_ROWS()`, and the only warning it left is that MySQL means to do without that.
    pub fn told_found_rows(&mut self) {
        (self.diagnostics, self.deprecated) = (true, Some(Deprecated::FoundRows));
    }

    /// The command before has left warnings, which it may have added to others: COM_STMT_PREPARE, COM_FIELD_LIST.
    pub fn warned(&mut self) {
        (self.diagnostics, self.deprecated) = (true, None);
    }

    /// The last statement has left an error, a warning or a note.
    pub fn has_diagnostics(&self) -> bool {
        self.diagnostics
    }

    /// The last statement has left a warning, and it needs no connection: it can be made anew.
    pub fn warns_anew(&self) -> bool {
        self.diagnostics && self.deprecated.is_some()
    }

    /// What the connection has as FOUND_ROWS() may be another session's.
    pub fn lose_found_rows(&mut self) {
        self.rows_lost = self.found_rows.is_none();
    }

    /// LAST_INSERT_ID() is what it was, whatever was read from the connection.
    pub fn keep_insert_id(&mut self, own: u64) {
        self.insert_id = Some(own);
    }

    /// LAST_INSERT_ID() of the session, and of its connection after its statement; None: the connection must be asked.
    pub fn insert_id(&self) -> Option<u64> {
        self.insert_id
    }

    /// FOUND_ROWS(); None: the connection must be asked.
    pub fn found_rows(&self) -> Option<u64> {
        self.found_rows
    }

    /// ROW_COUNT().
    pub fn row_count(&self) -> i64 {
        self.row_count
    }

    /// The pins that keep the connection until the next statement, because what is left there cannot be made anew elsewhere.
    pub fn holds(&self, server: Server) -> PinSet {
        let mut pins = PinSet::EMPTY;
        if self.diagnostics && self.deprecated.is_none() {
            pins.insert(PinReason::Warnings);
        }
        if !(-1..=1).contains(&self.row_count) {
            pins.insert(PinReason::RowCount);
        }
        let movable = self.rows_lost
            || self.found_rows.map_or(has_json_table(server), |n| can_make_found_rows(server, n));
        if self.calculated || !movable {
            pins.insert(PinReason::FoundRows);
        }
        pins
    }

    /// What is left on the connection alone. Before anybody else's statement runs there, [`Self::read_back_text`] must: at once, or
    /// when another session takes the connection. In the usual case its own session comes first, and nothing is asked.
    ///
    /// To ask is a choice: what is not read back is lost, and a statement that reads it is then refused.
    pub fn owes(&self) -> Reads {
        let part = |missing: bool, what| if missing { what } else { Reads::NONE };
        part(self.insert_id.is_none(), Reads::LAST_INSERT_ID)
            .union(part(self.found_rows.is_none() && !self.rows_lost, Reads::FOUND_ROWS))
    }

    /// The statement that reads what is left on the connection. It leaves the connection touched.
    pub fn read_back_text(&self) -> &'static str {
        // FOUND_ROWS() in it is that of the statement before it.
        // Without LIMIT, sql_select_limit may leave no row.
        "SELECT LAST_INSERT_ID(),FOUND_ROWS() LIMIT 1"
    }

    /// Takes the row that answers [`Self::read_back_text`]. False: it is not such a row, and nothing has changed; the connection must
    /// then be kept or closed.
    pub fn read_back(&mut self, row: &[Option<&[u8]>]) -> bool {
        let number = |text: &Option<&[u8]>| std::str::from_utf8((*text)?).ok()?.parse::<u64>().ok();
        let [insert_id, found_rows] = row else { return false };
        let (Some(insert_id), Some(found_rows)) = (number(insert_id), number(found_rows)) else {
            return false;
        };
        self.insert_id.get_or_insert(insert_id);
        if !self.rows_lost {
            self.found_rows.get_or_insert(found_rows);
        }
        true
    }

    /// What of this a statement must find. What it leaves may come on top of a warning that it keeps.
    pub fn reads(&self, statement: &Statement<'_>) -> Reads {
        let adds = statement.keeps_diagnostics && self.warns_anew();
        if adds { statement.reads.union(Reads::DIAGNOSTICS) } else { statement.reads }
    }

    /// What must be done so that a statement finds what it reads.
    ///
    /// A statement that may make an insert id counts as one that reads LAST_INSERT_ID(): if it makes none after all, the old one must be
    /// there, or what is read back afterwards would be another session's.
    pub fn next(&self, statement: &Statement<'_>, place: Place, server: Server) -> Next {
        let mut reads = self.reads(statement);
        if statement.insert_id != InsertId::Kept {
            reads = reads.union(Reads::LAST_INSERT_ID);
        }
        let there = match place {
            Place::Other { insert_id } => insert_id,
            Place::Touched => {
                reads = reads.minus(Reads::LAST_INSERT_ID);
                None
            }
            Place::Untouched if reads.is_none() => return Next::Anywhere(Vec::new()),
            Place::Untouched => return Next::SameConnection,
        };
        if reads.contains(Reads::LAST_INSERT_ID) && self.insert_id.is_some() && self.insert_id == there {
            reads = reads.minus(Reads::LAST_INSERT_ID);
        }
        if reads.is_none() {
            return Next::Anywhere(Vec::new());
        }
        match self.rebuild(reads, server) {
            Ok(steps) => Next::Anywhere(steps),
            Err(lost) => Next::Unavailable(lost),
        }
    }

    /// The statements that make anew what is read: the insert id, then FOUND_ROWS(), then ROW_COUNT() and a clean
    /// diagnostics area, in an order in which none undoes another.
    fn rebuild(&self, reads: Reads, server: Server) -> Result<Vec<Step>, Lost> {
        let wants = |what| reads.contains(what);
        let (rows, count, clean) =
            (wants(Reads::FOUND_ROWS), wants(Reads::ROW_COUNT), wants(Reads::DIAGNOSTICS));
        let mut steps = Vec::new();
        if clean && self.diagnostics {
            let what = self.deprecated.ok_or(Lost::Diagnostics)?;
            return self.warn_anew(what, reads, server);
        }
        if clean && server.family == ServerFamily::MariaDb {
            steps.push(step("SELECT 1 FROM (SELECT 1) t LIMIT 1".to_owned(), false));
        }
        if wants(Reads::LAST_INSERT_ID) {
            let id = self.insert_id.ok_or(Lost::LastInsertId)?;
            steps.push(step(format!("SET @@SESSION.last_insert_id={id}"), false));
        }
        if count && !(-1..=1).contains(&self.row_count) {
            return Err(Lost::RowCount);
        }
        let n = match self.found_rows {
            _ if !rows => None,
            Some(n) if can_make_found_rows(server, n) => Some(n),
            _ => return Err(Lost::FoundRows),
        };
        // MySQL warns of SQL_CALC_FOUND_ROWS itself.
        let warns = n.is_some_and(|n| n > 1) && server.family == ServerFamily::MySql;
        match (count.then_some(self.row_count), n) {
            (Some(1), n) => steps.push(row_count_of_one(n, clean, server)?),
            (Some(-1), n) => {
                if warns && clean {
                    return Err(Lost::Combination);
                }
                steps.push(found_rows_step(n.unwrap_or(1), ""));
            }
            (Some(_), n) => {
                steps.extend(n.map(|n| found_rows_step(n, "")));
                steps.push(cleaner());
            }
            (None, Some(n)) => {
                steps.push(found_rows_step(n, ""));
                if warns && clean {
                    steps.push(cleaner());
                }
            }
            (None, None) if clean && steps.is_empty() => steps.push(cleaner()),
            (None, None) => {}
        }
        Ok(steps)
    }
}

impl Leftovers {
    /// For what [`Self::calculated`] was told of, the statement that makes FOUND_ROWS() gives the warning, and ROW_COUNT() of -1, as the
    /// one before it did. A mode is set to what it is.
    fn warn_anew(&self, what: Deprecated, reads: Reads, server: Server) -> Result<Vec<Step>, Lost> {
        let mut steps = Vec::new();
        if reads.contains(Reads::LAST_INSERT_ID) {
            let id = self.insert_id.ok_or(Lost::LastInsertId)?;
            steps.push(step(format!("SET @@SESSION.last_insert_id={id}"), false));
        }
        let row_count = if what == Deprecated::SqlMode { 0 } else { -1 };
        if reads.contains(Reads::ROW_COUNT) && self.row_count != row_count {
            return Err(Lost::Combination);
        }
        if what == Deprecated::SqlMode {
            if reads.contains(Reads::FOUND_ROWS) {
                let n = self.found_rows.filter(|n| can_make_found_rows(server, *n)).ok_or(Lost::FoundRows)?;
                steps.push(found_rows_step(n, ""));
            }
            steps.push(step("SET @@SESSION.sql_mode=@@SESSION.sql_mode".to_owned(), true));
            return Ok(steps);
        }
        if what == Deprecated::FoundRows {
            // It has given one row.
            steps.push(step("SELECT FOUND_ROWS()".to_owned(), true));
            return Ok(steps);
        }
        let n = match self.found_rows {
            _ if !reads.contains(Reads::FOUND_ROWS) => 1,
            Some(n) if n > 0 && can_make_found_rows(server, n) => n,
            Some(0) => 0,
            _ => return Err(Lost::FoundRows),
        };
        let text = match n {
            0 => "SELECT SQL_CALC_FOUND_ROWS 1 FROM (SELECT 1) t WHERE 1=0 LIMIT 1".to_owned(),
            1 => "SELECT SQL_CALC_FOUND_ROWS 1 LIMIT 1".to_owned(),
            n => calculated(n, ""),
        };
        steps.push(step(text, true));
        Ok(steps)
    }
}

/// Whether a statement that succeeded has set `sql_mode` to a value of which MySQL says, in one warning and each time it is set, that
/// NO_ZERO_DATE, NO_ZERO_IN_DATE and ERROR_FOR_DIVISION_BY_ZERO go with a strict mode (3135); and has left no other warning.
fn sets_deprecated_mode(statement: &Statement<'_>, outcome: Outcome) -> bool {
    const MERGED: [&[u8]; 3] = [b"NO_ZERO_DATE", b"NO_ZERO_IN_DATE", b"ERROR_FOR_DIVISION_BY_ZERO"];
    // The last is warned of by itself.
    const OTHERWISE: [&[u8]; 4] =
        [b"STRICT_TRANS_TABLES", b"STRICT_ALL_TABLES", b"TRADITIONAL", b"PAD_CHAR_TO_FULL_LENGTH"];
    let ([Effect::Variable { name, value: Assigned::Literal(text) }], Outcome::Ok { warnings: 1, .. }) =
        (statement.effects, outcome)
    else {
        return false;
    };
    // On MariaDB, which says nothing of the kind, SET keeps the diagnostics.
    let plain = !statement.keeps_diagnostics
        && !statement.may_begin
        && !statement.temporary
        && statement.pins.is_empty()
        && statement.found_rows == FoundRows::Kept;
    let names = |of: &[&[u8]]| {
        text.split(|b| *b == b',').any(|mode| of.iter().any(|name| mode.eq_ignore_ascii_case(name)))
    };
    plain && Variable::find(name) == Some(Variable::SQL_MODE) && names(&MERGED) && !names(&OTHERWISE)
}

/// Whether the rows stay on the server: FOUND_ROWS() is their number, and none was sent. To fetch them does not change it.
fn has_cursor(flags: u16) -> bool {
    flags & status::CURSOR_EXISTS != 0
}

/// ROW_COUNT() of 1, with FOUND_ROWS() of `n` where that is wanted.
fn row_count_of_one(n: Option<u64>, clean: bool, server: Server) -> Result<Step, Lost> {
    let into = format!(" INTO @{RESERVED_VARIABLE}");
    let mysql = server.family == ServerFamily::MySql;
    match n {
        None => Ok(step(format!("SELECT 1{into}"), false)),
        Some(0) if !mysql => Ok(step(format!("SELECT 1{into}"), false)),
        Some(1) if mysql => Ok(step(format!("SELECT 1{into}"), false)),
        Some(0) => Err(Lost::Combination),
        Some(_) if clean && mysql => Err(Lost::Combination),
        Some(_) if !has_json_table(server) => Err(Lost::Combination),
        Some(n) => Ok(step(calculated(n, &into), true)),
    }
}

/// Whether the server has refused the statement before any of it ran: FOUND_ROWS() is then what it was. Measured on both servers. What
/// calls functions may fail so in the middle.
fn is_refused(statement: &Statement<'_>, outcome: Outcome) -> bool {
    let Outcome::Err { code } = outcome else { return false };
    // No database, syntax, and what must be there or allowed before a statement begins.
    matches!(code, 1044 | 1046 | 1049 | 1054 | 1064 | 1142 | 1143 | 1146) && !statement.may_begin
}

fn found_rows_step(n: u64, into: &str) -> Step {
    match n {
        0 | 1 => step(format!("SELECT 1 LIMIT {n}{into}"), false),
        // A limit of max_join_size may refuse it.
        n => step(calculated(n, into), true),
    }
}

fn calculated(n: u64, into: &str) -> String {
    let more = n.saturating_sub(1);
    format!(
        "SELECT SQL_CALC_FOUND_ROWS 1{into} FROM JSON_TABLE(CONCAT('[0',REPEAT(',0',{more}),']'),'$[*]' COLUMNS(i FOR ORDINALITY)) t LIMIT 1"
    )
}

/// ROW_COUNT() 0 and an empty diagnostics area; FOUND_ROWS() and LAST_INSERT_ID() stay.
fn cleaner() -> Step {
    step("SET @@SESSION.last_insert_id=@@SESSION.last_insert_id".to_owned(), false)
}

fn step(text: String, must_await: bool) -> Step {
    Step { send: Send::Query(text.into_bytes()), must_await, sets: VarSet::EMPTY }
}

fn can_make_found_rows(server: Server, n: u64) -> bool {
    n <= 1 || (n <= FOUND_ROWS_MAX && has_json_table(server))
}

fn has_json_table(server: Server) -> bool {
    match server.family {
        ServerFamily::MySql => server.version >= 80_004,
        ServerFamily::MariaDb => server.version >= 100_600,
    }
}

#[cfg(test)]
mod tests;
