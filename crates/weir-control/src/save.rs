//! Writing changed rules back into the configuration file.

use crate::Reloader;
use std::io;
use std::path::{Path, PathBuf};
use weir_config::{Config, Report, load_file, load_text, with_rules};
use weir_model::Rule;
use zeroize::Zeroizing;

pub use held::{HeldFile, PATIENCE};

/// How often a change is tried where an editor saves in between. 5: nobody saves several times in a few milliseconds.
const TRIES: u32 = 5;

/// Other rules for the file: checked, and not yet written.
#[derive(Debug)]
pub struct RulesPlan {
    file: HeldFile,
    text: Zeroizing<String>,
    config: Config,
}

/// Why the file was not changed.
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
        "{} cannot be written now: another program holds the lock of {}; nothing was changed. Try again, or see with \
         `lslocks` who it is", .path.display(), .folder.display()
    )]
    Locked { path: PathBuf, folder: PathBuf },
    #[error(
        "{} is read-only: {error}; nothing was changed. Let the user that Weir runs as write to the file, or edit it and reload",
        .path.display()
    )]
    ReadOnly { path: PathBuf, error: io::Error },
    #[error(
        "{} cannot be written: {error}; nothing was changed. Let the user that Weir runs as write to the file's folder, \
         or edit the file and reload", .path.display()
    )]
    NotWritten { path: PathBuf, error: io::Error },
}

impl SaveError {
    /// Somebody else changes this file for too long.
    pub fn locked(path: &Path) -> Self {
        let folder = path.parent().unwrap_or(path).to_owned();
        Self::Locked { path: path.to_owned(), folder }
    }
}

/// The file has the new text.
#[derive(Debug)]
pub struct Saved {
    /// What is to be told where the change might not outlast the machine.
    pub unsure: Option<NotSynced>,
}

/// The file was replaced, and the disk has not confirmed it.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} was changed, but its folder could not be written to disk ({error}): after a crash of the machine the old text may stand there", .path.display()
)]
pub struct NotSynced {
    path: PathBuf,
    error: io::Error,
}

impl Reloader {
    /// Puts other rules into the text of the file, which is this Reloader's, and checks all of it. Nothing has changed yet. `sent` is the
    /// text of one of the rules, where there may be comments in it.
    ///
    /// # Errors
    /// When the file is not what is in force as far as rules are concerned, or would be bad with the new ones.
    pub fn plan_rules(
        &self,
        file: HeldFile,
        rules: &[Rule],
        sent: Option<&str>,
    ) -> Result<RulesPlan, SaveError> {
        let changed = |_| SaveError::Changed(self.path.clone());
        let there =
            load_text(&self.path, file.text()).map_err(|report| SaveError::Bad(report.to_string()))?;
        if there.rules != self.current.rules {
            return Err(SaveError::Changed(self.path.clone()));
        }
        let name = self.path.display().to_string();
        let text = with_rules(&name, file.text(), &there.rules, rules, sent).map_err(changed)?;
        let text = Zeroizing::new(text);
        let new = load_text(&self.path, &text).map_err(|report| SaveError::Bad(report.to_string()))?;
        if new.rules != rules {
            return Err(SaveError::Bad("the rules would be read back otherwise than they are".to_owned()));
        }
        // What else has changed in the file waits for a reload.
        Ok(RulesPlan { file, text, config: Config { rules: new.rules, ..self.current.clone() } })
    }

    /// Writes what was planned. The file is replaced as a whole: whoever reads it meanwhile finds the old text or the new
    /// one.
    ///
    /// # Errors
    /// When it cannot be written, or not with the owner that it has, or somebody has changed it meanwhile. Then it is as it was.
    pub fn save_rules(&mut self, plan: RulesPlan) -> Result<Saved, SaveError> {
        let saved = plan.file.replace(plan.text.as_bytes())?;
        self.current = plan.config;
        self.written = Some(plan.text);
        Ok(saved)
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
    edit: impl Fn(&str, &str) -> Result<(Option<String>, T), Report>,
) -> Result<(T, Saved), SaveError> {
    let mut tries = 0;
    loop {
        let file = HeldFile::take(path)?;
        let edited = edit(&path.display().to_string(), file.text());
        let (new, told) = edited.map_err(|report| SaveError::Bad(report.to_string()))?;
        let Some(new) = new.map(Zeroizing::new) else { return Ok((told, Saved { unsure: None })) };
        tries += 1;
        match file.replace(new.as_bytes()) {
            // An editor was faster: the same is done to what it has saved.
            Err(SaveError::Changed(_)) if tries < TRIES => {}
            done => return done.map(|saved| (told, saved)),
        }
    }
}

mod held;
#[cfg(test)]
mod tests;
