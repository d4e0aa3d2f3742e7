#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may stop at what it did not expect")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::Connection;
use tempfile::TempDir;
use weir_model::DigestId;
use weir_stats::Histogram;
use weir_stats::digests::{DigestText, Line, Origin, Sums};
use weir_stats::series::{Keep, Minute, Point, Reading, Retention};

use crate::file::{self, Writable};
use crate::write::{Batch, Known, prune, used, write};
use crate::{History, Kind, Limits, Options, Source, Trouble, read};

const SIZE: u64 = 64 << 20;
/// A whole hour, in seconds since 1970.
const T: u64 = 1_795_348_800;

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn open(path: &Path, size: u64) -> Result<Writable, Trouble> {
    let lock = file::lock(path)?;
    Ok(Writable { connection: file::open(path, size)?, lock })
}

fn point(statements: u64) -> Point {
    let total = Histogram::default();
    (0..statements).for_each(|n| total.record(1_000_000 + n));
    Point {
        covered_ms: 1000,
        statements,
        clients: statements % 5,
        total: total.snapshot(),
        ..Point::default()
    }
}

fn line(n: u64, user: &str, calls: u64) -> Line {
    let total = Histogram::default();
    (0..calls).for_each(|_| total.record(n * 1_000_000));
    let origin = Origin { user: user.as_bytes().into(), schema: b"db"[..].into(), server: "main".into() };
    Line {
        // Ids use all bits.
        digest: DigestText::new(
            DigestId(u64::MAX - n),
            format!("SELECT `c{n}`").as_bytes(),
            n.is_multiple_of(2),
        ),
        origin: Arc::new(origin),
        sample: b"SELECT 'a literal'"[..].into(),
        sums: Sums { calls, total: total.snapshot(), ..Sums::default() },
    }
}

fn minute(lines: Vec<Line>, other: u64) -> Minute {
    Minute { lines, other: Sums { calls: other, ..Sums::default() } }
}

fn write_to(path: &Path, batch: &Batch, most: usize) {
    let mut file = open(path, SIZE).unwrap();
    write(&mut file.connection, batch, most, &mut Known::default()).unwrap();
}

/// What a period holds: user, digest and calls, by time.
fn told(path: &Path, from: u64, to: u64) -> (Vec<(String, String, u64)>, u64) {
    let period = read::period(path, from, to).unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let lines =
        period.lines().map(|(_, line)| (text(&line.origin.user), text(&line.digest.text), line.sums.calls));
    (lines.collect(), period.other().calls)
}

#[test]
fn seconds_are_kept_and_added_up_to_minutes() {
    let folder = folder();
    let path = folder.path().join("h.db");
    let seconds = (0..150).map(|n| (T + n, point(n))).collect();
    write_to(&path, &Batch { seconds, minutes: Vec::new() }, 10);
    let points = read::points(&path, T, T + 150, 1).unwrap().points;
    assert_eq!(points.len(), 150);
    assert_eq!(points[&(T + 7)], point(7));
    let minutes = read::points(&path, T, T + 150, 60).unwrap().points;
    let statements: Vec<_> =
        minutes.iter().map(|(at, point)| (*at, point.statements, point.covered_ms)).collect();
    let sum = |from: u64, to: u64| (from..to).sum::<u64>();
    assert_eq!(
        statements,
        [(T, sum(0, 60), 60_000), (T + 60, sum(60, 120), 60_000), (T + 120, sum(120, 150), 30_000)]
    );
    assert_eq!((minutes[&T].clients, minutes[&T].total.count()), (4, sum(0, 60)));
    let tens = read::points(&path, T, T + 20, 10).unwrap().points;
    assert_eq!(tens.values().map(|point| point.statements).collect::<Vec<_>>(), [45, 145]);
}

/// As a clock does that is set back: the same second comes again, and in another run of Weir.
#[test]
fn what_comes_twice_is_added() {
    let folder = folder();
    let path = folder.path().join("h.db");
    for _ in 0..3 {
        let lines = vec![line(1, "app", 2), line(2, "app", 1)];
        write_to(&path, &Batch { seconds: vec![(T, point(5))], minutes: vec![(T, minute(lines, 4))] }, 10);
    }
    let points = read::points(&path, T, T + 60, 1).unwrap().points;
    assert_eq!((points[&T].statements, points[&T].covered_ms, points[&T].total.count()), (15, 3000, 15));
    assert_eq!(read::points(&path, T, T + 60, 60).unwrap().points[&T].statements, 15);
    let (lines, other) = told(&path, T, T + 60);
    let expected = [("app", "SELECT `c1`", 6), ("app", "SELECT `c2`", 3)];
    assert_eq!(lines, expected.map(|(user, text, calls)| (user.to_owned(), text.to_owned(), calls)));
    assert_eq!(other, 12);
}

#[test]
fn a_period_has_whole_minutes_and_who_sent_what_is_told_apart() {
    let folder = folder();
    let path = folder.path().join("h.db");
    let minutes = (0..5)
        .map(|n| (T + 60 * n, minute(vec![line(1, "app", 1), line(1, "ops", 10), line(4, "app", n + 1)], 1)))
        .collect();
    let seconds = (0..300).map(|n| (T + n, point(1))).collect();
    write_to(&path, &Batch { seconds, minutes }, 10);
    // The second to the fourth.
    let period = read::period(&path, T + 61, T + 181).unwrap();
    assert_eq!((period.from, period.to, period.covered_ms), (T + 60, T + 240, 180_000));
    let (lines, other) = told(&path, T + 61, T + 181);
    let expected = [("app", "SELECT `c4`", 9), ("ops", "SELECT `c1`", 30), ("app", "SELECT `c1`", 3)];
    assert_eq!(lines, expected.map(|(user, text, calls)| (user.to_owned(), text.to_owned(), calls)));
    assert_eq!(other, 3);
    let line = &period.line(0).unwrap();
    assert_eq!((line.digest.id, line.digest.is_cacheable), (DigestId(u64::MAX - 4), true));
    assert_eq!((line.sums.first_seen, line.sums.last_seen), (T + 60, T + 180));
    assert_eq!((line.sums.total.count(), line.sums.total.sum_ns()), (9, 36_000_000));
    assert_eq!(told(&path, T - 600, T), (Vec::new(), 0));
}

/// A statement that was answered before may keep a connection still.
#[test]
fn what_nobody_has_called_has_no_row_and_its_time_is_with_the_others() {
    let folder = folder();
    let path = folder.path().join("h.db");
    let mut kept = line(2, "app", 0);
    kept.sums.kept_ns = 5;
    let lines = vec![line(1, "app", 2), kept];
    write_to(&path, &Batch { seconds: Vec::new(), minutes: vec![(T, minute(lines, 3))] }, 10);
    let period = read::period(&path, T, T + 60).unwrap();
    assert_eq!(told(&path, T, T + 60).0, [("app".to_owned(), "SELECT `c1`".to_owned(), 2)]);
    assert_eq!((period.other().calls, period.other().kept_ns), (3, 5));
}

#[test]
fn a_minute_has_so_many_digests_and_no_literals() {
    let folder = folder();
    let path = folder.path().join("h.db");
    for part in 0..3 {
        let lines = (0..4).map(|n| line(part * 2 + n, "app", 1)).collect();
        write_to(&path, &Batch { seconds: Vec::new(), minutes: vec![(T, minute(lines, 0))] }, 5);
    }
    let (lines, other) = told(&path, T, T + 60);
    assert_eq!(lines.len(), 5);
    assert_eq!(lines.iter().map(|(_, _, calls)| calls).sum::<u64>() + other, 12);
    for entry in fs::read_dir(folder.path()).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(9).any(|part| part == b"a literal"));
    }
}

#[test]
fn what_took_most_time_keeps_its_row_however_often_a_minute_is_written() {
    let folder = folder();
    let path = folder.path().join("h.db");
    // The first part is full of what is cheap.
    for numbers in [1..=3, 4..=6] {
        let lines = numbers.map(|n| line(n, "app", 1)).collect();
        write_to(&path, &Batch { seconds: Vec::new(), minutes: vec![(T, minute(lines, 1))] }, 3);
    }
    let (lines, other) = told(&path, T, T + 60);
    let texts: Vec<_> = lines.iter().map(|(_, text, _)| text.as_str()).collect();
    assert_eq!(texts, ["SELECT `c6`", "SELECT `c5`", "SELECT `c4`"]);
    assert_eq!(other, 5);
}

#[test]
fn what_is_too_old_goes_and_so_do_digests_that_nothing_tells_of() {
    let folder = folder();
    let path = folder.path().join("h.db");
    let mut file = open(&path, SIZE).unwrap();
    let mut known = Known::default();
    let minutes = (0..180).map(|n| (T + 60 * n, minute(vec![line(n / 60, "app", 1)], 0))).collect();
    let seconds = (0..180).map(|n| (T + 60 * n, point(1))).collect();
    write(&mut file.connection, &Batch { seconds, minutes }, 10, &mut known).unwrap();
    let keep = Keep { seconds_from: T + 10_000, minutes_from: T + 9_000, until: T + 10_500 };
    while prune(&mut file.connection, Some(keep), SIZE, &mut known).unwrap() {}
    let reader = Connection::open(&path).unwrap();
    let of = |sql: &str| reader.query_row(sql, (), |row| row.get::<_, u64>(0)).unwrap();
    // What lies ahead of the clock stays: it may be the clock that is wrong.
    let newest = T + 60 * 179;
    assert_eq!((of("SELECT min(at) FROM second"), of("SELECT max(at) FROM second")), (T + 10_020, newest));
    assert_eq!((of("SELECT min(at) FROM minute"), of("SELECT max(at) FROM minute")), (T + 9_000, newest));
    assert_eq!(
        (of("SELECT min(at) FROM digest_minute"), of("SELECT max(at) FROM digest_minute")),
        (T + 9_000, newest)
    );
    assert_eq!(of("SELECT count(*) FROM digest"), 1);
    assert_eq!(of("SELECT count(*) FROM origin"), 1);
    // Without a clock to trust nothing goes.
    prune(&mut file.connection, None, SIZE, &mut known).unwrap();
    assert_eq!(of("SELECT count(*) FROM digest_minute"), 30);
}

#[test]
fn where_the_file_is_full_the_oldest_minutes_make_room() {
    let folder = folder();
    let path = folder.path().join("h.db");
    let size = 1 << 20;
    let mut file = open(&path, size).unwrap();
    let mut known = Known::default();
    for n in 0..2_000 {
        let lines = (0..10).map(|digest| line(digest, "app", 1)).collect();
        let batch =
            Batch { seconds: vec![(T + 60 * n, point(1))], minutes: vec![(T + 60 * n, minute(lines, 0))] };
        write(&mut file.connection, &batch, 10, &mut known).unwrap();
        prune(&mut file.connection, None, size / 5 * 4, &mut known).unwrap();
        assert!(used(&file.connection).unwrap() <= size);
    }
    let newest = told(&path, T + 60 * 1_999, T + 60 * 2_000);
    assert_eq!(newest.0.len(), 10);
    assert_eq!(told(&path, T, T + 60).0.len(), 0);
    assert!(fs::metadata(&path).unwrap().len() <= size);
}

#[test]
fn a_file_is_ours_alone_and_one_process_writes_it() {
    let folder = folder();
    let path = folder.path().join("h.db");
    let held = open(&path, SIZE).unwrap();
    let trouble = open(&path, SIZE).err().unwrap();
    assert_eq!(trouble.kind, Kind::InUse);
    assert!(trouble.why.contains("another Weir"), "{trouble}");
    for entry in fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{entry:?}");
    }
    drop(held);
    open(&path, SIZE).unwrap();
}

#[test]
fn what_is_not_ours_is_not_touched() {
    for (sql, kind) in [
        ("PRAGMA user_version = 99", Kind::Newer),
        ("PRAGMA application_id = 1", Kind::Foreign),
        ("PRAGMA application_id = 0", Kind::Foreign),
    ] {
        let folder = folder();
        let path = folder.path().join("h.db");
        drop(open(&path, SIZE).unwrap());
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let before = fs::read(&path).unwrap();
        assert_eq!(open(&path, SIZE).err().map(|trouble| trouble.kind), Some(kind), "{sql}");
        assert_eq!(fs::read(&path).unwrap(), before, "{sql}");
    }
}

#[test]
fn a_file_that_cannot_be_made_is_told() {
    let folder = folder();
    fs::write(folder.path().join("file"), "").unwrap();
    for name in ["missing/h.db", "file/h.db"] {
        let trouble = open(&folder.path().join(name), SIZE).err().unwrap();
        assert_eq!(trouble.kind, Kind::Unwritable);
        assert!(trouble.why.contains(name), "{trouble}");
    }
}

/// Leaves of a file what says whose it is.
fn damage(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    bytes[100..].fill(0xa5);
    fs::write(path, bytes).unwrap();
}

#[test]
fn of_a_file_of_an_older_version_the_totals_are_kept() {
    let folder = folder();
    let path = folder.path().join("h.db");
    let batch =
        Batch { seconds: vec![(T, point(5))], minutes: vec![(T, minute(vec![line(1, "app", 2)], 0))] };
    write_to(&path, &batch, 10);
    Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 1").unwrap();
    drop(open(&path, SIZE).unwrap());
    assert_eq!(told(&path, T, T + 60), (Vec::new(), 0));
    assert_eq!(read::points(&path, T, T + 60, 1).unwrap().points[&T], point(5));
    write_to(&path, &batch, 10);
    assert_eq!(told(&path, T, T + 60).0.len(), 1);
}

#[test]
fn what_is_no_database_or_a_damaged_one_of_another_program_is_not_touched() {
    let folder = folder();
    let path = folder.path().join("h.db");
    let other = folder.path().join("other.db");
    let connection = Connection::open(&other).unwrap();
    connection
        .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES (1)")
        .unwrap();
    // As it is found where the other program is at work, or was killed.
    let log = fs::read(folder.path().join("other.db-wal")).unwrap();
    let working = fs::read(&other).unwrap();
    drop(connection);
    damage(&other);
    let damaged = fs::read(&other).unwrap();
    let text = b"no database, but long enough to be looked at as one".repeat(100);
    for (bytes, log) in [(text, None), (b"short".to_vec(), None), (damaged, None), (working, Some(log))] {
        fs::write(&path, &bytes).unwrap();
        if let Some(log) = &log {
            fs::write(folder.path().join("h.db-wal"), log).unwrap();
        }
        let history = History::start(options(&path), Set::default()).unwrap();
        history.flush();
        assert_eq!(history.status().trouble.map(|trouble| trouble.kind), Some(Kind::Foreign));
        history.stop();
        assert!(fs::read(&path).unwrap() == bytes);
        assert_eq!(log.is_some(), folder.path().join("h.db-wal").exists());
        assert_eq!(file::set_aside(&path, T).err().map(|trouble| trouble.kind), Some(Kind::Foreign));
    }
}

#[test]
fn files_that_are_corrupt_are_set_aside_but_not_without_end_nor_over_one_another() {
    let folder = folder();
    let path = folder.path().join("h.db");
    let mut names = Vec::new();
    for _ in 0..5 {
        drop(open(&path, SIZE).unwrap());
        damage(&path);
        assert_eq!(open(&path, SIZE).err().map(|trouble| trouble.kind), Some(Kind::Corrupt));
        names.push(file::set_aside(&path, T).unwrap());
        assert!(names.iter().all(|name| name.exists()) && !path.exists());
    }
    names.dedup();
    assert_eq!(names.len(), 5);
    drop(open(&path, SIZE).unwrap());
    damage(&path);
    assert_eq!(file::set_aside(&path, T + 9).err().map(|trouble| trouble.kind), Some(Kind::Corrupt));
    assert!(path.exists());
}

/// Counts that a test sets.
#[derive(Clone, Default)]
struct Set {
    reading: Arc<Mutex<Reading>>,
    minutes: Arc<Mutex<Vec<Minute>>>,
}

impl Source for Set {
    fn reading(&mut self) -> Reading {
        self.reading.lock().clone()
    }

    fn minute(&mut self, _: usize) -> Option<Minute> {
        Some(self.minutes.lock().pop().unwrap_or_default())
    }
}

fn options(path: &Path) -> Options {
    let hour = Duration::from_secs(3600);
    Options {
        file: path.to_owned(),
        limits: Limits {
            retention: Retention { seconds: hour, minutes: hour * 720 },
            digests: 10,
            size: SIZE,
        },
        flush: Duration::from_millis(50),
        retry: Duration::ZERO,
    }
}

fn limited(path: &Path, digests: usize, size: u64) -> Options {
    let options = options(path);
    Options { limits: Limits { digests, size, ..options.limits }, ..options }
}

fn statements(history: &History) -> u64 {
    history.points(0, u64::from(u32::MAX), 60).unwrap().points.values().map(|point| point.statements).sum()
}

#[test]
fn what_is_counted_is_there_when_it_is_asked_for_and_after_a_stop() {
    let folder = folder();
    let path = folder.path().join("h.db");
    let counts = Set::default();
    let history = History::start(options(&path), counts.clone()).unwrap();
    for n in 1..=3u64 {
        counts.reading.lock().statements = n * 10;
        counts.minutes.lock().push(minute(vec![line(1, "app", n)], 0));
        assert_eq!(statements(&history), n * 10);
        let period = history.period(0, u64::from(u32::MAX)).unwrap();
        assert_eq!(period.line(0).unwrap().sums.calls, (1..=n).sum::<u64>());
    }
    assert!(history.status().is_writing && history.status().written > 0 && history.status().bytes > 0);
    counts.reading.lock().statements = 50;
    history.stop();
    let again = History::start(options(&path), Set::default()).unwrap();
    assert_eq!(statements(&again), 50);
    again.stop();
}

/// SQLite says of a bound of its own what it says of the disk's.
#[test]
fn a_full_file_stops_the_history_and_is_told() {
    let folder = folder();
    let path = folder.path().join("h.db");
    let counts = Set::default();
    let history = History::start(limited(&path, 1_000, 16 * 4096), counts.clone()).unwrap();
    counts.minutes.lock().push(minute((0..1_000).map(|n| line(n, "app", 1)).collect(), 0));
    history.flush();
    let trouble = history.status().trouble.unwrap();
    assert!(!history.status().is_writing);
    assert_eq!(trouble.kind, Kind::Full, "{trouble}");
    history.stop();
}

/// Here it is seconds that fill the file.
#[test]
fn a_file_that_has_met_its_bound_makes_room_and_is_written_again() {
    let folder = folder();
    let path = folder.path().join("h.db");
    let size = 64 * 4096;
    let mut file = open(&path, size).unwrap();
    let filled = (0..100_000).find_map(|n| {
        let batch = Batch { seconds: vec![(1_000_000 + n, point(20))], minutes: Vec::new() };
        write(&mut file.connection, &batch, 10, &mut Known::default()).err()
    });
    assert_eq!(filled.map(|trouble| trouble.kind), Some(Kind::Full));
    drop(file);
    let counts = Set::default();
    let history = History::start(limited(&path, 10, size), counts.clone()).unwrap();
    counts.reading.lock().statements = 7;
    history.flush();
    assert_eq!(history.status().trouble, None);
    let points = history.points(2_000_000, u64::from(u32::MAX), 1).unwrap().points;
    assert_eq!(points.values().map(|point| point.statements).sum::<u64>(), 7);
    assert!(history.status().is_writing && history.status().bytes < size);
    history.stop();
}

#[test]
fn a_file_that_turns_out_to_be_corrupt_is_begun_anew() {
    let folder = folder();
    let path = folder.path().join("h.db");
    let counts = Set::default();
    let history = History::start(options(&path), counts.clone()).unwrap();
    counts.reading.lock().statements = 10;
    assert_eq!(statements(&history), 10);
    Connection::open(&path)
        .unwrap()
        .execute("UPDATE minute SET at = at - 3600, total = x'ffff'", ())
        .unwrap();
    assert_eq!(
        history.points(0, u64::from(u32::MAX), 60).err().map(|trouble| trouble.kind),
        Some(Kind::Corrupt)
    );
    counts.reading.lock().statements = 17;
    assert_eq!(statements(&history), 7);
    assert_eq!((history.status().set_aside, history.status().trouble), (1, None));
    let names =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(names.into_iter().any(|name| name.starts_with("h.db.corrupt-")));
    history.stop();
}

/// Two read one bad page, and both say so.
#[test]
fn a_file_that_two_found_corrupt_is_set_aside_once() {
    let folder = folder();
    let path = folder.path().join("h.db");
    let counts = Set::default();
    let history = History::start(options(&path), counts.clone()).unwrap();
    history.flush();
    let opened = history.opened();
    history.suspect(opened);
    history.suspect(opened);
    counts.reading.lock().statements = 5;
    assert_eq!(statements(&history), 5);
    history.suspect(opened);
    assert_eq!(statements(&history), 5);
    assert_eq!((history.status().set_aside, history.opened()), (1, opened + 1));
    history.stop();
}

#[test]
fn a_file_that_comes_free_is_written_from_then_on() {
    let folder = folder();
    let path = folder.path().join("h.db");
    let first = History::start(options(&path), Set::default()).unwrap();
    first.flush();
    let counts = Set::default();
    let second = History::start(options(&path), counts.clone()).unwrap();
    counts.reading.lock().statements = 3;
    second.flush();
    assert_eq!(second.status().trouble.map(|trouble| trouble.kind), Some(Kind::InUse));
    assert_eq!(second.period(0, 60).err().map(|trouble| trouble.kind), Some(Kind::InUse));
    first.stop();
    second.flush();
    assert_eq!((second.status().is_writing, second.status().trouble.clone()), (true, None));
    assert_eq!(statements(&second), 3);
    second.stop();
}

mod kept;
