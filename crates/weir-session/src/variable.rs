//! The closed list of session system variables that Weir moves from one server connection to another.

use weir_model::{ServerFamily, version_number};

mod table;

use table::TABLE;

/// A server as far as the list of its variables depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Server {
    pub family: ServerFamily,
    /// Major x 10000 + minor x 100 + patch, as in `/*!80000 */`: 90704 is MySQL 9.7.4, 101119 MariaDB 10.11.19.
    pub version: u32,
}

impl Server {
    /// Out of the version in a handshake packet: `9.7.4`, `5.5.5-10.11.19-MariaDB`, `11.8.2-MariaDB`. What cannot be read counts
    /// as 0: a server that has the variables of the oldest version only.
    pub fn from_version(version: &[u8]) -> Self {
        Self { family: ServerFamily::from_version(version), version: version_number(version) }
    }
}

/// How a value is written in SET, and what it looks like when it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `ON` or `OFF`. `SELECT @@x` gives 1 or 0, session tracking and SHOW VARIABLES give the words.
    Switch,
    /// A number, with or without a fraction, written bare: a quoted one is refused with error 1232.
    Numeric,
    /// A word (a character set, a storage engine), written bare where it is one.
    Word,
    /// Anything else, written as a string.
    Quoted,
}

/// A movable variable: an index into the documented table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Variable(u8);

/// A row of the table.
#[derive(Debug)]
struct Row {
    name: &'static str,
    /// Another name for the same value, on either family.
    alias: &'static str,
    kind: Kind,
    /// First version that has it as a session variable; [`NEVER`] where none has.
    mysql: u32,
    mariadb: u32,
    /// MySQL: setting it needs SESSION_VARIABLES_ADMIN, which a role or REVOKE can take away between two SETs.
    privileged: bool,
    /// Whether answers to reads may depend on it.
    reads: bool,
}

const NEVER: u32 = u32::MAX;

impl Variable {
    pub const AUTOCOMMIT: Self = Self::of("autocommit");
    pub const SESSION_TRACK_STATE_CHANGE: Self = Self::of("session_track_state_change");
    pub const SESSION_TRACK_TRANSACTION_INFO: Self = Self::of("session_track_transaction_info");
    pub const CHARACTER_SET_CLIENT: Self = Self::of("character_set_client");
    pub const CHARACTER_SET_RESULTS: Self = Self::of("character_set_results");
    pub const COLLATION_CONNECTION: Self = Self::of("collation_connection");
    pub const COLLATION_SERVER: Self = Self::of("collation_server");
    pub const COMPLETION_TYPE: Self = Self::of("completion_type");
    pub const DEFAULT_COLLATION_FOR_UTF8MB4: Self = Self::of("default_collation_for_utf8mb4");
    pub const CHARACTER_SET_COLLATIONS: Self = Self::of("character_set_collations");
    pub const MAX_JOIN_SIZE: Self = Self::of("max_join_size");
    pub const OPTIMIZER_SWITCH: Self = Self::of("optimizer_switch");
    pub const SQL_AUTO_IS_NULL: Self = Self::of("sql_auto_is_null");
    pub const SQL_BIG_SELECTS: Self = Self::of("sql_big_selects");
    pub const SQL_MODE: Self = Self::of("sql_mode");
    pub const TRANSACTION_ISOLATION: Self = Self::of("transaction_isolation");
    pub const TRANSACTION_READ_ONLY: Self = Self::of("transaction_read_only");
    pub const TIME_ZONE: Self = Self::of("time_zone");
    pub const WAIT_TIMEOUT: Self = Self::of("wait_timeout");

    /// How many there are: less than 128, so that a [`VarSet`] holds any of them.
    pub const COUNT: usize = TABLE.len();

    /// All of them in the order of the table, which is the order in which a plan sets them.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT as u8).map(Self)
    }

    /// The variable of this name or alias, in any case of letters. None: it is not moved, and setting it pins.
    ///
    /// `character_set_connection` and `character_set_server` are found as the collation that they follow.
    pub fn find(name: &[u8]) -> Option<Self> {
        let is = |n: &str| !n.is_empty() && n.as_bytes().eq_ignore_ascii_case(name);
        match () {
            () if is("character_set_connection") => Some(Self::COLLATION_CONNECTION),
            () if is("character_set_server") => Some(Self::COLLATION_SERVER),
            () => Self::all().find(|v| is(v.row().name) || is(v.row().alias)),
        }
    }

    /// Whether `name` is another variable that this one brings along, with a value of its own.
    pub fn is_derived_name(name: &[u8]) -> bool {
        name.eq_ignore_ascii_case(b"character_set_connection")
            || name.eq_ignore_ascii_case(b"character_set_server")
    }

    /// The name in the MySQL manual, or MariaDB's where MySQL has none.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The name that this server knows. MariaDB before 11.1 calls the transaction characteristics `tx_...`.
    pub fn name_on(self, server: Server) -> &'static str {
        let old = match server.family {
            ServerFamily::MariaDb => server.version < 110_101,
            ServerFamily::MySql => server.version < 50_720,
        };
        if old && self.row().alias.starts_with("tx_") { self.row().alias } else { self.row().name }
    }

    /// Whether this server has it as a session variable.
    pub fn exists_on(self, server: Server) -> bool {
        let first = match server.family {
            ServerFamily::MySql => self.row().mysql,
            ServerFamily::MariaDb => self.row().mariadb,
        };
        server.version >= first
    }

    pub fn kind(self) -> Kind {
        self.row().kind
    }

    /// Whether setting a value that this server has accepted before can fail all the same, so that the answer must
    /// be awaited: a privilege may be gone.
    pub fn may_fail(self) -> bool {
        self.row().privileged
    }

    /// Whether two sessions that differ in it may get different answers to one read: other rows, another order, an error. True for
    /// all but those of which it is certain.
    pub fn affects_results(self) -> bool {
        self.row().reads
    }

    /// What counts when a statement is prepared, and not when it is executed: how its text is read, and what else the server
    /// settles then. Measured on MySQL 9.7.4 (division, WEEK(), names of days, literals with an offset of the time zone, EXPLAIN)
    /// and MariaDB 10.11.19 (what `utf8` means); all others count at the execution, there and here. Three of MySQL's that were not measured are
    /// among them (block_encryption_mode, explain_json_format_version, windowing_use_high_precision): one too many costs a preparation at most.
    pub(crate) fn read_at_preparation(family: ServerFamily) -> &'static [Self] {
        const MYSQL: [Variable; 12] = [
            Variable::SQL_MODE,
            Variable::CHARACTER_SET_CLIENT,
            Variable::COLLATION_CONNECTION,
            Variable::DEFAULT_COLLATION_FOR_UTF8MB4,
            Variable::of("block_encryption_mode"),
            Variable::of("default_week_format"),
            Variable::of("div_precision_increment"),
            Variable::of("explain_format"),
            Variable::of("explain_json_format_version"),
            Variable::of("lc_time_names"),
            Variable::of("time_zone"),
            Variable::of("windowing_use_high_precision"),
        ];
        const MARIADB: [Variable; 5] = [
            Variable::SQL_MODE,
            Variable::CHARACTER_SET_CLIENT,
            Variable::COLLATION_CONNECTION,
            Variable::CHARACTER_SET_COLLATIONS,
            Variable::of("old_mode"),
        ];
        match family {
            ServerFamily::MySql => &MYSQL,
            ServerFamily::MariaDb => &MARIADB,
        }
    }

    /// The variables that setting this one changes as well.
    ///
    /// A max_join_size other than the default turns sql_big_selects off, and the default turns it on
    /// (MySQL manual, "sql_big_selects").
    pub fn disturbs(self) -> VarSet {
        let mut set = VarSet::EMPTY;
        if self == Self::MAX_JOIN_SIZE {
            set.insert(Self::SQL_BIG_SELECTS);
        }
        set
    }

    /// Its place in the table, 0 to [`Self::COUNT`] - 1.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    fn row(self) -> &'static Row {
        &TABLE[self.index()]
    }

    const fn of(name: &str) -> Self {
        let mut i = 0;
        while i < TABLE.len() {
            if same(TABLE[i].name.as_bytes(), name.as_bytes()) {
                return Self(i as u8);
            }
            i += 1;
        }
        panic!("not in the table");
    }
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// A set of movable variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct VarSet(u128);

impl VarSet {
    pub const EMPTY: Self = Self(0);

    /// All variables that a server has.
    pub fn on(server: Server) -> Self {
        Variable::all().filter(|v| v.exists_on(server)).collect()
    }

    pub fn contains(self, v: Variable) -> bool {
        self.0 >> v.0 & 1 != 0
    }

    pub fn insert(&mut self, v: Variable) {
        self.0 |= 1 << v.0;
    }

    pub fn remove(&mut self, v: Variable) {
        self.0 &= !(1 << v.0);
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// In the order of the table.
    pub fn iter(self) -> impl Iterator<Item = Variable> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let next = (left != 0).then(|| Variable(left.trailing_zeros() as u8))?;
            left &= left - 1;
            Some(next)
        })
    }
}

impl FromIterator<Variable> for VarSet {
    fn from_iter<I: IntoIterator<Item = Variable>>(iter: I) -> Self {
        let mut set = Self::EMPTY;
        iter.into_iter().for_each(|v| set.insert(v));
        set
    }
}

#[cfg(test)]
mod tests;
