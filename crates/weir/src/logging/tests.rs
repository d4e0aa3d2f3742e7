use super::*;
use parking_lot::Mutex;
use std::process::{Command, Stdio};
use std::time::Instant;
use tracing_subscriber::Layer;

/// A file that takes nothing as long as the test holds the lock.
#[derive(Clone, Default)]
struct Slow(Arc<Mutex<Vec<u8>>>);

impl Write for Slow {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.lock().write(line)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How many lines with a word there are, once there are so many. What is queued may be written a little later.
fn lines(file: &Slow, word: &str, expected: usize) -> usize {
    let start = Instant::now();
    loop {
        let count =
            String::from_utf8_lossy(&file.0.lock()).lines().filter(|line| line.contains(word)).count();
        if count >= expected || start.elapsed() > Duration::from_secs(60) {
            return count;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// More comes than is read: of what clients do lines are dropped, and counted; of changes none is.
#[test]
fn changes_are_in_the_log_whatever_else_comes() {
    const STORM: usize = QUEUE + 5_000;
    const CHANGES: usize = AUDIT_QUEUE / 2;
    let slow = Slow::default();
    let (writer, lost, guards) = writers(|| slow.clone());
    let subscriber = tracing_subscriber::registry()
        .with(fmt::layer().with_writer(writer).with_filter(filter(LogLevel::Info)));
    let held = slow.0.lock();
    tracing::subscriber::with_default(subscriber, || {
        for n in 0..STORM {
            tracing::info!(n, "storm");
            if n % (STORM / CHANGES) == 0 && n / (STORM / CHANGES) < CHANGES {
                tracing::info!(target: AUDIT, n, "change");
            }
        }
    });
    // One may be in the hands of the thread that writes.
    let dropped = lost.queue_full() as usize;
    assert!((STORM - QUEUE - 1..=STORM - QUEUE).contains(&dropped), "{dropped}");
    drop(held);
    drop(guards);
    assert_eq!(lines(&slow, "change", CHANGES), CHANGES);
    assert_eq!(lines(&slow, "storm", STORM - dropped), STORM - dropped);
    assert_eq!(lost.not_written(), 0);
}

#[test]
fn lines_that_the_system_does_not_take_are_counted() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (writers, lost, guards) = writers(|| Full);
    let mut lines = [writers.lossy, writers.audit];
    lines.iter_mut().for_each(|to| to.write_all(b"a line\n").unwrap());
    drop(lines);
    drop(guards);
    let start = Instant::now();
    while lost.not_written() < 2 && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!((lost.not_written(), lost.queue_full()), (2, 0));
}

/// At each level the changes, and whom nobody let in; of all else what is of that level.
#[test]
fn no_level_hides_a_change() {
    for (level, more) in [(LogLevel::Error, 0), (LogLevel::Warn, 1), (LogLevel::Info, 2)] {
        let taken = Slow::default();
        let (writer, _, guards) = writers(|| taken.clone());
        let layer = fmt::layer().with_ansi(false).with_writer(writer).with_filter(filter(level));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            tracing::info!(target: AUDIT, "kept");
            tracing::warn!(target: AUDIT, "kept");
            tracing::warn!(target: REFUSED, "kept");
            tracing::warn!("other");
            tracing::info!("other");
        });
        drop(guards);
        assert_eq!((lines(&taken, "kept", 3), lines(&taken, "other", more)), (3, more), "{level:?}");
    }
}

/// With which status the process of the next test has ended.
const ENDED: i32 = 77;

/// The end of a process whose standard output and standard error are one pipe that nobody reads, and full, as all that waits for it.
#[test]
#[ignore = "ends its process: the next test runs it in one of its own"]
fn ends_with_full_queues() {
    let (mut writer, lost, guards) = writers(io::stderr);
    // A pipe takes 64 KiB, and a line may be in the hands of the thread.
    while lost.queue_full() == 0 {
        writer.lossy.write_all(b"0123456789abcdef0123456789abcdef\n").unwrap();
    }
    drop(Writing(Some(guards)));
    std::process::exit(ENDED);
}

#[test]
fn a_process_ends_where_nobody_reads_what_it_says() {
    let (reader, writer) = io::pipe().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "logging::tests::ends_with_full_queues", "--ignored", "--nocapture"])
        .stdin(Stdio::null())
        .stdout(writer.try_clone().unwrap())
        .stderr(writer)
        .spawn()
        .unwrap();
    let start = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            None if start.elapsed() < Duration::from_secs(60) => {
                std::thread::sleep(Duration::from_millis(10))
            }
            status => break status,
        }
    };
    let _ = child.kill();
    let _ = child.wait();
    drop(reader);
    assert_eq!(status.and_then(|status| status.code()), Some(ENDED));
}
