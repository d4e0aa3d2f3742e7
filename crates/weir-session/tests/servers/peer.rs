//! A server connection with what this crate knows of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_session::{
    Base, Memory, Outcome, Plan, Send, State, Statement, Step, plan_sync, synced, with_statement,
};
use weir_sql::Facts;
use weir_testkit::Server;
use weir_testkit::client::bytes::{Fields, text_row};
use weir_testkit::client::caps::Capabilities;
use weir_testkit::client::{Client, ConnectOptions, End, Response, command};
use weir_wire::track;

pub type Row = Vec<Option<Vec<u8>>>;

/// What differs between two sessions of equal state, for it counts or names the connection.
const OWN: [&str; 10] = [
    "pseudo_thread_id",
    "timestamp",
    "rand_seed1",
    "rand_seed2",
    "statement_id",
    "last_insert_id",
    "identity",
    "warning_count",
    "error_count",
    "gtid_executed",
];

pub struct Peer {
    pub client: Client,
    pub server: weir_session::Server,
    pub state: State,
}

impl Peer {
    /// Connects, runs the given statements, and reads the base.
    pub async fn connect(server: &Server, first: &[&str]) -> Self {
        Self::connect_as(ConnectOptions::tcp(server.addr(), "root", ""), first).await
    }

    /// As [`Self::connect`], with these options.
    pub async fn connect_as(options: ConnectOptions, first: &[&str]) -> Self {
        let mut client = options.with(Capabilities::SESSION_TRACK).connect().await.unwrap();
        for sql in first {
            client.run(sql).await.unwrap();
        }
        let kind = weir_session::Server::from_version(client.greeting().version.as_bytes());
        let (base, schema) = read_base(&mut client, kind).await;
        Self { client, server: kind, state: State::new(Arc::new(base), schema) }
    }

    /// The rows that answer a statement, which must succeed.
    pub async fn rows(&mut self, sql: &str) -> Vec<Row> {
        let response = self.client.run(sql).await.unwrap();
        response.rows().map(|row| text_row(row).unwrap()).collect()
    }

    /// Runs a statement of a client whose facts are `statement`, and learns from it; reads back what is unknown.
    pub async fn learn(&mut self, sql: &str, statement: &Statement<'_>, memory: &mut Memory) -> Outcome {
        let response = self.client.query(sql).await.unwrap();
        let outcome = outcome(&response);
        let payload = response.packets.last().unwrap().payload.clone();
        let changes: Vec<_> = match outcome {
            Outcome::Ok { .. } => track::changes(&payload).unwrap().map(Result::unwrap).collect(),
            _ => Vec::new(),
        };
        self.state.learn(statement, outcome, &changes, memory);
        self.read_back().await;
        if outcome.is_ok() {
            memory.remember(statement, &self.state);
        }
        outcome
    }

    /// As [`Self::learn`], with the facts of the text; it may hold several statements.
    pub async fn learn_text(&mut self, sql: &str, facts: &Facts, memory: &mut Memory) {
        let response = self.client.query(sql).await.unwrap();
        let last = outcome(&response);
        let changes: Vec<_> = response.changes().map(|change| (change.kind, change.data.clone())).collect();
        let changes: Vec<_> = changes.iter().filter_map(|(kind, data)| change(*kind, data)).collect();
        with_statement(facts, sql.as_bytes(), |statement| {
            self.state.learn(statement, last, &changes, memory);
        });
        self.read_back().await;
        if last.is_ok() {
            with_statement(facts, sql.as_bytes(), |statement| memory.remember(statement, &self.state));
        }
    }

    pub async fn read_back(&mut self) {
        if !self.state.is_known() {
            let row = self.rows(&self.state.read_back_text()).await.remove(0);
            self.state.read_back(&borrow(&row)).unwrap();
        }
    }

    /// What the server says of itself, read anew.
    pub async fn true_state(&mut self) -> State {
        let (base, schema) = read_base(&mut self.client, self.server).await;
        State::new(Arc::new(base), schema)
    }

    /// Makes the connection what is wanted.
    pub async fn sync(&mut self, wanted: &State, memory: &mut Memory) -> Vec<Step> {
        let steps = match plan_sync(wanted, &self.state, memory) {
            Plan::Nothing => return Vec::new(),
            Plan::Sync(steps) => steps,
            other => panic!("{other:?}"),
        };
        for step in &steps {
            self.step(step).await;
        }
        synced(&steps, wanted, &mut self.state, memory);
        steps
    }

    pub async fn step(&mut self, step: &Step) {
        let response = match &step.send {
            Send::InitDb(name) => self.client.command(0x02, name).await.unwrap(),
            Send::Query(text) => self.client.query(text).await.unwrap(),
        };
        assert!(response.err().is_none(), "{step:?}: {:?}", response.err());
    }

    /// SHOW SESSION VARIABLES without what is the connection's own.
    pub async fn shown(&mut self) -> BTreeMap<String, String> {
        let rows = self.rows("SHOW SESSION VARIABLES").await;
        let text =
            |value: &Option<Vec<u8>>| String::from_utf8_lossy(value.as_deref().unwrap_or(b"")).into_owned();
        let pairs = rows.iter().map(|row| (text(&row[0]), text(&row[1])));
        pairs.filter(|(name, _)| !OWN.contains(&name.as_str())).collect()
    }

    pub async fn reset(&mut self) {
        let response = self.client.command(command::RESET_CONNECTION, &[]).await.unwrap();
        assert!(response.err().is_none());
    }
}

/// A change as the testkit's client has it: undecoded.
fn change(kind: u8, data: &[u8]) -> Option<track::Change<'_>> {
    let mut fields = Fields(data);
    match kind {
        0 => {
            let name = fields.lenenc_bytes().unwrap();
            Some(track::Change::SystemVariable { name, value: fields.lenenc_bytes().unwrap() })
        }
        1 => Some(track::Change::Schema(fields.lenenc_bytes().unwrap())),
        _ => None,
    }
}

pub fn borrow(row: &Row) -> Vec<Option<&[u8]>> {
    row.iter().map(Option::as_deref).collect()
}

pub fn outcome(response: &Response) -> Outcome {
    if let Some(err) = response.err() {
        return Outcome::Err { code: err.code };
    }
    if let Some(ok) = response.ok() {
        let (status, warnings) = (ok.status, ok.warnings);
        return Outcome::Ok {
            status,
            affected_rows: ok.affected_rows,
            insert_id: ok.last_insert_id,
            warnings,
        };
    }
    let rows = response.results().next().unwrap();
    // Where a cursor was opened, the answer ends with its columns.
    let end = rows.end.as_ref().or(rows.columns_end.as_ref());
    let status = end.and_then(End::status).unwrap();
    let warnings = response.warnings().unwrap_or_default();
    Outcome::Rows { status, rows: rows.rows.len() as u64, warnings }
}

async fn read_base(client: &mut Client, server: weir_session::Server) -> (Base, weir_session::Schema) {
    let response = client.run(&Base::read_text(server)).await.unwrap();
    let row = text_row(response.rows().next().unwrap()).unwrap();
    Base::from_row(server, &borrow(&row)).unwrap()
}
