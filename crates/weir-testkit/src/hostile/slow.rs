//! Clients that send a byte every 100 ms, and clients that do not read what they asked for.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use super::account::{gauge, metrics};
use super::half_open::{LATE, judge_ages};
use super::raw::{Answer, connect, packet, source};
use super::stage::{Field, Findings};
use crate::client::{ConnectOptions, command};

/// Between two bytes of a slow sender.
const BYTE_EVERY: Duration = Duration::from_millis(100);

/// Slow readers are cut within this: `limits.client_write_timeout` after the socket buffers, megabytes each, are full. It only bounds a failure.
const CUT_WITHIN: Duration = Duration::from_secs(60);

/// `count` handshake responses at a byte every 100 ms: as much progress as none, for `login_timeout` counts from the
/// connect.
pub async fn senders(field: Field, count: usize) -> Result<Findings> {
    let mut findings = Findings { strangers: count as u64, ..Findings::default() };
    let answer = packet(1, &Answer::wrong("app").payload());
    let mut slow = Vec::with_capacity(count);
    let mut ticks = interval(BYTE_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut ages = Vec::with_capacity(count);
    let mut connecting = JoinSet::new();
    for i in 0..count {
        connecting.spawn(async move { (Instant::now(), connect(field.weir, source(i)).await) });
        if connecting.len() == 256 || i + 1 == count {
            for (began, stream) in std::mem::take(&mut connecting).join_all().await {
                slow.push(Sender { stream: stream.context("connecting a slow sender")?, began, sent: 0 });
            }
        }
    }
    let deadline = Instant::now() + field.login_timeout + LATE;
    let mut bytes = 0;
    while !slow.is_empty() && Instant::now() < deadline {
        ticks.tick().await;
        slow.retain_mut(|sender| {
            let goes_on = sender.step(&answer);
            bytes += usize::from(goes_on);
            if !goes_on {
                ages.push(Some(sender.began.elapsed()));
            }
            goes_on
        });
    }
    ages.extend(slow.iter().map(|_| None));
    findings.note(format!("{count} senders, {bytes} single bytes"));
    judge_ages(&mut findings, field.login_timeout, &ages, true);
    Ok(findings)
}

struct Sender {
    stream: TcpStream,
    began: Instant,
    sent: usize,
}

impl Sender {
    /// Sends the next byte; false once Weir has closed.
    fn step(&mut self, answer: &[u8]) -> bool {
        let mut scratch = [0; 512];
        loop {
            match self.stream.try_read(&mut scratch) {
                Ok(0) => return false,
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                Err(_) => return false,
            }
        }
        // The last byte is never sent: nobody gets as far as a login.
        let at = self.sent.min(answer.len() - 2);
        self.sent += 1;
        match self.stream.try_write(&answer[at..=at]) {
            Ok(_) => true,
            Err(error) => error.kind() == std::io::ErrorKind::WouldBlock,
        }
    }
}

/// Sessions that ask for 40 MB each and read nothing: held back, then cut after `limits.client_write_timeout`.
pub async fn readers(field: Field, count: usize) -> Result<Findings> {
    let mut findings = Findings { sessions: count as u64, ..Findings::default() };
    let cut = || gauge(&metrics(field.admin)?, "weir_client_closed_total{reason=\"write_timeout\"}");
    let before = cut()?;
    let mut clients = Vec::with_capacity(count);
    for _ in 0..count {
        let mut client = ConnectOptions::tcp(field.weir, "app", "app-pw").connect().await?;
        client.send(command::QUERY, b"SELECT REPEAT('x', 40000) FROM hostile.point").await?;
        clients.push(client);
    }
    // Nothing tells a client that reads nothing of its end: Weir does.
    let deadline = Instant::now() + CUT_WITHIN;
    while cut()? < before + count as u64 && Instant::now() < deadline {
        sleep(BYTE_EVERY).await;
    }
    let cut = cut()? - before;
    findings
        .check_in_time(cut == count as u64, || format!("{cut} of {count} were cut within {CUT_WITHIN:?}"));
    findings.note(format!("{count} sessions that read nothing of 40 MB"));
    Ok(findings)
}

/// Sessions that ask for 40 MB again and again and read as fast as they can: they may not hold up the others' rows.
pub async fn greedy(field: Field, count: usize, time: Duration) -> Result<Findings> {
    let mut findings = Findings { sessions: count as u64, ..Findings::default() };
    let until = Instant::now() + time;
    let mut tasks = JoinSet::new();
    for _ in 0..count {
        tasks.spawn(async move {
            let mut client = ConnectOptions::tcp(field.weir, "app", "app-pw").connect().await?;
            let mut read = 0;
            while Instant::now() < until {
                client.send(command::QUERY, b"SELECT REPEAT('x', 40000) FROM hostile.point").await?;
                // The result is a little longer: the next statement is sent while its last rows come.
                let mut left = 40_000_000_usize;
                while left > 0 && Instant::now() < until {
                    let bytes = client.stream().read_raw(1 << 20).await?.len();
                    ensure!(bytes > 0, "the connection was closed inside a result");
                    left = left.saturating_sub(bytes);
                    read += bytes;
                }
            }
            anyhow::Ok(read)
        });
    }
    let mut read = 0;
    for outcome in tasks.join_all().await {
        read += outcome?;
    }
    findings.note(format!("{count} sessions read {} MB/s", (read >> 20) as u64 / time.as_secs().max(1)));
    Ok(findings)
}
