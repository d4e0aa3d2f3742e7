//! Runs sessions on both sides at once, step by step.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::client::caps::Capabilities;
use crate::client::command::{self, Execute};
use crate::client::{Client, ConnectOptions, Outcome, Response};
use crate::servers::Flavor;

use super::compare::{Answer, difference, mask_changes_of_eof, mask_changes_of_nothing};
use super::generate::Manner;
use super::script::{Action, Class, SessionPlan, Step};
use super::sharing::{self, Permits, Pins, Sharing, Turn};
use super::{generate, report};

/// Where one side of the comparison is.
#[derive(Debug, Clone)]
pub struct Side {
    pub addr: SocketAddr,
    /// Goes in front of the names of schemas and locks. Both sides' have the same length; they differ when one
    /// server serves both sides.
    pub prefix: String,
}

/// One comparison.
#[derive(Debug, Clone)]
pub struct Plan {
    pub flavor: Flavor,
    pub direct: Side,
    pub weir: Side,
    pub sessions: usize,
    pub statements: usize,
    pub seed: u64,
    /// Sessions at once.
    pub concurrency: usize,
    /// Classes that are left out of every session, once their findings are known.
    pub without: Vec<Class>,
    /// Run no session but this.
    pub only: Option<usize>,
    /// How the sessions are written.
    pub manner: Manner,
    /// Sessions take turns on the connections that Weir shares among them.
    pub sharing: Option<Sharing>,
    /// No reply of a session may take longer.
    pub patience: Duration,
}

/// The first difference of a session.
#[derive(Debug, Clone)]
pub struct Failure {
    pub session: usize,
    pub step: usize,
    /// The statement as text.
    pub statement: String,
    pub what: String,
}

/// What a run did.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    pub sessions: usize,
    pub failures: Vec<Failure>,
    pub statements: u64,
    pub counts: BTreeMap<Class, u64>,
    pub reconnects: u64,
    /// What Weir said after the statements; None where it was not asked.
    pub pins: Option<Pins>,
    pub response_bytes: u64,
    pub elapsed: Duration,
    /// Capabilities that the server offers and Weir does not; they are compared nowhere.
    pub not_offered: Capabilities,
}

/// Runs every session of the plan. Differences are in the summary, not in the error.
///
/// # Errors
/// When a side cannot be reached at all, or Weir does not share connections where the plan counts on it.
pub async fn run(plan: &Plan) -> Result<Summary> {
    let start = Instant::now();
    let offered = offered(plan).await?;
    let asks = plan.sharing.is_some_and(|sharing| sharing.ask);
    if asks {
        sharing::check(&ConnectOptions::tcp(plan.weir.addr, "app", "app-pw")).await?;
    }
    let permits = Permits::new(plan.sharing);
    let places = Arc::new(Semaphore::new(plan.concurrency.max(1)));
    let bytes = Arc::new(AtomicU64::new(0));
    let mut running = JoinSet::new();
    let numbers = (0..plan.sessions).filter(|number| plan.only.is_none_or(|only| only == *number));
    for number in numbers {
        let (plan, places, bytes) = (plan.clone(), Arc::clone(&places), Arc::clone(&bytes));
        let (common, turn) = (offered.0, permits.turn());
        running.spawn(async move {
            let _place = places.acquire_owned().await;
            let session = session_plans(&plan, number, common);
            run_session(&plan, &session, &bytes, turn).await
        });
    }
    let mut summary = Summary { sessions: running.len(), not_offered: offered.1, ..Summary::default() };
    let mut pins = Pins::default();
    while let Some(outcome) = running.join_next().await {
        let outcome = outcome.context("a session panicked")?;
        for (class, count) in outcome.counts {
            *summary.counts.entry(class).or_default() += count;
            summary.statements += count;
        }
        summary.reconnects += outcome.reconnects;
        summary.failures.extend(outcome.failure);
        pins.add(outcome.pins);
    }
    summary.pins = asks.then_some(pins);
    summary.failures.sort_by_key(|failure| failure.session);
    summary.response_bytes = bytes.load(Ordering::Relaxed);
    summary.elapsed = start.elapsed();
    Ok(summary)
}

/// The capabilities that both sides offer, and those that only the direct one does.
///
/// # Errors
/// When a side cannot be reached.
pub async fn offered(plan: &Plan) -> Result<(Capabilities, Capabilities)> {
    let mut both = Vec::new();
    for side in [&plan.direct, &plan.weir] {
        let mut client = ConnectOptions::tcp(side.addr, "app", "app-pw").connect().await?;
        both.push(client.greeting().capabilities);
        client.send(command::QUIT, &[]).await?;
    }
    let common = both[0].intersection(both[1]);
    Ok((common, both[0].minus(common)))
}

/// The same session for each side; only the names of schemas and locks may differ.
pub fn session_plans(plan: &Plan, number: usize, offered: Capabilities) -> [SessionPlan; 2] {
    let steps = plan.statements / plan.sessions.max(1);
    [&plan.direct, &plan.weir].map(|side| {
        let (flavor, seed) = (plan.flavor, plan.seed);
        let mut session = generate::session(flavor, seed, number, steps, &side.prefix, offered, plan.manner);
        session.steps.retain(|step| !plan.without.contains(&step.class));
        session
    })
}

/// What one session did.
#[derive(Debug, Default)]
pub struct SessionOutcome {
    pub failure: Option<Failure>,
    pub counts: BTreeMap<Class, u64>,
    pub reconnects: u64,
    pub pins: Pins,
    /// Statements that were run besides, to pin the session.
    pub locks: u64,
}

/// Runs one session on both sides until its end or its first difference. `turn` holds no permit yet.
pub async fn run_session(
    plan: &Plan,
    both: &[SessionPlan; 2],
    bytes: &AtomicU64,
    mut turn: Turn,
) -> SessionOutcome {
    let mut outcome = SessionOutcome::default();
    let [direct_plan, weir_plan] = both;
    let mut direct = Runner::new(plan.direct.addr, direct_plan, plan.patience);
    let mut weir = Runner::new(plan.weir.addr, weir_plan, plan.patience);
    let prefixes = (plan.direct.prefix.as_str(), plan.weir.prefix.as_str());
    for (i, steps) in direct_plan.steps.iter().zip(&weir_plan.steps).enumerate() {
        // A login, too, needs a server connection.
        turn.take().await;
        let mut what = connect_both(&mut direct, &mut weir).await;
        if what.is_none() {
            *outcome.counts.entry(steps.0.class).or_default() += 1;
            what = step_both(&mut direct, &mut weir, steps, (prefixes, plan.sharing.is_some()), bytes).await;
        }
        if what.is_none() {
            let both = (&mut direct, &mut weir);
            what = settle(plan, direct_plan.number, both, &mut turn, (&mut outcome, bytes)).await;
        }
        if let Some(what) = what {
            let statement = report::short(&steps.0.action);
            outcome.failure = Some(Failure { session: direct_plan.number, step: i, statement, what });
            if turn.shares() {
                weir.abandon().await;
            }
            return outcome;
        }
    }
    outcome.reconnects = direct.logins.saturating_sub(1);
    for runner in [direct, weir] {
        runner.leave().await;
    }
    outcome
}

/// Asks how the session stands after a step. Where it must be pinned and is not, it takes a lock on both sides.
async fn settle(
    plan: &Plan,
    number: usize,
    (direct, weir): (&mut Runner, &mut Runner),
    turn: &mut Turn,
    (outcome, bytes): (&mut SessionOutcome, &AtomicU64),
) -> Option<String> {
    for _ in 0..2 {
        match turn.settle(weir.client.as_mut(), &mut outcome.pins).await {
            Err(error) => return Some(format!("{error:#}")),
            Ok(false) => return None,
            Ok(true) => {}
        }
        outcome.locks += 1;
        let lock = outcome.locks;
        let [a, b] = [&plan.direct, &plan.weir].map(|side| {
            // A name of its own each time: what held the last one may not have ended yet.
            let sql = format!("SELECT GET_LOCK('{}{number:03}pin{lock}', 0)", side.prefix);
            Step { class: Class::Locks, action: Action::Query(sql.into_bytes().into()) }
        });
        let prefixes = (plan.direct.prefix.as_str(), plan.weir.prefix.as_str());
        let what = step_both(direct, weir, (&a, &b), (prefixes, plan.sharing.is_some()), bytes).await;
        if let Some(what) = what {
            return Some(format!("in the GET_LOCK after this statement: {what}"));
        }
    }
    Some("after this statement, and a GET_LOCK, the session is not pinned".to_owned())
}

/// One step on both sides, and what differs in it.
async fn step_both(
    direct: &mut Runner,
    weir: &mut Runner,
    (a, b): (&Step, &Step),
    (prefixes, shared): ((&str, &str), bool),
    bytes: &AtomicU64,
) -> Option<String> {
    let (mut x, mut y) = tokio::join!(direct.step(a), weir.step(b));
    if direct.client.is_none() {
        // Where the server's end was announced and not a difference, Weir's connection is over as well.
        weir.client = None;
    }
    if let Answer::Reply(reply) = &x {
        let size: usize = reply.packets.iter().map(|packet| packet.payload.len()).sum();
        bytes.fetch_add(size as u64, Ordering::Relaxed);
    }
    if shared {
        for answer in [&mut x, &mut y] {
            mask_changes_of_eof(answer);
            mask_changes_of_nothing(answer);
        }
    }
    difference(&a.action, &x, &y, prefixes)
}

/// What differs between the two logins, as far as two logins to one server agree.
async fn connect_both(direct: &mut Runner, weir: &mut Runner) -> Option<String> {
    let answer = |login: Result<Response>| match login {
        Ok(reply) => Answer::Reply(reply),
        Err(error) => Answer::Broken(format!("{error:#}")),
    };
    let (a, b) = tokio::join!(direct.connect(), weir.connect());
    let login = Action::ChangeUser {
        user: direct.options.user.clone(),
        password: String::new(),
        database: String::new(),
        collation: u16::from(direct.options.collation),
    };
    let what = difference(&login, &answer(a), &answer(b), ("", ""))?;
    Some(format!("at the login ahead of this statement: {what}"))
}

/// One side of a session.
struct Runner {
    options: ConnectOptions,
    client: Option<Client>,
    /// Ids that the server gave to the slots.
    ids: BTreeMap<usize, u32>,
    logins: u64,
}

/// Given to slots that hold no statement; no server counts so far.
const NO_STATEMENT: u32 = 0x00ff_ffff;

impl Runner {
    fn new(addr: SocketAddr, plan: &SessionPlan, patience: Duration) -> Self {
        let mut options = ConnectOptions::tcp(addr, "app", "app-pw").collation(plan.collation);
        options.capabilities = plan.capabilities;
        options.patience = patience;
        Self { options, client: None, ids: BTreeMap::new(), logins: 0 }
    }

    /// Logs in where there is no connection; the reply is the packets of that login.
    async fn connect(&mut self) -> Result<Response> {
        if self.client.is_some() {
            return Ok(Response::default());
        }
        let client = self.options.connect().await?;
        let login = client.login_reply().clone();
        self.client = Some(client);
        self.ids.clear();
        self.logins += 1;
        Ok(login)
    }

    async fn leave(self) {
        if let Some(client) = self.client {
            // The session is over; what the server says to that was compared on other occasions.
            client.quit().await.ok();
        }
    }

    /// Ends a session that may be out of step, and waits until the other side has noticed: with the connection to
    /// the server that it held, others go on.
    async fn abandon(self) {
        let Some(mut client) = self.client else { return };
        let stream = client.stream();
        let noticed = async {
            stream.shutdown().await?;
            while !stream.read_raw(64 * 1024).await?.is_empty() {}
            anyhow::Ok(())
        };
        // The difference is found already; how this ends adds nothing to it.
        timeout(Duration::from_secs(2), noticed).await.ok();
    }

    async fn step(&mut self, step: &Step) -> Answer {
        match self.perform(&step.action).await {
            Ok(response) => {
                if response.closed {
                    self.client = None;
                }
                Answer::Reply(response)
            }
            Err(error) => Answer::Broken(format!("{error:#}")),
        }
    }

    async fn perform(&mut self, action: &Action) -> Result<Response> {
        let id = |slot: &usize| self.ids.get(slot).copied().unwrap_or(NO_STATEMENT);
        let client = self.client.as_mut().context("not connected")?;
        let attributes = client.capabilities().has(Capabilities::QUERY_ATTRIBUTES);
        match action {
            Action::Query(sql) => {
                let body = client.query_body(&sql.bytes());
                exchange(client, command::QUERY, &body).await
            }
            Action::QueryWithAttribute { sql, name, value } => {
                let body = match attributes {
                    true => command::query_with_attribute(sql, name, value),
                    false => sql.clone().into_bytes(),
                };
                exchange(client, command::QUERY, &body).await
            }
            Action::LocalInfile { sql, data, chunk } => {
                client.local_data.clone_from(data);
                client.local_chunk = *chunk;
                let body = client.query_body(sql.as_bytes());
                exchange(client, command::QUERY, &body).await
            }
            Action::Command { code, body } => exchange(client, *code, body).await,
            Action::Uncertain { code, body } => uncertain(client, *code, body).await,
            Action::Pipeline(queries) => pipeline(client, queries).await,
            Action::Prepare { slot, sql } => {
                let reply = exchange(client, command::STMT_PREPARE, &sql.bytes()).await?;
                if let Some(Outcome::Prepared(prepared)) = reply.outcomes.first() {
                    self.ids.insert(*slot, prepared.id);
                }
                Ok(reply)
            }
            Action::Execute { slot, params, flags, types } => {
                let execute = Execute { id: id(slot), flags: *flags, params, types: *types, attributes };
                exchange(client, command::STMT_EXECUTE, &execute.body()).await
            }
            Action::Bulk { slot, rows } => {
                exchange(client, command::STMT_BULK_EXECUTE, &command::bulk_execute(id(slot), rows)).await
            }
            Action::LongData { slot, param, data } => {
                let body = command::long_data(id(slot), *param, &data.bytes());
                exchange(client, command::STMT_SEND_LONG_DATA, &body).await
            }
            Action::Fetch { slot, rows } => {
                exchange(client, command::STMT_FETCH, &command::fetch(id(slot), *rows)).await
            }
            Action::Close { slot } => exchange(client, command::STMT_CLOSE, &id(slot).to_le_bytes()).await,
            Action::Reset { slot } => exchange(client, command::STMT_RESET, &id(slot).to_le_bytes()).await,
            Action::ChangeUser { user, password, database, collation } => {
                client.change_user(user, password, database, *collation).await
            }
        }
    }
}

/// A command and its reply. A connection that ends while the command is sent was closed before.
async fn exchange(client: &mut Client, code: u8, body: &[u8]) -> Result<Response> {
    // A server may close in the middle of a long command after it has said why: what it said is still there.
    client.send(code, body).await.ok();
    client.receive(code).await
}

async fn uncertain(client: &mut Client, code: u8, body: &[u8]) -> Result<Response> {
    client.send(code, body).await.ok();
    client.send(command::PING, &[]).await.ok();
    let mut all = Response::default();
    loop {
        let Some(packet) = client.stream().read_packet().await? else {
            all.closed = true;
            return Ok(all);
        };
        let done = packet.payload.first() == Some(&0);
        all.packets.push(packet);
        if done {
            return Ok(all);
        }
    }
}

async fn pipeline(client: &mut Client, queries: &[String]) -> Result<Response> {
    let mut wire = Vec::new();
    for query in queries {
        let payload = [&[command::QUERY][..], &client.query_body(query.as_bytes())].concat();
        crate::client::frame(&mut wire, 0, &payload);
    }
    client.stream().write_raw(&wire).await.ok();
    let mut all = Response::default();
    for _ in queries {
        let reply = client.receive(command::QUERY).await?;
        all.packets.extend(reply.packets);
        all.outcomes.extend(reply.outcomes);
        all.closed |= reply.closed;
    }
    Ok(all)
}
