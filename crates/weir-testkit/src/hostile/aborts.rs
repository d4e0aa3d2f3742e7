//! Clients that leave at random moments, in order or by a reset: before the login, inside it, between statements,
//! while one runs, inside a result, in a transaction, after half a packet.

use std::time::Duration;

use anyhow::Result;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, sleep};

use super::raw::{Answer, Dice, connect, greeting, packet, source};
use super::stage::{Field, Findings, Late};
use crate::client::{Client, ConnectOptions, LoginRefused, PacketStream, command};
use crate::servers::Flavor;

/// Where a client leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    Connected,
    Greeted,
    HalfAnswer,
    AnswerSent,
    LoggedIn,
    HalfStatement,
    StatementSent,
    WhileSleeping,
    WhileWriting,
    InsideResult,
    InTransaction,
    InsideTransactionStatement,
    Prepared,
}

impl Moment {
    const ALL: [Self; 13] = [
        Self::Connected,
        Self::Greeted,
        Self::HalfAnswer,
        Self::AnswerSent,
        Self::LoggedIn,
        Self::HalfStatement,
        Self::StatementSent,
        Self::WhileSleeping,
        Self::WhileWriting,
        Self::InsideResult,
        Self::InTransaction,
        Self::InsideTransactionStatement,
        Self::Prepared,
    ];
}

/// `count` aborts, `parallel` at once. Afterwards no row may be locked and no transaction open.
pub async fn run(field: Field, count: usize, parallel: usize) -> Result<Findings> {
    let mut findings = Findings {
        strangers: parallel as u64,
        // As many again as are under way: those whose client has gone wait for the KILL of what they run.
        sessions: 2 * parallel as u64,
        ..Findings::default()
    };
    let mut tasks = JoinSet::new();
    for i in 0..parallel {
        let share = count / parallel + usize::from(i < count % parallel);
        tasks.spawn(one_after_another(field, i, share));
    }
    let (mut counts, mut refused) = ([0; Moment::ALL.len()], 0);
    for outcome in tasks.join_all().await {
        let (own, shed) = outcome?;
        counts.iter_mut().zip(own).for_each(|(sum, n)| *sum += n);
        refused += shed;
    }
    let total: u32 = counts.iter().sum();
    let fewest = counts.iter().min().copied().unwrap_or(0);
    findings.note(format!("{total} aborts at {} moments, at least {fewest} at each", counts.len()));
    // What they leave running holds server connections until it is killed, and on a slow machine that may take the last
    // one for a moment: error 1040 is then the right answer to them, or the end at login_timeout. Healthy clients are judged apart.
    findings.check_in_time(refused <= total / 100, || format!("{refused} aborting clients could not log in"));
    findings.check(fewest > 0, || format!("a moment was never met: {counts:?}"));
    findings.check(total as usize == count, || format!("{total} aborts of {count}"));
    judge_locks(field, &mut findings).await?;
    Ok(findings)
}

/// Every row that an abandoned transaction had changed can be changed within the time to give back.
async fn judge_locks(field: Field, findings: &mut Findings) -> Result<()> {
    let mut client = ConnectOptions::tcp(field.server, "app", "app-pw").connect().await?;
    client.run("SET SESSION innodb_lock_wait_timeout = 30").await?;
    let began = Instant::now();
    let update = client.query("UPDATE hostile.counter SET n = -1").await?;
    if let Some(err) = update.err() {
        findings.slow.push(format!("rows are still locked: {err}"));
    }
    findings.note(format!("locks free after {:.0} ms", began.elapsed().as_secs_f64() * 1e3));
    Ok(())
}

async fn one_after_another(field: Field, i: usize, count: usize) -> Result<([u32; Moment::ALL.len()], u32)> {
    let mut dice = Dice(field.seed ^ (i as u64) << 32);
    let mut counts = [0; Moment::ALL.len()];
    let mut shed = 0;
    for n in 0..count {
        let at = dice.below(Moment::ALL.len());
        let moment = Moment::ALL[at];
        match abort(field, moment, i + n, &mut dice).await {
            Ok(()) => {}
            Err(error) if error.is::<LoginRefused>() || was_cut(&error) => shed += 1,
            Err(error) => return Err(error.context(format!("{moment:?}"))),
        }
        counts[at] += 1;
    }
    Ok((counts, shed))
}

async fn abort(field: Field, moment: Moment, i: usize, dice: &mut Dice) -> Result<()> {
    let mut stream = connect(field.weir, source(i)).await?;
    // Set now, it makes the close a reset, whenever it comes.
    if dice.below(2) == 0 {
        stream.set_zero_linger()?;
    }
    match moment {
        Moment::Connected => {}
        Moment::Greeted => drop(greeting(&mut stream, field.login_timeout).await?),
        Moment::HalfAnswer | Moment::AnswerSent => {
            greeting(&mut stream, field.login_timeout).await?;
            let mut bytes = packet(1, &Answer::wrong("nopw").payload());
            if moment == Moment::HalfAnswer {
                bytes.truncate(1 + dice.below(bytes.len() - 1));
            }
            stream.write_all(&bytes).await?;
        }
        _ => return abort_session(field, moment, stream, dice).await,
    }
    Ok(())
}

async fn abort_session(field: Field, moment: Moment, stream: TcpStream, dice: &mut Dice) -> Result<()> {
    let options = ConnectOptions::tcp(field.weir, "app", "app-pw");
    let stream = PacketStream::new(Box::new(stream), Duration::from_secs(60));
    let began = Instant::now();
    let login = Client::log_in(stream, &options).await;
    // The connection may be older than this task, which has waited for its turn, knows.
    let mut client = login.map_err(|error| Late::mark(error, began, field.login_timeout / 2))?;
    let id = dice.below(1000);
    let update = format!("UPDATE hostile.counter SET n = n + 1 WHERE id = {id}");
    match moment {
        Moment::HalfStatement => {
            let bytes = packet(0, format!("\x03SELECT {}", "1 + ".repeat(100)).as_bytes());
            let part = 1 + dice.below(bytes.len() - 1);
            client.stream().write_raw(&bytes[..part]).await?;
        }
        Moment::StatementSent => send(&mut client, "SELECT COUNT(*) FROM hostile.point", dice).await?,
        Moment::WhileSleeping => send(&mut client, "SELECT SLEEP(600)", dice).await?,
        Moment::WhileWriting => {
            send(&mut client, "UPDATE hostile.injected SET n = SLEEP(0.05)", dice).await?
        }
        Moment::InsideResult => {
            send(&mut client, "SELECT a.v, b.v FROM hostile.point a, hostile.point b", dice).await?;
            let read = 1 + dice.below(20_000);
            client.stream().read_raw(read).await?;
        }
        Moment::InTransaction | Moment::InsideTransactionStatement => {
            client.run("BEGIN").await?;
            let own = client.query(&update).await?;
            // Two aborting clients on the same rows may deadlock; either way this one is in a transaction.
            let done = own.err().is_none() || field.flavor == Flavor::MySql;
            if moment == Moment::InsideTransactionStatement && done {
                send(&mut client, "SELECT SLEEP(600) FROM hostile.counter LIMIT 1 FOR UPDATE", dice).await?;
            }
        }
        Moment::Prepared => {
            let prepared = client.prepare("SELECT v, SLEEP(? * 0) FROM hostile.point").await?;
            let part = [&prepared.id.to_le_bytes()[..], &[0, 1, 0]].concat();
            client.send(command::STMT_EXECUTE, &part[..dice.below(part.len())]).await?;
        }
        _ => {}
    }
    Ok(())
}

/// Weir ended the login at `login_timeout`, as it must. Where nothing has ended it within a minute, that is another matter.
fn was_cut(error: &anyhow::Error) -> bool {
    error.is::<Late>() && !error.chain().any(|cause| cause.is::<Elapsed>())
}

/// Sends a statement; half of the clients leave at once, half a moment later.
async fn send(client: &mut Client, sql: &str, dice: &mut Dice) -> Result<()> {
    client.send(command::QUERY, sql.as_bytes()).await?;
    if dice.below(2) == 0 {
        sleep(Duration::from_millis(dice.below(20) as u64)).await;
    }
    Ok(())
}
