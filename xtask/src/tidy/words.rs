use super::Finding;
use super::exceptions::Exceptions;
use super::tree::Tree;

/// Words of unfinished work. Written in two parts, so that this file does not find itself.
const WORDS: &[&str] = &[
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("for", " now"),
    concat!("place", "holder"),
];

const WHY: &str = "finish it, or write down the limit as a fact (a `?` of a statement is a parameter marker)";

pub fn check(tree: &Tree, exceptions: &Exceptions) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for (i, line) in file.text.lines().enumerate() {
            let Some(word) = WORDS.iter().find(|w| has_word(line, w)) else { continue };
            if !exceptions.allow("word", &file.path) {
                findings.push(Finding::new(&file.path, i + 1, format!("`{word}` (word)"), WHY));
            }
        }
    }
    findings
}

/// Whether `word` stands in `line` by itself. A word in capitals is meant as such; others match in any case.
pub fn has_word(line: &str, word: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    let line = if word.chars().any(|c| c.is_ascii_uppercase()) { line } else { lower.as_str() };
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let open = word.ends_with('(');
        !before.is_some_and(is_letter) && (open || !after.is_some_and(is_letter))
    })
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
