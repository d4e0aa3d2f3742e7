//! What is on the screen, and what changes it. Nothing here asks, waits or draws.

use std::time::Duration;

use super::rates::{DigestRate, Rates};
use super::sample::Sample;

/// All that a screen is drawn from.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// The admin address that is asked.
    pub address: String,
    pub every: Duration,
    pub sort: Sort,
    /// Only digests that hold this, in any case.
    pub filter: String,
    pub paused: bool,
    /// The id of the digest that was chosen; without one it is the first.
    pub chosen: Option<String>,
    pub view: View,
    /// What Weir did not answer, and for how long.
    pub lost: Option<Lost>,
    /// What was said last, until a key is pressed.
    pub note: Option<Note>,
    /// The newest, also while paused.
    latest: Option<Sample>,
    pub shown: Option<Sample>,
    pub rates: Option<Rates>,
    pub colors: bool,
}

/// Weir does not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    pub why: String,
    pub since: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    pub text: String,
    pub bad: bool,
}

/// By what the digests are sorted, the greatest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sort {
    Calls,
    #[default]
    Time,
    Mean,
    Rows,
    Errors,
    Hits,
}

/// What stands over the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum View {
    #[default]
    List,
    Help,
    /// The filter is being typed; what it was before.
    Filter(String),
    /// All about one digest; lines that are scrolled away.
    Details {
        id: String,
        text: String,
        from: u16,
    },
    /// The TTL of a rule for this digest is being typed.
    Ttl {
        id: String,
        ttl: String,
    },
    /// An answer is awaited.
    Waiting(&'static str),
    /// A rule that may be added; lines that are scrolled away.
    Confirm {
        proposal: Proposal,
        from: u16,
    },
}

/// A rule that may be added, and the version of the rules it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    pub toml: String,
    pub version: String,
    /// What speaks against it.
    pub doubt: Option<String>,
}

/// What is to be asked of Weir.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    Every(Duration),
    Details(String),
    Propose { id: String, ttl: String },
    Add(Proposal),
    Quit,
}

/// What has come back.
#[derive(Debug, Clone)]
pub enum Told {
    Sample(Box<Sample>),
    Lost(Lost),
    Details { id: String, text: Result<String, String> },
    Proposed(Result<Proposal, String>),
    Added(Result<String, String>),
}

impl State {
    pub fn new(address: String, every: Duration, colors: bool) -> Self {
        Self { address, every, colors, ..Self::default() }
    }

    pub fn told(&mut self, told: Told) {
        match told {
            Told::Sample(sample) => self.sampled(*sample),
            Told::Lost(lost) => self.lost = Some(lost),
            Told::Details { id, text } => match (&self.view, text) {
                (View::Waiting(_), Ok(text)) => self.view = View::Details { id, text, from: 0 },
                (View::Waiting(_), Err(why)) => self.refused(why),
                _ => {}
            },
            Told::Proposed(proposed) => match (&self.view, proposed) {
                (View::Waiting(_), Ok(proposal)) => self.view = View::Confirm { proposal, from: 0 },
                (View::Waiting(_), Err(why)) => self.refused(why),
                _ => {}
            },
            Told::Added(Ok(said)) => {
                self.view = View::List;
                self.note = Some(Note { text: said, bad: false });
            }
            Told::Added(Err(why)) => self.refused(why),
        }
    }

    fn sampled(&mut self, sample: Sample) {
        self.lost = None;
        let rates = self.latest.as_ref().and_then(|before| Rates::between(before, &sample));
        self.latest = Some(sample.clone());
        if !self.paused {
            self.rates = rates;
            self.shown = Some(sample);
        }
    }

    fn refused(&mut self, why: String) {
        self.view = View::List;
        self.note = Some(Note { text: why, bad: true });
    }

    /// The digests in the order in which they stand on the screen.
    pub fn listed(&self) -> Vec<&DigestRate> {
        let Some(rates) = &self.rates else { return Vec::new() };
        let wanted = self.filter.to_lowercase();
        let fits =
            |row: &&DigestRate| row.text.to_lowercase().contains(&wanted) || row.id.starts_with(&wanted);
        let mut rows: Vec<&DigestRate> = rates.digests.iter().filter(fits).collect();
        let key = |row: &DigestRate| match self.sort {
            Sort::Calls => row.calls,
            Sort::Time => row.time,
            Sort::Mean => row.mean.unwrap_or(-1.0),
            Sort::Rows => row.rows,
            Sort::Errors => row.errors,
            Sort::Hits => row.hits.unwrap_or(-1.0),
        };
        // Those that are equal in this keep one order from one interval to the next.
        rows.sort_by(|a, b| {
            key(b).total_cmp(&key(a)).then(b.total.total_cmp(&a.total)).then_with(|| a.id.cmp(&b.id))
        });
        rows
    }

    /// The place of the chosen digest among those listed.
    pub fn place(&self, listed: &[&DigestRate]) -> usize {
        let chosen = self.chosen.as_ref().and_then(|id| listed.iter().position(|row| row.id == *id));
        chosen.unwrap_or(0)
    }

    /// The digest that keys are about.
    pub fn at_hand(&self) -> Option<String> {
        let listed = self.listed();
        listed.get(self.place(&listed)).map(|row| row.id.clone())
    }
}

#[cfg(test)]
pub(super) mod tests;
