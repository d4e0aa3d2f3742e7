//! The file: opened for writing by one process at a time, made with the mode 0600, set aside when it is corrupt.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::schema;
use crate::trouble::{Kind, Trouble};

/// Bytes of a page. SQLite's own default.
const PAGE: u64 = 4096;
/// Pages of the log beside the file before they go into it: 4 MiB.
const WAL_PAGES: u32 = 1000;
/// How long a statement waits for a reader. Readers hold nothing that a writer needs but for moments.
const PATIENCE: Duration = Duration::from_secs(5);
/// A file up to this size is read through when it is opened, in bytes: it takes less than a second.
const CHECKED_MAX: u64 = 64 << 20;
/// Files that are set aside at most, so that a broken disk does not fill up with them.
const ASIDE_MAX: usize = 5;
/// What the names of a database and of the files that belong to it end in.
const FILES: [&str; 3] = ["", "-wal", "-shm"];

/// The right to write a file, and to rename it. Another process gets it when this is dropped.
pub(crate) struct Lock {
    _file: File,
}

/// A file that this process writes.
pub(crate) struct Writable {
    pub connection: Connection,
    pub lock: Lock,
}

/// Opens the file, or makes it. `size` is how many bytes it may take. Who asks holds the [`Lock`].
pub(crate) fn open(path: &Path, size: u64) -> Result<Connection, Trouble> {
    // SQLite gives the files beside it the same mode.
    OpenOptions::new().create(true).append(true).mode(0o600).open(path).map_err(|e| unwritable(path, &e))?;
    // SQLite would put what stands in a log beside it into the file of another program.
    if !is_ours(path)? {
        return Err(Trouble::foreign());
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    // Before anything is written, this refuses what is not ours.
    schema::prepare(&mut connection)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // With the log, a power failure can lose the last transactions but corrupts nothing.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "wal_autocheckpoint", WAL_PAGES)?;
    connection.pragma_update(None, "journal_size_limit", u64::from(WAL_PAGES) * PAGE)?;
    bound(&connection, size)?;
    let length = fs::metadata(path).map_or(0, |meta| meta.len());
    if length <= CHECKED_MAX {
        check(&connection)?;
    }
    Ok(connection)
}

/// Sets how many bytes the file may take. One that is longer stays as long as it is.
pub(crate) fn bound(connection: &Connection, size: u64) -> Result<(), Trouble> {
    Ok(connection.pragma_update(None, "max_page_count", size / PAGE)?)
}

/// Whether a file is empty, or begins as those of Weir do: with what SQLite writes, and the id of the application in it
/// (<https://www.sqlite.org/fileformat.html#the_database_header>).
fn is_ours(path: &Path) -> Result<bool, Trouble> {
    let mut header = Vec::new();
    let file = File::open(path).map_err(|e| unwritable(path, &e))?;
    file.take(100).read_to_end(&mut header).map_err(|e| unwritable(path, &e))?;
    let application = schema::APPLICATION.to_be_bytes();
    let is_header = header.starts_with(b"SQLite format 3\0") && header.get(68..72) == Some(&application[..]);
    Ok(header.is_empty() || is_header)
}

/// Opens the file to read it, while somebody writes.
pub(crate) fn open_to_read(path: &Path) -> Result<Connection, Trouble> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    Ok(connection)
}

fn check(connection: &Connection) -> Result<(), Trouble> {
    let found: String = connection.query_row("PRAGMA quick_check(1)", (), |row| row.get(0))?;
    match found.as_str() {
        "ok" => Ok(()),
        found => Err(Trouble::new(Kind::Corrupt, found.to_owned())),
    }
}

/// A lock in a file of its own: one on the database itself would end SQLite's when it is closed (fcntl(2)).
pub(crate) fn lock(path: &Path) -> Result<Lock, Trouble> {
    let name = beside(path, "-lock");
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&name);
    let file = file.map_err(|e| unwritable(&name, &e))?;
    match file.try_lock() {
        Ok(()) => Ok(Lock { _file: file }),
        Err(TryLockError::WouldBlock) => {
            let why = "another Weir writes it: give each a history.file of its own";
            Err(Trouble::new(Kind::InUse, why))
        }
        Err(TryLockError::Error(error)) => Err(unwritable(&name, &error)),
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Trouble {
    let kind = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => Kind::Full,
        _ => Kind::Unwritable,
    };
    // Who reads it can do something about these.
    let advice = match error.kind() {
        io::ErrorKind::NotFound => ": make its folder, and give it to the user that Weir runs as",
        io::ErrorKind::PermissionDenied => ": the user that Weir runs as may not write there",
        io::ErrorKind::ReadOnlyFilesystem => ": put history.file where Weir may write",
        _ => "",
    };
    Trouble::new(kind, format!("{}: {error}{advice}", path.display()))
}

/// Renames a file that is corrupt, with what belongs to it; `now` is in seconds since 1970. Who asks holds the [`Lock`], and
/// nobody has it open to write.
pub(crate) fn set_aside(path: &Path, now: u64) -> Result<PathBuf, Trouble> {
    // Somebody may have put another one there.
    if !is_ours(path)? {
        return Err(Trouble::foreign());
    }
    let aside = beside(path, ".corrupt-");
    let prefix = aside.file_name().unwrap_or_default().to_owned();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names = fs::read_dir(folder).map_err(|e| unwritable(folder, &e))?.filter_map(Result::ok);
    let is_aside = |name: &std::ffi::OsStr| {
        let name = name.as_encoded_bytes();
        name.starts_with(prefix.as_encoded_bytes()) && !name.ends_with(b"-wal") && !name.ends_with(b"-shm")
    };
    if names.filter(|entry| is_aside(&entry.file_name())).count() >= ASIDE_MAX {
        let why = format!(
            "it is corrupt, and there are {ASIDE_MAX} files beside it already that were: look at the disk, and remove them"
        );
        return Err(Trouble::new(Kind::Corrupt, why));
    }
    let is_free = |name: &PathBuf| FILES.iter().all(|end| beside(name, end).symlink_metadata().is_err());
    let numbered = (1..=ASIDE_MAX).map(|n| beside(path, &format!(".corrupt-{now}-{n}")));
    let mut names = std::iter::once(beside(path, &format!(".corrupt-{now}"))).chain(numbered);
    let Some(aside) = names.find(is_free) else {
        let why = format!("it is corrupt, and there is no free name to rename it to, as {}", aside.display());
        return Err(Trouble::new(Kind::Corrupt, why));
    };
    for end in FILES {
        match fs::rename(beside(path, end), beside(&aside, end)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            renamed => renamed.map_err(|e| unwritable(path, &e))?,
        }
    }
    Ok(aside)
}

/// The same name with something behind it.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}
