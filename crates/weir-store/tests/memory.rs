//! How much memory a question takes. Alone in its process, for it looks at the whole of it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may stop at what it did not expect")]

use std::sync::Arc;
use std::time::Duration;

use weir_model::DigestId;
use weir_stats::Histogram;
use weir_stats::digests::{DigestText, Line, Origin, Sums};
use weir_stats::series::{Minute, Reading, Retention};
use weir_store::{Asked, History, Limits, Options, Source};

/// Digests of each of the two periods.
const DIGESTS: u64 = 20_000;
/// Those of one minute.
const OF_MINUTE: u64 = 2_000;

/// Each look, other digests, as if a minute had ended.
struct Many(u64);

impl Source for Many {
    fn reading(&mut self) -> Reading {
        Reading::default()
    }

    fn minute(&mut self, _: usize) -> Option<Minute> {
        let origin = Origin { user: b"app"[..].into(), schema: b"db"[..].into(), server: "main".into() };
        let origin = Arc::new(origin);
        let lines = (self.0..self.0 + OF_MINUTE).map(|n| {
            let total = Histogram::default();
            (0..20).for_each(|call| total.record((n + 1) * 1_000 * (call + 1)));
            Line {
                digest: DigestText::new(DigestId(n), format!("SELECT {n}").as_bytes(), true),
                origin: Arc::clone(&origin),
                sample: Box::default(),
                sums: Sums { calls: 20, total: total.snapshot(), ..Sums::default() },
            }
        });
        let minute = Minute { lines: lines.collect(), other: Sums::default() };
        self.0 += OF_MINUTE;
        Some(minute)
    }
}

/// The most memory that this process has had, in bytes.
fn most() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

#[test]
fn to_list_and_to_compare_many_digests_takes_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h.db");
    let hour = Duration::from_secs(3600);
    let retention = Retention { seconds: hour, minutes: 720 * hour };
    let options = Options {
        file: path.clone(),
        limits: Limits { retention, digests: 100_000, size: 1 << 30 },
        flush: Duration::from_secs(5),
        retry: Duration::ZERO,
    };
    let history = History::start(options, Many(0)).unwrap();
    let file = rusqlite::Connection::open(&path).unwrap();
    file.busy_timeout(hour).unwrap();
    let rows = || file.query_row("SELECT count(*) FROM digest_minute", (), |row| row.get::<_, u64>(0));
    while rows().unwrap_or_default() < DIGESTS {
        history.flush();
    }
    history.stop();
    let copy = "INSERT INTO digest_minute SELECT at - 3600, digest, origin, calls, errors, hits, total_us, sums FROM digest_minute";
    let copied = file.execute(copy, ()).unwrap() as u64;
    drop(file);
    let history = History::start(
        Options {
            file: path,
            limits: Limits { retention, digests: 10, size: 1 << 30 },
            flush: hour,
            retry: Duration::ZERO,
        },
        Idle,
    )
    .unwrap();
    // From here on; what was freed before is taken again without being seen.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = most();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let asked = Asked { now: (now - 1800, now + 60), then: (now - 5400, now - 1800), rows: 1_000, offset: 0 };
    let found = history.compare(asked, |_| true, |row, _| row.digest.id).unwrap();
    let taken = most().saturating_sub(before);
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = most();
    let period = history.period(now - 1800, now + 60).unwrap();
    let mut lines = 0;
    let calls: u64 = period.lines().inspect(|_| lines += 1).map(|(_, line)| line.sums.calls).sum();
    let listing = most().saturating_sub(before);
    history.stop();
    assert!(copied >= DIGESTS);
    assert_eq!((lines, calls + period.other().calls), (10_000, copied * 20));
    // A whole line takes 8 KiB: 77 MB for those that are told.
    assert!(listing < 24 << 20, "{listing} bytes");
    assert_eq!((found.unchanged, found.more_often.count), (copied, 0));
    // A row in the form that is quick to add to takes 8 KiB, so all of both periods would be 320 MiB and more.
    assert!(taken < 32 << 20, "{taken} bytes");
}

/// Nothing comes.
struct Idle;

impl Source for Idle {
    fn reading(&mut self) -> Reading {
        Reading::default()
    }

    fn minute(&mut self, _: usize) -> Option<Minute> {
        None
    }
}
