//! The only module that reads files and the environment.

use std::io::{self, Read};
use std::path::Path;

use zeroize::Zeroizing;

use crate::{Config, Report, parse};

/// A secret or a certificate chain beyond this is a mistake, such as a device given for a file.
const MAX_FILE: u64 = 1 << 20;

/// Reads the configuration in the file `path`, with the process's environment.
pub fn load(path: impl AsRef<Path>) -> Result<Config, Report> {
    let path = path.as_ref();
    let name = path.display().to_string();
    match read(path) {
        Ok(text) => {
            let text = Zeroizing::new(text);
            parse(&name, &text, &|variable| std::env::var(variable).ok(), &|path| read(path))
        }
        Err(error) => {
            Err(Report::about(&name, format!("cannot read the file: {error}"), "give its path with -c FILE"))
        }
    }
}

fn read(path: &Path) -> io::Result<String> {
    let file = std::fs::File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let mut text = Zeroizing::new(String::new());
    file.take(MAX_FILE + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "more than 1 MiB"));
    }
    Ok(std::mem::take(&mut *text))
}
