//! A file that lines of JSON are appended to, and that is exchanged for a new one when it has become too large.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Its owner writes, its group reads: it may hold what is in statements.
const MODE: u32 = 0o640;

/// A line is no longer than this, so its beginning is found in so many bytes at the end of a file.
const LINE_MAX: u64 = 64 * 1024;

/// A JSON object that is not empty.
const LINE_BEGINS: &[u8] = b"{\"";

/// A log file and those before it: `FILE`, `FILE.1`, `FILE.2`, ..., the newest first.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    max_bytes: u64,
    /// Older files that are kept.
    files: u32,
    open: Option<(File, u64)>,
}

impl LogFile {
    /// It is opened when something is written.
    pub fn new(path: PathBuf, max_bytes: u64, files: u32) -> Self {
        Self { path, max_bytes, files, open: None }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The next lines go to the file that has the name then: somebody else may have moved it away.
    pub fn reopen(&mut self) {
        self.open = None;
    }

    /// Appends whole lines of JSON objects, all of them or none.
    ///
    /// # Errors
    /// When they could not be written, or the file is not a log. What was written of them is taken back, and the next try opens the file anew.
    pub fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let too_large = |len: u64| len > 0 && len.saturating_add(lines.len() as u64) > self.max_bytes;
        let (mut file, mut len) = match self.open.take() {
            Some(open) => open,
            None => open(&self.path)?,
        };
        if too_large(len) {
            drop(file);
            self.rotate()?;
            (file, len) = open(&self.path)?;
        }
        if let Err(error) = file.write_all(lines) {
            // Without this the file would end in a part of a line; the next opening looks for that, too.
            let _ = file.set_len(len);
            return Err(error);
        }
        self.open = Some((file, len + lines.len() as u64));
        Ok(())
    }

    fn rotate(&self) -> io::Result<()> {
        if self.files == 0 {
            return std::fs::remove_file(&self.path);
        }
        for n in (1..self.files).rev() {
            match std::fs::rename(self.numbered(n), self.numbered(n + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        std::fs::rename(&self.path, self.numbered(1))
    }

    fn numbered(&self, n: u32) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{n}"));
        name.into()
    }
}

/// Opens a file to append to, and takes away the part of a line that it may end in: of a process that was killed, or a full disk.
/// A file that begins or ends in something else than a line is not touched: it is not a log, and somebody may need it.
fn open(path: &Path) -> io::Result<(File, u64)> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).mode(MODE).open(path)?;
    let len = file.metadata()?.len();
    // A device has no length either, and what is read from it is not what was written.
    if len == 0 {
        return Ok((file, 0));
    }
    let from = len.saturating_sub(LINE_MAX);
    let begins = read(&file, 0, LINE_BEGINS.len() as u64)?;
    let end = read(&file, from, LINE_MAX)?;
    let whole = match end.iter().rposition(|byte| *byte == b'\n') {
        Some(at) => at + 1,
        None if from == 0 => 0,
        None => return Err(no_log()),
    };
    let part = end.get(whole..).unwrap_or_default();
    if !is_line(&begins) || !(part.is_empty() || is_line(part)) {
        return Err(no_log());
    }
    let whole = from + whole as u64;
    if part.is_empty() {
        return Ok((file, whole));
    }
    if serde_json::from_slice::<serde_json::Value>(part).is_ok() {
        // All of it is there but its end.
        file.write_all(b"\n")?;
        return Ok((file, len + 1));
    }
    file.set_len(whole)?;
    Ok((file, whole))
}

/// Whether a line may begin so, or be cut off so soon.
fn is_line(bytes: &[u8]) -> bool {
    bytes.starts_with(LINE_BEGINS) || LINE_BEGINS.starts_with(bytes)
}

fn no_log() -> io::Error {
    let why = "it holds something else than a log of Weir, and was not touched: move it away, or give the log another name";
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn read(mut file: &File, from: u64, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from))?;
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
