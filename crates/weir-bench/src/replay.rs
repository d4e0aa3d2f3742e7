//! A load generator that costs little: it sends packets that were made before, and of each answer it counts the bytes
//! until there are as many as there were when it was recorded. What is behind it shows where sysbench, which takes
//! several times as much of the same cores, would hide it.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::Instant;

use crate::client::{Client, Login};
use crate::process;
use crate::rig;

/// Rows that the statements ask for.
pub const ROWS: u32 = 500;
/// Transactions in a recording of `oltp_read_only`.
const TRANSACTIONS: u32 = 200;
/// Rows of a range, as sysbench has it.
const RANGE: u32 = 100;
/// What a thread reads at once; an answer with a range of rows is 13 kB.
const SCRATCH: usize = 64 << 10;
/// Longer than any answer takes. A peer that sends fewer bytes than were recorded is found out by it.
const SILENCE: Duration = Duration::from_secs(20);

/// A packet, and the size of the answer to it with all headers.
struct Exchange {
    request: Vec<u8>,
    answer: usize,
}

/// What is sent, in its order.
pub struct Recording(Vec<Exchange>);

/// What a replay showed.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Answers per second.
    pub per_second: f64,
    /// CPU time of the process that was watched, per answer, in microseconds.
    pub cpu_us: Option<f64>,
}

/// Each row of `sbtest1` once, by its primary key.
#[must_use]
pub fn point_selects() -> Vec<String> {
    (1..=ROWS).map(point_select).collect()
}

/// The statements of `oltp_read_only` without their transactions, on `sbtest1`.
#[must_use]
pub fn read_only() -> Vec<String> {
    let mut statements = Vec::new();
    let mut state = 1u32;
    // A generator of Numerical Recipes; the high bits are the better ones. The same ids in each run.
    let mut id = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % ROWS + 1
    };
    for _ in 0..TRANSACTIONS {
        for _ in 0..10 {
            statements.push(point_select(id()));
        }
        for (what, order) in [("c", ""), ("SUM(k)", ""), ("c", " ORDER BY c"), ("DISTINCT c", " ORDER BY c")]
        {
            let first = id();
            let last = first + RANGE - 1;
            statements.push(format!("SELECT {what} FROM sbtest1 WHERE id BETWEEN {first} AND {last}{order}"));
        }
    }
    statements
}

fn point_select(id: u32) -> String {
    format!("SELECT c FROM sbtest1 WHERE id={id}")
}

impl Recording {
    /// Sends each statement once to `address`, and notes how large the answer is. A cache on the way has it then.
    ///
    /// # Errors
    /// When the login or a statement fails.
    pub fn make(address: SocketAddr, login: Login, statements: &[String]) -> Result<Self> {
        let mut client = Client::connect(address, login, SCRATCH)?;
        let mut exchanges = Vec::with_capacity(statements.len());
        for sql in statements {
            let before = client.received();
            client.query(sql)?;
            let mut request = u32::try_from(sql.len() + 1)?.to_le_bytes().to_vec();
            request.push(3);
            request.extend_from_slice(sql.as_bytes());
            exchanges.push(Exchange { request, answer: usize::try_from(client.received() - before)? });
        }
        client.quit()?;
        ensure!(!exchanges.is_empty(), "there is nothing to replay");
        Ok(Self(exchanges))
    }

    /// The mean size of an answer in bytes.
    #[must_use]
    pub fn mean_answer(&self) -> f64 {
        let sum: usize = self.0.iter().map(|exchange| exchange.answer).sum();
        sum as f64 / self.0.len() as f64
    }
}

/// Replays it over so many connections for `time`, each from another place on, and watches the CPU of `pid`.
///
/// # Errors
/// When a connection breaks, or an answer differs in size from the recorded one.
pub fn run(
    recording: &Arc<Recording>,
    (address, pid): (SocketAddr, Option<u32>),
    login: Login,
    clients: usize,
    time: Duration,
) -> Result<Outcome> {
    let connect = |_| Ok(Client::connect(address, login, 1024)?.into_stream());
    let mut streams = (0..clients).map(connect).collect::<Result<Vec<_>>>()?;
    let before = pid.map(process::cpu_time).transpose()?;
    let start = std::time::Instant::now();
    let mut threads = Vec::new();
    for (share, first) in shares(clients, rig::cores()?) {
        let mine: Vec<_> = streams.drain(..share).collect();
        let recording = Arc::clone(recording);
        threads.push(std::thread::spawn(move || replay(&recording, mine, first, clients, time)));
    }
    let mut answers = 0;
    for thread in threads {
        answers += thread.join().map_err(|_| anyhow::anyhow!("a replaying thread panicked"))??;
    }
    let elapsed = start.elapsed();
    let after = pid.map(process::cpu_time).transpose()?;
    ensure!(answers > 0, "nothing was answered");
    let cpu = before.zip(after).map(|(before, after)| after.saturating_sub(before));
    Ok(Outcome {
        per_second: answers as f64 / elapsed.as_secs_f64(),
        cpu_us: cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / answers as f64),
    })
}

/// How many clients each thread has, and the number of its first.
fn shares(clients: usize, threads: usize) -> Vec<(usize, usize)> {
    let bounds = |thread: usize| thread * clients / threads;
    (0..threads).map(|thread| (bounds(thread + 1) - bounds(thread), bounds(thread))).collect()
}

fn replay(
    recording: &Arc<Recording>,
    streams: Vec<std::net::TcpStream>,
    first: usize,
    clients: usize,
    time: Duration,
) -> Result<u64> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let local = LocalSet::new();
    let scratch = Rc::new(RefCell::new(vec![0; SCRATCH]));
    let end = Instant::now() + time;
    local.block_on(&runtime, async {
        let mut tasks = JoinSet::new();
        for (number, stream) in streams.into_iter().enumerate() {
            stream.set_nonblocking(true)?;
            let stream = TcpStream::from_std(stream)?;
            let at = (first + number) * recording.0.len() / clients;
            let task = one(stream, Arc::clone(recording), at, end, Rc::clone(&scratch));
            tasks.spawn_local(tokio::time::timeout_at(end + SILENCE, task));
        }
        let mut answers = 0;
        for outcome in tasks.join_all().await {
            answers += outcome.context("an answer is smaller than it was when it was recorded")??;
        }
        Ok(answers)
    })
}

async fn one(
    stream: TcpStream,
    recording: Arc<Recording>,
    at: usize,
    end: Instant,
    scratch: Rc<RefCell<Vec<u8>>>,
) -> Result<u64> {
    let mut answers = 0;
    for exchange in recording.0.iter().cycle().skip(at) {
        // The clock is read for one in some answers only: it would be a good part of what a client costs.
        if answers % 16 == 0 && Instant::now() >= end {
            break;
        }
        let mut unsent = &exchange.request[..];
        while !unsent.is_empty() {
            match stream.try_write(unsent) {
                Ok(taken) => unsent = &unsent[taken..],
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => stream.writable().await?,
                Err(error) => return Err(error.into()),
            }
        }
        let mut missing = exchange.answer;
        while missing > 0 {
            stream.readable().await?;
            let mut scratch = scratch.borrow_mut();
            match stream.try_read(&mut scratch) {
                Ok(0) => bail!("the peer closed the connection"),
                Ok(got) => {
                    let is_error = missing == exchange.answer && scratch.get(4) == Some(&0xFF);
                    ensure!(
                        !is_error,
                        "error: {}",
                        String::from_utf8_lossy(scratch.get(13..got).unwrap_or_default())
                    );
                    ensure!(got <= missing, "an answer is larger than it was when it was recorded");
                    missing -= got;
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
        answers += 1;
    }
    Ok(answers)
}

#[cfg(test)]
mod tests;
