//! Finds statements in what is installed on the machine: tests of the servers, programs that hold SQL in strings.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::differential::rng::Rng;

/// Where the distribution's packages put tests of the servers (`mariadb-test-data`, `mysql-testsuite`), WordPress,
/// sysbench and Python's libraries.
pub const PLACES: [&str; 6] = [
    "/usr/share/mysql/mysql-test",
    "/usr/lib/mysql-test",
    "/usr/share/mariadb/mariadb-test",
    "/usr/share/wordpress",
    "/usr/share/sysbench",
    "/usr/lib/python3/dist-packages",
];

/// Longer files hold generated data.
const LONGEST_FILE: u64 = 4 << 20;

/// Adds the statements of a file, or of all files below a folder.
///
/// # Errors
/// When the place is not there or cannot be read. Files in it that cannot be read are left out.
pub fn below(place: &Path, statements: &mut BTreeSet<Vec<u8>>) -> Result<()> {
    let about = fs::metadata(place).with_context(|| format!("{} is not there", place.display()))?;
    if !about.is_dir() {
        if about.len() <= LONGEST_FILE {
            file(place, statements);
        }
        return Ok(());
    }
    for entry in fs::read_dir(place).with_context(|| format!("cannot list {}", place.display()))? {
        let entry = entry?;
        // A link may lead back up.
        if !entry.file_type()?.is_symlink() {
            below(&entry.path(), statements)?;
        }
    }
    Ok(())
}

fn file(path: &Path, statements: &mut BTreeSet<Vec<u8>>) {
    let Some(extension) = path.extension().and_then(|extension| extension.to_str()) else { return };
    let Ok(text) = fs::read(path) else { return };
    match extension {
        "test" | "inc" | "sql" => script(&text, statements),
        "php" | "lua" | "py" | "rb" | "pl" => strings(&text, statements),
        _ => {}
    }
}

/// Statements that end with a delimiter at the end of a line, as the servers' test programs and clients read them.
pub fn script(text: &[u8], statements: &mut BTreeSet<Vec<u8>>) {
    let mut delimiter = b";".to_vec();
    let mut statement = Vec::new();
    for line in text.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii_end();
        if statement.is_empty() {
            if let Some(new) = new_delimiter(line, &delimiter) {
                delimiter = new;
                continue;
            }
            let begin = line.trim_ascii_start();
            if begin.is_empty() || begin.starts_with(b"#") || begin.starts_with(b"--") {
                continue;
            }
        }
        statement.extend_from_slice(line);
        if statement.ends_with(&delimiter) {
            statement.truncate(statement.len() - delimiter.len());
            add(&std::mem::take(&mut statement), statements);
        } else {
            statement.push(b'\n');
        }
    }
}

fn new_delimiter(line: &[u8], old: &[u8]) -> Option<Vec<u8>> {
    let line = line.trim_ascii_start();
    let line = line.strip_prefix(b"--").unwrap_or(line).trim_ascii_start();
    let (word, rest) = line.split_at_checked(b"delimiter ".len())?;
    if !word.eq_ignore_ascii_case(b"delimiter ") {
        return None;
    }
    // The line itself ends with the old delimiter.
    let new = rest.split(|byte| byte.is_ascii_whitespace()).find(|word| !word.is_empty())?;
    let without = new.strip_suffix(old).filter(|rest| !rest.is_empty());
    Some(without.unwrap_or(new).to_vec())
}

/// Quoted strings of a program that begin like a statement, with something in place of its variables.
pub fn strings(text: &[u8], statements: &mut BTreeSet<Vec<u8>>) {
    let mut at = 0;
    while let Some(begin) = text.get(at..).and_then(memchr_quote).map(|found| at + found) {
        let quote = text[begin];
        let mut end = begin + 1;
        while end < text.len() && text[end] != quote {
            end += if text[end] == b'\\' { 2 } else { 1 };
        }
        let inside = text.get(begin + 1..end.min(text.len())).unwrap_or_default();
        if begins_statement(inside) {
            add(&filled(inside), statements);
            at = end + 1;
        } else {
            at = begin + 1;
        }
    }
}

fn memchr_quote(text: &[u8]) -> Option<usize> {
    text.iter().position(|byte| matches!(byte, b'\'' | b'"'))
}

/// With names for `{$wpdb->posts}`, `$table` and `{0}`, and literals for `%d` and `%s`.
fn filled(string: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = string;
    while let Some((&first, behind)) = rest.split_first() {
        let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(**byte, b'_' | b'-' | b'>');
        let skipped = match (first, behind.first()) {
            (b'{', _) => behind.iter().position(|byte| *byte == b'}').map(|end| end + 2),
            (b'$', Some(byte)) if byte.is_ascii_alphabetic() => {
                Some(1 + behind.iter().take_while(is_name).count())
            }
            _ => None,
        };
        if let Some(skipped) = skipped {
            out.extend_from_slice(b"some_name");
            rest = rest.get(skipped..).unwrap_or_default();
            continue;
        }
        let (literal, taken): (&[u8], _) = match (first, behind.first()) {
            (b'%', Some(b'd' | b'i' | b'f')) => (b"1", 2),
            (b'%', Some(b's')) => (b"'text'", 2),
            (b'\\', Some(b'n' | b't')) => (b" ", 2),
            (b'\\', Some(b'\'' | b'"')) => (behind.get(..1).unwrap_or_default(), 2),
            _ => (rest.get(..1).unwrap_or_default(), 1),
        };
        out.extend_from_slice(literal);
        rest = rest.get(taken..).unwrap_or_default();
    }
    out
}

fn begins_statement(text: &[u8]) -> bool {
    const VERBS: [&str; 32] = [
        "alter", "analyze", "begin", "call", "check", "commit", "create", "delete", "desc", "describe", "do",
        "drop", "explain", "flush", "grant", "handler", "insert", "load", "lock", "optimize", "rename",
        "replace", "revoke", "rollback", "select", "set", "show", "start", "truncate", "update", "use",
        "with",
    ];
    let text = text.trim_ascii_start();
    let text = text.strip_prefix(b"(").unwrap_or(text);
    let word = text.split(|byte| !byte.is_ascii_alphabetic()).next().unwrap_or_default();
    VERBS.iter().any(|verb| word.eq_ignore_ascii_case(verb.as_bytes())) && text.len() > word.len()
}

/// Leaves out what is no statement, or holds variables of the test programs.
fn add(statement: &[u8], statements: &mut BTreeSet<Vec<u8>>) {
    let statement = statement.trim_ascii();
    let is_plain = !statement.contains(&0) && !statement.contains(&b'$');
    if begins_statement(statement) && is_plain && std::str::from_utf8(statement).is_ok() {
        statements.insert(statement.to_vec());
    }
}

/// So many of them, in their order: one of each stretch of the list, chosen by chance.
pub fn spread(statements: Vec<Vec<u8>>, most: usize, seed: u64) -> Vec<Vec<u8>> {
    let (all, mut rng) = (statements.len(), Rng::new(seed, 0));
    if most >= all {
        return statements;
    }
    let chosen: BTreeSet<usize> = (0..most)
        .map(|n| {
            let (begin, end) = (n * all / most, (n + 1) * all / most);
            begin + rng.below(end - begin)
        })
        .collect();
    statements.into_iter().enumerate().filter(|(at, _)| chosen.contains(at)).map(|(_, text)| text).collect()
}

#[cfg(test)]
mod tests;
