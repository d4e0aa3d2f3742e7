//! Connections that never log in, by the thousand: silent ones, and ones that fall silent inside a packet.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::account::{gauge, metrics, resident};
use super::raw::{Answer, connect, packet, source, until_closed};
use super::stage::{BYTES_BEFORE_LOGIN, Field, Findings};

/// Connects under way at once: more would overflow the listener's backlog and wait for a second SYN.
const CONNECTING: usize = 512;

/// Within this all are open. It only bounds a failure.
const OPENING: Duration = Duration::from_secs(60);

/// What a connection may add to `login_timeout` before it is one that is never cut: the wait to be accepted, and this
/// process being busy with thousands of others.
pub const LATE: Duration = Duration::from_secs(10);

/// As many as asked for, all held until Weir cuts them; what one costs Weir is measured while all are open.
pub async fn held(field: Field, count: usize) -> Result<Findings> {
    let mut findings = Findings { strangers: count as u64, ..Findings::default() };
    let crowd = Crowd::gather(field, count);
    let opened = crowd.all_open(OPENING).await;
    ensure!(opened == count, "{opened} of {count} connections could be opened");
    let deadline = Instant::now() + LATE;
    let mut pending = 0;
    while pending < count as u64 && Instant::now() < deadline {
        pending = gauge(&metrics(field.admin)?, "weir_logins_pending")?;
        sleep(Duration::from_millis(50)).await;
    }
    let each = resident(field.pid)?.saturating_sub(field.resident) / count as u64;
    // The first is cut when `login_timeout` has passed: on a slow machine that is before the last has come.
    findings
        .check_in_time(pending >= count as u64, || format!("only {pending} of {count} were pending at once"));
    findings.check(each <= BYTES_BEFORE_LOGIN, || format!("{each} bytes each, {BYTES_BEFORE_LOGIN} allowed"));
    findings.note(format!("{count} held at once, {each} bytes each of {BYTES_BEFORE_LOGIN}"));
    let ages = crowd.ages().await;
    judge_ages(&mut findings, field.login_timeout, &ages, true);
    Ok(findings)
}

/// More than `limits.max_pending_logins`: the oldest are sent away for the newer ones.
pub async fn flood(field: Field, count: usize, max_pending: u64) -> Result<Findings> {
    // Who is sent away counts until its task has run and closed; those accepted meanwhile come on top.
    let most_pending = max_pending + max_pending / 2;
    let mut findings = Findings { strangers: most_pending, most_pending, ..Findings::default() };
    let crowd = Crowd::gather(field, count);
    let opened = crowd.all_open(OPENING).await;
    findings.note(format!("{opened} opened, of which {max_pending} may be pending"));
    ensure!(opened == count, "{opened} of {count} connections could be opened");
    let ages = crowd.ages().await;
    judge_ages(&mut findings, field.login_timeout, &ages, false);
    Ok(findings)
}

/// `Some` is the age at which Weir cut a connection, `None` one that was never cut.
pub fn judge_ages(findings: &mut Findings, limit: Duration, ages: &[Option<Duration>], not_before: bool) {
    let never = ages.iter().filter(|age| age.is_none()).count();
    findings.check_in_time(never == 0, || format!("{never} were not cut {LATE:?} after login_timeout"));
    let cut = || ages.iter().flatten().copied();
    let (first, last) = (cut().min().unwrap_or_default(), cut().max().unwrap_or_default());
    findings.note(format!("cut after {:.1} to {:.1} s", first.as_secs_f64(), last.as_secs_f64()));
    let early = !not_before || first >= limit;
    findings.check(early, || format!("cut after {first:?}, before login_timeout, with room for all"));
}

/// Many connections, each a task.
struct Crowd {
    tasks: JoinSet<Option<Option<Duration>>>,
    settled: Arc<AtomicUsize>,
    failed: Arc<AtomicUsize>,
    count: usize,
}

impl Crowd {
    fn gather(field: Field, count: usize) -> Self {
        let gate = Arc::new(Semaphore::new(CONNECTING));
        let (settled, failed) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut tasks = JoinSet::new();
        for i in 0..count {
            let (gate, settled, failed) = (Arc::clone(&gate), Arc::clone(&settled), Arc::clone(&failed));
            tasks.spawn(async move {
                let permit = gate.acquire().await;
                let age = stay(field, i, source(i), || {
                    settled.fetch_add(1, Ordering::Relaxed);
                    drop(permit);
                });
                let age = age.await;
                if age.is_none() {
                    failed.fetch_add(1, Ordering::Relaxed);
                }
                age
            });
        }
        Self { tasks, settled, failed, count }
    }

    /// How many are open, once all are or have failed, or `limit` has passed.
    async fn all_open(&self, limit: Duration) -> usize {
        let deadline = Instant::now() + limit;
        loop {
            let (settled, failed) =
                (self.settled.load(Ordering::Relaxed), self.failed.load(Ordering::Relaxed));
            if settled + failed >= self.count || Instant::now() > deadline {
                return settled;
            }
            sleep(Duration::from_millis(5)).await;
        }
    }

    async fn ages(self) -> Vec<Option<Duration>> {
        self.tasks.join_all().await.into_iter().flatten().collect()
    }
}

/// `None` if it could not connect; else the age at which it was cut, if it was.
async fn stay(field: Field, i: usize, from: Ipv4Addr, opened: impl FnOnce()) -> Option<Option<Duration>> {
    // Before the connect, so that no connection seems younger here than it is for Weir.
    let began = Instant::now();
    let mut stream = connect(field.weir, from).await.ok()?;
    let answer = packet(1, &Answer::wrong("app").payload());
    let part = match i % 4 {
        0 | 1 => &answer[..0],
        2 => &answer[..2],
        _ => &answer[..20],
    };
    // Weir may have cut it already; that shows in the age.
    let _ = stream.write_all(part).await;
    opened();
    let said = until_closed(&mut stream, began + field.login_timeout + LATE).await;
    Some(said.closed.then(|| began.elapsed()))
}
