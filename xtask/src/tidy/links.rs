use std::collections::{HashMap, HashSet};

use super::Finding;
use super::tree::Tree;

const WHY: &str = "a reader who follows it ends nowhere";

/// Every relative link of a Markdown file leads to a file, and to a heading where it names one; the
/// changelog is there.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let texts: HashMap<&str, &str> = tree.files.iter().map(|f| (f.path.as_str(), f.text.as_str())).collect();
    let mut findings = Vec::new();
    if !texts.contains_key("CHANGELOG.md") {
        let why = "operators read there what an upgrade changes";
        findings.push(Finding::new("CHANGELOG.md", 0, "the file is missing", why));
    }
    for (path, text) in texts.iter().filter(|(path, _)| path.ends_with(".md")) {
        for (line, target) in links(text) {
            if let Some(what) = broken(&texts, path, &target) {
                findings.push(Finding::new(path, line, what, WHY));
            }
        }
    }
    findings
}

/// What is wrong with a link in `from`; nothing if it leads somewhere, or out of the project.
fn broken(texts: &HashMap<&str, &str>, from: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() { Some(from.to_owned()) } else { resolve(from, file) };
    let Some(path) = path else { return Some(format!("the link `{target}` leaves the project")) };
    let Some(text) = texts.get(path.as_str()) else {
        // Folders and files that are not read as text have no headings to look at.
        let there = crate::root().is_ok_and(|root| root.join(&path).exists());
        return (!there).then(|| format!("the link `{target}` leads to {path}, which is not there"));
    };
    let missing = !heading.is_empty() && path.ends_with(".md") && !headings(text).contains(heading);
    missing.then(|| format!("the link `{target}` names a heading that {path} does not have"))
}

/// The path that a link means, from the top folder; nothing if it climbs out of it.
fn resolve(from: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = if link.starts_with('/') { Vec::new() } else { from.split('/').collect() };
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// Line and target of each inline link outside code.
pub fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        // Every second piece between backquotes is code.
        for piece in line.split('`').step_by(2) {
            for (at, _) in piece.match_indices("](") {
                let target = piece[at + 2..].split([')', ' ']).next().unwrap_or_default();
                found.push((number, target.trim_matches(['<', '>']).to_owned()));
            }
        }
    }
    found
}

/// The anchors that headings give, as GitHub makes them.
pub fn headings(text: &str) -> HashSet<String> {
    let mut anchors = HashSet::new();
    let mut times: HashMap<String, usize> = HashMap::new();
    for (_, line) in prose(text).filter(|(_, l)| l.starts_with('#')) {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let n = times.entry(anchor.clone()).or_default();
        anchors.insert(if *n == 0 { anchor } else { format!("{anchor}-{n}") });
        *n += 1;
    }
    anchors
}

/// The numbered lines outside fenced code.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(i, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((i + 1, line))
    })
}
