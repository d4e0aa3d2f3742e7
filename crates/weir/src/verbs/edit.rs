//! `weir rules edit`

use super::client::{Refused, Unreached};
use super::rules::{changed, name_digest, path};
use super::show::colors;
use super::{Answer, Asked};
use crate::cli::{At, EditArgs, RuleFlags, text_of};
use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};
use similar::{ChangeTag, TextDiff};
use std::fmt;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::Command;
use weir_admin::{Code, RuleState, RuleTable, RuleText};

/// Before each line that is for the reader alone.
const NOTE: &str = "#: ";

/// Opens an editor where nothing else says what the rule becomes.
pub fn run(edit: EditArgs, at: &At) -> Result<()> {
    let asked = Asked::new(at)?;
    let table: RuleTable = asked.get("/rules")?.read()?;
    let Some(old) = table.rules.iter().find(|rule| rule.name == edit.rule) else {
        // Weir knows which rules match it, if it is a digest.
        let _: RuleState = asked.get(&path(&edit.rule))?.read()?;
        bail!("somebody else has changed the rules meanwhile: try again");
    };
    let held = Held { asked: &asked, version: &table.version, old };
    let EditArgs { file, yes, mut flags, .. } = edit;
    let renamed = flags.is_named();
    name_digest(&mut flags, &asked)?;
    let given = given(flags, renamed, old);
    let done = match (file, given) {
        (Some(file), _) => held.replaced_by(&text_of(&file)?)?,
        (None, Some(rule)) => held.becomes(rule)?,
        (None, None) => held.in_editor(yes)?,
    };
    match done {
        None => super::print("nothing was changed"),
        Some(done) => done.show(|done| changed("changed", done)),
    }
}

/// The rule with what the flags say, if they say anything; an empty value removes a key.
fn given(flags: RuleFlags, renamed: bool, old: &RuleState) -> Option<Value> {
    let mut new = flags.into_json();
    // A digest that is given by its id proposes a name; this rule has one.
    if !renamed {
        new["name"] = Value::Null;
    }
    let mut rule = old.rule.clone();
    let Value::Object(new) = new else { return None };
    let said = new.values().any(|value| value.as_object().map_or(!value.is_null(), |o| !o.is_empty()));
    said.then(|| {
        merge(rule.as_object_mut()?, new);
        Some(rule)
    })?
}

fn merge(old: &mut Map<String, Value>, new: Map<String, Value>) {
    for (key, value) in new {
        match (old.get_mut(&key), value) {
            (_, Value::Null) => {}
            (Some(Value::Object(old)), Value::Object(new)) => merge(old, new),
            (_, Value::String(text)) if text.is_empty() => drop(old.remove(&key)),
            (_, value) => drop(old.insert(key, value)),
        }
    }
}

/// A rule, and the version of the list in which it was seen.
struct Held<'a> {
    asked: &'a Asked,
    version: &'a str,
    old: &'a RuleState,
}

/// The change was sent, and no answer has come.
#[derive(Debug)]
struct Unsure;

impl fmt::Display for Unsure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("whether the rule was changed is not known, `weir rules show` tells")
    }
}

/// What was asked after a look at the difference.
enum Word {
    Yes,
    No,
    Again,
}

impl Held<'_> {
    fn put(&self, text: &RuleText) -> Result<Answer> {
        self.asked.put_for(self.version, &path(&self.old.name), text)
    }

    /// The keys and values are known.
    fn becomes(&self, rule: Value) -> Result<Option<Answer>> {
        if rule == self.old.rule {
            return Ok(None);
        }
        let read =
            weir_config::rule_from_json("the rule", &rule).map_err(|report| anyhow::anyhow!("{report}"))?;
        self.replaced_by(weir_config::rule_text(&read).trim_start())
    }

    fn replaced_by(&self, text: &str) -> Result<Option<Answer>> {
        if text.trim() == self.old.toml.trim() {
            return Ok(None);
        }
        self.show_difference(text)?;
        self.put(&RuleText { rule: None, toml: Some(text.to_owned()) }).map(Some)
    }

    fn in_editor(&self, yes: bool) -> Result<Option<Answer>> {
        let folder = tempfile::Builder::new().prefix("weir-rule-").tempdir()?;
        let file = folder.path().join("rule.toml");
        let error = match self.edited(&file, yes) {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        let mut ends = Vec::new();
        if !error.is::<Unsure>() {
            ends.push("nothing was changed".to_owned());
        }
        if self.is_written(&file) {
            // What stands there is not lost, whatever has failed.
            let _ = folder.keep();
            ends.push(format!("your text is in {}", file.display()));
        }
        bail!("{error:#}\n{}", ends.join("; "))
    }

    /// Whether there is something else in the file than the rule as it is. What is for the reader alone goes.
    fn is_written(&self, file: &Path) -> bool {
        let Ok(bytes) = std::fs::read(file) else { return false };
        let Ok(page) = String::from_utf8(bytes) else { return true };
        let text = without_notes(&page);
        let written = !text.trim().is_empty() && text.trim() != self.old.toml.trim();
        if written {
            // With the notes it is as good.
            let _ = std::fs::write(file, text);
        }
        written
    }

    fn edited(&self, file: &Path, yes: bool) -> Result<Option<Answer>> {
        let mut text = self.old.toml.clone();
        let mut wrong: Option<String> = None;
        loop {
            std::fs::write(file, self.page(&text, wrong.as_deref())).context("a file for the editor")?;
            open_editor(file)?;
            let new = std::fs::read_to_string(file).context("what the editor has written")?;
            let new = without_notes(&new);
            if new.trim().is_empty() || new.trim() == self.old.toml.trim() {
                return Ok(None);
            }
            // Who leaves what is wrong as it is has given up.
            if let Some(wrong) = wrong.filter(|_| new == text) {
                bail!(wrong);
            }
            text = new;
            match self.tried(&text, yes) {
                Ok(Some(done)) => return Ok(done),
                Ok(None) => wrong = None,
                Err(error) if is_about_the_text(&error) => wrong = Some(error.to_string()),
                Err(error) => return Err(error),
            }
        }
    }

    /// `None`: it is to be edited again.
    fn tried(&self, text: &str, yes: bool) -> Result<Option<Option<Answer>>> {
        if let Err(report) = weir_config::parse_rule("the rule", text) {
            return Err(Refused(weir_admin::ApiError::new(Code::BadRule, report.to_string())).into());
        }
        self.show_difference(text)?;
        let word = if yes || !std::io::stdin().is_terminal() { Word::Yes } else { asked_whether()? };
        Ok(match word {
            Word::Yes => {
                let done = self.put(&RuleText { rule: None, toml: Some(text.to_owned()) });
                Some(Some(done.map_err(|error| match is_certain(&error) {
                    true => error,
                    false => error.context(Unsure),
                })?))
            }
            Word::No => Some(None),
            Word::Again => None,
        })
    }

    /// What the editor shows.
    fn page(&self, text: &str, wrong: Option<&str>) -> String {
        let mut page = format!(
            "{NOTE}The rule {}. Save it changed to put it in force; empty it to leave all as it is.\n\
             {NOTE}Its comments in weir.toml stay there; those that you write here go there too.\n",
            self.old.name
        );
        if let Some(wrong) = wrong {
            page.push_str(&format!("{NOTE}\n{NOTE}This cannot be:\n"));
            wrong.lines().for_each(|line| page.push_str(&format!("{NOTE}{line}\n")));
        }
        page + text.trim_end() + "\n"
    }

    /// Beside the answer, so that who reads that as JSON is not disturbed.
    fn show_difference(&self, text: &str) -> Result<()> {
        let colors = colors() && std::io::stderr().is_terminal();
        let shown = difference(self.old.toml.trim(), text.trim(), colors);
        std::io::stderr().write_all(shown.as_bytes()).context("standard error")
    }
}

/// What the rule says, and not whether it may be changed now.
fn is_about_the_text(error: &anyhow::Error) -> bool {
    let about = [Code::BadRule, Code::BadRequest, Code::DuplicateRule];
    error.downcast_ref::<Refused>().is_some_and(|refused| about.contains(&refused.0.code))
}

/// Weir has refused the change, or was not asked for it.
fn is_certain(error: &anyhow::Error) -> bool {
    error.is::<Refused>() || error.is::<Unreached>()
}

/// Each line with `-`, `+` or a blank before it.
fn difference(old: &str, new: &str, colors: bool) -> String {
    let (old, new) = (format!("{old}\n"), format!("{new}\n"));
    let difference = TextDiff::from_lines(&old, &new);
    let lines = difference.iter_all_changes().map(|change| {
        let (sign, color) = match change.tag() {
            ChangeTag::Delete => ('-', "\x1b[31m"),
            ChangeTag::Insert => ('+', "\x1b[32m"),
            ChangeTag::Equal => (' ', ""),
        };
        let text = change.value().trim_end();
        match colors && !color.is_empty() {
            true => format!("{color}{sign}{text}\x1b[0m\n"),
            false => format!("{sign}{text}\n"),
        }
    });
    lines.collect()
}

/// As a shell would run it, for there may be options in it (`EDITOR="code --wait"`).
fn open_editor(file: &Path) -> Result<()> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let editor = set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    let status = Command::new("sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(file).status();
    let status = status.context("sh could not be started")?;
    if !status.success() {
        bail!("the editor `{editor}` ended with {status}: set EDITOR to one that is there, or use flags");
    }
    Ok(())
}

fn without_notes(page: &str) -> String {
    let kept = page.lines().filter(|line| !line.starts_with(NOTE.trim_end()));
    kept.map(|line| format!("{line}\n")).collect()
}

fn asked_whether() -> Result<Word> {
    loop {
        eprint!("put this in force? y(es), n(o), e(dit again): ");
        let mut line = String::new();
        if std::io::stdin().read_line(&mut line)? == 0 {
            bail!("nobody has said whether to put this in force");
        }
        match line.trim() {
            "y" | "yes" => return Ok(Word::Yes),
            "n" | "no" => return Ok(Word::No),
            "e" | "edit" => return Ok(Word::Again),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn flags_are_put_over_what_there_is() {
        let rule = json!({"name": "a", "match": {"table": "t"}, "cache": {"ttl": "1h", "soft_ttl": "1m"}});
        let with = |new: Value| {
            let mut rule = rule.clone();
            let Value::Object(new) = new else { panic!() };
            merge(rule.as_object_mut().unwrap(), new);
            rule
        };
        assert_eq!(
            with(json!({"match": {}, "cache": {"ttl": "2h"}}))["cache"],
            json!({"ttl": "2h", "soft_ttl": "1m"})
        );
        assert_eq!(with(json!({"cache": {"soft_ttl": ""}}))["cache"], json!({"ttl": "1h"}));
        assert_eq!(
            with(json!({"name": null, "match": {"user": "app"}}))["match"],
            json!({"table": "t", "user": "app"})
        );
        assert_eq!(with(json!({"name": null}))["name"], "a");
    }

    #[test]
    fn the_difference_is_shown_line_by_line() {
        let old = "[[rule]]\nname = \"a\"\ncache = { ttl = \"1h\" }";
        let new = old.replace("1h", "2h");
        assert_eq!(
            difference(old, &new, false),
            " [[rule]]\n name = \"a\"\n-cache = { ttl = \"1h\" }\n+cache = { ttl = \"2h\" }\n"
        );
        assert!(difference(old, &new, true).contains("\x1b[32m+cache"));
    }

    #[test]
    fn notes_are_not_part_of_the_rule() {
        assert_eq!(without_notes("#: one\n#:\n# mine\n[[rule]]\n"), "# mine\n[[rule]]\n");
    }
}
