//! Reads of which some are asked for far more often than others, at a fixed rate, beside a writer: so a run with the cache is like
//! one without. What is out of date is known, for whoever reads knows what was committed before.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};

use crate::client::Client;
use crate::rig::LOGIN;

/// Rows of the table.
const ROWS: u64 = 10_000;
/// Rows of a range.
const RANGE: u64 = 10;
/// One read in so many is a range.
const RANGES: u64 = 10;
/// Rows that the writer changes in a second; every other is one that is read often.
const WRITES: u32 = 10;
/// What the writer's random numbers differ by from the readers'.
const WRITER: u64 = 1 << 60;

/// The table, and how often each row was changed, as far as everybody knows.
pub struct Table(Vec<AtomicU64>);

/// One run.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Where clients connect to.
    pub address: SocketAddr,
    /// How many read.
    pub clients: u32,
    /// Reads of all of them per second.
    pub rate: u32,
    pub seconds: u32,
    pub seed: u32,
}

impl Table {
    /// Makes it on the server at `address`.
    pub fn create(address: SocketAddr) -> Result<Self> {
        let mut client = Client::connect(address, LOGIN, 4096)?;
        client.query("CREATE TABLE skewed (id INT PRIMARY KEY, v INT NOT NULL)")?;
        client.query(&format!("INSERT INTO skewed SELECT seq, 0 FROM seq_1_to_{ROWS}"))?;
        client.quit()?;
        Ok(Self((0..=ROWS).map(|_| AtomicU64::new(0)).collect()))
    }

    /// How often the rows of a read were changed before now.
    fn changes(&self, read: Read) -> u64 {
        let rows = self.0.iter().skip(read.first as usize).take(read.rows as usize);
        rows.map(|row| row.load(Ordering::SeqCst)).sum()
    }
}

/// Runs it; returns how many answers were out of date when they were asked for.
pub fn run(load: &Load, table: &Table) -> Result<u64> {
    let connect = || Client::connect(load.address, LOGIN, 4096);
    let readers = (0..load.clients).map(|_| connect()).collect::<Result<Vec<_>>>()?;
    let writer = connect()?;
    let start = Instant::now();
    thread::scope(|scope| {
        let writer = scope.spawn(move || write(writer, load, table, start));
        let readers: Vec<_> = (0u64..)
            .zip(readers)
            .map(|(number, client)| scope.spawn(move || read(client, number, load, table, start)))
            .collect();
        let mut stale = 0;
        for reader in readers {
            stale += reader.join().map_err(|_| anyhow!("a reader's thread panicked"))??;
        }
        writer.join().map_err(|_| anyhow!("the writer's thread panicked"))??;
        Ok(stale)
    })
}

/// Every so many-th read of all, each at its time.
fn read(mut client: Client, number: u64, load: &Load, table: &Table, start: Instant) -> Result<u64> {
    let all = u64::from(load.rate) * u64::from(load.seconds);
    let mut stale = 0;
    for nth in (number..all).step_by(load.clients as usize) {
        sleep_until(start + Duration::from_secs(1) * nth as u32 / load.rate);
        let read = Read::of(nth, load.seed);
        let least = table.changes(read);
        let found = client.value(&read.statement(), 0)?;
        let found: u64 = found.parse().with_context(|| format!("the sum of changes is {found:?}"))?;
        stale += u64::from(found < least);
    }
    client.quit()?;
    Ok(stale)
}

fn write(mut client: Client, load: &Load, table: &Table, start: Instant) -> Result<()> {
    for nth in 0..WRITES * load.seconds {
        sleep_until(start + Duration::from_secs(1) * nth / WRITES);
        let mut dice = Dice::of(u64::from(nth) + WRITER, load.seed);
        let row = if nth % 2 == 0 { dice.often() } else { dice.below(ROWS) + 1 };
        client.query(&format!("UPDATE skewed SET v = v + 1 WHERE id = {row}"))?;
        if let Some(changes) = table.0.get(row as usize) {
            changes.fetch_add(1, Ordering::SeqCst);
        }
    }
    client.quit()
}

fn sleep_until(time: Instant) {
    thread::sleep(time.saturating_duration_since(Instant::now()));
}

/// The rows that a statement asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Read {
    first: u64,
    rows: u64,
}

impl Read {
    /// The nth of all, always the same.
    fn of(nth: u64, seed: u32) -> Self {
        let mut dice = Dice::of(nth, seed);
        let rows = if dice.below(RANGES) == 0 { RANGE } else { 1 };
        Self { first: dice.often().min(ROWS + 1 - rows), rows }
    }

    fn statement(self) -> String {
        let Self { first, rows } = self;
        match rows {
            1 => format!("SELECT v FROM skewed WHERE id = {first}"),
            _ => format!("SELECT SUM(v) FROM skewed WHERE id BETWEEN {first} AND {}", first + rows - 1),
        }
    }
}

/// Random numbers, the same each time.
struct Dice(u64);

impl Dice {
    fn of(nth: u64, seed: u32) -> Self {
        Self(nth ^ u64::from(seed).rotate_left(40))
    }

    /// splitmix64.
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut n = self.0;
        n = (n ^ n >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        n = (n ^ n >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        n ^ n >> 31
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.roll() % limit
    }

    /// A row, the nth of them about 1/n as often as the first.
    fn often(&mut self) -> u64 {
        let share = (self.roll() >> 11) as f64 / (1u64 << 53) as f64;
        ((ROWS as f64).powf(share) as u64).clamp(1, ROWS)
    }
}

#[cfg(test)]
mod tests;
