//! The steps of a run as values: which experiment, on which server, what is sent, through what, by how many clients.

use serde::{Deserialize, Serialize};

use super::options::{Args, Experiment, ServerName};
use crate::load::Script;

/// What stands between sysbench and the server, and what the server does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// Nothing; the server's query cache, if it has one, is off, as it is by default.
    Direct,
    /// Nothing; MariaDB's query cache is on.
    QueryCache,
    /// Weir without a rule.
    Weir,
    /// Weir with a rule that caches what it may.
    Cached,
    /// The same, with `own_writes = false`: a session may be served an answer from before its own last write.
    CachedLoose,
}

impl Variant {
    /// The word for it in names of steps.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::QueryCache => "query_cache",
            Self::Weir => "weir",
            Self::Cached => "cached",
            Self::CachedLoose => "cached_loose",
        }
    }

    /// The words for it in the report.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::QueryCache => "direct, the server's query cache on",
            Self::Weir => "Weir",
            Self::Cached => "Weir, cache",
            Self::CachedLoose => "Weir, cache, own_writes = false",
        }
    }

    /// Whether Weir takes part.
    #[must_use]
    pub fn through_weir(self) -> bool {
        matches!(self, Self::Weir | Self::Cached | Self::CachedLoose)
    }

    /// Whether Weir's cache takes part.
    #[must_use]
    pub fn cached(self) -> bool {
        matches!(self, Self::Cached | Self::CachedLoose)
    }
}

/// Steps that are shown in the same graphs: all variants over all numbers of clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Which experiment.
    pub experiment: Experiment,
    /// On which server.
    pub server: ServerName,
    /// What the clients send.
    pub script: Script,
    /// What stands between.
    pub variants: &'static [Variant],
    /// Numbers of clients.
    pub sweep: Vec<u32>,
}

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Which experiment.
    pub experiment: Experiment,
    /// On which server.
    pub server: ServerName,
    /// What the clients send.
    pub script: Script,
    /// What stands between.
    pub variant: Variant,
    /// Clients.
    pub threads: u32,
}

impl Step {
    /// As the line of progress shows it.
    #[must_use]
    pub fn describe(&self) -> String {
        let (server, variant) = (self.server.name(), self.variant.key());
        format!(
            "{} {server} {}, {variant}, {} threads",
            self.experiment.key(),
            self.script.name(),
            self.threads
        )
    }
}

impl Group {
    /// The steps in the order in which they run: all variants with one number of clients before the next number, so that
    /// a slow minute of the machine hits all variants alike.
    pub fn steps(&self) -> impl Iterator<Item = Step> {
        let Self { experiment, server, script, variants, .. } = *self;
        self.sweep.iter().flat_map(move |threads| {
            variants.iter().map(move |variant| Step {
                experiment,
                server,
                script,
                variant: *variant,
                threads: *threads,
            })
        })
    }
}

/// All groups, in the order in which they run and are shown.
#[must_use]
pub fn groups(args: &Args) -> Vec<Group> {
    let sweep = args.sweep();
    let mut groups = Vec::new();
    for server in args.servers() {
        for experiment in args.experiments() {
            for (script, variants) in loads(experiment, server) {
                groups.push(Group { experiment, server, script: *script, variants, sweep: sweep.clone() });
            }
        }
    }
    groups
}

type Loads = &'static [(Script, &'static [Variant])];

fn loads(experiment: Experiment, server: ServerName) -> Loads {
    use Variant::{Cached, CachedLoose, Direct, QueryCache, Weir};
    match (experiment, server) {
        (Experiment::E1, _) => {
            &[(Script::ReadOnly, &[Direct, Weir, Cached]), (Script::ReadWrite, &[Direct, Weir, Cached])]
        }
        (Experiment::E2, _) => &[
            (Script::ReadOnlySkipTrx, &[Direct, Weir, Cached]),
            (Script::Nontran, &[Direct, Weir, Cached, CachedLoose]),
        ],
        (Experiment::E4, ServerName::MariaDb) => {
            &[(Script::PointSelect, &[Direct, QueryCache, Weir, Cached])]
        }
        // MySQL has had no query cache since 8.0.
        (Experiment::E4, ServerName::MySql) => &[(Script::PointSelect, &[Direct, Weir, Cached])],
    }
}
