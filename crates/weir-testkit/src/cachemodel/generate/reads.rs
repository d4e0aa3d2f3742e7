//! Reads: those that may be answered out of memory, and those that must not.

use std::time::Duration;

use super::{Shared, TAGS, any_table, is_odd, written};
use crate::cachemodel::session::Session;
use crate::cachemodel::world::{ROWS, TABLES, VIEWS};
use crate::client::command::Param;
use crate::differential::rng::Rng;

/// What a read may be answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// An answer that was right before.
    Memory,
    /// What the server says now.
    Now,
    /// What it says now; the last value of a row was never seen before, and is not the same on both sides.
    Fresh,
}

/// A read.
#[derive(Debug, Clone)]
pub struct Read {
    pub hint: Hint,
    pub sql: String,
    /// What it names, as `schema.name`.
    pub named: Vec<String>,
    pub answers: Answers,
    /// Prepared, with these.
    pub params: Option<Vec<Param>>,
    /// What is asked right behind it.
    pub behind: &'static str,
}

/// What a comment before a statement says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    None,
    /// A comment that is none.
    Plain,
    NoCache,
    Wipe,
    Ttl(Duration),
    Tag(&'static str),
}

impl Hint {
    pub fn text(self) -> String {
        match self {
            Self::None => String::new(),
            Self::Plain => "/* a page */ ".to_owned(),
            Self::NoCache => "/*nocache*/ ".to_owned(),
            Self::Wipe => "/*wipe*/".to_owned(),
            Self::Ttl(ttl) => format!("/*weir: ttl={}ms */ ", ttl.as_millis()),
            Self::Tag(tag) => format!("/*weir: tag={tag} */"),
        }
    }
}

/// Asks what the statement before has left.
const BEHIND: [&str; 4] =
    ["SELECT FOUND_ROWS()", "SELECT ROW_COUNT()", "SHOW WARNINGS", "SELECT LAST_INSERT_ID()"];

/// The one of [`BEHIND`] that tells how many rows the answer had.
pub const FOUND_ROWS: &str = BEHIND[0];

/// What is asked most, of each table of the session's schema.
const HOT: [&str; 5] = [
    "SELECT * FROM $T WHERE id = 1",
    "SELECT id, v, s FROM $T ORDER BY id",
    "SELECT SUM(v), COUNT(*) FROM $T",
    "SELECT v / 3 AS third, n FROM $T WHERE id = 2",
    "SELECT a.id, b.id, b.v FROM $T a STRAIGHT_JOIN $T b",
];

pub fn read(rng: &mut Rng, session: &Session, shared: &Shared) -> Read {
    let plain = |sql: String, named: Vec<String>| Read {
        hint: Hint::None,
        sql,
        named,
        answers: Answers::Memory,
        params: None,
        behind: "",
    };
    let mut read = match rng.below(40) {
        // Few statements, so that they are asked again in time.
        0..27 => {
            let (hot, table) = hot(rng);
            let schema = session.schema.clone().unwrap_or_default();
            plain(hot, vec![format!("{schema}.{table}")])
        }
        27..30 => {
            let table = any_table(rng);
            let name = written(rng, session, &table);
            plain(of_table(rng, &name), vec![table])
        }
        30 => joined(rng, session, plain),
        31 | 32 => of_view(rng, session, shared, plain),
        33 | 34 if !session.clouded => bound(rng, session, plain),
        35 => calculated(rng, session, plain),
        36 => {
            plain(["SELECT 1 + 1", "SELECT  1  +  1", "SELECT DATABASE()"][rng.below(3)].to_owned(), vec![])
        }
        _ => now(rng, session, shared, plain),
    };
    if read.answers != Answers::Now {
        read.hint = match rng.below(24) {
            0 => Hint::NoCache,
            1 => Hint::Wipe,
            2 => Hint::Ttl(Duration::from_millis([5, 50, 500][rng.below(3)])),
            3 | 4 => Hint::Tag(TAGS[rng.below(TAGS.len())]),
            5 | 6 => Hint::Plain,
            _ => Hint::None,
        };
    }
    if read.behind.is_empty() && read.answers == Answers::Memory && rng.one_in(8) {
        read.behind = BEHIND[rng.below(BEHIND.len())];
    }
    read
}

/// One of those that are asked most, and its table.
pub fn hot(rng: &mut Rng) -> (String, &'static str) {
    let (table, _) = TABLES[rng.below(TABLES.len())];
    (HOT[rng.below(HOT.len())].replace("$T", table), table)
}

fn of_table(rng: &mut Rng, table: &str) -> String {
    let id = rng.between(1, ROWS);
    match rng.below(18) {
        0 => format!("SELECT SUM(v), COUNT(*) FROM {table}"),
        1 => format!("SELECT id, v, s FROM {table} WHERE s LIKE '%ä%' ORDER BY id"),
        2 => format!("SELECT v / 3 AS third, n / 7 FROM {table} WHERE id = {id}"),
        3 => format!("SELECT GROUP_CONCAT(s ORDER BY id) FROM {table}"),
        4 => format!("SELECT id, at, v FROM {table} ORDER BY id"),
        5 => format!("SELECT \"id\", v FROM {table} ORDER BY v, s"),
        6 => format!("SELECT 'a' || v FROM {table} WHERE id = {id}"),
        7 => format!("SELECT id, DAYNAME(at), v FROM {table} ORDER BY id DESC LIMIT 2"),
        8 => format!("WITH c AS (SELECT v FROM {table}) SELECT MAX(v), MIN(v) FROM c"),
        9 => format!("SELECT id, v FROM {table} WHERE id < 3 UNION ALL SELECT 0, SUM(v) FROM {table}"),
        10 => format!("SELECT v,  s FROM {table} WHERE id = {id}"),
        11 => format!("SELECT WEEK(at + INTERVAL 47 DAY), v FROM {table} WHERE id = {id}"),
        12 => format!("SELECT id, v FROM {table} ORDER BY CONCAT(REPEAT('x', 80), 9 - id)"),
        _ => format!("SELECT * FROM {table} WHERE id = {id}"),
    }
}

fn joined(rng: &mut Rng, session: &Session, plain: impl Fn(String, Vec<String>) -> Read) -> Read {
    let (a, b) = (any_table(rng), any_table(rng));
    let (first, second) = (written(rng, session, &a), written(rng, session, &b));
    let sql = format!("SELECT a.id, a.v, b.v FROM {first} a JOIN {second} b USING (id) ORDER BY a.id");
    plain(sql, vec![a, b])
}

fn of_view(
    rng: &mut Rng,
    session: &Session,
    shared: &Shared,
    plain: impl Fn(String, Vec<String>) -> Read,
) -> Read {
    let (view, _) = VIEWS[rng.below(VIEWS.len())];
    let table = any_table(rng);
    let of = format!("{}.{view}", table.split('.').next().unwrap_or_default());
    let name = written(rng, session, &of);
    let odd = shared.odd.contains(&of);
    let answers = if odd { Answers::Fresh } else { Answers::Memory };
    Read { answers, ..plain(format!("SELECT * FROM {name} WHERE id = {}", rng.between(1, ROWS)), vec![of]) }
}

fn bound(rng: &mut Rng, session: &Session, plain: impl Fn(String, Vec<String>) -> Read) -> Read {
    let table = any_table(rng);
    let name = written(rng, session, &table);
    let (sql, params) = match rng.below(3) {
        0 => (
            format!("SELECT id, v FROM {name} WHERE id = ? OR v = ?"),
            vec![Param::Int(rng.between(1, ROWS)), Param::Int(rng.between(0, 3))],
        ),
        1 => (format!("SELECT id, v, s, n, at FROM {name} ORDER BY id"), vec![]),
        _ => {
            let text = ["ä%", "x%", "%2"][rng.below(3)].to_owned();
            (format!("SELECT id, v FROM {name} WHERE s LIKE ? ORDER BY id"), vec![Param::Text(text)])
        }
    };
    Read { params: Some(params), ..plain(sql, vec![table]) }
}

/// WordPress asks like this for every list.
fn calculated(rng: &mut Rng, session: &Session, plain: impl Fn(String, Vec<String>) -> Read) -> Read {
    let schema = any_table(rng).split('.').next().unwrap_or_default().to_owned();
    let table = if rng.one_in(2) { format!("{schema}.log") } else { any_table(rng) };
    let name = written(rng, session, &table);
    let sql = format!("SELECT SQL_CALC_FOUND_ROWS id FROM {name} WHERE v >= 0 ORDER BY id LIMIT 2");
    Read { behind: FOUND_ROWS, ..plain(sql, vec![table]) }
}

/// What is never answered out of memory.
fn now(
    rng: &mut Rng,
    session: &Session,
    shared: &Shared,
    plain: impl Fn(String, Vec<String>) -> Read,
) -> Read {
    let table = any_table(rng);
    let name = written(rng, session, &table);
    let id = rng.between(1, ROWS);
    let schema = table.split('.').next().unwrap_or_default();
    let sql = match rng.below(10) {
        0 => format!("SELECT v, UUID() FROM {name} WHERE id = {id}"),
        1 => format!("SELECT v, @@sql_select_limit FROM {name} WHERE id = {id}"),
        2 if is_odd(session) => format!("SELECT {schema}.f_sum()"),
        3 => format!("SELECT SQL_NO_CACHE v FROM {name} WHERE id = {id}"),
        4 if is_odd(session) => format!("SELECT v FROM {name} WHERE id = {id}; SELECT 1"),
        5 if may_lock(session, shared, &table) => format!("SELECT v FROM {name} WHERE id = {id} FOR UPDATE"),
        6 => format!(
            "SELECT TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{schema}' ORDER BY 1"
        ),
        7 => format!("SELECT v, LAST_INSERT_ID() FROM {name} WHERE id = {id}"),
        8 if is_odd(session) => format!("SELECT v, CONNECTION_ID() > 0 FROM {name} WHERE id = {id}"),
        _ => format!("SELECT v, RAND(3), USER() LIKE '%@%' FROM {name} WHERE id = {id}"),
    };
    let answers = if sql.contains("UUID()") { Answers::Fresh } else { Answers::Now };
    Read { answers, ..plain(sql, vec![table]) }
}

/// Whether a locking read waits for nobody, and nobody for it.
fn may_lock(session: &Session, shared: &Shared, table: &str) -> bool {
    match (&session.transaction, &shared.busy) {
        (Some(transaction), _) => transaction.table == table && !transaction.read_only,
        (None, Some((_, locked))) => locked != table,
        (None, None) => true,
    }
}
