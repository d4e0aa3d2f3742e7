//! Writing changed rules back into the configuration file.

use crate::Reloader;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use weir_config::{Config, Report, load_file, load_text, with_rules};
use weir_model::Rule;
use zeroize::Zeroizing;

/// Other rules for the file: checked, and not yet written.
#[derive(Debug)]
pub struct RulesPlan {
    text: Zeroizing<String>,
    config: Config,
}

/// Why the rules of the file were not changed.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    #[error(
        "{} is not what Weir has read: reload it, or take the change back, then try again", .0.display()
    )]
    Changed(PathBuf),
    /// The report shows no secret.
    #[error("{0}")]
    Bad(String),
    #[error(
        "{} cannot be written: {source}; nothing was changed. Let the user that Weir runs as write to the file's folder, \
         or edit the file and reload", .path.display()
    )]
    NotWritten { path: PathBuf, source: io::Error },
}

impl Reloader {
    /// Puts other rules into the text of the file and checks all of it. Nothing has changed yet.
    ///
    /// # Errors
    /// When the file is not what is in force as far as rules are concerned, or would be bad with the new ones.
    pub fn plan_rules(&self, rules: &[Rule]) -> Result<RulesPlan, SaveError> {
        let changed = |_| SaveError::Changed(self.path.clone());
        let text = load_file(&self.path).map_err(|report| SaveError::Bad(report.to_string()))?;
        let there = load_text(&self.path, &text).map_err(|report| SaveError::Bad(report.to_string()))?;
        if there.rules != self.current.rules {
            return Err(SaveError::Changed(self.path.clone()));
        }
        let name = self.path.display().to_string();
        let text = Zeroizing::new(with_rules(&name, &text, &there.rules, rules).map_err(changed)?);
        let new = load_text(&self.path, &text).map_err(|report| SaveError::Bad(report.to_string()))?;
        if new.rules != rules {
            return Err(SaveError::Bad("the rules would be read back otherwise than they are".to_owned()));
        }
        // What else has changed in the file waits for a reload.
        Ok(RulesPlan { text, config: Config { rules: new.rules, ..self.current.clone() } })
    }

    /// Writes what was planned. The file is replaced as a whole: whoever reads it meanwhile finds the old text or the new
    /// one.
    ///
    /// # Errors
    /// When it cannot be written, or not with the owner that it has. Then it is as it was.
    pub fn save_rules(&mut self, plan: RulesPlan) -> Result<(), SaveError> {
        let failed = |source| SaveError::NotWritten { path: self.path.clone(), source };
        replace(&self.path, plan.text.as_bytes()).map_err(failed)?;
        self.current = plan.config;
        self.written = Some(plan.text);
        Ok(())
    }

    /// Whether the file is as [`Self::save_rules`] has left it, so that there is nothing to read again.
    pub fn is_own_change(&self) -> bool {
        let there = load_file(&self.path).ok();
        there.is_some() && there == self.written
    }
}

/// Puts another text, made of the one that is there, into a configuration file. For what is changed without a running Weir, which
/// reads it as it would any other edit.
///
/// # Errors
/// When the file cannot be read or written, or `edit` refuses. Nothing has changed then.
pub fn edit_file<T>(
    path: &Path,
    edit: impl FnOnce(&str, &str) -> Result<(Option<String>, T), Report>,
) -> Result<T, SaveError> {
    let bad = |report: Report| SaveError::Bad(report.to_string());
    let old = load_file(path).map_err(bad)?;
    let (new, told) = edit(&path.display().to_string(), &old).map_err(bad)?;
    if let Some(new) = new.map(Zeroizing::new) {
        let failed = |source| SaveError::NotWritten { path: path.to_owned(), source };
        replace(path, new.as_bytes()).map_err(failed)?;
    }
    Ok(told)
}

/// Puts a file of another text, but of the same owner and mode, in the place of one.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    // A link stays a link.
    let path = fs::canonicalize(path)?;
    let old = fs::metadata(&path)?;
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let temporary = folder.join(format!(".{}.new", name.to_string_lossy()));
    // A crash may have left one.
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let written = write_as(&temporary, &old, text).and_then(|()| fs::rename(&temporary, &path));
    if written.is_err() {
        // What can be done was done; the next change tries again.
        let _ = fs::remove_file(&temporary);
    }
    written?;
    File::open(folder)?.sync_all()
}

/// Makes a file; while it has not the owner and the mode of `old`, nobody else may read it.
fn write_as(path: &Path, old: &fs::Metadata, text: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let made = file.metadata()?;
    if (made.uid(), made.gid()) != (old.uid(), old.gid()) {
        fchown(&file, Some(old.uid()), Some(old.gid()))?;
    }
    file.set_permissions(old.permissions())?;
    file.write_all(text)?;
    file.sync_all()
}

#[cfg(test)]
mod tests;
