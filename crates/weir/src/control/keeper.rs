//! The configuration in force and the file that keeps it. A reload and a change through the API take turns here.

use super::effect::Effects;
use parking_lot::{Mutex, MutexGuard};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::time::{Duration, Instant};
use weir_admin::{ApiError, Code, LastReload};
use weir_config::rule_text;
use weir_control::{HeldFile, PATIENCE, Reloader, SaveError};
use weir_model::Rule;
use weir_policy::{RuleError, RuleList, RuleSet};
use weir_proxy::Shared;

/// Who holds the configuration. Held for as long as a file takes to be read and written.
pub struct Keeper {
    /// `None`: Weir was started without a file.
    reloader: Mutex<Option<Reloader>>,
    /// Held by who changes the file. Somebody else may keep it locked for seconds, which no reload waits for.
    writing: Mutex<()>,
    last_reload: Mutex<Option<LastReload>>,
    /// What the statements of rules had cost when these were made.
    pub effects: Effects,
}

/// What became of the file when the rules were changed.
pub struct Kept {
    /// `None`: there is none.
    pub file: Option<String>,
    /// Why the change might not outlast a crash of the machine.
    pub unsure: Option<String>,
}

impl Keeper {
    pub fn new(reloader: Option<Reloader>) -> Self {
        Self {
            reloader: Mutex::new(reloader),
            writing: Mutex::default(),
            last_reload: Mutex::default(),
            effects: Effects::default(),
        }
    }

    /// Nobody else reads or changes the configuration as long as this is held.
    pub fn lock(&self) -> MutexGuard<'_, Option<Reloader>> {
        self.reloader.lock()
    }

    /// Whether the file is as the API has left it, so that there is nothing to read again.
    pub fn is_own_change(&self) -> bool {
        self.reloader.lock().as_ref().is_some_and(Reloader::is_own_change)
    }

    /// A reload has come to this.
    pub fn reloaded(&self, reload: LastReload) {
        *self.last_reload.lock() = Some(reload);
    }

    pub fn last_reload(&self) -> Option<LastReload> {
        self.last_reload.lock().clone()
    }

    /// The path of the file.
    pub fn file(&self) -> Option<String> {
        self.reloader.lock().as_ref().map(shown)
    }

    /// Changes the list of rules: checks the new one as a whole, writes it to the file, then puts it in force. `sent` is the text in
    /// which a rule came, whose comments go into the file. Returns what
    /// `change` returned, and what became of the file.
    pub fn change<T>(
        &self,
        shared: &Shared,
        held: Option<&str>,
        sent: Option<&str>,
        change: impl FnOnce(&mut RuleList) -> Result<T, ApiError>,
    ) -> Result<(T, Kept), ApiError> {
        let path = self.reloader.lock().as_ref().map(|reloader| reloader.path().to_owned());
        let (_writing, file) = self.turn(path.as_deref(), PATIENCE).map_err(not_saved)?;
        let mut reloader = self.reloader.lock();
        if let Some(held) = held
            && held != version(&shared.rules())
        {
            let message = "somebody else has changed the rules meanwhile: look at them, then try again";
            return Err(ApiError::new(Code::RulesChanged, message));
        }
        let mut list = RuleList::new(shared.rules().to_vec()).map_err(super::rules::refused)?;
        let told = change(&mut list)?;
        let rules = list.into_rules();
        RuleSet::compile(&rules, 0, super::mode(shared)).map_err(|errors| bad(&errors))?;
        let kept = match reloader.as_mut().zip(file) {
            None => Kept { file: None, unsure: None },
            Some((reloader, file)) => {
                let plan = reloader.plan_rules(file, &rules, sent).map_err(not_saved)?;
                let saved = reloader.save_rules(plan).map_err(not_saved)?;
                Kept { file: Some(shown(reloader)), unsure: saved.unsure.map(|unsure| unsure.to_string()) }
            }
        };
        shared.set_rules(rules).map_err(|errors| bad(&errors))?;
        drop((reloader, _writing));
        self.effects.note(shared, true);
        Ok((told, kept))
    }
}

impl Keeper {
    /// Waits for its turn among those who change the file here, and then for others who do: for both together not longer than this, so
    /// that whoever is told that the change was not made in time is right.
    fn turn(
        &self,
        path: Option<&Path>,
        patience: Duration,
    ) -> Result<(MutexGuard<'_, ()>, Option<HeldFile>), SaveError> {
        // Without a file nobody waits for another process.
        let Some(path) = path else { return Ok((self.writing.lock(), None)) };
        let end = Instant::now() + patience;
        let writing = self.writing.try_lock_until(end).ok_or_else(|| SaveError::locked(path))?;
        let file = HeldFile::take_within(path, end.saturating_duration_since(Instant::now()))?;
        Ok((writing, Some(file)))
    }
}

/// A word for these rules and no others, as long as this binary runs.
pub(super) fn version(rules: &[Rule]) -> String {
    let mut hasher = DefaultHasher::new();
    for rule in rules {
        rule_text(rule).hash(&mut hasher);
    }
    format!("{:016x}", hasher.finish())
}

fn shown(reloader: &Reloader) -> String {
    reloader.path().display().to_string()
}

fn bad(errors: &[RuleError]) -> ApiError {
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    ApiError::new(Code::BadRule, texts.join("\n"))
}

fn not_saved(error: SaveError) -> ApiError {
    let code = match &error {
        SaveError::Changed(_) => Code::FileChanged,
        SaveError::Bad(_) => Code::BadRule,
        SaveError::Locked { .. } | SaveError::ReadOnly { .. } | SaveError::NotWritten { .. } => {
            Code::FileNotWritten
        }
    };
    ApiError::new(code, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// Whoever waits behind others who wait for the file is told in time that the change was not made.
    #[test]
    fn the_wait_for_a_turn_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("weir.toml");
        std::fs::write(&path, "").unwrap();
        let keeper = Keeper::new(None);
        let patience = Duration::from_millis(20);
        let first = keeper.turn(Some(&path), patience).unwrap();
        std::thread::scope(|scope| {
            let (told, heard) = mpsc::channel();
            let (keeper, path) = (&keeper, &path);
            scope.spawn(move || told.send(keeper.turn(Some(path), patience).map(drop)));
            let refused = heard.recv_timeout(Duration::from_secs(60));
            drop(first);
            assert!(matches!(refused, Ok(Err(SaveError::Locked { .. }))), "{refused:?}");
        });
        assert!(keeper.turn(Some(&path), patience).is_ok(), "it is free again");
    }
}
