//! Asks Weir again and again, and when told to, on a thread of its own: an answer that takes long keeps no key waiting.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use hyper::Method;
use weir_admin::{Changed, NewRule, Queries, QueryShown, RuleTable, Status};

use super::Event;
use super::sample::Sample;
use super::state::{Lost, Proposal, Told, Wish};
use crate::verbs::client::{Client, Request};
use crate::verbs::{escaped, queries};

/// Digests that are asked for: those with the most time since they are counted. 1,000: their JSON has about a megabyte.
const DIGESTS: usize = 1000;

/// How long one answer may take.
pub const PATIENCE: Duration = Duration::from_secs(10);

pub struct Asking {
    client: Client,
    began: Instant,
    answered: Instant,
}

impl Asking {
    pub fn new(client: Client) -> Self {
        let began = Instant::now();
        Self { client, began, answered: began }
    }

    /// Until nobody wishes anything any more.
    pub fn run(mut self, mut every: Duration, wishes: &Receiver<Wish>, events: &Sender<Event>) {
        // Two looks that are closer than this tell little.
        let mut next = Instant::now() + every.min(Duration::from_secs(1));
        loop {
            let told = match wishes.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(Wish::Quit) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(Wish::Every(interval)) => {
                    every = interval;
                    next = next.min(Instant::now() + every);
                    continue;
                }
                Ok(Wish::Details(id)) => {
                    let text = self.details(&id).map_err(|error| format!("{error:#}"));
                    Told::Details { id, text }
                }
                Ok(Wish::Propose { id, ttl }) => {
                    Told::Proposed(self.propose(&id, &ttl).map_err(|error| format!("{error:#}")))
                }
                Ok(Wish::Add(proposal)) => {
                    Told::Added(self.add(proposal).map_err(|error| format!("not added: {error:#}")))
                }
                Err(RecvTimeoutError::Timeout) => {
                    let began = Instant::now();
                    let told = self.sample();
                    // What took long is not made up for by asking more often.
                    next = (began + every).max(Instant::now() + every / 4);
                    told
                }
            };
            if events.send(Event::Told(told)).is_err() {
                return;
            }
        }
    }

    fn sample(&mut self) -> Told {
        match self.ask_all() {
            Ok(sample) => {
                self.answered = Instant::now();
                Told::Sample(Box::new(sample))
            }
            Err(error) => Told::Lost(Lost { why: format!("{error:#}"), since: self.answered.elapsed() }),
        }
    }

    /// # Errors
    /// What the API refuses, and when nobody answers.
    pub fn ask_all(&self) -> Result<Sample> {
        let metrics = self.client.send(Request::page(Method::GET, "/metrics"))?;
        let at = self.began.elapsed();
        let status: Status = self.get("/status")?;
        let queries: Queries = self.get(&format!("/queries?sort=total&limit={DIGESTS}"))?;
        Ok(Sample::new(at, &metrics, status, &queries))
    }

    fn get<T: serde::de::DeserializeOwned>(&self, path: &str) -> Result<T> {
        Ok(serde_json::from_str(&self.client.send(Request::api(Method::GET, path))?)?)
    }

    fn query(&self, id: &str) -> Result<QueryShown> {
        self.get(&format!("/queries/{}", escaped(id)))
    }

    fn details(&self, id: &str) -> Result<String> {
        Ok(queries::in_lines(&self.query(id)?))
    }

    fn propose(&self, id: &str, ttl: &str) -> Result<Proposal> {
        let query = self.query(id)?;
        ensure!(
            !query.digest_cut,
            "the text of this digest is longer than what is kept of it: `weir rules add --match-digest` takes a statement"
        );
        let rules: RuleTable = self.get("/rules?limit=1")?;
        let cacheable = query.rows.iter().any(|row| row.cacheable);
        let doubt =
            (!cacheable).then(|| "its text speaks against caching: `weir explain` tells why".to_owned());
        Ok(Proposal { toml: rule(id, &query.digest, ttl), version: rules.version, doubt })
    }

    fn add(&self, proposal: Proposal) -> Result<String> {
        let new = NewRule { toml: Some(proposal.toml), ..NewRule::default() };
        let request = Request::api(Method::POST, "/rules").json(&new)?.only_for(proposal.version);
        let done: Changed = serde_json::from_str(&self.client.send(request)?)?;
        let kept =
            done.file.map_or_else(|| "until Weir ends".to_owned(), |file| format!("written to {file}"));
        let mut said = format!("rule {} added, {kept}", done.rule);
        let about = format!("`{}`", done.rule);
        done.warnings
            .iter()
            .filter(|warning| warning.contains(&about))
            .for_each(|warning| said.push_str(&format!("; but {warning}")));
        if done.not_served > 0 {
            said.push_str(&format!(
                "; sessions not served before they log in again: {} (`weir kill --not-served`)",
                done.not_served
            ));
        }
        Ok(said)
    }
}

/// The text of a rule, as it is sent and as it stands in the file then.
fn rule(id: &str, digest: &str, ttl: &str) -> String {
    let text = |text: &str| toml::Value::from(text).to_string();
    format!(
        "[[rule]]\nname = \"digest-{id}\"\nmatch = {{ digest = {} }}\ncache = {{ ttl = {} }}\n",
        text(digest),
        text(ttl)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_is_toml_whatever_the_digest_holds() {
        for digest in ["SELECT `a`", "SELECT 'it''s' \"\\\n\u{7f}", "'''\"\"\""] {
            let text = rule("0f", digest, "30s");
            let read: toml::Table = toml::from_str(&text).unwrap();
            let rule = &read["rule"].as_array().unwrap()[0];
            assert_eq!(rule["match"]["digest"].as_str(), Some(digest), "{text}");
            assert_eq!(rule["cache"]["ttl"].as_str(), Some("30s"), "{text}");
        }
    }
}
