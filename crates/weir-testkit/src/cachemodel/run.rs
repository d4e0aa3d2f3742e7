//! Runs a seed, and stops at the first answer that the model forbids.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::book::{About, Asked, Book, Covers, Judgement, Key};
use super::generate::{self, Answers, Hint, Read, Shared, Step, USUAL, Wipe};
use super::report::Summary;
use super::session::{Both, Prepared, Session};
use super::world::{self, APP, OTHER, READER, SCHEMAS};
use crate::client::bytes::text_row;
use crate::client::command::{self, Param};
use crate::client::{Client, ConnectOptions, Packet, Response};
use crate::differential::rng::Rng;
use crate::servers::Flavor;
use compare::{after, must_equal, must_equal_packets, without_warnings};

pub mod admin;
mod compare;
mod describe;

/// Steps that are shown ahead of a failure.
const SHOWN: usize = 40;

/// Statements that a session keeps prepared.
const PREPARED: usize = 24;

/// What a run is given.
#[derive(Debug, Clone)]
pub struct Plan {
    pub flavor: Flavor,
    /// The direct server, and Weir.
    pub sides: [SocketAddr; 2],
    /// The server behind Weir.
    pub behind: SocketAddr,
    /// Of Weir.
    pub admin: SocketAddr,
    pub sessions: usize,
    pub steps: usize,
    pub seed: u64,
}

/// Runs it all.
///
/// # Errors
/// When the comparison cannot be made. An answer that the model forbids is in the summary.
pub async fn run(plan: &Plan) -> Result<Summary> {
    for server in [plan.sides[0], plan.behind] {
        world::build(server, plan.flavor).await.context("cannot make the tables")?;
    }
    let mut run = Run::new(plan).await?;
    let began = Instant::now();
    for step in 1..=plan.steps as u64 {
        if let Some(why) = run.step(step).await.with_context(|| run.story(step))? {
            let pinned = run.sessions[run.turn].pinned().await?;
            run.summary.failure = Some(format!("{}\npinned: {pinned}\n{why}", run.story(step)));
            break;
        }
    }
    run.summary.seconds = began.elapsed().as_secs_f64();
    run.summary.selects = [run.backs[0].selects().await?, run.backs[1].selects().await?];
    run.summary.cache = admin::cache(plan.admin).await?;
    Ok(run.summary)
}

/// A connection of its own to a server.
struct Back(Client);

impl Back {
    async fn selects(&mut self) -> Result<u64> {
        let reply = self.0.run("SHOW GLOBAL STATUS LIKE 'Com_select'").await?;
        let row = text_row(reply.rows().next().context("no row of Com_select")?)?;
        let value = row.into_iter().nth(1).flatten().context("no value of Com_select")?;
        Ok(String::from_utf8_lossy(&value).parse()?)
    }
}

struct Run<'p> {
    plan: &'p Plan,
    /// The session whose turn it is.
    turn: usize,
    rng: Rng,
    sessions: Vec<Session>,
    prepared: HashMap<(usize, String), Prepared>,
    backs: [Back; 2],
    book: Book,
    shared: Shared,
    /// Values that must come but once.
    seen: HashSet<Vec<u8>>,
    steps: VecDeque<String>,
    /// What has changed each session, and what it has prepared.
    histories: Vec<VecDeque<String>>,
    summary: Summary,
}

/// Why an answer is forbidden, if it is.
type Verdict = Result<Option<String>>;

impl<'p> Run<'p> {
    async fn new(plan: &'p Plan) -> Result<Self> {
        let mut sessions = Vec::new();
        for number in 0..plan.sessions {
            let user = [APP, APP, OTHER, APP, APP, READER, APP, READER][number % 8];
            let schema = SCHEMAS[usize::from(number % 8 == 3)];
            let mut session = Session::open(number, plan.sides, user, plan.flavor, schema).await?;
            session.query(USUAL.as_bytes()).await?;
            session.look().await?;
            sessions.push(session);
        }
        let back =
            async |addr| -> Result<Back> { Ok(Back(ConnectOptions::tcp(addr, "root", "").connect().await?)) };
        let usual = sessions.first().map(|session| session.manner().to_vec()).unwrap_or_default();
        let api = admin::cache(plan.admin).await?.is_some();
        Ok(Self {
            plan,
            turn: 0,
            rng: Rng::new(plan.seed, 0),
            sessions,
            prepared: HashMap::new(),
            backs: [back(plan.sides[0]).await?, back(plan.behind).await?],
            book: Book::default(),
            shared: Shared { api, usual, ..Shared::default() },
            seen: HashSet::new(),
            steps: VecDeque::new(),
            histories: vec![VecDeque::new(); plan.sessions],
            summary: Summary::default(),
        })
    }

    async fn step(&mut self, step: u64) -> Verdict {
        let turn = self.rng.below(self.sessions.len());
        let next = generate::step(&mut self.rng, &self.sessions[turn], &self.shared);
        self.tell(step, turn, &next);
        self.summary.count(&next);
        if step.is_multiple_of(100) {
            let pinned = self.sessions[turn].pinned().await?;
            *self.summary.pinned.entry(pinned).or_default() += 1;
            self.book.forget(Instant::now());
        }
        if let Some(transaction) = &mut self.sessions[turn].transaction {
            transaction.left = transaction.left.saturating_sub(1);
        }
        match next {
            Step::Read(read) => self.read(step, turn, &read).await,
            Step::Write { sql, params, .. } => {
                let both = self.statement(turn, &sql, params.as_deref()).await?;
                self.sessions[turn].wrote = step;
                Ok(must_equal(&both))
            }
            Step::Begin(transaction, sql) => {
                let both = self.sessions[turn].query(sql.as_bytes()).await?;
                self.shared.busy = Some((turn, transaction.table.clone()));
                self.sessions[turn].transaction = Some(transaction);
                Ok(must_equal(&both))
            }
            Step::End(sql) => self.end(step, turn, sql).await,
            Step::Set(_) | Step::InitDb(_) | Step::Reset | Step::ChangeUser(..) => {
                self.state(turn, next).await
            }
            Step::MakeTemporary | Step::DropTemporary => self.temporary(step, turn, &next).await,
            Step::Define { sql, of } => self.define(step, turn, &sql, &of).await,
            Step::Rights(sql) => self.rights(step, turn, &sql).await,
            Step::Wipe(wipe) => self.wipe(&wipe).await,
            Step::Behind(sql) => {
                for back in &mut self.backs {
                    back.0.run(&sql).await?;
                }
                Ok(None)
            }
        }
    }

    async fn read(&mut self, step: u64, turn: usize, read: &Read) -> Verdict {
        let calculated = read.sql.contains("SQL_CALC_FOUND_ROWS");
        let text = format!("{}{}", read.hint.text(), read.sql);
        // Where Weir does not know the state it knows no key, and wipes nothing; the session itself is not served there.
        let wipes = read.hint == Hint::Wipe && !self.sessions[turn].unread;
        // Hints stand outside of what is told apart, but a prepared statement has one of its own with each.
        let mut both = self.statement(turn, &text, read.params.as_deref()).await?;
        let behind = match read.behind {
            "" => None,
            sql => Some(self.sessions[turn].query(sql.as_bytes()).await?),
        };
        let [mut direct, mut weir] = both.packets();
        // After an error FOUND_ROWS() is that of the statement before, which may have been a question of this program.
        let failed = both.direct.err().is_some() || both.weir.err().is_some();
        if let Some(behind) = behind.as_ref().filter(|_| calculated && !failed) {
            let [there, here] = behind.packets();
            direct.extend(there);
            weir.extend(here);
        }
        if read.answers == Answers::Fresh {
            return Ok(self.fresh(&both));
        }
        let (rule, _) = world::rule_of(&read.named);
        let session = &mut self.sessions[turn];
        if rule == world::RENEWED.0 {
            // What runs behind an answer is over when the next command is taken: so no other step comes between.
            session.pinned().await?;
            both.time[1] = Instant::now();
        }
        let from_memory = read.answers == Answers::Memory
            && read.hint != Hint::NoCache
            && session.transaction.is_none()
            && session.temporary.is_none();
        if !from_memory {
            self.summary.exact += 1;
            return Ok(must_equal_packets(&direct, &weir)
                .map(|what| format!("only the server's answer now is right: {what}")));
        }
        let stale = match self.judge(step, (turn, wipes), read, &both, [&direct, &weir]) {
            Ok(stale) => stale,
            Err(why) => return Ok(Some(why)),
        };
        match behind.filter(|_| !calculated) {
            Some(behind) => Ok(after(read.behind, stale, &both, &behind)),
            None => Ok(None),
        }
    }

    /// Whether the answer is one of those that were right before; an error where it is not allowed.
    fn judge(
        &mut self,
        step: u64,
        (turn, wipes): (usize, bool),
        read: &Read,
        both: &Both,
        [direct, weir]: [&[Packet]; 2],
    ) -> Result<bool, String> {
        let session = &self.sessions[turn];
        let (rule, ttl) = world::rule_of(&read.named);
        let ttl = if let Hint::Ttl(hint) = read.hint { hint.min(ttl) } else { ttl };
        let about = About {
            tables: world::behind(&read.named),
            named: read.named.clone(),
            rule,
            user: session.user.0.to_owned(),
            tag: if let Hint::Tag(tag) = read.hint { Some(tag) } else { None },
            statement: read.sql.clone(),
        };
        let key = self.key(turn, read);
        let asked = Asked { key: &key, floor: session.wrote, time: both.time, ttl };
        // Nor does it wipe for somebody whom the server has not lately let read what is shared.
        if wipes && !session.clouded && rule != world::SHARED {
            self.book.end_key(&key, &format!("/*wipe*/ of session {turn} at step {step}"));
        }
        self.summary.reads += 1;
        // Of what is shared the book does not know whom the server has lately let read it.
        let could_hit = rule != world::SHARED && !session.clouded && self.book.could_hit(&asked);
        self.summary.could_hit += u64::from(could_hit);
        if direct == weir {
            self.book.note(&asked, step, weir.to_vec(), about);
            return Ok(false);
        }
        if rule == world::SHARED && both.direct.err().is_some() {
            let what = must_equal_packets(direct, weir).unwrap_or_default();
            return Err(format!("what others may read is served to whom the server refuses it\n{what}"));
        }
        if rule == world::RENEWED.0 {
            // It may be what Weir has got behind its answer.
            self.book.note(&asked, step, direct.to_vec(), about);
        }
        match self.book.judge(&asked, weir) {
            Judgement::Allowed(age) => {
                self.summary.stale(age);
                Ok(true)
            }
            Judgement::Forbidden(why) => {
                let what = must_equal_packets(direct, weir).unwrap_or_default();
                Err(format!("{why}\n{what}"))
            }
        }
    }

    fn key(&self, turn: usize, read: &Read) -> Key {
        let session = &self.sessions[turn];
        let text = format!("{}{}", read.hint.text(), read.sql);
        let mut statement = Vec::new();
        if read.params.is_some()
            && let Some(prepared) = self.prepared.get(&(turn, text))
        {
            statement.extend_from_slice(&prepared.state);
        }
        statement.extend_from_slice(read.sql.as_bytes());
        let is_shared = world::rule_of(&read.named).0 == world::SHARED;
        Key {
            user: if is_shared { String::new() } else { session.user.0.to_owned() },
            session: session.state.clone(),
            shape: session.shape(),
            statement,
            bound: read.params.as_ref().map(|params| format!("{params:?}")),
            behind: if read.sql.contains("SQL_CALC_FOUND_ROWS") { read.behind } else { "" },
        }
    }

    /// A statement as text, or prepared and executed.
    async fn statement(&mut self, turn: usize, sql: &str, params: Option<&[Param]>) -> Result<Both> {
        let session = &mut self.sessions[turn];
        session.unread = false;
        session.clouded |= ["CALL", "f_sum()", "CONNECTION_ID()", "; "].iter().any(|part| sql.contains(part));
        let Some(params) = params else { return session.query(sql.as_bytes()).await };
        let of = (turn, sql.to_owned());
        if !self.prepared.contains_key(&of) {
            let mine = |(number, _): &(usize, String)| *number == turn;
            if self.prepared.keys().filter(|of| mine(of)).count() >= PREPARED {
                for (_, old) in self.prepared.extract_if(|of, _| mine(of)) {
                    session.close(&old).await?;
                }
            }
            match session.prepare(sql.as_bytes()).await? {
                Some(prepared) => drop(self.prepared.insert(of.clone(), prepared)),
                // Both refuse: as text both do too, with the `?` for an error.
                None => return session.query(sql.as_bytes()).await,
            }
        }
        let prepared = self.prepared.get_mut(&of).context("a statement that was just prepared")?;
        session.execute(prepared, params).await
    }

    async fn end(&mut self, step: u64, turn: usize, sql: &str) -> Verdict {
        let session = &mut self.sessions[turn];
        let both = session.query(sql.as_bytes()).await?;
        let mut verdict = must_equal(&both);
        if session.transaction.take().is_some_and(|transaction| transaction.autocommit_off) {
            let both = session.query(b"SET autocommit = 1").await?;
            verdict = verdict.or_else(|| must_equal(&both));
        }
        session.wrote = step;
        self.shared.busy = None;
        Ok(verdict)
    }

    async fn state(&mut self, turn: usize, next: Step) -> Verdict {
        let session = &mut self.sessions[turn];
        let both = match next {
            Step::ChangeUser(user, schema) => {
                self.prepared.retain(|(number, _), _| *number != turn);
                session.change_user(user, schema).await?;
                return Ok(None);
            }
            Step::Reset => {
                self.prepared.retain(|(number, _), _| *number != turn);
                (session.temporary, session.clouded) = (None, false);
                session.both(command::RESET_CONNECTION, [Vec::new(), Vec::new()]).await?
            }
            Step::InitDb(name) => {
                let mut both = session.both(command::INIT_DB, [name.into(), name.into()]).await?;
                without_warnings(&mut both);
                both
            }
            Step::Set(sql) => {
                let both = session.query(sql.as_bytes()).await?;
                session.unread = both.direct.warnings() > Some(0);
                both
            }
            _ => return Ok(None),
        };
        session.look().await?;
        Ok(must_equal(&both))
    }

    /// A temporary table that hides another.
    async fn temporary(&mut self, step: u64, turn: usize, next: &Step) -> Verdict {
        let session = &mut self.sessions[turn];
        session.wrote = step;
        if matches!(next, Step::DropTemporary) {
            let Some(schema) = session.temporary.take() else { return Ok(None) };
            let both = session.query(format!("DROP TEMPORARY TABLE {schema}.lasting").as_bytes()).await?;
            return Ok(must_equal(&both));
        }
        let Some(schema) = session.schema.clone() else { return Ok(None) };
        let sql = format!(
            "CREATE TEMPORARY TABLE {schema}.lasting (id INT, v INT, s VARCHAR(9), n INT, at DATETIME)"
        );
        let made = session.query(sql.as_bytes()).await?;
        (session.temporary, session.clouded) = (Some(schema.clone()), true);
        let sql = format!("INSERT INTO {schema}.lasting VALUES (1, -1, 'hidden', 0, '2020-01-01')");
        let filled = session.query(sql.as_bytes()).await?;
        Ok(must_equal(&made).or_else(|| must_equal(&filled)))
    }

    async fn define(&mut self, step: u64, turn: usize, sql: &str, of: &str) -> Verdict {
        let session = &mut self.sessions[turn];
        let both = session.query(sql.as_bytes()).await?;
        session.wrote = step;
        if let Some(error) = both.direct.err() {
            bail!("{sql}: {error}");
        }
        let list = if sql.contains(" VIEW ") { &mut self.shared.odd } else { &mut self.shared.widened };
        list.retain(|name| name != of);
        if sql.contains("UUID()") || sql.contains("ADD COLUMN") {
            list.push(of.to_owned());
        }
        self.summary.ended += self.book.end(&Covers::Table(of.to_owned()), sql);
        Ok(must_equal(&both))
    }

    async fn rights(&mut self, step: u64, turn: usize, sql: &str) -> Verdict {
        let session = &mut self.sessions[turn];
        let both = session.query(sql.as_bytes()).await?;
        session.wrote = step;
        if let Some(error) = both.direct.err() {
            bail!("{sql}: {error}");
        }
        let table = sql.split_whitespace().nth(3).unwrap_or_default().to_owned();
        self.shared.revoked.retain(|name| *name != table);
        if sql.starts_with("REVOKE") {
            self.shared.revoked.push(table);
        }
        self.summary.ended += self.book.end(&Covers::All, sql);
        Ok(must_equal(&both))
    }

    async fn wipe(&mut self, wipe: &Wipe) -> Verdict {
        admin::wipe(self.plan.admin, wipe).await?;
        let covers = match wipe {
            Wipe::All => Covers::All,
            Wipe::Table(table) => Covers::Named(table.clone()),
            Wipe::Rule(rule) => Covers::Rule(rule),
            Wipe::User(user) => Covers::User((*user).to_owned()),
            Wipe::Tag(tag) => Covers::Tag(tag),
            Wipe::Schema(schema) => Covers::Schema(schema),
            Wipe::Digest(statement) => Covers::Digest(statement.clone()),
        };
        self.summary.ended += self.book.end(&covers, &format!("{wipe:?}"));
        Ok(None)
    }

    /// Values that come but once, on either side.
    fn fresh(&mut self, both: &Both) -> Option<String> {
        self.summary.exact += 1;
        let rows = |response: &Response| response.rows().map(<[u8]>::to_vec).collect::<Vec<_>>();
        let (direct, weir) = (rows(&both.direct), rows(&both.weir));
        if direct.len() != weir.len() || both.direct.err() != both.weir.err() {
            return Some(format!("{} rows directly, {} through Weir", direct.len(), weir.len()));
        }
        for row in weir {
            // UUID() has 36 characters, at the end of the row.
            let value = row.get(row.len().saturating_sub(36)..).unwrap_or_default().to_vec();
            if !self.seen.insert(value) {
                return Some("UUID() gave the same twice: the answer is an old one".to_owned());
            }
        }
        None
    }

    fn tell(&mut self, step: u64, turn: usize, next: &Step) {
        if self.steps.len() == SHOWN {
            self.steps.pop_front();
        }
        let line = describe::step(step, &self.sessions[turn], next);
        if describe::is_history(next) {
            let history = &mut self.histories[turn];
            if history.len() == SHOWN {
                history.pop_front();
            }
            history.push_back(line.clone());
        }
        self.turn = turn;
        self.steps.push_back(line);
    }

    fn story(&self, step: u64) -> String {
        let lines = |of: &VecDeque<String>| of.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
        format!(
            "step {step}; what has changed the session before:\n{}\nthe last steps:\n{}",
            lines(&self.histories[self.turn]),
            lines(&self.steps)
        )
    }
}

/// How long a request to the admin address may take.
const PATIENCE: Duration = Duration::from_secs(10);
