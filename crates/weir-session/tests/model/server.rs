//! A session of a server as both servers have it, in so far as statements of the test and the commands of Weir change it.
//!
//! It knows nothing of Weir: what a statement does is what the generator says that it does, and what Weir sends is read
//! as text.

use std::collections::{BTreeMap, BTreeSet};

/// The variables of the model, their value at the start, and others that a client may give.
pub const VARIABLES: [(&str, [&str; 3]); 9] = [
    ("autocommit", ["ON", "OFF", "ON"]),
    ("character_set_client", ["utf8mb4", "latin1", "gbk"]),
    ("character_set_results", ["utf8mb4", "latin1", "gbk"]),
    ("collation_connection", ["utf8mb4_general_ci", "latin1_swedish_ci", "gbk_chinese_ci"]),
    ("max_join_size", ["18446744073709551615", "5", "6"]),
    ("sql_big_selects", ["ON", "OFF", "ON"]),
    ("sql_mode", ["", "STRICT_ALL_TABLES", "NO_ZERO_DATE"]),
    ("sql_select_limit", ["18446744073709551615", "7", "8"]),
    ("time_zone", ["SYSTEM", "+01:00", "-02:00"]),
];

pub type Variables = BTreeMap<&'static str, String>;

pub fn defaults() -> Variables {
    VARIABLES.iter().map(|(name, values)| (*name, values[0].to_owned())).collect()
}

/// All that a later statement can see of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub variables: Variables,
    /// The collation that columns of results have: that of SET NAMES or the login; None for the character set's default.
    pub results: Option<String>,
    pub schema: Option<String>,
    /// Each with the character set and collation it has, which make its type; Null is of one that was never anything else.
    pub users: BTreeMap<String, String>,
    pub role: Option<String>,
    pub transaction: bool,
    /// For the next transaction only.
    pub next_isolation: Option<&'static str>,
    pub temporary: BTreeSet<&'static str>,
    pub locks: BTreeSet<&'static str>,
    pub tables_locked: bool,
    pub prepared: BTreeSet<&'static str>,
}

impl Session {
    /// A session that has just logged in, without a schema.
    pub fn new(global: &Variables) -> Self {
        Self {
            variables: global.clone(),
            results: Some(global["collation_connection"].clone()),
            schema: None,
            users: BTreeMap::new(),
            role: None,
            transaction: false,
            next_isolation: None,
            temporary: BTreeSet::new(),
            locks: BTreeSet::new(),
            tables_locked: false,
            prepared: BTreeSet::new(),
        }
    }

    /// COM_RESET_CONNECTION: schema and role stay (measured on both servers).
    pub fn reset(&mut self, global: &Variables) {
        *self = Self { schema: self.schema.take(), role: self.role.take(), ..Self::new(global) };
    }

    /// SET of one variable, with what it brings about.
    pub fn set(&mut self, name: &'static str, value: String) {
        match name {
            "character_set_results" => self.results = None,
            "max_join_size" => {
                let unlimited = value == VARIABLES[4].1[0];
                self.variables.insert("sql_big_selects", if unlimited { "ON" } else { "OFF" }.to_owned());
            }
            "autocommit" if value == "ON" && self.variables["autocommit"] == "OFF" => self.ends(),
            _ => {}
        }
        self.variables.insert(name, value);
    }

    /// SET NAMES.
    pub fn names(&mut self, charset: &str, collation: &str) {
        self.variables.insert("character_set_client", charset.to_owned());
        self.variables.insert("character_set_results", charset.to_owned());
        self.variables.insert("collation_connection", collation.to_owned());
        self.results = Some(collation.to_owned());
    }

    /// A transaction ends.
    pub fn ends(&mut self) {
        if std::mem::take(&mut self.transaction) {
            self.next_isolation = None;
        }
    }

    /// What a statement sees. The collation of results does not show where it is of another character set.
    pub fn seen(&self) -> Self {
        let charset = &self.variables["character_set_results"];
        let shown = self.results.clone().filter(|collation| charset_of(collation) == charset);
        let default = default_collation(charset).to_owned();
        let users = self.users.iter().filter(|(name, _)| *name != weir_session::RESERVED_VARIABLE);
        let users = users.map(|(name, value)| (name.clone(), value.clone())).collect();
        Self { results: Some(shown.unwrap_or(default)), users, ..self.clone() }
    }

    /// A SET of Weir's.
    pub fn run(&mut self, text: &str) {
        let list = text.strip_prefix("SET ").unwrap_or_else(|| panic!("{text}"));
        for item in split(list) {
            if let Some(names) = item.strip_prefix("NAMES ") {
                let (charset, collation) = names.split_once(" COLLATE ").expect("both");
                self.names(charset, collation);
                continue;
            }
            let (name, written) = item.split_once('=').expect("an assignment");
            if let Some(user) = name.strip_prefix("@`") {
                self.users.insert(user.trim_end_matches('`').to_owned(), written.to_owned());
                continue;
            }
            let name = name.strip_prefix("@@SESSION.").expect("a variable");
            let known = VARIABLES.iter().find(|known| known.0 == name).expect("a known variable").0;
            self.set(known, written.trim_matches('\'').to_owned());
        }
    }

    /// The row that answers a SELECT of the schema and of variables.
    pub fn read(&self, text: &str) -> Vec<Option<Vec<u8>>> {
        let columns = text
            .strip_prefix("SELECT HEX(DATABASE())")
            .and_then(|rest| rest.strip_suffix(" LIMIT 1"))
            .expect("a reading of the state");
        let hex = |name: &String| name.bytes().flat_map(|b| format!("{b:02X}").into_bytes()).collect();
        let mut row = vec![self.schema.as_ref().map(hex)];
        for name in columns.split(",@@SESSION.").skip(1) {
            let value = match self.variables[name].as_str() {
                "ON" => "1",
                "OFF" => "0",
                other => other,
            };
            row.push(Some(value.as_bytes().to_vec()));
        }
        row
    }
}

/// Text as the model keeps it: its bytes and its collation. Numbers and bytes stay as they were written.
pub fn user_text(text: &str, collation: &str) -> String {
    let hex: String = text.bytes().map(|b| format!("{b:02X}")).collect();
    format!("_{} X'{hex}' COLLATE {collation}", charset_of(collation))
}

pub fn charset_of(collation: &str) -> &str {
    collation.split('_').next().unwrap_or(collation)
}

pub fn default_collation(charset: &str) -> &'static str {
    VARIABLES[3].1.into_iter().find(|collation| charset_of(collation) == charset).expect("a character set")
}

/// At commas outside of quotes.
fn split(list: &str) -> Vec<&str> {
    let mut inside = false;
    list.split(|c| {
        inside ^= c == '\'';
        c == ',' && !inside
    })
    .collect()
}
