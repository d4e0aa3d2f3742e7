//! P43: a storm of KILLs among clients that share a few connections. Every answer carries its session's token, and every KILL is
//! written down before it is sent: who is hit was aimed at, as often as that at most.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::kit::*;
use crate::sharing_kit::*;
use command::Param;

const THREADS: u32 = 50;
/// Sessions of these threads are never aimed at.
const SPARED: u32 = 25;
const CONNECTIONS: u32 = 16;
/// It lasts so long at least, and on a machine that is slow until enough was hit.
const STORM: Duration = Duration::from_secs(2);
const STORM_MAX: Duration = Duration::from_secs(60);
/// Of statements hit and of sessions ended.
const ENOUGH: u32 = 10;
/// Within this everything must be given back. It only bounds a failure.
const GIVE_BACK: Duration = Duration::from_secs(60);

/// What the threads know of each other.
struct Field {
    flavor: Flavor,
    options: ConnectOptions,
    over: AtomicBool,
    tokens: AtomicU32,
    /// Sessions that may be killed, by Weir's id.
    targets: Mutex<HashMap<u32, Aims>>,
    hit: AtomicU32,
    ended: AtomicU32,
    tally: Mutex<Tally>,
}

/// KILLs that were about to be sent, so far.
#[derive(Debug, Clone, Copy, Default)]
struct Aims {
    query: u32,
    connection: u32,
}

#[derive(Debug, Default)]
struct Tally {
    statements: u32,
    kills: u32,
    /// Token and step of each insert that was acknowledged, and of each whose outcome nobody knows.
    there: Vec<(u32, u32)>,
    perhaps: Vec<(u32, u32)>,
}

/// How an answer came out.
enum Fate {
    Answered(Response),
    /// KILL QUERY.
    Hit,
    /// KILL CONNECTION.
    Ended,
}

/// One client of a thread, from its login to its quit or its end by a KILL.
struct Session<'a> {
    field: &'a Field,
    client: Client,
    id: u32,
    token: u32,
    spared: bool,
    hits: u32,
    prepared: u32,
    tally: Tally,
}

impl<'a> Session<'a> {
    /// None: it was killed before it was ready.
    async fn open(field: &'a Field, thread: u32) -> Option<Self> {
        let client = field.options.connect().await.unwrap();
        let token = field.tokens.fetch_add(1, Ordering::Relaxed);
        let (id, spared) = (client.greeting().connection_id, thread < SPARED);
        if !spared {
            lock(&field.targets).insert(id, Aims::default());
        }
        let mut session =
            Self { field, client, id, token, spared, hits: 0, prepared: 0, tally: Tally::default() };
        loop {
            match session.query(&format!("SET @me = {token}")).await {
                Fate::Answered(_) => break,
                Fate::Hit => {}
                Fate::Ended => return session.close(true).await,
            }
        }
        loop {
            match session
                .command(command::STMT_PREPARE, format!("SELECT @me, ?, SLEEP({})", session.nap()).as_bytes())
                .await
            {
                Fate::Answered(response) => match response.outcomes.first() {
                    Some(Outcome::Prepared(prepared)) => session.prepared = prepared.id,
                    other => panic!("{}: {other:?}", session.who()),
                },
                Fate::Hit => continue,
                Fate::Ended => return session.close(true).await,
            }
            return Some(session);
        }
    }

    /// Who may be hit offers more time for it.
    fn nap(&self) -> &'static str {
        if self.spared { "0.002" } else { "0.1" }
    }

    fn who(&self) -> String {
        format!(
            "{:?}, session {} (token {}, spared: {})",
            self.field.flavor, self.id, self.token, self.spared
        )
    }

    async fn query(&mut self, sql: &str) -> Fate {
        self.command(command::QUERY, sql.as_bytes()).await
    }

    /// Sends a command and judges what comes back: an error or an end that nobody aimed is a failure of the test.
    async fn command(&mut self, code: u8, body: &[u8]) -> Fate {
        self.tally.statements += 1;
        let ended = match self.client.send(code, body).await {
            Err(error) => format!("{error:#}"),
            Ok(()) => match self.client.receive(code).await {
                Err(error) => format!("{error:#}"),
                Ok(response) => match response.err().cloned() {
                    None if !response.closed => return Fate::Answered(response),
                    Some(err) if err.code == 1317 && !response.closed => return self.hit(&err.to_string()),
                    // KILL says 1317 as well, ahead of the end; 1158: the connection was lost.
                    Some(err) if matches!(err.code, 1317 | 1927 | 1053 | 1158 | 2013 | 4031) => {
                        err.to_string()
                    }
                    None => "closed".to_owned(),
                    Some(err) => panic!("{}: {err} after {}", self.who(), body.escape_ascii()),
                },
            },
        };
        let aims = self.aims();
        assert!(aims.connection > 0, "{}: ended by nobody's KILL: {ended}, {aims:?}", self.who());
        Fate::Ended
    }

    fn aims(&self) -> Aims {
        lock(&self.field.targets).get(&self.id).copied().unwrap_or_default()
    }

    fn hit(&mut self, what: &str) -> Fate {
        let aims = self.aims();
        self.hits += 1;
        // MariaDB says 1317 to the statement that a KILL CONNECTION ends, and the end comes with the next.
        assert!(
            self.hits <= aims.query + aims.connection,
            "{}: {what}, {} times, with {aims:?}",
            self.who(),
            self.hits
        );
        self.field.hit.fetch_add(1, Ordering::Relaxed);
        Fate::Hit
    }

    /// A statement whose answer is this session's and no other's. `false`: the session is over.
    async fn own(&mut self, step: u32) -> bool {
        let token = self.token.to_string();
        let fate = match step % 3 {
            0 => self.query(&format!("SELECT @me, {step}, SLEEP({})", self.nap())).await,
            1 => {
                let params = [Param::Text(step.to_string())];
                let body = command::Execute {
                    id: self.prepared,
                    flags: 0,
                    params: &params,
                    types: true,
                    attributes: false,
                };
                self.command(command::STMT_EXECUTE, &body.body()).await
            }
            _ => return self.write(step).await,
        };
        let response = match fate {
            Fate::Ended => return false,
            Fate::Hit => return true,
            Fate::Answered(response) => response,
        };
        let row = response.rows().next().unwrap_or_else(|| panic!("{}: {response:?}", self.who()));
        let text = |slept: &str| [&*token, &*step.to_string(), slept].map(lenenc_text).concat();
        let sleeps = [0_u8, 1].map(|slept| match step % 3 {
            0 => row == &text(&slept.to_string())[..],
            _ => {
                let bytes = [lenenc_text(&step.to_string())].concat();
                let token = i64::from(self.token).to_le_bytes();
                row.strip_prefix(&[0, 0][..])
                    .and_then(|rest| rest.strip_prefix(&token[..]))
                    .and_then(|rest| rest.strip_prefix(&bytes[..]))
                    .is_some_and(|rest| {
                        rest.first() == Some(&slept) && rest[1..].iter().all(|byte| *byte == 0)
                    })
            }
        });
        assert!(sleeps[0] || sleeps[1], "{}: a wrong answer to step {step}: {row:?}", self.who());
        if sleeps[1] {
            // So SLEEP says that it was interrupted, on MySQL without an error.
            self.hit("SLEEP was interrupted");
        }
        true
    }

    /// An insert that commits by itself, or one in a transaction.
    async fn write(&mut self, step: u32) -> bool {
        let alone = step.is_multiple_of(2);
        if !alone {
            match self.query("BEGIN").await {
                Fate::Answered(_) => {}
                Fate::Hit => return true,
                Fate::Ended => return false,
            }
        }
        match self.query(&format!("INSERT INTO t VALUES (@me, {step})")).await {
            Fate::Answered(response) => {
                assert_eq!(response.ok().map(|ok| ok.affected_rows), Some(1), "{}: {response:?}", self.who());
            }
            Fate::Hit if alone => return true,
            Fate::Hit => return self.roll_back().await,
            Fate::Ended if alone => {
                self.tally.perhaps.push((self.token, step));
                return false;
            }
            Fate::Ended => return false,
        }
        if !alone {
            match self.query("COMMIT").await {
                Fate::Answered(_) => {}
                Fate::Hit => {
                    self.tally.perhaps.push((self.token, step));
                    return self.roll_back().await;
                }
                Fate::Ended => {
                    self.tally.perhaps.push((self.token, step));
                    return false;
                }
            }
        }
        self.tally.there.push((self.token, step));
        true
    }

    async fn roll_back(&mut self) -> bool {
        loop {
            match self.query("ROLLBACK").await {
                Fate::Answered(_) => return true,
                Fate::Hit => {}
                Fate::Ended => return false,
            }
        }
    }

    /// Kills somebody else. `false`: the session is over.
    async fn kill(&mut self, dice: &mut u64) -> bool {
        let (target, kind) = {
            let mut targets = lock(&self.field.targets);
            let mut ids: Vec<u32> = targets.keys().copied().filter(|id| *id != self.id).collect();
            ids.sort_unstable();
            let Some(target) = ids.get(roll(dice) as usize % ids.len().max(1)).copied() else { return true };
            // Most are only interrupted: a login takes longer than a statement.
            let kind = roll(dice) % 12;
            let aims = targets.entry(target).or_default();
            match kind {
                0 | 1 => aims.connection += 1,
                _ => aims.query += 1,
            }
            (target, kind)
        };
        self.tally.kills += 1;
        self.tally.statements += 1;
        // MySQL 9 has no COM_PROCESS_KILL.
        let process_kill = kind == 1 && self.field.flavor == Flavor::MariaDb;
        let (code, body) = match kind {
            1 if process_kill => (command::PROCESS_KILL, target.to_le_bytes().to_vec()),
            0 | 1 => (command::QUERY, format!("KILL {target}").into_bytes()),
            2 => (command::QUERY, format!("/* a comment */ kill query {target}").into_bytes()),
            _ => (command::QUERY, format!("KILL QUERY {target}").into_bytes()),
        };
        // 1094: it has gone meanwhile.
        let refused = async |client: &mut Client| {
            client.send(code, &body).await.ok()?;
            let response = client.receive(code).await.ok()?;
            // The session's own end, which came while its KILL waited.
            let ended =
                response.err().is_some_and(|err| matches!(err.code, 1927 | 1053 | 1158 | 2013 | 4031));
            (!response.closed && !ended).then_some(response.err().cloned())
        };
        match refused(&mut self.client).await {
            Some(None) => true,
            Some(Some(err)) if err.code == 1094 => true,
            Some(Some(err)) if err.code == 1317 => matches!(self.hit(&err.to_string()), Fate::Hit),
            Some(Some(err)) => panic!("{}: {err} after a KILL", self.who()),
            None => {
                assert!(
                    self.aims().connection > 0,
                    "{}: ended by nobody's KILL, in one of its own",
                    self.who()
                );
                false
            }
        }
    }

    /// Ends the session, and leaves its figures to all.
    async fn close(mut self, killed: bool) -> Option<Self> {
        lock(&self.field.targets).remove(&self.id);
        self.field.ended.fetch_add(u32::from(killed), Ordering::Relaxed);
        lock(&self.field.tally).add(std::mem::take(&mut self.tally));
        if !killed {
            self.client.quit().await.ok();
        }
        None
    }
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.statements += other.statements;
        self.kills += other.kills;
        self.there.extend(other.there);
        self.perhaps.extend(other.perhaps);
    }
}

/// xorshift: the next number.
fn roll(dice: &mut u64) -> u64 {
    *dice ^= *dice << 13;
    *dice ^= *dice >> 7;
    *dice ^= *dice << 17;
    *dice >> 11
}

async fn thread(field: &Field, number: u32) {
    let mut dice = 0x9e37_79b9_7f4a_7c15 ^ (u64::from(number) + 1);
    while !field.over.load(Ordering::Relaxed) {
        let Some(mut session) = Session::open(field, number).await else { continue };
        let mut step = 0;
        let killed = loop {
            if field.over.load(Ordering::Relaxed) {
                break false;
            }
            let goes_on = match roll(&mut dice) % 4 {
                0 => session.kill(&mut dice).await,
                _ => session.own(step).await,
            };
            step += 1;
            if !goes_on {
                break true;
            }
        };
        session.close(killed).await;
    }
}

/// What may not grow: Weir's descriptors, its clients, the server's sessions and prepared statements of this account.
async fn taken_now(weir: &Weir, admin: &mut Client) -> [u64; 4] {
    let descriptors = std::fs::read_dir(format!("/proc/{}/fd", weir.pid())).unwrap().count() as u64;
    let sessions = row(
        admin,
        "SELECT COUNT(*), COUNT(NULLIF(COMMAND, 'Sleep')) FROM information_schema.PROCESSLIST WHERE USER = 'sh_tempest'",
    )
    .await;
    let [sessions, busy] = <[_; 2]>::try_from(sessions.split('|').collect::<Vec<_>>()).unwrap();
    let statements = row(admin, "SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'").await;
    assert!(busy.parse::<u64>().unwrap() <= sessions.parse().unwrap());
    [
        descriptors,
        metric(weir, "weir_clients_connected").await as u64,
        sessions.parse().unwrap(),
        statements.split('|').nth(1).unwrap().parse().unwrap(),
    ]
}

#[tokio::test]
async fn p43_a_storm_of_kills_hits_nobody_who_was_not_aimed_at() {
    for flavor in Flavor::BOTH {
        // Its own, for the prepared statements of a server are counted together.
        let server = Server::start(flavor).unwrap();
        database(&server, "sh_tempest", &["CREATE TABLE t (token INT, step INT)"]).await;
        let mut admin = app(server.addr()).connect().await.unwrap();
        admin.run("CREATE USER sh_tempest IDENTIFIED BY 'storm-pw'").await.unwrap();
        admin.run("GRANT ALL ON sh_tempest.* TO sh_tempest").await.unwrap();
        let more = "[[user]]\nname = \"sh_tempest\"\npassword = \"storm-pw\"\n";
        let weir = sharing(&server, CONNECTIONS, "min_idle = 0\nidle_timeout = \"1s\"\n", more);
        let options = ConnectOptions::tcp(weir.addr(), "sh_tempest", "storm-pw").database("sh_tempest");
        // One has been there before, so that what stays for good is in the baseline.
        let mut first = options.connect().await.unwrap();
        turn(&mut first).await;
        first.quit().await.unwrap();
        until("nothing is pooled", async || {
            let now = taken_now(&weir, &mut admin).await;
            (now[1..] == [0, 0, 0]).then_some(())
        })
        .await;
        let before = taken_now(&weir, &mut admin).await;

        let field = Arc::new(Field {
            flavor,
            options: options.clone(),
            over: AtomicBool::new(false),
            tokens: AtomicU32::new(1),
            targets: Mutex::default(),
            hit: AtomicU32::new(0),
            ended: AtomicU32::new(0),
            tally: Mutex::default(),
        });
        let threads: Vec<_> = (0..THREADS)
            .map(|number| {
                let field = Arc::clone(&field);
                std::thread::spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                    runtime.block_on(thread(&field, number));
                })
            })
            .collect();
        let (begun, mut most) = (Instant::now(), 0);
        let [mut hits, mut ends] = [0, 0];
        while begun.elapsed() < STORM || begun.elapsed() < STORM_MAX && hits.min(ends) < ENOUGH {
            tokio::time::sleep(Duration::from_millis(100)).await;
            most = taken_now(&weir, &mut admin).await[2].max(most);
            [hits, ends] = [&field.hit, &field.ended].map(|count| count.load(Ordering::Relaxed));
        }
        field.over.store(true, Ordering::Relaxed);
        let joined =
            tokio::task::spawn_blocking(|| threads.into_iter().map(|thread| thread.join().is_ok()).collect());
        let fine: Vec<bool> = joined.await.unwrap();
        assert!(fine.iter().all(|fine| *fine), "{flavor:?}: what a thread saw stands above");
        // KILLs that find none free have some of their own beside these, by `limits.max_kills` of each worker.
        let beside = 8 * std::thread::available_parallelism().map_or(1, usize::from) as u64;
        assert!(most <= u64::from(CONNECTIONS) + beside, "{flavor:?}: {most} connections");

        let ended = Instant::now();
        let mut all = Vec::new();
        for _ in 0..20 {
            all.push(options.connect().await.unwrap());
        }
        for (i, client) in all.iter_mut().enumerate() {
            assert_eq!(row(client, &format!("SELECT {i}, @me")).await, format!("{i}|NULL"), "{flavor:?}");
        }
        for client in all {
            client.quit().await.unwrap();
        }
        loop {
            let now = taken_now(&weir, &mut admin).await;
            if now.iter().zip(&before).all(|(now, before)| now <= before) {
                break;
            }
            assert!(
                ended.elapsed() < GIVE_BACK,
                "{flavor:?}: {now:?} after {GIVE_BACK:?}, before {before:?}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }

        let tally = std::mem::take(&mut *lock(&field.tally));
        let rows = admin.run("SELECT token, step FROM sh_tempest.t").await.unwrap();
        let mut found: HashMap<(u32, u32), u32> = HashMap::new();
        for row in rows.rows() {
            let values = weir_testkit::client::bytes::text_row(row).unwrap();
            let [token, step] =
                [0, 1].map(|i| String::from_utf8(values[i].clone().unwrap()).unwrap().parse().unwrap());
            *found.entry((token, step)).or_default() += 1;
        }
        for written in &tally.there {
            assert_eq!(found.remove(written), Some(1), "{flavor:?}: {written:?}, which was acknowledged");
        }
        for written in &tally.perhaps {
            assert!(found.remove(written).is_none_or(|times| times == 1), "{flavor:?}: {written:?} twice");
        }
        assert!(found.is_empty(), "{flavor:?}: nobody was told of {found:?}");
        println!(
            "{flavor:?}: {} statements, {} KILLs, {hits} statements hit, {ends} sessions ended, {} rows, {most} connections, all \
             given back after {:?}",
            tally.statements,
            tally.kills,
            tally.there.len(),
            ended.elapsed()
        );
        assert!(
            hits.min(ends) >= ENOUGH,
            "{flavor:?}: no storm: {hits} statements hit, {ends} sessions ended"
        );
    }
}
