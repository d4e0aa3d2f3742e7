//! Connect, one query, quit: how many whole connections per second each target takes.
//!
//! The clients share a thread for each core and wait for events: with a thread for each of them, their own changes of context would be
//! a third of what a connection costs, on the same cores. The rest of what they cost stays in the figures; [`Target::Bare`] shows it.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::Instant;

use crate::client::{self, Login};
use crate::process;
use crate::rig::{self, Endpoint};

/// How many clients come and go at the same time.
pub const CONCURRENT: usize = 16;
/// The name of the row.
pub const ROW: &str = "connect, query, quit";
/// The same with MySQL behind, which takes far longer to log somebody in than MariaDB.
pub const ROW_MYSQL: &str = "connect, query, quit, MySQL";

/// Longer than any connection takes.
const SILENCE: Duration = Duration::from_secs(20);

/// What one run showed.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Whole connections per second.
    pub per_second: f64,
    /// CPU time of the proxy per connection in microseconds, if there is a proxy.
    pub cpu_us: Option<f64>,
}

/// Lets [`CONCURRENT`] clients log in, run `SELECT 1` and quit, over and over for `time`.
///
/// # Errors
/// With the first login or query that fails: the figure is only worth something without any.
pub fn run(endpoint: &Endpoint, login: Login, time: Duration) -> Result<Outcome> {
    let before = endpoint.pid.map(process::cpu_time).transpose()?;
    let start = std::time::Instant::now();
    let threads = rig::cores()?.min(CONCURRENT);
    let address = endpoint.address;
    let share = |thread| CONCURRENT / threads + usize::from(thread < CONCURRENT % threads);
    let coming = |thread| {
        let clients = share(thread);
        std::thread::spawn(move || come_and_go(address, login, clients, time))
    };
    let running: Vec<_> = (0..threads).map(coming).collect();
    let mut count = 0;
    for thread in running {
        let done = thread.join().map_err(|_| anyhow::anyhow!("a client thread panicked"))?;
        count += done.with_context(|| endpoint.target.name())?;
    }
    let elapsed = start.elapsed();
    let after = endpoint.pid.map(process::cpu_time).transpose()?;
    ensure!(count > 0, "nobody was let in");
    let cpu = before.zip(after).map(|(before, after)| after.saturating_sub(before));
    let cpu_us = cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / count as f64);
    Ok(Outcome { per_second: count as f64 / elapsed.as_secs_f64(), cpu_us })
}

fn come_and_go(address: SocketAddr, login: Login, clients: usize, time: Duration) -> Result<u64> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let end = Instant::now() + time;
    LocalSet::new().block_on(&runtime, async {
        let done = Rc::new(Cell::new(0));
        let mut tasks = JoinSet::new();
        for _ in 0..clients {
            let done = Rc::clone(&done);
            let one = async move {
                let mut room = vec![0; 1024];
                while Instant::now() < end {
                    let visit = Visit::begin(address, &mut room).await?;
                    visit.whole(login).await?;
                    done.set(done.get() + 1);
                }
                Ok::<_, anyhow::Error>(())
            };
            tasks.spawn_local(tokio::time::timeout_at(end + SILENCE, one));
        }
        for outcome in tasks.join_all().await {
            outcome.context("a connection was not answered")??;
        }
        Ok(done.get())
    })
}

/// One connection, from its first byte to its last. The protocol is that of [`client::Client`].
struct Visit<'r> {
    stream: TcpStream,
    room: &'r mut [u8],
    /// What of `room` is received and not yet read.
    pending: std::ops::Range<usize>,
}

impl<'r> Visit<'r> {
    async fn begin(address: SocketAddr, room: &'r mut [u8]) -> Result<Self> {
        let stream =
            TcpStream::connect(address).await.with_context(|| format!("cannot connect to {address}"))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, room, pending: 0..0 })
    }

    async fn whole(mut self, login: Login) -> Result<()> {
        let packet = client::login(login, self.packet().await?)?;
        self.send(1, &packet).await?;
        loop {
            match client::judge_login(login, self.packet().await?)? {
                client::Verdict::In => break,
                client::Verdict::Prove(proof) => self.send(3, &proof).await?,
                client::Verdict::Wait => {}
            }
        }
        self.send(0, b"\x03SELECT 1").await?;
        let first = self.packet().await?;
        if matches!(first.first(), None | Some(0 | 0xFF)) {
            bail!("{}", client::error_text(first));
        }
        // Behind the columns, and behind the rows.
        for _ in 0..2 {
            while !client::is_eof(self.packet().await?) {}
        }
        self.send(0, &[1]).await
    }

    async fn send(&mut self, sequence: u8, payload: &[u8]) -> Result<()> {
        let packet = client::framed(sequence, payload)?;
        let mut unsent = &packet[..];
        while !unsent.is_empty() {
            match self.stream.try_write(unsent) {
                Ok(taken) => unsent = &unsent[taken..],
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    self.stream.writable().await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The payload of the next packet. None of those that come here is larger than the room.
    async fn packet(&mut self) -> Result<&[u8]> {
        self.need(4).await?;
        let at = self.pending.start;
        let head = [self.room[at], self.room[at + 1], self.room[at + 2], 0];
        let size = usize::try_from(u32::from_le_bytes(head))?;
        self.need(4 + size).await?;
        let payload = self.pending.start + 4;
        self.pending.start = payload + size;
        Ok(&self.room[payload..payload + size])
    }

    /// Reads until `size` bytes are pending.
    async fn need(&mut self, size: usize) -> Result<()> {
        if self.pending.len() < size {
            self.room.copy_within(self.pending.clone(), 0);
            self.pending = 0..self.pending.len();
            ensure!(size <= self.room.len(), "a packet of {size} bytes");
        }
        while self.pending.len() < size {
            self.stream.readable().await?;
            match self.stream.try_read(&mut self.room[self.pending.end..]) {
                Ok(0) => bail!("the peer closed the connection"),
                Ok(got) => self.pending.end += got,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
