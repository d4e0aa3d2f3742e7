//! What a session does next.

use super::session::{Session, Transaction};
use super::world::{APP, GRANTED, OTHER, READER, ROWS, SCHEMAS, TABLES, User, view_sql};
use crate::client::command::Param;
use crate::differential::rng::Rng;

mod reads;

pub use reads::{Answers, FOUND_ROWS, Hint, Read};

/// A step of a session.
#[derive(Debug, Clone)]
pub enum Step {
    Read(Read),
    /// Changes rows of one table, `schema.name`.
    Write {
        sql: String,
        table: String,
        params: Option<Vec<Param>>,
    },
    Begin(Transaction, &'static str),
    End(&'static str),
    /// Changes the session's own state.
    Set(String),
    /// COM_INIT_DB.
    InitDb(&'static str),
    ChangeUser(User, &'static str),
    Reset,
    MakeTemporary,
    DropTemporary,
    /// Changes a table or a view itself: `schema.name`.
    Define {
        sql: String,
        of: String,
    },
    /// GRANT and REVOKE.
    Rights(String),
    /// Through the API.
    Wipe(Wipe),
    /// Behind Weir's back, on both servers.
    Behind(String),
}

/// What the API is asked to wipe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wipe {
    All,
    Table(String),
    Rule(&'static str),
    User(&'static str),
    Tag(&'static str),
    Schema(&'static str),
    /// That of this statement.
    Digest(String),
}

/// Sessions that write often.
const WRITERS: usize = 3;

/// Whether it does things after which Weir knows less of a session: the others are those that memory serves.
fn is_odd(session: &Session) -> bool {
    session.number.is_multiple_of(4)
}

/// Tags in hints.
pub const TAGS: [&str; 2] = ["red", "blue"];

/// The state in which sessions begin, and to which they come back often.
pub const USUAL: &str = "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci, sql_mode = 'STRICT_TRANS_TABLES', time_zone = '+00:00', \
     div_precision_increment = 4, group_concat_max_len = 1024, sql_select_limit = DEFAULT, lc_time_names = 'en_US', \
     max_sort_length = 1024, default_week_format = 0, /*!80000 optimizer_switch = 'block_nested_loop=on', */ \
     /*M! join_cache_level = 2, */ wait_timeout = 28800";

/// Without a join buffer rows come in another order. Each server executes the comment that is meant for it.
const UNBUFFERED: &str = "SET /*!80000 optimizer_switch = 'block_nested_loop=off', */ /*M! join_cache_level = 0, */ wait_timeout = 28800";

/// What all sessions have in common.
#[derive(Debug, Clone, Default)]
pub struct Shared {
    /// Columns that were added: `schema.name`.
    pub widened: Vec<String>,
    /// Views that answer otherwise each time.
    pub odd: Vec<String>,
    /// Revoked from the reader.
    pub revoked: Vec<String>,
    /// The number of the session that is in a transaction, and the table that it locks.
    pub busy: Option<(usize, String)>,
    /// Weir has an API.
    pub api: bool,
    /// How most sessions are most of the time.
    pub usual: Vec<u8>,
}

/// The next step of this session.
pub fn step(rng: &mut Rng, session: &Session, shared: &Shared) -> Step {
    if let Some(transaction) = &session.transaction {
        return in_transaction(rng, session, transaction, shared);
    }
    if session.clouded && session.temporary.is_none() && rng.one_in(20) {
        return Step::Reset;
    }
    if session.temporary.is_some() && rng.one_in(6) {
        return Step::DropTemporary;
    }
    if session.manner() != shared.usual && rng.one_in(4) {
        return Step::Set(USUAL.to_owned());
    }
    // A session is not served what is older than its own last write, so most of them write seldom.
    if session.number < WRITERS && rng.one_in(5) {
        return write(rng, session, shared).unwrap_or_else(|| state(rng));
    }
    match rng.below(1000) {
        0..880 => Step::Read(reads::read(rng, session, shared)),
        880..885 => write(rng, session, shared).unwrap_or_else(|| state(rng)),
        885..905 => state(rng),
        905..915 => begin(rng, session, shared).unwrap_or_else(|| state(rng)),
        915..955 => behind(rng, shared),
        955..960
            if is_odd(session)
                && is_writer(session)
                && session.temporary.is_none()
                && session.schema.is_some() =>
        {
            Step::MakeTemporary
        }
        960..966 | 985..991 => change(rng, session, shared).unwrap_or_else(|| state(rng)),
        966..971 => {
            let user = [APP, OTHER, READER][rng.below(3)];
            Step::ChangeUser(user, SCHEMAS[usize::from(rng.one_in(4))])
        }
        971..973 => Step::Reset,
        973..985 if shared.api => Step::Wipe(wipe(rng)),
        _ => Step::Read(reads::read(rng, session, shared)),
    }
}

fn is_writer(session: &Session) -> bool {
    session.user != READER
}

fn in_transaction(rng: &mut Rng, session: &Session, transaction: &Transaction, shared: &Shared) -> Step {
    if transaction.left == 0 {
        return Step::End(if rng.one_in(2) { "ROLLBACK" } else { "COMMIT" });
    }
    if !transaction.read_only && rng.one_in(3) {
        return update(rng, session, &transaction.table);
    }
    Step::Read(reads::read(rng, session, shared))
}

/// A table of either schema, as `schema.name`; the one is asked for more often.
pub fn any_table(rng: &mut Rng) -> String {
    format!("{}.{}", SCHEMAS[usize::from(rng.one_in(5))], TABLES[rng.below(TABLES.len())].0)
}

/// The name as this session would write it: without the schema, where that is its own and nothing temporary hides it.
pub fn written(rng: &mut Rng, session: &Session, table: &str) -> String {
    match table.split_once('.') {
        Some((schema, name)) if session.schema.as_deref() == Some(schema) && !rng.one_in(4) => {
            name.to_owned()
        }
        _ => table.to_owned(),
    }
}

fn write(rng: &mut Rng, session: &Session, shared: &Shared) -> Option<Step> {
    if !is_writer(session) || session.temporary.is_some() {
        return None;
    }
    let table = any_table(rng);
    let locked = shared.busy.as_ref().is_some_and(|(_, locked)| *locked == table);
    if locked {
        return None;
    }
    if let (true, Some(schema)) = (rng.one_in(4), &session.schema) {
        let sql = match rng.below(3) {
            0 => format!("INSERT INTO log (v) VALUES ({}), ({})", rng.below(90), rng.below(90)),
            1 => format!("INSERT INTO {schema}.log SET v = {}", rng.below(90)),
            _ => "DELETE FROM log ORDER BY id LIMIT 3".to_owned(),
        };
        return Some(Step::Write { sql, table: format!("{schema}.log"), params: None });
    }
    Some(update(rng, session, &table))
}

fn update(rng: &mut Rng, session: &Session, table: &str) -> Step {
    let (name, id) = (written(rng, session, table), rng.between(1, ROWS));
    let (sql, params) = match rng.below(8) {
        0 if !session.clouded => {
            let sql = format!("UPDATE {name} SET v = v + 1, n = n + 0.5 WHERE id = ?");
            (sql, Some(vec![Param::Int(id)]))
        }
        1 => (format!("UPDATE {name} SET v = v + 1"), None),
        2 => (format!("UPDATE {name} SET v = v + 1 WHERE id = {id} AND v < 0"), None),
        3 => (format!("UPDATE {name} SET v = v + 1, at = at + INTERVAL 1 MINUTE WHERE id = {id}"), None),
        4 if is_odd(session) && table.ends_with(".lasting") => {
            let schema = table.split('.').next().unwrap_or_default();
            (format!("CALL {schema}.bump({id})"), None)
        }
        5 => (format!("UPDATE {name} SET s = CONCAT(LEFT(s, 3), v), v = v + 1 WHERE id = {id}"), None),
        _ => (format!("UPDATE {name} SET v = v + 1 WHERE id = {id}"), None),
    };
    Step::Write { sql, table: table.to_owned(), params }
}

fn begin(rng: &mut Rng, session: &Session, shared: &Shared) -> Option<Step> {
    if shared.busy.is_some() || session.temporary.is_some() {
        return None;
    }
    let read_only = !is_writer(session) || rng.one_in(4);
    let autocommit_off = rng.one_in(4);
    let transaction =
        Transaction { table: any_table(rng), left: 2 + rng.below(8), autocommit_off, read_only };
    let sql = match (autocommit_off, read_only) {
        (true, _) => "SET autocommit = 0",
        (_, true) => "START TRANSACTION READ ONLY",
        _ => "BEGIN",
    };
    Some(Step::Begin(transaction, sql))
}

fn state(rng: &mut Rng) -> Step {
    let schema = rng.pick(&SCHEMAS);
    let names = ["latin1", "utf8mb4", "utf8mb4", "utf8mb4 COLLATE utf8mb4_bin"];
    Step::Set(match rng.below(18) {
        0 => format!("USE {schema}"),
        1 => return Step::InitDb(if schema == "m_a" { "m_a" } else { "m_b" }),
        2 => format!(
            "SET sql_mode = '{}'",
            rng.pick(&["", "ANSI_QUOTES", "PIPES_AS_CONCAT", "STRICT_TRANS_TABLES"])
        ),
        3 => format!("SET time_zone = '{}'", rng.pick(&["+00:00", "+05:30"])),
        4 => format!("SET NAMES {}", rng.pick(&names)),
        5 => format!("SET div_precision_increment = {}", rng.pick(&["4", "7"])),
        6 => format!("SET group_concat_max_len = {}", rng.pick(&["1024", "24"])),
        7 => format!("SET sql_select_limit = {}", rng.pick(&["DEFAULT", "2"])),
        8 => format!("SET lc_time_names = '{}'", rng.pick(&["en_US", "de_DE"])),
        9 => format!("SET max_sort_length = {}", rng.pick(&["1024", "64"])),
        10 => format!("SET default_week_format = {}", rng.pick(&["0", "1"])),
        11 => UNBUFFERED.to_owned(),
        // No answer depends on it, and nobody is to go without one because of it.
        12 => format!("SET wait_timeout = {}", rng.pick(&["28800", "9999"])),
        // What was set comes back, so that sessions are equal often enough.
        _ => USUAL.to_owned(),
    })
}

fn behind(rng: &mut Rng, shared: &Shared) -> Step {
    let table = any_table(rng);
    match &shared.busy {
        Some((_, locked)) if *locked == table => Step::Behind("DO 0".to_owned()),
        _ => Step::Behind(format!("UPDATE {table} SET v = v + 1 WHERE id = {}", rng.between(1, ROWS))),
    }
}

/// A change of a table, a view or of rights. Not while a transaction is open, whose locks it would wait for.
fn change(rng: &mut Rng, session: &Session, shared: &Shared) -> Option<Step> {
    if shared.busy.is_some() || !is_writer(session) || session.temporary.is_some() {
        return None;
    }
    let is = |list: &[String], name: &str| list.iter().any(|n| n == name);
    Some(match rng.below(4) {
        0 => {
            let of = any_table(rng);
            let name = written(rng, session, &of);
            let sql = match is(&shared.widened, &of) {
                true => format!("ALTER TABLE {name} DROP COLUMN extra"),
                false => format!("ALTER TABLE {name} ADD COLUMN extra INT NOT NULL DEFAULT 7"),
            };
            Step::Define { sql, of }
        }
        1 | 2 => {
            let schema = session.schema.as_deref()?;
            let view = rng.pick(&["v_short", "v_flip", "v_flip", "v_deep"]);
            let of = format!("{schema}.{view}");
            let odd = view == "v_flip" && !is(&shared.odd, &of);
            Step::Define { sql: view_sql(view, odd), of }
        }
        _ => {
            let table = rng.pick(&GRANTED);
            Step::Rights(match is(&shared.revoked, table) {
                true => format!("GRANT SELECT ON {table} TO reader@'%'"),
                false => format!("REVOKE SELECT ON {table} FROM reader@'%'"),
            })
        }
    })
}

fn wipe(rng: &mut Rng) -> Wipe {
    match rng.below(12) {
        0 => Wipe::All,
        1 => Wipe::Rule(TABLES[rng.below(TABLES.len())].0),
        2 => Wipe::User([APP, OTHER, READER][rng.below(3)].0),
        8 => Wipe::Schema(SCHEMAS[rng.below(SCHEMAS.len())]),
        9 | 10 => Wipe::Digest(reads::hot(rng).0),
        3 | 4 => Wipe::Tag(if rng.one_in(2) { TAGS[0] } else { TAGS[1] }),
        _ => Wipe::Table(any_table(rng)),
    }
}
