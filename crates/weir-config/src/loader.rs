//! The only module that reads files and the environment.

use std::io::{self, Read};
use std::path::Path;

use zeroize::Zeroizing;

use crate::parse::parse_admin;
use crate::{Address, Config, Report, parse};

/// A secret or a certificate chain beyond this is a mistake, such as a device given for a file.
const MAX_FILE: u64 = 1 << 20;

/// Reads the configuration in the file `path`, with the process's environment.
pub fn load(path: impl AsRef<Path>) -> Result<Config, Report> {
    let path = path.as_ref();
    load_text(path, &load_file(path)?)
}

/// Reads the configuration `text` as if it stood in the file `path`, with the process's environment.
pub fn load_text(path: impl AsRef<Path>, text: &str) -> Result<Config, Report> {
    let name = path.as_ref().display().to_string();
    parse(&name, text, &|variable| std::env::var(variable).ok(), &|path| read(path))
}

/// Where the Weir with the configuration in the file `path` answers administrators; `None` if it does not. Nothing else
/// is read or checked, so who asks need not be able to read the secrets that the file names.
pub fn load_admin(path: impl AsRef<Path>) -> Result<Option<Address>, Report> {
    let path = path.as_ref();
    parse_admin(&path.display().to_string(), &load_file(path)?)
}

/// The text of a configuration file, which may hold secrets.
pub fn load_file(path: impl AsRef<Path>) -> Result<Zeroizing<String>, Report> {
    let path = path.as_ref();
    read(path).map(Zeroizing::new).map_err(|error| {
        let message = format!("cannot read the file: {error}");
        let hint = match error.kind() {
            io::ErrorKind::InvalidData => {
                "TOML is UTF-8: write the file in that, or name the one that is meant"
            }
            io::ErrorKind::IsADirectory => "this is a folder: name the file in it, such as weir.toml",
            io::ErrorKind::PermissionDenied => "let the user that Weir runs as read it",
            io::ErrorKind::FileTooLarge => "Weir reads 1 MiB at most: name the file that is meant",
            _ => "give its path with -c FILE, or in the variable WEIR_CONFIG",
        };
        Report::about(&path.display().to_string(), message, hint)
    })
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
