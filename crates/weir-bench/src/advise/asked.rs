//! What Weir is asked and told: by its API, and where an operator would type the proposed command, by that.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use weir_testkit::Weir;
use weir_testkit::weir::ADMIN_TOKEN;

use super::report::Compared;
use crate::experiments::scrape;

/// What the advisor tells of a statement.
#[derive(Clone, Debug, Deserialize)]
pub struct Advised {
    pub id: String,
    pub digest: String,
    pub calls: u64,
    pub keys: u64,
    pub one_of: u64,
    pub best: Option<Predicted>,
    pub command: Option<String>,
    pub ladder: Vec<Predicted>,
}

/// What it tells of a rule with one TTL.
#[derive(Clone, Debug, Deserialize)]
pub struct Predicted {
    pub ttl: String,
    pub hits: f64,
    pub stale_ratio: f64,
}

/// The word under which a rule counts what it did not look for, as its like are seldom asked again.
const PASSED: &str = "seldom_asked_again";

/// What a rule did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Did {
    pub hits: u64,
    pub misses: u64,
    /// Who came while another's answer was under way, and got it too.
    pub waits: u64,
    /// What was not looked for, as its like are seldom asked again.
    pub passed: u64,
}

/// What the advisor tells, of so many statements at most, where so many percent of hits may be out of date.
pub fn advice(admin: SocketAddr, limit: usize, stale: u32) -> Result<Vec<Advised>> {
    #[derive(Deserialize)]
    struct Whole {
        statements: Vec<Advised>,
    }
    let text = body(admin, &format!("/api/v1/advise/cache?limit={limit}&stale={stale}&all=true"))?;
    let whole: Whole = serde_json::from_str(&text).context("the advice is not understood")?;
    Ok(whole.statements)
}

impl Did {
    /// What it did after `before`.
    pub fn since(self, before: Self) -> Self {
        Self {
            hits: self.hits - before.hits,
            misses: self.misses - before.misses,
            waits: self.waits - before.waits,
            passed: self.passed - before.passed,
        }
    }
}

/// What a rule of this name has done since Weir has started.
pub fn did(admin: SocketAddr, rule: &str) -> Result<Did> {
    #[derive(Deserialize)]
    struct Told {
        hits: u64,
        misses: u64,
        waits: u64,
        refused: BTreeMap<String, u64>,
    }
    #[derive(Deserialize)]
    struct Whole {
        cache: Option<Told>,
    }
    let text = body(admin, &format!("/api/v1/rules/{rule}"))?;
    let whole: Whole = serde_json::from_str(&text).context("the rule's figures are not understood")?;
    let told = whole.cache.with_context(|| format!("the rule {rule} caches nothing"))?;
    let passed = told.refused.get(PASSED).copied().unwrap_or_default();
    Ok(Did { hits: told.hits, misses: told.misses, waits: told.waits, passed })
}

fn body(admin: SocketAddr, path: &str) -> Result<String> {
    let answer = scrape::get(admin, path).with_context(|| format!("reading http://{admin}{path}"))?;
    let (_, body) = answer.split_once("\r\n\r\n").context("an answer without an end of its head")?;
    Ok(body.to_owned())
}

/// Rules that were made from predictions.
pub struct Rules<'a> {
    binary: &'a Path,
    weir: &'a Weir,
    made: Vec<Rule<'a>>,
}

struct Rule<'a> {
    name: String,
    advised: &'a Advised,
    predicted: &'a Predicted,
    /// What another rule of this name has done before.
    before: Did,
}

impl<'a> Rules<'a> {
    /// One for each statement: with this TTL, or as it is proposed, if one is. The cache is empty then.
    pub fn add(binary: &'a Path, weir: &'a Weir, told: &'a [Advised], ttl: Option<&str>) -> Result<Self> {
        let mut rules = Self { binary, weir, made: Vec::new() };
        for advised in told {
            let Some((command, predicted)) = proposal(advised, ttl)? else { continue };
            let args: Vec<_> = command.split_whitespace().skip(1).collect();
            rules.command(&args)?;
            let name = format!("digest-{}", advised.id);
            let before = did(weir.admin_addr(), &name)?;
            rules.made.push(Rule { name, advised, predicted, before });
        }
        rules.command(&["cache", "wipe", "--all", "--yes"])?;
        Ok(rules)
    }

    pub fn is_empty(&self) -> bool {
        self.made.is_empty()
    }

    /// What was told of each, and what it has done.
    pub fn compared(&self) -> Result<Vec<Compared>> {
        let compare = |rule: &Rule| {
            let did = did(self.weir.admin_addr(), &rule.name)?.since(rule.before);
            Ok(Compared::new(rule.advised, rule.predicted, did))
        };
        self.made.iter().map(compare).collect()
    }

    /// Takes them away again.
    pub fn remove(self) -> Result<()> {
        self.made.iter().try_for_each(|rule| self.command(&["rules", "remove", &rule.name]))
    }

    fn command(&self, args: &[&str]) -> Result<()> {
        let mut command = Command::new(self.binary);
        command.args(args).arg("-c").arg(self.weir.home().join("weir.toml")).env("WEIR_TOKEN", ADMIN_TOKEN);
        let output = command.output()?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "weir {} failed: {complaint}", args.join(" "));
        Ok(())
    }
}

/// The command that makes the rule, and what it will do; `None` where none is proposed.
fn proposal<'a>(advised: &'a Advised, ttl: Option<&str>) -> Result<Option<(String, &'a Predicted)>> {
    let Some(ttl) = ttl else {
        return Ok(advised.command.clone().zip(advised.best.as_ref()));
    };
    let predicted = advised.ladder.iter().find(|step| step.ttl == ttl);
    let predicted = predicted.with_context(|| format!("the advisor tells nothing of a TTL of {ttl}"))?;
    Ok(Some((format!("weir rules add --from-digest {} --cache {ttl}", advised.id), predicted)))
}

#[cfg(test)]
mod tests;
