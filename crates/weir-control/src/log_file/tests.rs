#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

use super::*;

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// A line of 8 bytes where `what` has one digit.
fn line(what: impl std::fmt::Display) -> String {
    format!("{{\"l\":{what}}}\n")
}

#[test]
fn a_file_that_is_full_makes_room_and_so_many_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut file = LogFile::new(path.clone(), 20, 2);
    for n in 0..10 {
        file.append(line(n).as_bytes()).unwrap();
    }
    assert_eq!(text(&path), line(8) + &line(9));
    assert_eq!(text(&folder.path().join("log.1")), line(6) + &line(7));
    assert_eq!(text(&folder.path().join("log.2")), line(4) + &line(5));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
    // Lines that do not fit anywhere are not torn apart.
    let long = line("\"longer than a file\"");
    file.append(long.as_bytes()).unwrap();
    assert_eq!(text(&path), long);
    let mut alone = LogFile::new(path.clone(), 20, 0);
    alone.append(line(1).as_bytes()).unwrap();
    assert_eq!(text(&path), line(1));
    assert_eq!(text(&folder.path().join("log.1")), line(8) + &line(9));
}

#[test]
fn a_file_that_was_moved_away_is_made_anew_at_a_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let (path, away) = (folder.path().join("log"), folder.path().join("away"));
    let mut file = LogFile::new(path.clone(), 1000, 2);
    file.append(line(1).as_bytes()).unwrap();
    std::fs::rename(&path, &away).unwrap();
    file.append(line(2).as_bytes()).unwrap();
    file.reopen();
    file.append(line(3).as_bytes()).unwrap();
    assert_eq!((text(&away), text(&path)), (line(1) + &line(2), line(3)));
}

#[test]
fn what_was_cut_off_goes_when_the_file_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let new = line(9);
    for (before, kept) in [
        (line(1) + "{\"l\":\"par", line(1)),
        (line(1) + "{", line(1)),
        ("{\"l\":\"par".to_owned(), String::new()),
        ("{".to_owned(), String::new()),
        (line(1), line(1)),
        (String::new(), String::new()),
        // Only its end is missing.
        (line(1) + line(2).trim_end(), line(1) + &line(2)),
    ] {
        std::fs::write(&path, &before).unwrap();
        LogFile::new(path.clone(), 1000, 2).append(new.as_bytes()).unwrap();
        assert_eq!(text(&path), kept + &new, "{before:?}");
    }
}

#[test]
fn a_file_that_is_no_log_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("passwords");
    let long = "x".repeat(LINE_MAX as usize + 10);
    for before in
        ["no line", "some\nlines\n", "some\npart", "{\n  \"pretty\": 1\n}\n", "[mysqld]\nport = 1\n", &long]
            .into_iter()
            .map(str::to_owned)
            .chain([line(1) + "behind a line", line(1) + &"x".repeat(LINE_MAX as usize)])
    {
        std::fs::write(&path, &before).unwrap();
        for max_bytes in [1, 1 << 30] {
            let mut file = LogFile::new(path.clone(), max_bytes, 0);
            let error = file.append(line(1).as_bytes()).unwrap_err();
            assert!(error.to_string().contains("not touched"), "{error}");
            assert!(text(&path) == before, "{:?}", &before[..before.len().min(40)]);
        }
    }
}

#[test]
fn a_disk_that_is_full_leaves_no_part_of_a_line_and_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gone").join("log");
    let mut file = LogFile::new(path.clone(), 1000, 2);
    file.append(line(1).as_bytes()).unwrap_err();
    std::fs::create_dir(folder.path().join("gone")).unwrap();
    file.append(line(2).as_bytes()).unwrap();
    assert_eq!(text(&path), line(2));
    // Whatever is written there meets a full disk.
    let mut full = LogFile::new(PathBuf::from("/dev/full"), 1000, 2);
    assert!(full.append(line(1).as_bytes()).is_err());
}
