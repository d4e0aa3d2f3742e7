//! A configuration file that one at a time may change.

use super::{NotSynced, SaveError, Saved};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempPath;
use weir_config::{Report, load_file};
use zeroize::Zeroizing;

/// How long to wait for others who change the file. 10 s: each of them needs two fsyncs, and who asks the API waits a minute.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// How often it is looked whether they are done. 1 ms: the lock is free for a moment only where a running Weir makes one change behind
/// the other.
const LOOK: Duration = Duration::from_millis(1);

/// Random characters in the name of a file that is being written.
const RANDOM: usize = 16;

/// What such a name ends with.
const NEW: &str = ".new";

/// A configuration file, its text, and the right to change it: as long as this is held, no other Weir does, and no `weir token`. An
/// editor may; that is seen before anything is written over.
#[derive(Debug)]
pub struct HeldFile {
    /// As it was named, which may be a link.
    name: PathBuf,
    path: PathBuf,
    folder: PathBuf,
    /// Locked (flock) until it is closed. The file itself cannot be: it is another one after each change.
    lock: File,
    text: Zeroizing<String>,
}

impl HeldFile {
    /// Waits for others who change the file, and reads it.
    ///
    /// # Errors
    /// When it cannot be read, or is read-only, or its folder cannot be locked, or not in 10 s.
    pub fn take(name: &Path) -> Result<Self, SaveError> {
        Self::take_within(name, PATIENCE)
    }

    /// The same, in another time than [`PATIENCE`].
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn take_within(name: &Path, patience: Duration) -> Result<Self, SaveError> {
        let bad = |report: Report| SaveError::Bad(report.to_string());
        // A link stays a link. Why a file cannot be found, the look at it says best.
        let path = match fs::canonicalize(name) {
            Ok(path) => path,
            Err(_) => return Err(load_file(name).map_or_else(bad, |_| SaveError::Changed(name.to_owned()))),
        };
        let failed = |error| SaveError::NotWritten { path: name.to_owned(), error };
        let folder = path.parent().ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?.to_owned();
        let lock = File::open(&folder).map_err(failed)?;
        lock_within(&lock, patience).map_err(|error| match error {
            TryLockError::WouldBlock => SaveError::Locked { path: name.to_owned(), folder: folder.clone() },
            TryLockError::Error(error) => failed(error),
        })?;
        let text = load_file(&path).map_err(bad)?;
        check_writable(&path).map_err(|error| SaveError::ReadOnly { path: name.to_owned(), error })?;
        Ok(Self { name: name.to_owned(), path, folder, lock, text })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Puts a file of another text, but of the same owner and mode, in the place of this one. Whoever reads it meanwhile finds the
    /// old text or the new one.
    pub(super) fn replace(self, text: &[u8]) -> Result<Saved, SaveError> {
        self.replace_and(text, File::sync_all)
    }

    /// The same, where this is how a folder comes to the disk.
    pub(super) fn replace_and(
        self,
        text: &[u8],
        sync: impl Fn(&File) -> io::Result<()>,
    ) -> Result<Saved, SaveError> {
        let failed = |error| SaveError::NotWritten { path: self.name.clone(), error };
        let new = self.beside(text).map_err(failed)?;
        self.put(new)?;
        // Everybody reads the new text by now.
        let unsure = sync(&self.lock).err();
        Ok(Saved { unsure: unsure.map(|error| NotSynced { path: self.name, error }) })
    }

    /// A file with this text and a name of its own in the same folder. While it has not the owner and the mode of the old one,
    /// nobody else may read it.
    fn beside(&self, text: &[u8]) -> io::Result<TempPath> {
        self.remove_leftovers()?;
        let old = fs::metadata(&self.path)?;
        let front = self.front();
        let mut new = tempfile::Builder::new();
        let new = new.prefix(&front).suffix(NEW).rand_bytes(RANDOM).tempfile_in(&self.folder)?;
        let (mut file, path) = new.into_parts();
        let made = file.metadata()?;
        if (made.uid(), made.gid()) != (old.uid(), old.gid()) {
            fchown(&file, Some(old.uid()), Some(old.gid()))?;
        }
        file.set_permissions(old.permissions())?;
        file.write_all(text)?;
        file.sync_all()?;
        Ok(path)
    }

    /// Puts it in the place of the old one, unless that is not what was read any more.
    fn put(&self, new: TempPath) -> Result<(), SaveError> {
        let changed = || SaveError::Changed(self.name.clone());
        let failed = |error| SaveError::NotWritten { path: self.name.clone(), error };
        let leads_here = fs::canonicalize(&self.name).is_ok_and(|path| path == self.path);
        if !leads_here || !self.is_in(&self.path) {
            return Err(changed());
        }
        match renameat_with(CWD, &*new, CWD, &self.path, RenameFlags::EXCHANGE) {
            // The old one goes with the name that it has now.
            Ok(()) if self.is_in(&new) => Ok(()),
            Ok(()) => {
                // An editor has saved since the look at it: its text goes back to where it was.
                if let Err(error) = new.persist(&self.path) {
                    let _ = error.path.keep();
                    return Err(failed(error.error));
                }
                Err(changed())
            }
            // Not every file system can do it.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                new.persist(&self.path).map_err(|error| failed(error.error))
            }
            Err(Errno::NOENT) => Err(changed()),
            Err(error) => Err(failed(error.into())),
        }
    }

    /// Whether the text of this file is the one that was read.
    fn is_in(&self, path: &Path) -> bool {
        load_file(path).is_ok_and(|text| text == self.text)
    }

    /// What the name of a file begins with that is being written.
    fn front(&self) -> String {
        let name = self.path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
        format!(".{name}.")
    }

    /// Removes what was left where a change was cut off; there may be secrets in it. Nobody else is writing one.
    fn remove_leftovers(&self) -> io::Result<()> {
        let front = self.front();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let middle = name.to_str().and_then(|name| name.strip_prefix(&*front)?.strip_suffix(NEW));
            let is_ours =
                middle.is_some_and(|it| it.len() == RANDOM && it.bytes().all(|b| b.is_ascii_alphanumeric()));
            if is_ours && entry.file_type()?.is_file() {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}

/// A file of mode 0444 is not to be changed, by root neither, whom nothing else would keep from it: who replaces a file need not be
/// able to write to it.
fn check_writable(path: &Path) -> io::Result<()> {
    if fs::metadata(path)?.permissions().readonly() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "nobody may write to it"));
    }
    // Its owner and mode, a file system that is mounted read-only, and the attribute `i`.
    File::options().write(true).open(path).map(drop)
}

/// Locks it, or gives up: any program that may read a folder may lock it.
fn lock_within(folder: &File, patience: Duration) -> Result<(), TryLockError> {
    let end = Instant::now() + patience;
    loop {
        match folder.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < end => sleep(LOOK),
            done => return done,
        }
    }
}
