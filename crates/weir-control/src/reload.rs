//! Reading the configuration again.

use std::path::{Path, PathBuf};
use weir_config::{Changes, Config, diff, load};

/// What a reload came to.
#[derive(Debug)]
pub enum Outcome {
    /// To be applied. Also where nothing has changed in the file: certificates may have.
    Apply { config: Box<Config>, changes: Changes },
    /// The old configuration stays; the text says why.
    Refused(String),
}

/// The file that Weir was started with.
#[derive(Debug)]
pub struct Reloader {
    pub(crate) path: PathBuf,
    pub(crate) current: Config,
    /// The text that was last written into the file.
    pub(crate) written: Option<zeroize::Zeroizing<String>>,
}

impl Reloader {
    pub fn new(path: PathBuf, current: Config) -> Self {
        Self { path, current, written: None }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads and checks the file. Nothing has changed yet: the caller applies what is returned, and says so with
    /// [`Self::applied`].
    pub fn read(&self) -> Outcome {
        let config = match load(&self.path) {
            Ok(config) => config,
            Err(report) => return Outcome::Refused(report.render(false)),
        };
        let changes = diff(&self.current, &config);
        if changes.refused.is_empty() {
            return Outcome::Apply { config: Box::new(config), changes };
        }
        let refused: Vec<_> = changes.refused.iter().map(|(key, why)| format!("{key}: {why}")).collect();
        Outcome::Refused(refused.join("; "))
    }

    /// `config` is in force now.
    pub fn applied(&mut self, config: Config) {
        self.current = config;
        self.written = None;
    }
}
