//! A disk that is full, under the configuration file and under the query log.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::api_kit::*;
use crate::kit::*;
use crate::sharing_kit::*;

/// Where it is set no test may leave out what it needs a disk of its own for. Continuous integration sets it.
const MUST_MOUNT: &str = "WEIR_TESTS_MUST_MOUNT";

/// A disk of a megabyte. It needs root, as a container's tests have.
pub struct SmallDisk {
    path: PathBuf,
    _folder: Option<tempfile::TempDir>,
}

impl SmallDisk {
    /// `None` where nothing can be mounted.
    pub fn new() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        mount(&path).then_some(Self { path, _folder: Some(folder) })
    }

    /// In the place of a folder, whose files are hidden meanwhile.
    fn over(folder: &Path) -> Option<Self> {
        mount(folder).then(|| Self { path: folder.to_owned(), _folder: None })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves no room. Where what is returned is removed there is room again.
    fn fill(&self) -> PathBuf {
        let filler = self.path.join("filler");
        // Writes what there is room for.
        let _ = fs::write(&filler, vec![1u8; 2 << 20]);
        filler
    }
}

fn mount(folder: &Path) -> bool {
    let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(folder).output();
    let mounted = mount.as_ref().is_ok_and(|output| output.status.success());
    let must = std::env::var_os(MUST_MOUNT).is_some();
    assert!(mounted || !must, "no tmpfs can be mounted, so that no disk is full: {mount:?}");
    if !mounted {
        eprintln!("no tmpfs can be mounted here, so that no disk is full");
    }
    mounted
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a Weir may still be ending.
        let _ = Command::new("umount").arg("-l").arg(&self.path).status();
    }
}

/// What cannot be written is not in force, and the file is as it was.
#[tokio::test]
async fn a_rule_for_which_there_is_no_room_changes_nothing() {
    let server = server(Flavor::MariaDb);
    let weir = weir_with(&server, "[[rule]]\nname = \"fd_old\" # mine\nmatch = {}\ndeny = \"no\"\n");
    let before = file(&weir);
    let Some(disk) = SmallDisk::over(weir.home()) else { return };
    fs::write(weir.home().join("weir.toml"), &before).unwrap();
    let filler = disk.fill();
    let long = "x".repeat(100);
    for args in [
        &["rules", "add", "--name", "fd_new", "--match-pattern", &long, "--ttl", "1m"][..],
        &["rules", "remove", "fd_old"],
    ] {
        let said = refused_with(&weir, args);
        assert!(said.contains("weir.toml"), "{said}");
        assert_eq!((file(&weir), names(&weir)), (before.clone(), vec!["fd_old".to_owned()]), "{said}");
    }
    fs::remove_file(filler).unwrap();
    told(&weir, &["rules", "add", "--name", "fd_new", "--match-pattern", &long, "--ttl", "1m"]);
    assert_eq!(names(&weir), ["fd_old", "fd_new"]);
    assert!(file(&weir).contains("fd_new") && file(&weir).contains("# mine"), "{}", file(&weir));
}

/// Clients are served, lines are counted that had no room, and those that had are whole.
#[tokio::test]
async fn a_full_disk_under_the_query_log_stops_nobody_and_tears_no_line() {
    let server = server(Flavor::MariaDb);
    database(&server, "fd_log", &[]).await;
    let Some(disk) = SmallDisk::new() else { return };
    let path = disk.path().join("queries.json");
    let log = format!(
        "[query_log]\nfile = \"{}\"\nsample = \"100%\"\nmax_size = \"64KiB\"\nfiles = 2\n",
        path.display()
    );
    let weir = weir_with(&server, &log);
    let mut client = client(&weir, "fd_log").await;
    let mut sent = 0.0;
    let mut run = async |count: u32| {
        for _ in 0..count {
            client.run("SELECT 1").await.unwrap();
        }
        sent += f64::from(count);
        sent
    };
    let written = async || metric(&weir, "weir_log_lines_total").await;
    let dropped = async || metric(&weir, "weir_log_dropped_total{reason=\"not_written\"}").await;
    run(200).await;
    until("some are written", async || (written().await >= 200.0).then_some(())).await;
    let filler = disk.fill();
    until("there is no room", async || {
        run(20).await;
        (dropped().await > 0.0).then_some(())
    })
    .await;
    run(200).await;
    fs::remove_file(filler).unwrap();
    until("there is room again", async || {
        run(1).await;
        weir.log().contains("event=\"query_log_written\"").then_some(())
    })
    .await;
    let sent = run(100).await;
    let counted = async || {
        let counted = written().await + dropped().await;
        (counted >= sent).then_some(counted)
    };
    assert_eq!(until("each is written or counted", counted).await, sent);
    // Each time once: where the oldest file is removed there is room for a moment.
    let events = || -> Vec<String> {
        let log = weir.log();
        let words = log.lines().filter_map(|line| line.split("event=\"query_log_").nth(1)?.split('"').next());
        words.map(str::to_owned).collect()
    };
    until("the last is said", async || (events().len() % 2 == 0).then_some(())).await;
    let events = events();
    assert!(
        !events.is_empty() && events.chunks(2).all(|pair| pair == ["not_written", "written"]),
        "{events:?}"
    );
    for name in ["queries.json.2", "queries.json.1", "queries.json"] {
        let text = fs::read_to_string(disk.path().join(name)).unwrap_or_default();
        assert!(text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{name}: {text}");
    }
    assert!(fs::read_to_string(&path).unwrap().ends_with("}\n"));
}
