//! P40: the prepared statements of many clients, and of very many texts, stay under `server_statements`. Each execution's answer is
//! of its text and its parameter, and the server's own count is read all the while.
//!
//! ## The full size
//!
//! 10,000 clients that stay and a million texts, with the default of `server_statements`, need 11,000 open files in a process and,
//! on two cores, about five minutes for each server. A number in the place of `full` is that many texts.
//!
//! ```sh
//! ulimit -n "$(ulimit -Hn)"
//! RUST_TEST_THREADS=1 WEIR_SOAK_STATEMENTS=full cargo test -p weir --test running -- sharing_statement_cap --nocapture
//! ```

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use command::Param;
use tokio::task::{JoinHandle, JoinSet};

use crate::kit::*;
use crate::sharing_kit::*;
use crate::sharing_statements::number;

const SIZE: &str = "WEIR_SOAK_STATEMENTS";

#[derive(Debug, Clone, Copy)]
struct Size {
    /// Clients that prepare a text of their own and stay.
    clients: u32,
    /// Texts that the sessions prepare meanwhile, each another.
    texts: u32,
    sessions: u32,
    /// Statements that a session has at most; it closes the oldest for another. Below `limits.max_statements`.
    kept: usize,
    connections: u32,
    /// `server_statements`: far fewer than clients and sessions have.
    statements: u32,
}

const SMALL: Size =
    Size { clients: 300, texts: 5_000, sessions: 8, kept: 100, connections: 10, statements: 60 };

/// With the default of `server_statements`. A connection keeps 1,000 at most, so that it takes more than twelve to have them all.
const FULL: Size = Size {
    clients: 10_000,
    texts: 1_000_000,
    sessions: 32,
    kept: 2_000,
    connections: 40,
    statements: 12_000,
};

/// How many log in at a time: a login may take 10 s.
const LOGINS: usize = 64;

impl Size {
    fn chosen() -> Self {
        match std::env::var(SIZE).as_deref() {
            Err(_) => SMALL,
            Ok("full") => FULL,
            Ok(texts) => Self { texts: texts.parse().expect(SIZE), ..FULL },
        }
    }

    /// For moments there may be a few more than `server_statements`: a connection's are counted as closed when that was sent.
    fn most(self) -> u32 {
        self.statements + self.connections
    }

    /// A Weir that closes connections soon: only then does MariaDB lose what clients have closed and nobody else prepares.
    fn weir(self, server: &Server) -> Weir {
        let Self { connections, statements, .. } = self;
        let mut pool = "min_idle = 0\nidle_timeout = \"1s\"\nqueue_timeout = \"60s\"\n".to_owned();
        if statements != FULL.statements {
            pool += &format!("server_statements = {statements}\n");
        }
        let limits = format!("[limits]\nmax_clients = {}\n", self.clients + self.sessions);
        sharing(server, connections, &pool, &limits)
    }
}

/// One client's statement, and which text it is.
#[derive(Debug, Clone, Copy)]
struct Mine {
    id: u32,
    text: u32,
}

impl Mine {
    async fn prepare(client: &mut Client, text: u32) -> Self {
        let prepared = client.prepare(&format!("SELECT CAST(? AS SIGNED) + {text}")).await;
        let mine = Self { id: prepared.unwrap_or_else(|error| panic!("{text}: {error:#}")).id, text };
        mine.execute(client, 7, true).await;
        mine
    }

    /// After the first time without the types, as connectors do, wherever it is executed.
    async fn execute(self, client: &mut Client, param: i64, types: bool) {
        let response = execute(client, self.id, &[Param::Int(param)], types).await;
        assert_eq!(number(&response), param + i64::from(self.text), "{self:?}");
    }

    async fn close(self, client: &mut Client) {
        client.command(command::STMT_CLOSE, &self.id.to_le_bytes()).await.unwrap();
    }
}

/// Reads the server's count until it is told that all is over.
struct Watch {
    highest: Arc<AtomicU32>,
    over: Arc<AtomicBool>,
    task: JoinHandle<u32>,
}

impl Watch {
    async fn start(server: &Server) -> Self {
        let mut admin = app(server.addr()).connect().await.unwrap();
        let (highest, over) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
        let task = {
            let (highest, over) = (Arc::clone(&highest), Arc::clone(&over));
            async move {
                let mut times = 0;
                let mut ticks = tokio::time::interval(Duration::from_millis(5));
                while !over.load(Ordering::Relaxed) {
                    ticks.tick().await;
                    highest.fetch_max(counted(&mut admin).await, Ordering::Relaxed);
                    times += 1;
                }
                times
            }
        };
        Self { highest, over, task: tokio::spawn(task) }
    }

    fn highest(&self) -> u32 {
        self.highest.load(Ordering::Relaxed)
    }

    /// How often it has read.
    async fn end(self) -> u32 {
        self.over.store(true, Ordering::Relaxed);
        self.task.await.unwrap()
    }
}

async fn counted(admin: &mut Client) -> u32 {
    let count = row(admin, "SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'").await;
    count.strip_prefix("Prepared_stmt_count|").unwrap().parse().unwrap()
}

/// Clients that are all logged in.
async fn logged_in(options: &ConnectOptions, count: u32) -> Vec<Client> {
    let (mut all, mut logins) = (Vec::new(), JoinSet::new());
    for _ in 0..count {
        if logins.len() == LOGINS {
            all.push(logins.join_next().await.unwrap().unwrap());
        }
        let options = options.clone();
        logins.spawn(async move { options.connect().await.unwrap() });
    }
    all.extend(logins.join_all().await);
    all
}

/// Each prepares and executes a text that no other has, all at the same time.
async fn prepared(clients: Vec<Client>, first: u32) -> Vec<(Client, Mine)> {
    let mut all = JoinSet::new();
    for (mut client, text) in clients.into_iter().zip(first..) {
        all.spawn(async move {
            let mine = Mine::prepare(&mut client, text).await;
            (client, mine)
        });
    }
    all.join_all().await
}

/// Each executes once more what it has had since the beginning, and leaves; every other without a word.
async fn left(clients: Vec<(Client, Mine)>) {
    let mut all = JoinSet::new();
    for (mut client, mine) in clients {
        all.spawn(async move {
            mine.execute(&mut client, 8, false).await;
            if mine.text % 2 == 0 {
                client.quit().await.unwrap();
            }
        });
    }
    all.join_all().await;
}

/// A session's part of the texts: of every two it closes one at once, and it keeps the other for a while. At times it executes one
/// of those, which the connection hardly has any more.
async fn session(mut client: Client, number: u32, size: Size) {
    let mut kept: VecDeque<Mine> = VecDeque::new();
    for (turn, text) in (number..size.texts).step_by(size.sessions as usize).enumerate() {
        let mine = Mine::prepare(&mut client, text).await;
        if turn % 2 == 0 {
            mine.close(&mut client).await;
            continue;
        }
        kept.push_back(mine);
        if kept.len() > size.kept {
            kept.pop_front().unwrap().close(&mut client).await;
        }
        if turn % 8 == 1 {
            // Some other place each time, in the whole of it.
            kept[turn * 31 % kept.len()].execute(&mut client, turn as i64, false).await;
        }
    }
    client.quit().await.unwrap();
}

async fn check(flavor: Flavor) {
    let size = Size::chosen();
    // Its own, for the prepared statements of a server are counted together.
    let server = Server::start(flavor).unwrap();
    let mut admin = app(server.addr()).connect().await.unwrap();
    let weir = size.weir(&server);
    let options = app(weir.addr());
    let watch = Watch::start(&server).await;
    let at = |what: &str, begun: Instant| {
        let highest = watch.highest();
        println!("{flavor:?}: {what} after {:?}, {highest} statements at most", begun.elapsed());
        assert!(highest <= size.most(), "{flavor:?}: {what}: {highest} statements, {size:?}");
    };

    let begun = Instant::now();
    let clients = prepared(logged_in(&options, size.clients).await, size.texts).await;
    at(&format!("{} clients have prepared", clients.len()), begun);
    let mut sessions = JoinSet::new();
    for (client, number) in logged_in(&options, size.sessions).await.into_iter().zip(0..) {
        sessions.spawn(session(client, number, size));
    }
    sessions.join_all().await;
    at(&format!("{} texts are through", size.texts), begun);
    assert!(watch.highest() >= size.statements / 2, "{flavor:?}: nothing had to be closed");
    left(clients).await;
    at("all have left", begun);
    until("nothing is left", async || (counted(&mut admin).await == 0).then_some(())).await;
    at("nothing is left", begun);
    println!("{flavor:?}: read {} times, {} connections opened", watch.end().await, opened(&weir).await);
}

#[tokio::test]
async fn p40_the_server_has_no_more_than_it_may_mariadb() {
    check(Flavor::MariaDb).await;
}

#[tokio::test]
async fn p40_the_server_has_no_more_than_it_may_mysql() {
    check(Flavor::MySql).await;
}
