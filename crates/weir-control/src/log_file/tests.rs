#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

use super::*;

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn a_file_that_is_full_makes_room_and_so_many_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut file = LogFile::new(path.clone(), 20, 2);
    for n in 0..10 {
        file.append(format!("line {n}\n").as_bytes()).unwrap();
    }
    assert_eq!(text(&path), "line 8\nline 9\n");
    assert_eq!(text(&folder.path().join("log.1")), "line 6\nline 7\n");
    assert_eq!(text(&folder.path().join("log.2")), "line 4\nline 5\n");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
    // Lines that do not fit anywhere are not torn apart.
    file.append(b"a line that is longer than a file\n").unwrap();
    assert_eq!(text(&path), "a line that is longer than a file\n");
    let mut alone = LogFile::new(path.clone(), 20, 0);
    alone.append(b"next\n").unwrap();
    assert_eq!(text(&path), "next\n");
    assert_eq!(text(&folder.path().join("log.1")), "line 8\nline 9\n");
}

#[test]
fn a_file_that_was_moved_away_is_made_anew_at_a_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let (path, away) = (folder.path().join("log"), folder.path().join("away"));
    let mut file = LogFile::new(path.clone(), 1000, 2);
    file.append(b"one\n").unwrap();
    std::fs::rename(&path, &away).unwrap();
    file.append(b"two\n").unwrap();
    file.reopen();
    file.append(b"three\n").unwrap();
    assert_eq!((text(&away), text(&path)), ("one\ntwo\n".to_owned(), "three\n".to_owned()));
}

#[test]
fn what_was_cut_off_goes_when_the_file_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    for (before, after) in
        [("whole\npart", "whole\nnew\n"), ("part", "new\n"), ("whole\n", "whole\nnew\n"), ("", "new\n")]
    {
        std::fs::write(&path, before).unwrap();
        LogFile::new(path.clone(), 1000, 2).append(b"new\n").unwrap();
        assert_eq!(text(&path), after, "{before:?}");
    }
}

#[test]
fn a_disk_that_is_full_leaves_no_part_of_a_line_and_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gone").join("log");
    let mut file = LogFile::new(path.clone(), 1000, 2);
    file.append(b"lost\n").unwrap_err();
    std::fs::create_dir(folder.path().join("gone")).unwrap();
    file.append(b"found\n").unwrap();
    assert_eq!(text(&path), "found\n");
    // Whatever is written there meets a full disk.
    let mut full = LogFile::new(PathBuf::from("/dev/full"), 1000, 2);
    assert!(full.append(b"lost\n").is_err());
}
