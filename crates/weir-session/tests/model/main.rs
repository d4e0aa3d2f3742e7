//! Sessions that are moved over a few connections against the same sessions on a connection each, on a model of the server.
//!
//! Random clients run random statements. Before each, the connection that it runs on must be as the client's own would be: in
//! all that a statement can see. What Weir knows of it comes from the statement's text and the reports of the server, never
//! from the model. A failure prints its seed and what has happened.

#![expect(clippy::expect_used, reason = "a test says so that it has failed")]

mod server;

use server::{Session, VARIABLES, Variables, default_collation, defaults, user_text};
use std::sync::Arc;
use weir_model::ServerFamily;
use weir_session::{
    Base, Memory, Obstacle, Outcome, Pins, Plan, Schema, Send, Server, State, Variable, plan_sync, synced,
    with_statement,
};
use weir_sql::{Facts, LexMode};
use weir_wire::packet::status;
use weir_wire::track::Change;

const CLIENTS: usize = 5;
const CONNECTIONS: usize = 3;
const STATEMENTS: usize = 150;
const SEEDS: u64 = 150;

#[test]
fn moved_sessions_are_as_sessions_of_their_own() {
    for family in [ServerFamily::MySql, ServerFamily::MariaDb] {
        let mut moved = 0;
        for seed in 0..SEEDS {
            let mut world = World::new(family, seed);
            for _ in 0..STATEMENTS {
                world.turn();
            }
            moved += world.moved;
        }
        // Enough statements run where their client's last did not.
        assert!(moved > SEEDS * STATEMENTS as u64 / 8, "only {moved} were moved");
    }
}

struct Client {
    /// On a connection of its own.
    own: Session,
    wanted: State,
    pins: Pins,
    attached: Option<usize>,
    last: usize,
}

struct Connection {
    session: Session,
    actual: State,
}

struct World {
    server: Server,
    seed: u64,
    state: u64,
    /// What a server reports of variables: all, those that it does by default, or none.
    reports: u64,
    global: Variables,
    memory: Memory,
    clients: Vec<Client>,
    connections: Vec<Connection>,
    moved: u64,
    log: Vec<String>,
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("seed {} of {:?}:\n{}", self.seed, self.server.family, self.log.join("\n"));
        }
    }
}

impl World {
    fn new(family: ServerFamily, seed: u64) -> Self {
        let version = if family == ServerFamily::MySql { 90_704 } else { 101_119 };
        let server = Server { family, version };
        let global = defaults();
        let connection = || {
            let session = Session::new(&global);
            Connection { actual: state_of(&session, server), session }
        };
        let client = || {
            let own = Session::new(&global);
            let wanted = state_of(&own, server);
            Client { own, wanted, pins: Pins::default(), attached: None, last: 0 }
        };
        Self {
            server,
            seed,
            state: seed,
            reports: seed % 3,
            memory: Memory::new(seed),
            clients: (0..CLIENTS).map(|_| client()).collect(),
            connections: (0..CONNECTIONS).map(|_| connection()).collect(),
            global,
            moved: 0,
            log: Vec::new(),
        }
    }

    /// One client runs a statement, if there is a connection for it.
    fn turn(&mut self) {
        if self.draw(40) == 0 {
            self.set_global();
        }
        let at = self.draw(CLIENTS);
        let Some(on) = self.clients[at].attached.or_else(|| self.free_connection()) else {
            return self.give_up(at);
        };
        if self.clients[at].attached.is_none() {
            self.moved += u64::from(self.clients[at].last != on);
            self.synchronise(at, on);
        }
        let client = &mut self.clients[at];
        (client.attached, client.last) = (Some(on), on);
        let (own, here) = (self.clients[at].own.seen(), self.connections[on].session.seen());
        assert_eq!(own, here, "client {at} on connection {on}");
        self.execute(at, on);
        self.release(at, on);
    }

    /// The default of new sessions, and of those that are reset.
    fn set_global(&mut self) {
        let (name, values) = VARIABLES[[6, 7, 8][self.draw(3)]];
        let value = values[self.draw(3)];
        self.log.push(format!("SET GLOBAL {name}={value}"));
        self.global.insert(name, value.to_owned());
    }

    fn free_connection(&mut self) -> Option<usize> {
        let taken = |on: &usize| self.clients.iter().any(|client| client.attached == Some(*on));
        let free: Vec<usize> = (0..CONNECTIONS).filter(|on| !taken(on)).collect();
        (!free.is_empty()).then(|| free[self.draw(free.len())])
    }

    /// All connections are kept: one of those clients goes, and another comes.
    fn give_up(&mut self, waiting: usize) {
        let keepers: Vec<usize> = (0..CLIENTS).filter(|at| self.clients[*at].attached.is_some()).collect();
        let at = keepers[self.draw(keepers.len())];
        assert_ne!(at, waiting);
        let on = self.clients[at].attached.take().expect("keeps one");
        self.log.push(format!("{at} leaves {on}"));
        self.connections[on].session = Session::new(&self.global);
        self.connections[on].actual = state_of(&self.connections[on].session, self.server);
        let own = Session::new(&self.global);
        let wanted = state_of(&own, self.server);
        self.clients[at] = Client { own, wanted, pins: Pins::default(), attached: None, last: on };
    }

    /// Makes a connection what the client wants.
    fn synchronise(&mut self, at: usize, on: usize) {
        loop {
            let wanted = &self.clients[at].wanted;
            let connection = &mut self.connections[on];
            let plan = plan_sync(wanted, &connection.actual, &self.memory);
            self.log.push(format!("{at} on {on}: {plan:?}"));
            match plan {
                Plan::Nothing => return,
                Plan::Sync(steps) => {
                    for step in &steps {
                        match &step.send {
                            Send::InitDb(name) => {
                                connection.session.schema = Some(String::from_utf8_lossy(name).into_owned());
                            }
                            Send::Query(text) => connection.session.run(&String::from_utf8_lossy(text)),
                        }
                    }
                    synced(&steps, wanted, &mut connection.actual, &mut self.memory);
                    return;
                }
                Plan::Reset(_) => connection.session.reset(&self.global),
                Plan::ChangeUser(_) => connection.session = Session::new(&self.global),
                Plan::Stay(Obstacle::WantedUnknown | _) => panic!("{at} was released too early"),
            }
            connection.actual = state_of(&connection.session, self.server);
        }
    }

    /// Runs a statement on both, and tells Weir what the server says.
    fn execute(&mut self, at: usize, on: usize) {
        let statement = self.statement(at);
        let text = statement.text.clone();
        self.log.push(format!("{at} on {on}: {text}"));
        let before = self.connections[on].session.clone();
        (statement.run)(&mut self.clients[at].own, &self.global);
        let failed = (statement.run)(&mut self.connections[on].session, &self.global);
        let after = &self.connections[on].session;
        let outcome = if failed { Outcome::Err { code: 1105 } } else { ok(after) };
        let reported = if failed { Vec::new() } else { self.reported(&before, after, statement.names) };
        let changes: Vec<Change<'_>> = reported
            .iter()
            .map(|(name, value)| match name.as_str() {
                "" => Change::Schema(value.as_bytes()),
                name => Change::SystemVariable { name: name.as_bytes(), value: value.as_bytes() },
            })
            .collect();
        let mode = LexMode::new(self.server.family, self.server.version);
        let facts = Facts::of(text.as_bytes(), mode, false);
        let Client { wanted, pins, .. } = &mut self.clients[at];
        with_statement(&facts, text.as_bytes(), |facts| {
            pins.begin(facts);
            pins.end(facts, outcome);
            pins.add(wanted.learn(facts, outcome, &changes, &self.memory));
            if outcome.is_ok() && wanted.is_known() {
                self.memory.remember(facts, wanted);
            }
            // The state may be read back at once, later, or never.
            if !wanted.is_known() && random(&mut self.state, 3) > 0 {
                let row = after.read(&wanted.read_back_text());
                let row: Vec<Option<&[u8]>> = row.iter().map(Option::as_deref).collect();
                wanted.read_back(&row).expect("the row that was asked for");
                if outcome.is_ok() && wanted.is_known() {
                    self.memory.remember(facts, wanted);
                }
            }
        });
        self.connections[on].actual = self.clients[at].wanted.clone();
    }

    /// What the server reports: variables that were set, and the schema. An empty name stands for the schema.
    fn reported(&self, before: &Session, after: &Session, names: bool) -> Vec<(String, String)> {
        let mut list = Vec::new();
        let by_default = ["autocommit", "character_set_client", "character_set_results", "time_zone"];
        for (name, value) in &after.variables {
            let told = self.reports == 0 || self.reports == 1 && by_default.contains(name);
            let charsets = names && name.starts_with("character_set");
            if told && (before.variables[name] != *value || charsets) && *name != "collation_connection" {
                list.push(((*name).to_owned(), value.clone()));
            }
        }
        let collation = &after.variables["collation_connection"];
        if self.reports < 2 && names {
            list.push(("character_set_connection".to_owned(), server::charset_of(collation).to_owned()));
        }
        if before.schema != after.schema {
            list.push((String::new(), after.schema.clone().unwrap_or_default()));
        }
        list
    }

    /// Lets the connection go if nothing keeps it.
    fn release(&mut self, at: usize, on: usize) {
        let client = &self.clients[at];
        if client.pins.is_free() && client.wanted.is_known() && self.draw(4) > 0 {
            self.log.push(format!("{at} releases {on}"));
            self.clients[at].attached = None;
        }
    }

    fn draw(&mut self, below: usize) -> usize {
        random(&mut self.state, below)
    }

    /// A statement, and what it does.
    fn statement(&mut self, at: usize) -> Statement {
        let (a, b, c) = (self.draw(VARIABLES.len()), self.draw(3), self.draw(2));
        let (variable, values) = VARIABLES[a];
        let value = values[b];
        let user = ["a", "b"][c];
        let schema = format!("s{at}{c}");
        let charset = VARIABLES[1].1[b];
        let collation = VARIABLES[3].1[b];
        match self.draw(34) {
            0..=5 => set(variable, value.to_owned(), format!("SET {variable}={}", quoted(value))),
            6 => set(variable, value.to_owned(), format!("SET @@session.{variable} = {}", quoted(value))),
            7 => Statement::new(format!("SET {variable}=DEFAULT"), move |session, global| {
                session.set(variable, global[variable].clone());
            }),
            8 => Statement::failing(format!("SET {variable}='no such value'"), |_, _| {}),
            9..=11 => Statement {
                names: true,
                ..Statement::new(format!("SET NAMES {charset}"), move |session, _| {
                    session.names(charset, default_collation(charset));
                })
            },
            12 => Statement {
                names: true,
                ..Statement::new(format!("SET NAMES {charset} COLLATE {charset}_bin"), move |session, _| {
                    session.names(charset, &format!("{charset}_bin"));
                })
            },
            13 => Statement {
                names: true,
                ..Statement::new(format!("SET NAMES {charset} COLLATE {collation}"), move |session, _| {
                    session.names(charset, collation);
                })
            },
            14 | 15 => {
                let number = self.draw(5).to_string();
                Statement::new(format!("SET @{user} = {number}"), move |session, _| {
                    session.users.insert(user.to_owned(), number.clone());
                })
            }
            16 => Statement::new(format!("SET @{user}='x y'"), move |session, _| {
                let collation = session.variables["collation_connection"].clone();
                session.users.insert(user.to_owned(), user_text("x y", &collation));
            }),
            17 => Statement::new(format!("SET @{user}=NULL"), move |session, _| {
                let old = session.users.get(user).cloned().unwrap_or_else(|| "NULL".to_owned());
                let null = if old.ends_with("NULL") { old } else { format!("{old}, then NULL") };
                session.users.insert(user.to_owned(), null);
            }),
            18 if self.draw(4) == 0 => Statement::new(format!("SELECT @{user}:=1+1"), move |session, _| {
                session.users.insert(user.to_owned(), "2".to_owned());
            }),
            19..=21 => Statement::new(format!("USE {schema}"), move |session, _| {
                session.schema = Some(schema.clone());
            }),
            22 => Statement::failing("USE nosuch".to_owned(), |_, _| {}),
            23 => Statement::new(format!("DROP DATABASE {schema}"), move |session, _| {
                if session.schema.as_ref() == Some(&schema) {
                    session.schema = None;
                }
            }),
            24 => Statement::new("BEGIN".to_owned(), |session, _| {
                session.ends();
                session.transaction = true;
                session.tables_locked = false;
            }),
            25 | 26 => Statement::new("COMMIT".to_owned(), |session, _| session.ends()),
            27 => Statement::new("INSERT INTO t VALUES (1)".to_owned(), |session, _| {
                session.transaction |= session.variables["autocommit"] == "OFF";
            }),
            28 if self.draw(3) == 0 => self.rare(),
            29 if self.draw(8) == 0 => {
                Statement::failing(format!("SET @{user}=7, {variable}='no such value'"), |_, _| {})
            }
            _ => Statement::new("SELECT 1".to_owned(), |_, _| {}),
        }
    }

    /// What keeps a connection for long.
    fn rare(&mut self) -> Statement {
        match self.draw(7) {
            0 => Statement::new("SET ROLE reader".to_owned(), |session, _| {
                session.role = Some("reader".to_owned());
            }),
            1 => Statement::new("CREATE TEMPORARY TABLE tt (a INT)".to_owned(), |session, _| {
                session.temporary.insert("tt");
            }),
            2 => Statement::new("SELECT GET_LOCK('l', 0)".to_owned(), |session, _| {
                session.locks.insert("l");
            }),
            3 => Statement::new("LOCK TABLES t WRITE".to_owned(), |session, _| session.tables_locked = true),
            4 => Statement::new("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE".to_owned(), |session, _| {
                if !session.transaction {
                    session.next_isolation = Some("SERIALIZABLE");
                }
            }),
            5 => Statement::new("PREPARE s FROM 'SELECT 1'".to_owned(), |session, _| {
                session.prepared.insert("s");
            }),
            _ => Statement::new("CALL p()".to_owned(), |session, _| {
                session.set("sql_mode", "NO_ZERO_DATE".to_owned());
                session.users.insert("hidden".to_owned(), "1".to_owned());
            }),
        }
    }
}

type Run = Arc<dyn Fn(&mut Session, &Variables) -> bool>;

struct Statement {
    text: String,
    /// True: it fails.
    run: Run,
    /// The server reports character sets though they are as before.
    names: bool,
}

impl Statement {
    fn new(text: String, run: impl Fn(&mut Session, &Variables) + 'static) -> Self {
        let run = move |session: &mut Session, global: &Variables| {
            run(session, global);
            false
        };
        Self { text, run: Arc::new(run), names: false }
    }

    fn failing(text: String, run: impl Fn(&mut Session, &Variables) + 'static) -> Self {
        let run = move |session: &mut Session, global: &Variables| {
            run(session, global);
            true
        };
        Self { text, run: Arc::new(run), names: false }
    }
}

fn set(variable: &'static str, value: String, text: String) -> Statement {
    Statement::new(text, move |session, _| session.set(variable, value.clone()))
}

fn quoted(value: &str) -> String {
    let bare = value.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !value.is_empty();
    if bare { value.to_owned() } else { format!("'{value}'") }
}

fn ok(after: &Session) -> Outcome {
    let autocommit = if after.variables["autocommit"] == "ON" { status::AUTOCOMMIT } else { 0 };
    let transaction = if after.transaction { status::IN_TRANS } else { 0 };
    Outcome::Ok { status: autocommit | transaction, affected_rows: 0, insert_id: 0, warnings: 0 }
}

/// What Weir reads after a login.
fn state_of(session: &Session, server: Server) -> State {
    let values = session.variables.iter().map(|(name, value)| {
        let variable = Variable::find(name.as_bytes()).expect("a variable that is moved");
        (variable, Some(Arc::from(value.as_bytes())))
    });
    let schema = match &session.schema {
        Some(name) => Schema::Known(name.as_bytes().into()),
        None => Schema::None,
    };
    State::new(Arc::new(Base::new(server, values)), schema)
}

/// Sebastiano Vigna's SplitMix64.
fn random(state: &mut u64, below: usize) -> usize {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) % below as u64) as usize
}
