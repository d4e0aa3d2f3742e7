//! What the file keeps, on a clock of the test's own: behind a kill, where it is full, and when its limits change.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use weir_model::DigestId;
use weir_stats::digests::{DigestText, Line};
use weir_stats::series::{Minute, Moment, Reading, Retention};

use super::{T, folder, limited, line, minute, point, told};
use crate::recorder::Recorder;
use crate::{Limits, Options, Source, file, read};

/// Counts of a Weir to which so many statements come each second.
#[derive(Clone, Default)]
struct Load(Arc<Mutex<(u64, u64)>>);

impl Load {
    fn come(&self, statements: u64) {
        let mut counted = self.0.lock();
        *counted = (counted.0 + statements, counted.1 + statements);
    }
}

impl Source for Load {
    fn reading(&mut self) -> Reading {
        Reading { statements: self.0.lock().0, ..Reading::default() }
    }

    fn minute(&mut self, _: usize) -> Option<Minute> {
        let since = std::mem::take(&mut self.0.lock().1);
        Some(minute((since > 0).then(|| line(1, "app", since)).into_iter().collect(), 0))
    }
}

/// Shortly behind the end of so many seconds since [`T`].
fn at(seconds: u64) -> Moment {
    Moment { wall_ms: (T + seconds) * 1000 + 3, steady_ms: seconds * 1000 + 3 }
}

/// What a process that is killed leaves: the kernel has all that was written.
fn killed(path: &Path) -> (tempfile::TempDir, PathBuf) {
    let left = folder();
    for end in ["", "-wal"] {
        let name = format!("h.db{end}");
        fs::copy(path.with_file_name(&name), left.path().join(&name)).unwrap();
    }
    let path = left.path().join("h.db");
    (left, path)
}

fn calls(path: &Path, from: u64, to: u64) -> u64 {
    told(path, from, to).0.iter().map(|(_, _, calls)| calls).sum()
}

fn statements(path: &Path) -> u64 {
    read::points(path, T - 3600, T + 3600, 60).unwrap().points.values().map(|point| point.statements).sum()
}

#[test]
fn a_kill_at_any_second_costs_no_whole_minute_of_digests_and_few_seconds() {
    let folder = folder();
    let path = folder.path().join("h.db");
    let load = Load::default();
    // Not a divisor of a minute: that a minute is written when it ends must not be by chance.
    let options = Options { flush: Duration::from_secs(7), ..limited(&path, 10, 64 << 20) };
    let mut recorder = Recorder::new(options.clone(), Box::new(load.clone()), at(0));
    recorder.begin();
    for second in 1..=190 {
        load.come(10);
        recorder.second(at(second));
        if second % 60 > 2 && second % 11 > 0 {
            continue;
        }
        let (_left, path) = killed(&path);
        let whole = second - second % 60;
        for minute in (0..whole).step_by(60) {
            assert_eq!(calls(&path, T + minute, T + minute + 60), 600, "{minute} after {second} s");
        }
        assert_eq!(calls(&path, T + whole, T + whole + 60), 0, "after {second} s");
        let kept = statements(&path);
        assert!(kept >= (second * 10).saturating_sub(60), "{kept} statements after {second} s");
        assert_eq!(
            kept,
            read::points(&path, T, T + 3600, 1).unwrap().points.values().map(|it| it.statements).sum()
        );
        // The next one goes on with it.
        let after = Load::default();
        let options = Options { file: path.clone(), ..options.clone() };
        let mut again = Recorder::new(options, Box::new(after.clone()), at(second));
        again.begin();
        after.come(5);
        again.flush(at(second + 1), true);
        assert_eq!(again.status.lock().trouble, None);
        assert_eq!(
            (calls(&path, T, T + 3600), statements(&path)),
            (whole * 10 + 5, kept + 5),
            "after {second} s"
        );
    }
}

/// Minutes that each are a third of what the file may take.
struct Large {
    minutes: u64,
}

const LINES: u64 = 150;
const SMALL: u64 = 2 << 20;

impl Source for Large {
    fn reading(&mut self) -> Reading {
        Reading::default()
    }

    fn minute(&mut self, _: usize) -> Option<Minute> {
        self.minutes += 1;
        // Statements that nobody has sent before, each time.
        let lines = (0..LINES).map(|n| {
            let text = format!("SELECT {}, {n} /*{}*/", self.minutes, "x".repeat(4000));
            let digest = DigestText::new(DigestId(self.minutes * 1000 + n), text.as_bytes(), true);
            Line { digest, ..line(n, "app", 1) }
        });
        Some(minute(lines.collect(), 0))
    }
}

fn newest_is_whole(path: &Path, minute: u64) {
    assert_eq!(
        told(path, T + minute * 60, T + minute * 60 + 60).0.len(),
        LINES as usize,
        "of minute {minute}"
    );
    assert!(fs::metadata(path).unwrap().len() <= SMALL);
}

#[test]
fn minutes_that_are_large_for_the_file_make_room_for_one_another() {
    let folder = folder();
    let path = folder.path().join("h.db");
    let mut recorder =
        Recorder::new(limited(&path, LINES as usize, SMALL), Box::new(Large { minutes: 0 }), at(0));
    recorder.begin();
    for ended in 1..40 {
        recorder.second(at(ended * 60));
        assert_eq!(recorder.status.lock().trouble, None, "behind minute {ended}");
        newest_is_whole(&path, ended - 1);
    }
}

/// More waits than the file may hold.
#[test]
fn what_has_waited_is_written_as_far_as_there_is_room_the_newest_last() {
    let folder = folder();
    let path = folder.path().join("h.db");
    let held = file::lock(&path).unwrap();
    let mut recorder =
        Recorder::new(limited(&path, LINES as usize, SMALL), Box::new(Large { minutes: 0 }), at(0));
    recorder.begin();
    (1..=8).for_each(|ended| recorder.second(at(ended * 60)));
    assert!(recorder.status.lock().trouble.is_some());
    drop(held);
    recorder.second(at(9 * 60));
    let status = recorder.status.lock().clone();
    assert_eq!((status.trouble, status.lost), (None, 0));
    newest_is_whole(&path, 8);
}

#[test]
fn limits_that_change_are_followed_within_a_second() {
    let folder = folder();
    let path = folder.path().join("h.db");
    let load = Load::default();
    let options = limited(&path, 10, 64 << 20);
    let mut recorder = Recorder::new(options.clone(), Box::new(load.clone()), at(0));
    recorder.begin();
    // For longer than it takes until the clock is trusted.
    for second in 1..=1_200 {
        load.come(1);
        recorder.second(at(second));
    }
    let seconds = || read::points(&path, T, T + 3600, 1).unwrap().points.len();
    let minutes = || read::points(&path, T, T + 3600, 60).unwrap().points.len();
    assert_eq!((seconds(), minutes()), (1_200, 20));
    let retention = Retention { seconds: Duration::from_secs(60), minutes: Duration::from_secs(600) };
    *recorder.limits.lock() = Limits { retention, ..options.limits };
    recorder.second(at(1_201));
    assert_eq!((seconds(), minutes()), (60, 11));
}

#[test]
fn a_file_that_may_hold_less_gives_up_what_is_old() {
    let folder = folder();
    let path = folder.path().join("h.db");
    let options = limited(&path, LINES as usize, 64 << 20);
    let mut recorder = Recorder::new(options.clone(), Box::new(Large { minutes: 0 }), at(0));
    recorder.begin();
    (1..=10).for_each(|ended| recorder.second(at(ended * 60)));
    let status = recorder.status.lock().clone();
    assert!(status.bytes > 2 * SMALL && status.trouble.is_none(), "{status:?}");
    *recorder.limits.lock() = Limits { size: SMALL, ..options.limits };
    recorder.second(at(11 * 60));
    let status = recorder.status.lock().clone();
    assert!(status.bytes <= SMALL && status.trouble.is_none(), "{status:?}");
    assert_eq!(told(&path, T + 600, T + 660).0.len(), LINES as usize);
    assert_eq!(told(&path, T, T + 60).0.len(), 0);
}

#[test]
fn no_more_bytes_are_written_than_were_foretold() {
    for seconds in [1, 50, 600] {
        let folder = folder();
        let path = folder.path().join("h.db");
        let mut connection = file::open(&path, 64 << 20).unwrap();
        let mut known = crate::write::Known::default();
        let before = crate::write::used(&connection).unwrap();
        let batch = crate::write::Batch {
            seconds: (0..seconds).map(|n| (T + n, point(n))).collect(),
            minutes: vec![(T, Large { minutes: 0 }.minute(0).unwrap())],
        };
        crate::write::write(&mut connection, &batch, 1_000, &mut known).unwrap();
        let taken = crate::write::used(&connection).unwrap() - before;
        let most = batch.bytes_max();
        assert!(taken <= most && most < taken * 3 + (1 << 20), "{taken} of {most}");
    }
}

/// As a machine does that begins in 1970 and asks nobody for the time.
#[test]
fn a_clock_that_is_set_back_for_long_costs_nothing() {
    let folder = folder();
    let path = folder.path().join("h.db");
    let load = Load::default();
    let mut recorder = Recorder::new(limited(&path, 10, 64 << 20), Box::new(load.clone()), at(0));
    recorder.begin();
    for minute in 1..=30 {
        load.come(5);
        recorder.second(at(minute * 60));
    }
    // Two days back, and an hour later right again.
    let back = |seconds: u64| Moment { wall_ms: at(seconds).wall_ms - 2 * 86_400_000, ..at(seconds) };
    for minute in 31..=90 {
        load.come(5);
        recorder.second(back(minute * 60));
    }
    assert_eq!(recorder.status.lock().clock_steps, 1);
    assert_eq!((calls(&path, T, T + 1800), statements(&path)), (150, 150));
    for minute in 91..=120 {
        load.come(5);
        recorder.second(at(minute * 60));
    }
    assert_eq!(calls(&path, T, T + 1800), 150);
    assert_eq!(calls(&path, T - 3 * 86_400, T + 7200), 600, "what was counted meanwhile is there too");
}

/// What a wrong clock has left in a time to come makes room before anything else does, and so do its texts.
#[test]
fn what_lies_ahead_is_the_first_to_make_room() {
    let folder = folder();
    let path = folder.path().join("h.db");
    let ahead = |seconds: u64| Moment { wall_ms: at(seconds).wall_ms + 1_000 * 86_400_000, ..at(seconds) };
    let mut recorder =
        Recorder::new(limited(&path, LINES as usize, 4 * SMALL), Box::new(Large { minutes: 0 }), ahead(0));
    recorder.begin();
    (1..=6).for_each(|ended| recorder.second(ahead(ended * 60)));
    let far = T + 1_000 * 86_400;
    assert_eq!(told(&path, far, far + 360).0.len(), 6 * LINES as usize);
    // Right again, and trusted after ten minutes.
    for ended in 7..=30 {
        recorder.second(at(ended * 60));
        assert_eq!(recorder.status.lock().trouble, None, "behind minute {ended}");
    }
    assert_eq!(told(&path, far, far + 360).0.len(), 0);
    // Only what there is no room for has gone of our time.
    let kept =
        (7..30).filter(|minute| !told(&path, T + minute * 60, T + minute * 60 + 60).0.is_empty()).count();
    assert!((4..20).contains(&kept), "{kept} minutes");
    assert_eq!(told(&path, T + 29 * 60, T + 30 * 60).0.len(), LINES as usize);
}

/// Digests that are in use all the while were last seen in a time to come; that is forgotten with what it has left, else they would be
/// looked for in all minutes, each minute.
#[test]
fn what_was_seen_ahead_was_seen_by_now() {
    let folder = folder();
    let path = folder.path().join("h.db");
    let load = Load::default();
    let ahead = |seconds: u64| Moment { wall_ms: at(seconds).wall_ms + 1_000 * 86_400_000, ..at(seconds) };
    let mut recorder = Recorder::new(limited(&path, 10, 64 << 20), Box::new(load.clone()), ahead(0));
    recorder.begin();
    let minutes = |recorder: &mut Recorder, from: u64, until: u64, clock: &dyn Fn(u64) -> Moment| {
        for minute in from..=until {
            load.come(5);
            recorder.second(clock(minute * 60));
        }
    };
    minutes(&mut recorder, 1, 5, &ahead);
    // Right again, and trusted after ten minutes.
    minutes(&mut recorder, 6, 30, &at);
    let connection = rusqlite::Connection::open(&path).unwrap();
    let last_seen = |table: &str| {
        let text = format!("SELECT max(last_at) FROM {table}");
        connection.query_row(&text, [], |row| row.get::<_, u64>(0)).unwrap()
    };
    let far = T + 999 * 86_400;
    assert!(last_seen("digest") > far && last_seen("origin") > far);
    // As where the file is full.
    connection.execute("DELETE FROM digest_minute WHERE at > ?", [far]).unwrap();
    minutes(&mut recorder, 31, 32, &at);
    let soon = T + 2 * 86_400;
    assert!(last_seen("digest") < soon && last_seen("origin") < soon);
    minutes(&mut recorder, 33, 40, &at);
    assert_eq!(calls(&path, T + 360, T + 30 * 60), 24 * 5, "nothing of our time has gone");
}

/// How long things are kept where nothing is said about it, on the whole length of it.
#[test]
fn seconds_are_kept_for_an_hour_and_minutes_for_thirty_days() {
    const DAY: u64 = 86_400;
    const STEP: u64 = 600;
    let folder = folder();
    let path = folder.path().join("h.db");
    let load = Load::default();
    let options = Options { flush: Duration::from_secs(5), ..limited(&path, 10, 64 << 20) };
    let mut recorder = Recorder::new(options, Box::new(load.clone()), at(0));
    recorder.begin();
    let ends = |step: u64| {
        let points = read::points(&path, T - DAY, T + 40 * DAY, step).unwrap().points;
        (points.keys().next().copied().unwrap_or_default(), points.keys().last().copied().unwrap_or_default())
    };
    for look in 1..=31 * DAY / STEP {
        load.come(1);
        recorder.second(at(look * STEP));
        if look * STEP == 30 * DAY {
            assert_eq!(
                (ends(60).0, calls(&path, T, T + 30 * DAY)),
                (T + STEP / 2, look),
                "nothing has gone yet"
            );
        }
    }
    // Each point lies in the middle of what it tells of.
    let (first, last) = ends(60);
    assert_eq!((first, last), (T + DAY + STEP / 2, T + 31 * DAY - STEP / 2));
    // A minute of digests is that which has ended.
    let told = calls(&path, T - DAY, T + 40 * DAY);
    assert_eq!((told, calls(&path, T, T + DAY)), (30 * DAY / STEP, 0));
    for second in 1..=2 * 3600 {
        load.come(1);
        recorder.second(at(31 * DAY + second));
    }
    recorder.flush(at(31 * DAY + 2 * 3600), false);
    let (first, last) = ends(1);
    let now = T + 31 * DAY + 2 * 3600;
    assert!((now - 3660..=now - 3600).contains(&first), "{} s are kept", now - first);
    assert!((now - 1..=now).contains(&last), "{last} {now}");
    assert_eq!(ends(60).0, T + DAY + 2 * 3600 + STEP / 2);
}
