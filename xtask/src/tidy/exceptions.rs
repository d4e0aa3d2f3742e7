use std::cell::Cell;
use std::path::Path;

use anyhow::{Context, bail};

use super::Finding;

const FILE: &str = "xtask/tidy-exceptions.txt";

/// The breaches that are meant. Each line of the file is `rule | place | reason`; a place is a path, or
/// `path::function` for a function that is too long.
pub struct Exceptions(Vec<Exception>);

struct Exception {
    line: usize,
    rule: String,
    place: String,
    used: Cell<bool>,
}

impl Exceptions {
    pub fn read(root: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(root.join(FILE)).with_context(|| format!("cannot read {FILE}"))?;
        Self::parse(&text)
    }

    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let mut list = Vec::new();
        for (i, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let mut parts = line.splitn(3, '|').map(str::trim);
            let (Some(rule), Some(place), Some(reason)) = (parts.next(), parts.next(), parts.next()) else {
                bail!("{FILE}:{}: expected `rule | place | reason`", i + 1);
            };
            if reason.len() < 20 {
                bail!(
                    "{FILE}:{}: the reason must convince a reader; this one has {} letters",
                    i + 1,
                    reason.len()
                );
            }
            let used = Cell::new(false);
            list.push(Exception { line: i + 1, rule: rule.to_owned(), place: place.to_owned(), used });
        }
        Ok(Self(list))
    }

    /// Whether a breach of `rule` at `place` is meant.
    pub fn allow(&self, rule: &str, place: &str) -> bool {
        let mut found = false;
        for exception in self.0.iter().filter(|e| e.rule == rule && e.place == place) {
            exception.used.set(true);
            found = true;
        }
        found
    }

    pub fn unused(&self) -> Vec<Finding> {
        let unused = self.0.iter().filter(|e| !e.used.get());
        unused
            .map(|e| {
                let what = format!("the exception `{} | {}` is not needed", e.rule, e.place);
                Finding::new(FILE, e.line, what, "remove it, so that the next breach there is seen")
            })
            .collect()
    }
}
