//! `cargo xtask tidy`: what the compiler does not check. One file for each rule; a finding names the place,
//! what is wrong there and why it matters. `tidy-exceptions.txt` lists what is wrong on purpose.

mod exceptions;
mod floors;
mod links;
mod sizes;
mod tree;
mod wall;
mod words;

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use exceptions::Exceptions;
use tree::Tree;

/// One breach of a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    /// Relative to the top folder.
    file: String,
    /// From 1; 0 when the whole file is meant.
    line: usize,
    what: String,
    why: &'static str,
}

impl Finding {
    fn new(file: &str, line: usize, what: impl Into<String>, why: &'static str) -> Self {
        Self { file: file.to_owned(), line, what: what.into(), why }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; {}", self.file, self.line.max(1), self.what, self.why)
    }
}

/// Prints every finding; fails if there is one.
pub fn run() -> anyhow::Result<ExitCode> {
    let findings = check(&crate::root()?)?;
    for finding in &findings {
        println!("{finding}");
    }
    if findings.is_empty() {
        println!("tidy: nothing to report");
        return Ok(ExitCode::SUCCESS);
    }
    println!("tidy: {} finding(s)", findings.len());
    Ok(ExitCode::FAILURE)
}

fn check(root: &Path) -> anyhow::Result<Vec<Finding>> {
    let tree = Tree::read(root)?;
    let exceptions = Exceptions::read(root)?;
    let mut findings = floors::check(root)?;
    findings.extend(tree.unparsed());
    findings.extend(wall::check(&tree, &exceptions));
    findings.extend(sizes::check(&tree, &exceptions));
    findings.extend(words::check(&tree, &exceptions));
    findings.extend(links::check(&tree));
    // Last: by now every exception that is needed has been asked for.
    findings.extend(exceptions.unused());
    findings.sort();
    Ok(findings)
}

#[cfg(test)]
mod tests;
