//! A terminal that a test looks at: tmux, with a server of its own.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use weir_testkit::weir::ADMIN_TOKEN;

use crate::kit::PATIENCE;

/// A program on a terminal of so many columns and lines. It ends with this.
pub struct Screen {
    folder: tempfile::TempDir,
}

impl Screen {
    /// Runs the command line with these arguments and the token of the test kit.
    pub fn weir(columns: u16, lines: u16, args: &[&str]) -> Self {
        let weir = env!("CARGO_BIN_EXE_weir");
        let quoted: Vec<String> = [weir].iter().chain(args).map(|arg| format!("'{arg}'")).collect();
        Self::run(columns, lines, &format!("WEIR_TOKEN={ADMIN_TOKEN} {}", quoted.join(" ")))
    }

    pub fn run(columns: u16, lines: u16, command: &str) -> Self {
        let screen = Self { folder: tempfile::Builder::new().prefix("weir-tmux-").tempdir().unwrap() };
        // What it says at its end stays to be read.
        let script = format!("{command}; echo \"ended with $?\"; exec cat");
        let (columns, lines) = (columns.to_string(), lines.to_string());
        screen.tmux(&["new-session", "-d", "-s", "weir", "-x", &columns, "-y", &lines, "sh", "-c", &script]);
        screen
    }

    fn tmux(&self, args: &[&str]) -> Output {
        let output = Command::new("tmux")
            .args(["-f", "/dev/null", "-S"])
            .arg(self.folder.path().join("socket"))
            .args(args)
            .env("LC_ALL", "C.UTF-8")
            .env_remove("TMUX")
            .output()
            .expect("tmux is missing: scripts/deps.sh installs it");
        assert!(output.status.success(), "{args:?}: {output:?}");
        output
    }

    /// What stands there now.
    pub fn text(&self) -> String {
        String::from_utf8(self.tmux(&["capture-pane", "-p", "-t", "weir"]).stdout).unwrap()
    }

    /// The same with its colours, as escape sequences.
    pub fn colored(&self) -> String {
        String::from_utf8(self.tmux(&["capture-pane", "-e", "-p", "-t", "weir"]).stdout).unwrap()
    }

    /// Presses keys, by tmux' names for them.
    pub fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys", "-t", "weir"], keys].concat());
    }

    /// Makes it larger or smaller.
    pub fn resize(&self, columns: u16, lines: u16) {
        let (columns, lines) = (columns.to_string(), lines.to_string());
        self.tmux(&["resize-window", "-t", "weir", "-x", &columns, "-y", &lines]);
    }

    /// Waits until `done` says so of the screen, and returns that.
    #[track_caller]
    pub fn until(&self, what: &str, done: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let text = self.text();
            if done(&text) {
                return text;
            }
            assert!(start.elapsed() < PATIENCE, "{what}: not after {PATIENCE:?}:\n{text}");
            // A terminal tells nobody that it has changed.
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until this stands there.
    #[track_caller]
    pub fn shows(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // It is gone already if its program could not be started.
        let socket = self.folder.path().join("socket");
        let _ = Command::new("tmux").arg("-S").arg(socket).arg("kill-server").output();
    }
}
