//! What a reload would change in the rules.

use std::collections::BTreeMap;

use weir_model::Rule;

use super::Changes;

/// Rules are told by their names; where the order of those that stay differs, it is told once.
pub(super) fn diff(old: &[Rule], new: &[Rule], changes: &mut Changes) {
    let (befores, afters) = (by_name(old), by_name(new));
    for before in old {
        let change = match afters.get(before.name.as_str()) {
            None => "removed".to_owned(),
            Some(after) if *after != before => parts(before, after),
            Some(_) => continue,
        };
        changes.reloadable.push((format!("rule.{}", before.name), change));
    }
    for after in new.iter().filter(|after| !befores.contains_key(after.name.as_str())) {
        changes.reloadable.push((format!("rule.{}", after.name), "added".to_owned()));
    }
    let before = old.iter().map(|rule| &rule.name).filter(|name| afters.contains_key(name.as_str()));
    let after = new.iter().map(|rule| &rule.name).filter(|name| befores.contains_key(name.as_str()));
    if !before.eq(after) {
        changes.reloadable.push(("rule".to_owned(), "the order changed".to_owned()));
    }
}

fn by_name(rules: &[Rule]) -> BTreeMap<&str, &Rule> {
    rules.iter().map(|rule| (rule.name.as_str(), rule)).collect()
}

/// The keys that differ. Their values may hold data of users and are left out.
fn parts(before: &Rule, after: &Rule) -> String {
    let differ = [
        ("match", before.matches != after.matches),
        ("cache", before.cache != after.cache),
        ("rewrite", before.rewrite != after.rewrite),
        ("deny", before.deny != after.deny),
        ("limit", before.limit != after.limit),
        ("timeout", before.timeout != after.timeout),
        ("continue", before.continues != after.continues),
    ];
    let names: Vec<&str> = differ.iter().filter(|(_, differs)| *differs).map(|(name, _)| *name).collect();
    format!("{} changed", names.join(", "))
}

#[cfg(test)]
mod tests;
