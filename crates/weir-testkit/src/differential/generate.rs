//! Streams of statements out of a seed.
//!
//! A session is a setup and then scenarios drawn by weight: a few statements that belong together, and now and
//! then a stray one between them. Every session works in schemas of its own and touches nothing global, so that
//! what it is answered depends on nothing but its own past. Left out because servers answer them differently
//! from one time to the next: clocks and random numbers without a seed, connection ids, row estimates, creation
//! times, lists that show other sessions, and MariaDB's FOUND_ROWS() after anything but a SELECT.

use crate::client::caps::Capabilities;
use crate::servers::Flavor;

use super::rng::Rng;
use super::script::{Action, Class, FRESH, SessionPlan, Step, Text};

mod big;
mod commands;
mod listed;
mod prepared;
mod results;
mod schema;
mod setup;
mod show;
mod transactions;
mod variables;

pub use listed::reasons as left_out;

/// What a capability set is drawn from.
const OPTIONAL: [Capabilities; 11] = [
    Capabilities::FOUND_ROWS,
    Capabilities::IGNORE_SPACE,
    Capabilities::INTERACTIVE,
    Capabilities::CONNECT_ATTRS,
    Capabilities::SESSION_TRACK,
    Capabilities::DEPRECATE_EOF,
    Capabilities::OPTIONAL_RESULTSET_METADATA,
    Capabilities::QUERY_ATTRIBUTES,
    Capabilities::MARIADB_BULK,
    Capabilities::MARIADB_EXTENDED_METADATA,
    Capabilities::MARIADB_CACHE_METADATA,
];

/// Collations of the handshake that both servers know: latin1, gbk, utf8mb3, utf8mb4, binary, ascii, sjis, big5.
const COLLATIONS: [u8; 9] = [8, 28, 33, 45, 46, 63, 11, 13, 1];

/// How the sessions of a run are written, beyond what a seed decides. The statements of a seed stay the same, but for
/// what capabilities allow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Manner {
    /// All sessions have the capabilities and the collation of a usual modern driver, so that they can share
    /// connections without a change of either.
    pub one_dialect: bool,
    /// One of four plain queries carries Weir's hint to run it on another server connection, and one of four executions of prepared
    /// statements has a query with it ahead.
    pub fresh: bool,
    /// Nothing of what is known to differ on shared connections, see [`left_out`].
    pub without_listed: bool,
}

/// utf8mb4_general_ci, which both servers know.
const USUAL_COLLATION: u8 = 45;

/// What the current connectors of both servers ask for, each as far as its server offers it.
fn usual_capabilities() -> Capabilities {
    Capabilities::COMMON
        | Capabilities::CONNECT_ATTRS
        | Capabilities::SESSION_TRACK
        | Capabilities::DEPRECATE_EOF
        | Capabilities::MARIADB_BULK
        | Capabilities::MARIADB_EXTENDED_METADATA
        | Capabilities::MARIADB_CACHE_METADATA
}

type Scenario = fn(&mut Session);

/// The weights are such that each class has its 200 statements in a run of 20,000 with room to spare.
const SCENARIOS: &[(usize, Scenario)] = &[
    (10, variables::session_variables),
    (10, variables::user_variables),
    (10, variables::character_sets),
    (5, schema::schema_changes),
    (6, schema::temporary_tables),
    (9, transactions::transactions),
    (5, transactions::xa),
    (7, transactions::locks),
    (14, prepared::prepared),
    (5, prepared::sql_prepare),
    (9, results::multi_results),
    (10, results::errors),
    (8, results::warnings),
    (8, results::last_ids),
    (10, results::types),
    (8, big::big_values),
    (5, big::local_infile),
    (12, commands::commands),
    (12, commands::malformed),
    (11, show::show),
];

/// The whole plan of one session.
pub fn session(
    flavor: Flavor,
    seed: u64,
    number: usize,
    steps: usize,
    prefix: &str,
    offered: Capabilities,
    manner: Manner,
) -> SessionPlan {
    let mut rng = Rng::new(seed, number as u64);
    let mut capabilities = Capabilities::COMMON;
    for optional in OPTIONAL {
        // The flags that change the form of replies are on in half of the sessions, in every combination.
        if rng.one_in(2) {
            capabilities = capabilities | optional;
        }
    }
    if rng.one_in(8) {
        capabilities = capabilities.minus(Capabilities::MULTI_STATEMENTS);
    }
    let mut collation = COLLATIONS[rng.below(COLLATIONS.len())];
    if manner.one_dialect {
        (capabilities, collation) = (usual_capabilities(), USUAL_COLLATION);
    }
    // The lowest flag is for MySQL alone, and no server has to offer it.
    capabilities = capabilities.intersection(offered | Capabilities::MYSQL);
    let mut session = Session {
        flavor,
        bulk: capabilities.has(Capabilities::MARIADB_BULK),
        rng,
        a: format!("{prefix}{number:03}a"),
        b: format!("{prefix}{number:03}b"),
        name: format!("{prefix}{number:03}"),
        slots: 0,
        serial: 0,
        steps: Vec::new(),
        class: Class::Setup,
    };
    setup::setup(&mut session);
    let total: usize = SCENARIOS.iter().map(|(weight, _)| weight).sum();
    while session.steps.len() < steps {
        let mut at = session.rng.below(total);
        for (weight, scenario) in SCENARIOS {
            if at < *weight {
                scenario(&mut session);
                break;
            }
            at -= weight;
        }
    }
    session.steps.truncate(steps);
    if manner.without_listed {
        listed::leave_out(flavor, &mut session.steps);
    }
    if manner.fresh {
        // A stream of its own, which leaves the statements as they are.
        let mut rng = Rng::new(seed, FRESH_STREAM + number as u64);
        freshen(&mut session.steps, &mut rng);
        move_executions(&mut session.steps, &mut rng);
    }
    SessionPlan { number, capabilities, collation, steps: session.steps }
}

/// Beyond every session's number.
const FRESH_STREAM: u64 = 1 << 32;

fn freshen(steps: &mut [Step], rng: &mut Rng) {
    for step in steps {
        if let Action::Query(text) = &mut step.action
            && rng.one_in(4)
        {
            text.before.splice(..0, FRESH.bytes());
        }
    }
}

/// Weir reads no hint in a prepared statement's text, so ahead of one of four executions a query takes the session to another
/// connection.
fn move_executions(steps: &mut Vec<Step>, rng: &mut Rng) {
    *steps = std::mem::take(steps)
        .into_iter()
        .flat_map(|step| {
            let moves = matches!(step.action, Action::Execute { .. }) && rng.one_in(4);
            let class = step.class;
            let query = || Step { class, action: Action::Query(Text::from(format!("{FRESH}{MOVES}"))) };
            [moves.then(query), Some(step)]
        })
        .flatten()
        .collect();
}

/// What goes ahead of an execution that is to run on another connection.
const MOVES: &str = "DO 0";

/// A session being written.
struct Session {
    flavor: Flavor,
    bulk: bool,
    rng: Rng,
    /// The session's two schemas; `a` is the usual one.
    a: String,
    b: String,
    /// In front of the names of locks and distributed transactions.
    name: String,
    slots: usize,
    serial: usize,
    steps: Vec<Step>,
    class: Class,
}

impl Session {
    fn class(&mut self, class: Class) {
        self.class = class;
    }

    fn act(&mut self, action: Action) {
        self.steps.push(Step { class: self.class, action });
    }

    fn q(&mut self, sql: impl Into<Vec<u8>>) {
        self.act(Action::Query(Text::from(sql)));
    }

    /// One of these queries.
    fn one_of(&mut self, queries: &[&str]) {
        let query = self.rng.pick(queries).to_owned();
        self.q(query);
    }

    fn maria(&self) -> bool {
        self.flavor == Flavor::MariaDb
    }

    fn small(&mut self) -> i64 {
        self.rng.between(-3, 30)
    }

    fn word(&mut self) -> String {
        let length = 1 + self.rng.below(12);
        String::from_utf8_lossy(&self.rng.text(length)).into_owned()
    }

    /// A number never used before in this session.
    fn next(&mut self) -> usize {
        self.serial += 1;
        self.serial
    }

    /// Now and then a statement of another kind, where a scenario can bear one.
    fn stray(&mut self) {
        if !self.rng.one_in(3) {
            return;
        }
        let (n, word) = (self.small(), self.word());
        match self.rng.below(8) {
            0 => self.q(format!("SELECT id, v, n FROM t WHERE id > {n} ORDER BY id LIMIT 5")),
            1 => self.q(format!("SET @stray = '{word}'")),
            2 => self.q("SELECT @stray, @x, @y"),
            3 => self.q(format!("INSERT INTO t (v, n) VALUES ('{word}', {n})")),
            4 => self.q("SELECT * FROM missing_table"),
            5 => self.q(format!("SELECT {n} / 0, '{word}' + 1")),
            6 => self.q("SELECT @@autocommit, @@sql_mode, @@character_set_client, DATABASE()"),
            _ => self.q(format!("/* {word} */ UPDATE t SET n = n + 1 WHERE id = {n}")),
        }
    }
}

#[cfg(test)]
mod tests;
