//! Noticing that the configuration file has changed.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use tokio::time::{MissedTickBehavior, interval};

/// How often the file is looked at. 1 s: a look is one stat, and editors that replace the file, configuration
/// management and mounted secrets (symbolic links that are exchanged) all come through it.
const LOOK: Duration = Duration::from_secs(1);

/// Looks at a file now and then.
#[derive(Debug)]
pub struct FileWatch {
    path: PathBuf,
    seen: Option<(SystemTime, u64)>,
}

impl FileWatch {
    pub fn new(path: PathBuf) -> Self {
        let seen = stamp(&path);
        Self { path, seen }
    }

    /// Completes when the file has changed and was left alone for one look since.
    pub async fn changed(&mut self) {
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut pending = None;
        loop {
            looks.tick().await;
            let now = stamp(&self.path);
            if now.is_none() || now == self.seen {
                pending = None;
            } else if pending == now {
                self.seen = now;
                return;
            } else {
                pending = now;
            }
        }
    }
}

fn stamp(path: &PathBuf) -> Option<(SystemTime, u64)> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.modified().ok()?, found.len()))
}
